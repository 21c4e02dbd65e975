//! Reads a test's dependencies from its manifest, and adds them to an older manifest.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, InlineTable, Item, RawString, Table, TableLike, Value, value};

use cargo_metadata::TargetKind;

use super::files::{folder_of, with_slashes};
use super::refused;
use plimsoll_desk::project::plain;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Normal,
    Dev,
    Build,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Normal, Kind::Dev, Kind::Build];

    /// Returns the names of its table. cargo accepts both.
    fn names(self) -> &'static [&'static str] {
        match self {
            Kind::Normal => &["dependencies"],
            Kind::Dev => &["dev-dependencies", "dev_dependencies"],
            Kind::Build => &["build-dependencies", "build_dependencies"],
        }
    }
}

/// The place of a dependency in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The target, as in `target.'cfg(unix)'.dev-dependencies`.
    pub(super) target: Option<String>,
    pub(super) kind: Kind,
    pub(super) key: String,
}

/// The folder of a dependency that has a `path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// A folder in the repository, relative to its top.
    Repository(PathBuf),
    Outside(PathBuf),
}

/// The specification of a dependency in a manifest.
#[derive(Clone, Debug, Default)]
pub(super) struct Spec {
    /// All keys except those that have a field of their own.
    keys: InlineTable,
    pub(super) features: Vec<String>,
    pub(super) at: Option<At>,
    pub(super) inherits: bool,
}

/// A dependency that the test has in the working tree.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) place: Place,
    pub(super) own: Spec,
    /// Its entry in `[workspace.dependencies]`, if it inherits one.
    pub(super) inherited: Option<Spec>,
}

impl Spec {
    /// Reads an entry of the manifest in `dir`, which is relative to `top`.
    pub(super) fn read(item: &Item, top: &Path, dir: &Path) -> Spec {
        let mut spec = Spec::default();
        if let Some(version) = item.as_str() {
            spec.keys.insert("version", version.into());
        }
        for (key, item) in entries(Some(item)) {
            match key {
                "features" => spec.features = strings(item),
                "workspace" => spec.inherits = item.as_bool() == Some(true),
                "path" => {
                    let path = top.join(dir).join(item.as_str().unwrap_or_default());
                    // Links are resolved here, because no link of a checkout is followed.
                    let path = fs::canonicalize(&path).unwrap_or_else(|_| plain(&path));
                    spec.at = Some(match path.strip_prefix(top) {
                        Ok(inner) => At::Repository(inner.to_owned()),
                        Err(_) => At::Outside(path),
                    });
                }
                key => {
                    if let Some(value) = plain_value(item) {
                        spec.keys.insert(key, value);
                    }
                }
            }
        }
        spec
    }

    /// Returns the package's name, if it differs from the key.
    pub(super) fn package(&self) -> Option<&str> {
        self.keys.get("package")?.as_str()
    }

    /// Returns the entry as it is written into a manifest, with `path` as its path.
    pub(super) fn item(&self, path: Option<&str>) -> Item {
        let mut keys = InlineTable::new();
        if self.inherits {
            keys.insert("workspace", true.into());
        }
        if let Some(path) = path {
            keys.insert("path", path.into());
        }
        for (key, value) in self.keys.iter() {
            // A package of the repository has the version that it had at the revision.
            let of_now = matches!(key, "version" | "registry" | "registry-index");
            if !(of_now && matches!(self.at, Some(At::Repository(_)))) {
                keys.insert(key, value.clone());
            }
        }
        if !self.features.is_empty() {
            keys.insert("features", Value::Array(self.features.iter().collect()));
        }
        keys.fmt();
        match keys.get("version") {
            Some(version) if keys.len() == 1 => value(version.clone()),
            _ => value(keys),
        }
    }
}

impl Wanted {
    /// Reads all dependencies of a manifest.
    pub(super) fn read(
        manifest: &DocumentMut,
        workspace: &DocumentMut,
        top: &Path,
        dir: &Path,
        root: &Path,
    ) -> Vec<Wanted> {
        let mut all = Vec::new();
        for (target, tables) in dependency_tables(manifest) {
            for kind in Kind::ALL {
                let named = kind.names().iter().map(|name| tables.get(name));
                for (key, item) in named.flat_map(entries) {
                    let own = Spec::read(item, top, dir);
                    let inherited = workspace_dependency(workspace, key).filter(|_| own.inherits);
                    all.push(Wanted {
                        place: Place {
                            target: target.map(str::to_owned),
                            kind,
                            key: key.to_owned(),
                        },
                        own,
                        inherited: inherited.map(|item| Spec::read(item, top, root)),
                    });
                }
            }
        }
        all
    }

