//! The command line of `baseline`.

use clap::{Args, Subcommand};

use crate::args::{ProjectArgs, scenario};

const STATUSES: &str = "\
Exit status:
  0  done; of `check`: every allowance keeps to the rules
  1  of `check`: one does not
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
An error is
  - a baseline that cannot be read, or that a newer plimsoll has written
  - one of a scenario that no test has, as far as all tests were measured
  - an allowance that has expired
  - one without a reason, where plimsoll.toml has `require-reason = true`

A warning is
  - an allowance without a reason
  - one that nothing uses any more
  - one of more than twice what it needs
The last two are held against the newest reports, if there are any.

Exit status:
  0  done: no error, be there warnings or not
  1  an error: what the tests would fail for (status 1 and 4 of a verdict), or
     what they cannot see
  2  invalid arguments
  5  plimsoll's own failure: no project here, or settings that cannot be read";

/// Shows what a project has agreed to carry, and whether that keeps to the rules
#[derive(Debug, Args)]
#[command(after_help = STATUSES, disable_help_subcommand = true)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    List(ListArgs),
    Show(ShowArgs),
    Check(CheckArgs),
}

/// Lists every allowance of every package in the workspace
///
/// With the leaf of its stack, its rate and law, its reason, issue and expiry, since
/// when it stands so (by git), and what the newest report says that it needs.
#[derive(Debug, Args)]
#[command(after_help = LIST_STATUSES)]
pub(crate) struct ListArgs {
    /// For programs; versioned
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Shows the allowances of one scenario, with all frames of their stacks
#[derive(Debug, Args)]
#[command(after_help = LIST_STATUSES)]
pub(crate) struct ShowArgs {
    /// The scenario, by its name in `plimsoll::main!`
    #[arg(value_name = "SCENARIO", value_parser = scenario)]
    pub(crate) scenario: String,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Checks every baseline in the workspace, and measures nothing
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// For programs; versioned
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}
