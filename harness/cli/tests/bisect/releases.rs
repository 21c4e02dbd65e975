//! `plimsoll bisect --dep`, with a registry and real builds.

mod registry;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::a_project::built::workspace;
use crate::a_project::{Demo, TEST};
use crate::git::{commit_all, names};
use crate::project::Ran;
use registry::Does::{self, Leaks, NotBuild, Nothing};
use registry::{Kept, registry};

const MANIFEST: &str = r#"[package]
name = "demo"
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

/// A small project that depends on the crate of the registry; and what cargo keeps of that.
fn project(releases: &[Does]) -> (Demo, Kept) {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bisect-dep");
    let project = Demo::at(place.join("beside/project"));
    let _ = fs::remove_dir_all(&place);
    let registry = registry(&place.join("registry"), releases);
    let manifest = MANIFEST.replace("WORKSPACE", workspace().to_str().unwrap());
    project.write("Cargo.toml", &manifest);
    project.write(".cargo/config.toml", &registry);
    project.write("src/lib.rs", "pub use leaky::Cache;\n");
    project.write("tests/leaks.rs", TEST);
    project.write(".gitignore", "/target\n");
    project.copy_versions();
    let metadata = project.cargo("metadata --format-version 1", &[]).json();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let leaky = packages.find(|package| package["name"] == "leaky").unwrap();
    let kept = || Kept::of(leaky["manifest_path"].as_str().unwrap().as_ref());
    // A run that was killed left this, with other sources.
    drop(kept());
    commit_all(&project.top);
    (project, kept())
}

/// What was found has all of that, and may have more.
#[track_caller]
fn has(found: &Value, expected: &Value) {
    match expected.as_object() {
        None => assert_eq!(found, expected),
        Some(all) => all.iter().for_each(|(key, value)| has(&found[key], value)),
    }
}

/// Names one of two versions of a crate.
const LEAKY: &str = "leaky@0.1";

#[test]
fn the_release_that_brought_it_and_the_one_that_mended_it() {
    let (project, _kept) = project(&[Nothing, Nothing, NotBuild, Nothing, Leaks, Nothing]);
    let lockfile = || fs::read(project.top.join("Cargo.lock")).unwrap();
    let lock_before = lockfile();
    // It leaves everything as it was.
    let bisect = |dep: &str, line: &str| {
        let ran = project.measures(&format!("bisect --scenario fill --dep {dep} {line}"));
        assert_eq!(names(project.top.parent().unwrap()), "project");
        ran
    };
    let found = |line: &str, status, expected| {
        let ran = bisect(LEAKY, &format!("{line} --json"));
        let found = ran.has(status, &[]).json();
        has(&found, &expected);
        found
    };

    let expected = json!({
        "result": "found", "first_bad": null, "builds": 4,
        "good": {"version": "0.1.0"}, "bad": {"version": "0.1.4"},
        "dep": {"name": "leaky", "version": "0.1.4", "before": "0.1.3", "change": "brought"},
    });
    let brought = found("0.1.0..0.1.4", 0, expected);
    let dep = &brought["dep"];
    let [before, rate] = ["rate_before", "rate"].map(|rate| dep[rate]["bytes"].as_f64().unwrap());
    assert!(before.abs() < 1.0, "{dep:#}");
    assert!((40.0..100.0).contains(&rate), "{dep:#}");
    let stack = brought["stack"].to_string();
    assert!(stack.contains("Cache::put"), "{stack}");
    let tested = brought["tested"].as_array().unwrap().iter();
    let tested = tested.map(|test| json!([test["version"], test["answer"], test["kind"]]));
    let expected = json!([["0.1.2", "skip", "does not build"], ["0.1.3", "good", null]]);
    assert_eq!(tested.collect::<Value>(), expected);
    let picture = fs::read_to_string(brought["flamegraph"].as_str().unwrap());
    assert!(picture.unwrap().contains("Cache::put"));

    // The answer comes from what was measured.
    let parts = [
        "### `leaky 0.1.4` is the first release with which `fill` grows",
        "\n| Change | brought |\n",
        "\n| Before | `0.1.3`: ",
        "\n- `0.1.2`: ``skip, does not build: ",
    ];
    let markdown = bisect(LEAKY, "0.1.4..0.1.0 --format markdown");
    markdown.has(0, &parts);
    // Only releases that are named are measured.
    let named = json!({"builds": 0, "dep": {"version": "0.1.4", "before": "0.1.0"}});
    found("0.1.4,0.1.0", 0, named);
    let same = json!({"result": "no-difference", "dep": {"change": null}});
    found("0.1.0,0.1.3", 3, same);
    let one_of = json!({"result": "one-of", "candidates": ["0.1.2", "0.1.4"]});
    found("0.1.0,0.1.2,0.1.4", 3, one_of);

    // Nobody's requirement admits it, it does not build, nobody has published it, …
    let unresolved =
        "one of the ends, leaky 0.2.0, cannot be measured: dependencies not resolved: ";
    let unbuilt = "one of the ends, leaky 0.1.2, cannot be measured: does not build: ";
    let several = "several versions of `leaky` in Cargo.lock\n  leaky@0.1.5\n  leaky@0.2.0\n  \
                   hint: name one, as `--dep leaky@0.1.5`";
    let published = "leaky: there is no release 0.1.9: 8 are published, from 0.1.0 to 0.2.0";
    let [first, second] =
        ["0.1.0", "0.1.1"].map(|it| format!("the nearest revision that can be built: {it}\n"));
    let from_path = "`plimsoll` is not from a registry: ";
    let unknown = "`leak` is no dependency: Cargo.lock does not have it";
    let all = "0.1.0..0.1.4";
    for (dep, versions, status, parts) in [
        (LEAKY, "0.2.0,0.1.2,0.1.1", 129, [unresolved, &second]),
        (LEAKY, "0.1.0..0.1.9", 2, [published, ""]),
        ("leaky", all, 2, [several, ""]),
        ("plimsoll", all, 2, [from_path, ""]),
        ("leak", all, 2, [unknown, ""]),
        (LEAKY, "0.1.0,0.1.2", 129, [unbuilt, &first]),
    ] {
        bisect(dep, versions).has(status, &parts);
    }
    // What is only to be built is not measured.
    let mut find = Command::new("find");
    find.arg(project.top.join("target/plimsoll-bisect/measured"));
    let measured = Ran::of(&find.output().unwrap());
    let measured = measured.has(0, &["leaky-0.1.0.full"]);
    measured.lacks(&["leaky-0.1.1.full"]);
    // What could not be answered can be gone on with.
    project.measures("bisect --resume").has(129, &[unbuilt]);
    let status = project.git("status --porcelain --ignored");
    assert_eq!(status, "!! target/");

    // No commit has a lockfile.
    project.write(".gitignore", "/target\nCargo.lock\n");
    project.git("rm --quiet --cached Cargo.lock");
    project.git("commit --quiet --all -m ignored");
    let parts = [
        "leaky 0.1.5 is the first release with which fill no longer grows past the good rate\n",
        "\n  change  fixed\n",
        "\n  before  0.1.4  +",
        "\n  after   0.1.5  ",
        "flame graph of what it took away: ",
    ];
    let fixed = bisect(LEAKY, "0.1.4..0.1.5 --overlay never");
    fixed.has(0, &parts);
    assert_eq!(lockfile(), lock_before);

    // Without a repository there is no place to measure in.
    fs::remove_dir_all(project.top.join(".git")).unwrap();
    let dir = project.top.display();
    let why = format!("error: {dir} is not in a git repository");
    bisect(LEAKY, "0.1.0..0.1.4").has(2, &[&why]);
}
