//! Copies a test or bench of the working tree into an older checkout.
//!
//! ```text
//! working tree ─► read ─► Overlay ─► lay ─► a checkout that has the test
//!                (files, manifest, lock)    (its package is found by name)
//! ```
//!
//! Everything else in the checkout stays: sources, and dependencies with their versions. If the
//! test cannot be copied without a change to these, the checkout is refused, with the reason.

mod files;
mod lock;
mod manifest;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cargo_metadata::{Metadata, TargetKind};
use toml_edit::{DocumentMut, Item, Table};

use self::files::{Collected, Kept, folder_of, printed, relative, with_slashes};
use self::lock::{Lock, Requirements};
use self::manifest::{At, Kind, Place, Spec, Wanted};
use crate::measure::{Cause, Unusable};
use plimsoll_core::text::hash::Fnv;
use plimsoll_desk::project::{plain, shown};
use plimsoll_desk::status::Refused;

/// A test of the working tree, or a bench, and what it needs.
#[derive(Debug)]
pub(crate) struct Overlay {
    package: String,
    /// The folder of the package, from the top of the repository.
    dir: PathBuf,
    /// The folder of its workspace, from the top of the repository.
    root: PathBuf,
    kind: TargetKind,
    /// Whether the package has no targets but tests, so that it can be copied as a whole.
    alone: bool,
    manifest: DocumentMut,
    workspace: DocumentMut,
    has_code: bool,
    /// The test's entry in `[[test]]`, or the bench's in `[[bench]]`.
    target: Table,
    edition: Option<String>,
    dependencies: Vec<Wanted>,
    patches: Vec<Patch>,
    files: Vec<Kept>,
    lock: Option<Lock>,
    requirements: Option<Requirements>,
}

/// An entry of a `[patch]` table.
#[derive(Debug)]
struct Patch {
    source: String,
    key: String,
    spec: Spec,
}

/// Returns the error for a test that cannot be copied into a checkout.
fn refused(why: impl Into<String>) -> anyhow::Error {
    Unusable::new(Cause::NoScenario, why).into()
}

impl Overlay {
    /// Reads a test or a bench from the working tree. The folders are those that cargo reports. A
    /// package without targets of another kind is read as a whole.
    pub(crate) fn read(
        working_tree: &Path,
        workspace_root: &Path,
        package: &str,
        package_dir: &Path,
        kind: &TargetKind,
        target_file: &Path,
        has_other_targets: bool,
    ) -> anyhow::Result<Overlay> {
        let real = |path: &Path| {
            fs::canonicalize(path).with_context(|| format!("cannot read {}", shown(path)))
        };
        let (top, root) = (real(working_tree)?, real(workspace_root)?);
        let (package_dir, target_file) = (real(package_dir)?, real(target_file)?);
        let within = |path: &Path| match path.strip_prefix(&top) {
            Ok(inner) => Ok(inner.to_owned()),
            Err(_) => Err(Refused::usage(format!(
                "{} is outside of the repository {}, so no other revision can have it\n  \
                 hint: add `--overlay never`",
                shown(path),
                shown(&top)
            ))),
        };
        within(&target_file)?;
        let (dir, root_dir) = (within(&package_dir)?, within(&root)?);
        let manifest = document(&package_dir.join("Cargo.toml"))?;
        let workspace = document(&root.join("Cargo.toml"))?;
        // The package at the top of the repository contains all others, so it is never copied
        // as a whole.
        let alone = !has_other_targets && !dir.as_os_str().is_empty();
        let target_path = relative(&package_dir, &target_file);
        let mut files = Collected::new(&package_dir, kind);
        if alone {
            files.folder(&package_dir, false)?;
        } else if target_path.starts_with(folder_of(kind)) {
            files.folder(&package_dir.join(folder_of(kind)), true)?;
        }
        files.file(&target_file)?;
        let lock = root.join("Cargo.lock");
        let text = files::lockfile(&lock);
        let lock = text
            .and_then(|text| text.map(|text| Lock::parse(&text)).transpose())
            .map_err(|why| anyhow::anyhow!("{}: {why}", shown(&lock)))?;
        Ok(Overlay {
            package: package.to_owned(),
            alone,
            has_code: manifest::has_code(&manifest, kind, &package_dir),
            target: manifest::target(&manifest, kind, &target_path),
            kind: kind.clone(),
            edition: manifest::edition(&manifest, Some(&workspace)).map(str::to_owned),
            dependencies: Wanted::read(&manifest, &workspace, &top, &dir, &root_dir),
            patches: patches(&workspace, &top, &root_dir),
            files: files.into_files(),
            lock,
            requirements: None,
            dir,
            root: root_dir,
            manifest,
            workspace,
        })
    }

