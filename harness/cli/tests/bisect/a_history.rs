//! `plimsoll bisect` with real builds: it finds the right commit in the history of a small crate,
//! in few builds, and leaves nothing behind. A leak begins on a side branch, in one iteration of
//! eight, and is asked for by name, because another one is greater. Later its module gets another
//! name, and the scenario too. git first asks about a commit that hangs; another does not build.
//!
//! ```text
//! target/tmp/bisect-proof/
//!   lock            one proof at a time
//!   plimsoll        a link to this repository, for the crate's Cargo.toml
//!   locked/store/   the crate at its first commit, to have its Cargo.lock and its
//!                   dependencies from
//!   target/         --target-dir
//!   beside/store/   the repository
//! ```

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::built::{build_as_all_do, shared, workspace};
use crate::git::{Content, alone, everything_and_times, git, import, init};

/// The parents of each commit, and its branch. The first is good, the last is bad.
const COMMITS: [(&[usize], &str); 10] = [
    (&[], "main"),
    (&[0], "main"),
    (&[1], "side"),
    (&[1], "main"),
    (&[2], "side"),
    (&[4], "side"),
    (&[3], "main"),
    (&[6, 5], "main"),
    (&[7], "main"),
    (&[8], "main"),
];
/// From here on the cache leaks, more than the log does later.
const GREATER: usize = 1;
/// From here on the scenario has its new name.
const SCENARIO_RENAMED: usize = 3;
/// From here on the log leaks.
const CULPRIT: usize = 4;
const HANGS: usize = 5;
const DOES_NOT_BUILD: usize = 6;
/// From here on the log is in a module with another name.
const MODULE_RENAMED: usize = 8;
const BAD: usize = COMMITS.len() - 1;

/// The harness is where the proof links to it: an absolute path would give every
/// machine other commits.
const MANIFEST: &str = r#"[package]
name = "store"
version = "0.1.0"
edition = "2024"

[dev-dependencies]
plimsoll = { path = "../../plimsoll/harness/measure" }

[[test]]
name = "leaks"
harness = false

# It lies below another one.
[workspace]
"#;

const LIB: &str = "//! A small store of records.

pub mod cache;
pub mod notes;
pub mod $log;

#[derive(Default)]
pub struct Store {
    cache: cache::Cache,
    log: $log::Log,
    written: u64,
}

impl Store {
    pub fn put(&mut self, key: u64, text: &str) {
        self.written += 1;
        $then
        self.log.append(key);
        self.cache.put(text);
    }
}
";

/// Leaks by a `Drop` that never runs: every object.
const CACHE: &str = "#[derive(Default)]
pub struct Cache {
    kept: std::collections::VecDeque<Box<str>>,
}

impl Cache {
    pub fn put(&mut self, text: &str) {
        self.kept.push_back(text.into());
        if self.kept.len() > 96 {
            let oldest = self.kept.pop_front();
            if $leaks { std::mem::forget(oldest); }
        }
    }
}
";

/// Leaks by a `Vec` that is only pushed to: in bytes alone.
const LOG: &str = "#[derive(Default)]
pub struct Log {
    kept: Vec<[u64; 3]>,
    audit: Vec<[u64; 3]>,
    n: u64,
}

impl Log {
    pub fn append(&mut self, key: u64) {
        self.n += 1;
        if self.kept.len() == 96 { self.kept.clear(); }
        self.kept.push([self.n, key, 0]);
        if $leaks && self.n % 8 == 0 { self.audit.push([self.n, key, 1]); }
    }
}
";

const TEST: &str = r#"use plimsoll::Scenario;
use store::Store;

/// Every record is a new one.
fn turnover() -> Scenario {
    Scenario::new("$turnover", || {
        let mut store = Store::default();
        move |i: u64| store.put(i, &format!("{i:040}"))
    })
}

/// A few records, written over and over.
fn rewrites() -> Scenario {
    Scenario::new("rewrites", || {
        let mut store = Store::default();
        move |i: u64| store.put(i % 50, &format!("{i:040}"))
    })
}

plimsoll::main!(turnover(), rewrites());
"#;

/// A commit, and all that it comes after.
fn up_to(at: usize) -> BTreeSet<usize> {
    let before = COMMITS[at].0.iter().flat_map(|parent| up_to(*parent));
    before.chain([at]).collect()
}

/// The name of the module that the log is in.
fn module(at: usize) -> &'static str {
    match up_to(at).contains(&MODULE_RENAMED) {
        true => "journal",
        false => "log",
    }
}

/// Every file of a commit, by its path; `lock` is what cargo resolved.
fn files(at: usize, lock: &str) -> Vec<(String, String)> {
    let edits = up_to(at);
    let leaks = |edit: usize| edits.contains(&edit).to_string();
    let then = match at {
        DOES_NOT_BUILD => "self.snapshot();",
        HANGS => "while self.written > 64 { std::thread::park(); }",
        _ => "",
    };
    let scenario = match edits.contains(&SCENARIO_RENAMED) {
        true => "steady_turnover",
        false => "turnover",
    };
    let log = module(at);
    let mut notes = String::new();
    for edit in &edits {
        let _ = writeln!(notes, "pub fn note_{edit}() -> u64 {{ {edit} }}");
    }
    let files = [
        ("Cargo.toml", MANIFEST.to_owned()),
        ("Cargo.lock", lock.to_owned()),
        (".gitignore", "/target\n".to_owned()),
        ("src/notes.rs", notes),
        ("tests/leaks.rs", TEST.replace("$turnover", scenario)),
        ("src/cache.rs", CACHE.replace("$leaks", &leaks(GREATER))),
        (
            &format!("src/{log}.rs"),
            LOG.replace("$leaks", &leaks(CULPRIT)),
        ),
        (
            "src/lib.rs",
            LIB.replace("$log", log).replace("$then", then),
        ),
    ];
    files.map(|(path, text)| (path.to_owned(), text)).into()
}

