//! The command line, as text and as types.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use plimsoll_core::baseline::Date;
use plimsoll_core::escape;
use plimsoll_core::layout::valid_scenario_name;

use crate::baseline::args::BaselineArgs;
use crate::bisect::args::{BisectArgs, BisectRunArgs, CheckArgs, VerifyFixArgs};
use crate::config::ConfigArgs;
use crate::github::names::{Key, Repository, Sha};
use crate::heap::args::{CompareArgs, ShowArgs, WatchArgs};
use crate::shell::{CompletionsArgs, ManArgs};

const STATUSES: &str = "\
Exit status:
  0  done
  2  invalid arguments
  5  plimsoll's own failure: no reports, a file that cannot be read

The growth of a workload changes nothing in it: `cargo test` is what fails.";

const INIT_STATUSES: &str = "\
Exit status:
  0  done, or there was nothing to do, or it was not agreed to
  2  invalid arguments, or nobody can be asked
  5  plimsoll's own failure: no project here, a file that cannot be written";

const MERGE_HELP: &str = "\
For example, after `cargo nextest run --test leaks --no-fail-fast --no-tests
pass --partition hash:1/4` and the other three, each with its target/plimsoll
under shards/:
  plimsoll merge shards/* --output merged.json
  plimsoll comment --report merged.json

Exit status:
  0  done: every scenario has a result
  2  invalid arguments
  5  plimsoll's own failure: a scenario without a result, which is written all
     the same; reports of different commits or builds; a file that cannot be
     read

The growth of a workload changes nothing in it: `cargo test` is what fails.";

const COMMENT_HELP: &str = "\
In the job that measures, in a workflow with `pull-requests: write` and
`checks: write`:
  plimsoll comment --report target/plimsoll

For pull requests from forks, in a second workflow, started by `workflow_run`:
  plimsoll fetch --output report.json
  plimsoll comment --untrusted --report report.json

The token is taken from GITHUB_TOKEN, and from nowhere else.

Exit status:
  0  done, or what could not be posted was warned of
  2  invalid arguments, or this is not GitHub
  5  with --on-post-error fail: something could not be posted

What the report says changes nothing in it: `cargo test` is what fails.";

const FETCH_HELP: &str = "\
The token is taken from GITHUB_TOKEN, and needs `actions: read`.

Exit status:
  0  done: the file holds the report, or why there is none; or there is no open
     pull request to comment on, and no file was written
  2  invalid arguments, or this is no `workflow_run`
  5  GitHub did not hand it out, or the file cannot be written";

const PRUNE_HELP: &str = "\
The token is taken from GITHUB_TOKEN, and from nowhere else.

Exit status:
  0  done
  2  invalid arguments, or no repository is known
  5  the branches could not be listed or deleted";

const ACCEPT_STATUSES: &str = "\
Exit status:
  0  done, or there was nothing to accept
  2  invalid arguments, or this is a CI
  3  the scenario failed or was inconclusive: there is nothing to agree to
  4  its measurement was broken: likewise
  5  plimsoll's own failure: no reports, a file that cannot be read

Unless every scenario that was named can be accepted, no file is touched.";

const REVIEW_STATUSES: &str = "\
Exit status:
  0    done, or there was nothing to accept
  2    invalid arguments, this is a CI, or there is
       no terminal to ask on
  3    a scenario that was named failed or was inconclusive
  4    its measurement was broken
  5    plimsoll's own failure: no reports, a file that cannot be read
  130  the input ended before the last answer: nothing was written";

/// Says what keeps growing, and keeps what was agreed to.
///
/// `cargo test --test leaks` measures and decides. This tool joins what it
/// found, takes growth that is meant into the baselines, and says it on GitHub.
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

/// Sets a cargo project up for leak tests
///
/// Adds a package `leaks` to the workspace, with a test of that name and one scenario
/// that works; a package of its own, so that `cargo test -p` of the others does not
/// build jemalloc. With --here, adds the test to the package itself. Beside it the
/// folder for baselines, what cargo-nextest needs to know, and the workflows for GitHub.
///
/// Shows first what would change, and asks. What is there is added to and never
/// replaced; where all is there, nothing is done.
#[derive(Debug, Args)]
#[command(after_help = INIT_STATUSES)]
pub(crate) struct InitArgs {
    /// Adds the test to the package itself
    #[arg(long)]
    pub(crate) here: bool,

    /// The package that is tested; by default the one of this folder
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,

    /// Writes without asking
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Shows what would change and writes nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Leaves the workflows out
    #[arg(long)]
    pub(crate) no_workflows: bool,

    /// The action that the workflows use, with the commit of its release
    #[arg(
        long,
        value_name = "OWNER/NAME@COMMIT",
        conflicts_with = "no_workflows"
    )]
    pub(crate) action: Option<Action>,

    /// Takes the library from that folder, in place of crates.io
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// An action of a repository, at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    repository: Repository,
    commit: String,
}

impl Action {
    /// As a workflow's `uses:` has it.
    pub(crate) fn path(&self) -> String {
        format!(
            "{}/.github/actions/plimsoll@{} # v{}",
            self.repository,
            self.commit,
            env!("CARGO_PKG_VERSION")
        )
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            "expected a repository and a whole commit: `owner/plimsoll@` and 40 digits".to_owned()
        };
        let (repository, commit) = text.split_once('@').ok_or_else(expected)?;
        let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        match repository.parse() {
            Ok(repository) if is_commit => Ok(Action {
                repository,
                commit: commit.to_owned(),
            }),
            _ => Err(expected()),
        }
    }
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

    /// Explain the verdict on each finding, with the numbers it comes from
    ///
    /// `--explain` takes all findings, `--explain=PART` those whose stack contains PART,
    /// such as the name of a function. Prints for each: the levels at the last rungs, how
    /// many objects stayed, by the octave (a doubling of the iterations) in which they were
    /// born, the rate with its error, what the baseline allows, and the threshold.
    #[arg(
        long,
        value_name = "PART",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "format"
    )]
    pub(crate) explain: Option<String>,

    /// The run to show, by its id, in place of the newest of each folder
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Writes to that file, in place of printing
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Joins the reports of a run that was split, and says what is missing
///
/// Of shards, or of the jobs of a matrix; in any order. Writes the format of `report
/// --format json`, which `report` and `comment` take. Where a scenario has several
/// results on one platform, that is said, and the worse one counts.
#[derive(Debug, Args)]
#[command(after_help = MERGE_HELP)]
pub(crate) struct MergeArgs {
    /// What each shard left: its target/plimsoll, of which the newest run is taken, or
    /// a file
    #[arg(value_name = "DIR|FILE", required = true)]
    pub(crate) reports: Vec<PathBuf>,

