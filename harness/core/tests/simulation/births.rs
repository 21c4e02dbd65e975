//! Servers that are busy in waves, and whose objects have births. Dumps are taken at equal
//! distances from the start on, and the last of them tells who stayed.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use plimsoll_core::ages::{Birth, Generation, judge};
use plimsoll_core::dump::Estimate;
use plimsoll_core::{Series, Stays, Tally};

use crate::ages::birth_at;
use crate::random::Random;

/// Seconds from one dump to the next, and the number of dumps.
const STEP: u64 = 300;
const DUMPS: u64 = 13;
const SIZE: u64 = 64;
/// Objects are born so often in a second, on average, and live for so many seconds.
const BORN: f64 = 20.0;
const LIFE: f64 = 30.0;

/// Runs one. One of so many objects is kept, if any is. Returns when its dumps were taken, the
/// levels of its one stack, and who stays.
pub(crate) fn served(random: &mut Random, kept: Option<u64>) -> (Vec<u64>, Series, Option<Stays>) {
    let at: Vec<u64> = (0..DUMPS).map(|dump| STEP * dump).collect();
    let uptime = at[at.len() - 1];
    let mut levels = vec![0_u64; at.len()];
    let mut alive: BTreeMap<Birth, u64> = BTreeMap::new();
    let start = random.unit();
    for second in 0..uptime {
        let birth = birth_at(second as f64);
        let wave = (TAU * (start + second as f64 / 2_400.0)).sin();
        for _ in 0..random.poisson(BORN * (1.0 + 0.5 * wave)) {
            let is_kept = kept.is_some_and(|one_of| random.below(one_of) == 0);
            let life = -LIFE * random.unit().max(f64::MIN_POSITIVE).ln();
            let end = if is_kept {
                u64::MAX
            } else {
                second + 1 + life as u64
            };
            for dump in second / STEP + 1..=(end / STEP).min(DUMPS - 1) {
                levels[dump as usize] += 1;
            }
            if end >= uptime {
                *alive.entry(birth).or_default() += 1;
            }
        }
    }
    let generation = |(birth, objects): (Birth, u64)| {
        let alive = Estimate {
            objects: objects as f64,
            bytes: (SIZE * objects) as f64,
        };
        (birth, Generation::of(alive, Estimate::default(), |_| 1.0))
    };
    let youngest = birth_at(uptime as f64);
    let judged = judge(&alive.into_iter().map(generation).collect(), youngest);
    let level = |objects: u64| Tally {
        objects,
        bytes: SIZE * objects,
    };
    let levels = Series::new(levels.into_iter().map(level).collect());
    (
        at,
        levels.of_process([1.0, SIZE as f64]),
        judged.stays(Birth::FIRST, youngest),
    )
}
