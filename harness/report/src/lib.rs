//! Reads and joins reports, locally and in CI, and renders them as text, markdown, HTML, SARIF
//! and JUnit. This crate never uses a network.
//!
//! ```
//! use plimsoll_report::joined::NoResult;
//! use plimsoll_report::render::{Context, markdown};
//!
//! // What a pull request is told when the run that measured left nothing.
//! let comment = markdown::no_result(&Context::default(), NoResult::Missing);
//! assert!(comment.starts_with("### ⚪ Leak check: no result"));
//! ```
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "an inner crate of the tool: a name that says it all has no sentence beside it"
)]

pub mod annotations;
pub mod archive;
pub mod input;
pub mod joined;
pub mod render;
pub mod reports;
pub mod touched;
