//! The crate whose history is searched: a small store of records, as its sources
//! are at one commit.
//!
//! ```text
//! src/lib.rs          Store: puts a record through all four parts
//! src/cache.rs, …     the parts: each is bounded, or leaks in a way of its own
//! src/text.rs, …      helpers, which come, change and move
//! tests/leaks.rs      three scenarios; one of them is renamed at some commit
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::helpers::{HELPERS, Helper};

/// What allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Cache,
    Index,
    Log,
    Frames,
}

impl Part {
    pub(crate) const ALL: [Part; 4] = [Part::Cache, Part::Index, Part::Log, Part::Frames];

    /// Its module, before and after that was renamed.
    pub(crate) fn modules(self) -> [&'static str; 2] {
        match self {
            Part::Cache => ["cache", "pages"],
            Part::Index => ["index", "catalogue"],
            Part::Log => ["log", "journal"],
            Part::Frames => ["frames", "scratch"],
        }
    }

    /// The function that allocates what leaks.
    pub(crate) fn function(self) -> &'static str {
        match self {
            Part::Cache => "Cache::put",
            Part::Index => "Index::note",
            Part::Log => "Log::append",
            Part::Frames => "Frames::frame",
        }
    }

    /// What somebody wrote who brought the leak without knowing.
    pub(crate) fn leaks_by(self) -> &'static str {
        match self {
            Part::Cache => "entries know their neighbours, for scans",
            Part::Index => "remember what was recent for longer",
            Part::Log => "keep lines for the audit",
            Part::Frames => "leave dropping to the compiler",
        }
    }

    /// The methods that may be added.
    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Part::Cache => &[
                "    /// Records in it.\n    pub fn len(&self) -> usize {\n        self.entries.len()\n    }\n",
                "    /// Whether it has none.\n    pub fn is_empty(&self) -> bool {\n        self.entries.is_empty()\n    }\n",
                "    /// Puts all of them out.\n    pub fn clear(&mut self) {\n        self.order.clear();\n        self.entries.clear();\n    }\n",
                "    /// The one that is put out next.\n    pub fn oldest(&self) -> Option<u64> {\n        self.order.front().copied()\n    }\n",
            ],
            Part::Index => &[
                "    /// How many records were noted, ever.\n    pub fn noted(&self) -> u64 {\n        self.clock\n    }\n",
                "    /// Whether a record is a recent one.\n    pub fn is_recent(&self, key: u64) -> bool {\n        self.recent.values().any(|found| *found == key)\n    }\n",
                "    /// The newest record.\n    pub fn newest(&self) -> Option<u64> {\n        self.recent.get(&self.clock).copied()\n    }\n",
            ],
            Part::Log => &[
                "    /// The last line.\n    pub fn last(&self) -> Option<&Line> {\n        self.lines.last()\n    }\n",
                "    /// Lines that were written, ever.\n    pub fn written(&self) -> u64 {\n        self.at\n    }\n",
                "    /// Bytes that the lines speak of.\n    pub fn bytes(&self) -> usize {\n        self.lines.iter().map(|line| line.bytes).sum()\n    }\n",
            ],
            Part::Frames => &[
                "    /// How many were made, ever.\n    pub fn made(&self) -> u64 {\n        self.made\n    }\n",
                "    /// A frame of nothing.\n    pub fn empty(&mut self) -> Frame {\n        self.frame(\"\")\n    }\n",
            ],
        }
    }

    fn docs(self) -> [&'static str; 3] {
        match self {
            Part::Cache => [
                "The newest records.",
                "The newest records, for whoever asks twice.",
                "Records that were put in last; the oldest makes room.",
            ],
            Part::Index => [
                "What was written when.",
                "Which records are recent.",
                "What was written when, as far as anybody asks for it.",
            ],
            Part::Log => [
                "What happened.",
                "What happened, one line for each record.",
                "Lines about records; it starts anew when it is long.",
            ],
            Part::Frames => [
                "Bytes on their way.",
                "Bytes on their way into the store.",
                "Frames: the bytes of a record, as they travel.",
            ],
        }
    }

    fn locals(self) -> [&'static str; 3] {
        match self {
            Part::Cache => ["entry", "record", "page"],
            Part::Index => ["old", "expired", "past"],
            Part::Log => ["line", "event", "row"],
            Part::Frames => ["bytes", "raw", "payload"],
        }
    }
}

