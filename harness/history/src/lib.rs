//! The commit or the release to blame: `plimsoll bisect`, `bisect-run`, `check` and `verify-fix`.
//!
//! ```text
//! a revision ─► bench ─► a climb ─► decide ─► the question, or the answer to it
//!                 checkout (worktree), overlay, build and ladder (measure), cache
//! ```
//!
//! `decide` and `narrow` are pure. `worktree` does not know of tests, `measure` and `overlay` do
//! not know of a bisection, and `show` prints nothing.
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
