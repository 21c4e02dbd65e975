//! The crate that commands share: printing, progress, Ctrl-C, git, cargo's metadata, and
//! atomic files.
//!
//! ```
//! use std::time::Duration;
//!
//! assert_eq!(plimsoll_desk::parse::duration("2m"), Ok(Duration::from_secs(120)));
//! ```
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "an inner crate of the tool: a name that says it all has no sentence beside it"
)]

pub mod atomic;
pub mod beside;
pub mod diff;
pub mod file;
pub mod git;
pub mod interrupt;
pub mod out;
pub mod parse;
pub mod progress;
pub mod project;
pub mod settings;
pub mod status;