    /// Tells whether the working tree has a lockfile.
    pub(crate) fn has_lockfile(&self) -> bool {
        self.lock.is_some()
    }

    /// Reads the requirements that packages have on their dependencies, as cargo resolved them
    /// in the working tree.
    ///
    /// Without them, a revision whose dependencies are too old for the test gets a lockfile
    /// that cargo refuses.
    pub(crate) fn learn(&mut self, metadata: &Metadata) {
        self.requirements = Some(Requirements::read(metadata));
    }

    /// Returns a hash (FNV-1a) of everything that is copied. It is the same for the same test
    /// with the same needs.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Fnv::default();
        digest.part(&self.package);
        digest.part(with_slashes(&self.dir));
        digest.part(with_slashes(&self.root));
        digest.part(if self.alone { "alone" } else { "beside" });
        digest.part(self.manifest.to_string());
        digest.part(self.edition.as_deref().unwrap_or_default());
        for wanted in &self.dependencies {
            digest.part(format!("{:?}", wanted.place));
            add_spec(&mut digest, &wanted.whole());
        }
        for patch in &self.patches {
            digest.part(&patch.source);
            digest.part(&patch.key);
            add_spec(&mut digest, &patch.spec);
        }
        for file in &self.files {
            digest.part(with_slashes(&file.path));
            digest.part(&file.content);
            digest.part(if file.executable { "x" } else { "-" });
        }
        let needed = self.lock.as_ref().map(|lock| lock.reachable(&self.package));
        for package in needed.into_iter().flatten() {
            digest.part(&package);
        }
        let requirements = self.requirements.as_ref();
        digest.part(requirements.map_or("none", |_| "requirements"));
        digest.finish()
    }

    /// Copies the test into a checkout of another revision. Returns the dependencies of the
    /// revision that were raised to the working tree's version, as `name 1.2.0 to 1.9.0`. If the
    /// test cannot be copied there, fails with an [`Unusable`] and changes nothing.
    ///
    /// If dependencies were added, the lockfile contains all that are needed, and perhaps
    /// more: cargo makes it exact, unless it runs with `--locked`.
    pub(crate) fn lay(&self, top: &Path) -> anyhow::Result<Vec<String>> {
        let mut checkout = Checkout::read(top)?;
        let to = match checkout.find(&self.package, &self.dir)? {
            Some(dir) => self.merge(&mut checkout, &dir)?,
            None if self.alone => self.create(&mut checkout)?,
            None => {
                let there = checkout.names.get(&self.dir);
                let there = there.map_or(String::new(), |name| {
                    format!(" (`{name}` is in {})", printed(&self.dir))
                });
                let package = &self.package;
                return Err(refused(format!("there is no package `{package}`{there}")));
            }
        };
        let merged = self.lockfile(&checkout, &to)?;
        let mut texts: BTreeMap<PathBuf, String> = checkout.changed().collect();
        let mut raised = Vec::new();
        if let Some(merged) = merged {
            texts.insert(to.root.join("Cargo.lock"), merged.text);
            raised = merged.raised;
        }
        let places = self.places(&to);
        for path in places.keys().chain(texts.keys()) {
            files::check(&checkout.top, path)?;
        }
        // The checkout is changed only from here on.
        for (path, file) in places {
            self.remove_other(&checkout, &path, &to)?;
            files::write(&checkout.top, &path, &file.content, file.executable)?;
        }
        for (path, text) in texts {
            files::write(&checkout.top, &path, text.as_bytes(), false)?;
        }
        Ok(raised)
    }

    /// Adds the test, and what it needs, to a package of the revision.
    fn merge(&self, checkout: &mut Checkout, dir: &Path) -> anyhow::Result<To> {
        let root = checkout.workspace_of(dir)?;
        let workspace = checkout.manifest(&root)?.clone();
        let mut old = checkout.manifest(dir)?.clone();
        // If the revision's package has code of its own, only its tests are replaced.
        let has_code = manifest::has_code(&old, &self.kind, &checkout.top.join(dir));
        let whole = self.alone && (self.has_code || !has_code);
        let mut added = BTreeSet::new();
        let mut depends = false;
        for wanted in &self.dependencies {
            if !whole && wanted.place.kind != Kind::Dev {
                continue;
            }
            if let Some(had) = manifest::had(&old, &wanted.place) {
                depends |= complete(&mut old, &workspace, wanted, had, whole)?;
                continue;
            }
            let item = self.item(checkout, wanted, Some(&workspace), dir)?;
            *manifest::entry_mut(&mut old, &wanted.place)? = item;
            added.insert(wanted.package().to_owned());
        }
        if let Some(feature) = manifest::lacks_feature(&old, &self.target) {
            return Err(refused(format!(
                "the {} requires the feature `{feature}`, which its package does not have",
                self.kind
            )));
        }
        let mut target = self.target.clone();
        let edition = manifest::edition(&old, Some(&workspace)).map(str::to_owned);
        if !target.contains_key("edition") && edition != self.edition {
            let edition = self.edition.as_deref().unwrap_or("2015");
            target.insert("edition", toml_edit::value(edition));
        }
        manifest::put_target(&mut old, &self.kind, &target)?;
        checkout.put(dir, old);
        self.patch(checkout, &root, &added)?;
        Ok(To {
            dir: dir.to_owned(),
            root,
            depends: depends || !added.is_empty(),
            added,
            whole,
            created: false,
        })
    }

    /// Creates the package in the folder that it has in the working tree.
    fn create(&self, checkout: &mut Checkout) -> anyhow::Result<To> {
        let dir = &self.dir;
        if let Some(name) = checkout.names.get(dir)
            && manifest::has_code(checkout.manifest(dir)?, &self.kind, &checkout.top.join(dir))
        {
            return Err(refused(format!(
                "there is no package `{}`, and in {} is `{name}`",
                self.package,
                printed(dir)
            )));
        }
        let mut new = self.manifest.clone();
        let own_root = self.root == *dir;
        let (root, workspace) = if own_root {
            // An empty `[workspace]` keeps it from becoming a member of a workspace above it.
            new.entry("workspace").or_insert_with(toml_edit::table);
            (dir.clone(), None)
        } else {
            let root = checkout.workspace_for(&self.package, &self.root, dir)?;
            let workspace = checkout.manifest(&root)?.clone();
            (root, Some(workspace))
        };
        manifest::stand_alone(&mut new, &self.workspace);
        let mut added = BTreeSet::new();
        for wanted in &self.dependencies {
            added.insert(wanted.package().to_owned());
            // Other dependencies mean the same everywhere.
            if wanted.own.inherits || wanted.own.at.is_some() {
                let item = self.item(checkout, wanted, workspace.as_ref(), dir)?;
                let entry = manifest::entry_mut(&mut new, &wanted.place)?;
                manifest::replace(entry, item);
            }
        }
        checkout.put(dir, new);
        if let Some(mut workspace) = workspace {
            manifest::add_member(&mut workspace, &relative(&root, dir))?;
            checkout.put(&root, workspace);
            self.patch(checkout, &root, &added)?;
        }
        Ok(To {
            dir: dir.clone(),
            root,
            added,
            depends: true,
            whole: true,
            created: true,
        })
    }

    /// Returns a dependency as it is written into a manifest of the checkout. It is inherited
    /// if the workspace of the checkout has it, too.
    fn item(
        &self,
        checkout: &Checkout,
        wanted: &Wanted,
        workspace: Option<&DocumentMut>,
        dir: &Path,
    ) -> anyhow::Result<Item> {
        let inherited = workspace
            .filter(|_| wanted.own.inherits)
            .and_then(|there| manifest::workspace_dependency(there, &wanted.place.key));
        if let Some(entry) = inherited {
            return Ok(wanted.inheriting(entry).item(None));
        }
        let spec = wanted.whole();
        let path = self.path(checkout, &spec, wanted.package(), dir)?;
        Ok(spec.item(path.as_deref()))
    }

    /// Returns the path of a dependency, relative to a folder of the checkout.
    fn path(
        &self,
        checkout: &Checkout,
        spec: &Spec,
        package: &str,
        dir: &Path,
    ) -> anyhow::Result<Option<String>> {
        Ok(match &spec.at {
            None => None,
            Some(At::Outside(path)) => Some(with_slashes(path)),
            Some(At::Repository(path)) => {
                let inner = relative(&self.dir, path);
                let manifest = inner.join("Cargo.toml");
                if self.files.iter().any(|file| file.path == manifest) && inner != Path::new("") {
                    return Ok(Some(with_slashes(&inner)));
                }
                match checkout.find(package, path)? {
                    Some(found) => Some(with_slashes(&relative(dir, &found))),
                    None => {
                        let place = printed(path);
                        return Err(refused(format!(
                            "the {} needs the package `{package}` ({place}), which is not there",
                            self.kind
                        )));
                    }
                }
            }
        })
    }

    /// Adds patches for the added dependencies that the working tree patches.
    fn patch(
        &self,
        checkout: &mut Checkout,
        root: &Path,
        added: &BTreeSet<String>,
    ) -> anyhow::Result<()> {
        for patch in &self.patches {
            let package = patch.spec.package().unwrap_or(&patch.key).to_owned();
            if !added.contains(&package) {
                continue;
            }
            let mut workspace = checkout.manifest(root)?.clone();
            let path = self.path(checkout, &patch.spec, &package, root)?;
            let place = manifest::patch_mut(&mut workspace, &patch.source, &patch.key)?;
            if place.is_none() {
                *place = patch.spec.item(path.as_deref());
                checkout.put(root, workspace);
            }
        }
        Ok(())
    }

    /// Returns the revision's lockfile with what the test needs. Returns `None` if there is
    /// nothing to add, or no lockfile to add it to.
    fn lockfile(&self, checkout: &Checkout, to: &To) -> anyhow::Result<Option<lock::Merged>> {
        // A new package that is a workspace of its own brings its lockfile along.
        if !to.depends || to.created && to.root == to.dir {
            return Ok(None);
        }
        let path = to.root.join("Cargo.lock");
        let failed = |why| refused(format!("{}: {why}", printed(&path)));
        let old = files::lockfile(&checkout.top.join(&path)).map_err(failed)?;
        let (Some(old), Some(lock)) = (old, &self.lock) else {
            return Ok(None);
        };
        let nothing = Requirements::default();
        let requirements = self.requirements.as_ref().unwrap_or(&nothing);
        let merged = lock.merge_into(&old, &self.package, &to.added, requirements);
        merged.map(Some).map_err(failed)
    }

    /// Returns the files that are copied, by their paths in the checkout.
    fn places(&self, to: &To) -> BTreeMap<PathBuf, &Kept> {
        let own = self
            .target
            .get("path")
            .and_then(Item::as_str)
            .map(Path::new);
        let mut places = BTreeMap::new();
        for file in &self.files {
            let is_test =
                file.path.starts_with(folder_of(&self.kind)) || own == Some(file.path.as_path());
            let is_left = match file.path.to_str() {
                Some("Cargo.toml") => true,
                Some("Cargo.lock") => !to.created,
                _ => !to.whole && !is_test,
            };
            if !is_left {
                places.insert(plain(&to.dir.join(&file.path)), file);
            }
        }
        places
    }

    /// Removes a file that would be the same module as a copied one: rustc takes `common.rs`
    /// or `common/mod.rs`, not both.
    fn remove_other(&self, checkout: &Checkout, laid: &Path, to: &To) -> anyhow::Result<()> {
        let other = match laid.file_name().is_some_and(|name| name == "mod.rs") {
            true => laid.parent().map(|dir| dir.with_extension("rs")),
            false => Some(laid.with_extension("").join("mod.rs")),
        };
        let Some(other) = other.filter(|_| laid.extension().is_some_and(|end| end == "rs")) else {
            return Ok(());
        };
        let path = relative(&to.dir, &other);
        let is_kept = self.files.iter().any(|file| file.path == path)
            || manifest::names_target(checkout.manifest(&to.dir)?, &self.kind, &path);
        let full = checkout.top.join(&other);
        let is_file = fs::symlink_metadata(&full).is_ok_and(|about| about.is_file());
        if is_file && !is_kept && path.starts_with(folder_of(&self.kind)) {
            fs::remove_file(&full).with_context(|| format!("cannot remove {}", shown(&full)))?;
        }
        Ok(())
    }
}

