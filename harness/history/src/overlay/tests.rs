//! Tests with real cargo projects: a working tree and an older checkout, with crates from a
//! registry that is a folder. cargo decides whether the result is right.

mod locks;
mod manifests;
mod refusals;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Metadata, TargetKind};

use super::Overlay;
use crate::measure::Unusable;
use plimsoll_core::text::hash::Fnv;

/// A folder with two states of a repository in `work` and `old`.
struct World {
    dir: tempfile::TempDir,
}

const LEAKS: &str = "fn main() {}\n";

fn package(name: &str, version: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n")
}

impl World {
    /// Files as in
    ///
    /// ```text
    /// == work/Cargo.toml + src/lib.rs tests/leaks.rs
    /// package demo 0.1.0          a package with that name and version
    /// test leaks                  its entry for the test
    /// == crate probe 1.0.0 1.2.0
    /// [dependencies]; help = '1'  what its manifest has below `[package]`
    /// ```
    ///
    /// A `;` before a space ends a line. The files after the `+` are beside the first one. They are empty, but for a test,
    /// which does nothing.
    fn of(text: &str) -> World {
        let dir = tempfile::tempdir().unwrap();
        let world = World { dir };
        world.write(
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"folder\"\n\
             [source.folder]\ndirectory = \"registry\"\n",
        );
        for dir in ["registry", "work", "old"] {
            fs::create_dir(world.path(dir)).unwrap();
        }
        world.add(text);
        world
    }

    fn add(&self, text: &str) {
        for part in text.split("== ").skip(1) {
            let (head, lines) = part.split_once('\n').unwrap_or((part, ""));
            let lines = lines.replace("; ", "\n");
            let lines = lines.lines().map(|line| match line.trim().split_once(' ') {
                Some(("test", "leaks")) => "\n[[test]]\nname = \"leaks\"\nharness = false\n".into(),
                Some(("package", named)) => {
                    let (name, version) = named.split_once(' ').unwrap();
                    package(name, version)
                }
                _ => format!("{}\n", line.trim()),
            });
            let mut text = lines.collect::<String>().trim_end().to_owned();
            text.push('\n');
            if let Some(named) = head.strip_prefix("crate ") {
                let mut words = named.split(' ');
                let name = words.next().unwrap();
                words.for_each(|version| self.publish(name, version, &text));
                continue;
            }
            let (path, others) = head.split_once(" + ").unwrap_or((head, ""));
            self.write(path, &text);
            for other in others.split_whitespace() {
                let is_test = other.ends_with("leaks.rs");
                let text = if is_test { LEAKS } else { "" };
                let folder = Path::new(path).parent().unwrap();
                self.write(folder.join(other).to_str().unwrap(), text);
            }
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        // Temporary folders are links on some systems.
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Changes a file that is there.
    #[track_caller]
    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path}: {text}");
        self.write(path, &text.replace(from, to));
    }

    fn remove(&self, path: &str) {
        let path = self.path(path);
        match path.is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }

    /// Publishes a crate; `rest` is what its manifest has below `[package]`.
    fn publish(&self, name: &str, version: &str, rest: &str) {
        let dir = format!("registry/{name}-{version}");
        let manifest = package(name, version) + rest;
        self.write(&format!("{dir}/Cargo.toml"), &manifest);
        self.write(&format!("{dir}/src/lib.rs"), "");
        let mut sum = Fnv::default();
        sum.part(&dir);
        let checksum = format!("{{\"files\":{{}},\"package\":\"{:064x}\"}}", sum.finish());
        self.write(&format!("{dir}/.cargo-checksum.json"), &checksum);
    }

