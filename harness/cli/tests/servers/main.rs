//! `show`, `compare` and `watch` of servers: a real one, which dumps itself under
//! jemalloc, and ones that do as no server should.
//!
//! The real one is this very program, started again: so it is always the one that was
//! built, and the tool under test has nothing of jemalloc.

mod fake;
mod fetch;
mod real;
mod series;
mod tls;
mod watch;

use std::path::PathBuf;
use std::process::{Command, Output};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The tool, with nothing of this machine's around it.
fn plimsoll(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .env_clear()
        .env("NO_COLOR", "1")
        .env("HOME", "/nonexistent");
    command
}

/// What it printed, all of it, and its status.
fn said(command: &mut Command) -> (String, i32) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = [stdout, stderr].concat();
    (
        String::from_utf8(text).unwrap(),
        status.code().unwrap_or(-1),
    )
}

/// Dumps of real programs.
fn recorded(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/dumps")
        .join(path)
}