/// Where the test is copied to.
struct To {
    dir: PathBuf,
    root: PathBuf,
    /// The packages on which it depends, and on which its old manifest did not.
    added: BTreeSet<String>,
    /// Whether dependencies, or features of dependencies, were added.
    depends: bool,
    /// Whether the whole package is copied, not only its tests.
    whole: bool,
    created: bool,
}

/// Adds the features that a test needs of a dependency that its package already had. Returns
/// whether any dependency entry changed.
fn complete(
    old: &mut DocumentMut,
    workspace: &DocumentMut,
    wanted: &Wanted,
    had: Place,
    whole: bool,
) -> anyhow::Result<bool> {
    let entry = manifest::entry_mut(old, &had)?;
    let mut given = manifest::features(entry);
    let mut has_defaults = manifest::has_default_features(entry);
    if entry.get("workspace").is_some() {
        let inherited = manifest::workspace_dependency(workspace, &had.key);
        given.extend(inherited.map(manifest::features).unwrap_or_default());
        let asks = entry.get("default-features").and_then(Item::as_bool) == Some(true);
        has_defaults = asks || inherited.is_none_or(manifest::has_default_features);
    }
    let wanted = wanted.whole();
    let mut lacking = wanted.features.clone();
    lacking.retain(|feature| !given.contains(feature));
    let lacks_defaults = manifest::has_default_features(&wanted.item(None)) && !has_defaults;
    let lacks = lacks_defaults || !lacking.is_empty();
    let is_optional = entry.get("optional").is_some();
    if whole || had.kind != Kind::Normal {
        manifest::extend(entry, &lacking, lacks_defaults);
        return Ok(lacks);
    }
    if !is_optional && !lacks {
        return Ok(false);
    }
    // The code's own entry stays. The tests get an entry of their own for the same dependency.
    let mut entry = manifest::inline(entry);
    manifest::extend(&mut entry, &lacking, lacks_defaults);
    let place = Place {
        kind: Kind::Dev,
        ..had
    };
    *manifest::entry_mut(old, &place)? = entry;
    Ok(true)
}

