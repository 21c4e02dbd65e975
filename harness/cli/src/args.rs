//! The command line, as text and as types.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use plimsoll_core::baseline::Date;
use plimsoll_core::layout::valid_scenario_name;

const STATUSES: &str = "\
Exit status:
  0  done
  2  the command line cannot be meant as it stands
  5  plimsoll's own failure: no reports, a file that cannot be read

The growth of a workload changes nothing in it: `cargo test` is what fails.";

const ACCEPT_STATUSES: &str = "\
Exit status:
  0  done, or there was nothing to accept
  2  the command line cannot be meant as it stands, or this is a CI
  3  the scenario failed or was inconclusive: there is nothing to agree to
  4  its measurement was broken: likewise
  5  plimsoll's own failure: no reports, a file that cannot be read

Unless every scenario that was named can be accepted, no file is touched.";

/// Says what keeps growing, and keeps what was agreed to.
///
/// `cargo test --test leaks` measures and decides. This tool joins what it
/// found, and takes growth that is meant into the baselines.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Report(ReportArgs),
    Accept(AcceptArgs),
}

/// Shows what one run of the leak tests found, all scenarios together
///
/// Takes the newest run that left reports, or the one that is named, and no
/// report of any other. A scenario that the run's test has, but that left no
/// report, is shown as "no result": it did not pass.
#[derive(Debug, Args)]
#[command(after_help = STATUSES)]
pub(crate) struct ReportArgs {
    /// The folder to look for reports in, with those below it; or one file: a
    /// scenario's report.json, or what `--format json` wrote
    ///
    /// By default the folder of the workspace around the current one:
    /// target/plimsoll, wherever cargo has the target directory. Several are
    /// shown as one: the jobs of a matrix, or shards.
    #[arg(value_name = "DIR|FILE")]
    pub(crate) reports: Vec<PathBuf>,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// The run to show, by its id, in place of the newest of each folder
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Writes to that file, in place of printing
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, as the failing tests print it
    Text,
    /// For a comment on a pull request, at most 65,000 characters
    Markdown,
    /// For a job's summary page, at most 1 MiB
    Summary,
    /// For programs, and for the next job; versioned
    Json,
    /// One page for the browser, with everything in it
    Html,
    /// For code scanning, SARIF 2.1.0
    Sarif,
    /// For whatever shows test results
    Junit,
}

/// Agrees to what the last run found to grow, in baselines/SCENARIO.toml
///
/// Writes an allowance for everything that grew past what was allowed, at the
/// rate that was measured; gives allowances that stand under another caller
/// their new stack, and takes out those that nothing uses any more. Prints what
/// changes in the file. Reasons, comments and order in it stay. The file is data for the next `cargo test`,
/// to be reviewed and committed like code; say why with --reason.
///
/// Under CI it refuses: a baseline is agreed to by a person.
#[derive(Debug, Args)]
#[command(after_help = ACCEPT_STATUSES)]
pub(crate) struct AcceptArgs {
    /// The scenarios to accept, by their names in `plimsoll::main!`
    #[arg(required_unless_present = "all", value_name = "SCENARIO", value_parser = scenario)]
    pub(crate) scenarios: Vec<String>,

    /// Every scenario that the last run has a report of
    #[arg(long, conflicts_with = "scenarios")]
    pub(crate) all: bool,

    /// Why it may grow; written beside each allowance, for people
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    /// Where it is discussed; written beside each allowance, for people
    #[arg(long, value_name = "URL")]
    pub(crate) issue: Option<String>,

    /// The last day on which it may grow, as YYYY-MM-DD, or `never`
    ///
    /// From the next day the test fails again. Where an allowance has expired
    /// that is still used, this has to be given.
    #[arg(long, value_name = "DATE")]
    pub(crate) expires: Option<Expiry>,

    /// Prints what would change and writes nothing; also under CI
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The package with the scenario, where several have one of that name
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,

    /// The test target with the scenario, where several have one of that name
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Option<String>,

    /// The run to accept, by its id, in place of the newest of each test target
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// The folder to look for reports in, in place of target/plimsoll
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    /// The Cargo.toml of the project, in place of that of the current folder
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
}

fn scenario(name: &str) -> Result<String, String> {
    if valid_scenario_name(name) {
        return Ok(name.to_owned());
    }
    Err(
        "no scenario can have that name: expected 1 to 100 of `A-Z a-z 0-9 _ - . :`, \
         neither a dot nor a dash first"
            .to_owned(),
    )
}

/// Until when something may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    On(Date),
    Never,
}

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Expiry::Never),
            date => date
                .parse()
                .map(Expiry::On)
                .map_err(|err| format!("{err}, or `never`")),
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
