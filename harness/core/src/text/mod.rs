//! What every output of plimsoll shares: which characters are visible, one escape function for
//! each place that text goes to, names that are safe in a command, a row of bars, and one hash.
//!
//! ```
//! use plimsoll_core::text::{escape, sink};
//!
//! // A name that somebody else chose, for a terminal and for a cell of a table in markdown.
//! let name = "red|\u{202e}txt";
//! assert_eq!(escape::terminal(name), r"red|\u{202e}txt");
//! assert_eq!(sink::table_code_span(name, 40), r"`red\|txt`");
//! ```
pub mod escape;
pub mod hash;
pub mod name;
pub mod sink;
pub mod spark;
pub mod words;
