//! `plimsoll bisect`, on histories that are made for it.

mod fake;
mod faults;
#[path = "../project/mod.rs"]
mod project;
