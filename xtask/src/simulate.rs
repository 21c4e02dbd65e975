//! `cargo xtask simulate`: how often verdicts on sampled profiles are wrong.

#[path = "../../harness/core/tests/simulation/model.rs"]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of a model, from positive numbers within its range"
)]
mod model;
#[path = "../../harness/core/tests/simulation/random.rs"]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of a model, from positive numbers within its range"
)]
mod random;

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::report::units;

use self::model::{LEAKS, Outcome, SHAPES, Verdicts};

/// Bytes between samples, on the mean.
const INTERVALS: [u64; 4] = [1, 512, 4_096, 65_536];

/// Judges many healthy workloads and many leaks, and prints the tables that
/// stand in `docs/how-it-measures.md`.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Healthy workloads of each shape, at each interval.
    #[arg(long, default_value_t = 100_000)]
    runs: u64,
    /// Other workloads than those of the tables.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Only shapes with this in their name.
    #[arg(long, default_value = "")]
    only: String,
    /// Only profiles that are sampled so; 1 is an exact one.
    #[arg(long)]
    interval: Option<u64>,
    /// Threads; as many as there are cores, unless it is set.
    #[arg(long)]
    jobs: Option<usize>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let cells: Vec<(usize, SampleInterval)> = (0..SHAPES.len())
        .flat_map(|shape| INTERVALS.map(|bytes| (shape, bytes)))
        .filter(|(shape, _)| SHAPES[*shape].0.contains(&args.only))
        .filter(|(_, bytes)| args.interval.is_none_or(|only| *bytes == only))
        .filter_map(|(shape, bytes)| Some((shape, SampleInterval::new(bytes)?)))
        .collect();
    let jobs = args
        .jobs
        .or_else(|| std::thread::available_parallelism().ok().map(usize::from))
        .unwrap_or(1);
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![Outcome::default(); cells.len()]);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let cell = next.fetch_add(1, Ordering::Relaxed);
                    let Some((shape, interval)) = cells.get(cell) else {
                        return;
                    };
                    let outcome = model::simulate(*shape, *interval, args.runs, args.seed);
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes[cell] = outcome;
                    }
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_default();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| healthy workload | sample interval | runs | regressed | inconclusive | within |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|")?;
    for ((shape, interval), outcome) in cells.iter().zip(&outcomes) {
        let Verdicts {
            within,
            inconclusive,
            regressed,
        } = outcome.healthy;
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            SHAPES[*shape].0,
            interval_words(*interval),
            units::count(outcome.healthy.runs()),
            units::count(regressed),
            units::count(inconclusive),
            units::count(within),
        )?;
    }
    writeln!(
        out,
        "\n| leak, at twice what the run would have seen | sample interval | runs | found | inconclusive | within |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|")?;
    for (leak, name) in LEAKS.iter().enumerate() {
        for bytes in INTERVALS {
            let mut sum = Verdicts::default();
            for ((_, interval), outcome) in cells.iter().zip(&outcomes) {
                if interval.bytes() == bytes {
                    sum.add(outcome.leaks[leak]);
                }
            }
            let (runs, Some(interval)) = (sum.runs(), SampleInterval::new(bytes)) else {
                continue;
            };
            if runs == 0 {
                continue;
            }
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
    Ok(true)
}

fn interval_words(interval: SampleInterval) -> String {
    match interval.is_exact() {
        true => "exact".to_owned(),
        false => units::bytes(interval.bytes() as f64),
    }
}
