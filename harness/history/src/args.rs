//! The command lines of the commands that build and measure revisions.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::decide::Pattern;
use plimsoll_desk::parse::{duration, scenario};

const BISECT_STATUSES: &str = "\
Exit status:
  0    done: the first commit, or the release, was found
  2    invalid arguments
  3    no single answer: the ends do not differ, or only skipped commits
       are left
  129  an end cannot be measured, or plimsoll's own failure
  130  stopped by Ctrl-C; --resume continues";

const BISECT_RUN_HELP: &str = "\
Examples:
  git bisect start main v1.4.0
  git bisect run plimsoll bisect-run --scenario lru_churn

The first call measures the two ends and caches the result for the other calls.

Exit status:
  0    done: grows no faster than at the good end (or behaves as the old one)
  1    grows faster than at the good end (or behaves as the new one)
  125  this commit cannot be measured: git skips it
  128  invalid arguments, or no bisection in progress
  129  an end cannot be measured, or plimsoll's own failure
  130  stopped by Ctrl-C";

const CHECK_HELP: &str = "\
Examples:
  plimsoll check
  plimsoll check lru_churn --baseline-rev v1.4.0
  plimsoll check checkout --watch ./watch.sh

Exit status:
  0    done: nothing grows faster
  1    a stack grows faster
  2    invalid arguments
  3    a scenario could not be compared, or it is unsure whether it grows faster
  5    plimsoll's own failure
  130  stopped by Ctrl-C; measurements stay in the cache";

const VERIFY_HELP: &str = "\
Examples:
  plimsoll verify-fix main fix-the-cache --scenario lru_churn
  plimsoll verify-fix before/target/plimsoll target/plimsoll

Exit status:
  0    done: the growth rate fell
  1    the rate did not fall
  2    invalid arguments
  3    inconclusive: the rates cannot be told apart, nothing grew at BEFORE, or
       BEFORE or AFTER cannot be measured
  5    plimsoll's own failure
  130  stopped by Ctrl-C; measurements stay in the cache";

/// Which test is measured, and how.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Package of the test, if several have one
    #[arg(long, short, value_name = "NAME")]
    pub package: Option<String>,

    /// Test target of the scenario
    ///
    /// [default: leaks]
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,

    /// Bench target of the scenario, which `cargo plimsoll bench` measures
    #[arg(long, value_name = "NAME", conflicts_with_all = ["test", "release"])]
    pub bench: Option<String>,

    /// Measure a server, with this command: it builds the server, and runs `plimsoll watch` with
    /// --scenario
    ///
    /// `sh -c` runs it in a checkout of each revision, in the folder that corresponds to the
    /// current one, and --timeout limits it. `target/` is the folder in which all revisions are
    /// built, as is $CARGO_TARGET_DIR. A failure is not cached, because it may have another cause
    /// than the revision.
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    #[arg(conflicts_with_all = ["test", "bench", "overlay", "release", "budget"])]
    pub watch: Option<String>,

    /// When to copy the current test or bench into older revisions; `bisect-run` copies it from the
    /// bad commit
    #[arg(long, value_enum, default_value_t = WhenToOverlay::Auto)]
    pub overlay: WhenToOverlay,

    /// Build with optimisations, as `cargo test --release`
    #[arg(long)]
    pub release: bool,

    /// Longest measurement of one revision; it ends sooner if the answer is clear
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub budget: Duration,

    /// Longest build of one revision, and longest run of its test; with --watch, longest run
    /// of the command
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = duration)]
    pub timeout: Duration,

    /// Folder in which cargo builds all revisions; by default plimsoll-bisect/target in the
    /// target directory of the project
    #[arg(long, value_name = "DIR")]
    pub target_dir: Option<PathBuf>,

    /// Cargo.toml of the project instead of the one in the current folder
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// How two revisions are compared.
#[derive(Debug, Args)]
pub struct ComparisonArgs {
    #[command(flatten)]
    pub bench: BenchArgs,

    /// Print JSON; versioned
    #[arg(long)]
    pub json: bool,

    /// Remove the worktree of a bisection that was killed
    #[arg(long)]
    pub remove_stale: bool,
}

/// What of a scenario is asked about.
#[derive(Debug, Args)]
pub struct StackArgs {
    /// Stack to search for: parts of function names, outermost first, separated by `;`, with
    /// `...` for any number of frames; by default the stack that grows fastest
    #[arg(long, value_name = "PATTERN")]
    pub stack: Option<Pattern>,
}

