//! Dumps of a running process at equal distances, and on a ladder.

use std::f64::consts::TAU;

use plimsoll_core::dump::SampleInterval;
use plimsoll_core::growth::{GoesOn, Trend, Unit};
use plimsoll_core::{Series, Tally};

use super::random::Random;
use Does::{Base, Bursts, Fills, FillsSlowly, Leaks, Sampled, Step, Steps, Swing, Turnover};

/// How many dumps there are at equal distances; 0 is a ladder from 1 to 64 distances.
pub(crate) const DUMPS: [usize; 6] = [4, 6, 12, 30, 60, 0];

/// The size of each object, and the interval at which one in ten is sampled.
pub(crate) const SIZE: u64 = 64;
const SAMPLED: u64 = 607;

/// One stack over the dumps.
pub(crate) struct Stack {
    pub(crate) at: Vec<u64>,
    pub(crate) counted: Vec<Tally>,
    pub(crate) interval: SampleInterval,
    pub(crate) unit: Unit,
}

impl Stack {
    /// The variance of each unit of its level. The buffer of a `Vec` is always the same object.
    pub(crate) fn grain(&self) -> f64 {
        match self.unit {
            Unit::Objects => 1.0 / self.interval.probability(SIZE as f64),
            Unit::Bytes => 0.0,
        }
    }

    pub(crate) fn series(&self) -> Series {
        let series = Series::sampled(self.interval, &self.counted);
        series.of_process([self.grain(); 2])
    }

    pub(crate) fn goes_on(&self) -> Option<GoesOn> {
        Some(Trend::of(&self.at, &self.series(), self.unit)?.goes_on)
    }
}

/// What a stack does.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// Nothing. Of the objects that come and go, and of those that leak, one in ten is sampled.
    Sampled,
    /// Objects come and go: this many on the mean, which live for this many distances.
    Turnover(f64, f64),
    /// In every fifth dump, up to 3,000 more.
    Bursts,
    /// 3,000 objects, and 30 % more and less, in periods of 8 to 48 distances.
    Swing,
    /// A cache of 3,000 objects that is full after a tenth to six tenths of the time.
    Fills,
    /// One that fills by a share of its room: 63 % after 5 % to 35 % of the time.
    FillsSlowly,
    /// 1,000 to 3,000 objects at one time.
    Step,
    /// This many objects stay.
    Leaks(f64),
    /// 1,000 objects stay, in six steps.
    Steps,
    /// This many objects since before the first dump.
    Base(u64),
    /// A `Vec` that is only pushed to, and is up to a quarter as old as the time.
    Vec,
}

/// Its name, and what it does.
pub(crate) type Shape = (&'static str, &'static [Does]);

/// Objects that come and go, by how long they live.
const OF_02: Does = Turnover(3_000.0, 0.2);
const OF_5: Does = Turnover(3_000.0, 5.0);
const OF_30: Does = Turnover(3_000.0, 30.0);
const OF_100: Does = Turnover(3_000.0, 100.0);
/// What comes and goes beside bursts.
const FEW: Does = Turnover(500.0, 0.2);
const LEAK: Does = Leaks(1_000.0);

/// Healthy stacks.
pub(crate) const HEALTHY: [Shape; 11] = [
    ("3,000 objects that live for 0.2 dumps", &[OF_02]),
    ("3,000 that live for 5", &[OF_5]),
    ("3,000 that live for 30", &[OF_30]),
    ("3,000 that live for 100", &[OF_100]),
    ("3,000 that live for 100, sampled", &[Sampled, OF_100]),
    ("bursts", &[FEW, Bursts]),
    ("one step", &[OF_02, Step]),
    ("a cache that fills", &[Fills]),
    ("a cache that fills, beside turnover", &[OF_5, Fills]),
    ("a cache that fills slowly", &[FillsSlowly]),
    ("a daily swing", &[Swing]),
];

/// Stacks that leak.
pub(crate) const LEAKING: [Shape; 14] = [
    ("1,000 objects, alone", &[LEAK]),
    ("1,000, beside 3,000 for 0.2 dumps", &[OF_02, LEAK]),
    ("1,000, beside 3,000 for 5", &[OF_5, LEAK]),
    ("1,000, beside 3,000 for 30", &[OF_30, LEAK]),
    ("1,000, beside 3,000 for 100", &[OF_100, LEAK]),
    ("the same for 5, sampled", &[Sampled, OF_5, LEAK]),
    ("the same for 100, sampled", &[Sampled, OF_100, LEAK]),
    ("1,000, in six steps", &[Steps]),
    ("in six steps, beside 3,000 for 0.2", &[OF_02, Steps]),
    ("a `Vec` that doubles", &[Does::Vec]),
    ("30, alone", &[Leaks(30.0)]),
    ("1,000, beside a million", &[Base(1_000_000), LEAK]),
    ("3,000, beside bursts", &[FEW, Bursts, Leaks(3_000.0)]),
    ("3,000, beside a daily swing", &[Swing, Leaks(3_000.0)]),
];

