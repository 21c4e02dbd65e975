//! Finds the commit or the release that caused a growth: `plimsoll bisect`, `bisect-run`,
//! `check` and `verify-fix`.
//!
//! ```text
//! a revision ─► bench ─► a climb ─► decide ─► the question, or the answer to it
//!                 checkout (worktree), overlay, build and ladder (measure), cache
//! ```
//!
//! A *climb* takes one revision up the ladder. `decide` and `narrow` are pure. `worktree` does
//! not know about tests, `measure` and `overlay` do not know about a bisection, and `show`
//! prints nothing.
//!
//! Each command is a function that takes the command's arguments. For example, `verify-fix` takes
//! two revisions or the reports of two runs, but not one of each:
//!
//! ```
//! use clap::{Args, Command, FromArgMatches};
//! use plimsoll_desk::out::Out;
//! use plimsoll_history::{args::VerifyFixArgs, verify};
//!
//! # fn main() -> anyhow::Result<()> {
//! let reports = tempfile::tempdir()?;
//! let command = VerifyFixArgs::augment_args(Command::new("verify-fix"))
//!     .no_binary_name(true)
//!     .get_matches_from([reports.path().as_os_str(), "HEAD".as_ref()]);
//! let refused = verify::run(&VerifyFixArgs::from_arg_matches(&command)?, &mut Out::new());
//! let why = format!("{:#}", refused.expect_err("HEAD is a revision"));
//! assert!(why.starts_with("expected two revisions or two reports"), "{why}");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "an inner crate of the tool: a name that says it all has no sentence beside it"
)]

pub mod args;
mod bench;
pub mod bisect;
mod cache;
pub mod check;
mod decide;
mod dependency;
mod differences;
mod measure;
mod narrow;
mod overlay;
mod releases;
mod revision;
#[cfg(test)]
#[expect(dead_code, reason = "other packages need the findings")]
#[path = "../../core/tests/report/sample.rs"]
mod sample;
pub mod script;
mod search;
mod session;
mod setup;
mod show;
mod sides;
pub mod verify;
mod worktree;
