//! Builds the fixtures, runs them, and asks what their addresses are.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_core::dump::HeapDump;
use plimsoll_core::{Avma, SymbolTable};
use plimsoll_symbols::{MappedFile, Options, symbolize};

/// A directory of one test's own.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    #[track_caller]
    pub(crate) fn cc(&self, output: &str, arguments: &[&str]) -> PathBuf {
        let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(cc);
        command
            .args(["-O1", "-o", output])
            .args(arguments.iter().map(|argument| {
                if [".c", ".cpp"].iter().any(|end| argument.ends_with(end)) {
                    fixture(argument)
                } else {
                    (*argument).into()
                }
            }));
        self.run(&mut command);
        self.path(output)
    }

    /// The Rust fixture, built so.
    #[track_caller]
    pub(crate) fn rustc(&self, arguments: &[&str]) -> PathBuf {
        self.cc("return_address.o", &["-c", "return_address.c"]);
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command.args([
            "--edition=2024",
            "-Copt-level=2",
            "-Clink-arg=return_address.o",
        ]);
        // The older mangling can only be asked for with an unstable flag.
        command.args(arguments).env("RUSTC_BOOTSTRAP", "1");
        command.arg("-o").arg("program").arg(fixture("program.rs"));
        self.run(&mut command);
        self.path("program")
    }

    #[track_caller]
    pub(crate) fn run(&self, command: &mut Command) -> String {
        let output = command.current_dir(self.directory.path()).output();
        let output = output.unwrap_or_else(|err| panic!("{command:?}: {err}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{command:?}: {}\n{stderr}",
            output.status
        );
        String::from_utf8(output.stdout).expect("fixtures print text")
    }

    #[track_caller]
    pub(crate) fn start(&self, program: &Path) -> Process {
        Process::parse(&self.run(Command::new(program).env("LD_LIBRARY_PATH", self.path(""))))
    }
}

/// Whether a tool is there that not every machine has.
#[expect(clippy::print_stderr, reason = "what was not tested must be said")]
pub(crate) fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    if !there {
        eprintln!("NOT TESTED: {tool} is missing");
    }
    there
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// What a fixture said of itself.
pub(crate) struct Process {
    pub(crate) mappings: Vec<MappedFile>,
    pub(crate) addresses: BTreeMap<String, Avma>,
}

impl Process {
    fn parse(output: &str) -> Self {
        let mut maps = String::new();
        let mut addresses = BTreeMap::new();
        for line in output.lines() {
            if let Some(labelled) = line.strip_prefix("@ ") {
                let (label, address) = labelled.split_once(' ').expect("a label and an address");
                addresses.insert(label.to_owned(), Avma(hex(address)));
            } else {
                maps.push_str(line);
                maps.push('\n');
            }
        }
        // Through the dump's own parser, as the mappings of a run come.
        let dump = format!("heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n{maps}");
        let dump = HeapDump::parse(dump.as_bytes()).expect("a dump without stacks");
        let maps = dump.maps().expect("a dump with mappings");
        let mappings = maps.mappings.iter().map(MappedFile::from).collect();
        Self {
            mappings,
            addresses,
        }
    }

    pub(crate) fn symbolize(&self) -> SymbolTable {
        self.symbolize_with(&Options::default())
    }

    pub(crate) fn symbolize_with(&self, options: &Options) -> SymbolTable {
        symbolize(&self.mappings, &self.wanted(), options)
    }

    pub(crate) fn wanted(&self) -> BTreeSet<Avma> {
        self.addresses.values().copied().collect()
    }

    /// The frames at the labelled address, `function file:line`, leaf first,
    /// and what is said of the whole.
    pub(crate) fn shown(&self, table: &SymbolTable, label: &str) -> String {
        let frames = table.get(self.addresses[label]).iter().map(|frame| {
            let file = frame.file.as_deref().map(|file| {
                let name = Path::new(file)
                    .file_name()
                    .and_then(OsStr::to_str)
                    .unwrap_or(file);
                format!(
                    " {name}:{}",
                    frame.line.map_or("?".to_owned(), |line| line.to_string())
                )
            });
            format!("{}{}\n", frame.function, file.unwrap_or_default())
        });
        frames.collect()
    }

    /// Where the file at this path starts in memory.
    pub(crate) fn start_of(&self, file_name: &str) -> u64 {
        let of_file = |mapping: &&MappedFile| mapping.path.ends_with(file_name);
        self.mappings
            .iter()
            .filter(of_file)
            .map(|mapping| mapping.start)
            .min()
            .expect("mapped")
    }

    pub(crate) fn each(mut self, change: impl Fn(&mut MappedFile)) -> Self {
        self.mappings.iter_mut().for_each(change);
        self
    }
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits.trim_start_matches("0x"), 16).expect("hexadecimal digits")
}

/// Counts and notes as text.
pub(crate) fn summary(table: &SymbolTable) -> String {
    let mut text = format!(
        "without debug info {}, unresolved {}\n",
        table.without_debug_info, table.unresolved
    );
    for note in &table.notes {
        text.push_str(note);
        text.push('\n');
    }
    text
}