fn cargo() -> OsString {
    // An absolute path, as cargo sets it for a test.
    std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into())
}

fn emptied(dir: PathBuf) -> PathBuf {
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir.join("store")
}

/// Resolves and builds what the crate depends on, so that no revision's timeout has to allow for
/// it. Returns the crate's Cargo.lock.
fn locked(shared: &Path, target: &Path) -> String {
    let workspace = workspace();
    let link = shared.join("plimsoll");
    let _ = fs::remove_file(&link);
    symlink(&workspace, &link).unwrap();
    let first = emptied(shared.join("locked"));
    let lock = fs::read_to_string(workspace.join("Cargo.lock")).unwrap();
    for (path, text) in files(0, &lock) {
        let path = first.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for line in [
        // Leaves out what is not needed here, and changes nothing else.
        "update --quiet --workspace --offline",
        "test --quiet --no-run --locked --test leaks",
    ] {
        let output = build_as_all_do(&mut Command::new(cargo()))
            .args(line.split(' '))
            .current_dir(&first)
            .env("CARGO_TARGET_DIR", target)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {line}: {said}");
    }
    fs::read_to_string(first.join("Cargo.lock")).unwrap()
}

/// A checkout as people have it: something changed, something staged, something
/// new, and a bisection of their own under way.
fn leave_work_undone(dir: &Path, ids: &[String]) {
    git(dir, &["reset", "--quiet", "--hard", "main"]);
    fs::write(dir.join("src/notes.rs"), "// Not finished.\n").unwrap();
    fs::write(dir.join("staged.txt"), "staged\n").unwrap();
    git(dir, &["add", "staged.txt"]);
    fs::write(dir.join("new.txt"), "new\n").unwrap();
    git(
        dir,
        &["bisect", "start", "--no-checkout", &ids[BAD], &ids[0]],
    );
    git(dir, &["update-index", "-q", "--refresh"]);
}

/// Programs that were built in a folder.
fn running(dir: &Path) -> Vec<PathBuf> {
    // What was killed a moment ago may not be gone yet.
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let programs =
            processes.filter_map(|process| fs::read_link(process.path().join("exe")).ok());
        let running: Vec<_> = programs.filter(|one| one.starts_with(dir)).collect();
        if running.is_empty() || Instant::now() > patience {
            return running;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_right_commit_with_real_builds() {
    let (shared, _lock) = shared();
    let target = shared.join("target");
    let lock = locked(&shared, &target);
    let place = emptied(shared.join("beside"));
    init(&place);
    let content = |(at, (parents, branch)): (usize, &(&[usize], &'static str))| Content {
        parents: parents.to_vec(),
        branch,
        subject: format!("c{at}"),
        files: files(at, &lock),
    };
    let contents: Vec<Content> = COMMITS.iter().enumerate().map(content).collect();
    let ids = import(&place, &contents);
    leave_work_undone(&place, &ids);
    let before = everything_and_times(&place);

    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    // The timeout is how long it takes to see that a scenario hangs. HEAD is the default for the
    // bad end.
    let line = "bisect --format json --budget 60s --timeout 20s --scenario steady_turnover \
                --stack Log::append";
    let output = build_as_all_do(alone(&mut command))
        .args(line.split(' '))
        .arg("--target-dir")
        .arg(&target)
        .arg(&ids[0])
        .current_dir(&place)
        .stdin(Stdio::null())
        .env("CARGO", cargo())
        // Enough to show a leak in one iteration of eight.
        .env("PLIMSOLL_MAX_ITERATIONS", "16384")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(everything_and_times(&place), before);
    let running = running(&shared);
    assert!(running.is_empty(), "{running:?}");

    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &found["first_bad"];
    let bytes = |when: &str| first[when]["bytes"].as_f64().unwrap();
    for (found, expected) in [
        (&found["result"], json!("found")),
        (&found["scenario"], json!("steady_turnover")),
        (&first["commit"], json!(ids[CULPRIT])),
        (&first["files"], json!(["src/log.rs", "src/notes.rs"])),
        (&first["in_stack"], json!(true)),
    ] {
        assert_eq!(*found, expected, "{said}");
    }
    let leaf = found["stack"].as_array().unwrap().last().unwrap();
    let named = format!("{}::Log::append", module(BAD));
    assert!(leaf.as_str().unwrap().contains(&named), "{leaf}");
    assert!(bytes("after") - bytes("before") >= 0.5, "{first}");

    // No commit was guessed, and each was built once. Which ones git asks about after the first
    // depends on their ids, and so on Cargo.lock.
    let tested = found["tested"].as_array().unwrap();
    for (index, one) in tested.iter().enumerate() {
        let at = ids.iter().position(|id| one["commit"] == **id).unwrap();
        let expected = match at {
            HANGS => ["skip", "hangs"],
            DOES_NOT_BUILD => ["skip", "does not build"],
            at if up_to(at).contains(&CULPRIT) => ["bad", ""],
            _ => ["good", ""],
        };
        let found = ["answer", "kind"].map(|key| one[key].as_str().unwrap_or_default());
        assert_eq!(found, expected, "c{at}");
        assert_eq!(one["cached"], false, "c{at}");
        assert_eq!(index == 0, at == HANGS, "c{at}");
    }
    assert_eq!(found["builds"], 2 + tested.len());
    assert!(tested.len() <= 8, "{said}");
}
