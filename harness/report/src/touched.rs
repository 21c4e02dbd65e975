//! Changed files with which a pull request influences its own verdict: they say what is
//! allowed, what is measured, and how.

use std::collections::BTreeSet;

use crate::render::{Touched, TouchedKind};

/// Selects the changed files on which the pull request's own verdict rests.
pub fn of<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<Touched> {
    let touched = paths.into_iter().filter_map(|path| {
        let (kind, path) = (kind(path)?, path.to_owned());
        Some(Touched { kind, path })
    });
    Vec::from_iter(touched.collect::<BTreeSet<Touched>>())
}

/// Returns what a path decides. A symbolic link or a submodule may replace a folder, so the
/// last part of a path is checked like a folder's name.
fn kind(path: &str) -> Option<TouchedKind> {
    let parts: Vec<&str> = path.split('/').collect();
    let has = |wanted: &[&str]| parts.iter().any(|part| wanted.contains(part));
    let is_leak_package =
        |part: &&str| *part == "leaks" || part.ends_with("-leaks") || part.ends_with("_leaks");
    let name = parts[parts.len() - 1];
    match name {
        _ if parts[0] == ".github" || name == ".gitlab-ci.yml" => Some(TouchedKind::Workflow),
        "plimsoll.toml" | "nextest.toml" => Some(TouchedKind::Settings),
        _ if has(&[".cargo", ".config"]) => Some(TouchedKind::Settings),
        "Cargo.toml" | "Cargo.lock" | "build.rs" | "rust-toolchain" | "rust-toolchain.toml" => {
            Some(TouchedKind::Build)
        }
        _ if has(&["baselines"]) => Some(TouchedKind::Baseline),
        "leaks.rs" => Some(TouchedKind::Test),
        _ if has(&["tests", "scenarios"]) => Some(TouchedKind::Test),
        _ if parts.iter().any(is_leak_package) => Some(TouchedKind::Test),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_verdict_rests_on() {
        use TouchedKind::{Baseline, Build, Settings, Test, Workflow};
        for (path, expected) in [
            (".github/workflows/leaks.yml", Some(Workflow)),
            (".github", Some(Workflow)),
            (".gitlab-ci.yml", Some(Workflow)),
            ("plimsoll.toml", Some(Settings)),
            ("crates/a/plimsoll.toml", Some(Settings)),
            (".cargo/config.toml", Some(Settings)),
            (".cargo", Some(Settings)),
            (".config/nextest.toml", Some(Settings)),
            ("Cargo.toml", Some(Build)),
            ("crates/a/Cargo.toml", Some(Build)),
            ("Cargo.lock", Some(Build)),
            ("rust-toolchain.toml", Some(Build)),
            ("rust-toolchain", Some(Build)),
            ("crates/a/build.rs", Some(Build)),
            ("baselines/lru.toml", Some(Baseline)),
            ("crates/a/baselines/lru.toml", Some(Baseline)),
            ("baselines", Some(Baseline)),
            ("tests/leaks.rs", Some(Test)),
            ("tests", Some(Test)),
            ("leaks/tests/leaks.rs", Some(Test)),
            ("leaks/src/workload.rs", Some(Test)),
            ("crates/bytes-leaks/src/lib.rs", Some(Test)),
            ("src/baselines.rs", None),
            ("src/lib.rs", None),
            ("docs/github.md", None),
        ] {
            assert_eq!(kind(path), expected, "{path}");
        }
    }

    #[test]
    fn each_file_is_named_once() {
        let touched = of(["src/lib.rs", "baselines/lru.toml", "baselines/lru.toml"]);
        assert_eq!(touched.len(), 1);
        assert_eq!(touched[0].path, "baselines/lru.toml");
    }
}
