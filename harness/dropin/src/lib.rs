//! Builds the criterion benchmarks of a project as programs that a front can measure, without a
//! change to the project.
//!
//! ```text
//! Cargo.toml, Cargo.lock ──► benches ──► cargo bench, with the drop-in in criterion's place
//!                                          │  (sources, lockfile)
//!                                          ▼
//!                        programs ◄── how cargo would run them (note)
//! ```
//!
//! Everything is in one folder of the target directory, `plimsoll-bench`: the sources of the
//! drop-in, what cargo builds, and a copy of the lock file. cargo writes the project's lock file
//! while it builds, so it is put back as it was.

#![forbid(unsafe_code)]

mod benches;
// Programs that can be measured are Linux processes.
#[cfg(target_os = "linux")]
mod build;
#[cfg(target_os = "linux")]
mod lockfile;
#[cfg(target_os = "linux")]
mod note;
#[cfg(target_os = "linux")]
mod sources;

pub use benches::{Bench, CRITERIONS, Harness, of as benches_of};
#[cfg(target_os = "linux")]
pub use build::{Build, Built, Program, TimedOut, Unbuilt, build, find};
#[cfg(target_os = "linux")]
pub use note::run_if_asked as note_if_asked;
