//! The command lines of what builds and measures revisions.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::Pattern;
use crate::args::{duration, scenario};

const BISECT_STATUSES: &str = "\
Exit status:
  0    done: the first commit, or the release, was found
  2    invalid arguments
  3    no single answer: the ends do not differ, or all that is left was skipped
  129  one of the ends cannot be measured, or plimsoll's own failure
  130  stopped by Ctrl-C; --resume goes on";

const BISECT_RUN_HELP: &str = "\
For example:
  git bisect start main v1.4.0
  git bisect run plimsoll bisect-run --scenario lru_churn

The first call measures the two ends of the bisection, the others take what it
kept.

Exit status:
  0    done: it grows no faster than at the good end
  1    it grows past that
  125  this commit cannot be measured: git skips it
  128  invalid arguments, or no bisection is under
       way
  129  one of the ends cannot be measured, or plimsoll's own failure
  130  stopped by Ctrl-C";

const CHECK_HELP: &str = "\
For example:
  plimsoll check
  plimsoll check lru_churn --baseline-rev v1.4.0

Exit status:
  0    done: nothing grows faster
  1    something does
  2    invalid arguments
  3    a scenario could not be compared
  5    plimsoll's own failure
  130  stopped by Ctrl-C; what was measured is kept";

const VERIFY_HELP: &str = "\
For example:
  plimsoll verify-fix main fix-the-cache --scenario lru_churn
  plimsoll verify-fix before/target/plimsoll target/plimsoll

Exit status:
  0    done: it fell
  1    it did not fall
  2    invalid arguments
  3    inconclusive: it cannot be told, nothing grew before, or one of the two
       cannot be measured
  5    plimsoll's own failure
  130  stopped by Ctrl-C; what was measured is kept";

/// Which test is measured, and how.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The package with the test, where several have one
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,

    /// The test target with the scenario
    ///
    /// [default: leaks]
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Option<String>,

    /// When to lay a newer test over a revision: that of the working tree or, of
    /// git's own bisection, of the bad end
    #[arg(long, value_enum, default_value_t = WhenToOverlay::Auto)]
    pub(crate) overlay: WhenToOverlay,

    /// Builds with optimisations, as `cargo test --release`
    #[arg(long)]
    pub(crate) release: bool,

    /// The longest climb of one revision; the first answer may come sooner
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) budget: Duration,

    /// The longest build of one revision, and the longest run of its test
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// Where cargo builds all revisions; by default plimsoll-bisect/target in the
    /// project's target directory
    #[arg(long, value_name = "DIR")]
    pub(crate) target_dir: Option<PathBuf>,

    /// The Cargo.toml of the project, in place of that of the current folder
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
}

/// What of a scenario is asked about.
#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    /// The stack: parts of functions' names, root first, `;` between, `...` for
    /// any number of them; by default the one that grows fastest
    #[arg(long, value_name = "PATTERN")]
    pub(crate) stack: Option<Pattern>,
}

/// Finds the commit since which a scenario grows
///
/// Measures GOOD and BAD, takes the stack that grows fastest at the one and not at
/// the other, and lets git bisect between them, in a worktree of its own: your
/// checkout, index and any bisection of yours stay as they are. A commit that does
/// not build or cannot be measured is skipped, and the reason is said. What was
/// measured is kept, so that the next bisection need not measure it again.
///
/// With --dep, it is over the releases of a dependency, at the commit that is
/// checked out: which of them brought the growth, or mended it.
#[derive(Debug, Args)]
#[command(after_help = BISECT_STATUSES)]
pub(crate) struct BisectArgs {
    /// A commit, tag or branch where it did not grow yet; with --dep, the versions
    ///
    /// `0.12.0..0.12.8` are all releases from the one to the other,
    /// `0.12.0,0.12.4,0.12.8` are these.
    #[arg(value_name = "GOOD", required_unless_present = "resume")]
    pub(crate) good: Option<String>,

    /// One where it does
    ///
    /// [default: HEAD]
    #[arg(value_name = "BAD")]
    pub(crate) bad: Option<String>,

    /// The dependency whose releases are searched, in place of commits
    ///
    /// Where Cargo.lock has several versions of it: `NAME@0.12`.
    #[arg(long, value_name = "NAME", value_parser = dependency)]
    #[arg(conflicts_with_all = ["bad", "first_parent", "log", "paths"])]
    pub(crate) dep: Option<String>,

    /// The scenario; by default the one that regressed in the last run
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    pub(crate) scenario: Option<String>,

    #[command(flatten)]
    pub(crate) stack: StackArgs,

