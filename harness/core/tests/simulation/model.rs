//! Healthy workloads and leaks, as a sampling profiler would have printed them.
//!
//! Every object is sampled, or not, when it is allocated, and keeps that until
//! it is freed. So the objects of a stack are two heaps, the sampled ones and the
//! others, and what is freed between two rungs comes from both.

use std::collections::BTreeMap;

use plimsoll_core::baseline::Baseline;
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::judge::{Assessment, Observed, Policy, Verdict, iterations_to_conclude, judge};
use plimsoll_core::ladder::rung;
use plimsoll_core::{FoldedStack, Rate, Series, Tally};

use super::random::Random;

/// Objects of one size, in one place.
#[derive(Clone, Debug)]
struct Pool {
    size: u64,
    probability: f64,
    sampled: u64,
    others: u64,
}

impl Pool {
    fn new(size: u64, interval: SampleInterval) -> Pool {
        Pool {
            size,
            probability: interval.probability(size as f64),
            sampled: 0,
            others: 0,
        }
    }

    fn live(&self) -> u64 {
        self.sampled + self.others
    }

    fn allocate(&mut self, random: &mut Random, objects: u64) {
        let sampled = random.binomial(objects, self.probability);
        self.sampled += sampled;
        self.others += objects - sampled;
    }

    /// Frees so many, whichever (drawn with replacement, and cut to what there is).
    fn free(&mut self, random: &mut Random, objects: u64) {
        let share = self.sampled as f64 / self.live().max(1) as f64;
        let objects = objects.min(self.live());
        let least = objects.saturating_sub(self.others);
        let sampled = random
            .binomial(objects, share)
            .clamp(least, self.sampled.min(objects));
        self.sampled -= sampled;
        self.others -= objects - sampled;
    }

    /// Each object lives on with that probability.
    fn survive(&mut self, random: &mut Random, probability: f64) {
        self.sampled = random.binomial(self.sampled, probability);
        self.others = random.binomial(self.others, probability);
    }

    /// Allocates or frees until there are so many.
    fn reach(&mut self, random: &mut Random, objects: u64) {
        match objects.checked_sub(self.live()) {
            Some(more) => self.allocate(random, more),
            None => self.free(random, self.live() - objects),
        }
    }

    fn counted(&self) -> Tally {
        Tally {
            objects: self.sampled,
            bytes: self.sampled * self.size,
        }
    }
}

/// What one stack of addresses does. What is drawn here is a workload's own;
/// every run of it draws the rest anew.
#[derive(Clone, Debug)]
pub(crate) enum Behaviour {
    /// About so many objects, each of which lives for so many iterations.
    Turnover { objects: u64, size: u64, life: f64 },
    /// Anything up to so many, all of them new, or as few new as it takes.
    Occupancy { objects: u64, size: u64, kept: bool },
    /// Nothing, and at one rung in ten very much.
    Bursts { objects: u64, size: u64 },
    /// Sizes from a log-normal distribution on one stack, with its median and
    /// its deviation in natural logarithms.
    LogNormal {
        objects: u64,
        median: f64,
        sigma: f64,
        life: f64,
    },
    /// One object an iteration, all freed when there are so many.
    Batch { objects: u64, size: u64 },
    /// K·(1 − exp(−n/C)); turned over, or kept for ever.
    Fill {
        objects: u64,
        size: u64,
        capacity: f64,
        turnover: bool,
    },
    /// So many from the start to the end.
    Base { objects: u64, size: u64 },
    /// So many an iteration, for ever; at random, or evenly.
    Leak { rate: f64, size: u64, random: bool },
    /// A `Vec` to which so many bytes are pushed in every iteration.
    Push { bytes: f64 },
}

