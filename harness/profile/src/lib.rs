//! Reads heap profiles of any program and makes tables, trees and pictures of them.
//!
//! ```text
//! bytes ── read ──► Profile        stacks of locations, counts as printed
//!                      │  names of its addresses, from plimsoll-symbols or from the file
//!                      ▼
//!                    View           which frames are shown, by which names; which stacks
//!                      │
//!        ┌─────────────┼──────────────┐
//!        ▼             ▼              ▼
//!      Table         Calls          write     text · tree · folded · SVG · dot · JSON · pprof
//!   flat and cum   stacks merged, of one profile or of two
//! ```
//!
//! The crate takes values and returns values. It uses no files, clocks, threads or
//! environment. A profile may come from anyone, so readers have limits and do not panic; see
//! [`read()`].
//!
//! ```
//! use plimsoll_profile::read::Limits;
//! use plimsoll_profile::{Filter, Frames, Granularity, Names, Table, View, read};
//!
//! // Stacks as flame graph tools write them, with their bytes.
//! let mut input = "main;serve;parse 700\nmain;serve 300\n".as_bytes();
//! let profile = read(&mut input, Limits::default())?;
//! let mut names = Names::default();
//! let view = View::new(
//!     &profile,
//!     Granularity::Functions,
//!     Frames::All,
//!     &Filter::default(),
//!     &mut names,
//! );
//! let table = Table::of(&view, profile.measures[0], false, &names);
//! assert_eq!(names.get(table.rows[0].name), "parse");
//! assert_eq!((table.rows[0].flat, table.total), (700.0, 1000.0));
//! # Ok::<(), plimsoll_profile::read::ReadError>(())
//! ```
#![forbid(unsafe_code)]

mod births;
mod calls;
mod merged;
mod profile;
pub mod read;
mod table;
mod view;
pub mod write;

pub use calls::{Calls, Held, Least};
pub use profile::{
    Location, LocationId, MappedObject, Measure, Profile, ProfileBuilder, TooManyFrames,
    TooManyLocations, Values,
};
pub use read::read;
pub use table::{Row, Table};
pub use view::{Filter, Frames, Granularity, NameId, Names, View};
