//! `plimsoll show`, `compare` and `watch`: the contents of heap profiles of any program.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "an inner crate of the tool: a name that says it all has no sentence beside it"
)]

pub mod args;
mod dumps;
mod fetch;
mod gate;
mod graphviz;
mod law;
mod load;
mod output;
mod series;
mod servers;
mod show;
mod source;
mod spaces;
mod text;
mod watch;

pub use show::{compare, show};
pub use watch::watch;
