//! The commands of the desk, as somebody types them, and what holds for all pages and crates. One
//! program, because each one that is linked takes a second.

mod accept;
mod baseline;
mod config;
mod documented;
mod merge;
mod modules;
#[path = "../project/mod.rs"]
mod project;
mod report;
#[cfg(unix)]
mod review;
#[path = "../../../core/tests/schema/mod.rs"]
mod schema;
mod shell;
