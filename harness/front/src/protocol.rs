//! The front's side of the protocol between it and a subject: what it sends, and what it reads.
//! `docs/protocol.md` describes the whole.

use std::collections::BTreeMap;
use std::fmt;

/// The version of the protocol that this front speaks.
const PROTOCOL: u32 = 1;

/// The first word that a subject says; the version of its protocol follows.
const HELLO: &str = "plimsoll-subject ";

/// The first argument of a subject.
pub(crate) const FLAG: &str = "--plimsoll-subject";

/// The variables that configure jemalloc, with and without its prefix.
pub(crate) const CONFIGURATION: [&str; 2] = ["MALLOC_CONF", "_RJEM_MALLOC_CONF"];

/// Size in bytes of the file that subjects map: one number for the iterations done, one for the
/// forked processes that returned into the harness.
pub(crate) const PROGRESS_BYTES: u64 = 16;

/// The longest line, in bytes: a word and a path.
pub(crate) const MAX_LINE: usize = 8 << 10;

/// A command to a subject.
#[derive(Debug)]
pub(crate) enum Command {
    /// List the scenarios.
    List,
    /// Set the workload of this scenario up.
    SetUp(String),
    /// Run the workload until it has done this many iterations in total.
    Run(u64),
    /// Switch the profiler on or off.
    Profile(bool),
    /// Dump the heap to this file.
    Dump(String),
    /// Keep a table of the objects that are alive.
    Objects,
    /// Stop all threads for ever, and give the process's memory.
    Stop,
    /// Drop the workload, and exit.
    End,
}

/// The line that the front sends, without the newline.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::List => f.write_str("list"),
            Command::SetUp(scenario) => write!(f, "setup {scenario}"),
            Command::Run(iterations) => write!(f, "run {iterations}"),
            Command::Profile(on) => write!(f, "profile {}", if *on { "on" } else { "off" }),
            Command::Dump(path) => write!(f, "dump {path}"),
            Command::Objects => f.write_str("objects"),
            Command::Stop => f.write_str("stop"),
            Command::End => f.write_str("end"),
        }
    }
}

/// What a subject says of itself when it has started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Greeting {
    fields: BTreeMap<String, String>,
}

impl Greeting {
    /// The key of the last line.
    pub(crate) const END: &str = "ready";

    /// Checks the first line.
    ///
    /// # Errors
    ///
    /// What is wrong with the program, and what to do.
    pub(crate) fn check_hello(line: &str) -> Result<(), String> {
        let version = line.strip_prefix(HELLO);
        let version: Option<u32> = version.and_then(|version| version.trim().parse().ok());
        let what = match version {
            Some(PROTOCOL) => return Ok(()),
            Some(newer) if newer > PROTOCOL => format!(
                "the program speaks version {newer} of plimsoll's protocol, and this plimsoll \
                 versions up to {PROTOCOL}: update the tool with `cargo install plimsoll-cli`"
            ),
            Some(older) => format!(
                "the program speaks version {older} of plimsoll's protocol, and this plimsoll \
                 version {PROTOCOL}: update the program with `cargo update -p plimsoll-subject`"
            ),
            None => format!("expected `{HELLO}{PROTOCOL}` from the program, found `{line}`"),
        };
        Err(what)
    }

    /// Adds a line: a key, a space and a value.
    pub(crate) fn add(&mut self, line: &str) {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        self.fields.insert(key.to_owned(), value.to_owned());
    }

    /// Returns the value of a key; empty if the subject does not say it.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.fields.get(key).map_or("", String::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.get(key).parse().ok()
    }
}

/// Counts of walks since the start: those that ended early, and those that were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walks {
    /// Walks that ended at code without unwind information.
    pub(crate) without_information: u64,
    /// Walks that ended at unwind information that led nowhere.
    pub(crate) astray: u64,
    /// Walks that were compared with libgcc's.
    pub(crate) compared: u64,
    /// Compared walks with a different result.
    pub(crate) different: u64,
}

impl Walks {
    /// Takes four numbers; missing ones are zero.
    pub(crate) fn parse(number: &mut impl FnMut() -> Option<u64>) -> Walks {
        let mut next = || number().unwrap_or(0);
        Walks {
            without_information: next(),
            astray: next(),
            compared: next(),
            different: next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_says_what_to_update() {
        for (line, expected) in [
            ("plimsoll-subject 1", ""),
            ("plimsoll-subject 2", "cargo install plimsoll-cli"),
            ("plimsoll-subject 0", "cargo update -p plimsoll-subject"),
            ("running 3 tests", "found `running 3 tests`"),
            ("", "expected `plimsoll-subject 1`"),
        ] {
            let said = Greeting::check_hello(line).err().unwrap_or_default();
            assert!(said.contains(expected), "{line}: {said}");
            assert_eq!(said.is_empty(), expected.is_empty(), "{line}");
        }
    }
}