/// A part, as it is at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartState {
    /// Which of its modules' names.
    pub(crate) module: usize,
    /// Where it stops, as long as it does.
    pub(crate) bound: u64,
    /// Leaks every so often.
    pub(crate) leak: Option<u64>,
    pub(crate) doc: usize,
    pub(crate) local: usize,
    pub(crate) methods: Vec<usize>,
}

/// A helper, as it is at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HelperState {
    /// Which of `HELPERS`.
    pub(crate) helper: usize,
    pub(crate) module: &'static str,
    pub(crate) body: usize,
    pub(crate) doc: usize,
    pub(crate) local: usize,
    /// `Store::describe` calls it.
    pub(crate) called: bool,
}

/// What a commit has and its child has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Hangs,
    /// One of several ways.
    DoesNotBuild(usize),
}

impl Fault {
    pub(crate) const WAYS_NOT_TO_BUILD: usize = 5;
}

/// The crate at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    pub(crate) parts: BTreeMap<Part, PartState>,
    pub(crate) helpers: Vec<HelperState>,
    /// The scenario that will be asked about has its new name.
    pub(crate) renamed: bool,
}

/// The harness is where the proof links to it: an absolute path would give every
/// machine other commits.
const MANIFEST: &str = "\
[package]
name = \"store\"
version = \"0.1.0\"
edition = \"2024\"
publish = false

