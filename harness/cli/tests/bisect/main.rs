//! `plimsoll bisect`, on histories that are made for it. Its git and its builds are shell scripts.
//!
//! libtest starts tests in the order of their names. The tests that wait longest have the first
//! names, so that the others run meanwhile.
#![cfg(unix)]

// Where the harness can measure. The tests of both wait for each other, so the first letters of
// their names lie far apart.
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod a_project;
mod check;
mod fake;
mod faults;
mod git;
#[path = "../project/mod.rs"]
mod project;
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod releases;
mod script;
mod verify;
mod watch;