    /// Writes to that file, in place of printing
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
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
/// changes in the file. Reasons, comments and order in it stay. The file is data for
/// the next `cargo test`, to be reviewed and committed like code; say why with
/// --reason.
///
/// Under CI it refuses: a baseline is agreed to by a person.
#[derive(Debug, Args)]
#[command(after_help = ACCEPT_STATUSES)]
pub(crate) struct AcceptArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,

    /// Every scenario that the last run has a report of
    #[arg(long, conflicts_with = "scenarios")]
    pub(crate) all: bool,

    /// Why it may grow; written beside each allowance, for people
    #[arg(long, value_name = "TEXT", value_parser = words)]
    pub(crate) reason: Option<String>,

    /// Where it is discussed; written beside each allowance, for people
    #[arg(long, value_name = "URL", value_parser = words)]
    pub(crate) issue: Option<String>,

    /// Also lowers allowances that are more than twice what they were needed for
    ///
    /// Rates may depend on timing: take a run that is like those to come.
    #[arg(long)]
    pub(crate) lower: bool,

    /// The last day on which it may grow, as YYYY-MM-DD, or `never`
    ///
    /// From the next day the test fails again. Where an allowance has expired
    /// that is still used, this has to be given.
    #[arg(long, value_name = "DATE")]
    pub(crate) expires: Option<Expiry>,

