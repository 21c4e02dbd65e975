//! `plimsoll bisect --dep` finds the release that brought a growth, or fixed it,
//! and leaves the project as it was.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../built/mod.rs"]
mod built;
#[path = "../bisect/git.rs"]
mod git;
mod registry;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use serde_json::{Value, json};

use built::{build_as_all_do, shared, workspace};
use registry::{Does, Kept, Registry, silent, write};

/// A small project that depends on the crate of the registry.
struct Project {
    dir: PathBuf,
    /// For `--target-dir`.
    target: PathBuf,
    registry: Registry,
    /// In cargo's home, until the project is gone.
    kept: Kept,
    /// One at a time: they share what is built.
    _lock: File,
}

const MANIFEST: &str = r#"[package]
name = "project"
version = "0.0.0"
edition = "2021"

[dependencies]
leaky = { version = "0.1", registry = "made" }

[dev-dependencies]
plimsoll = { path = "WORKSPACE/harness/measure" }

[[test]]
name = "leaks"
harness = false

[workspace]
"#;

const LEAKS: &str = r#"use plimsoll::Scenario;

fn fills() -> Scenario {
    Scenario::new("fills", || {
        let mut pool = project::Pool::default();
        move |i: u64| pool.fill(i)
    })
}

plimsoll::main!(fills());
"#;

/// Whether the lockfile is committed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lockfile {
    Committed,
    Ignored,
}

