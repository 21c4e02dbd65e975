//! The sources of the drop-in and of the crates of plimsoll that it needs, and how they become
//! packages in somebody else's target directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// Files by their paths: `CRATE/manifest.toml`, `CRATE/build.rs`, `CRATE/src/…`, and
/// `workspace.toml`.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The crate that takes criterion's place.
const CRITERION: &str = "criterion";

/// The crates of plimsoll that it needs.
const NEEDED: [&str; 2] = ["subject", "unwind"];

/// What their versions end in, so that a project may have plimsoll itself as well, from another
/// folder.
pub(crate) const BUILD: &str = "+dropin";

/// A package that the drop-in takes the place of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Replaced {
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Replaced {
    /// Returns the folder of the package that takes its place.
    pub(crate) fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Writes the drop-in as a package with another one's name and version, and the crates that it
/// needs. Files that are there already are not touched, so that cargo builds nothing twice.
///
/// The package has all of these features, whether the drop-in knows them or not.
pub(crate) fn write(
    folder: &Path,
    replaced: &Replaced,
    features: &BTreeSet<String>,
) -> anyhow::Result<()> {
    for name in NEEDED {
        let mut manifest = manifest(name)?;
        let package = table(manifest.as_table_mut(), "package");
        let version = package["version"].as_str().unwrap_or_default();
        package["version"] = toml_edit::value(format!("{version}{BUILD}"));
        write_package(&folder.join(name), name, &manifest.to_string())?;
    }
    let mut manifest = manifest(CRITERION)?;
    let package = table(manifest.as_table_mut(), "package");
    package["name"] = toml_edit::value(&replaced.name);
    package["version"] = toml_edit::value(&replaced.version);
    // The front is that of the tool.
    manifest.remove("target");
    table(manifest.as_table_mut(), "features")["default"] = empty();
    table(manifest.as_table_mut(), "features")["front"] = empty();
    // The name of the crate is that of the package, as it is in the one that is replaced.
    manifest.remove("lib");
    let known = table(manifest.as_table_mut(), "features");
    for feature in features {
        if !known.contains_key(feature) {
            known[feature] = empty();
        }
    }
    let folder = folder.join(replaced.folder());
    write_package(&folder, CRITERION, &manifest.to_string())
}

/// Writes the files of a crate, with this manifest.
fn write_package(folder: &Path, name: &str, manifest: &str) -> anyhow::Result<()> {
    let files = SOURCES.iter().filter_map(|(path, text)| {
        let path = path.strip_prefix(name)?.strip_prefix('/')?;
        (path != "manifest.toml").then_some((path, *text))
    });
    for (path, text) in files.chain([("Cargo.toml", manifest)]) {
        let path = folder.join(path);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        plimsoll_desk::atomic::write(&path, text)?;
    }
    Ok(())
}

fn source(path: &str) -> anyhow::Result<DocumentMut> {
    let mut sources = SOURCES.iter();
    let found = sources.find(|(name, _)| *name == path);
    let (_, text) = found.with_context(|| format!("this plimsoll was built without {path}"))?;
    text.parse().with_context(|| path.to_owned())
}

/// Returns a crate's manifest as it is outside of its workspace.
fn manifest(name: &str) -> anyhow::Result<DocumentMut> {
    let workspace = source("workspace.toml")?;
    let workspace = &workspace["workspace"];
    let mut manifest = source(&format!("{name}/manifest.toml"))?;
    let root = manifest.as_table_mut();
    for key in ["lints", "test", "dev-dependencies"] {
        root.remove(key);
    }
    inherit(table(root, "package"), &workspace["package"]);
    root["package"]
        .as_table_mut()
        .map(|package| package.remove("readme"));
    let inherited = &workspace["dependencies"];
    if let Some(needs) = root.get_mut("dependencies").and_then(Item::as_table_mut) {
        resolve(needs, inherited);
    }
    if let Some(targets) = root.get_mut("target").and_then(Item::as_table_mut) {
        for (_, target) in targets.iter_mut() {
            let Some(target) = target.as_table_mut() else {
                continue;
            };
            target.remove("dev-dependencies");
            if let Some(needs) = target.get_mut("dependencies").and_then(Item::as_table_mut) {
                resolve(needs, inherited);
            }
        }
    }
    // Without it, cargo would look for the package in the workspace around the target directory.
    root["workspace"] = Item::Table(Table::new());
    Ok(manifest)
}

fn empty() -> Item {
    Item::Value(Value::Array(toml_edit::Array::new()))
}

fn table<'a>(root: &'a mut Table, key: &str) -> &'a mut Table {
    let item = root.entry(key).or_insert(Item::Table(Table::new()));
    if !item.is_table() {
        *item = Item::Table(Table::new());
    }
    item.as_table_mut().expect("it is one")
}

