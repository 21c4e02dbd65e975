//! Healthy workloads and leaks, as a sampling profiler would have printed them.
//!
//! Every object is sampled, or not, when it is allocated, and keeps that and its
//! generation until it is freed. So the objects of a stack are two heaps for each
//! generation, the sampled ones and the others, and what is freed between two
//! rungs comes from all of them.

mod behaviour;
mod pool;
mod shapes;

use std::collections::BTreeMap;

use plimsoll_core::baseline::Baseline;
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::judge::{
    Assessment, COARSEST_THRESHOLD, Observed, Policy, Verdict, iterations_to_conclude, judge,
};
use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, rung};
use plimsoll_core::{FoldedStack, Series, Tally};

use self::behaviour::{Alive, Behaviour, Pace, add};
pub(crate) use self::shapes::{GROWING, SHAPES};
use self::shapes::{Shape, Stacks, base, push};
use super::random::Random;

/// Rungs between one budget and three: three times as many iterations.
const PATIENCE: usize = 6;

/// A workload: what its stacks do, by the folded stack that they are under.
/// Several under one folded stack are of several callers' inlined copies.
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) stacks: Stacks,
    /// At each rung, up to an octave after three budgets.
    pub(crate) iterations: Vec<u64>,
    pub(crate) interval: SampleInterval,
    /// Whether the profile tells when objects were born; else there are levels alone.
    pub(crate) births: bool,
}

impl Workload {
    /// What is sampled of every stack in one run.
    fn run(&self, random: &mut Random) -> Vec<(&'static str, Alive)> {
        let stacks = self.stacks.iter().map(|(names, behaviour)| {
            let alive = behaviour.run(random, &self.iterations, self.interval);
            (*names, alive)
        });
        stacks.collect()
    }

    /// How many rungs there are when the budget is spent.
    fn rungs(&self) -> usize {
        self.iterations.len() - PATIENCE - RUNGS_PER_OCTAVE
    }