impl Project {
    fn new(
        name: &str,
        registry: fn(&Path, &[Does]) -> Registry,
        releases: &[Does],
        lockfile: Lockfile,
    ) -> Project {
        let (shared, lock) = shared();
        let place = shared.with_file_name("bisect-dep").join(name);
        let _ = fs::remove_dir_all(&place);
        let registry = registry(&place.join("registry"), releases);
        let dir = place.join("beside/project");
        let workspace = workspace();
        let manifest = MANIFEST.replace("WORKSPACE", workspace.to_str().unwrap());
        let ignored = match lockfile {
            Lockfile::Committed => "/target\n",
            Lockfile::Ignored => "/target\nCargo.lock\n",
        };
        for (file, text) in [
            ("Cargo.toml", manifest.as_str()),
            (".cargo/config.toml", &registry.config),
            ("src/lib.rs", "pub use leaky::Pool;\n"),
            ("tests/leaks.rs", LEAKS),
            (".gitignore", ignored),
        ] {
            write(&dir.join(file), text);
        }
        // The versions of this repository, which have been fetched.
        fs::copy(workspace.join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
        let project = Project {
            target: shared.join("target"),
            kept: Kept::of(&manifest_of_leaky(&dir)),
            dir,
            registry,
            _lock: lock,
        };
        // Of a run that was killed, with other sources.
        project.kept.remove();
        commit_all(&project.dir);
        project
    }

    /// What was kept, by the names of its files.
    fn measured(&self) -> String {
        fn below(folder: &Path) -> String {
            let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
            let names = entries.map(|entry| match entry.path().is_dir() {
                true => below(&entry.path()),
                false => format!("{} ", entry.file_name().to_string_lossy()),
            });
            names.collect()
        }
        below(&self.dir.join("target/plimsoll-bisect/measured"))
    }

    fn bisect(&self, args: &[&str]) -> Output {
        self.run(&[&["--budget", "60s", "--scenario", "fills"], args].concat())
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let output = build_as_all_do(git::alone(silent(&mut command)))
            .args(["bisect", "--target-dir"])
            .arg(&self.target)
            .args(args)
            .current_dir(&self.dir)
            // A release that leaks does so in every iteration, so few iterations show it.
            .env("PLIMSOLL_MAX_ITERATIONS", "2000")
            .output()
            .unwrap();
        self.is_as_before();
        output
    }

    /// What it printed, and what it said beside that, with that status.
    #[track_caller]
    fn said(&self, args: &[&str], status: i32) -> (String, String) {
        let output = self.bisect(args);
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(output.status.code(), Some(status), "{err}");
        (out, err)
    }

    /// Prints JSON, with that status and all that is expected.
    #[track_caller]
    fn found(&self, args: &[&str], status: i32, expected: Value) -> Value {
        let (out, _) = self.said(&[&["--json"], args].concat(), status);
        let found = serde_json::from_str(&out).unwrap();
        has(&found, &expected);
        found
    }

    /// Says why not, with that status.
    #[track_caller]
    fn refused(&self, args: &[&str], status: i32) -> String {
        let (_, said) = self.said(args, status);
        let error = said.find("error: ").unwrap_or_else(|| panic!("{said}"));
        let registry = self.registry.dir().to_str().unwrap();
        said[error..].replace(registry, "REGISTRY")
    }

    #[track_caller]
    fn is_as_before(&self) {
        let status = git::git(&self.dir, &["status", "--porcelain", "--ignored"]);
        let mut known = status.lines().map(|line| line.trim_start_matches("!! "));
        let is_known = known.all(|name| ["target/", "Cargo.lock"].contains(&name));
        assert!(is_known, "{status}");
        assert_eq!(git::names(self.dir.parent().unwrap()), "project");
    }
}

/// All that is there, in a repository of its own.
fn commit_all(dir: &Path) {
    git::init(dir);
    git::git(dir, &["add", "."]);
    git::git(dir, &["commit", "--quiet", "-m", "all"]);
}

fn manifest_of_leaky(dir: &Path) -> PathBuf {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let metadata = ran(silent(&mut cargo)
        .args(["metadata", "--format-version", "1"])
        .current_dir(dir));
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let leaky = packages.iter().find(|package| package["name"] == "leaky");
    leaky.unwrap()["manifest_path"].as_str().unwrap().into()
}

/// What it prints.
#[track_caller]
fn ran(command: &mut Command) -> String {
    let output = silent(command).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Answers by version.
fn answers(found: &Value) -> String {
    let tested = found["tested"].as_array().unwrap().iter();
    let answer = |test: &Value| {
        let text = |key: &str| test[key].as_str();
        let [version, answer] = ["version", "answer"].map(|key| text(key).unwrap());
        let why = text("kind").map_or(String::new(), |kind| format!(" ({kind})"));
        format!("{version} {answer}{why}")
    };
    let mut answers: Vec<String> = tested.map(answer).collect();
    answers.sort();
    answers.join(", ")
}

/// What was found has all of that, and may have more.
#[track_caller]
fn has(found: &Value, expected: &Value) {
    match expected.as_object() {
        None => assert_eq!(found, expected),
        Some(entries) => entries
            .iter()
            .for_each(|(key, value)| has(&found[key], value)),
    }
}

fn bytes(value: &Value) -> f64 {
    value["bytes"].as_f64().unwrap_or_else(|| panic!("{value}"))
}

use Does::{Leaks, NotBuild, Nothing};

#[test]
fn the_release_that_brought_it() {
    let mut releases = [Nothing; 8];
    (releases[4], releases[6], releases[7]) = (NotBuild, Leaks, Leaks);
    let project = Project::new("brought", Registry::fetched, &releases, Lockfile::Committed);
    let lockfile = fs::read(project.dir.join("Cargo.lock")).unwrap();

    let expected = json!({
        "result": "found", "first_bad": null, "builds": 6,
        "good": {"version": "0.1.0"}, "bad": {"version": "0.1.7"},
        "dep": {"name": "leaky", "version": "0.1.6", "before": "0.1.5", "change": "brought"},
    });
    let found = project.found(&["--dep", "leaky", "0.1.0..0.1.7"], 0, expected);
    let dep = &found["dep"];
    assert!(bytes(&dep["rate_before"]).abs() < 1.0, "{dep:#}");
    assert!((40.0..100.0).contains(&bytes(&dep["rate"])), "{dep:#}");
    let stack = found["stack"].as_array().unwrap();
    let is_it = |frame: &Value| frame.as_str().unwrap().contains("Pool::fill");
    assert!(stack.iter().any(is_it), "{stack:?}");
    let expected = "0.1.3 good, 0.1.4 skip (does not build), 0.1.5 good, 0.1.6 bad";
    assert_eq!(answers(&found), expected);
    let picture = found["flamegraph"].as_str().unwrap();
    let picture = fs::read_to_string(picture).unwrap();
    assert!(picture.contains("Pool::fill"), "{picture}");

    // From what was measured: only those that are named.
    let named = json!({"builds": 0, "dep": {"version": "0.1.7", "before": "0.1.5"}});
    project.found(&["--dep", "leaky", "0.1.7,0.1.0,0.1.5"], 0, named);
    let same = json!({"result": "no-difference", "dep": {"change": null}});
    project.found(&["--dep", "leaky", "0.1.0..0.1.3"], 3, same);
    let one_of = json!({"result": "one-of", "candidates": ["0.1.4", "0.1.7"]});
    project.found(&["--dep", "leaky", "0.1.0,0.1.4,0.1.7"], 3, one_of);

    // Nobody's requirement admits it, it does not build, nobody has published it, …
    let unusable = |range: &str, why: &str| {
        let said = project.refused(&["--dep", "leaky", range], 129);
        let why = format!("error: one of the ends, {why}");
        assert!(said.contains(&why), "{said}");
        let nearest = said.lines().last().unwrap().trim().to_owned();
        nearest.split(": ").nth(1).unwrap_or_default().to_owned()
    };
    let unresolved = "leaky 0.2.0, cannot be measured: dependencies not resolved: ";
    assert_eq!(unusable("0.1.0..0.2.0", unresolved), "0.1.7");
    assert_eq!(unusable("0.2.0,0.1.4,0.1.1", unresolved), "0.1.1");
    let measured = project.measured();
    assert!(!measured.contains("leaky-0.1.1.full"), "{measured}");
    assert!(measured.contains("leaky-0.1.0.full"), "{measured}");
    let unbuilt = "leaky 0.1.4, cannot be measured: does not build: ";
    assert_eq!(unusable("0.1.0..0.1.4", unbuilt), "0.1.3");
    // What could not be answered can be gone on with.
    let output = project.run(&["--resume"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(129), "{said}");
    assert!(said.contains("one of the ends, leaky 0.1.4, "), "{said}");
    let refused = |dep: &str, range: &str| project.refused(&["--dep", dep, range], 2);
    assert_snapshot!(refused("leaky", "0.1.0..0.1.8"), @"error: leaky: there is no release 0.1.8: 10 are published, from 0.1.0 to 0.2.0");
    assert_snapshot!(refused("leak", "0.1.0..0.1.4"), @"error: `leak` is no dependency: Cargo.lock does not have it");
    let from_path = refused("plimsoll", "0.1.0..0.1.4");
    let why = "error: `plimsoll` is not from a registry: ";
    assert!(from_path.starts_with(why), "{from_path}");
    assert_eq!(fs::read(project.dir.join("Cargo.lock")).unwrap(), lockfile);

    // Without a repository there is no place to measure in.
    let elsewhere = project.registry.dir().join(".git");
    fs::rename(project.dir.join(".git"), elsewhere).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args("bisect --scenario fills --dep leaky 0.1.0..0.1.7".split(' '))
        // The repository of these tests is none of the project's.
        .env("GIT_CEILING_DIRECTORIES", project.dir.parent().unwrap())
        .current_dir(&project.dir)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let dir = project.dir.display();
    let expected = format!("error: {dir} is not in a git repository");
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn the_release_that_mended_it() {
    let mut releases = [Nothing; 8];
    releases[..3].fill(Leaks);
    releases[4] = NotBuild;
    let project = Project::new("mended", Registry::local, &releases, Lockfile::Ignored);
    // Two versions of it, of which one is meant.
    let manifest = fs::read_to_string(project.dir.join("Cargo.toml")).unwrap();
    let another = "\nother = { package = \"leaky\", version = \"0.2\", registry = \"made\" }\n";
    let manifest = manifest.replacen("[dependencies]\n", &format!("[dependencies]{another}"), 1);
    write(&project.dir.join("Cargo.toml"), &manifest);
    manifest_of_leaky(&project.dir);
    let commit = ["commit", "--quiet", "--all", "-m", "another"];
    git::git(&project.dir, &commit);
    let lockfile = fs::read(project.dir.join("Cargo.lock")).unwrap();

    assert_snapshot!(project.refused(&["--dep", "leaky", "0.1.0..0.1.7"], 2), @"
    error: there are several versions of `leaky` in Cargo.lock
      leaky@0.1.7
      leaky@0.2.0
      hint: name one, as `--dep leaky@0.1.7`
    ");
    let args = ["--dep", "leaky@0.1", "0.1.7..0.1.0", "--overlay", "never"];
    let (text, _) = project.said(&args, 0);
    let part = |from: &str| text[text.find(from).unwrap()..].to_owned();
    let first = text.lines().next().unwrap();
    assert_snapshot!(first, @"leaky 0.1.3 is the first release with which fills no longer grows past the good rate");
    for line in ["  change  fixed", "  before  0.1.2  +", "  after   0.1.3  "] {
        assert!(part(line).starts_with(line), "{text}");
    }
    assert!(part("flame graph of what it took away: ").ends_with("growth.svg\n"));

    let args = ["--dep", "leaky@0.1", "0.1.0..0.1.7", "--overlay", "never"];
    let expected = json!({
        "builds": 0, "good": {"version": "0.1.7"},
        "dep": {"version": "0.1.3", "before": "0.1.2", "change": "fixed"},
    });
    let found = project.found(&args, 0, expected);
    let expected = "0.1.2 bad, 0.1.3 good, 0.1.4 skip (does not build)";
    assert_eq!(answers(&found), expected);

    let (markdown, _) = project.said(&[&args[..], &["--format", "markdown"]].concat(), 0);
    for line in [
        "### `leaky 0.1.3` is the first release with which `fills` no longer grows",
        "| Change | fixed |",
        "| Before | `0.1.2`: +",
        "- `0.1.4`: ``skip, does not build: ",
    ] {
        let is_there = markdown.lines().any(|found| found.starts_with(line));
        assert!(is_there, "{line}: {markdown}");
    }
    assert_eq!(fs::read(project.dir.join("Cargo.lock")).unwrap(), lockfile);
}
