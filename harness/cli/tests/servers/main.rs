//! `show`, `compare` and `watch` of servers: a real one, which dumps itself under
//! jemalloc, and ones that answer what a test says.
//!
//! The real one is this very program, started again: so it is always the one that was
//! built, and the tool under test has nothing of jemalloc.
// Where the harness can measure.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod fake;
mod fetch;
#[path = "../project/ran.rs"]
mod ran;
#[path = "../../../core/tests/schema/mod.rs"]
mod schema;
mod series;
mod service;
mod systems;
mod tls;
mod watch;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ran::Ran;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The tool, with nothing of this machine's around it.
fn plimsoll(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(arguments).env_clear();
    command.env("NO_COLOR", "1").env("HOME", "/nonexistent");
    command
}

fn said(command: &mut Command) -> Ran {
    Ran::of(&command.output().unwrap())
}

/// Asserts that it ends with that status, and prints all of these.
#[track_caller]
fn says(command: &mut Command, status: i32, expected: &[&str]) -> Ran {
    said(command).has(status, expected)
}

/// What a watch printed where Ctrl-C ended it once it had kept so many dumps in that folder:
/// however slow the machine is, it has seen as much.
fn watched(dumps: usize, every: &str, out: &Path, arguments: &[&str]) -> Ran {
    let pace = ["--every", every, "--out", out.to_str().unwrap()];
    let enough = || fs::read_dir(out).map_or(0, Iterator::count) >= dumps;
    watched_until(enough, &[&pace, arguments].concat())
}

/// The same, where it has seen enough once something else is true; ten minutes are the limit.
fn watched_until(enough: impl Fn() -> bool, arguments: &[&str]) -> Ran {
    let mut watch = plimsoll(&[&["watch", "--for", "10m"], arguments].concat());
    let watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = watch.spawn().unwrap();
    while watch.try_wait().unwrap().is_none() {
        if enough() {
            interrupt(&watch);
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ran::of(&watch.wait_with_output().unwrap())
}

/// What a command that watches for so long said. In a short time little happens on a machine that
/// has other things to do, so it is given longer ones until it ends with that status.
fn given_time(times: [&str; 3], status: i32, watch: impl Fn(&str) -> Command) -> Ran {
    let mut ran = said(&mut watch(times[0]));
    for time in &times[1..] {
        if ran.status != Some(status) {
            ran = said(&mut watch(time));
        }
    }
    ran
}

/// A free port of this program's own; of each number there is one at most. The system gives none
/// below 32,768 to anybody who does not ask for it.
fn own_port(number: u32) -> u16 {
    let first = 20_000 + (std::process::id() * 8 + number) % 10_000;
    let mut ports = (u16::try_from(first).unwrap()..32_000).step_by(8);
    let port = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    port.expect("a free port")
}

/// As Ctrl-C does. It must not have been waited for: its number may be another's then.
fn interrupt(child: &Child) {
    let _ = kill_process(Pid::from_child(child), Signal::INT);
}

/// A file of a temporary folder, with that in it, which nobody else can read.
fn file(folder: &TempDir, name: &str, content: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}
