//! Defines where files are: one rule for the code that writes them and the code that reads
//! them.
//!
//! ```text
//! <target directory>/plimsoll/<package>/<test target>/<scenario>/
//!   report.json         the report
//!   before.heap         the first rung that the verdict used, as jemalloc wrote it
//!   after.heap          the last rung that the verdict used
//!   growth.folded       growth per stack, for flame graph tools
//!   growth.svg          the same as a flame graph
//!   baseline.toml.new   the baseline after accepting everything; if there is anything to accept
//!   output.txt          what the subject printed
//!   rungs/<n>.heap      the dump after n iterations; if every rung is kept
//!
//! <baselines folder>/<scenario>.toml
//! <package or workspace>/plimsoll.toml
//! ```
//!
//! Paths in, paths out: only the caller checks whether a file exists.

mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use crate::text::name::{MAX_SCENARIO_NAME, valid_scenario_name};
pub use workspace::{directory_of_benches, strips, workspace_root};

/// The report of one scenario.
pub const REPORT: &str = "report.json";
/// The dump of the first rung that the verdict used.
pub const BEFORE: &str = "before.heap";
/// The dump of the last rung that the verdict used.
pub const AFTER: &str = "after.heap";
/// Growth per stack, for flame graph tools.
pub const GROWTH_FOLDED: &str = "growth.folded";
/// Growth as a flame graph.
pub const GROWTH_SVG: &str = "growth.svg";
/// The baseline as it would be if everything that was found were accepted.
pub const NEW_BASELINE: &str = "baseline.toml.new";
/// What the subject printed.
pub const OUTPUT: &str = "output.txt";
/// The folder of every rung's dump, if they are kept.
pub const RUNGS: &str = "rungs";

/// The folder, beside those of scenarios, in which a program lists them. It is removed then.
pub const LISTING: &str = ".list";

/// The target that the reports of `plimsoll watch` belong to. A test of that name is another one.
pub const WATCH: &str = "watch";
/// The folder for plimsoll's files, in the target directory.
pub const REPORTS: &str = "plimsoll";
/// The folder for baselines, in the workspace.
pub const BASELINES: &str = "baselines";
/// The settings file, which marks the folder that has the baselines.
pub const SETTINGS: &str = "plimsoll.toml";

/// Checks that every name is valid as a file name, and that no two scenarios have the same
/// name.
///
/// # Errors
///
/// A message that says which name is wrong, and what a name can be.
pub fn check_scenario_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for name in names {
        if !valid_scenario_name(name) {
            return Err(format!(
                "`{name}` is not a valid name for a scenario\n  \
                 expected up to {} of `A-Z a-z 0-9 _ . : -`, not beginning with `.` or `-`",
                MAX_SCENARIO_NAME
            ));
        }
        if !known.insert(name) {
            return Err(format!(
                "two scenarios are called `{name}`\n  hint: the baseline and the folder of a \
                 scenario have its name, so no two may have the same"
            ));
        }
    }
    Ok(())
}

/// Returns the name of a scenario's folder, which is also the name of its baseline without
/// `.toml`.
///
/// A colon becomes `+`, because some file systems and uploads of CI artifacts do not allow
/// colons in file names. No scenario's name has a `+`, so different names have different
/// files. `http::parse` is in `http++parse`.
pub fn scenario_file_name(scenario: &str) -> String {
    scenario.replace(':', "+")
}

/// Returns the folder for the files of every run, inside a target directory.
pub fn reports_dir(target_dir: &Path) -> PathBuf {
    target_dir.join(REPORTS)
}

/// Returns the folder of one scenario's files, inside the folder of [`reports_dir`].
///
/// `package` and `target` are cargo's names, which have no separators in them.
pub fn scenario_dir(reports_dir: &Path, package: &str, target: &str, scenario: &str) -> PathBuf {
    reports_dir
        .join(package)
        .join(target)
        .join(scenario_file_name(scenario))
}

/// Returns the dump of one rung, inside a scenario's folder.
pub fn rung_file(scenario_dir: &Path, iterations: u64) -> PathBuf {
    scenario_dir.join(RUNGS).join(format!("{iterations}.heap"))
}

/// Returns a scenario's baseline, inside the folder of [`baselines_dir`].
pub fn baseline_file(baselines_dir: &Path, scenario: &str) -> PathBuf {
    baselines_dir.join(format!("{}.toml", scenario_file_name(scenario)))
}

/// Returns the scenario that a file in that folder belongs to. `None` if the file's name is
/// not that of a baseline. The result may still be a name that no scenario can have.
pub fn scenario_of_baseline(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_string_lossy();
    let stem = name.strip_suffix(".toml")?;
    (!stem.starts_with('.')).then(|| stem.replace('+', ":"))
}

/// Returns the folder for a package's baselines. This is `baselines` in the first of these:
///
/// 1. The nearest folder, from the package's own upwards, that has a `plimsoll.toml` or has
///    `baselines` already.
/// 2. The nearest folder that has a `Cargo.lock`, which is the root of the workspace.
/// 3. The package's own folder.
///
/// A folder `baselines` above the outermost `Cargo.lock` does not count, because other tools
/// have such folders too. A `plimsoll.toml` counts wherever it is, because only plimsoll has
/// it.
pub fn baselines_dir(manifest_dir: &Path, exists: impl Fn(&Path) -> bool) -> PathBuf {
    let upwards: Vec<&Path> = manifest_dir.ancestors().collect();
    let has = |dir: &Path, name: &str| exists(&dir.join(name));
    let outermost = upwards
        .iter()
        .rposition(|dir| has(dir, "Cargo.lock"))
        .unwrap_or(0);
    let marked = upwards
        .iter()
        .enumerate()
        .find(|(height, dir)| has(dir, SETTINGS) || (*height <= outermost && has(dir, BASELINES)));
    let root = marked
        .map(|(_, dir)| dir)
        .or_else(|| upwards.iter().find(|dir| has(dir, "Cargo.lock")))
        .copied();
    root.unwrap_or(manifest_dir).join(BASELINES)
}

