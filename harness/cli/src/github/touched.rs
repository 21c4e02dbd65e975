//! By what a pull request can agree with itself: the files that say what is
//! allowed, what is measured, and how.

use super::target::ChangedFile;
use crate::render::{Touched, TouchedKind};

/// Of the files that a pull request changes, those that its own verdict rests on.
pub(crate) fn of(files: &[ChangedFile]) -> Vec<Touched> {
    let mut touched = Vec::new();
    for file in files {
        let names = std::iter::once(&file.filename).chain(&file.previous_filename);
        for path in names {
            if let Some(kind) = kind(path) {
                touched.push(Touched {
                    kind,
                    path: path.clone(),
                });
            }
        }
    }
    touched.sort();
    touched.dedup();
    touched
}

fn kind(path: &str) -> Option<TouchedKind> {
    let folders: Vec<&str> = path.split('/').collect();
    let (name, folders) = folders.split_last()?;
    if path.starts_with(".github/") || *name == ".gitlab-ci.yml" {
        Some(TouchedKind::Workflow)
    } else if matches!(*name, "plimsoll.toml" | "nextest.toml") || folders.contains(&".cargo") {
        Some(TouchedKind::Settings)
    } else if folders.contains(&"baselines") {
        Some(TouchedKind::Baseline)
    } else if folders.contains(&"tests") || folders.contains(&"scenarios") || *name == "leaks.rs" {
        Some(TouchedKind::Test)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_verdict_rests_on() {
        let kinds = [
            ".github/workflows/leaks.yml",
            "plimsoll.toml",
            "crates/a/plimsoll.toml",
            ".cargo/config.toml",
            "baselines/lru.toml",
            "crates/a/baselines/lru.toml",
            "tests/leaks.rs",
            "leaks/tests/leaks.rs",
            "src/baselines.rs",
            "src/lib.rs",
        ]
        .map(kind);
        use TouchedKind::{Baseline, Settings, Test, Workflow};
        assert_eq!(
            kinds,
            [
                Some(Workflow),
                Some(Settings),
                Some(Settings),
                Some(Settings),
                Some(Baseline),
                Some(Baseline),
                Some(Test),
                Some(Test),
                None,
                None
            ]
        );
    }

    #[test]
    fn a_file_that_was_moved_away_counts() {
        let file = ChangedFile {
            filename: "old/lru.toml".to_owned(),
            previous_filename: Some("baselines/lru.toml".to_owned()),
            status: Some("renamed".to_owned()),
        };
        assert_eq!(of(&[file])[0].path, "baselines/lru.toml");
    }
}