/// The manifests of a checkout.
struct Checkout {
    top: PathBuf,
    /// The names of the packages, by folder.
    names: BTreeMap<PathBuf, String>,
    manifests: BTreeMap<PathBuf, DocumentMut>,
    changed: BTreeSet<PathBuf>,
}

impl Checkout {
    fn read(top: &Path) -> anyhow::Result<Checkout> {
        let top = fs::canonicalize(top).with_context(|| format!("cannot read {}", shown(top)))?;
        let mut names = BTreeMap::new();
        let mut manifests = BTreeMap::new();
        for dir in files::folders_with_manifest(&top)? {
            // Test data may look like a manifest and not be one.
            let text = files::manifest(&top.join(&dir).join("Cargo.toml"));
            let manifest = text.ok().and_then(|text| text.parse::<DocumentMut>().ok());
            let Some(manifest) = manifest else {
                continue;
            };
            if let Some(name) = manifest::name(&manifest) {
                names.insert(dir.clone(), name.to_owned());
            }
            manifests.insert(dir, manifest);
        }
        Ok(Checkout {
            top,
            names,
            manifests,
            changed: BTreeSet::new(),
        })
    }

    /// Returns the folder of a package: the same as in the working tree, or where it was at
    /// the revision.
    fn find(&self, package: &str, at: &Path) -> anyhow::Result<Option<PathBuf>> {
        if self.names.get(at).is_some_and(|name| name == package) {
            return Ok(Some(at.to_owned()));
        }
        let depth = |dir: &Path| dir.components().count();
        let found = self.names.iter().filter(|(_, name)| *name == package);
        let mut found: Vec<&PathBuf> = found.map(|(dir, _)| dir).collect();
        // Those that are deeper are test data.
        found.sort_by_key(|dir| depth(dir));
        match found[..] {
            [] => Ok(None),
            [one, other, ..] if depth(one) == depth(other) => Err(refused(format!(
                "there are two packages `{package}`: in {} and in {}",
                printed(one),
                printed(other)
            ))),
            [one, ..] => Ok(Some(one.clone())),
        }
    }