impl Does {
    /// How many objects there are at each distance.
    pub(crate) fn run(self, random: &mut Random, at: &[f64]) -> Vec<u64> {
        let whole = at[at.len() - 1];
        let share = random.unit();
        let mut before = 0.0;
        let mut there = match self {
            Turnover(mean, _) => random.poisson(mean),
            _ => 0,
        };
        let size = 1_000 + random.below(2_000);
        let period = random.magnitude(8.0, 48.0);
        let of = |at: &f64| {
            let passed = at - before;
            before = *at;
            match self {
                Sampled => 0,
                Turnover(mean, life) => {
                    let stays = (-passed / life).exp();
                    there = random.binomial(there, stays) + random.poisson(mean * (1.0 - stays));
                    there
                }
                Bursts => match random.below(5) {
                    0 => random.below(3_000),
                    _ => 0,
                },
                Swing => {
                    let swing = 0.3 * (TAU * (at / period + share)).sin();
                    random.poisson(3_000.0 * (1.0 + swing))
                }
                Fills => {
                    let full = (0.1 + 0.5 * share) * whole;
                    (3_000.0 * (at / full).min(1.0)) as u64
                }
                FillsSlowly => {
                    let most = (0.05 + 0.3 * share) * whole;
                    (3_000.0 * (1.0 - (-at / most).exp())) as u64
                }
                Step if *at < share * whole => 0,
                Step => size,
                Leaks(objects) => {
                    there += random.poisson(objects * passed / whole);
                    there
                }
                Steps => (1_000.0 / 6.0 * (6.0 * at / whole + share).floor()) as u64,
                Base(objects) => objects,
                Does::Vec => {
                    let age = 0.2 + 0.25 * share * whole;
                    ((at + age) * 10_000.0 / whole).log2().ceil().exp2() as u64
                }
            }
        };
        at.iter().map(of).collect()
    }
}

/// One stack of a shape, in this many dumps.
pub(crate) fn drawn((_, does): Shape, random: &mut Random, dumps: usize) -> Stack {
    let at: Vec<f64> = match dumps {
        0 => std::iter::once(0.0)
            .chain((0..25).map(|k| (f64::from(k) / 4.0).exp2()))
            .collect(),
        dumps => (0..dumps).map(|dump| dump as f64).collect(),
    };
    let sampled = matches!(does, [Sampled, ..]);
    let mut levels = vec![0; at.len()];
    for does in does {
        let does = match *does {
            Turnover(mean, life) if sampled => Turnover(mean / 10.0, life),
            Leaks(objects) if sampled => Leaks(objects / 10.0),
            does => does,
        };
        for (level, more) in levels.iter_mut().zip(does.run(random, &at)) {
            *level += more;
        }
    }
    let is_vec = matches!(does, [Does::Vec]);
    let counted = levels.iter().map(|level| match is_vec {
        true => Tally {
            objects: 1,
            bytes: 8 * level,
        },
        false => Tally {
            objects: *level,
            bytes: SIZE * level,
        },
    });
    let interval = SampleInterval::new(if sampled { SAMPLED } else { 1 });
    Stack {
        at: at.iter().map(|at| (1_000.0 * at) as u64).collect(),
        counted: counted.collect(),
        interval: interval.unwrap_or_default(),
        unit: if is_vec { Unit::Bytes } else { Unit::Objects },
    }
}

/// Of so many stacks of a shape, how many do not go on growing, perhaps do, and do.
pub(crate) fn simulate(shape: Shape, dumps: usize, runs: u64, seed: u64) -> [u64; 3] {
    let mut random = Random(seed ^ (dumps as u64) << 32 ^ (shape.0.len() as u64) << 40);
    let mut counts = [0; 3];
    for _ in 0..runs {
        if let Some(goes_on) = drawn(shape, &mut random, dumps).goes_on() {
            counts[goes_on as usize] += 1;
        }
    }
    counts
}
