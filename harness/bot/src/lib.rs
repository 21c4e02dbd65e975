//! The bot's side of GitHub: the event of a workflow, requests to the API, and what the bot
//! posts.
//!
//! [`target`] finds what is to be commented on, from the command line, the event and the API.
//! [`sticky`], [`check`] and [`images`] each post exactly one thing, whatever request fails on
//! the way. All of them use [`api`], the only place that waits, repeats and follows redirects.
//! This crate does not know how a report looks.
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