    #[command(flatten)]
    pub(crate) bench: BenchArgs,

    /// Follows only the first parent of a merge: finds the merge
    #[arg(long)]
    pub(crate) first_parent: bool,

    /// What to print at the end
    #[arg(long, value_enum, default_value_t = BisectFormat::Text)]
    format: BisectFormat,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Writes what `git bisect replay` takes
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Where to write the flame graph of what the commit brought
    #[arg(long, value_name = "FILE")]
    pub(crate) flamegraph: Option<PathBuf>,

    /// Goes on with the bisection that was stopped
    #[arg(long, conflicts_with_all = ["good", "bad", "dep", "scenario", "stack"])]
    pub(crate) resume: bool,

    /// Removes the worktree of a bisection that was killed
    #[arg(long)]
    pub(crate) remove_stale: bool,

    /// Only commits that change one of these files or folders
    #[arg(last = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
}

/// Compares what the working tree grows with another revision
///
/// For projects that want no committed figures, and for the question whether it is this
/// branch. Builds that revision in a worktree beside the working tree, measures the
/// scenarios of both in turns, and shows what grew, shrank, is new or is gone. What seems
/// to grow faster has to do so twice. Measurements of commits are kept for the next time.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// The scenarios; by default all
    #[arg(value_name = "SCENARIO", value_parser = scenario)]
    pub(crate) scenarios: Vec<String>,

    /// The revision to compare with; by default where the branch has left the main one
    #[arg(long, value_name = "REV")]
    pub(crate) baseline_rev: Option<String>,

    #[command(flatten)]
    pub(crate) bench: BenchArgs,

    /// Prints for programs; versioned
    #[arg(long)]
    pub(crate) json: bool,

    /// Removes the worktree of a bisection that was killed
    #[arg(long)]
    pub(crate) remove_stale: bool,
}

/// Says whether a growth fell from one revision to another, and how surely
///
/// Measures a scenario at BEFORE and at AFTER, each in a worktree of its own, or takes
/// the reports that two runs left. Compares the rate of the stack that grows fastest
/// before, or of --stack: from one rung of one ladder there is no rate, and no answer.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct VerifyFixArgs {
    /// A commit, tag or branch where it grew; or a folder or file with its report
    #[arg(value_name = "BEFORE")]
    pub(crate) before: String,

    /// One where it should not, or where it should grow less; likewise
    #[arg(value_name = "AFTER")]
    pub(crate) after: String,

    /// The scenario; by default the one that regressed before, or the only one
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    pub(crate) scenario: Option<String>,

    #[command(flatten)]
    pub(crate) stack: StackArgs,

    #[command(flatten)]
    pub(crate) bench: BenchArgs,

    /// Prints for programs; versioned
    #[arg(long)]
    pub(crate) json: bool,

    /// Removes the worktree of a bisection that was killed
    #[arg(long)]
    pub(crate) remove_stale: bool,
}

/// Decides on what is checked out, for `git bisect run`
///
/// The same decision as of `bisect`, for those who drive git's bisection
/// themselves. A clean checkout is measured in a worktree of its own; one that
/// somebody has changed, as it is.
#[derive(Debug, Args)]
#[command(after_help = BISECT_RUN_HELP)]
pub(crate) struct BisectRunArgs {
    /// The scenario
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    pub(crate) scenario: Option<String>,

    #[command(flatten)]
    pub(crate) stack: StackArgs,

    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

impl BisectArgs {
    pub(crate) fn format(&self) -> BisectFormat {
        match self.json {
            true => BisectFormat::Json,
            false => self.format,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BisectFormat {
    /// For people
    Text,
    /// For an issue or a pull request
    Markdown,
    /// For programs; versioned
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenToOverlay {
    /// Where the commit's own test has no such scenario
    Auto,
    /// On every commit
    Always,
    /// On none: such a commit is skipped
    Never,
}

impl WhenToOverlay {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            WhenToOverlay::Auto => "auto",
            WhenToOverlay::Always => "always",
            WhenToOverlay::Never => "never",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Auto, Self::Always, Self::Never]
            .into_iter()
            .find(|when| when.as_str() == word)
    }
}

fn dependency(name: &str) -> Result<String, String> {
    let plain = |c: char| c.is_alphanumeric() || "_-@.+".contains(c);
    match name.starts_with(|c: char| c.is_alphanumeric() || c == '_') && name.chars().all(plain) {
        true => Ok(name.to_owned()),
        false => Err("expected the name of a package, as `moka` or `moka@0.12`".to_owned()),
    }
}
