//! Finds the workspace of a package by cargo's rule, from the manifests only.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Returns the root of a package's workspace, or the package's own folder if it is in none.
///
/// The rule is cargo's. The root is where the package's `Cargo.toml` says (`[workspace]`, or
/// `package.workspace`). Otherwise the nearest manifest above decides that has a `[workspace]`
/// which does not exclude the package, or that names its own workspace. `manifest` returns the
/// text of a folder's `Cargo.toml`.
pub fn workspace_root(manifest_dir: &Path, manifest: impl Fn(&Path) -> Option<String>) -> PathBuf {
    let above = manifest_dir.ancestors().enumerate();
    let mut roots = above.filter_map(|(height, dir)| {
        let text = manifest(dir)?;
        let manifest = parsed(&text)?;
        root_by(dir, &manifest, (height > 0).then_some(manifest_dir))
    });
    roots.next().unwrap_or_else(|| manifest_dir.to_owned())
}

fn parsed(manifest: &str) -> Option<DeValue<'_>> {
    let table = DeTable::parse(manifest).ok()?;
    Some(DeValue::Table(table.into_inner()))
}

/// Returns what is at a path of keys.
fn at<'a, 'text>(value: &'a DeValue<'text>, path: &[&str]) -> Option<&'a DeValue<'text>> {
    let mut keys = path.iter();
    keys.try_fold(value, |value, key| value.get(key).map(Spanned::get_ref))
}

/// Returns the root that a manifest names, for its own package or for a package below.
fn root_by(dir: &Path, manifest: &DeValue, below: Option<&Path>) -> Option<PathBuf> {
    let Some(workspace) = at(manifest, &["workspace"]).filter(|found| found.is_table()) else {
        let pointer = at(manifest, &["package", "workspace"])?.as_str()?;
        return Some(joined(dir, pointer));
    };
    let lists = |key: &str| {
        let list = at(workspace, &[key]).and_then(DeValue::as_array);
        let paths = list.into_iter().flatten();
        let mut paths = paths.filter_map(|path| path.get_ref().as_str());
        below.is_some_and(|package| paths.any(|path| package.starts_with(joined(dir, path))))
    };
    // A package that is listed as a member is not excluded.
    (!lists("exclude") || lists("members")).then(|| dir.to_owned())
}

/// Joins a manifest's path to a folder, and resolves each `..`.
fn joined(dir: &Path, path: &str) -> PathBuf {
    let mut joined = dir.to_owned();
    for part in Path::new(path).components() {
        match part {
            std::path::Component::ParentDir => {
                joined.pop();
            }
            part => joined.push(part),
        }
    }
    joined
}

/// Returns the folder of the package whose benches a package has as tests, as its manifest names it:
/// `[package.metadata.plimsoll] directory`.
pub fn directory_of_benches(manifest: &str) -> Option<PathBuf> {
    let manifest = parsed(manifest)?;
    let directory = at(&manifest, &["package", "metadata", "plimsoll", "directory"])?;
    directory.as_str().map(PathBuf::from)
}

/// Returns whether a workspace's manifest has the programs of a profile stripped. `profile` is a
/// name as in the target directory, where cargo's `dev` is `debug`.
///
/// A program that was stripped of its debug information looks like one that was built without.
pub fn strips(manifest: &str, profile: &str) -> bool {
    let Some(manifest) = parsed(manifest) else {
        return false;
    };
    let set = |profile: &str| {
        let strip = at(&manifest, &["profile", profile, "strip"])?;
        Some(!matches!(strip.as_str(), Some("none")) && strip.as_bool() != Some(false))
    };
    let inherited = |profile: &str| at(&manifest, &["profile", profile, "inherits"])?.as_str();
    let mut profile = match profile {
        "debug" => "dev",
        other => other,
    };
    // A profile that inherits from itself does so for ever.
    for _ in 0..8 {
        if let Some(strips) = set(profile) {
            return strips;
        }
        match inherited(profile) {
            Some(next) => profile = next,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_that_strip() {
        let manifest = "[profile.release]\nstrip = true\n[profile.dev]\nstrip = \"debuginfo\"\n\
                        [profile.fast]\ninherits = \"release\"\n\
                        [profile.whole]\ninherits = \"release\"\nstrip = \"none\"\n\
                        [profile.round]\ninherits = \"round\"\n";
        for (profile, expected) in [
            ("release", true),
            ("debug", true),
            ("fast", true),
            ("whole", false),
            ("round", false),
            ("unknown", false),
        ] {
            assert_eq!(strips(manifest, profile), expected, "{profile}");
        }
        assert!(!strips("[profile.release]\nstrip = false\n", "release"));
        assert!(!strips("[", "release"));
    }

    /// Checks which folder is found. The manifests are `package`, `workspace` or text.
    #[track_caller]
    fn check(manifest_dir: &str, manifests: &[(&str, &str)], expected: &str) {
        let root = workspace_root(Path::new(manifest_dir), |dir| {
            let found = manifests.iter().find(|(of, _)| Path::new(of) == dir);
            found.map(|(_, text)| match *text {
                "package" => "[package]\nname = \"a\"\n".to_owned(),
                "workspace" => "[workspace]\nmembers = [\"crates/*\"]\n".to_owned(),
                text => text.to_owned(),
            })
        });
        assert_eq!(root, Path::new(expected), "{manifest_dir} in {manifests:?}");
    }

    #[test]
    fn the_nearest_that_has_a_workspace() {
        let (outer, root) = (("/", "[workspace]\n"), ("/w", "workspace"));
        let (a, b, deep) = (("/w/a", "package"), ("/w/a/b", "package"), "/w/crates/a");
        check(deep, &[outer, root, (deep, "package")], "/w");
        let own = "[package]\nname = \"a\"\n[workspace]\n";
        check("/w/a", &[root, ("/w/a", own)], "/w/a");
        // A folder between has only a package.
        check("/w/a/b", &[root, a, b], "/w");
        // There is no workspace.
        check("/w/a", &[a], "/w/a");
        check("/w/a", &[("/w", "package"), a], "/w/a");
        check("/w/a", &[], "/w/a");
        // Another package's manifest, or no manifest at all.
        check("/w/a", &[("/w", "[workspace\n"), a], "/w/a");
        check("/w/a", &[("/w", "workspace = 1\n"), a], "/w/a");
        // A package that names its workspace.
        let names = "[package]\nname = \"a\"\nworkspace = \"../w\"\n";
        check("/r/a", &[("/r", "workspace"), ("/r/a", names)], "/r/w");
    }

    #[test]
    fn a_workspace_that_excludes_the_package() {
        let excludes = "[workspace]\nexclude = [\"tools\", \"./x/../fuzz\"]\n";
        let outer = ("/r", "[workspace]\n");
        check("/r/w/tools/a", &[outer, ("/r/w", excludes)], "/r");
        let fuzz = "/w/fuzz";
        check(fuzz, &[("/w", excludes), (fuzz, "package")], fuzz);
        check("/w/tools-too", &[("/w", excludes)], "/w");
        let but_one = "[workspace]\nexclude = [\"tools\"]\nmembers = [\"tools/a\"]\n";
        check("/w/tools/a", &[("/w", but_one)], "/w");
        check("/w/tools/b", &[("/w", but_one)], "/w/tools/b");
    }
}
