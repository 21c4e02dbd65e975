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

#[path = "../project/mod.rs"]
mod project;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use built::{build_as_all_do, shared, workspace};
use project::Ran;
use registry::{Does, Kept, registry, write};

/// A small project that depends on the crate of the registry.
struct Project {
    dir: PathBuf,
    /// For `--target-dir`.
    target: PathBuf,
    /// In cargo's home, until the project is gone.
    kept: Kept,
    /// One at a time: they share what is built.
    _lock: File,
}

const MANIFEST: &str = r#"[package]
name = "project"
version = "0.0.0"
edition = "2021"

# Two versions of it, of which one is meant.
[dependencies]
leaky = { version = "0.1", registry = "made" }
other = { package = "leaky", version = "0.2", registry = "made" }

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

impl Project {
    fn new(releases: &[Does]) -> Project {
        let (shared, lock) = shared();
        let place = shared.with_file_name("bisect-dep");
        let _ = fs::remove_dir_all(&place);
        let registry = registry(&place.join("registry"), releases);
        let dir = place.join("beside/project");
        let workspace = workspace();
        let manifest = MANIFEST.replace("WORKSPACE", workspace.to_str().unwrap());
        for (file, text) in [
            ("Cargo.toml", manifest.as_str()),
            (".cargo/config.toml", &registry),
            ("src/lib.rs", "pub use leaky::Pool;\n"),
            ("tests/leaks.rs", LEAKS),
            (".gitignore", "/target\n"),
        ] {
            write(&dir.join(file), text);
        }
        // The versions of this repository, which have been fetched.
        fs::copy(workspace.join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
        let project = Project {
            target: shared.join("target"),
            kept: Kept::of(&manifest_of_leaky(&dir)),
            dir,
            _lock: lock,
        };
        // Of a run that was killed, with other sources.
        project.kept.remove();
        commit_all(&project.dir);
        project
    }

    /// A search for that dependency, in a range or a list of versions. It leaves everything as it
    /// was.
    #[track_caller]
    fn bisect(&self, dep: &str, line: &str) -> Ran {
        self.run(&format!("--budget 60s --scenario fills --dep {dep} {line}"))
    }

    #[track_caller]
    fn run(&self, line: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let command = build_as_all_do(git::alone(&mut command))
            .args(["bisect", "--target-dir"])
            .arg(&self.target)
            .args(line.split(' '))
            .current_dir(&self.dir)
            // The repository of these tests is none of the project's.
            .env("GIT_CEILING_DIRECTORIES", self.dir.parent().unwrap())
            // A release that leaks does so in every iteration, so few iterations show it.
            .env("PLIMSOLL_MAX_ITERATIONS", "2000");
        let ran = Ran::of(&command.output().unwrap());
        assert_eq!(git::names(self.dir.parent().unwrap()), "project");
        ran
    }

    /// Ends with that status, and prints JSON with all that is expected.
    #[track_caller]
    fn found(&self, line: &str, status: i32, expected: Value) -> Value {
        let ran = self.bisect(LEAKY, &format!("{line} --json"));
        let found = ran.has(status, &[]).json();
        has(&found, &expected);
        found
    }
}

/// All that is there, in a repository of its own.
fn commit_all(dir: &Path) {
    git::init(dir);
    git::git(dir, "add .");
    git::git(dir, "commit --quiet -m all");
}

fn manifest_of_leaky(dir: &Path) -> PathBuf {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let cargo = cargo.args(["metadata", "--format-version", "1"]);
    let metadata = Ran::of(&cargo.current_dir(dir).output().unwrap());
    let metadata = metadata.has(0, &[]).json();
    let packages = metadata["packages"].as_array().unwrap();
    let leaky = packages.iter().find(|package| package["name"] == "leaky");
    leaky.unwrap()["manifest_path"].as_str().unwrap().into()
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

/// Names one of two versions of a crate.
const LEAKY: &str = "leaky@0.1";

use Does::{Leaks, NotBuild, Nothing};

#[test]
fn the_release_that_brought_it_and_the_one_that_mended_it() {
    let project = Project::new(&[Nothing, Nothing, NotBuild, Nothing, Leaks, Nothing]);
    let lockfile = fs::read(project.dir.join("Cargo.lock")).unwrap();

    let expected = json!({
        "result": "found", "first_bad": null, "builds": 4,
        "good": {"version": "0.1.0"}, "bad": {"version": "0.1.4"},
        "dep": {"name": "leaky", "version": "0.1.4", "before": "0.1.3", "change": "brought"},
    });
    let found = project.found("0.1.0..0.1.4", 0, expected);
    let dep = &found["dep"];
    assert!(bytes(&dep["rate_before"]).abs() < 1.0, "{dep:#}");
    assert!((40.0..100.0).contains(&bytes(&dep["rate"])), "{dep:#}");
    let stack = found["stack"].to_string();
    assert!(stack.contains("Pool::fill"), "{stack}");
    assert_eq!(answers(&found), "0.1.2 skip (does not build), 0.1.3 good");
    let picture = fs::read_to_string(found["flamegraph"].as_str().unwrap());
    assert!(picture.unwrap().contains("Pool::fill"));

    // From what was measured.
    let parts = [
        "### `leaky 0.1.4` is the first release with which `fills` grows",
        "\n| Change | brought |\n",
        "\n| Before | `0.1.3`: ",
        "\n- `0.1.2`: ``skip, does not build: ",
    ];
    let markdown = project.bisect(LEAKY, "0.1.4..0.1.0 --format markdown");
    markdown.has(0, &parts);
    // Only those that are named.
    let named = json!({"builds": 0, "dep": {"version": "0.1.4", "before": "0.1.0"}});
    project.found("0.1.4,0.1.0", 0, named);
    let same = json!({"result": "no-difference", "dep": {"change": null}});
    project.found("0.1.0,0.1.3", 3, same);
    let one_of = json!({"result": "one-of", "candidates": ["0.1.2", "0.1.4"]});
    project.found("0.1.0,0.1.2,0.1.4", 3, one_of);

    // Nobody's requirement admits it, it does not build, nobody has published it, …
    let unresolved =
        "one of the ends, leaky 0.2.0, cannot be measured: dependencies not resolved: ";
    let unbuilt = "one of the ends, leaky 0.1.2, cannot be measured: does not build: ";
    let several = "several versions of `leaky` in Cargo.lock\n  leaky@0.1.5\n  leaky@0.2.0\n  \
                   hint: name one, as `--dep leaky@0.1.5`";
    let published = "leaky: there is no release 0.1.9: 8 are published, from 0.1.0 to 0.2.0";
    let nearest = |version| format!("the nearest revision that can be built: {version}\n");
    let refuses = |dep, versions, status, parts: &[&str]| {
        project.bisect(dep, versions).has(status, parts);
    };
    let all = "0.1.0..0.1.4";
    refuses(
        LEAKY,
        "0.2.0,0.1.2,0.1.1",
        129,
        &[unresolved, &nearest("0.1.1")],
    );
    refuses(LEAKY, "0.1.0..0.1.9", 2, &[published]);
    refuses("leaky", all, 2, &[several]);
    let from_path = "`plimsoll` is not from a registry: ";
    refuses("plimsoll", all, 2, &[from_path]);
    let unknown = "`leak` is no dependency: Cargo.lock does not have it";
    refuses("leak", all, 2, &[unknown]);
    refuses(LEAKY, "0.1.0,0.1.2", 129, &[unbuilt, &nearest("0.1.0")]);
    // What is only to be built is not measured.
    let mut find = Command::new("find");
    find.arg(project.dir.join("target/plimsoll-bisect/measured"));
    let measured = Ran::of(&find.output().unwrap());
    let measured = measured.has(0, &["leaky-0.1.0.full"]);
    measured.lacks(&["leaky-0.1.1.full"]);
    // What could not be answered can be gone on with.
    project.run("--resume").has(129, &[unbuilt]);
    let status = git::git(&project.dir, "status --porcelain --ignored");
    assert_eq!(status, "!! target/");

    // No commit has a lockfile.
    write(&project.dir.join(".gitignore"), "/target\nCargo.lock\n");
    git::git(&project.dir, "rm --quiet --cached Cargo.lock");
    git::git(&project.dir, "commit --quiet --all -m ignored");
    let parts = [
        "leaky 0.1.5 is the first release with which fills no longer grows past the good rate\n",
        "\n  change  fixed\n",
        "\n  before  0.1.4  +",
        "\n  after   0.1.5  ",
        "flame graph of what it took away: ",
    ];
    let fixed = project.bisect(LEAKY, "0.1.4..0.1.5 --overlay never");
    fixed.has(0, &parts);
    assert_eq!(fs::read(project.dir.join("Cargo.lock")).unwrap(), lockfile);

    // Without a repository there is no place to measure in.
    fs::remove_dir_all(project.dir.join(".git")).unwrap();
    let dir = project.dir.display();
    let why = format!("error: {dir} is not in a git repository");
    project.bisect(LEAKY, "0.1.0..0.1.4").has(2, &[&why]);
}
