//! `plimsoll show`, `compare` and `watch`: the contents of heap profiles of any program.
//!
//! Each command has a type for its arguments in [`args`] and a function that runs it.
//!
//! ```
//! use clap::{Args, Command, FromArgMatches};
//! use plimsoll_desk::out::Out;
//! use plimsoll_heap::args::ShowArgs;
//!
//! # fn main() -> anyhow::Result<()> {
//! let folder = tempfile::tempdir()?;
//! let dump = folder.path().join("server.heap");
//! // One stack, of one frame, with one live object of 96 bytes.
//! std::fs::write(&dump, "heap_v2/1\n  t*: 1: 96 [0: 0]\n@ 0x1000\n  t*: 1: 96 [0: 0]\n")?;
//!
//! let folded = folder.path().join("server.folded");
//! let command = ShowArgs::augment_args(Command::new("show"))
//!     .no_binary_name(true)
//!     .get_matches_from([dump.as_os_str(), "--folded".as_ref(), "-o".as_ref(), folded.as_ref()]);
//! plimsoll_heap::show(&ShowArgs::from_arg_matches(&command)?, &mut Out::new())?;
//! assert!(std::fs::read_to_string(&folded)?.ends_with(" 96\n"));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "an inner crate of the tool: a name that says it all has no sentence beside it"
)]

mod ages;
pub mod args;
mod climb;
mod dumps;
mod fetch;
mod gate;
mod graphviz;
mod load;
mod memory;
mod metrics;
mod observed;
mod output;
mod scenario;
mod series;
mod servers;
mod show;
mod source;
mod spaces;
mod text;
mod watch;

pub use show::{compare, show};
pub use watch::watch;
