//! Bindings of databases, and stores of sessions:
//! what current releases keep, one project in each file.

pub mod git2;
pub mod heed;
pub mod poem;
pub mod rusqlite;
pub mod sled;
