//! Runs a zoo: published leaks, which have to be flagged with their culprit named, and fixed
//! versions and controls, which have to pass.
//!
//! ```text
//! DIR/cases.toml ── manifest ──► Case          what there is and what is expected
//! Case           ── adapter ───► a package     in the target directory, under zoo/
//! package        ── build ─────► Built         one after another: cargo uses all cores
//! Built          ── run ───────► Run           side by side, through the real front
//! Run            ── outcome ───► right or not
//! Outcome        ── table ─────► text
//! ```
//!
//! Everything is built before the first test runs, because a compiler beside a test would use
//! up the test's time budget.

mod adapter;
mod build;
mod manifest;
mod outcome;
mod run;
mod table;

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use plimsoll_desk::out::Out;
use plimsoll_desk::parse::duration;
use plimsoll_desk::progress::Progress;
use plimsoll_desk::project::Project;

use adapter::{Adapter, Places};
use build::Built;
use manifest::{Case, Expected, Variant};
use outcome::Outcome;
use run::Run;

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

    /// Only these cases, by id
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,

    /// Only these variants
    #[arg(long = "variant", value_name = "VARIANT", value_enum)]
    variants: Vec<Variant>,

    /// Time for each ladder, as `10s` or `500ms`, in place of the harness's own
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,

    /// Copies what each run leaves (report, dumps, output) to a folder in this one
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// One variant of a case that is to be run.
#[derive(Clone, Debug)]
struct Job {
    case: Case,
    variant: Variant,
    expected: Expected,
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
    let mut screen = Screen {
        stdout: Out::new(),
        progress: Progress::new(),
    };
    screen.print(table::HEAD)?;
    let (ready, mut outcomes) = build_all(&jobs, &places, &mut screen)?;
    outcomes.extend(run_all(ready, args, &places, &mut screen)?);
    outcomes.sort_by_key(|(index, _)| *index);
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();

    screen.print(&table::details(&outcomes))?;
    let seconds = started.elapsed().as_secs_f64();
    screen.print(&table::summary(&outcomes, seconds))?;
    Ok(outcomes.iter().all(|outcome| outcome.wrong().is_none()))
}

/// The table on standard output, and the progress on a terminal.
struct Screen {
    stdout: Out,
    progress: Progress,
}

impl Screen {
    fn print(&mut self, text: &str) -> io::Result<()> {
        self.progress.clear();
        self.stdout.print(text)
    }
}

fn read_manifest(zoo: &Path) -> anyhow::Result<Vec<Case>> {
    let path = zoo.join("cases.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    manifest::parse(&text).with_context(|| path.display().to_string())
}

fn selected(cases: &[Case], args: &Args) -> anyhow::Result<Vec<Job>> {
    for id in &args.cases {
        if !cases.iter().any(|case| case.id == *id) {
            bail!("no case has the id `{id}`");
        }
    }
    let asked = |case: &&Case| args.cases.is_empty() || args.cases.contains(&case.id);
    let mut jobs = Vec::new();
    for case in cases.iter().filter(asked) {
        for variant in &case.variants {
            if args.variants.is_empty() || args.variants.contains(variant) {
                jobs.push(Job {
                    case: case.clone(),
                    variant: *variant,
                    expected: case.expect[variant],
                });
            }
        }
    }
    if jobs.is_empty() {
        bail!("no case has a variant that was asked for");
    }
    Ok(jobs)
}

/// What is ready to run, and its row in the table.
type Ready = (usize, Job, Adapter, Built);
/// An outcome, and its row in the table.
type Placed = (usize, Outcome);

/// Builds one adapter after another. If a build fails, its outcome is already known.
fn build_all(
    jobs: &[Job],
    places: &Places,
    screen: &mut Screen,
) -> anyhow::Result<(Vec<Ready>, Vec<Placed>)> {
    let mut ready = Vec::new();
    let mut failed = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let (id, variant) = (&job.case.id, job.variant.as_str());
        let (nth, all) = (index + 1, jobs.len());
        let doing = format!("building {nth} of {all}: {id} {variant}");
        let started = Instant::now();
        let built = screen.progress.during(&doing, || {
            let adapter = adapter::write(places, &job.case, job.variant);
            let adapter = adapter.map_err(|err| format!("{err:#}"))?;
            let built = build::build(&adapter, &shared_target(places))?;
            Ok((adapter, built))
        });
        match built {
            Ok((adapter, built)) => ready.push((index, job.clone(), adapter, built)),
            Err(said) => {
                let outcome = Outcome {
                    job: job.clone(),
                    run: Err(said),
                    build: started.elapsed(),
                    note: None,
                };
                screen.print(&table::row(&outcome))?;
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
    ready: Vec<Ready>,
    args: &Args,
    places: &Places,
    screen: &mut Screen,
) -> anyhow::Result<Vec<Placed>> {
    let all = ready.len();
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = cores.min(all);
    let queue = Mutex::new(ready.into_iter());
    let (send, receive) = mpsc::channel();
    let mut outcomes = Vec::new();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (queue, send) = (&queue, send.clone());
            scope.spawn(move || {
                let next = || queue.lock().ok()?.next();
                while let Some((index, job, adapter, built)) = next() {
                    let run = run_one(&job, &adapter, &built, args, &shared_target(places));
                    let outcome = run.map(|run| Outcome {
                        job,
                        run: Ok(run),
                        build: built.took,
                        note: built.note,
                    });
                    // Nobody receives if a row could not be printed.
                    if send.send((index, outcome)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let ran = |n: usize| format!("ran {n} of {all}, {workers} at a time");
        screen.progress.doing(&ran(0));
        for (index, outcome) in receive {
            let outcome = outcome?;
            screen.print(&table::row(&outcome))?;
            outcomes.push((index, outcome));
            screen.progress.doing(&ran(outcomes.len()));
        }
        anyhow::Ok(())
    })?;
    Ok(outcomes)
}

/// Runs a test, and keeps what it leaves if that was asked for.
fn run_one(
    job: &Job,
    adapter: &Adapter,
    built: &Built,
    args: &Args,
    target_dir: &Path,
) -> anyhow::Result<Run> {
    let run = run::run(adapter, built, target_dir, args.budget);
    if let Some(keep) = &args.keep {
        let to = keep.join(format!("{}-{}", job.case.id, job.variant.as_str()));
        run::keep(adapter, &run, target_dir, &to).with_context(|| to.display().to_string())?;
    }
    Ok(run)
}