/// Find the commit that made a scenario grow
///
/// Measures GOOD and BAD, and picks the stack whose growth rate rose most from GOOD to BAD.
/// Then runs git's bisection in a separate worktree: your checkout, your index and your own
/// bisections do not change. Skips a commit that does not build or cannot be measured, and
/// prints the reason. Caches all measurements for later bisections. If nothing grows at BAD and
/// something does at GOOD, finds the commit that fixed it.
///
/// With --dep, searches the releases of a dependency at the commit that is checked out, for the
/// release that brought the growth or fixed it.
#[derive(Debug, Args)]
#[command(after_help = BISECT_STATUSES)]
pub struct BisectArgs {
    /// Commit, tag or branch without the growth; with --dep, versions
    ///
    /// `0.12.0..0.12.8` are all releases in that range, `0.12.0,0.12.4,0.12.8` only these.
    #[arg(value_name = "GOOD", required_unless_present = "resume")]
    pub good: Option<String>,

    /// Commit, tag or branch with the growth
    ///
    /// [default: HEAD]
    #[arg(value_name = "BAD")]
    pub bad: Option<String>,

    /// Search the releases of this dependency instead of commits
    ///
    /// If Cargo.lock has several versions of it, write `NAME@0.12`.
    #[arg(long, value_name = "NAME", value_parser = dependency)]
    #[arg(conflicts_with_all = ["bad", "first_parent", "log", "paths"])]
    pub dep: Option<String>,

    /// Scenario; by default the one that regressed in the last run
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    pub scenario: Option<String>,

    #[command(flatten)]
    pub stack: StackArgs,

    #[command(flatten)]
    pub bench: BenchArgs,

    /// Follow only the first parent of each merge; the answer may then be a merge
    #[arg(long)]
    pub first_parent: bool,

    /// Format of the answer
    #[arg(long, value_enum, default_value_t = BisectFormat::Text)]
    format: BisectFormat,

    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Write the log for `git bisect replay` to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,

    /// Write the flame graph of the commit's growth to this file
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,

    /// Continue the bisection that was stopped
    #[arg(long, conflicts_with_all = ["good", "bad", "dep", "scenario", "stack"])]
    pub resume: bool,

    /// Remove the worktree of a bisection that was killed
    #[arg(long)]
    pub remove_stale: bool,

    /// Search only commits that change one of these files or folders
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<String>,
}

/// Compare heap growth in the working tree with another revision
///
/// Tells whether this branch caused the growth, without baselines. Builds the other revision
/// and the working tree in a separate worktree, measures the scenarios of both in turns, and
/// prints the stacks that grow faster or slower, are new, or are gone. Measures a stack that
/// seems to grow faster a second time, for longer. Caches all measurements for later checks.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct CheckArgs {
    /// Scenarios; by default all
    #[arg(value_name = "SCENARIO", value_parser = scenario)]
    pub scenarios: Vec<String>,

    /// Revision to compare with; by default the merge base with the main branch
    #[arg(long, value_name = "REV")]
    pub baseline_rev: Option<String>,

    #[command(flatten)]
    pub comparison: ComparisonArgs,
}

/// Check whether growth is fixed, and with what certainty
///
/// Measures a scenario at BEFORE and at AFTER, in a separate worktree, or reads the reports of
/// two runs. Compares the rate of the stack whose rate fell most, or of --stack. A run with
/// only one dump has no rate, and gives no answer.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub struct VerifyFixArgs {
    /// Commit, tag or branch with the growth; or a folder or file with its report
    #[arg(value_name = "BEFORE")]
    pub before: String,

    /// Commit, tag or branch with the fix; or a folder or file with its report
    #[arg(value_name = "AFTER")]
    pub after: String,

    /// Scenario; by default the one that regressed at BEFORE, or the only one
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    pub scenario: Option<String>,

    #[command(flatten)]
    pub stack: StackArgs,

    #[command(flatten)]
    pub comparison: ComparisonArgs,
}

/// Classify the checked-out commit, for `git bisect run`
///
/// Decides as `bisect` does, for those who run git's bisection themselves. Measures the commit
/// in a separate worktree, with the changes of the checkout if there are any.
#[derive(Debug, Args)]
#[command(after_help = BISECT_RUN_HELP)]
pub struct BisectRunArgs {
    /// Scenario
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    pub scenario: Option<String>,

    #[command(flatten)]
    pub stack: StackArgs,

    #[command(flatten)]
    pub bench: BenchArgs,
}

impl BisectArgs {
    pub fn format(&self) -> BisectFormat {
        match self.json {
            true => BisectFormat::Json,
            false => self.format,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BisectFormat {
    /// Text
    Text,
    /// Markdown for an issue or a pull request
    Markdown,
    /// JSON; versioned
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenToOverlay {
    /// If the test of that revision lacks the scenario
    Auto,
    /// Into every revision
    Always,
    /// Never; a revision without the scenario is skipped
    Never,
}

fn dependency(name: &str) -> Result<String, String> {
    let plain = |c: char| c.is_alphanumeric() || "_-@.+".contains(c);
    match name.starts_with(|c: char| c.is_alphanumeric() || c == '_') && name.chars().all(plain) {
        true => Ok(name.to_owned()),
        false => Err("expected the name of a package, as `moka` or `moka@0.12`".to_owned()),
    }
}
