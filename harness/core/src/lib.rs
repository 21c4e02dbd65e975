//! Parses heap profiles, computes how each call stack grows, and judges the growth.
//!
//! Values in, values out: nothing here reads a file, a clock, the environment or a thread. The
//! same input gives the same bytes.
//!
//! ```text
//! dump text ── HeapDump::parse ──► HeapDump        records and mappings, as printed
//! HeapDump  ── one per rung ─────► Series          levels of one stack over the ladder
//! Series    ── fold ─────────────► FoldedStack     names that survive a rebuild
//! Series    ── growth ───────────► Growth          rate, law, error
//! Growth    ── judge ────────────► Assessment      verdict and findings
//! Assessment ─────────────────────► Report ──► text, json, folded, flame graph
//! ```
//!
//! ```
//! use plimsoll_core::growth::Growth;
//! use plimsoll_core::{Law, Series, Tally, ladder};
//!
//! // Two objects of 48 bytes stay for every iteration.
//! let iterations: Vec<u64> = (0..24).map(ladder::rung).collect();
//! let levels = iterations.iter().map(|n| Tally { objects: 2 * n, bytes: 96 * n });
//! let growth = Growth::of(&iterations, &Series::new(levels.collect()));
//! assert!(growth.is_rising());
//! assert_eq!(growth.law(), Law::Linear);
//! assert_eq!(growth.rate().bytes, 96.0);
//! ```
#![forbid(unsafe_code)]

pub mod accept;
mod address;
#[cfg(feature = "reports")]
pub mod ages;
pub mod baseline;
pub mod birth;
pub mod blame;
pub mod dump;
mod finding;
pub mod flamegraph;
pub mod fold;
mod frame;
pub mod growth;
pub mod holders;
pub mod judge;
pub mod ladder;
pub mod layout;
pub mod outside;
mod per;
mod rate;
pub mod report;
#[cfg(feature = "reports")]
mod required;
mod resource;
mod series;
pub mod settings;
mod small_map;
mod tally;
pub mod text;
mod toml_file;
mod verdict;
mod words;

pub use address::Avma;
pub use frame::{FoldedStack, Frame, Lacks, SourceFrame, SymbolTable};
pub use per::{Counter, NoCounter, Per};
pub use rate::{Law, Rate, to_f64, to_u64};
pub use resource::Resource;
pub use series::{Alive, Born, Series, Stays};
pub use small_map::SmallMap;
pub use tally::{Counts, Tally};
