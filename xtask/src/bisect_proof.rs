//! Runs the proof of `plimsoll bisect` over more histories than `cargo test` does.

use std::path::Path;

use anyhow::{Context, bail};
use plimsoll_desk::project;

/// The variable from which the test reads its range of seeds.
const SEEDS: &str = "PLIMSOLL_BISECT_SEEDS";

const STATUSES: &str = "\
Exit status:
  0  every answer is right
  1  one is not, or something was left behind, or it took too many builds
  2  invalid arguments";

/// Lets `plimsoll bisect` search histories that are made from seeds
///
/// Each has 32 to 48 commits of a small crate, one of which brings a leak. The answer has
/// to be that one, in few builds, and nothing may be left behind. In some histories the
/// commit before the right one does not build, so that several commits are the answer.
#[derive(Debug, clap::Args)]
#[command(after_help = STATUSES)]
pub(crate) struct Args {
    /// How many histories
    #[arg(long, value_name = "N", default_value_t = 20)]
    seeds: u64,

    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    from: u64,
}

/// Returns whether every answer is right.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    if args.seeds == 0 {
        bail!("no history was asked for: `--seeds 0`");
    }
    let to = args.from.checked_add(args.seeds);
    let to = to.context("`--from` and `--seeds` are too large")?;
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let workspace = workspace.context("xtask is in no workspace")?;
    let status = project::cargo()
        .args(["test", "--quiet", "--locked"])
        .args(["--package", "plimsoll-cli", "--test", "bisect"])
        .args(["--", "--exact", "--nocapture"])
        .arg("any_history::the_right_commit_every_time")
        .current_dir(workspace)
        .env(SEEDS, format!("{}..{to}", args.from))
        .status()
        .context("cargo did not start")?;
    Ok(status.success())
}