    /// What cargo prints where it succeeds, as it has to.
    #[track_caller]
    fn cargo(&self, dir: &str, args: &[&str]) -> String {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args(args)
            .arg("--offline")
            .current_dir(self.path(dir))
            .env("CARGO_HOME", self.path("home"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_TERM_COLOR", "never");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn lock(&self, dir: &str) {
        self.cargo(dir, &["generate-lockfile"]);
    }

    /// The test can be built and run in the checkout.
    #[track_caller]
    fn builds(&self, package: &str) {
        self.cargo("old", &["test", "--package", package, "--test", "leaks"]);
    }

    #[track_caller]
    fn metadata(&self, dir: &str) -> Metadata {
        let printed = self.cargo(dir, &["metadata", "--format-version", "1"]);
        serde_json::from_str(&printed).unwrap()
    }

    /// What cargo makes of a package in the checkout: all that it depends on.
    #[track_caller]
    fn resolved(&self, package: &str) -> String {
        let args = ["tree", "--prefix=none", "--no-dedupe", "--target=all", "-p"];
        let text = self.cargo("old", &[&args[..], &[package]].concat());
        let here = format!("({}", self.path("").display());
        // `core v0.0.7 (/tmp/…/old/core)`
        let lines = text.lines().skip(1).filter(|line| !line.ends_with("(*)"));
        let names = lines.map(|line| {
            line.replace(" v", " ")
                .replace(&here, "in ")
                .replace(')', "")
        });
        let names: BTreeSet<String> = names.collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    fn try_overlay(&self, at: At) -> anyhow::Result<Overlay> {
        let (work, root) = (self.path("work"), self.path("work").join(at.root));
        let dir = work.join(at.dir);
        let kind = match at.file.starts_with("benches") {
            true => TargetKind::Bench,
            false => TargetKind::Test,
        };
        let file = dir.join(at.file);
        Overlay::read(&work, &root, at.package, &dir, &kind, &file, at.others)
    }

    #[track_caller]
    fn overlay(&self, at: At) -> Overlay {
        self.try_overlay(at).unwrap()
    }

    /// What differs in the checkout after a test was laid over it, and what cargo makes
    /// of that.
    #[track_caller]
    fn laid(&self, at: At) -> String {
        let before = self.everything("old");
        let raised = self.overlay(at).lay(&self.path("old")).unwrap();
        assert!(raised.is_empty(), "{raised:?}");
        let differences = differences(&before, &self.everything("old"));
        // The same on every machine.
        let dir = self.path("");
        let dir = dir.to_str().unwrap().trim_end_matches('/');
        let text = differences + "cargo: " + &self.resolved(at.package);
        text.replace(dir, "<dir>")
    }

    /// Why it cannot be laid there; the checkout is then as it was.
    #[track_caller]
    fn refused(&self, at: At) -> String {
        let before = self.everything("old");
        let laid = self.overlay(at).lay(&self.path("old"));
        assert_eq!(before, self.everything("old"));
        laid.unwrap_err().downcast::<Unusable>().unwrap().why
    }

    /// Every file of a folder, with its text.
    fn everything(&self, dir: &str) -> BTreeMap<String, String> {
        let root = self.path(dir);
        let mut all = BTreeMap::new();
        let mut dirs = vec![root.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if fs::symlink_metadata(&path).unwrap().is_dir() {
                    dirs.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    let name = path.strip_prefix(&root).unwrap().display().to_string();
                    all.insert(name, text);
                }
            }
        }
        all
    }
}

/// Which test is laid, or which bench.
#[derive(Clone, Copy)]
struct At {
    package: &'static str,
    /// In the repository.
    dir: &'static str,
    /// The folder of its workspace.
    root: &'static str,
    /// In its package.
    file: &'static str,
    /// Its package has other targets.
    others: bool,
}

/// Beside the code of `demo`, at the repository's top.
const DEMO: At = At {
    package: "demo",
    dir: "",
    root: "",
    file: "tests/leaks.rs",
    others: true,
};
/// The same, in a folder.
const fn demo_in(dir: &'static str) -> At {
    At { dir, ..DEMO }
}

/// In a package of its own, in `leaks`.
const ALONE: At = At {
    package: "leaks",
    dir: "leaks",
    others: false,
    ..DEMO
};

/// Files that came and went, and which lines of manifests and lockfiles did.
fn differences(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        text += &format!("- {name}\n");
    }
    for (name, now) in new {
        let before = old.get(name);
        if before == Some(now) {
            continue;
        }
        text += &format!("{} {name}\n", if before.is_some() { "~" } else { "+" });
        if name.ends_with("Cargo.toml") || name.ends_with("Cargo.lock") {
            text += &lines(before.map_or("", String::as_str), now);
        }
    }
    text
}

/// Lines that came and went, a paragraph in a line.
fn lines(old: &str, new: &str) -> String {
    let only = |sign: char, one: &str, other: &str| {
        let mut left: Vec<&str> = other.lines().collect();
        let lines = one.lines().map(|line| {
            let there = left.iter().position(|other| *other == line);
            (line, there.map(|at| left.remove(at)).is_none())
        });
        let lines: Vec<(&str, bool)> = lines.collect();
        let paragraphs = lines.chunk_by(|one, next| one.1 == next.1 && !next.0.is_empty());
        let paragraphs = paragraphs.filter(|lines| lines[0].1).map(|lines| {
            let texts = lines.iter().map(|line| line.0);
            let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
            format!("    {sign} {}\n", texts.join("; "))
        });
        paragraphs.collect::<String>()
    };
    only('-', old, new) + &only('+', new, old)
}
