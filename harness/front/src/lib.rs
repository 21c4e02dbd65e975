//! The front of plimsoll: starts a subject for every scenario of a program, takes it up the ladder,
//! and judges its dumps.
//!
//! A test that uses the crate `plimsoll` has this front in it, and is its own subject. The tool has
//! it too, and takes any program that speaks the protocol (`docs/protocol.md`) by its path. The
//! front itself knows nothing of jemalloc but the text of its dumps.

// Subjects are Linux processes.
#![cfg(target_os = "linux")]

mod agreed;
mod arguments;
mod climb;
mod clock;
mod coarse;
mod enough;
mod experiment;
mod guardian;
mod holders;
mod isolation;
mod list;
mod observe;
mod order;
mod outcome;
mod pace;
mod place;
mod plan;
mod policy;
mod print;
mod process;
mod profile;
mod program;
mod protocol;
mod run;
mod settings;
mod stopped;
mod sys;

pub use guardian::run_if_asked as run_guardian_if_asked;
pub use isolation::InProcess;
pub use list::scenarios;
pub use program::{Program, Scenario};
pub use run::{Ran, Tests};