    /// Judges what was sampled when the budget is spent, or, as the front, later: as long as it is
    /// *inconclusive*, and an octave after it was *regressed*. Says how many rungs there were then.
    fn judged(&self, sampled: &[(&'static str, Alive)]) -> (Assessment, usize) {
        let (mut rungs, mut accused_at) = (self.rungs(), None);
        loop {
            let judged = self.judged_after(rungs, sampled);
            rungs = match (judged.verdict, accused_at) {
                (Verdict::Regressed, None) => {
                    accused_at = Some(rungs);
                    rungs + RUNGS_PER_OCTAVE
                }
                (Verdict::Inconclusive, _) if rungs < self.rungs() + PATIENCE => {
                    accused_at = None;
                    rungs + 1
                }
                _ => return (judged, rungs),
            };
        }
    }

    /// Judges what was sampled at the first so many rungs.
    fn judged_after(&self, rungs: usize, sampled: &[(&'static str, Alive)]) -> Assessment {
        let mut stacks: BTreeMap<FoldedStack, Series> = BTreeMap::new();
        for (names, alive) in sampled {
            let stack = FoldedStack(names.split(';').map(str::to_owned).collect());
            let level = |alive: &Vec<Tally>| {
                alive.iter().fold(Tally::default(), |mut level, born| {
                    level += *born;
                    level
                })
            };
            let series = match self.births {
                true => Series::of_births(self.interval, &alive[..rungs]),
                false => Series::new(alive[..rungs].iter().map(level).collect()),
            };
            stacks.entry(stack).or_default().merge(&series);
        }
        // As the front: what did not move is not there.
        stacks.retain(|_, series| !series.is_flat());
        let observed = Observed {
            stacks,
            iterations: self.iterations[..rungs].to_vec(),
            interval: self.interval,
            ..Observed::default()
        };
        judge(&observed, &Baseline::default(), &Policy::TOP)
    }
}

/// A ladder that a front would run at that interval: from half of what the
/// coarsest threshold takes to 64 times that.
pub(crate) fn ladder(random: &mut Random, interval: SampleInterval) -> Vec<u64> {
    let needed = iterations_to_conclude(None, COARSEST_THRESHOLD, interval).max(16_384) as f64;
    let last = random.magnitude(0.5 * needed, 64.0 * needed).min(1e8) as u64;
    (0..).map(rung).take_while(|n| *n <= last).collect()
}

/// How often which verdict was said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) within: u64,
    pub(crate) inconclusive: u64,
    pub(crate) regressed: u64,
}

impl Verdicts {
    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Regressed => self.regressed += 1,
            Verdict::Inconclusive => self.inconclusive += 1,
            _ => self.within += 1,
        }
    }

    pub(crate) fn runs(&self) -> u64 {
        self.within + self.inconclusive + self.regressed
    }

    pub(crate) fn add(&mut self, other: Verdicts) {
        self.within += other.within;
        self.inconclusive += other.inconclusive;
        self.regressed += other.regressed;
    }
}

/// Leaks, and where they are planted.
pub(crate) const LEAKS: [&str; 14] = [
    "8 B, on a stack of its own",
    "64 B, on a stack of its own",
    "1 KiB at random, on a stack of its own",
    "rare objects of the interval's size",
    "a `Vec` that doubles",
    "32 B, under the workload's own names",
    "32 B, on the workload's very stack",
    "48 B, on a stack with a million others",
    "64 B at random, on the workload's very stack",
    "in bursts, on a stack of its own",
    "in bursts, on the workload's very stack",
    "begins late",
    "a `Vec` that doubles, on the workload's very stack",
    "64 B at random, on four stacks of one site",
];

/// The stack that a leak is planted on.
#[derive(Clone, Copy)]
enum Place {
    Own,
    /// Other addresses, but the same names.
    SameNames,
    SameAddresses,
    /// Where a million other objects are from the start.
    Million,
    /// On each of these, and so as many times in all.
    Site([&'static str; 4]),
}

/// Twice what a run says that it would have seen, of a kind of leak: per iteration, in bytes of a
/// `Vec` and in objects of the others.
fn twice_what_is_seen(which: usize, seen: &Assessment) -> Option<f64> {
    let visible = seen.visible?;
    Some(match which {
        3 => 2.0 / seen.rarest?.iterations as f64,
        4 | 12 => 2.0 * visible.bytes?,
        _ => 2.0 * visible.objects?,
    })
}

/// A leak of that rate, and its stack.
fn leak(
    which: usize,
    rate: f64,
    interval: SampleInterval,
    random: &mut Random,
    last: u64,
) -> (Place, Behaviour) {
    use Place::{Million, Own, SameAddresses, SameNames, Site};

    let paced = |size, pace| shapes::leak(rate, size, pace, 0);
    let mut in_bursts = || {
        let (every, phase) = (last as f64 / 32.0, random.unit());
        paced(64, Pace::Bursts { every, phase })
    };
    match which {
        0 => (Own, paced(8, Pace::Even)),
        1 => (Own, paced(64, Pace::Even)),
        2 => (Own, paced(1_024, Pace::Random)),
        3 => (Own, paced(interval.bytes(), Pace::Even)),
        4 => (Own, push(rate)),
        5 => (SameNames, paced(32, Pace::Even)),
        6 => (SameAddresses, paced(32, Pace::Even)),
        7 => (Million, paced(48, Pace::Even)),
        8 => (SameAddresses, paced(64, Pace::Random)),
        9 => (Own, in_bursts()),
        10 => (SameAddresses, in_bursts()),
        11 => (Own, shapes::leak(rate, 64, Pace::Even, last / 8)),
        12 => (SameAddresses, push(rate)),
        _ => {
            let site = ["main;a;leak", "main;b;leak", "main;c;leak", "main;d;leak"];
            let each = rate / site.len() as f64;
            (Site(site), shapes::leak(each, 64, Pace::Random, 0))
        }
    }
}

/// What came of many runs of one shape at one interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) healthy: Verdicts,
    /// Of those within, how many are so at a coarser threshold than a workload that never
    /// moves, on the same ladder.
    pub(crate) coarser: u64,
    pub(crate) leaks: [Verdicts; LEAKS.len()],
}

/// The numbers for one shape at one interval; `seed` tells apart who asks.
fn numbers(shape: usize, interval: SampleInterval, seed: u64) -> Random {
    Random(seed ^ (shape as u64) << 32 ^ interval.bytes() << 40)
}

/// How a workload is profiled: the interval, and whether births are known.
pub(crate) type Profiled = (SampleInterval, bool);

/// One workload of a shape.
fn drawn((_, draw): Shape, random: &mut Random, (interval, births): Profiled) -> Workload {
    let mut iterations = ladder(random, interval);
    let last = iterations.last().copied().unwrap_or(0);
    let rungs = iterations.len();
    iterations.extend((rungs..rungs + PATIENCE + RUNGS_PER_OCTAVE).map(rung));
    Workload {
        stacks: draw.stacks(random, last),
        iterations,
        interval,
        births,
    }
}

/// Judges so many healthy workloads of a shape, and plants a leak into each that
/// is *within*, of every kind in turn.
pub(crate) fn simulate(shape: usize, profiled: Profiled, runs: u64, seed: u64) -> Outcome {
    let (interval, _) = profiled;
    let mut outcome = Outcome::default();
    let mut random = numbers(shape, interval, seed);
    for run in 0..runs {
        let healthy = drawn(SHAPES[shape], &mut random, profiled);
        let mut noise = Random(random.next());
        let sampled = healthy.run(&mut noise);
        let (seen, rungs) = healthy.judged(&sampled);
        outcome.healthy.count(seen.verdict);
        // What a workload is held to that never moves.
        let still = healthy.judged_after(rungs, &[]).threshold;
        if seen.verdict == Verdict::Within && seen.threshold.iterations < still.iterations {
            outcome.coarser += 1;
        }
        let which = run as usize % LEAKS.len();
        let rate = twice_what_is_seen(which, &seen).filter(|_| seen.verdict == Verdict::Within);
        let Some(rate) = rate else {
            continue;
        };
        let iterations = &healthy.iterations;
        let last = iterations[rungs - 1];
        let (place, leak) = leak(which, rate, interval, &mut noise, last);
        let mut leaked = leak.run(&mut noise, iterations, interval);
        let mut leaking = sampled.clone();
        match place {
            Place::Own => leaking.push(("main;leak", leaked)),
            Place::SameNames => leaking.push((sampled[0].0, leaked)),
            Place::SameAddresses => add(&mut leaking[0].1, &leaked),
            Place::Million => {
                let others = base(1_000_000, 48).run(&mut noise, iterations, interval);
                add(&mut leaked, &others);
                leaking.push(("main;leak", leaked));
            }
            Place::Site([first, others @ ..]) => {
                leaking.push((first, leaked));
                let more = others.map(|name| (name, leak.run(&mut noise, iterations, interval)));
                leaking.extend(more);
            }
        }
        let (found, ended) = healthy.judged(&leaking);
        // Where the ladder went on, a run says what it would have seen by then.
        let is_promised = || {
            let seen = healthy.judged_after(ended, &sampled);
            twice_what_is_seen(which, &seen).is_some_and(|promised| promised <= rate)
        };
        if found.verdict == Verdict::Regressed || ended == rungs || is_promised() {
            outcome.leaks[which].count(found.verdict);
        }
    }
    outcome
}

/// Judges so many workloads that grow and leave nothing old behind.
pub(crate) fn simulate_growing(
    shape: usize,
    interval: SampleInterval,
    runs: u64,
    seed: u64,
) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let mut random = numbers(SHAPES.len() + shape, interval, seed);
    for _ in 0..runs {
        let growing = drawn(GROWING[shape], &mut random, (interval, true));
        let mut noise = Random(random.next());
        let sampled = growing.run(&mut noise);
        verdicts.count(growing.judged(&sampled).0.verdict);
    }
    verdicts
}
