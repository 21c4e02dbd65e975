//! Real cargo projects, in a working tree and in an older checkout, with crates of
//! a registry that is a folder. Cargo is the judge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use serde_json::Value;

use super::lock::{Lock, Requirements};
use super::{Laid, Overlay};
use plimsoll_text::hash::Fnv;

struct World {
    /// With two states of a repository in `work` and `old`.
    dir: tempfile::TempDir,
}

const LEAKS: &str = "fn main() {}\n";
const LEAKS_ENTRY: &str = "\n[[test]]\nname = \"leaks\"\nharness = false\n";

fn package(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
}

impl World {
    fn new() -> World {
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
        world
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
        // The same on every machine.
        let text = fs::read_to_string(self.path(path)).unwrap();
        text.replace(
            self.path("").to_str().unwrap().trim_end_matches('/'),
            "<dir>",
        )
    }

    /// Both in the working tree and in the old checkout.
    fn both(&self, path: &str, text: &str) {
        self.write(&format!("work/{path}"), text);
        self.write(&format!("old/{path}"), text);
    }

    /// Publishes a crate; `rest` is what its manifest has below `[package]`.
    fn publish(&self, name: &str, version: &str, rest: &str) {
        let dir = format!("registry/{name}-{version}");
        let manifest = package(name).replace("0.1.0", version);
        self.write(&format!("{dir}/Cargo.toml"), &format!("{manifest}{rest}"));
        self.write(&format!("{dir}/src/lib.rs"), "");
        let mut sum = Fnv::default();
        sum.part(&dir);
        let sum = sum.finish();
        let checksum = format!("{{\"files\":{{}},\"package\":\"{:064x}\"}}", sum);
        self.write(&format!("{dir}/.cargo-checksum.json"), &checksum);
    }

