//! Builds the fixtures, runs them, and asks what their addresses are.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_core::dump::HeapDump;
use plimsoll_core::{Avma, SymbolTable};
use plimsoll_symbols::{BuildId, MappedFile, Options, build_ids, symbolize};

/// The frames of the hidden function of the library.
pub(crate) const HIDDEN: &str = "keep library.c:8\nhidden library.c:14\n";
pub(crate) const NO_NOTES: &str = "without debug info 0, unresolved 0\n";

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

    pub(crate) fn build_id(&self, name: &str) -> Option<BuildId> {
        let file = MappedFile {
            path: self.path(name),
            executable: true,
            ..MappedFile::default()
        };
        build_ids(&[file], &Options::default()).remove(0)
    }

    /// Debug files in `debug`.
    pub(crate) fn searching(&self) -> Options {
        Options {
            debug_directories: vec![self.path("debug")],
            ..Options::default()
        }
    }

    #[track_caller]
    pub(crate) fn cc(&self, output: &str, arguments: &[&str]) -> PathBuf {
        let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let arguments = arguments.iter().map(|argument| {
            match [".c", ".cpp"].iter().any(|end| argument.ends_with(end)) {
                true => fixture(argument),
                false => argument.into(),
            }
        });
        self.run(Command::new(cc).args(["-O1", "-o", output]).args(arguments));
        self.path(output)
    }

    /// The program with its library in one file.
    #[track_caller]
    pub(crate) fn program(&self, flags: &[&str]) -> Process {
        let sources = ["main.c", "library.c"];
        self.start(&self.cc("program", &[flags, &sources].concat()))
    }

    /// The program with `libfixture.so.1`.
    #[track_caller]
    pub(crate) fn with_library(&self, flags: &[&str]) -> Process {
        let shared = ["-shared", "-fPIC", "-Wl,-soname,libfixture.so.1"];
        let library = [flags, &shared, &["library.c"]].concat();
        self.cc("libfixture.so.1", &library);
        self.start(&self.cc("program", &["main.c", "libfixture.so.1"]))
    }

    /// The Rust fixture, built so.
    #[track_caller]
    pub(crate) fn rustc(&self, arguments: &[&str]) -> PathBuf {
        self.cc("return_address.o", &["-c", "return_address.c"]);
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command.args(["--edition=2024", "-Copt-level=2"]);
        // The older mangling can only be asked for with an unstable flag.
        command.args(arguments).env("RUSTC_BOOTSTRAP", "1");
        command.args(["-Clink-arg=return_address.o", "-o", "program"]);
        self.run(command.arg(fixture("program.rs")));
        self.path("program")
    }

    /// Runs a script of the shell.
    #[track_caller]
    pub(crate) fn sh(&self, script: &str) {
        self.run(Command::new("sh").args(["-ec", script]));
    }

    #[track_caller]
    fn run(&self, command: &mut Command) -> String {
        let output = command.current_dir(self.directory.path()).output();
        let output = output.unwrap_or_else(|err| panic!("{command:?}: {err}"));
        let (status, stderr) = (output.status, String::from_utf8_lossy(&output.stderr));
        assert!(status.success(), "{command:?}: {status}\n{stderr}");
        String::from_utf8(output.stdout).expect("fixtures print text")
    }

    #[track_caller]
    pub(crate) fn start(&self, program: &Path) -> Process {
        Process::parse(&self.run(Command::new(program).env("LD_LIBRARY_PATH", self.path(""))))
    }
}

/// Where [`lookup`] maps files.
pub(crate) const START: u64 = 0x10_0000;

/// Looks addresses up as if the file were mapped whole at a fixed address.
pub(crate) fn lookup(path: &Path, addresses: &BTreeSet<Avma>) -> SymbolTable {
    let mapping = MappedFile {
        start: START,
        end: START << 10,
        path: path.into(),
        ..MappedFile::default()
    };
    symbolize(&[mapping], addresses, &Options::default())
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

fn fixture(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join("fixtures").join(name)
}

/// What a fixture said of itself.
pub(crate) struct Process {
    pub(crate) mappings: Vec<MappedFile>,
    pub(crate) addresses: BTreeMap<String, Avma>,
}

impl Process {
    fn parse(output: &str) -> Self {
        let (labelled, maps): (Vec<&str>, Vec<&str>) =
            output.lines().partition(|line| line.starts_with("@ "));
        let addresses = labelled.iter().map(|line| {
            let (label, address) = line[2..].split_once(" 0x").expect("a label and an address");
            let address = u64::from_str_radix(address, 16).expect("hexadecimal digits");
            (label.to_owned(), Avma(address))
        });
        // Through the dump's own parser, as the mappings of a run come.
        let maps = maps.join("\n");
        let dump = format!("heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n{maps}\n");
        let dump = HeapDump::parse(dump.as_bytes()).expect("a dump without stacks");
        let maps = dump.maps().expect("a dump with mappings");
        Self {
            mappings: maps.mappings.iter().map(MappedFile::from).collect(),
            addresses: addresses.collect(),
        }
    }

    pub(crate) fn symbolize(&self) -> SymbolTable {
        self.symbolize_with(&Options::default())
    }

    pub(crate) fn symbolize_with(&self, options: &Options) -> SymbolTable {
        let wanted = self.addresses.values().copied().collect();
        symbolize(&self.mappings, &wanted, options)
    }

    /// The frames at the labelled address, `function file:line`, leaf first.
    pub(crate) fn shown(&self, table: &SymbolTable, label: &str) -> String {
        let frames = table.get(self.addresses[label]).iter().map(|frame| {
            let file = frame.file.as_deref().map(|file| {
                let name = Path::new(file).file_name().and_then(OsStr::to_str);
                let line = frame.line.map_or("?".to_owned(), |line| line.to_string());
                format!(" {}:{line}", name.unwrap_or(file))
            });
            format!("{}{}\n", frame.function, file.unwrap_or_default())
        });
        frames.collect()
    }

    /// The frames of these labels, and what is said of the whole.
    pub(crate) fn resolved(&self, options: &Options, labels: &[&str]) -> String {
        let table = self.symbolize_with(options);
        let shown = labels.iter().map(|label| self.shown(&table, label));
        shown.collect::<String>() + &summary(&table)
    }

    /// The frames of the hidden function, and what is said of the whole.
    pub(crate) fn hidden(&self, options: &Options) -> String {
        self.resolved(options, &["hidden"])
    }

    /// Checks that the hidden function has its frames, and that nothing else is said.
    #[track_caller]
    pub(crate) fn assert_found(&self, options: &Options, case: &str) {
        let expected = format!("{HIDDEN}{NO_NOTES}");
        assert_eq!(self.hidden(options), expected, "{case}");
    }

    /// What stands for the name of a labelled address without one.
    pub(crate) fn offset(&self, label: &str, file: &str) -> String {
        let of_file = self
            .mappings
            .iter()
            .filter(|mapping| mapping.path.ends_with(file));
        let start = of_file.map(|mapping| mapping.start).min().expect("mapped");
        format!("{file}+{:#x}\n", self.addresses[label].0 - start)
    }

    pub(crate) fn each(mut self, change: impl Fn(&mut MappedFile)) -> Self {
        self.mappings.iter_mut().for_each(change);
        self
    }
}

/// Counts and notes as text.
fn summary(table: &SymbolTable) -> String {
    let (without, unresolved) = (table.without_debug_info, table.unresolved);
    let mut text = format!("without debug info {without}, unresolved {unresolved}\n");
    text.extend(table.notes.iter().map(|note| format!("{note}\n")));
    text
}
