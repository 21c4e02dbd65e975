//! Chores of this repository: `cargo xtask …`.
#![forbid(unsafe_code)]

mod gallery;
#[path = "../../harness/core/tests/report/sample.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "most of it is for tests"))]
mod sample;
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of a model, from positive numbers within its range"
)]
mod simulate;
mod zoo;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Gallery(gallery::Args),
    Simulate(simulate::Args),
    Zoo(zoo::Args),
}

/// The exit status for invalid arguments, or for an invalid folder or manifest.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Gallery(args) => gallery::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Zoo(args) => zoo::run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(err) => {
            // Not `eprintln!`, which panics if standard error is closed.
            let _ = writeln!(std::io::stderr(), "error: {err:#}");
            ExitCode::from(USAGE)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