impl Behaviour {
    /// What is sampled of it at every rung.
    fn run(&self, random: &mut Random, iterations: &[u64], interval: SampleInterval) -> Vec<Tally> {
        let size = match *self {
            Behaviour::Turnover { size, .. }
            | Behaviour::Occupancy { size, .. }
            | Behaviour::Bursts { size, .. }
            | Behaviour::Batch { size, .. }
            | Behaviour::Fill { size, .. }
            | Behaviour::Base { size, .. }
            | Behaviour::Leak { size, .. } => size,
            Behaviour::LogNormal { .. } | Behaviour::Push { .. } => 8,
        };
        let mut pool = Pool::new(size, interval);
        let mut sizes = match self {
            Behaviour::LogNormal { median, sigma, .. } => classes(*median, *sigma, interval),
            _ => Vec::new(),
        };
        let mut pushed = 0;
        let mut before = 0;
        let mut at = |n: u64| {
            let passed = (n - before) as f64;
            match *self {
                Behaviour::Turnover { objects, life, .. } => {
                    pool.survive(random, (-passed / life).exp());
                    let jitter = random.below(objects / 10 + 2);
                    pool.reach(random, objects + jitter);
                }
                Behaviour::Occupancy { objects, kept, .. } => {
                    if !kept {
                        pool.survive(random, 0.0);
                    }
                    let objects = random.below(objects + 1);
                    pool.reach(random, objects);
                }
                Behaviour::Bursts { objects, .. } => {
                    pool.survive(random, 0.0);
                    if random.below(10) == 0 {
                        pool.allocate(random, 5 * objects);
                    }
                }
                Behaviour::LogNormal { objects, life, .. } => {
                    let survives = (-passed / life).exp();
                    for (share, class) in &mut sizes {
                        class.survive(random, survives);
                        let wanted = random.poisson(objects as f64 * *share * (1.0 - survives));
                        class.allocate(random, wanted);
                    }
                }
                Behaviour::Batch { objects, .. } => {
                    if n / objects.max(1) != before / objects.max(1) {
                        pool.survive(random, 0.0);
                    }
                    pool.reach(random, n % objects.max(1));
                }
                Behaviour::Fill {
                    objects,
                    capacity,
                    turnover,
                    ..
                } => {
                    let level = |n: u64| objects as f64 * -(-(n as f64) / capacity).exp_m1();
                    if turnover {
                        pool.survive(random, (-passed / capacity).exp());
                        let arrived = objects as f64 * -(-passed / capacity).exp_m1();
                        let arrived = random.poisson(arrived);
                        pool.allocate(random, arrived);
                    } else {
                        pool.reach(random, level(n).round() as u64);
                    }
                }
                Behaviour::Base { objects, .. } => pool.reach(random, objects),
                Behaviour::Leak {
                    rate, random: even, ..
                } => {
                    let more = match even {
                        true => random.poisson(passed * rate),
                        false => (n as f64 * rate) as u64 - (before as f64 * rate) as u64,
                    };
                    pool.allocate(random, more);
                }
                Behaviour::Push { bytes } => {
                    let capacity = ((n as f64 * bytes) as u64).next_power_of_two().max(8);
                    if capacity != pushed {
                        pushed = capacity;
                        pool = Pool::new(capacity, interval);
                        pool.allocate(random, 1);
                    }
                }
            }
            before = n;
            sizes.iter().fold(pool.counted(), |sum, (_, class)| {
                sum.saturating_add(class.counted())
            })
        };
        iterations.iter().map(|n| at(*n)).collect()
    }
}

/// Size classes, and what share of the objects is of each.
fn classes(median: f64, sigma: f64, interval: SampleInterval) -> Vec<(f64, Pool)> {
    let log = |size: u64| ((size as f64 / median).ln() / sigma).clamp(-6.0, 6.0);
    let mut below = 0.0;
    (3..22)
        .map(|power| {
            let size = 1_u64 << power;
            let to_here = match power {
                21 => 1.0,
                _ => normal_below(log(size)),
            };
            let share = to_here - below;
            below = to_here;
            (share, Pool::new(size, interval))
        })
        .collect()
}

/// The share of a normal distribution that is below z, within 1e-7 (Abramowitz
/// and Stegun, 26.2.17).
fn normal_below(z: f64) -> f64 {
    const FACTORS: [f64; 5] = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = FACTORS
        .iter()
        .rev()
        .fold(0.0, |sum, factor| t * (factor + sum));
    let above = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * series;
    if z < 0.0 { above } else { 1.0 - above }
}

/// A workload: what its stacks do, by the folded stack that they are under.
/// Several under one folded stack are of several callers' inlined copies.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) stacks: Vec<(&'static str, Behaviour)>,
    pub(crate) iterations: Vec<u64>,
    pub(crate) interval: SampleInterval,
}

