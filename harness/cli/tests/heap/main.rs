//! `plimsoll show` and `plimsoll compare`, as somebody types them.

mod ages;
mod gates;
mod hostile;
mod inputs;
mod jeprof;
mod outputs;
#[path = "../project/ran.rs"]
mod ran;
#[path = "../../../core/tests/schema/mod.rs"]
mod schema;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use plimsoll_core::{Avma, Counts, Tally};
use plimsoll_profile::write::pprof;
use plimsoll_profile::{
    Filter, Frames, Granularity, Location, MappedObject, Measure, Names, ProfileBuilder, View,
};
use ran::Ran;

impl Ran {
    #[track_caller]
    fn done(self) -> String {
        self.has(0, &[]).stdout
    }

    /// Prints nothing, and says why.
    #[track_caller]
    fn fails(self, status: i32, why: &str) {
        let ran = self.has(status, &[why]);
        assert_eq!(ran.stdout, "", "expected {why:?}");
    }
}

fn plimsoll(arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = command.args(arguments).stdin(Stdio::null()).output();
    Ran::of(&output.unwrap())
}

/// `plimsoll show --folded`.
#[track_caller]
fn folded(arguments: &[&str]) -> String {
    plimsoll(&[&["show", "--folded"], arguments].concat()).done()
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// A folder with files in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file's path, with that in it.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).unwrap();
        self.name(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

/// A dump with these stacks: `objects bytes address…`, a line each.
fn dump(interval: u64, stacks: &str) -> String {
    let (mut objects, mut bytes, mut body) = (0, 0, String::new());
    for line in stacks.lines().map(str::trim) {
        let [one, two, addresses] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        objects += one.parse::<u64>().unwrap();
        bytes += two.parse::<u64>().unwrap();
        body.push_str(&format!(
            "@ {addresses}\n  t*: {one}: {two} [0: 0]\n  t0: {one}: {two} [0: 0]\n"
        ));
    }
    format!("heap_v2/{interval}\n  t*: {objects}: {bytes} [0: 0]\n{body}\nMAPPED_LIBRARIES:\n")
}

/// For pprof: one object of 64 bytes, of that address in that mapping.
fn packed(mapping: MappedObject, address: u64) -> Vec<u8> {
    let mut builder = ProfileBuilder::new(&[Measure::InuseObjects, Measure::InuseSpace]);
    builder.profile.mappings.push(mapping);
    let location = builder.push(Location {
        address: Some(Avma(address)),
        mapping: Some(0),
        ..Location::default()
    });
    let (objects, bytes) = (1, 64);
    let inuse = Tally { objects, bytes };
    let alloc = Tally::default();
    builder.stack([location.unwrap()], Counts { inuse, alloc });
    let (profile, filter, mut names) = (builder.profile, Filter::default(), Names::default());
    let all = Frames::All;
    let view = View::new(&profile, Granularity::Functions, all, &filter, &mut names);
    let mut packed = Vec::new();
    pprof(&mut packed, None, &view, &[]).unwrap();
    packed
}

/// Says loudly that something was not tested.
fn skipped(what: &str, why: &str) {
    use std::io::Write;
    // Not `eprintln!`, which is shown of tests that fail.
    let _ = writeln!(std::io::stderr(), "!!! SKIPPED: {what}: {why}");
}