    /// Returns the name of the package.
    pub(super) fn package(&self) -> &str {
        let of = self.inherited.as_ref().unwrap_or(&self.own);
        of.package().unwrap_or(&self.place.key)
    }

    /// Returns the whole specification, with the inherited parts.
    pub(super) fn whole(&self) -> Spec {
        let Some(inherited) = &self.inherited else {
            return Spec {
                inherits: false,
                ..self.own.clone()
            };
        };
        let mut whole = inherited.clone();
        for (key, value) in self.own.keys.iter() {
            // As in cargo, `default-features = false` beside `workspace = true` has no effect:
            // the entry of the workspace decides.
            if key != "default-features" || value.as_bool() == Some(true) {
                whole.keys.insert(key, value.clone());
            }
        }
        whole.features.extend(self.own.features.iter().cloned());
        whole.features.sort();
        whole.features.dedup();
        whole.inherits = false;
        whole
    }

    /// Returns what remains to be specified beside the entry of a workspace that is inherited.
    pub(super) fn inheriting(&self, entry: &Item) -> Spec {
        let given = features(entry);
        let mut spec = Spec {
            inherits: true,
            at: None,
            ..self.own.clone()
        };
        spec.features = self.whole().features;
        spec.features.retain(|feature| !given.contains(feature));
        spec
    }
}

/// Returns the tables of a manifest that contain dependency tables: the manifest itself, and
/// one for each target.
fn dependency_tables(
    manifest: &DocumentMut,
) -> impl Iterator<Item = (Option<&str>, &dyn TableLike)> {
    let targets = entries(manifest.get("target"));
    let targets = targets.filter_map(|(name, item)| Some((Some(name), item.as_table_like()?)));
    std::iter::once((None, manifest.as_table() as &dyn TableLike)).chain(targets)
}

/// Returns an entry of `[workspace.dependencies]`.
pub(super) fn workspace_dependency<'a>(manifest: &'a DocumentMut, key: &str) -> Option<&'a Item> {
    manifest.get("workspace")?.get("dependencies")?.get(key)
}

/// Returns the place where a manifest already has a dependency, if a test could use it from
/// there.
pub(super) fn had(manifest: &DocumentMut, wanted: &Place) -> Option<Place> {
    let kinds: &[Kind] = match wanted.kind {
        Kind::Build => &[Kind::Build],
        Kind::Normal | Kind::Dev => &[Kind::Dev, Kind::Normal],
    };
    kinds.iter().find_map(|kind| {
        let places = [wanted.target.clone(), None];
        let mut places = places.into_iter().map(|target| Place {
            target,
            kind: *kind,
            key: wanted.key.clone(),
        });
        places.find(|place| entry(manifest, place).is_some())
    })
}

/// Returns the entry of a dependency.
pub(super) fn entry<'a>(manifest: &'a DocumentMut, place: &Place) -> Option<&'a Item> {
    let mut tables = dependency_tables(manifest);
    let (_, tables) = tables.find(|(target, _)| *target == place.target.as_deref())?;
    let mut names = place.kind.names().iter();
    names.find_map(|name| tables.get(name)?.get(&place.key))
}

/// Returns the entry of a dependency for changes. Its table is created if necessary.
pub(super) fn entry_mut<'a>(
    manifest: &'a mut DocumentMut,
    place: &Place,
) -> anyhow::Result<&'a mut Item> {
    let mut table: &mut dyn TableLike = manifest.as_table_mut();
    if let Some(target) = &place.target {
        table = inner(inner(table, "target", true)?, target, true)?;
    }
    let names = place.kind.names();
    let known = names.iter().find(|name| table.contains_key(name));
    let name = known.unwrap_or(&names[0]);
    Ok(inner(table, name, false)?
        .entry(&place.key)
        .or_insert(Item::None))
}

/// Replaces an item, and keeps the comment beside it.
pub(super) fn replace(old: &mut Item, mut new: Item) {
    let decor = old.as_value().map(Value::decor);
    if let (Some(new), Some(decor)) = (new.as_value_mut(), decor) {
        *new.decor_mut() = decor.clone();
    }
    *old = new;
}