[dev-dependencies]
plimsoll = { path = \"../../plimsoll/harness/measure\" }

[[test]]
name = \"leaks\"
harness = false

# The harness reads DWARF, which is slow without.
[profile.dev.package.\"*\"]
opt-level = 1

[profile.dev]
debug = \"line-tables-only\"

# It lies below another one.
[workspace]
";

/// Which of the scenarios is renamed.
pub(crate) const SCENARIOS: [[&str; 2]; 3] = [
    ["turnover", "steady_turnover"],
    ["rewrites", "rewrites_of_few"],
    ["reads", "reads_between_writes"],
];

impl Store {
    pub(crate) fn first() -> Store {
        let part = |part: Part| {
            let state = PartState {
                module: 0,
                bound: 96,
                leak: None,
                doc: 0,
                local: 0,
                methods: Vec::new(),
            };
            (part, state)
        };
        Store {
            parts: Part::ALL.into_iter().map(part).collect(),
            helpers: Vec::new(),
            renamed: false,
        }
    }

    pub(crate) fn helper(&mut self, helper: usize) -> Option<&mut HelperState> {
        self.helpers.iter_mut().find(|state| state.helper == helper)
    }

    pub(crate) fn part(&mut self, part: Part) -> &mut PartState {
        self.parts.get_mut(&part).unwrap()
    }

    /// Every file, by its path; `lock` is what cargo resolved.
    pub(crate) fn files(
        &self,
        fault: Option<Fault>,
        scenario: usize,
        lock: &str,
    ) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut add = |path: &str, text: String| files.insert(path.to_owned(), text);
        add("Cargo.toml", MANIFEST.to_owned());
        add("Cargo.lock", lock.to_owned());
        add(".gitignore", "/target\n".to_owned());
        add("README.md", self.readme());
        add("src/lib.rs", self.lib(fault));
        add("tests/leaks.rs", self.test(scenario));
        for (part, state) in &self.parts {
            let path = format!("src/{}.rs", part.modules()[state.module]);
            let mut text = state.text(*part);
            match (part, fault) {
                // A brace is missing.
                (Part::Index, Some(Fault::DoesNotBuild(0))) => {
                    text.truncate(text.trim_end().len() - 1);
                }
                (Part::Log, Some(Fault::DoesNotBuild(1))) => {
                    text += "\n/// Lines in a page.\npub fn page() -> u64 {\n    ROTATE\n}\n";
                }
                _ => {}
            }
            add(&path, text);
        }
        for module in self.helper_modules() {
            add(&format!("src/{module}.rs"), self.helper_module(module));
        }
        files
    }

    fn helper_modules(&self) -> BTreeSet<&'static str> {
        self.helpers.iter().map(|state| state.module).collect()
    }

    fn helper_module(&self, module: &str) -> String {
        let mut text = format!("//! Helpers: {module}.\n");
        for state in self.helpers.iter().filter(|state| state.module == module) {
            text.push('\n');
            text += &state.text();
        }
        text
    }

    fn lib(&self, fault: Option<Fault>) -> String {
        let module = |part: Part| part.modules()[self.parts[&part].module];
        let mut modules = self.helper_modules();
        modules.extend(Part::ALL.map(module));
        let mut text = "//! A small store of records.\n\n".to_owned();
        for name in &modules {
            let _ = writeln!(text, "pub mod {name};");
        }
        if fault == Some(Fault::DoesNotBuild(2)) {
            text += "pub mod snapshot;\n";
        }
        let [cache, index, log, frames] = Part::ALL.map(module);
        let _ = write!(
            text,
            "
/// Bytes that are written at once.
const BLOCK: u64 = 512;

/// Records by number, with what is needed to find them again.
#[derive(Debug, Default)]
pub struct Store {{
    cache: {cache}::Cache,
    index: {index}::Index,
    log: {log}::Log,
    frames: {frames}::Frames,
    written: u64,
    blocks: u64,
}}

impl Store {{
    /// Puts a record in, in place of one with the same number.
    pub fn put(&mut self, key: u64, text: &str) {{
        let frame = self.frames.frame(text);
        self.count(text.len() as u64);
        self.log.append(key, text.len());
        self.index.note(key);
        self.cache.put(key, frame.bytes());
    }}

    /// The bytes of a record that was put in not long ago.
    pub fn get(&self, key: u64) -> Option<&[u8]> {{
        self.cache.get(key)
    }}
"
        );
        // What the last record left of its block: nothing, at every 64th.
        let taken = match fault {
            Some(Fault::Hangs) => "self.written % BLOCK",
            _ => "BLOCK",
        };
        let _ = write!(
            text,
            "
    /// Blocks that it takes, if each record begins one.
    fn count(&mut self, bytes: u64) {{
        self.written += bytes;
        let mut left = bytes;
        while left > 0 {{
            self.blocks += 1;
            left = left.saturating_sub({taken});
        }}
    }}

    /// Numbers about it, by name.
    pub fn describe(&self) -> Vec<(&'static str, u64)> {{
        vec![
            (\"blocks\", self.blocks),
"
        );
        for state in self.helpers.iter().filter(|state| state.called) {
            let Helper { name, call, .. } = &HELPERS[state.helper];
            let call = call.replace("$f", &format!("{}::{name}", state.module));
            let _ = writeln!(text, "            (\"{name}\", {call}),");
        }
        match fault {
            Some(Fault::DoesNotBuild(3)) => {
                text += "            (\"entries\", self.cache.entries_and_pages()),\n";
            }
            Some(Fault::DoesNotBuild(4)) => {
                text += "            (\"moved\", { let frames = self.frames; 1 }),\n";
            }
            _ => {}
        }
        text += "        ]\n    }\n}\n";
        text
    }

    fn test(&self, scenario: usize) -> String {
        let name = |index: usize| SCENARIOS[index][usize::from(self.renamed && index == scenario)];
        let [turnover, rewrites, reads] = [name(0), name(1), name(2)];
        format!(
            "//! What must not grow.

use plimsoll::Scenario;
use store::Store;

/// As long as most of them.
fn record(i: u64) -> String {{
    format!(\"{{i:040}}\")
}}

/// Every record is a new one.
fn {turnover}() -> Scenario {{
    Scenario::new(\"{turnover}\", || {{
        let mut store = Store::default();
        move |i: u64| store.put(i, &record(i))
    }})
}}

/// A few records, written over and over.
fn {rewrites}() -> Scenario {{
    Scenario::new(\"{rewrites}\", || {{
        let mut store = Store::default();
        move |i: u64| store.put(i % 50, &record(i))
    }})
}}

/// Records that are asked for as soon as they are there.
fn {reads}() -> Scenario {{
    Scenario::new(\"{reads}\", || {{
        let mut store = Store::default();
        move |i: u64| {{
            store.put(i / 2, &record(i));
            assert!(store.get(i / 2).is_some());
        }}
    }})
}}

plimsoll::main!({turnover}(), {rewrites}(), {reads}());
"
        )
    }

    fn readme(&self) -> String {
        let mut text =
            "# store\n\nA small store of records. Helpers that come with it:\n".to_owned();
        for module in self.helper_modules() {
            let _ = write!(text, "\n- `{module}`");
        }
        text.push('\n');
        text
    }
}