    /// Prints what would change and writes nothing; also under CI
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Goes through what the last run found to grow, one finding at a time
///
/// Shows the stack of each, its rate and law and the flame graph of its scenario, and
/// asks whether it is agreed to. Needs a terminal, and nothing of it but lines of
/// text. What was accepted is written at the end, as `accept` does, and shown.
///
/// Under CI it refuses: a baseline is agreed to by a person.
#[derive(Debug, Args)]
#[command(after_help = REVIEW_STATUSES)]
pub(crate) struct ReviewArgs {
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,

    /// Prints what would change and writes nothing; also under CI
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The scenarios that are agreed to, and where their reports are.
#[derive(Debug, Args)]
pub(crate) struct ChosenArgs {
    /// The scenarios, by their names in `plimsoll::main!`; by default all that have
    /// something to accept
    #[arg(value_name = "SCENARIO", value_parser = scenario)]
    pub(crate) scenarios: Vec<String>,

    /// The package with the scenario, where several have one of that name
    #[arg(long, short, value_name = "NAME")]
    pub(crate) package: Option<String>,

    /// The test target with the scenario, where several have one of that name
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Option<String>,

    /// The run to take, by its id, in place of the newest of each test target
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

/// Says what a run found where a pull request is read: one comment, a check run,
/// notes at the lines to blame, the job's summary
///
/// The comment is made when something needs a person, and kept up to date from
/// then on. A report that is missing or cannot be read is said to be so; it never
/// counts as "no leaks".
#[derive(Debug, Args)]
#[command(after_help = COMMENT_HELP)]
pub(crate) struct CommentArgs {
    /// Folders or files with reports; several are shown as one
    #[arg(long, value_name = "DIR|FILE", required = true, num_args = 1..)]
    pub(crate) report: Vec<PathBuf>,

    /// The run to show, by its id, in place of the newest of each folder
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// The report was made by code that is not trusted, in another workflow run,
    /// whose end started this one; its word never makes a check green
    #[arg(long)]
    pub(crate) untrusted: bool,

    /// Prints what would be posted, and posts nothing; needs no token
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Tells several comments on one pull request apart
    #[arg(long, value_name = "KEY", default_value = "default")]
    pub(crate) key: Key,

    /// When to make a comment; one that is there is kept up to date but for `never`
    #[arg(long, value_enum, default_value_t = When::OnGrowth)]
    pub(crate) when: When,

    /// The check run's name; by default `plimsoll`, with the key where one is given
    #[arg(long, value_name = "NAME", value_parser = check_name)]
    pub(crate) check_name: Option<String>,

    /// Where flame graphs are kept for the comment to show them
    #[arg(long, value_enum, default_value_t = ImageHost::None)]
    pub(crate) image: ImageHost,

    /// Where the interactive report can be seen, for the comment to lead there
    #[arg(long, value_name = "URL")]
    pub(crate) artifact_url: Option<Url>,

    /// The account that the token writes as, by which our comment is known
    #[arg(long, value_name = "LOGIN", default_value = "github-actions[bot]")]
    pub(crate) bot_login: String,

    /// What becomes of this command where something cannot be posted
    #[arg(long, value_enum, default_value_t = OnPostError::Warn)]
    pub(crate) on_post_error: OnPostError,

