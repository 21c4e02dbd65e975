//! Judges from one dump whether a stack leaks, by when its live objects were born.
//!
//! A program that uses `plimsoll-ages` writes one more frame behind the root of every stack: an
//! address in the function [`FUNCTION`], which says when the object was [born](Birth). So one
//! dump counts the survivors of each birth:
//!
//! ```text
//! survivors for each second in which objects were born, from the start to the dump
//!
//! leak       ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄   kept evenly
//! thins out  ▁▁▁▁▁▁▁▁▁▁▂▂▃▄▆█   the older, the fewer: a cache, or sessions
//! in use                    █   turned over
//! set-up     █                  nothing since
//! ```
//!
//! Births are steps of the uptime, four in each octave (doubling). Those of the first half of the
//! uptime have all lived for about as long, so more octaves do not say more. What counts is how
//! survivors thin out from a quarter of the uptime to the next, which is what [`judge`] looks at.
//!
//! Births per second are not constant. If the dump counts what was ever born (`prof_accum`),
//! survivors are counted for each born object. Otherwise the traffic of one quarter may be three
//! times that of another.

mod birth;
mod judge;

pub use birth::{Birth, FUNCTION};
pub use judge::{Fate, Generation, Judgement, MOST_OF_UPTIME, Span, judge};
