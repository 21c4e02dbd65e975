//! The pull request bot against a GitHub of our own.

mod server;
mod server_tests;
