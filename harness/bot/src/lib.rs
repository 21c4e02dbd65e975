//! GitHub: what a workflow is told, what is asked of the API, what is left there.
//!
//! [`target`] finds out what is commented on, from the event and the API alone.
//! [`sticky`], [`check`] and [`images`] each leave one thing, whatever fails on
//! the way; all of them go through [`api`], the one place that waits, repeats
//! and follows redirects. Nothing here knows how a report looks.
//!
//! ```
//! use plimsoll_bot::names::Repository;
//!
//! assert!("rust-lang/cargo".parse::<Repository>().is_ok());
//! assert!("rust-lang/cargo/../x".parse::<Repository>().is_err());
//! ```

#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "an inner crate of the tool: a name that says it all has no sentence beside it"
)]

pub mod api;
pub mod artifact;
pub mod check;
pub mod environment;
pub mod event;
pub mod images;
pub mod marker;
pub mod names;
pub mod problem;
pub mod sticky;
pub mod target;
