//! The arguments of the commands that have no crate or folder of their own.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use plimsoll_core::baseline::Date;
use plimsoll_core::text::escape;
use plimsoll_desk::parse::{duration, scenario};

use plimsoll_bot::names::{Key, Repository, Sha};

const STATUSES: &str = "\
Exit status:
  0  done
  2  invalid arguments
  5  plimsoll's own failure: no reports, a file that cannot be read

Growth does not change the exit status; `cargo test` fails instead.";

const INIT_STATUSES: &str = "\
Exit status:
  0  done, nothing to do, or the answer was no
  2  invalid arguments, or no terminal to ask on
  5  plimsoll's own failure: no project here, a file that cannot be written";

const MERGE_HELP: &str = "\
Example, after `cargo nextest run --test leaks --no-fail-fast --no-tests
pass --partition hash:1/4` and the other three, each with its target/plimsoll
under shards/:
  plimsoll merge shards/* --output merged.json
  plimsoll comment --report merged.json

Exit status:
  0  done: every scenario has a result
  2  invalid arguments
  5  plimsoll's own failure: a scenario without a result (the report is written
     nevertheless), reports of different commits or builds, a file that cannot
     be read

Growth does not change the exit status; `cargo test` fails instead.";

const COMMENT_HELP: &str = "\
In the job that measures, in a workflow with `pull-requests: write` and
`checks: write`:
  plimsoll comment --report target/plimsoll

For pull requests from forks, in a second workflow, started by `workflow_run`:
  plimsoll fetch --output report.json
  plimsoll comment --untrusted --report report.json

Reads the token from GITHUB_TOKEN only.

Exit status:
  0  done; a warning names what could not be posted
  2  invalid arguments, or not in a GitHub workflow
  5  with --on-post-error fail: something could not be posted

The report does not change the exit status; `cargo test` fails instead.";

const FETCH_HELP: &str = "\
Reads the token from GITHUB_TOKEN; the token needs `actions: read`.

Exit status:
  0  done: the file holds the report, or the reason why there is none; or there
     is no open pull request to comment on, and no file was written
  2  invalid arguments, or not started by `workflow_run`
  5  the download failed, or the file cannot be written";

const PRUNE_HELP: &str = "\
Reads the token from GITHUB_TOKEN only.

Exit status:
  0  done
  2  invalid arguments, or no repository given
  5  the branches could not be listed or deleted";

const ACCEPT_STATUSES: &str = "\
Exit status:
  0  done, or there was nothing to accept
  2  invalid arguments, or running in CI
  3  the scenario failed or was inconclusive: nothing can be accepted
  4  the measurement was broken: nothing can be accepted
  5  plimsoll's own failure: no reports, a file that cannot be read

If any named scenario cannot be accepted, no file is changed.";

const REVIEW_STATUSES: &str = "\
Exit status:
  0    done, or there was nothing to accept
  2    invalid arguments, running in CI, or no terminal to ask on
  3    a named scenario failed or was inconclusive
  4    the measurement of a named scenario was broken
  5    plimsoll's own failure: no reports, a file that cannot be read
  130  the input ended before the last answer: nothing was written";

/// Set up leak tests in a cargo project
///
/// Adds the package `leaks` to the workspace, with the test `leaks` and one working scenario.
/// Because it is a package of its own, `cargo test -p` of other packages does not build
/// jemalloc. With --here, adds the test to the tested package instead. Also adds the folder for
/// baselines, the configuration for cargo-nextest and the workflows for GitHub.
///
/// Prints the changes first and asks. Adds to existing files and never replaces them. If
/// everything exists already, does nothing.
#[derive(Debug, Args)]
#[command(after_help = INIT_STATUSES)]
pub(crate) struct InitArgs {
    /// Add the test to the tested package itself
    #[arg(long)]
    pub(crate) here: bool,

    /// Package to test; by default the one in the current folder
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,

    /// Write without asking
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Print the changes, write nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Do not write workflows
    #[arg(long)]
    pub(crate) no_workflows: bool,

    /// Leave out benchmarks and the dependencies that they need
    #[arg(long)]
    pub(crate) no_benches: bool,

    /// Action that the workflows use, with the commit of its release
    #[arg(long, value_name = "OWNER/NAME@COMMIT", value_parser = action)]
    #[arg(conflicts_with = "no_workflows")]
    pub(crate) action: Option<String>,

    /// Use the library in this folder instead of the one on crates.io
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Parses an action in a repository, at a commit. Returns the value of `uses:` in a workflow.
fn action(text: &str) -> Result<String, String> {
    let (repository, commit) = text.split_once('@').unwrap_or_default();
    let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    match repository.parse::<Repository>() {
        Ok(repository) if is_commit => {
            let version = env!("CARGO_PKG_VERSION");
            Ok(format!(
                "{repository}/.github/actions/plimsoll@{commit} # v{version}"
            ))
        }
        _ => Err(
            "expected a repository and a whole commit: `owner/plimsoll@` and 40 digits".to_owned(),
        ),
    }
}

/// Print the results of the last run of the leak tests
///
/// Uses the newest run that left reports, or the run that --run names. Of a scenario that this
/// run did not select, prints what an older run found, in one line. If a scenario of the run has
/// no report, prints "no result" for it; such a scenario did not pass.
#[derive(Debug, Args)]
#[command(after_help = STATUSES)]
pub(crate) struct ReportArgs {
    /// Scenario of the run, by default all; or a folder with reports, searched with its
    /// subfolders; or a file: the report.json of a scenario, or the output of `--format json`
    ///
    /// The name of a scenario is that, also if a folder has it: `./NAME` is the folder.
    ///
    /// Without a folder or file, target/plimsoll of the workspace that contains the current
    /// folder, wherever cargo has its target directory. Several folders or files are combined
    /// into one report, for example the jobs of a matrix or shards.
    #[arg(value_name = "SCENARIO|DIR|FILE")]
    pub(crate) reports: Vec<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Explain the verdict on each finding, with the numbers it comes from
    ///
    /// `--explain` explains all findings, `--explain=PART` those whose stack contains PART,
    /// such as the name of a function. Prints for each finding: its sizes at the last dumps,
    /// how many objects are still alive by the octave (a doubling of the iterations) of their
    /// allocation, the rate with its error, the allowed rate, and the threshold.
    #[arg(
        long,
        value_name = "PART",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "format"
    )]
    pub(crate) explain: Option<String>,

    /// Print every scenario, stack and note
    ///
    /// By default, scenarios that grow for the same reason are printed once, and long lists are
    /// cut.
    #[arg(long, conflicts_with_all = ["explain", "format"])]
    pub(crate) all: bool,

    /// Report of the branch that the change is merged into
    ///
    /// A folder or a file, as for DIR|FILE. Markdown and HTML then say for each leak whether it
    /// is new or was there before.
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) base_report: Option<PathBuf>,

    /// Id of the run to use instead of the newest in each folder
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Combine the reports of a split run, and list missing results
///
/// Takes the reports of shards, or of the jobs of a matrix, in any order. Writes the format of
/// `report --format json`, which `report` and `comment` read. If a scenario has several results
/// on one platform, prints a warning and uses the worse one.
#[derive(Debug, Args)]
#[command(after_help = MERGE_HELP)]
pub(crate) struct MergeArgs {
    /// The target/plimsoll of each shard, of which the newest run is used, or a file
    #[arg(value_name = "DIR|FILE", required = true)]
    pub(crate) reports: Vec<PathBuf>,

    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text, as failing tests print it
    Text,
    /// Markdown for a comment on a pull request, at most 65,000 characters
    Markdown,
    /// Markdown for the summary page of a job, at most 1 MiB
    Summary,
    /// JSON for programs and for later jobs; versioned
    Json,
    /// One self-contained HTML page
    Html,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for tools that show test results
    Junit,
}

/// Accept growth that the last run found, in baselines/SCENARIO.toml
///
/// Writes an allowance for each stack that grew more than allowed, at the measured rate.
/// Updates allowances whose stack has moved, and removes unused ones. Keeps reasons, comments
/// and order, and prints the changes. The next `cargo test` reads the file. Review and commit
/// it like code; give the reason with --reason.
///
/// Refuses to run in CI: a person has to accept growth.
#[derive(Debug, Args)]
#[command(after_help = ACCEPT_STATUSES)]
pub(crate) struct AcceptArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,

    /// All scenarios that have a report in the last run
    #[arg(long, conflicts_with = "scenarios")]
    pub(crate) all: bool,

    /// Accept only growth that passes through this function, as one allowance
    ///
    /// The allowance replaces those of stacks that pass through it. A name from a stack, or its
    /// end (`Cache::insert`).
    #[arg(
        long,
        value_name = "FUNCTION",
        requires = "scenarios",
        conflicts_with = "lower"
    )]
    pub(crate) through: Option<String>,

    /// Reason, written beside each new allowance
    #[arg(long, value_name = "TEXT", value_parser = words)]
    pub(crate) reason: Option<String>,

    /// Address of the discussion, written beside each new allowance
    #[arg(long, value_name = "URL", value_parser = words)]
    pub(crate) issue: Option<String>,

    /// Also lower allowances that are more than twice the measured rate
    ///
    /// Rates may depend on timing: use a typical run.
    #[arg(long)]
    pub(crate) lower: bool,

    /// Last day of the allowance, as YYYY-MM-DD, or `never`
    ///
    /// The test fails from the next day on. Required if an expired allowance is still used.
    #[arg(long, value_name = "DATE")]
    pub(crate) expires: Option<Expiry>,

    /// Print the changes, write nothing; works in CI too
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Accept findings of the last run one at a time
///
/// Shows the stack, rate and growth law of each finding with the flame graph of its scenario,
/// and asks whether to accept it. Works on any terminal, line by line. At the end writes the
/// accepted findings as `accept` does, and prints the changes.
///
/// Refuses to run in CI: a person has to accept growth.
#[derive(Debug, Args)]
#[command(after_help = REVIEW_STATUSES)]
pub(crate) struct ReviewArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,

    /// Print the changes, write nothing; works in CI too
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The scenarios that are accepted, and where their reports are.
#[derive(Debug, Args)]
pub(crate) struct ChosenArgs {
    /// Scenarios, by their names in `plimsoll::main!`; by default all with something to accept
    #[arg(value_name = "SCENARIO", value_parser = scenario)]
    pub(crate) scenarios: Vec<String>,

    /// Package of the scenario, if several have one of that name
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,

    /// Test target of the scenario, if several have one of that name
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Option<String>,

    /// Id of the run to use instead of the newest of each test target
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Folder with reports instead of target/plimsoll
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    /// Cargo.toml of the project instead of the one in the current folder
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
}

/// Post the results of a run to its pull request: a comment, a check run, annotations and a job
/// summary
///
/// Creates the comment when someone has to act, and updates it from then on. A missing or
/// unreadable report is reported as such; it never counts as "no leaks".
#[derive(Debug, Args)]
#[command(after_help = COMMENT_HELP)]
pub(crate) struct CommentArgs {
    /// Folders or files with reports; several are combined into one
    #[arg(long, value_name = "DIR|FILE", required = true, num_args = 1..)]
    pub(crate) report: Vec<PathBuf>,

    /// Id of the run to use instead of the newest in each folder
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Report of the branch that the pull request is merged into, as a folder or a file
    ///
    /// The comment then says for each leak whether it is new or was there before.
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) base_report: Option<PathBuf>,

    /// Name of the artifact that holds that report, without the attempt number at its end
    ///
    /// Used if something grows: the artifact of the base commit, or else the newest of the base
    /// branch. Needs `actions: read`.
    #[arg(long, value_name = "NAME", conflicts_with = "base_report")]
    pub(crate) base_artifact: Option<String>,

    /// The report comes from untrusted code, in the workflow run that triggered this one; it
    /// cannot turn the check green
    #[arg(long)]
    pub(crate) untrusted: bool,

    /// Print the posts instead of posting them; needs no token
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Key of the comment, if a pull request has several
    #[arg(long, value_name = "KEY", default_value = "default")]
    pub(crate) key: Key,

    /// When to create a comment; an existing one is updated, except with `never`
    #[arg(long, value_enum, default_value_t = When::OnGrowth)]
    pub(crate) when: When,

    /// Name of the check run; by default `plimsoll`, followed by the key if there is one
    #[arg(long, value_name = "NAME", value_parser = check_name)]
    pub(crate) check_name: Option<String>,

    /// Where to store the flame graphs that the comment shows
    #[arg(long, value_enum, default_value_t = ImageHost::None)]
    pub(crate) image: ImageHost,

    /// Address of the HTML report, for a link in the comment
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) artifact_url: Option<String>,

    /// Account of the token; plimsoll finds its own comment by the author
    #[arg(long, value_name = "LOGIN", default_value = "github-actions[bot]")]
    pub(crate) bot_login: String,

    /// What to do if something cannot be posted
    #[arg(long, value_enum, default_value_t = OnPostError::Warn)]
    pub(crate) on_post_error: OnPostError,

    /// Outputs to leave out
    #[arg(long, value_enum, value_name = "PART")]
    pub(crate) skip: Vec<Part>,

    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

/// Download the report of the triggering run, for `comment --untrusted`
///
/// For workflows that `workflow_run` starts. Downloads the artifact NAME-ATTEMPT of that run
/// and checks that it belongs to this repository, to the run, and to the run's pull request and
/// head commit. If there is no such artifact, writes the reason to the file, for `comment` to
/// post.
#[derive(Debug, Args)]
#[command(after_help = FETCH_HELP)]
pub(crate) struct FetchArgs {
    /// File to write; `report` and `comment` read it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Name of the artifact, without the attempt number at its end
    #[arg(long, value_name = "NAME", default_value = "plimsoll-report")]
    pub(crate) artifact: String,

    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

/// Delete the flame graphs of closed pull requests
///
/// `comment --image branch` stores each on a branch of its own, plimsoll-images/pr-NUMBER/KEY.
/// Needs `contents: write`.
#[derive(Debug, Args)]
#[command(after_help = PRUNE_HELP)]
pub(crate) struct PruneArgs {
    /// Print what would be deleted, delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) github: GitHubArgs,
}

/// What to say it of.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// Pull request instead of the one in the event
    #[arg(long, value_name = "NUMBER")]
    pub(crate) pr: Option<u64>,

    /// Measured commit instead of the one in the event
    #[arg(long, value_name = "COMMIT")]
    pub(crate) sha: Option<Sha>,

    #[command(flatten)]
    pub(crate) github: GitHubArgs,
}

/// How to reach GitHub.
#[derive(Debug, Args)]
pub(crate) struct GitHubArgs {
    /// Repository instead of the one of the workflow
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<Repository>,

    /// Longest total wait for GitHub's rate limits
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = duration)]
    pub(crate) max_wait: Duration,

    /// Longest wait for one response
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// Always, also when nobody has to act
    Always,
    /// When something grows, or a result is missing
    OnGrowth,
    /// Never create or change a comment
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageHost {
    /// Show them as text only
    None,
    /// On a branch without history; needs `contents: write`
    Branch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnPostError {
    /// Warn and exit with 0
    Warn,
    /// Exit with 5
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Summary page of the job
    Summary,
    /// Annotations, which the runner reads from the output
    Annotations,
    /// Check run
    Check,
    /// Comment, and the flame graphs in it
    Comment,
}

/// Parses a URL that can stand in a link without escaping.
fn url(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#&=%+,;@".contains(&byte);
    match text.starts_with("https://") && text.len() <= 2_000 && text.bytes().all(allowed) {
        true => Ok(text.to_owned()),
        false => Err("expected an address that begins with `https://`".to_owned()),
    }
}

fn check_name(text: &str) -> Result<String, String> {
    let plain = |c: char| !escape::is_hidden(c);
    match (1..=100).contains(&text.chars().count()) && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("expected 1 to 100 characters on one line".to_owned()),
    }
}

/// Parses text for people. Refuses an empty text, which would not replace the text in the
/// file.
fn words(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected some text; without the option, the text in the file stays".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// The last day of an allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    On(Date),
    Never,
}

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Expiry::Never);
        }
        let date = text.parse().map(Expiry::On);
        date.map_err(|err| format!("{err}, or `never`"))
    }
}
