//! Writes what a profile holds, or what one has gained on another, in the formats of
//! other tools.
//!
//! Names come from the profile, so each format says them in its own way: what would end
//! a name, a line or a document is replaced or escaped.

mod dot;
mod flamegraph;
mod folded;
mod json;
mod pprof;

pub use dot::{Dot, dot};
pub use flamegraph::flamegraph;
pub use folded::folded;
pub use json::{Side, json};
pub use pprof::{About, pprof};