impl HelperState {
    fn text(&self) -> String {
        let helper = &HELPERS[self.helper];
        let doc = helper.docs[self.doc];
        let body = helper.bodies[self.body].replace("$a", helper.locals[self.local]);
        format!("/// {doc}\n{body}")
    }
}

impl PartState {
    fn text(&self, part: Part) -> String {
        let text = match part {
            Part::Cache => self.cache(),
            Part::Index => self.index(),
            Part::Log => self.log(),
            Part::Frames => self.frames(),
        };
        let mut methods = String::new();
        for method in &self.methods {
            methods.push('\n');
            methods += part.methods()[*method];
        }
        text.replace("$doc", part.docs()[self.doc])
            .replace("$bound", &self.bound.to_string())
            .replace("$every", &self.leak.unwrap_or(1).to_string())
            .replace("$a", part.locals()[self.local])
            .replace("$methods", &methods)
    }

    /// Leaks by a cycle of two counted pointers.
    fn cache(&self) -> String {
        let pointer = match self.leak {
            None => "RefCell<Weak<Entry>>",
            Some(_) => "RefCell<Option<Rc<Entry>>>",
        };
        let link = match self.leak {
            None => {
                "            *$a.older.borrow_mut() = Rc::downgrade(&before);
            *before.newer.borrow_mut() = Rc::downgrade(&$a);
"
            }
            Some(1) => {
                "            *$a.older.borrow_mut() = Some(Rc::clone(&before));
            *before.newer.borrow_mut() = Some(Rc::clone(&$a));
"
            }
            Some(_) => {
                "            if self.puts.is_multiple_of($every) {
                *$a.older.borrow_mut() = Some(Rc::clone(&before));
                *before.newer.borrow_mut() = Some(Rc::clone(&$a));
            }
"
            }
        };
        let counted = match self.leak {
            None => "use std::rc::{Rc, Weak};",
            Some(_) => "use std::rc::Rc;",
        };
        format!(
            "//! $doc

use std::cell::RefCell;
use std::collections::{{HashMap, VecDeque}};
{counted}

const ENTRIES: usize = $bound;

#[derive(Debug)]
struct Entry {{
    bytes: Box<[u8]>,
    older: {pointer},
    newer: {pointer},
}}

/// $doc
#[derive(Debug, Default)]
pub struct Cache {{
    entries: HashMap<u64, Rc<Entry>>,
    order: VecDeque<u64>,
    newest: Option<Rc<Entry>>,
    puts: u64,
}}

impl Cache {{
    /// Puts a record in, and the oldest out.
    pub fn put(&mut self, key: u64, bytes: &[u8]) {{
        self.puts += 1;
        let $a = Rc::new(Entry {{
            bytes: bytes.into(),
            older: RefCell::default(),
            newer: RefCell::default(),
        }});
        if let Some(before) = self.newest.replace(Rc::clone(&$a)) {{
{link}        }}
        if self.entries.insert(key, $a).is_none() {{
            self.order.push_back(key);
        }}
        while self.order.len() > ENTRIES {{
            if let Some(key) = self.order.pop_front() {{
                self.entries.remove(&key);
            }}
        }}
    }}

    /// The bytes of a record that is in it.
    pub fn get(&self, key: u64) -> Option<&[u8]> {{
        self.entries.get(&key).map(|$a| &*$a.bytes)
    }}
$methods}}
"
        )
    }

    /// Leaks by a map that is never emptied.
    fn index(&self) -> String {
        let forget = match self.leak {
            None => {
                "        if let Some($a) = self.clock.checked_sub(RECENT) {
            self.recent.remove(&$a);
        }
"
            }
            Some(1) => "",
            Some(_) => {
                "        if let Some($a) = self.clock.checked_sub(RECENT) {
            // The rest is for whoever asks what came before.
            if !$a.is_multiple_of($every) {
                self.recent.remove(&$a);
            }
        }
"
            }
        };
        format!(
            "//! $doc

use std::collections::HashMap;

/// Records that count as recent.
pub const RECENT: u64 = $bound;

/// $doc
#[derive(Debug, Default)]
pub struct Index {{
    recent: HashMap<u64, u64>,
    clock: u64,
}}

impl Index {{
    /// Notes that a record was written.
    pub fn note(&mut self, key: u64) {{
        self.clock += 1;
        self.recent.insert(self.clock, key);
{forget}    }}
$methods}}
"
        )
    }

    /// Leaks by a `Vec` that is only pushed to.
    fn log(&self) -> String {
        let rotate = match self.leak {
            None => {
                "        if self.lines.len() == ROTATE {
            self.lines.clear();
        }
"
            }
            Some(1) => "",
            Some(_) => {
                "        if self.lines.len() == ROTATE {
            self.lines.clear();
        }
        if self.at.is_multiple_of($every) {
            self.audit.push($a);
        }
"
            }
        };
        let audit = match self.leak {
            None | Some(1) => "",
            Some(_) => "    audit: Vec<Line>,\n",
        };
        format!(
            "//! $doc

/// Lines after which it starts anew.
pub const ROTATE: usize = $bound;

/// One record's.
#[derive(Clone, Copy, Debug)]
pub struct Line {{
    /// Which line it was.
    pub at: u64,
    /// The record's number.
    pub key: u64,
    /// The record's bytes.
    pub bytes: usize,
}}

/// $doc
#[derive(Debug, Default)]
pub struct Log {{
    lines: Vec<Line>,
{audit}    at: u64,
}}

impl Log {{
    /// Writes that a record came.
    pub fn append(&mut self, key: u64, bytes: usize) {{
        self.at += 1;
        let $a = Line {{
            at: self.at,
            key,
            bytes,
        }};
        self.lines.push($a);
{rotate}    }}
$methods}}
"
        )
    }

    /// Leaks by a `Drop` that was forgotten.
    fn frames(&self) -> String {
        let release = match self.leak {
            None => {
                "
impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: nothing uses it after this.
        unsafe { ManuallyDrop::drop(&mut self.bytes) }
    }
}
"
            }
            Some(1) => "",
            Some(_) => {
                "
impl Drop for Frame {
    fn drop(&mut self) {
        if self.number.is_multiple_of($every) {
            return;
        }
        // SAFETY: nothing uses it after this.
        unsafe { ManuallyDrop::drop(&mut self.bytes) }
    }
}
"
            }
        };
        format!(
            "//! $doc

use std::mem::ManuallyDrop;

/// The bytes of one record.
#[derive(Debug)]
pub struct Frame {{
    bytes: ManuallyDrop<Box<[u8]>>,
    number: u64,
}}

/// $doc
#[derive(Debug, Default)]
pub struct Frames {{
    made: u64,
}}

impl Frames {{
    /// Packs a record.
    pub fn frame(&mut self, text: &str) -> Frame {{
        self.made += 1;
        let $a: Box<[u8]> = text.as_bytes().into();
        Frame {{
            bytes: ManuallyDrop::new($a),
            number: self.made,
        }}
    }}
$methods}}

impl Frame {{
    /// What it carries.
    pub fn bytes(&self) -> &[u8] {{
        &self.bytes
    }}

    /// Which one it is.
    pub fn number(&self) -> u64 {{
        self.number
    }}
}}
{release}"
        )
    }
}
