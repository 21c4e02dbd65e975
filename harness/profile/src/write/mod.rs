//! Writes the values of a profile, or the growth between two, in the formats of other tools.
//!
//! Names come from the profile and may contain anything. So each format replaces or escapes
//! the characters that would end a name, a line or a document.

mod dot;
mod flamegraph;
mod folded;
mod json;
mod pprof;

pub use dot::dot;
pub use flamegraph::{flamegraph, flamegraph_of_ages};
pub use folded::folded;
pub use json::{Side, json};
pub use pprof::pprof;