fn inner<'a>(
    table: &'a mut dyn TableLike,
    name: &str,
    implicit: bool,
) -> anyhow::Result<&'a mut dyn TableLike> {
    let new = || {
        let mut new = Table::new();
        new.set_implicit(implicit);
        Item::Table(new)
    };
    let item = table.entry(name).or_insert_with(new);
    let found = item.type_name();
    item.as_table_like_mut().ok_or_else(|| {
        refused(format!(
            "its manifest has {found} as `{name}`, where cargo takes a table"
        ))
    })
}

/// Returns the features that an entry asks for.
pub(super) fn features(entry: &Item) -> Vec<String> {
    entry.get("features").map(strings).unwrap_or_default()
}

/// Tells whether an entry enables default features. The entry of a workspace that it inherits
/// may say otherwise.
pub(super) fn has_default_features(entry: &Item) -> bool {
    entry.get("default-features").and_then(Item::as_bool) != Some(false)
}

/// Adds features to an entry, and default features if that is set.
pub(super) fn extend(entry: &mut Item, features: &[String], has_defaults: bool) {
    if features.is_empty() && !has_defaults {
        return;
    }
    if let Some(version) = entry.as_str() {
        let mut keys = InlineTable::new();
        keys.insert("version", version.into());
        *entry = value(keys);
    }
    let Some(table) = entry.as_table_like_mut() else {
        return;
    };
    if !features.is_empty() {
        let list = table.entry("features").or_insert(value(Array::new()));
        if let Some(list) = list.as_array_mut() {
            list.extend(features);
        }
    }
    if has_defaults {
        // `true` overrides the entry of a workspace.
        table.insert("default-features", value(true));
    }
    if let Some(Value::InlineTable(table)) = entry.as_value_mut() {
        table.fmt();
    }
}

/// Returns an entry as a dependency of tests, which cannot be optional.
pub(super) fn inline(entry: &Item) -> Item {
    let Some(table) = entry.as_table_like() else {
        return entry.clone();
    };
    let mut keys = InlineTable::new();
    for (key, item) in table.iter().filter(|(key, _)| *key != "optional") {
        if let Some(item) = plain_value(item) {
            keys.insert(key, item);
        }
    }
    keys.fmt();
    value(keys)
}

/// Returns the entries of `[patch]`, each with its source and key.
pub(super) fn patches(manifest: &DocumentMut) -> impl Iterator<Item = (&str, &str, &Item)> {
    entries(manifest.get("patch")).flat_map(|(source, patches)| {
        entries(Some(patches)).map(move |(key, item)| (source, key, item))
    })
}

/// Returns the entries of a table, in either notation. Anything else has none.
fn entries(item: Option<&Item>) -> impl Iterator<Item = (&str, &Item)> {
    let table = item.and_then(Item::as_table_like);
    table.into_iter().flat_map(|table| table.iter())
}

/// Returns a value without its white space and comments.
fn plain_value(item: &Item) -> Option<Value> {
    let mut value = item.clone().into_value().ok()?;
    value.decor_mut().clear();
    Some(value)
}

/// Returns the entry of a patch for changes. It is [`Item::None`] if there was none.
pub(super) fn patch_mut<'a>(
    manifest: &'a mut DocumentMut,
    source: &str,
    key: &str,
) -> anyhow::Result<&'a mut Item> {
    let sources = inner(manifest.as_table_mut(), "patch", true)?;
    Ok(inner(sources, source, false)?
        .entry(key)
        .or_insert(Item::None))
}

fn strings(item: &Item) -> Vec<String> {
    let values = item.as_array().into_iter().flatten();
    values
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Returns the name of a package.
pub(super) fn name(manifest: &DocumentMut) -> Option<&str> {
    package(manifest)?.get("name")?.as_str()
}

fn package(manifest: &DocumentMut) -> Option<&dyn TableLike> {
    // `project` is the old name of this table.
    let package = manifest.get("package").or_else(|| manifest.get("project"));
    package?.as_table_like()
}

/// Returns the edition of a package, if the manifest sets it.
pub(super) fn edition<'a>(
    manifest: &'a DocumentMut,
    workspace: Option<&'a DocumentMut>,
) -> Option<&'a str> {
    let item = package(manifest)?.get("edition")?;
    match item.get("workspace") {
        Some(_) => workspace?
            .get("workspace")?
            .get("package")?
            .get("edition")?
            .as_str(),
        None => item.as_str(),
    }
}

