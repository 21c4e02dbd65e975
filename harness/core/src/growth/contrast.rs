//! What several rungs say together, and how far chance can move that.

use super::{RISING_OCTAVES, to_f64};
use crate::ladder::RUNGS_PER_OCTAVE;

/// Rungs that tell whether a stack rises: three octaves, in four phases.
pub(crate) const RUNGS: usize = (RISING_OCTAVES + 1) * RUNGS_PER_OCTAVE;

/// The greatest share of the growth of four octaves that may be of one step.
const GREATEST_STEP: f64 = 0.65;

/// A sum over the last rungs, each with a weight.
pub(super) struct Contrast([f64; RUNGS]);

impl Contrast {
    /// What an octave gains, on the mean of four phases; octave 0 is the last.
    pub(super) fn gain(octave: usize) -> Contrast {
        let mut weights = [0.0; RUNGS];
        let end = RUNGS - octave * RUNGS_PER_OCTAVE;
        #[expect(clippy::cast_precision_loss, reason = "four")]
        let share = 1.0 / RUNGS_PER_OCTAVE as f64;
        weights[end - RUNGS_PER_OCTAVE..end].fill(share);
        weights[end - 2 * RUNGS_PER_OCTAVE..end - RUNGS_PER_OCTAVE].fill(-share);
        Contrast(weights)
    }

    pub(super) fn less(&self, times: f64, other: &Contrast) -> Contrast {
        Contrast(std::array::from_fn(|rung| {
            self.0[rung] - times * other.0[rung]
        }))
    }

    pub(super) fn of(&self, levels: &[f64]) -> f64 {
        self.0
            .iter()
            .zip(levels)
            .map(|(weight, level)| weight * level)
            .sum()
    }

    /// What moved before a rung is in that rung and all after it.
    pub(super) fn variance(&self, moved: &[f64], ups_and_downs: f64) -> f64 {
        let mut after = 0.0;
        let mut variance = 0.0;
        for (weight, moved) in self.0.iter().zip(moved).rev() {
            after += weight;
            variance += after * after * moved + weight * weight * ups_and_downs;
        }
        variance
    }
}

/// Whether one step is most of the growth, as where a few objects of all sizes
/// come and go, and a very large one has come last. A `Vec` that doubles makes
/// steps of 4/7, 2/7 and 1/7.
pub(super) fn rests_on_one_step(levels: &[f64]) -> bool {
    let steps = levels.windows(2).map(|pair| pair[1] - pair[0]);
    let gain = levels[levels.len() - 1] - levels[0];
    steps.fold(0.0, f64::max) > GREATEST_STEP * gain
}

/// The variance of levels about the nearest ones that never fall: what no growth
/// explains, be it straight, bent or in steps.
///
/// Neighbours that fall are pooled until none does (isotonic regression).
pub(super) fn ups_and_downs(levels: &[f64]) -> f64 {
    struct Pool {
        mean: f64,
        count: f64,
        squares: f64,
    }
    let mut pools: Vec<Pool> = Vec::with_capacity(levels.len());
    for level in levels {
        let mut pool = Pool {
            mean: *level,
            count: 1.0,
            squares: 0.0,
        };
        while let Some(before) = pools.pop_if(|before| before.mean >= pool.mean) {
            let count = before.count + pool.count;
            let apart = before.mean - pool.mean;
            pool = Pool {
                mean: (before.mean * before.count + pool.mean * pool.count) / count,
                count,
                squares: before.squares
                    + pool.squares
                    + apart * apart * before.count * pool.count / count,
            };
        }
        pools.push(pool);
    }
    let squares: f64 = pools.iter().map(|pool| pool.squares).sum();
    let free = to_f64((levels.len() - pools.len()) as u64);
    if free > 0.0 { squares / free } else { 0.0 }
}
