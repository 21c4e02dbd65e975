//! The command-line tool for developers and CI: it joins reports, accepts growth into
//! baselines, and posts results to GitHub.
//!
//! This is not a library: its public function is for the two binaries, `plimsoll` and
//! `cargo-plimsoll`. `args` describes the arguments. Each command has a module here, or a
//! crate of its own if it is more than a command: `plimsoll-heap` and `plimsoll-history`.
#![forbid(unsafe_code)]

mod accept;
mod args;
mod base;
mod baseline;
mod bench;
mod command;
mod comment;
mod config;
mod fetch;
mod help;
mod init;
mod merge;
mod prune;
mod report;
mod review;
mod shell;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use command::{Cli, Command};
use plimsoll_desk::out::Out;
use plimsoll_desk::status::{ExitStatus, Refused};

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // This program is also what its own front and cargo start beside programs that are measured.
    #[cfg(target_os = "linux")]
    {
        if plimsoll_front::run_guardian_if_asked() {
            return ExitCode::SUCCESS;
        }
        if let Some(status) = plimsoll_dropin::note_if_asked() {
            return status;
        }
    }
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // `cargo plimsoll accept x` runs `cargo-plimsoll plimsoll accept x`.
    let by_cargo = arguments.get(1).is_some_and(|first| first == "plimsoll");
    if by_cargo {
        arguments.remove(1);
    }
    let name = if by_cargo {
        "cargo plimsoll"
    } else {
        "plimsoll"
    };
    // `git bisect run` takes exit status 2 for a bad commit.
    let usage = match arguments.get(1) {
        Some(first) if first == "bisect-run" => ExitStatus::StopUsage,
        _ => ExitStatus::Usage,
    };
    let parsed = Cli::command()
        .bin_name(name)
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let status = match parsed {
        Ok(cli) => run(cli, name),
        Err(err) => {
            // If this cannot be printed, nobody can be told.
            let _ = err.print();
            if err.use_stderr() {
                usage
            } else {
                ExitStatus::Passed
            }
        }
    };
    status.into()
}

fn run(cli: Cli, name: &str) -> ExitStatus {
    let mut out = Out::new();
    let done = match cli.command {
        Command::Show(args) => plimsoll_heap::show(&args, &mut out),
        Command::Compare(args) => plimsoll_heap::compare(&args, &mut out),
        Command::Watch(args) => plimsoll_heap::watch(&args, &mut out),
        Command::Bench(args) => bench::bench(&args, &mut out),
        Command::Run(args) => bench::run(&args, &mut out),
        Command::Init(args) => init::run(&args, &mut out),
        Command::Report(args) => report::run(&args, &mut out),
        Command::Merge(args) => merge::run(&args, &mut out),
        Command::Accept(args) => accept::run(&args, name, &mut out),
        Command::Review(args) => review::run(&args, name, &mut out),
        Command::Baseline(args) => baseline::run(&args, name, &mut out),
        Command::Comment(args) => comment::run(&args, &mut out),
        Command::Fetch(args) => fetch::run(&args, &mut out),
        Command::PruneImages(args) => prune::run(&args, &mut out),
        Command::Bisect(args) => plimsoll_history::bisect::run(&args, &mut out),
        Command::Check(args) => plimsoll_history::check::run(&args, &mut out),
        Command::VerifyFix(args) => plimsoll_history::verify::run(&args, &mut out),
        Command::BisectRun(args) => plimsoll_history::script::run(&args, &mut out),
        Command::Config(args) => config::run(&args, &mut out),
        Command::Completions(args) => shell::completions(&args, Cli::command(), &mut out),
        Command::Man(args) => shell::man(&args, Cli::command(), &mut out),
    };
    match done {
        Ok(()) => ExitStatus::Passed,
        Err(err) => {
            let message = format!("{err:#}");
            // An empty message means that the reason has already been printed.
            if !message.is_empty() {
                out.error(&message);
            }
            err.downcast_ref()
                .map_or(ExitStatus::OwnFailure, Refused::status)
        }
    }
}
