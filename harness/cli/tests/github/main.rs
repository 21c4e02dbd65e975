//! The pull request bot against a GitHub of our own.

mod contexts;
mod failures;
mod forks;
mod hostile;
mod images;
mod job;
#[path = "../project/mod.rs"]
mod project;
mod server;
mod server_tests;
mod sweep;
