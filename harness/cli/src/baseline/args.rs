//! The command line of `baseline`.

use clap::{Args, Subcommand};

use plimsoll_desk::parse::scenario;

use crate::args::ProjectArgs;

const STATUSES: &str = "\
Exit status:
  0  done; of `check`: all baselines are valid
  1  of `check`: a baseline has an error
  2  invalid arguments
  5  plimsoll's own failure: no project here; of `list` and `show`, also a
     baseline that cannot be read";

const LIST_STATUSES: &str = "\
Exit status:
  0  done
  2  invalid arguments
  5  plimsoll's own failure: no project here, or a baseline that cannot be read;
     the others are shown";

const CHECK_HELP: &str = "\
Errors:
  - a baseline that cannot be read, or that a newer plimsoll has written
  - a baseline whose scenario no test has, if all tests were measured
  - an expired allowance
  - an allowance without a reason, if plimsoll.toml has `require-reason = true`

Warnings:
  - an allowance without a reason
  - an unused allowance
  - an allowance of more than twice the needed rate
The last two need the reports of a run.

Exit status:
  0  done: no errors; warnings do not count
  1  a baseline has an error
  2  invalid arguments
  5  plimsoll's own failure: no project here, or settings that cannot be read";

/// List and check accepted growth
#[derive(Debug, Args)]
#[command(after_help = STATUSES, disable_help_subcommand = true)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// List the allowances of all packages in the workspace
    ///
    /// Prints for each allowance the innermost function of its stack, its rate and growth law, its
    /// reason, issue and expiry date, the day of its last change in git, and the rate that the
    /// newest report needs.
    #[command(after_help = LIST_STATUSES)]
    List(AllArgs),
    Show(ShowArgs),
    /// Check all baselines in the workspace, without measuring
    #[command(after_help = CHECK_HELP)]
    Check(AllArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AllArgs {
    /// Print JSON; versioned
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Print the allowances of one scenario, with whole stacks
#[derive(Debug, Args)]
#[command(after_help = LIST_STATUSES)]
pub(crate) struct ShowArgs {
    /// Scenario, by its name in `plimsoll::main!`
    #[arg(value_name = "SCENARIO", value_parser = scenario)]
    pub(crate) scenario: String,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}
