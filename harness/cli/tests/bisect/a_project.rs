//! From nothing to the commit, with real builds: `init` on an old tag and a first verdict, then
//! `bisect` and `check`. A function that leaks gets another module, and the commits before do not
//! have the test.

#[path = "../built/mod.rs"]
pub(crate) mod built;

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::git::{alone, everything, git as git_in, init, write};
use crate::project::{PLIMSOLL, Ran};
use built::{build_as_all_do, shared, workspace};

/// The name of the manifest's edition is left out: it is 2015.
const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n";

/// A cache that keeps what has the key `$key`.
pub(crate) const CODE: &str = "use std::collections::HashMap;

#[derive(Default)]
pub struct Cache {
    map: HashMap<u64, Box<[u8; 64]>>,
}

impl Cache {
    pub fn put(&mut self, key: u64) {
        self.map.insert($key, Box::new([0; 64]));
    }
}
";

/// For the project's test target `leaks`.
pub(crate) const TEST: &str = "use plimsoll::Scenario;

fn fill() -> Scenario {
    Scenario::new(\"fill\", || {
        let mut cache = demo::Cache::default();
        move |i: u64| cache.put(i)
    })
}

plimsoll::main!(fill());
";

/// A project that cargo builds.
pub(crate) struct Demo {
    pub(crate) top: PathBuf,
    target: PathBuf,
    /// One at a time: what is built is shared.
    _lock: File,
}

impl Demo {
    pub(crate) fn at(top: PathBuf) -> Demo {
        let (shared, _lock) = shared();
        let target = shared.join("target");
        Demo { top, target, _lock }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.top.join(path), text);
    }

    pub(crate) fn git(&self, line: &str) -> String {
        git_in(&self.top, line)
    }

    /// A commit whose cache, in that module, keeps what has that key.
    fn commit(&self, module: &str, key: &str, tag: &str) {
        let library = format!("pub mod {module};\npub use {module}::Cache;\n");
        self.write("src/lib.rs", &library);
        self.write(&format!("src/{module}.rs"), &CODE.replace("$key", key));
        self.git("add --all");
        self.git(&format!("commit --quiet --message {tag}"));
        self.git(&format!("tag {tag}"));
    }

    /// The versions of this repository, which have been fetched.
    pub(crate) fn copy_versions(&self) {
        fs::copy(workspace().join("Cargo.lock"), self.top.join("Cargo.lock")).unwrap();
    }

    fn command(&self, program: &str, line: &str) -> Command {
        let mut command = Command::new(program);
        build_as_all_do(alone(&mut command))
            .args(line.split(' '))
            .current_dir(&self.top)
            // The repository of these tests is none of the project's.
            .env("GIT_CEILING_DIRECTORIES", self.top.parent().unwrap());
        command
    }

    #[track_caller]
    pub(crate) fn cargo(&self, line: &str, says: &[&str]) -> Ran {
        // An absolute path, as cargo sets it for a test.
        let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut command = self.command(&cargo, line);
        let output = command.env("CARGO_TARGET_DIR", &self.target).output();
        Ran::of(&output.unwrap()).has(0, says)
    }

    /// Returns every file of the user with its time and size, without git's objects and what cargo
    /// builds.
    fn everything(&self) -> String {
        let ours = "( -path ./target -o -path ./.git/objects ) -prune";
        let files = format!(". {ours} -o -type f -printf %p_%T@_%s\\n");
        let mut find = Command::new("find");
        let found = find.args(files.split(' ')).current_dir(&self.top).output();
        let found = Ran::of(&found.unwrap()).has(0, &["Cargo.toml"]);
        format!("{:#?}\n{}", everything(&self.top), found.stdout)
    }

    /// A command line of `plimsoll` that ends with a path, in which there may be blanks.
    fn plimsoll(&self, line: &str, path: impl AsRef<OsStr>) -> Ran {
        let mut command = self.command(PLIMSOLL, line);
        // Code that leaks does so in every iteration, so few iterations show it.
        let command = command.arg(path).env("PLIMSOLL_MAX_ITERATIONS", "2000");
        Ran::of(&command.output().unwrap())
    }

    /// Runs a command that measures.
    pub(crate) fn measures(&self, line: &str) -> Ran {
        self.plimsoll(&format!("{line} --budget 60s --target-dir"), &self.target)
    }
}

#[test]
fn from_init_on_an_old_tag_to_the_commit() {
    // This folder is outside of this repository: cargo would take it for a part of it.
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::at(folder.path().join("demo"));
    init(&demo.top);
    demo.write("Cargo.toml", MANIFEST);
    demo.write(".gitignore", "/target\n");
    demo.commit("cache", "key % 8", "v1");
    demo.commit("cache", "key % 9", "v2");
    demo.commit("cache", "key", "v3");

    let says = ["demo-leaks", "cargo test --test leaks"];
    let harness = workspace().join("harness/measure");
    demo.plimsoll("init --yes --path", harness).has(0, &says);
    demo.copy_versions();
    let says = ["test window ... ok", "1 passed; 0 failed"];
    demo.cargo("test --offline --test leaks", &says);
    // Others' tests do not build the harness for it.
    demo.cargo("tree --offline -p demo -e all", &["demo v0.1.0"])
        .lacks(&["jemalloc"]);

    demo.write("leaks/tests/leaks.rs", TEST);
    demo.git("rm --quiet --force src/cache.rs");
    demo.commit("pages", "key", "v4");
    // A checkout as people have it, and a bisection of their own under way.
    demo.write("src/lib.rs", "mod pages;\npub use pages::*;\n");
    demo.write("staged.txt", "");
    demo.git("add staged.txt");
    demo.write("untracked.txt", "");
    demo.git("bisect start --no-checkout v4 v1");

    let before = demo.everything();
    let search = "bisect v1 v4 --scenario fill --stack Cache::put --json";
    let found = demo.measures(search).has(0, &[]).json();
    assert_eq!(demo.everything(), before);
    let first = &found["first_bad"];
    assert_eq!(first["subject"], "v3", "{found:#}");
    assert_eq!(first["files"], json!(["src/cache.rs"]));
    assert_eq!(first["in_stack"], true, "{found:#}");
    let stack = found["stack"].to_string();
    assert!(stack.contains("demo::pages::Cache::put"), "{stack}");
    // Each was built once.
    assert_eq!(found["tested"].as_array().unwrap().len(), 2, "{found:#}");
    assert_eq!(found["builds"], 4);

    let check = "check --baseline-rev v1 --json";
    let checked = demo.measures(check).has(1, &[]).json();
    let scenario = &checked["scenarios"][0];
    assert_eq!(scenario["result"], "regressed", "{checked:#}");
}