/// Returns the settings files of a package, in order of precedence: the nearest
/// `plimsoll.toml` from the package's folder upwards, and that of the workspace's root.
///
/// The first file is beside the package's baselines, see [`baselines_dir`].
pub fn settings_files(
    manifest_dir: &Path,
    workspace_root: &Path,
    exists: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let upwards = manifest_dir.ancestors().map(|dir| dir.join(SETTINGS));
    let mut files: Vec<PathBuf> = upwards.filter(|file| exists(file)).take(1).collect();
    let root = workspace_root.join(SETTINGS);
    if exists(&root) && !files.contains(&root) {
        files.push(root);
    }
    files
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files() {
        let reports = reports_dir(Path::new("target"));
        let dir = scenario_dir(&reports, "my-crate", "leaks", "http::parse");
        assert_eq!(dir, Path::new("target/plimsoll/my-crate/leaks/http++parse"));
        assert_eq!(rung_file(&dir, 1024), dir.join("rungs/1024.heap"));
        let file = baseline_file(Path::new("baselines"), "http::parse");
        assert_eq!(file, Path::new("baselines/http++parse.toml"));
    }

    proptest! {
        #[test]
        fn different_names_have_different_files(
            one in "[a:][a:.]{0,3}",
            two in "[a:][a:.]{0,3}",
        ) {
            prop_assume!(one != two);
            prop_assert!(valid_scenario_name(&one) && valid_scenario_name(&two));
            prop_assert_ne!(scenario_file_name(&one), scenario_file_name(&two));
        }
    }

    /// Returns whether a file is one of `existing`, which are separated by spaces.
    fn one_of(existing: &str) -> impl Fn(&Path) -> bool {
        move |path| existing.split(' ').any(|there| Path::new(there) == path)
    }

    #[test]
    fn where_baselines_are() {
        for (manifest_dir, existing, expected) in [
            // At the root of the workspace.
            ("/w/crates/a", "/w/Cargo.lock", "/w"),
            ("/w/crates/a", "/w/Cargo.lock /w/baselines", "/w"),
            ("/w", "/w/Cargo.lock", "/w"),
            // Nearer to the package.
            ("/w/a", "/w/Cargo.lock /w/baselines /w/a/baselines", "/w/a"),
            ("/w/a/b", "/w/Cargo.lock /w/a/plimsoll.toml", "/w/a"),
            // Nothing marks a root.
            ("/w/a", "", "/w/a"),
            ("a", "", "a"),
            ("/w/a", "/w/a/baselines", "/w/a"),
            // A package moved into a workspace together with its lock file.
            ("/w/a", "/w/a/Cargo.lock /w/Cargo.lock /w/baselines", "/w"),
            ("/w/a", "/w/a/Cargo.lock /w/Cargo.lock", "/w/a"),
            // The folder belongs to somebody else.
            ("/repo/w/a", "/repo/w/Cargo.lock /repo/baselines", "/repo/w"),
            ("/repo/a", "/repo/baselines", "/repo/a"),
            ("/repo/w", "/repo/w/Cargo.lock /repo/plimsoll.toml", "/repo"),
        ] {
            let found = baselines_dir(Path::new(manifest_dir), one_of(existing));
            let expected = Path::new(expected).join("baselines");
            assert_eq!(found, expected, "{manifest_dir} with {existing:?}");
        }
    }

    #[test]
    fn settings_of_the_package_and_of_the_workspace() {
        for (manifest_dir, existing, expected) in [
            ("b", "", ""),
            ("b", "w", "w"),
            ("b", "b", "b"),
            ("b", "b w", "b w"),
            ("w", "b w", "w"),
            // A file between the two is the package's, if the package has none itself.
            ("b", "a w", "a w"),
            ("b", "b a w", "b w"),
            // A file above marks where the baselines are, so it is read.
            ("b", "r", "r"),
            ("b", "w r", "w"),
            ("b", "b r", "b"),
        ] {
            let dir = |name: &str| match name {
                "r" => "/r",
                "w" => "/r/w",
                "a" => "/r/w/a",
                _ => "/r/w/a/b",
            };
            let files = |names: &str| -> Vec<PathBuf> {
                let names = names.split_whitespace().map(dir);
                names
                    .map(|dir| Path::new(dir).join("plimsoll.toml"))
                    .collect()
            };
            let is_there = |path: &Path| files(existing).iter().any(|there| there == path);
            let manifest_dir = Path::new(dir(manifest_dir));
            let found = settings_files(manifest_dir, Path::new("/r/w"), is_there);
            assert_eq!(found, files(expected), "{manifest_dir:?} with {existing:?}");
        }
    }

    #[test]
    fn settings_stand_beside_the_baselines() {
        for existing in [
            "/w/a/plimsoll.toml /w/plimsoll.toml",
            "/w/plimsoll.toml",
            "/plimsoll.toml",
        ] {
            let files = settings_files(Path::new("/w/a"), Path::new("/w"), one_of(existing));
            let baselines = baselines_dir(Path::new("/w/a"), one_of(existing));
            assert_eq!(files[0].parent(), baselines.parent(), "{existing:?}");
        }
    }
}