/// Replaces `KEY.workspace = true` with the value that the workspace has.
fn inherit(package: &mut Table, workspace: &Item) {
    for (key, item) in package.iter_mut() {
        if let (true, Some(inherited)) = (is_inherited(item), workspace.get(key.get())) {
            *item = inherited.clone();
        }
    }
}

fn is_inherited(item: &Item) -> bool {
    item.get("workspace").and_then(Item::as_bool) == Some(true)
}

/// Replaces inherited dependencies with what the workspace says of them, and crates of plimsoll
/// with the folders beside this one.
fn resolve(needs: &mut Table, workspace: &Item) {
    for (key, item) in needs.iter_mut() {
        let inherited = workspace.get(key.get()).filter(|_| is_inherited(item));
        let mut need = of(inherited.unwrap_or(item));
        if let Some(own) = item.get("features").and_then(Item::as_array) {
            need.insert("features", Value::Array(own.clone()));
        }
        if let Some(name) = key.get().strip_prefix("plimsoll-") {
            need = InlineTable::new();
            need.insert("path", Value::from(format!("../{name}")));
        }
        *item = Item::Value(Value::InlineTable(need));
    }
}

/// Returns a dependency as a table.
fn of(item: &Item) -> InlineTable {
    match item.clone().into_value() {
        Ok(Value::InlineTable(need)) => need,
        Ok(version) => InlineTable::from_iter([("version", version)]),
        Err(_) => InlineTable::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_stand_alone() {
        let folder = tempfile::tempdir().unwrap();
        let replaced = Replaced {
            name: "criterion".to_owned(),
            version: "0.4.0".to_owned(),
        };
        let features = BTreeSet::from(["of_a_later_release".to_owned()]);
        write(folder.path(), &replaced, &features).unwrap();
        let manifest = |name: &str| {
            let path = folder.path().join(name).join("Cargo.toml");
            fs::read_to_string(path).unwrap()
        };
        let criterion = manifest("criterion-0.4.0");
        for part in [
            "name = \"criterion\"\n",
            "version = \"0.4.0\"\n",
            "of_a_later_release = []\n",
            "default = []\n",
            "plimsoll-subject = { path = \"../subject\" }\n",
        ] {
            assert!(criterion.contains(part), "{part}: {criterion}");
        }
        let own = format!("version = \"{}+dropin\"\n", env!("CARGO_PKG_VERSION"));
        for name in NEEDED {
            assert!(manifest(name).contains(&own), "{}", manifest(name));
        }
        for manifest in [criterion, manifest("subject"), manifest("unwind")] {
            for part in [
                "workspace = true",
                "dev-dependencies",
                "plimsoll-front = ",
                "[lints]",
            ] {
                assert!(!manifest.contains(part), "{part}: {manifest}");
            }
            assert!(manifest.contains("\n[workspace]\n"), "{manifest}");
        }
        // A second time nothing is written, so that nothing is built anew.
        let path = folder.path().join("subject/src/lib.rs");
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        write(folder.path(), &replaced, &features).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
    }
}
