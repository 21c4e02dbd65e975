//! `cargo xtask simulate`: counts how often verdicts on sampled profiles are wrong.

#[path = "../../harness/core/tests/simulation/dumps.rs"]
mod dumps;
#[path = "../../harness/core/tests/simulation/model/mod.rs"]
mod model;
#[path = "../../harness/core/tests/simulation/random.rs"]
mod random;

use std::io::Write;
use std::sync::Mutex;

use clap::Parser;
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::report::units;

use self::model::{GROWING, LEAKS, Outcome, SHAPES, Verdicts};

/// The mean number of bytes between two samples.
const INTERVALS: [u64; 4] = [1, 512, 4_096, 65_536];

/// Judges many healthy workloads and many leaks, and prints the tables of
/// which `docs/how-it-measures.md` and `docs/watch.md` show a part.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Healthy workloads of each shape, at each interval.
    #[arg(long, default_value_t = 100_000)]
    runs: u64,
    /// Other workloads than those of the tables.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// One row of results: a shape of workload, whether it is a growing one, and the sample
/// interval.
#[derive(Clone, Copy)]
struct Cell {
    name: &'static str,
    shape: usize,
    grows: bool,
    interval: SampleInterval,
}

impl Cell {
    fn outcome(self, args: &Args) -> Outcome {
        let (runs, seed) = (args.runs, args.seed);
        match self.grows {
            true => Outcome {
                healthy: model::simulate_growing(self.shape, self.interval, runs, seed),
                ..Outcome::default()
            },
            false => model::simulate(self.shape, (self.interval, true), runs, seed),
        }
    }
}

fn cells() -> Vec<Cell> {
    let healthy = SHAPES.iter().enumerate().map(|shape| (shape, false));
    let growing = GROWING.iter().enumerate().map(|shape| (shape, true));
    healthy
        .chain(growing)
        .flat_map(|shape| INTERVALS.map(|bytes| (shape, bytes)))
        .filter_map(|(((shape, (name, _)), grows), bytes)| {
            Some(Cell {
                name,
                shape,
                grows,
                interval: SampleInterval::new(bytes)?,
            })
        })
        .collect()
}

/// Simulates all workloads and prints the tables.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let cells = cells();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut outcomes = vec![Outcome::default(); cells.len()];
    let queue = Mutex::new(cells.iter().zip(&mut outcomes));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let next = || queue.lock().ok()?.next();
                while let Some((cell, outcome)) = next() {
                    *outcome = cell.outcome(args);
                }
            });
        }
    });
    let mut out = std::io::stdout().lock();
    let done = || cells.iter().zip(&outcomes);
    let healthy = done().filter(|(cell, _)| !cell.grows);
    write_shapes(&mut out, "healthy workload", healthy)?;
    writeln!(
        out,
        "\n| leak, at twice what the run would have seen | sample interval | runs | found | inconclusive | within |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|")?;
    for (leak, name) in LEAKS.iter().enumerate() {
        for bytes in INTERVALS {
            let mut sum = Verdicts::default();
            for (cell, outcome) in done() {
                if cell.interval.bytes() == bytes {
                    sum.add(outcome.leaks[leak]);
                }
            }
            let interval = SampleInterval::new(bytes).filter(|_| sum.runs() > 0);
            let (runs, Some(interval)) = (sum.runs(), interval) else {
                continue;
            };
            writeln!(
                out,
                "| {name} | {} | {} | {:.3} % | {} | {} |",
                interval_words(interval),
                units::count(runs),
                100.0 * sum.regressed as f64 / runs as f64,
                units::count(sum.inconclusive),
                units::count(sum.within),
            )?;
        }
    }
    writeln!(out)?;
    let growing = done().filter(|(cell, _)| cell.grows);
    write_shapes(&mut out, "growth that leaves nothing old behind", growing)?;
    write_dumps(&mut out, "healthy stack", &dumps::HEALTHY, args)?;
    write_dumps(&mut out, "leak", &dumps::LEAKING, args)?;
    Ok(true)
}

/// Writes which share of the stacks in dumps of a running process go on growing, in percent, and
/// which perhaps.
fn write_dumps(
    out: &mut impl Write,
    title: &str,
    shapes: &[dumps::Shape],
    args: &Args,
) -> std::io::Result<()> {
    let head = dumps::DUMPS.map(|dumps| match dumps {
        0 => "ladder".to_owned(),
        dumps => format!("{dumps} dumps"),
    });
    writeln!(
        out,
        "\n| {title} | {} |\n|---{}|",
        head.join(" | "),
        "|--:".repeat(head.len())
    )?;
    for shape in shapes {
        let cells = dumps::DUMPS.map(|dumps| {
            let [_, perhaps, yes] = dumps::simulate(*shape, dumps, args.runs, args.seed);
            let share = |count: u64| 100.0 * count as f64 / args.runs as f64;
            format!("{:.1} ({:.0})", share(yes), share(perhaps))
        });
        writeln!(out, "| {} | {} |", shape.0, cells.join(" | "))?;
    }
    Ok(())
}

/// Writes how often the workloads of each shape had each verdict.
fn write_shapes<'a>(
    out: &mut impl Write,
    title: &str,
    outcomes: impl Iterator<Item = (&'a Cell, &'a Outcome)>,
) -> std::io::Result<()> {
    writeln!(
        out,
        "| {title} | sample interval | runs | regressed | inconclusive | within | of them coarser |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|--:|")?;
    for (cell, outcome) in outcomes {
        let verdicts = outcome.healthy;
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            cell.name,
            interval_words(cell.interval),
            units::count(verdicts.runs()),
            units::count(verdicts.regressed),
            units::count(verdicts.inconclusive),
            units::count(verdicts.within),
            units::count(outcome.coarser),
        )?;
    }
    Ok(())
}

fn interval_words(interval: SampleInterval) -> String {
    match interval.is_exact() {
        true => "exact".to_owned(),
        false => units::bytes(interval.bytes() as f64),
    }
}