    fn manifest(&self, dir: &Path) -> anyhow::Result<&DocumentMut> {
        match self.manifests.get(dir) {
            Some(manifest) => Ok(manifest),
            None => Err(refused(format!(
                "there is no Cargo.toml in {}",
                printed(dir)
            ))),
        }
    }

    fn put(&mut self, dir: &Path, manifest: DocumentMut) {
        self.manifests.insert(dir.to_owned(), manifest);
        self.changed.insert(dir.to_owned());
    }

    /// Returns the folder of the workspace that contains a package, or the package's own
    /// folder if there is no workspace.
    fn workspace_of(&self, dir: &Path) -> anyhow::Result<PathBuf> {
        let own = self.manifests.get(dir);
        if let Some(path) = own.and_then(manifest::workspace_pointer) {
            let root = plain(&dir.join(path));
            self.manifest(&root)?;
            return Ok(root);
        }
        let is_root = |dir: &&Path| {
            let manifest = self.manifests.get(*dir);
            manifest.is_some_and(|manifest| manifest.contains_key("workspace"))
        };
        Ok(dir.ancestors().find(is_root).unwrap_or(dir).to_owned())
    }

    /// Returns the folder of the workspace to which a new package is added.
    fn workspace_for(&self, package: &str, root: &Path, dir: &Path) -> anyhow::Result<PathBuf> {
        let mut places = std::iter::once(root).chain(dir.ancestors().skip(1));
        match places.find(|place| self.manifests.contains_key(*place)) {
            Some(place) => self.workspace_of(place),
            None => Err(refused(format!(
                "there is no workspace that the package `{package}` could be a member of"
            ))),
        }
    }

    /// Returns the changed manifests, by path.
    fn changed(&self) -> impl Iterator<Item = (PathBuf, String)> {
        let manifests = self.manifests.iter();
        let changed = manifests.filter(|(dir, _)| self.changed.contains(*dir));
        changed.map(|(dir, manifest)| (dir.join("Cargo.toml"), manifest.to_string()))
    }
}

fn document(path: &Path) -> anyhow::Result<DocumentMut> {
    let text = files::manifest(path);
    let parsed = text.and_then(|text| text.parse().map_err(|err| files::said(&text, &err)));
    parsed.map_err(|why| anyhow::anyhow!("{}: {why}", shown(path)))
}

fn patches(workspace: &DocumentMut, top: &Path, root: &Path) -> Vec<Patch> {
    let patch = |(source, key, item): (&str, &str, &Item)| Patch {
        source: source.to_owned(),
        key: key.to_owned(),
        spec: Spec::read(item, top, root),
    };
    manifest::patches(workspace).map(patch).collect()
}

fn add_spec(digest: &mut Fnv, spec: &Spec) {
    digest.part(spec.item(None).to_string());
    digest.part(format!("{:?}", spec.at));
}