    fn cargo(&self, dir: &str, args: &[&str]) -> Output {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args(args)
            .arg("--offline")
            .current_dir(self.path(dir))
            .env("CARGO_HOME", self.path("home"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_TERM_COLOR", "never");
        command.output().unwrap()
    }

    #[track_caller]
    fn lock(&self, dir: &str) {
        let output = self.cargo(dir, &["generate-lockfile"]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// The test can be built and run in the checkout.
    #[track_caller]
    fn builds(&self, package: &str) {
        let test = self.cargo("old", &["test", "--package", package, "--test", "leaks"]);
        assert!(
            test.status.success(),
            "{}",
            String::from_utf8_lossy(&test.stderr)
        );
    }

    fn metadata(&self, dir: &str) -> Result<Value, String> {
        let output = self.cargo(dir, &["metadata", "--format-version", "1"]);
        match output.status.success() {
            true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// What cargo makes of a package in the checkout: all that it depends on.
    #[track_caller]
    fn resolved(&self, package: &str) -> String {
        let metadata = self.metadata("old").unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
        let id = |name: &str| {
            let found = packages
                .iter()
                .find(|one| one["name"] == name && one["source"].is_null());
            &found.unwrap_or_else(|| panic!("no {name}"))["id"]
        };
        let mut seen = vec![id(package)];
        let mut at = 0;
        while at < seen.len() {
            let node = nodes.iter().find(|node| node["id"] == *seen[at]).unwrap();
            for dependency in node["deps"].as_array().unwrap() {
                if !seen.contains(&&dependency["pkg"]) {
                    seen.push(&dependency["pkg"]);
                }
            }
            at += 1;
        }
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut names: Vec<String> = seen[1..]
            .iter()
            .map(|id| {
                let one = packages.iter().find(|one| one["id"] == **id).unwrap();
                let mut line = format!("{} {}", text(&one["name"]), text(&one["version"]));
                if one["source"].is_null() {
                    let dir = text(&one["manifest_path"]).replace("/Cargo.toml", "");
                    let inner = Path::new(&dir).strip_prefix(self.path("")).unwrap();
                    line += &format!(" in {}", inner.display());
                }
                line
            })
            .collect();
        names.sort();
        names.join("\n")
    }

    fn overlay(&self, package: &str, dir: &str, others: bool) -> Overlay {
        self.try_overlay(package, dir, "tests/leaks.rs", others)
            .unwrap()
    }

    fn try_overlay(
        &self,
        package: &str,
        dir: &str,
        file: &str,
        others: bool,
    ) -> anyhow::Result<Overlay> {
        let work = self.path("work");
        let dir = work.join(dir);
        Overlay::read(&work, &work, package, &dir, &dir.join(file), others)
    }

    /// Lays a test over the old checkout.
    #[track_caller]
    fn lay(&self, package: &str, dir: &str, others: bool) -> Laid {
        let laid = self.overlay(package, dir, others).lay(&self.path("old"));
        laid.unwrap().unwrap()
    }

    /// Why it cannot be laid there; the checkout is then as it was.
    #[track_caller]
    fn refused(&self, package: &str, dir: &str, others: bool) -> String {
        let before = self.everything("old");
        let laid = self
            .overlay(package, dir, others)
            .lay(&self.path("old"))
            .unwrap();
        assert_eq!(before, self.everything("old"));
        laid.unwrap_err()
    }

    /// Every file of a folder, with its text.
    fn everything(&self, dir: &str) -> Vec<(PathBuf, String)> {
        let mut all = Vec::new();
        let mut dirs = vec![self.path(dir)];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                match fs::symlink_metadata(&path).unwrap().is_dir() {
                    true => dirs.push(path),
                    false => {
                        let text = fs::read_to_string(&path).unwrap_or_default();
                        all.push((path, text));
                    }
                }
            }
        }
        all.sort();
        all
    }

    fn files(&self, dir: &str) -> String {
        let root = self.path(dir);
        let all = self.everything(dir).into_iter();
        let names = all.map(|(path, _)| path.strip_prefix(&root).unwrap().display().to_string());
        names.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn young_test_in_an_old_package() {
    let world = World::new();
    world.publish("probe", "1.0.0", "");
    world.publish("unix-only", "1.0.0", "");
    world.publish("unused", "1.0.0", "");
    world.write(
        "work/Cargo.toml",
        &(package("demo")
            + "[dependencies]\nunused = \"1\"\n\
               [dev-dependencies]\nprobe = \"1\"   # of the test\n\
               [target.'cfg(unix)'.dev-dependencies]\nunix-only = \"1\"\n"
            + LEAKS_ENTRY),
    );
    world.write("work/src/lib.rs", "pub fn new_code() {}\n");
    world.write(
        "work/tests/leaks.rs",
        "mod common;\nfn main() { common::hello() }\n",
    );
    world.write("work/tests/common/mod.rs", "pub fn hello() {}\n");
    world.write("work/tests/target/debug/large", "");
    world.write("work/tests/target/CACHEDIR.TAG", "");
    world.write(
        "old/Cargo.toml",
        "# The demo, as it was.\n[package]\nname = \"demo\"   # its name\nversion = \"0.0.1\"\n\
         edition = \"2018\"\n\n# Nothing yet.\n[features]\n\n[profile.dev]\n# For speed.\n\
         opt-level = 1\n",
    );
    world.write("old/src/lib.rs", "pub fn old_code() {}\n");
    assert_eq!(world.lay("demo", "", true), Laid::default());

    assert_snapshot!(world.read("old/Cargo.toml"), @r#"
    # The demo, as it was.
    [package]
    name = "demo"   # its name
    version = "0.0.1"
    edition = "2018"

    # Nothing yet.
    [features]

    [profile.dev]
    # For speed.
    opt-level = 1

    [dev-dependencies]
    probe = "1"

    [target."cfg(unix)".dev-dependencies]
    unix-only = "1"

    [[test]]
    name = "leaks"
    harness = false
    path = "tests/leaks.rs"
    edition = "2021"
    "#);
    assert_snapshot!(world.files("old"), @"
    Cargo.toml
    src/lib.rs
    tests/common/mod.rs
    tests/leaks.rs
    ");
    assert_eq!(world.read("old/src/lib.rs"), "pub fn old_code() {}\n");
    assert_snapshot!(world.resolved("demo"), @"
    probe 1.0.0
    unix-only 1.0.0
    ");
    world.builds("demo");
}

#[test]
fn older_test_without_the_scenario() {
    let world = World::new();
    let features = "[features]\nfast = []\nslow = []\n";
    for version in ["1.0.0", "2.0.0"] {
        world.publish("had", version, features);
        world.publish("code", version, features);
        world.publish("choice", version, features);
    }
    world.write(
        "work/Cargo.toml",
        &(package("demo")
            + "[dependencies]\ncode = \"2\"\nchoice = \"2\"\n\
               [dev-dependencies]\nhad = { version = \"2\", features = [\"fast\", \"slow\"] }\n\
               code = { version = \"2\", features = [\"fast\"] }\nchoice = \"2\"\n"
            + LEAKS_ENTRY),
    );
    world.write("work/src/lib.rs", "");
    world.write(
        "work/tests/leaks.rs",
        "mod common;\nfn main() { common::hello() }\n",
    );
    world.write("work/tests/common/mod.rs", "pub fn hello() {}\n");
    world.write(
        "old/Cargo.toml",
        &(package("demo")
            + "\n[dependencies]\ncode = \"1\"\nchoice = { version = \"1\", optional = true }\n\n\
               [dev-dependencies]\nhad = { version = \"1\", features = [\"slow\"] } # of old\n\n\
               # The leaks.\n[[test]]\nname = \"leaks\"\npath = \"tests/old.rs\"\n\
               required-features = [\"choice\"]\n"),
    );
    world.write("old/src/lib.rs", "");
    world.write("old/tests/old.rs", "mod common;\n");
    world.write("old/tests/common.rs", "pub fn bye() {}\n");
    world.lay("demo", "", true);

    assert_snapshot!(world.read("old/Cargo.toml"), @r#"
    [package]
    name = "demo"
    version = "0.1.0"
    edition = "2021"

    [dependencies]
    code = "1"
    choice = { version = "1", optional = true }

    [dev-dependencies]
    had = { version = "1", features = ["slow", "fast"] } # of old
    code = { version = "1", features = ["fast"] }
    choice = { version = "1" }

    # The leaks.
    [[test]]
    name = "leaks"
    path = "tests/leaks.rs"
    harness = false
    "#);
    assert_snapshot!(world.files("old"), @"
    Cargo.toml
    src/lib.rs
    tests/common/mod.rs
    tests/leaks.rs
    tests/old.rs
    ");
    assert_snapshot!(world.resolved("demo"), @"
    choice 1.0.0
    code 1.0.0
    had 1.0.0
    ");
    world.builds("demo");
}

/// A workspace with `core`, and a package for its tests in the working tree alone.
fn with_young_member(old_root: &str) -> World {
    let world = World::new();
    world.write(
        "work/Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"crates/*\", \"leaks\"]\n\
         [workspace.package]\nedition = \"2024\"\nlicense = \"MIT\"\nreadme = \"README.md\"\n\
         [workspace.lints.rust]\nunused = \"deny\"\n",
    );
    world.write("work/crates/core/Cargo.toml", &package("core"));
    world.write("work/crates/core/src/lib.rs", "");
    world.write(
        "work/leaks/Cargo.toml",
        "[package]\nname = \"leaks\"\nversion = \"0.1.0\"\nedition.workspace = true\n\
         license.workspace = true\nreadme.workspace = true\n\n# What is measured.\n\
         [dependencies]\ncore = { path = \"../crates/core\", version = \"0.1\" } # here\n\n\
         [lints]\nworkspace = true\n\n[[test]]\nname = \"leaks\"\nharness = false\n",
    );
    world.write("work/leaks/tests/leaks.rs", LEAKS);
    world.write("work/leaks/tests/data/huge.txt", "data\n");
    world.write("work/leaks/target/debug/large", "");
    world.write("work/leaks/nested/Cargo.toml", &package("nested"));
    world.write("old/Cargo.toml", old_root);
    world.write(
        "old/core/Cargo.toml",
        &package("core").replace("0.1.0", "0.0.7"),
    );
    world.write("old/core/src/lib.rs", "");
    world
}

#[test]
fn young_member() {
    let world = with_young_member(
        "[workspace]\nresolver = \"2\"\n# All of them.\nmembers = [\n    \"core\", # the code\n]\n",
    );
    world.lay("leaks", "leaks", false);
    assert_snapshot!(world.read("old/Cargo.toml"), @r#"
    [workspace]
    resolver = "2"
    # All of them.
    members = [
        "leaks",
        "core", # the code
    ]
    "#);
    assert_snapshot!(world.read("old/leaks/Cargo.toml"), @r#"
    [package]
    name = "leaks"
    version = "0.1.0"
    edition = "2024"
    license = "MIT"

    # What is measured.
    [dependencies]
    core = { path = "../core" } # here

    [[test]]
    name = "leaks"
    harness = false
    "#);
    assert_snapshot!(world.files("old"), @"
    Cargo.toml
    core/Cargo.toml
    core/src/lib.rs
    leaks/Cargo.toml
    leaks/tests/data/huge.txt
    leaks/tests/leaks.rs
    ");
    assert_snapshot!(world.resolved("leaks"), @"core 0.0.7 in old/core");

    // Once more, over the same: nothing is there twice.
    world.lay("leaks", "leaks", false);
    let before = world.everything("old");
    world.lay("leaks", "leaks", false);
    assert_eq!(before, world.everything("old"));
}

#[test]
fn young_member_of_any_workspace() {
    for (root, laid) in [
        // A pattern has it already.
        (
            "[workspace]\nmembers = [\"*\"]\n",
            "[workspace]\nmembers = [\"*\"]\n",
        ),
        (
            "[workspace]\nmembers = [\"core\"]\nexclude = [\"leaks\", \"x\"]\n",
            "[workspace]\nmembers = [\"leaks\", \"core\"]\nexclude = [ \"x\"]\n",
        ),
        // What is named counts more than what is left out.
        (
            "[workspace]\nmembers = [\"*\"]\nexclude = [\"./leaks/\"]\n",
            "[workspace]\nmembers = [\"leaks\", \"*\"]\nexclude = []\n",
        ),
        ("[workspace]\n", "[workspace]\nmembers = [\"leaks\"]\n"),
        (
            "[package]\nname = \"core\"\n# end\n",
            "[package]\nname = \"core\"\n\n[workspace]\nmembers = [\"leaks\"]\n# end\n",
        ),
    ] {
        let world = with_young_member(root);
        if root.starts_with("[package]") {
            fs::remove_dir_all(world.path("old/core")).unwrap();
            world.write("old/src/lib.rs", "");
        }
        world.lay("leaks", "leaks", false);
        assert_eq!(world.read("old/Cargo.toml"), laid);
        assert!(world.resolved("leaks").starts_with("core 0.0."), "{root}");
    }
}

#[test]
fn member_that_has_a_workspace_of_its_own() {
    let world = with_young_member("[workspace]\nmembers = [\"core\"]\nexclude = [\"leaks\"]\n");
    let manifest =
        package("leaks") + "[dependencies]\ncore = { path = \"../crates/core\" }\n" + LEAKS_ENTRY;
    world.write("work/leaks/Cargo.toml", &manifest);
    world.write("work/leaks/Cargo.lock", "version = 3\n");
    let work = world.path("work");
    let dir = work.join("leaks");
    let overlay = Overlay::read(
        &work,
        &dir,
        "leaks",
        &dir,
        &dir.join("tests/leaks.rs"),
        false,
    )
    .unwrap();
    overlay.lay(&world.path("old")).unwrap().unwrap();
    assert_eq!(
        world.read("old/leaks/Cargo.toml"),
        manifest.replace("../crates/core", "../core") + "\n[workspace]\n"
    );
    assert_eq!(
        world.read("old/Cargo.toml"),
        "[workspace]\nmembers = [\"core\"]\nexclude = [\"leaks\"]\n"
    );
    let metadata = world.metadata("old/leaks").unwrap();
    assert_eq!(metadata["packages"].as_array().unwrap().len(), 2);
}

#[test]
fn member_that_has_moved() {
    let world = World::new();
    let root = "[workspace]\nresolver = \"2\"\n";
    world.write(
        "work/Cargo.toml",
        &format!("{root}members = [\"crates/*\"]\n"),
    );
    let manifest = package("demo")
        + "[dev-dependencies]\nhelp = { path = \"../help\" }\n"
        + "demo = { path = \".\", features = [\"slow\"] }\n[features]\nslow = []\n"
        + LEAKS_ENTRY;
    world.write("work/crates/demo/Cargo.toml", &manifest);
    world.write("work/crates/demo/src/lib.rs", "");
    world.write("work/crates/demo/tests/leaks.rs", LEAKS);
    world.write("work/crates/help/Cargo.toml", &package("help"));
    world.write("work/crates/help/src/lib.rs", "");
    world.write(
        "old/Cargo.toml",
        &format!("{root}members = [\"demo\", \"tools/help\"]\n"),
    );
    let manifest = package("demo") + "[features]\nslow = []\n";
    world.write("old/demo/Cargo.toml", &manifest);
    world.write("old/demo/src/lib.rs", "");
    // Some test's data.
    world.write("old/demo/tests/data/demo/Cargo.toml", &package("demo"));
    world.write("old/demo/tests/data/bad/Cargo.toml", "[package");
    world.write("old/tools/help/Cargo.toml", &package("help"));
    world.write("old/tools/help/src/lib.rs", "");
    world.lay("demo", "crates/demo", true);
    assert_snapshot!(world.read("old/demo/Cargo.toml"), @r#"
    [package]
    name = "demo"
    version = "0.1.0"
    edition = "2021"
    [features]
    slow = []

    [dev-dependencies]
    help = { path = "../tools/help" }
    demo = { path = ".", features = ["slow"] }

    [[test]]
    name = "leaks"
    harness = false
    path = "tests/leaks.rs"
    "#);
    assert_snapshot!(world.resolved("demo"), @"help 0.1.0 in old/tools/help");
    assert!(!world.path("old/crates").exists());
}

#[test]
fn test_package_of_the_revision_keeps_what_it_depends_on() {
    let world = World::new();
    for version in ["1.0.0", "2.0.0"] {
        world.publish("measured", version, "");
        world.publish("young", version, "");
    }
    let member = |name: &str| format!("[workspace]\nresolver = \"2\"\nmembers = [\"{name}\"]\n");
    world.write("work/Cargo.toml", &member("leaks"));
    let manifest = package("leaks").replace("2021", "2024")
        + "[dependencies]\nmeasured = \"2\"\nyoung = \"2\"\n"
        + LEAKS_ENTRY;
    world.write("work/leaks/Cargo.toml", &manifest);
    world.write("work/leaks/tests/leaks.rs", LEAKS);
    world.write("work/leaks/tests/young.rs", "");
    world.write("work/leaks/data.txt", "data");
    world.write("old/Cargo.toml", &member("tests"));
    let manifest = package("leaks") + "[dependencies]\nmeasured = \"1\"\n" + LEAKS_ENTRY;
    world.write("old/tests/Cargo.toml", &manifest);
    world.write("old/tests/tests/leaks.rs", "old\n");
    world.lay("leaks", "leaks", false);
    assert_snapshot!(world.read("old/tests/Cargo.toml"), @r#"
    [package]
    name = "leaks"
    version = "0.1.0"
    edition = "2021"
    [dependencies]
    measured = "1"
    young = "2"

    [[test]]
    name = "leaks"
    harness = false
    path = "tests/leaks.rs"
    edition = "2024"
    "#);
    assert_snapshot!(world.files("old"), @"
    Cargo.toml
    tests/Cargo.toml
    tests/data.txt
    tests/tests/leaks.rs
    tests/tests/young.rs
    ");
    assert_snapshot!(world.resolved("leaks"), @"
    measured 1.0.0
    young 2.0.0
    ");
    world.builds("leaks");
}

/// The code had it without its default features, and the test asks for them.
#[test]
fn default_features() {
    let features = "[features]\ndefault = [\"fast\"]\nfast = []\n";
    let manifest = |table: &str, entry: &str| format!("{}[{table}]\n{entry}\n", package("demo"));
    let laid = |old: &str| {
        let world = World::new();
        world.publish("had", "1.0.0", features);
        world.write(
            "work/Cargo.toml",
            &(manifest("dev-dependencies", "had = \"1\"") + LEAKS_ENTRY),
        );
        world.write("work/src/lib.rs", "");
        world.write("work/tests/leaks.rs", LEAKS);
        world.write("old/Cargo.toml", old);
        world.write("old/src/lib.rs", "");
        world.lay("demo", "", true);
        let lines = world.read("old/Cargo.toml");
        let lines = lines
            .lines()
            .filter(|line| line.starts_with("had") || line.contains("dep"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let without = "had = { version = \"1\", default-features = false }";
    assert_snapshot!(laid(&manifest("dependencies", without)), @r#"
    [dependencies]
    had = { version = "1", default-features = false }
    [dev-dependencies]
    had = { version = "1", default-features = true }
    "#);
    assert_snapshot!(laid(&manifest("dev-dependencies", without)), @r#"
    [dev-dependencies]
    had = { version = "1", default-features = true }
    "#);
    assert_snapshot!(laid(&manifest("dependencies", "had = \"1\"")), @r#"
    [dependencies]
    had = "1"
    "#);
    let inherited = "had.workspace = true\n[workspace.dependencies]\n".to_owned() + without;
    assert_snapshot!(laid(&manifest("dependencies", &inherited)), @r#"
    [dependencies]
    had.workspace = true
    [workspace.dependencies]
    had = { version = "1", default-features = false }
    [dev-dependencies]
    had = { workspace = true, default-features = true }
    "#);
}

#[test]
fn dependency_of_the_workspace() {
    let world = World::new();
    let features = "[features]\nfast = []\nslow = []\n";
    for version in ["1.0.0", "2.0.0"] {
        world.publish("had", version, features);
        world.publish("young", version, features);
    }
    world.write(
        "work/Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"demo\", \"help\"]\n\
         [workspace.dependencies]\nhad = { version = \"2\", features = [\"fast\"] }\n\
         young = { version = \"2\", default-features = false, features = [\"fast\"] }\n\
         helper = { path = \"help\", version = \"9\", package = \"help\" }\n",
    );
    let manifest = package("demo")
        + "[dev-dependencies]\nhad.workspace = true\nhelper.workspace = true\n\
           young = { workspace = true, features = [\"slow\"] }\n"
        + LEAKS_ENTRY;
    world.write("work/demo/Cargo.toml", &manifest);
    world.write("work/demo/src/lib.rs", "");
    world.write("work/demo/tests/leaks.rs", LEAKS);
    world.write(
        "work/help/Cargo.toml",
        &package("help").replace("0.1.0", "9.0.0"),
    );
    world.write("work/help/src/lib.rs", "");
    world.write(
        "old/Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"demo\", \"old-help\"]\n\
         [workspace.dependencies]\nhad = \"1\"\n",
    );
    world.write("old/demo/Cargo.toml", &package("demo"));
    world.write("old/demo/src/lib.rs", "");
    world.write("old/old-help/Cargo.toml", &package("help"));
    world.write("old/old-help/src/lib.rs", "");
    world.lay("demo", "demo", true);
    assert_snapshot!(world.read("old/demo/Cargo.toml"), @r#"
    [package]
    name = "demo"
    version = "0.1.0"
    edition = "2021"

    [dev-dependencies]
    had = { workspace = true, features = ["fast"] }
    helper = { path = "../old-help", package = "help" }
    young = { version = "2", default-features = false, features = ["fast", "slow"] }

    [[test]]
    name = "leaks"
    harness = false
    path = "tests/leaks.rs"
    "#);
    assert_snapshot!(world.resolved("demo"), @"
    had 1.0.0
    help 0.1.0 in old/old-help
    young 2.0.0
    ");

    // The same for a package that the revision does not have.
    fs::remove_dir_all(world.path("work/demo/src")).unwrap();
    fs::remove_dir_all(world.path("old/demo")).unwrap();
    world.write(
        "old/Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"old-help\"]\n",
    );
    world.lay("demo", "demo", false);
    assert_snapshot!(world.read("old/demo/Cargo.toml"), @r#"
    [package]
    name = "demo"
    version = "0.1.0"
    edition = "2021"
    [dev-dependencies]
    had = { version = "2", features = ["fast"] }
    helper = { path = "../old-help", package = "help" }
    young = { version = "2", default-features = false, features = ["fast", "slow"] }

    [[test]]
    name = "leaks"
    harness = false
    "#);
    assert_snapshot!(world.resolved("demo"), @"
    had 2.0.0
    help 0.1.0 in old/old-help
    young 2.0.0
    ");
}

#[test]
fn dependency_outside_of_the_repository() {
    let world = World::new();
    world.write("outside/harness/Cargo.toml", &package("harness"));
    world.write("outside/harness/src/lib.rs", "");
    world.write("outside/patched/Cargo.toml", &package("patched"));
    world.write("outside/patched/src/lib.rs", "");
    world.publish("code", "1.0.0", "");
    let manifest = package("demo")
        + "[dependencies]\ncode = \"1\"\n"
        + "[dev-dependencies]\nharness = { path = \"../outside/harness\", version = \"0.1\" }\n"
        + "patched = \"0.1\"\n"
        + LEAKS_ENTRY
        + "[patch.crates-io]\npatched = { path = \"../outside/patched\" }\n"
        + "code = { path = \"../outside/code\" }\n";
    world.write("work/Cargo.toml", &manifest);
    world.write("work/src/lib.rs", "");
    world.write("work/tests/leaks.rs", LEAKS);
    // One level deeper: a path from the manifest would not hold.
    world.write("old/Cargo.toml", "[workspace]\nmembers = [\"demo\"]\n");
    world.write(
        "old/demo/Cargo.toml",
        &(package("demo") + "[dependencies]\ncode = \"1\"\n"),
    );
    world.write("old/demo/src/lib.rs", "");
    world.lay("demo", "", true);
    assert_snapshot!(world.read("old/demo/Cargo.toml"), @r#"
    [package]
    name = "demo"
    version = "0.1.0"
    edition = "2021"
    [dependencies]
    code = "1"

    [dev-dependencies]
    harness = { path = "<dir>/outside/harness", version = "0.1" }
    patched = "0.1"

    [[test]]
    name = "leaks"
    harness = false
    path = "tests/leaks.rs"
    "#);
    assert_snapshot!(world.read("old/Cargo.toml"), @r#"
    [workspace]
    members = ["demo"]

    [patch.crates-io]
    patched = { path = "<dir>/outside/patched" }
    "#);
    assert_snapshot!(world.resolved("demo"), @"
    code 1.0.0
    harness 0.1.0 in outside/harness
    patched 0.1.0 in outside/patched
    ");
}

#[test]
fn test_elsewhere_in_the_repository() {
    let world = World::new();
    let manifest = |dir: &str| {
        let entry = format!("[[test]]\nname = \"leaks\"\npath = \"{dir}checks/leaks.rs\"\n");
        package("demo") + &entry + "harness = false\n"
    };
    world.write("work/demo/Cargo.toml", &manifest("../"));
    world.write("work/demo/src/lib.rs", "");
    world.write("work/checks/leaks.rs", LEAKS);
    world.write("work/Cargo.toml", "[workspace]\nmembers = [\"demo\"]\n");
    world.write("old/Cargo.toml", "[workspace]\nmembers = [\"a/demo\"]\n");
    world.write("old/a/demo/Cargo.toml", &package("demo"));
    world.write("old/a/demo/src/lib.rs", "");
    let overlay = world
        .try_overlay("demo", "demo", "../checks/leaks.rs", true)
        .unwrap();
    overlay.lay(&world.path("old")).unwrap().unwrap();
    assert_eq!(world.read("old/a/checks/leaks.rs"), LEAKS);
    assert_eq!(
        world.read("old/a/demo/Cargo.toml"),
        package("demo") + "\n" + &manifest("../")[package("demo").len()..]
    );
    assert_eq!(world.resolved("demo"), "");

    // Where that would be outside.
    fs::remove_dir_all(world.path("old/a")).unwrap();
    world.write("old/Cargo.toml", &package("demo"));
    world.write("old/src/lib.rs", "");
    let laid = overlay.lay(&world.path("old")).unwrap();
    assert_eq!(
        laid,
        Err("`../checks/leaks.rs` is outside of the repository".to_owned())
    );
}

/// An old project that was locked when there was less to depend on, and a test that
/// was locked afterwards.
fn locked(young: &[(&str, &str, &str)], dev: &str) -> World {
    let world = World::new();
    world.publish("base", "1.0.0", "[features]\nextra = []\n");
    world.publish("base", "0.9.0", "");
    world.publish("code", "1.0.0", "[dependencies]\nbase = \"1\"\n");
    let manifest = package("demo") + "[dependencies]\ncode = \"1\"\n";
    world.both("Cargo.toml", &manifest);
    world.both("src/lib.rs", "");
    world.lock("old");
    for (name, version, rest) in young {
        world.publish(name, version, rest);
    }
    let manifest = format!("{manifest}[dev-dependencies]\n{dev}{LEAKS_ENTRY}");
    world.write("work/Cargo.toml", &manifest);
    world.write("work/tests/leaks.rs", LEAKS);
    world.lock("work");
    // Newer than anybody ever used.
    for (name, version, rest) in young {
        world.publish(name, &version.replace(".0.0", ".9.0"), rest);
    }
    world
}

impl World {
    /// Lays it with what cargo knows of the working tree, and says what cargo makes
    /// of that.
    #[track_caller]
    fn lay_locked(&self, learn: bool) -> String {
        let mut overlay = self.overlay("demo", "", true);
        if learn {
            overlay.learn(&self.metadata("work").unwrap());
        }
        let laid = overlay.lay(&self.path("old")).unwrap().unwrap();
        let raised = laid
            .raised
            .iter()
            .map(|raised| format!("\nraised {raised}"));
        self.resolved("demo") + &raised.collect::<String>()
    }
}

#[test]
fn nothing_newer_is_locked() {
    let young = [
        (
            "probe",
            "1.0.0",
            "[dependencies]\nhelp = \"1\"\nbase = \"1\"\n",
        ),
        ("help", "1.0.0", ""),
    ];
    let world = locked(&young, "probe = \"1\"\n");
    // There are newer ones, by now also of what the code depends on.
    world.publish("base", "1.5.0", "");
    let learnt = "base 1.0.0\ncode 1.0.0\nhelp 1.0.0\nprobe 1.0.0";
    assert_eq!(world.lay_locked(true), learnt);
    assert_snapshot!(world.read("old/Cargo.lock"), @r#"
    # This file is automatically @generated by Cargo.
    # It is not intended for manual editing.
    version = 4

    [[package]]
    name = "base"
    version = "1.0.0"
    source = "registry+https://github.com/rust-lang/crates.io-index"
    checksum = "000000000000000000000000000000000000000000000000a2a340f337e99f61"

    [[package]]
    name = "code"
    version = "1.0.0"
    source = "registry+https://github.com/rust-lang/crates.io-index"
    checksum = "000000000000000000000000000000000000000000000000139049f62af1f8e1"
    dependencies = [
     "base",
    ]

    [[package]]
    name = "demo"
    version = "0.1.0"
    dependencies = [
     "code",
     "probe",
    ]

    [[package]]
    name = "help"
    version = "1.0.0"
    source = "registry+https://github.com/rust-lang/crates.io-index"
    checksum = "0000000000000000000000000000000000000000000000008e61a391d6fab4cf"

    [[package]]
    name = "probe"
    version = "1.0.0"
    source = "registry+https://github.com/rust-lang/crates.io-index"
    checksum = "000000000000000000000000000000000000000000000000c01a9c8c70674341"
    dependencies = [
     "base",
     "help",
    ]
    "#);
    let locked = world.cargo("old", &["metadata", "--format-version", "1", "--locked"]);
    assert!(locked.status.success());

    // Without one, the newest is what cargo takes; then none is made.
    fs::remove_file(world.path("old/Cargo.lock")).unwrap();
    let overlay = world.overlay("demo", "", true);
    overlay.lay(&world.path("old")).unwrap().unwrap();
    assert!(!world.path("old/Cargo.lock").exists());
    assert!(world.resolved("demo").contains("probe 1.9.0"));
}

#[test]
fn two_versions_of_one_name() {
    let young = [
        ("probe", "1.0.0", "[dependencies]\nbase = \"2\"\n"),
        ("base", "2.0.0", ""),
    ];
    let world = locked(&young, "probe = \"1\"\n");
    world.publish("base", "1.5.0", "");
    let before = world.read("old/Cargo.lock");
    assert!(before.contains(" \"base\",\n"), "{before}");
    let overlay = world.overlay("demo", "", true);
    overlay.lay(&world.path("old")).unwrap().unwrap();
    let laid = world.read("old/Cargo.lock");
    assert_snapshot!(world.resolved("demo"), @"
    base 1.0.0
    base 2.0.0
    code 1.0.0
    probe 1.0.0
    ");
    // As cargo writes it.
    assert!(laid.contains(" \"base 1.0.0\",\n"), "{laid}");
    assert!(laid.contains(" \"base 2.0.0\",\n"), "{laid}");
}

#[test]
fn feature_that_needs_another_package() {
    let young = [("extra", "1.0.0", "")];
    let world = World::new();
    world.publish("extra", "1.0.0", "");
    let rest = "[dependencies]\nextra = { version = \"1\", optional = true }\n";
    world.publish("base", "1.0.0", rest);
    let manifest = package("demo") + "[dependencies]\nbase = \"1\"\n";
    world.both("Cargo.toml", &manifest);
    world.both("src/lib.rs", "");
    world.lock("old");
    let dev = "[dev-dependencies]\nbase = { version = \"1\", features = [\"extra\"] }\n";
    world.write("work/Cargo.toml", &format!("{manifest}{dev}{LEAKS_ENTRY}"));
    world.write("work/tests/leaks.rs", LEAKS);
    world.lock("work");
    for (name, _, rest) in young {
        world.publish(name, "1.9.0", rest);
    }
    assert_snapshot!(world.lay_locked(true), @"
    base 1.0.0
    extra 1.0.0
    ");
}

#[test]
fn dependency_that_the_old_one_is_too_old_for() {
    let young = [
        ("probe", "1.0.0", "[dependencies]\nbase = \"1.2\"\n"),
        ("base", "1.2.0", "[dependencies]\nbelow = \"1\"\n"),
        ("below", "1.0.0", ""),
    ];
    let world = locked(&young, "probe = \"1\"\n");
    assert_snapshot!(world.lay_locked(true), @"
    base 1.2.0
    below 1.0.0
    code 1.0.0
    probe 1.0.0
    raised base 1.0.0 to 1.2.0
    ");

    // Nothing is guessed: cargo's own message says what is in the way.
    let world = locked(&young, "probe = \"1\"\n");
    let overlay = world.overlay("demo", "", true);
    assert_eq!(
        overlay.lay(&world.path("old")).unwrap(),
        Ok(Laid::default())
    );
    let refused = world.metadata("old").unwrap_err();
    assert!(
        refused.contains("failed to select a version for `base`"),
        "{refused}"
    );
}

#[test]
fn old_versions_are_taken_where_they_will_do() {
    let young = [
        ("probe", "1.0.0", "[dependencies]\nbase = \">=0.9, <3\"\n"),
        ("base", "2.0.0", ""),
    ];
    let world = locked(&young, "probe = \"1\"\nbase = \">=0.9, <3\"\n");
    assert!(
        world
            .read("work/Cargo.lock")
            .contains("name = \"base\"\nversion = \"2.0.0\"")
    );
    assert_snapshot!(world.lay_locked(true), @"
    base 1.0.0
    code 1.0.0
    probe 1.0.0
    ");

    // What the tests of another package need is nobody's need.
    let rest = "[dependencies]\nbase = \"1\"\n[dev-dependencies]\nbase = \"1.2\"\n";
    let young = [("probe", "1.0.0", rest), ("base", "1.2.0", "")];
    let world = locked(&young, "probe = \"1\"\n");
    assert_snapshot!(world.lay_locked(true), @"
    base 1.0.0
    code 1.0.0
    probe 1.0.0
    ");
}

#[test]
fn lockfile_of_the_first_format() {
    let young = [
        ("probe", "1.0.0", "[dependencies]\nbase = \"2\"\n"),
        ("base", "2.0.0", ""),
    ];
    let world = locked(&young, "probe = \"1\"\n");
    let old = world.read("old/Cargo.lock");
    let source = "registry+https://github.com/rust-lang/crates.io-index";
    let mut sums = String::from("\n[metadata]\n");
    let mut lines: Vec<String> = Vec::new();
    let mut name = String::new();
    for line in old
        .lines()
        .filter(|line| !line.starts_with("version = 3") && *line != "version = 4")
    {
        if let Some(quoted) = line.strip_prefix("name = ") {
            name = quoted.trim_matches('"').to_owned();
        }
        match line.strip_prefix("checksum = ") {
            Some(sum) => sums += &format!("\"checksum {name} 1.0.0 ({source})\" = {sum}\n"),
            None => lines.push(match line {
                " \"base\"," => format!(" \"base 1.0.0 ({source})\","),
                " \"code\"," => format!(" \"code 1.0.0 ({source})\","),
                line => line.to_owned(),
            }),
        }
    }
    world.write("old/Cargo.lock", &(lines.join("\n") + "\n" + &sums));
    assert_snapshot!(world.lay_locked(true), @"
    base 1.0.0
    base 2.0.0
    code 1.0.0
    probe 1.0.0
    ");
}

#[test]
fn young_member_is_locked() {
    let world = with_young_member("[workspace]\nresolver = \"2\"\nmembers = [\"core\"]\n");
    world.publish("probe", "1.0.0", "");
    world.lock("old");
    let manifest = world.read("work/leaks/Cargo.toml");
    let manifest = manifest.replace("[lints]", "probe = \"1\"\n\n[lints]");
    world.write("work/leaks/Cargo.toml", &manifest);
    world.lock("work");
    world.publish("probe", "1.1.0", "");
    world.lay("leaks", "leaks", false);
    assert_snapshot!(world.resolved("leaks"), @"
    core 0.0.7 in old/core
    probe 1.0.0
    ");
}

#[test]
fn lockfile_stays_where_nothing_was_added() {
    let young = [
        ("probe", "1.0.0", "[dependencies]\nhelp = \"1\"\n"),
        ("help", "1.0.0", ""),
    ];
    let world = locked(&young, "probe = \"1\"\n");
    world.publish("probe", "1.9.5", "");
    let manifest = package("demo") + "[dependencies]\ncode = \"1\"\nprobe = \"1\"\n";
    world.write("old/Cargo.toml", &manifest);
    world.lock("old");
    let before = world.read("old/Cargo.lock");
    world.lay("demo", "", true);
    assert_eq!(world.read("old/Cargo.lock"), before);
}

/// A lockfile of packages, each `name version source` and what it depends on.
fn lockfile(packages: &[(&str, &[&str])]) -> String {
    let mut text = String::from("# Generated.\nversion = 4\n");
    for (package, dependencies) in packages {
        let mut parts = package.splitn(3, ' ');
        let mut part = || parts.next();
        text += "\n[[package]]\n";
        for key in ["name", "version", "source"] {
            if let Some(part) = part() {
                text += &format!("{key} = \"{part}\"\n");
            }
        }
        if !dependencies.is_empty() {
            let lines = dependencies.iter().map(|name| format!(" \"{name}\",\n"));
            text += &format!("dependencies = [\n{}]\n", lines.collect::<String>());
        }
    }
    text
}

#[track_caller]
fn merged(old: &[(&str, &[&str])], new: &[(&str, &[&str])], added: &[&str]) -> String {
    let new = Lock::parse(&lockfile(new)).unwrap();
    let added = added.iter().map(|name| (*name).to_owned()).collect();
    let merged = new.merge_into(&lockfile(old), "demo", &added, &Requirements::default());
    merged.unwrap().text
}

#[test]
fn git_revision_of_the_old_lockfile_stays() {
    let merged = merged(
        &[
            ("base 0.1.0 git+https://example.com/base#1111", &[]),
            ("demo 0.1.0", &["base"]),
        ],
        &[
            ("base 0.2.0 git+https://example.com/base#2222", &[]),
            ("demo 0.1.0", &["base", "probe"]),
            ("probe 1.0.0 registry", &["base"]),
        ],
        &["probe"],
    );
    assert_snapshot!(merged, @r#"
    # Generated.
    version = 4

    [[package]]
    name = "base"
    version = "0.1.0"
    source = "git+https://example.com/base#1111"

    [[package]]
    name = "demo"
    version = "0.1.0"
    dependencies = [
     "base",
     "probe",
    ]

    [[package]]
    name = "probe"
    version = "1.0.0"
    source = "registry"
    dependencies = [
     "base",
    ]
    "#);
}

#[test]
fn same_version_of_two_sources() {
    let merged = merged(
        &[
            ("base 1.0.0 registry", &[]),
            ("code 1.0.0 registry", &["base"]),
            ("demo 0.1.0", &["code"]),
        ],
        &[
            ("base 1.0.0 other", &[]),
            ("base 1.0.0 registry", &[]),
            ("code 1.0.0 registry", &["base 1.0.0 (registry)"]),
            ("demo 0.1.0", &["code", "base 1.0.0 (other)", "folder"]),
            ("folder 0.1.0", &["demo", "base 1.0.0 (registry)"]),
        ],
        &["base", "folder"],
    );
    assert_snapshot!(merged, @r#"
    # Generated.
    version = 4

    [[package]]
    name = "base"
    version = "1.0.0"
    source = "registry"

    [[package]]
    name = "code"
    version = "1.0.0"
    source = "registry"
    dependencies = [
     "base 1.0.0 (registry)",
    ]

    [[package]]
    name = "demo"
    version = "0.1.0"
    dependencies = [
     "code",
     "base 1.0.0 (other)",
     "folder",
    ]

    [[package]]
    name = "base"
    version = "1.0.0"
    source = "other"

    [[package]]
    name = "folder"
    version = "0.1.0"
    dependencies = [
     "demo",
     "base 1.0.0 (registry)",
    ]
    "#);
}

#[test]
fn where_it_cannot_be_laid() {
    let world = with_young_member("[workspace]\nmembers = [\"core\"]\n");
    let refused = || world.refused("leaks", "leaks", false);

    fs::remove_dir_all(world.path("old/core")).unwrap();
    assert_snapshot!(refused(), @"the test needs the package `core` (crates/core), which is not there");
    for dir in ["one", "two"] {
        world.write(&format!("old/{dir}/Cargo.toml"), &package("core"));
    }
    assert_snapshot!(refused(), @"there are two packages `core`: in one and in two");
    fs::remove_dir_all(world.path("old/two")).unwrap();

    world.write("old/leaks/Cargo.toml", &package("other"));
    world.write("old/leaks/src/lib.rs", "");
    assert_snapshot!(refused(), @"there is no package `leaks`, and in leaks is `other`");
    fs::remove_dir_all(world.path("old/leaks")).unwrap();

    world.write("old/leaks", "a file");
    assert_snapshot!(refused(), @"`leaks` is no folder there");
    fs::remove_file(world.path("old/leaks")).unwrap();

    world.write("old/leaks/tests/leaks.rs/file", "");
    assert_snapshot!(refused(), @"`leaks/tests/leaks.rs` is a folder there");
    fs::remove_dir_all(world.path("old/leaks")).unwrap();

    world.write("old/Cargo.toml", "[workspace]\nmembers = \"core\"\n");
    assert_snapshot!(refused(), @"its workspace has string as `members`, where cargo takes an array");
    world.write("old/Cargo.toml", "[workspace\n");
    assert_snapshot!(refused(), @"there is no workspace that the package `leaks` could be a member of");

    world.write("old/Cargo.toml", "[workspace]\nmembers = [\"one\"]\n");
    world.write("work/Cargo.lock", "version = 4\n");
    world.write("old/Cargo.lock", "version = 3\n[[package]\n");
    assert_snapshot!(refused(), @"Cargo.lock: line 2: unclosed array table, expected `]`");
}

#[test]
fn where_it_cannot_be_laid_beside_code() {
    let world = World::new();
    let manifest = package("demo") + LEAKS_ENTRY + "required-features = [\"slow\", \"x/y\"]\n";
    world.write(
        "work/demo/Cargo.toml",
        &(manifest + "[features]\nslow = []\n"),
    );
    world.write("work/demo/src/lib.rs", "");
    world.write("work/demo/tests/leaks.rs", LEAKS);
    world.write("work/Cargo.toml", "[workspace]\nmembers = [\"demo\"]\n");
    let refused = || world.refused("demo", "demo", true);
    assert_snapshot!(refused(), @"there is no package `demo`");

    world.write("old/demo/Cargo.toml", &package("was"));
    assert_snapshot!(refused(), @"there is no package `demo` (`was` is in demo)");

    world.write("old/demo/Cargo.toml", &package("demo"));
    assert_snapshot!(
        refused(),
        @"the test requires the feature `slow`, which its package does not have"
    );
    let text = package("demo") + "test = \"x\"\n[features]\nslow = []\n";
    world.write("old/demo/Cargo.toml", &text.replace("test", "[test]\nname"));
    assert_snapshot!(refused(), @"its manifest has table as `test`, where cargo takes an array of tables");
}

#[cfg(unix)]
#[test]
fn links_lead_nowhere() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new();
    world.both("Cargo.toml", &(package("demo") + LEAKS_ENTRY));
    world.both("src/lib.rs", "");
    world.write("work/tests/leaks.rs", LEAKS);
    world.write("work/tests/run.sh", "#!/bin/sh\n");
    let script = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.path("work/tests/run.sh"), script).unwrap();
    world.write("outside/leaks.rs", "mine\n");
    symlink(world.path("outside"), world.path("work/tests/link")).unwrap();
    symlink(world.path("outside"), world.path("old/tests")).unwrap();
    assert_snapshot!(world.refused("demo", "", true), @"`tests` is no folder there");

    fs::remove_file(world.path("old/tests")).unwrap();
    fs::create_dir(world.path("old/tests")).unwrap();
    symlink(
        world.path("outside/leaks.rs"),
        world.path("old/tests/leaks.rs"),
    )
    .unwrap();
    world.lay("demo", "", true);
    assert_eq!(world.read("old/tests/leaks.rs"), LEAKS);
    assert_eq!(world.read("outside/leaks.rs"), "mine\n");
    assert_snapshot!(world.files("old"), @"
    Cargo.toml
    src/lib.rs
    tests/leaks.rs
    tests/run.sh
    ");
    let mode = |path: &str| fs::metadata(world.path(path)).unwrap().permissions().mode() & 0o111;
    assert_ne!(mode("old/tests/run.sh"), 0);
    assert_eq!(mode("old/tests/leaks.rs"), 0);
}

#[test]
fn too_much_is_refused() {
    let world = World::new();
    world.write("work/Cargo.toml", &(package("demo") + LEAKS_ENTRY));
    world.write("work/src/lib.rs", "");
    world.write("work/tests/leaks.rs", LEAKS);
    let refused = || {
        let err = world
            .try_overlay("demo", "", "tests/leaks.rs", true)
            .unwrap_err();
        format!("{err:#}").replace(world.path("work").to_str().unwrap(), "<work>")
    };
    let large = fs::File::create(world.path("work/tests/large")).unwrap();
    large.set_len(65 << 20).unwrap();
    assert_snapshot!(refused(), @"
    the test's files are too large to copy into other revisions
      expected at most 64 MiB, found more at <work>/tests/large
      hint: move what the test does not read, or add `--overlay never`
    ");
    fs::remove_file(world.path("work/tests/large")).unwrap();

    let deep = "work/tests/".to_owned() + &"d/".repeat(40);
    world.write(&format!("{deep}file"), "");
    assert!(refused().contains("expected at most 32 levels of folders, found more at "));
    fs::remove_dir_all(world.path("work/tests/d")).unwrap();

    for number in 0..10_000 {
        fs::write(world.path(&format!("work/tests/{number}")), "").unwrap();
    }
    assert!(refused().contains("expected at most 10,000 files, found more at "));
}

#[test]
fn what_cannot_be_read_is_named() {
    let world = World::new();
    world.write("work/tests/leaks.rs", LEAKS);
    let refused = || {
        let err = world
            .try_overlay("demo", "", "tests/leaks.rs", true)
            .unwrap_err();
        format!("{err:#}").replace(world.path("work").to_str().unwrap(), "<work>")
    };
    world.write("work/Cargo.toml", "[package]\nname = demo\n");
    assert_snapshot!(refused(), @"<work>/Cargo.toml: line 2: string values must be quoted, expected literal string");
    world.write("work/Cargo.toml", &package("demo"));
    world.write("work/Cargo.lock", "version = 4\n[[package]]\nname = \n");
    assert_snapshot!(refused(), @"<work>/Cargo.lock: line 3: string values must be quoted, expected literal string");
    fs::write(world.path("work/Cargo.lock"), b"version = 4\n\xff").unwrap();
    assert_snapshot!(refused(), @"<work>/Cargo.lock: line 2: expected UTF-8, found something else");
    let large = fs::File::create(world.path("work/Cargo.lock")).unwrap();
    large.set_len(33 << 20).unwrap();
    assert_snapshot!(refused(), @"<work>/Cargo.lock: expected at most 32 MiB, found more");

    world.write("outside/leaks.rs", LEAKS);
    fs::remove_file(world.path("work/Cargo.lock")).unwrap();
    let err = world
        .try_overlay("demo", "", "../outside/leaks.rs", true)
        .unwrap_err();
    let dir = world.path("");
    assert_snapshot!(format!("{err:#}").replace(dir.to_str().unwrap(), "<dir>/"), @"
    <dir>/outside/leaks.rs is outside of the repository <dir>/work, so no other revision can have it
      hint: add `--overlay never`
    ");
}

#[test]
fn digest_is_of_what_is_laid() {
    let young = [
        ("probe", "1.0.0", "[dependencies]\nhelp = \"1\"\n"),
        ("help", "1.0.0", ""),
    ];
    let world = locked(&young, "probe = \"1\"\n");
    let digest = || world.overlay("demo", "", true).digest();
    let first = digest();
    assert_eq!(first, digest());

    world.write("work/src/lib.rs", "// new\n");
    world.write("work/README.md", "new");
    assert_eq!(first, digest());

    let mut digests = vec![first];
    let mut differs = || {
        let digest = digest();
        assert!(!digests.contains(&digest));
        digests.push(digest);
    };
    world.write("work/tests/leaks.rs", "fn main() { }\n");
    differs();
    world.write("work/tests/data", "");
    differs();
    fs::rename(world.path("work/tests/data"), world.path("work/tests/date")).unwrap();
    differs();
    let lock = world.read("work/Cargo.lock");
    let entry = "name = \"help\"\nversion = \"1.0.0\"";
    world.write(
        "work/Cargo.lock",
        &lock.replace(entry, &entry.replace("1.0.0", "1.0.1")),
    );
    differs();
    let manifest = world.read("work/Cargo.toml");
    world.write(
        "work/Cargo.toml",
        &manifest.replace("harness = false", "harness = true"),
    );
    differs();
    let mut overlay = world.overlay("demo", "", true);
    overlay.learn(&serde_json::json!({"packages": []}));
    assert!(!digests.contains(&overlay.digest()));
}
