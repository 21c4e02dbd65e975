//! Runs a zoo: published leaks, which have to be flagged with their culprit named, and fixed
//! versions and controls, which have to pass.
//!
//! ```text
//! DIR/cases.toml ── manifest ──► Case          what there is and what is expected
//! Case           ── adapter ───► a package     in the target directory, under zoo/
//! package        ── build ─────► Built         one after another: cargo uses all cores
//! Built          ── run ───────► Run           side by side, through the real front
//! Run            ── outcome ───► right or not
//! Outcome        ── table ─────► text, JSON
//! ```
//!
//! Everything is built before the first test runs, because a compiler beside a test would use
//! up the test's time budget.

mod adapter;
mod build;
mod glob;
mod manifest;
mod outcome;
mod run;
mod table;

use std::collections::VecDeque;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ValueEnum;
use plimsoll_desk::out;
use plimsoll_desk::parse::duration;
use plimsoll_desk::project::Project;

use adapter::{Adapter, Places};
use build::{Built, Profile};
use manifest::{Case, Expected, Variant};
use outcome::Outcome;
use run::{Limits, Run};

const STATUSES: &str = "\
Exit status:
  0  every row is right
  1  one is not: another verdict than expected, the culprit or who holds it not
     named, not built
  2  invalid arguments, or an invalid zoo";

/// Runs a zoo of published leaks, and says which verdicts are wrong
///
/// DIR has a cases.toml, and a package for each variant of each case; it is only
/// read. Each is built into a test that runs it as a scenario. A leaky variant
/// has to be regressed, and one of the places to blame that a failing test shows
/// has to name its culprit, and who holds it has to be known; any other has to be
/// within.
#[derive(Debug, clap::Args)]
#[command(after_help = STATUSES)]
pub(crate) struct Args {
    /// The folder with the zoo's cases.toml
    dir: PathBuf,

    /// Only these cases, by id; `*` and `?` as in a shell
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,

    /// Only these variants
    #[arg(long = "variant", value_name = "VARIANT", value_enum)]
    variants: Vec<Variant>,

    /// Builds without optimisation, in place of the release profile
    #[arg(long)]
    debug: bool,

    /// Tests that run side by side: as many as there are cores, unless set
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Time for each ladder, as `10s` or `500ms`, in place of the harness's own
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,

    /// Samples one in so many bytes in place of every allocation: a power of two. A
    /// run that says that it cannot tell is right then, as well
    #[arg(long, value_name = "BYTES")]
    sample_interval: Option<u64>,

    /// Runs each so often, and demands the right verdict every time
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZeroUsize,

    /// How to print it: `text` for people, `json` for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Copies what each run leaves (report, dumps, output) to a folder in this one
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// One variant of a case that is to be run.
#[derive(Clone, Debug)]
struct Job {
    case: Case,
    variant: Variant,
    expected: Expected,
    /// Whether *inconclusive* is right as well, because the profile is sampled.
    may_be_unsure: bool,
}

/// Returns whether every row is right.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let started = Instant::now();
    let zoo = fs::canonicalize(&args.dir).with_context(|| args.dir.display().to_string())?;
    let jobs = selected(&read_manifest(&zoo)?, args)?;
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let workspace = workspace.context("xtask is in no workspace")?;
    let project = Project::find(Some(&workspace.join("Cargo.toml")))?;
    let places = Places {
        zoo,
        plimsoll: workspace.join("harness/measure"),
        work: project.target_dir().join("zoo"),
    };
    let profile = match args.debug {
        true => Profile::Debug,
        false => Profile::Release,
    };

    let mut out = Out::new(args.format);
    out.print(table::HEAD)?;
    let (ready, mut outcomes) = build_all(&jobs, &places, profile, &mut out)?;
    outcomes.extend(run_all(ready, args, &places, &mut out)?);
    outcomes.sort_by_key(|(index, _)| *index);
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();

    out.print(&table::details(&outcomes))?;
    let seconds = started.elapsed().as_secs_f64();
    out.print(&table::summary(&outcomes, profile, seconds))?;
    if args.format == Format::Json {
        out.stdout.print(&table::json(&outcomes, profile)?)?;
    }
    Ok(outcomes.iter().all(|outcome| outcome.wrong().is_none()))
}

