//! From nothing to the commit, with real builds: `init` on an old tag, then
//! `verify-fix`, `bisect` and `check`, of what no commit has yet.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::built::{build_as_all_do, shared, workspace};
use crate::git::{alone, git as git_in, init};

/// The name of the manifest's edition is left out: it is 2015.
const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n";

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
    dir: tempfile::TempDir,
    target: PathBuf,
    /// One at a time: what is built is shared.
    _lock: File,
}

impl Demo {
    fn new() -> Demo {
        let (shared, lock) = shared();
        let demo = Demo {
            dir: tempfile::tempdir().unwrap(),
            target: shared.join("target"),
            _lock: lock,
        };
        fs::create_dir_all(demo.top().join("src")).unwrap();
        init(&demo.top());
        demo.write("Cargo.toml", MANIFEST);
        demo.write(".gitignore", "/target\n/Cargo.lock\n");
        demo
    }

    fn top(&self) -> PathBuf {
        self.dir.path().join("demo")
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.top().join(path), text).unwrap();
    }

    /// A commit whose cache keeps what has that key.
    fn commit(&self, key: &str, tag: &str) {
        let code = format!(
            "use std::collections::HashMap;\n\n#[derive(Default)]\n\
             pub struct Cache {{\n    map: HashMap<u64, Box<[u8; 64]>>,\n}}\n\n\
             impl Cache {{\n    pub fn put(&mut self, key: u64) {{\n        \
             self.map.insert({key}, Box::new([0; 64]));\n    }}\n}}\n"
        );
        self.write("src/lib.rs", &code);
        git_in(&self.top(), &["add", "--all"]);
        git_in(&self.top(), &["commit", "--quiet", "--message", tag]);
        git_in(&self.top(), &["tag", tag]);
    }

    /// What it prints, with that status.
    #[track_caller]
    fn plimsoll(&self, args: &[&str], status: i32) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let output = build_as_all_do(alone(&mut command))
            .args(args)
            .current_dir(self.top())
            // A commit that leaks does so in every iteration, so few iterations show it.
            .env("PLIMSOLL_MAX_ITERATIONS", "2000")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, args: &[&str], status: i32) -> Value {
        let target = self.target.to_str().unwrap();
        let more = ["--json", "--budget", "60s", "--target-dir", target];
        let text = self.plimsoll(&[args, &more].concat(), status);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{args:?}: {text}"))
    }
}

#[test]
fn from_init_on_an_old_tag_to_the_fix_and_the_commit() {
    let demo = Demo::new();
    demo.commit("key % 8", "v1");
    demo.commit("key % 9", "v2");
    demo.commit("key", "v3");
    demo.commit("key % 10", "v4");
    git_in(&demo.top(), &["checkout", "--quiet", "v3"]);

    let harness = workspace().join("harness/measure");
    let init = ["init", "--yes", "--path", harness.to_str().unwrap()];
    demo.plimsoll(&init, 0);
    demo.write("leaks/tests/leaks.rs", TEST);
    // The versions of this repository, which have been fetched.
    let lock = workspace().join("Cargo.lock");
    fs::copy(lock, demo.top().join("Cargo.lock")).unwrap();
    let before = git_in(&demo.top(), &["status", "--porcelain"]);

    let fixed = demo.json(&["verify-fix", "v3", "v4", "--scenario", "fill"], 0);
    assert_eq!(fixed["result"], "fixed", "{fixed:#}");
    let found = demo.json(&["bisect", "v1", "v4~1", "--scenario", "fill"], 0);
    assert_eq!(found["first_bad"]["subject"], "v3", "{found:#}");
    let files = serde_json::json!(["src/lib.rs"]);
    assert_eq!(found["first_bad"]["files"], files);
    let mended = demo.json(&["bisect", "v3", "v4", "--scenario", "fill"], 0);
    assert_eq!(mended["change"], "fixed", "{mended:#}");
    let checked = demo.json(&["check", "--baseline-rev", "v1"], 1);
    let scenario = &checked["scenarios"][0];
    assert_eq!(scenario["result"], "regressed", "{checked:#}");
    assert_eq!(git_in(&demo.top(), &["status", "--porcelain"]), before);
}
