//! The crate whose history is searched, as its sources are after some edits.
//!
//! ```text
//! src/lib.rs          Store: puts a record through all three parts
//! src/cache.rs, …     the parts: each is bounded, or leaks in a way of its own
//! src/notes.rs        what most commits change
//! tests/leaks.rs      two scenarios; one of them is renamed at some commit
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Leaks by a `Drop` that never runs: every object.
    Cache,
    /// By a map that is never emptied: in steps.
    Index,
    /// By a `Vec` that is only pushed to: in bytes alone.
    Log,
}

/// What a commit does. A merge is the edits of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edit {
    Note(usize),
    /// Leaks every so often.
    Leak(Part, u64),
    /// A part gets another module: every frame in it has another name.
    RenameModule(Part),
    RenameScenario,
}

/// Why a commit cannot be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    DoesNotBuild,
    Hangs,
}

pub(crate) type Edits = BTreeSet<Edit>;

/// The scenario that is asked about, before and after it is renamed.
pub(crate) const SCENARIO: [&str; 2] = ["turnover", "steady_turnover"];

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

pub mod notes;
pub mod $cache;
pub mod $index;
pub mod $log;

#[derive(Default)]
pub struct Store {
    cache: $cache::Cache,
    index: $index::Index,
    log: $log::Log,
    written: u64,
}

impl Store {
    pub fn put(&mut self, key: u64, text: &str) {
        self.written += 1;
        $then
        self.log.append(key);
        self.index.note(key);
        self.cache.put(text);
    }
}
";

const PART: &str = "#[derive(Default)]
pub struct $Name {
    kept: $kept,
    audit: Vec<[u64; 3]>,
    n: u64,
}

impl $Name {
    pub fn $put(&mut self, $given) {
        self.n += 1;
        $then
    }
}
";

const CACHE: &str = "self.kept.push_back(text.into());
        if self.kept.len() > 96 {
            let oldest = self.kept.pop_front();
            if $leaks { std::mem::forget(oldest); }
        }";
const INDEX: &str = "self.kept.insert(self.n, key);
        if !($leaks) { self.kept.remove(&self.n.wrapping_sub(96)); }";
const LOG: &str = "if self.kept.len() == 96 { self.kept.clear(); }
        self.kept.push([self.n, key, 0]);
        if $leaks { self.audit.push([self.n, key, 1]); }";

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

impl Part {
    pub(crate) const ALL: [Part; 3] = [Part::Cache, Part::Index, Part::Log];

    pub(crate) fn module(self, edits: &Edits) -> &'static str {
        let [before, after] = match self {
            Part::Cache => ["cache", "pages"],
            Part::Index => ["index", "catalogue"],
            Part::Log => ["log", "journal"],
        };
        match edits.contains(&Edit::RenameModule(self)) {
            true => after,
            false => before,
        }
    }

    /// The function that allocates what leaks.
    pub(crate) fn function(self) -> &'static str {
        match self {
            Part::Cache => "Cache::put",
            Part::Index => "Index::note",
            Part::Log => "Log::append",
        }
    }

    fn text(self, edits: &Edits) -> String {
        let (kept, given, then) = match self {
            Part::Cache => ("std::collections::VecDeque<Box<str>>", "text: &str", CACHE),
            Part::Index => ("std::collections::HashMap<u64, u64>", "key: u64", INDEX),
            Part::Log => ("Vec<[u64; 3]>", "key: u64", LOG),
        };
        let (name, put) = self.function().split_once("::").unwrap();
        let leaks = edits.iter().find_map(|edit| match edit {
            Edit::Leak(part, every) if *part == self => Some(format!("self.n % {every} == 0")),
            _ => None,
        });
        PART.replace("$Name", name)
            .replace("$put", put)
            .replace("$kept", kept)
            .replace("$given", given)
            .replace("$then", then)
            .replace("$leaks", leaks.as_deref().unwrap_or("false"))
    }
}

/// Every file, by its path; `lock` is what cargo resolved.
pub(crate) fn files(edits: &Edits, fault: Option<Fault>, lock: &str) -> Vec<(String, String)> {
    let then = match fault {
        None => "",
        Some(Fault::DoesNotBuild) => "self.snapshot();",
        Some(Fault::Hangs) => "while self.written > 64 { std::thread::park(); }",
    };
    let mut lib = LIB.replace("$then", then);
    let mut notes = String::new();
    for edit in edits {
        if let Edit::Note(number) = edit {
            let _ = writeln!(notes, "pub fn note_{number}() -> u64 {{ {number} }}");
        }
    }
    let scenario = SCENARIO[usize::from(edits.contains(&Edit::RenameScenario))];
    let mut files = vec![
        ("Cargo.toml".to_owned(), MANIFEST.to_owned()),
        ("Cargo.lock".to_owned(), lock.to_owned()),
        (".gitignore".to_owned(), "/target\n".to_owned()),
        ("src/notes.rs".to_owned(), notes),
        (
            "tests/leaks.rs".to_owned(),
            TEST.replace("$turnover", scenario),
        ),
    ];
    for (part, name) in Part::ALL.into_iter().zip(["$cache", "$index", "$log"]) {
        lib = lib.replace(name, part.module(edits));
        files.push((format!("src/{}.rs", part.module(edits)), part.text(edits)));
    }
    files.push(("src/lib.rs".to_owned(), lib));
    files
}