fn read_manifest(zoo: &Path) -> anyhow::Result<Vec<Case>> {
    let path = zoo.join("cases.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    manifest::parse(&text).with_context(|| path.display().to_string())
}

fn selected(cases: &[Case], args: &Args) -> anyhow::Result<Vec<Job>> {
    for pattern in &args.cases {
        if !cases.iter().any(|case| glob::matches(pattern, &case.id)) {
            bail!("no case has an id like `{pattern}`");
        }
    }
    let asked = |case: &&Case| {
        let like = |pattern: &String| glob::matches(pattern, &case.id);
        args.cases.is_empty() || args.cases.iter().any(like)
    };
    let mut jobs = Vec::new();
    for case in cases.iter().filter(asked) {
        for (variant, expected) in &case.variants {
            if args.variants.is_empty() || args.variants.contains(variant) {
                jobs.push(Job {
                    case: case.clone(),
                    variant: *variant,
                    expected: *expected,
                    may_be_unsure: args.sample_interval.is_some(),
                });
            }
        }
    }
    if jobs.is_empty() {
        bail!("no case has a variant that was asked for");
    }
    Ok(jobs)
}

type Ready = (usize, Job, Adapter, Built);
/// An outcome, and its row in the table.
type Placed = (usize, Outcome);

/// Builds one adapter after another. If a build fails, its outcome is already known.
fn build_all(
    jobs: &[Job],
    places: &Places,
    profile: Profile,
    out: &mut Out,
) -> anyhow::Result<(VecDeque<Ready>, Vec<Placed>)> {
    let mut ready = VecDeque::new();
    let mut failed = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let (id, variant) = (&job.case.id, job.variant.as_str());
        let (nth, all) = (index + 1, jobs.len());
        out.progress(&format!("building {nth} of {all}: {id} {variant}"));
        let started = Instant::now();
        let built = adapter::write(places, &job.case, job.variant)
            .map_err(|err| format!("{err:#}"))
            .and_then(|adapter| {
                let built = build::build(&adapter, &shared_target(places), profile)?;
                Ok((adapter, built))
            });
        match built {
            Ok((adapter, built)) => ready.push_back((index, job.clone(), adapter, built)),
            Err(said) => {
                let outcome = Outcome {
                    job: job.clone(),
                    runs: Err(said),
                    build: started.elapsed(),
                    note: None,
                };
                out.print(&table::row(&outcome))?;
                failed.push((index, outcome));
            }
        }
    }
    Ok((ready, failed))
}

fn shared_target(places: &Places) -> PathBuf {
    places.work.join("target")
}

/// Runs the tests side by side, and prints each row when it is known.
fn run_all(
    ready: VecDeque<Ready>,
    args: &Args,
    places: &Places,
    out: &mut Out,
) -> anyhow::Result<Vec<Placed>> {
    let all = ready.len();
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = args.jobs.map_or(cores, NonZeroUsize::get).min(all);
    let queue = Mutex::new(ready);
    let (send, receive) = mpsc::channel();
    let mut outcomes = Vec::new();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (queue, send) = (&queue, send.clone());
            scope.spawn(move || {
                let next = || queue.lock().ok()?.pop_front();
                while let Some((index, job, adapter, built)) = next() {
                    let runs = repeat(&job, &adapter, &built, args, &shared_target(places));
                    // Nobody receives if a row could not be printed.
                    if send.send((index, job, built, runs)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        out.progress(&format!("running {all}, {workers} at a time"));
        for (index, job, built, runs) in receive {
            let outcome = Outcome {
                job,
                runs: Ok(runs?),
                build: built.took,
                note: built.note,
            };
            out.print(&table::row(&outcome))?;
            outcomes.push((index, outcome));
            let ran = outcomes.len();
            out.progress(&format!("ran {ran} of {all}, {workers} at a time"));
        }
        anyhow::Ok(())
    })?;
    out.progress("");
    Ok(outcomes)
}

/// Repeats a test. The runs follow one another, because they share the folder of their
/// reports.
fn repeat(
    job: &Job,
    adapter: &Adapter,
    built: &Built,
    args: &Args,
    target_dir: &Path,
) -> anyhow::Result<Vec<Run>> {
    let limits = Limits {
        budget: args.budget,
        sample_interval: args.sample_interval,
    };
    let mut runs = Vec::new();
    for nth in 1..=args.repeat.get() {
        let run = run::run(adapter, built, target_dir, limits);
        if let Some(keep) = &args.keep {
            let mut to = keep.join(format!("{}-{}", job.case.id, job.variant.as_str()));
            if args.repeat.get() > 1 {
                to.push(nth.to_string());
            }
            run::keep(adapter, &run, target_dir, &to).with_context(|| to.display().to_string())?;
        }
        runs.push(run);
    }
    Ok(runs)
}

/// The table on standard output, and the progress on a terminal.
struct Out {
    format: Format,
    stdout: out::Out,
    progress: bool,
}

impl Out {
    fn new(format: Format) -> Out {
        Out {
            format,
            stdout: out::Out::new(),
            progress: io::stderr().is_terminal(),
        }
    }

    /// Prints a part of the table. Programs get JSON at the end instead.
    fn print(&mut self, text: &str) -> io::Result<()> {
        if self.format == Format::Json {
            return Ok(());
        }
        self.progress("");
        self.stdout.print(text)
    }

    fn progress(&mut self, text: &str) {
        if self.progress {
            // Nothing is lost if progress cannot be shown.
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }
}
