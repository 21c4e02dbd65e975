//! The pull request bot against a GitHub of our own.

// It installs on Linux alone.
#[cfg(target_os = "linux")]
mod action;
mod contexts;
mod failures;
mod forks;
mod hostile;
mod images;
mod job;
#[path = "../project/mod.rs"]
mod project;
mod server;
mod sweep;
