//! The benches of the tested package, as tests of the package of leak tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use cargo_metadata::{Dependency, DependencyKind, Package};
use plimsoll_dropin::{Bench, CRITERIONS};
use toml_edit::{Array, InlineTable, Value};

use super::layout::{LEAKS, dir_of};
use super::manifest::Library;

/// Features of criterion that the drop-in needs for what a bench calls.
const EXECUTORS: [&str; 4] = ["async_futures", "async_smol", "async_std", "async_tokio"];

/// What the manifest of the package of leak tests has for benches.
#[derive(Debug, Default)]
pub(super) struct Additions {
    /// Lines of `[dev-dependencies]`.
    pub(super) needs: String,
    /// Tables, for the end of the file.
    pub(super) tables: String,
}

/// Returns what the manifest of the package in `dir` has for the benches: criterion's place taken by
/// the drop-in, what else the benches may need, and a test for each of them.
pub(super) fn of_member(
    tested: &Package,
    benches: &[Bench],
    dir: &Path,
    library: &Library,
) -> Additions {
    let mut of_target: BTreeMap<Option<String>, BTreeMap<String, InlineTable>> = BTreeMap::new();
    let is_needed = |need: &&Dependency| need.kind != DependencyKind::Build && !need.optional;
    for need in tested.dependencies.iter().filter(is_needed) {
        // The package of leak tests has these itself.
        if need.name == "plimsoll" || need.name == *tested.name {
            continue;
        }
        let name = need.rename.as_ref().unwrap_or(&need.name).clone();
        let table = match CRITERIONS.contains(&need.name.as_str()) {
            true => dropin(need, library),
            false => table(need, dir),
        };
        let target = need.target.as_ref().map(ToString::to_string);
        of_target.entry(target).or_default().insert(name, table);
    }
    let lines = |needs: BTreeMap<String, InlineTable>| {
        let lines = needs.into_iter();
        let lines = lines.map(|(name, table)| format!("{name} = {table}\n"));
        lines.collect::<String>()
    };
    let needs = of_target.remove(&None).map_or_else(String::new, lines);
    let on = on_by_default(tested);
    let mut features = BTreeSet::new();
    let mut tables = String::new();
    for bench in benches {
        let name = match bench.name == LEAKS {
            true => format!("{LEAKS}-bench"),
            false => bench.name.clone(),
        };
        tables += &format!(
            "\n[[test]]\nname = {}\npath = {}\nharness = false\n",
            Value::from(name),
            Value::from(relative(dir, &bench.file))
        );
        let required = bench.required_features.iter().map(String::as_str);
        // A feature of a dependency is none that a package can have.
        let is_off = |feature: &&str| !on.contains(feature) && !feature.contains('/');
        let off: Vec<&str> = required.filter(is_off).collect();
        if !off.is_empty() {
            let required = Value::from(Array::from_iter(off.iter().copied()));
            tables += &format!("required-features = {required}\n");
            features.extend(off);
        }
    }
    if !features.is_empty() {
        tables +=
            "\n# Without them, as in `cargo bench`, benches that require them are left out.\n";
        tables += "[features]\n";
    }
    for feature in features {
        let own = Value::from(format!("{}/{feature}", tested.name));
        tables += &format!("{feature} = [{own}]\n");
    }
    for (target, needs) in of_target {
        let target = Value::from(target.unwrap_or_default());
        tables += &format!("\n[target.{target}.dev-dependencies]\n{}", lines(needs));
    }
    tables += &format!(
        "\n# Where the benches find their files.\n[package.metadata.plimsoll]\ndirectory = {}\n",
        Value::from(relative(dir, dir_of(tested)))
    );
    Additions { needs, tables }
}

/// Returns the features of a package that are on unless somebody turns them off.
fn on_by_default(package: &Package) -> BTreeSet<&str> {
    let mut on = BTreeSet::new();
    let mut next = vec!["default"];
    while let Some(feature) = next.pop() {
        if let Some(others) = package.features.get(feature)
            && on.insert(feature)
        {
            next.extend(others.iter().map(String::as_str));
        }
    }
    on
}

/// Returns the drop-in, with the features that a bench may need.
fn dropin(need: &Dependency, library: &Library) -> InlineTable {
    let mut table = library.dropin();
    let features = need.features.iter().map(String::as_str);
    let features = features.filter(|feature| EXECUTORS.contains(feature));
    let features: Array = features.collect();
    if !features.is_empty() {
        table.insert("features", Value::Array(features));
    }
    table
}

/// Returns a dependency as the package in `dir` has it.
fn table(need: &Dependency, dir: &Path) -> InlineTable {
    let mut table = InlineTable::new();
    let mut set = |key: &str, value: Value| {
        table.insert(key, value);
    };
    if need.rename.is_some() {
        set("package", need.name.as_str().into());
    }
    match (&need.path, &need.source) {
        (Some(path), _) => set("path", relative(dir, path.as_std_path()).into()),
        (None, Some(source)) if source.repr.starts_with("git+") => {
            let url = source.repr.trim_start_matches("git+");
            let (url, query) = url.split_once('?').unwrap_or((url, ""));
            set("git", url.split('#').next().unwrap_or(url).into());
            let pairs = query.split('#').next().unwrap_or_default().split('&');
            for (key, value) in pairs.filter_map(|pair| pair.split_once('=')) {
                set(key, value.into());
            }
        }
        _ => set("version", need.req.to_string().into()),
    }
    if !need.uses_default_features {
        set("default-features", false.into());
    }
    if !need.features.is_empty() {
        let features: Array = need.features.iter().map(String::as_str).collect();
        set("features", Value::Array(features));
    }
    table
}

/// Returns a path relative to a folder, with slashes.
fn relative(from: &Path, to: &Path) -> String {
    let from: Vec<Component<'_>> = from.components().collect();
    let to: Vec<Component<'_>> = to.components().collect();
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[same..].iter().map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to[same..].iter().copied()).collect();
    plimsoll_desk::project::with_slashes(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_from_one_folder_to_another() {
        for (from, to, expected) in [
            ("/w/leaks", "/w/benches/a.rs", "../benches/a.rs"),
            ("/w/leaks", "/w/crates/a", "../crates/a"),
            ("/w/leaks", "/w", ".."),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), expected);
        }
    }
}