/// Tells whether a package has anything besides tests, or besides benches.
pub(super) fn has_code(manifest: &DocumentMut, kind: &TargetKind, dir: &Path) -> bool {
    let tables = ["lib", "bin", "example"];
    let files = ["src/lib.rs", "src/main.rs", "src/bin", "examples"];
    let other = match kind {
        TargetKind::Bench => TargetKind::Test,
        _ => TargetKind::Bench,
    };
    let has = |name: &str| manifest.contains_key(name);
    tables.into_iter().any(has)
        || has(&other.to_string())
        || files.iter().any(|name| dir.join(name).exists())
        || dir.join(folder_of(&other)).exists()
}

/// Returns the entries of `[[test]]` or `[[bench]]`, in either notation.
fn targets(manifest: &DocumentMut, kind: &TargetKind) -> Vec<Table> {
    let item = manifest.get(&kind.to_string()).cloned().unwrap_or_default();
    let tables = item.into_array_of_tables().unwrap_or_default();
    tables.into_iter().collect()
}

/// Tells whether a path, relative to the package's folder, is that of an entry's file.
fn is_at(entry: &Table, kind: &TargetKind, path: &Path) -> bool {
    if let Some(given) = entry.get("path").and_then(Item::as_str) {
        return plain(Path::new(given)) == path;
    }
    let name = entry.get("name").and_then(Item::as_str).unwrap_or_default();
    let folder = Path::new(folder_of(kind));
    path == folder.join(format!("{name}.rs")) || path == folder.join(name).join("main.rs")
}

/// Tells whether a file is a test or a bench that the manifest names.
pub(super) fn names_target(manifest: &DocumentMut, kind: &TargetKind, path: &Path) -> bool {
    let targets = targets(manifest, kind);
    targets.iter().any(|entry| is_at(entry, kind, path))
}

/// Returns the entry of a test or bench in its manifest, or makes one if there is none.
pub(super) fn target(manifest: &DocumentMut, kind: &TargetKind, path: &Path) -> Table {
    let mut targets = targets(manifest, kind).into_iter();
    let mut entry = match targets.find(|entry| is_at(entry, kind, path)) {
        Some(found) => {
            let mut entry = Table::new();
            for (key, item) in found.iter() {
                if let Some(item) = plain_value(item) {
                    entry.insert(key, value(item));
                }
            }
            entry
        }
        None => {
            let stem = path.file_stem().unwrap_or_default();
            let folder = path.parent().and_then(Path::file_name);
            let name = folder.filter(|_| stem == "main").unwrap_or(stem);
            let mut entry = Table::new();
            entry.insert("name", value(name.to_string_lossy().into_owned()));
            entry
        }
    };
    entry.insert("path", value(with_slashes(path)));
    entry
}

/// Replaces the entry with the same name, or adds one at the end.
pub(super) fn put_target(
    manifest: &mut DocumentMut,
    kind: &TargetKind,
    target: &Table,
) -> anyhow::Result<()> {
    let name = target.get("name").and_then(Item::as_str);
    let name = name.unwrap_or_default();
    let item = manifest
        .entry(&kind.to_string())
        .or_insert_with(toml_edit::array);
    if item.is_value() {
        // The notation `test = [{ … }]`, or `bench`.
        *item = match std::mem::take(item).into_array_of_tables() {
            Ok(tables) => Item::ArrayOfTables(tables),
            Err(item) => item,
        };
    }
    let found = item.type_name();
    let Some(tables) = item.as_array_of_tables_mut() else {
        return Err(refused(format!(
            "its manifest has {found} as `{kind}`, where cargo takes an array of tables"
        )));
    };
    let is_it = |table: &Table| table.get("name").and_then(Item::as_str) == Some(name);
    let at = tables.iter().position(is_it);
    let Some(old) = at.and_then(|at| tables.get_mut(at)) else {
        tables.push(target.clone());
        return Ok(());
    };
    old.retain(|key, _| target.contains_key(key));
    for (key, item) in target {
        replace(old.entry(key).or_insert(Item::None), item.clone());
    }
    Ok(())
}

