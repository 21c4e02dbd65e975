//! The command line: all commands, and the page of `plimsoll --help`.

use clap::{Parser, Subcommand};
use plimsoll_heap::args::{CompareArgs, ShowArgs, WatchArgs};
use plimsoll_history::args::{BisectArgs, BisectRunArgs, CheckArgs, VerifyFixArgs};

use crate::args::{
    AcceptArgs, CommentArgs, FetchArgs, InitArgs, MergeArgs, PruneArgs, ReportArgs, ReviewArgs,
};
use crate::baseline::args::BaselineArgs;
use crate::bench::{BenchArgs, RunArgs};
use crate::config::ConfigArgs;
use crate::shell::{CompletionsArgs, ManArgs};

/// Finds heap growth, and keeps a record of accepted growth.
///
/// `cargo test --test leaks` measures and decides. This tool prints the results, accepts
/// intended growth into the baselines, and posts results to GitHub.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, arg_required_else_help = true)]
#[command(disable_help_subcommand = true, term_width = 80)]
#[command(help_template = crate::help::template())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Show(ShowArgs),
    Compare(CompareArgs),
    Watch(WatchArgs),
    Init(InitArgs),
    Bench(BenchArgs),
    Run(RunArgs),
    Report(ReportArgs),
    Merge(MergeArgs),
    Accept(AcceptArgs),
    Review(ReviewArgs),
    Baseline(BaselineArgs),
    Comment(CommentArgs),
    Fetch(FetchArgs),
    PruneImages(PruneArgs),
    Check(CheckArgs),
    Bisect(BisectArgs),
    BisectRun(BisectRunArgs),
    VerifyFix(VerifyFixArgs),
    Config(ConfigArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Returns the help of the program and of each command.
    fn helps() -> Vec<(String, String)> {
        let mut all = Cli::command();
        all.build();
        let mut helps = Vec::new();
        add_helps(&mut all, &mut helps);
        helps
    }

    fn add_helps(command: &mut clap::Command, helps: &mut Vec<(String, String)>) {
        let help = command.render_long_help().to_string();
        helps.push((command.get_name().to_owned(), help));
        for below in command.get_subcommands_mut() {
            add_helps(below, helps);
        }
    }

    #[test]
    fn help_fits_into_eighty_columns() {
        for (name, help) in helps() {
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
    }

    #[test]
    fn every_command_says_how_it_exits() {
        for (name, help) in helps().split_off(1) {
            let statuses = help.split("Exit status:\n").nth(1);
            let mut words = statuses.unwrap_or_default().split_whitespace();
            assert_eq!(words.next(), Some("0"), "{name}: {help}");
            let done = words.next().unwrap_or_default();
            assert!(done.starts_with("done"), "{name}: {help}");
        }
    }

    #[test]
    fn a_flag_that_would_do_nothing_is_none() {
        let prune = |flag: &str, value: &str| {
            Cli::try_parse_from(["plimsoll", "prune-images", flag, value]).is_ok()
        };
        assert!(prune("--repo", "owner/name"));
        // The command asks GitHub which pull requests are closed.
        assert!(!prune("--pr", "7"));
        assert!(!prune("--sha", "2bc8970"));
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