impl Workload {
    /// What is sampled of every stack in one run.
    fn run(&self, random: &mut Random) -> Vec<(&'static str, Vec<Tally>)> {
        let one = |(names, behaviour): &(&'static str, Behaviour)| {
            (
                *names,
                behaviour.run(random, &self.iterations, self.interval),
            )
        };
        self.stacks.iter().map(one).collect()
    }

    /// Judges what was sampled, at the top of the ladder.
    fn judged(&self, counted: &[(&'static str, Vec<Tally>)]) -> Assessment {
        let mut stacks: BTreeMap<FoldedStack, Series> = BTreeMap::new();
        for (names, counted) in counted {
            let stack = FoldedStack(names.split(';').map(str::to_owned).collect());
            let series = Series::sampled(self.interval, counted);
            stacks.entry(stack).or_default().merge(&series);
        }
        // As the front: what did not move is not there.
        stacks.retain(|_, series| !series.is_flat());
        let observed = Observed {
            stacks,
            iterations: self.iterations.clone(),
            interval: self.interval,
            ..Observed::default()
        };
        let policy = Policy {
            threshold: None,
            at_top: true,
            today: None,
        };
        judge(&observed, &Baseline::default(), &policy)
    }
}

/// What a shape of healthy workloads is called, and one of them.
pub(crate) type Shape = fn(&mut Random, u64) -> Vec<(&'static str, Behaviour)>;

/// The shapes of healthy workloads, for a ladder of so many iterations.
pub(crate) const SHAPES: [(&str, Shape); 8] = [
    ("steady turnover", |random, last| {
        vec![("main;work", turnover(random, last))]
    }),
    ("random occupancy", |random, _| {
        vec![("main;work", occupancy(random))]
    }),
    ("bursts", |random, _| {
        let objects = objects(random);
        let size = size(random);
        vec![("main;work", Behaviour::Bursts { objects, size })]
    }),
    ("log-normal sizes", |random, last| {
        let behaviour = Behaviour::LogNormal {
            objects: objects(random),
            median: random.magnitude(32.0, 4096.0),
            sigma: 0.5 + 1.5 * random.unit(),
            life: life(random, last),
        };
        vec![("main;work", behaviour)]
    }),
    ("batch flush", |random, last| {
        let objects = random.magnitude(4.0, last as f64 / 4.0) as u64;
        let size = size(random);
        vec![("main;work", Behaviour::Batch { objects, size })]
    }),
    ("slow fill", |random, last| {
        vec![("main;work", fill(random, last))]
    }),
    ("large base, little turnover", |random, last| {
        let base = Behaviour::Base {
            objects: random.magnitude(1e3, 1e7) as u64,
            size: size(random),
        };
        let objects = random.magnitude(1.0, 1e3) as u64;
        let (size, life) = (size(random), life(random, last));
        let turnover = Behaviour::Turnover {
            objects,
            size,
            life,
        };
        vec![("main;work", base), ("main;work", turnover)]
    }),
    ("twelve stacks", |random, last| {
        const NAMES: [&str; 12] = [
            "main;a;one",
            "main;b;one",
            "main;c;one",
            "main;d;two",
            "main;e;two",
            "main;f;two",
            "main;g;three",
            "main;h;three",
            "main;i;four",
            "main;j;five",
            "main;k;six",
            "main;l;seven",
        ];
        let behaviour = |random: &mut Random| match random.below(3) {
            0 => turnover(random, last),
            1 => occupancy(random),
            _ => fill(random, last),
        };
        NAMES.map(|name| (name, behaviour(random))).to_vec()
    }),
];

fn size(random: &mut Random) -> u64 {
    (random.magnitude(8.0, 65_536.0) as u64).next_multiple_of(8)
}

fn objects(random: &mut Random) -> u64 {
    random.magnitude(1.0, 1e6) as u64
}

/// From an iteration to what is turned over twice in the last octave.
fn life(random: &mut Random, last: u64) -> f64 {
    random.magnitude(1.0, last as f64 / 4.0)
}

fn turnover(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Turnover {
        objects: objects(random),
        size: size(random),
        life: life(random, last),
    }
}

fn occupancy(random: &mut Random) -> Behaviour {
    Behaviour::Occupancy {
        objects: objects(random),
        size: size(random),
        kept: random.below(2) == 0,
    }
}

/// Seen for two octaves after n = C, or longer.
fn fill(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Fill {
        objects: objects(random),
        size: size(random),
        capacity: last as f64 / random.magnitude(4.0, 64.0),
        turnover: random.below(2) == 0,
    }
}

/// A ladder that a front would run at that interval: from half of what the
/// coarsest threshold takes to 64 times that.
pub(crate) fn ladder(random: &mut Random, interval: SampleInterval) -> Vec<u64> {
    let needed = iterations_to_conclude(None, interval).max(16_384) as f64;
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
pub(crate) const LEAKS: [&str; 8] = [
    "8 B, on a stack of its own",
    "64 B, on a stack of its own",
    "1 KiB at random, on a stack of its own",
    "rare objects of the interval's size",
    "a `Vec` that doubles",
    "32 B, under the workload's own names",
    "32 B, on the workload's very stack",
    "48 B, on a stack with a million others",
];

/// A leak of twice what a run says that it would have seen, its stack, and
/// whether that stack of addresses is the workload's own.
fn leak(which: usize, seen: &Assessment) -> Option<(&'static str, Behaviour, bool)> {
    let visible: Rate = seen.visible?;
    let rate = 2.0 * visible.objects;
    let even = |size, rate| Behaviour::Leak {
        rate,
        size,
        random: false,
    };
    Some(match which {
        0 => ("main;leak", even(8, rate), false),
        1 => ("main;leak", even(64, rate), false),
        2 => {
            let leak = Behaviour::Leak {
                rate,
                size: 1024,
                random: true,
            };
            ("main;leak", leak, false)
        }
        3 => {
            let rarest = seen.rarest?;
            let rate = 2.0 / rarest.iterations as f64;
            ("main;leak", even(rarest.bytes, rate), false)
        }
        4 => {
            let bytes = 2.0 * visible.bytes;
            ("main;leak", Behaviour::Push { bytes }, false)
        }
        5 => ("", even(32, rate), false),
        6 => ("", even(32, rate), true),
        _ => ("main;leak", even(48, rate), false),
    })
}

/// What came of many runs of one shape at one interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) healthy: Verdicts,
    pub(crate) leaks: [Verdicts; LEAKS.len()],
}

/// Judges so many healthy workloads of a shape, and plants a leak into each that
/// is *within*, of every kind in turn. `seed` tells apart who asks.
pub(crate) fn simulate(shape: usize, interval: SampleInterval, runs: u64, seed: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut random = Random(seed ^ (shape as u64) << 32 ^ interval.bytes() << 40);
    for run in 0..runs {
        let iterations = ladder(&mut random, interval);
        let last = iterations.last().copied().unwrap_or(0);
        let healthy = Workload {
            stacks: SHAPES[shape].1(&mut random, last),
            iterations,
            interval,
        };
        let mut noise = Random(random.next());
        let mut counted = healthy.run(&mut noise);
        let seen = healthy.judged(&counted);
        outcome.healthy.count(seen.verdict);
        let which = run as usize % LEAKS.len();
        if seen.verdict != Verdict::Within {
            continue;
        }
        let Some((names, leak, on_the_same)) = leak(which, &seen) else {
            continue;
        };
        let mut leaked = leak.run(&mut noise, &healthy.iterations, interval);
        if which + 1 == LEAKS.len() {
            let base = Behaviour::Base {
                objects: 1_000_000,
                size: 48,
            };
            let base = base.run(&mut noise, &healthy.iterations, interval);
            leaked
                .iter_mut()
                .zip(base)
                .for_each(|(sum, more)| *sum += more);
        }
        match names {
            "" if on_the_same => {
                let first = counted[0].1.iter_mut();
                first.zip(leaked).for_each(|(sum, more)| *sum += more);
            }
            "" => counted.push((counted[0].0, leaked)),
            _ => counted.push((names, leaked)),
        }
        let found = healthy.judged(&counted);
        outcome.leaks[which].count(found.verdict);
    }
    outcome
}
