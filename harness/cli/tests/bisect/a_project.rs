//! From nothing to the commit, with real builds: `init` on an old tag and a first verdict, then
//! `bisect` and `check`. A function that leaks gets another module, and the commits before do not
//! have the test.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::built::{build_as_all_do, shared, workspace};
use crate::git::{alone, everything_and_times, git as git_in, init};
use crate::project::Ran;

/// The name of the manifest's edition is left out: it is 2015.
const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n";

const CODE: &str = "use std::collections::HashMap;

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

const TEST: &str = "use plimsoll::Scenario;

fn fill() -> Scenario {
    Scenario::new(\"fill\", || {
        let mut cache = demo::Cache::default();
        move |i: u64| cache.put(i)
    })
}

plimsoll::main!(fill());
";

struct Demo {
    /// Not in this repository: cargo would take it for a part of it.
    _dir: tempfile::TempDir,
    top: PathBuf,
    target: PathBuf,
    /// One at a time: what is built is shared.
    _lock: File,
}

impl Demo {
    fn new() -> Demo {
        let (shared, lock) = shared();
        let dir = tempfile::tempdir().unwrap();
        let demo = Demo {
            top: dir.path().join("demo"),
            _dir: dir,
            target: shared.join("target"),
            _lock: lock,
        };
        init(&demo.top);
        fs::create_dir(demo.top.join("src")).unwrap();
        demo.write("Cargo.toml", MANIFEST);
        demo.write(".gitignore", "/target\n");
        demo
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.top.join(path), text).unwrap();
    }

    fn git(&self, line: &str) {
        git_in(&self.top, line);
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

    fn command(&self, program: &str, line: &str) -> Command {
        let mut command = Command::new(program);
        build_as_all_do(alone(&mut command))
            .args(line.split(' '))
            .current_dir(&self.top);
        command
    }

    #[track_caller]
    fn cargo(&self, line: &str, says: &[&str]) -> Ran {
        // An absolute path, as cargo sets it for a test.
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut command = self.command(&cargo, line);
        let output = command.env("CARGO_TARGET_DIR", &self.target).output();
        Ran::of(&output.unwrap()).has(0, says)
    }

    fn plimsoll(&self, line: &str) -> Ran {
        let mut command = self.command(env!("CARGO_BIN_EXE_plimsoll"), line);
        // A commit that leaks does so in every iteration, so few iterations show it.
        let output = command.env("PLIMSOLL_MAX_ITERATIONS", "2000").output();
        Ran::of(&output.unwrap())
    }

    /// What a command prints.
    #[track_caller]
    fn json(&self, line: &str, status: i32) -> Value {
        let target = self.target.display();
        let line = format!("{line} --json --budget 60s --target-dir {target}");
        self.plimsoll(&line).has(status, &[]).json()
    }
}

#[test]
fn from_init_on_an_old_tag_to_the_commit() {
    let demo = Demo::new();
    demo.commit("cache", "key % 8", "v1");
    demo.commit("cache", "key % 9", "v2");
    demo.commit("cache", "key", "v3");

    let harness = workspace().join("harness/measure");
    let init = format!("init --yes --path {}", harness.display());
    let says = ["demo-leaks", "cargo test --test leaks"];
    demo.plimsoll(&init).has(0, &says);
    // The versions of this repository, which have been fetched.
    fs::copy(workspace().join("Cargo.lock"), demo.top.join("Cargo.lock")).unwrap();
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
    demo.git("bisect start --no-checkout v4 v1");

    let before = everything_and_times(&demo.top);
    let found = demo.json("bisect v1 v4 --scenario fill --stack Cache::put", 0);
    assert_eq!(everything_and_times(&demo.top), before);
    let first = &found["first_bad"];
    assert_eq!(first["subject"], "v3", "{found:#}");
    assert_eq!(first["files"], json!(["src/cache.rs"]));
    assert_eq!(first["in_stack"], true, "{found:#}");
    let stack = found["stack"].to_string();
    assert!(stack.contains("demo::pages::Cache::put"), "{stack}");
    // Each was built once.
    assert_eq!(found["tested"].as_array().unwrap().len(), 2, "{found:#}");
    assert_eq!(found["builds"], 4);

    let checked = demo.json("check --baseline-rev v1", 1);
    let scenario = &checked["scenarios"][0];
    assert_eq!(scenario["result"], "regressed", "{checked:#}");
}