/// Returns the first feature that a test requires and a package does not have.
pub(super) fn lacks_feature(manifest: &DocumentMut, target: &Table) -> Option<String> {
    let required = target.get("required-features").map(strings);
    required.into_iter().flatten().find(|feature| {
        let named = |table: &str| {
            manifest
                .get(table)
                .is_some_and(|all| all.get(feature).is_some())
        };
        // A feature with a slash belongs to a dependency, and cargo checks it.
        !feature.contains('/') && !named("features") && !named("dependencies")
    })
}

/// Replaces everything that a package inherits by the inherited values, so that it means the
/// same in another workspace.
pub(super) fn stand_alone(manifest: &mut DocumentMut, workspace: &DocumentMut) {
    // Lints change nothing that is measured, and an older workspace may have others.
    manifest.remove("lints");
    let given = workspace.get("workspace");
    let given = given.and_then(|item| item.get("package"));
    let package = manifest.get_mut("package");
    let Some(package) = package.and_then(Item::as_table_like_mut) else {
        return;
    };
    let keys = package.iter();
    let keys = keys.filter(|(_, item)| item.get("workspace").is_some());
    let keys: Vec<String> = keys.map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        let given = given.and_then(|given| plain_value(given.get(&key)?));
        match given {
            // These keys name files of the workspace.
            Some(given) if key != "readme" && key != "license-file" => {
                package.insert(&key, value(given));
            }
            _ => {
                package.remove(&key);
            }
        }
    }
}

/// Makes a folder a member of a workspace. `member` is relative to the workspace's folder.
pub(super) fn add_member(manifest: &mut DocumentMut, member: &Path) -> anyhow::Result<()> {
    let member = with_slashes(member);
    let workspace = inner(manifest.as_table_mut(), "workspace", false)?;
    let list = |name: &str| workspace.get(name).map(strings).unwrap_or_default();
    let is_it = |path: &String| with_slashes(&plain(Path::new(path))) == member;
    let excluded = list("exclude")
        .iter()
        .any(|path| Path::new(&member).starts_with(plain(Path::new(path))));
    let members = list("members");
    if members.iter().any(is_it) || !excluded && members.iter().any(|glob| matches(glob, &member)) {
        return Ok(());
    }
    if let Some(exclude) = workspace.get_mut("exclude").and_then(Item::as_array_mut) {
        exclude.retain(|path| !path.as_str().is_some_and(|path| is_it(&path.to_owned())));
    }
    let members = workspace.entry("members").or_insert(value(Array::new()));
    let found = members.type_name();
    let Some(members) = members.as_array_mut() else {
        return Err(refused(format!(
            "its workspace has {found} as `members`, where cargo takes an array"
        )));
    };
    let mut member = Value::from(member);
    // Added at the start, so that a comment after the last member stays there.
    if let Some(first) = members.get_mut(0) {
        let before = first.decor().prefix().and_then(RawString::as_str);
        match before.and_then(|before| before.rsplit_once('\n')) {
            Some((_, indent)) => member.decor_mut().set_prefix(format!("\n{indent}")),
            None => first.decor_mut().set_prefix(" "),
        }
    }
    members.insert_formatted(0, member);
    Ok(())
}

/// Tells whether a pattern of members matches a folder. A pattern with a character class
/// matches nothing here; the folder is then listed beside the pattern, which does no harm.
fn matches(pattern: &str, path: &str) -> bool {
    fn parts(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => {
                (0..=path.len()).any(|skipped| parts(rest, &path[skipped..]))
            }
            (Some((first, rest)), Some((name, names))) => {
                chars(first.as_bytes(), name.as_bytes()) && parts(rest, names)
            }
            _ => false,
        }
    }
    fn chars(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => {
                (0..=name.len()).any(|skipped| chars(rest, &name[skipped..]))
            }
            (Some((b'?', rest)), Some((_, names))) => chars(rest, names),
            (Some((one, rest)), Some((other, names))) => one == other && chars(rest, names),
            _ => false,
        }
    }
    let pattern = with_slashes(&plain(Path::new(pattern)));
    let (pattern, path) = (pattern.split('/'), path.split('/'));
    parts(&pattern.collect::<Vec<_>>(), &path.collect::<Vec<_>>())
}

/// Returns the path of the workspace that a manifest names, relative to its folder.
pub(super) fn workspace_pointer(manifest: &DocumentMut) -> Option<&str> {
    package(manifest)?.get("workspace")?.as_str()
}