    /// Leaves that out
    #[arg(long, value_enum, value_name = "PART")]
    pub(crate) skip: Vec<Part>,

    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

/// Takes the report from the run that has ended, for `comment --untrusted`
///
/// In a workflow that `workflow_run` starts. The artifact NAME-ATTEMPT of that
/// run is read, and checked: it has to be of this repository, of the pull
/// request that the run is of, of its head and of that run. Where there is none
/// that is, the file says why, for `comment` to repeat.
#[derive(Debug, Args)]
#[command(after_help = FETCH_HELP)]
pub(crate) struct FetchArgs {
    /// The file to write, for `report` and `comment`
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The artifact's name, without the attempt at its end
    #[arg(long, value_name = "NAME", default_value = "plimsoll-report")]
    pub(crate) artifact: String,

    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

/// Deletes the flame graphs of pull requests that are closed
///
/// Those that `comment --image branch` keeps, each on a branch of its own:
/// plimsoll-images/pr-NUMBER/KEY. Needs `contents: write`.
#[derive(Debug, Args)]
#[command(after_help = PRUNE_HELP)]
pub(crate) struct PruneArgs {
    /// Prints what would be deleted, and deletes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) github: GitHubArgs,
}

/// What to say it of.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// The pull request, in place of that of the event
    #[arg(long, value_name = "NUMBER")]
    pub(crate) pr: Option<u64>,

    /// The commit that was measured, in place of that of the event
    #[arg(long, value_name = "COMMIT")]
    pub(crate) sha: Option<Sha>,

    #[command(flatten)]
    pub(crate) github: GitHubArgs,
}

/// How to reach GitHub.
#[derive(Debug, Args)]
pub(crate) struct GitHubArgs {
    /// The repository, in place of that of the workflow
    #[arg(long, value_name = "OWNER/NAME")]
    pub(crate) repo: Option<Repository>,

    /// The longest to wait for GitHub's limits, in all
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = duration)]
    pub(crate) max_wait: Duration,

    /// The longest to wait for one answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// Also where nothing needs a person
    Always,
    /// Where something grows, or there is no result
    OnGrowth,
    /// No comment is made or changed
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageHost {
    /// As text alone
    None,
    /// On a branch without history, which needs `contents: write`
    Branch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnPostError {
    /// It warns, and exits with 0
    Warn,
    /// It exits with 5
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The job's summary page
    Summary,
    /// Notes that the runner reads from the output
    Annotations,
    /// The check run
    Check,
    /// The comment, and the flame graphs in it
    Comment,
}

/// An address that can stand in a link as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url(pub(crate) String);

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#&=%+,;@".contains(&byte);
        match text.starts_with("https://") && text.len() <= 2_000 && text.bytes().all(allowed) {
            true => Ok(Url(text.to_owned())),
            false => Err("expected an address that begins with `https://`".to_owned()),
        }
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_alphabetic()).len());
    let seconds = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = number
        .trim()
        .parse::<f64>()
        .map_or(f64::NAN, |n| n * seconds);
    // A day is more than GitHub gives a job.
    match (0.0..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("expected a time such as `30s`, `2m` or `500ms`, at most a day".to_owned()),
    }
}

fn check_name(text: &str) -> Result<String, String> {
    let plain = |c: char| !escape::is_hidden(c);
    match (1..=100).contains(&text.chars().count()) && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("expected 1 to 100 characters on one line".to_owned()),
    }
}

pub(crate) fn scenario(name: &str) -> Result<String, String> {
    if valid_scenario_name(name) {
        return Ok(name.to_owned());
    }
    Err(
        "no scenario can have that name: expected 1 to 100 of `A-Z a-z 0-9 _ - . :`, \
         neither a dot nor a dash first"
            .to_owned(),
    )
}

/// What is written for people. Nothing would take the place of what a file has.
fn words(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected some words; without the option, those of the file stay".to_owned()),
        _ => Ok(text.to_owned()),
    }
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

    /// What `--help` prints, of the whole and of each command.
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
        // Which pull requests are closed, is asked for.
        assert!(!prune("--pr", "7"));
        assert!(!prune("--sha", "2bc8970"));
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
