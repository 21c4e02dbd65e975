//! Growth that leaves nothing old behind: a queue whose reader is slower than its
//! writer, a list that is cloned as it grows, births that become more.
//!
//! Nobody stays, and yet the level doubles from octave to octave. That is held against
//! the ups and downs of the level.

use super::curve::{self, phase_rises, rests_on_one_step};
use super::{RUNGS_TO_RISE, to_f64};
use crate::ladder::RUNGS_PER_OCTAVE;

/// How many standard deviations the mean level of an octave must be above that of the
/// octave before.
const DEVIATIONS: f64 = 5.5;

/// By how many standard deviations a level must be too low to contradict what stayed.
const CONTRADICTING: f64 = 3.3;

/// By how much a growth that was not found is raised, until it is; and how often.
const MORE: f64 = 1.189_207_115_002_721;
const TIMES: usize = 240;

/// What the last rungs but so many octaves gain on those of the octave before, on the
/// mean of their four rungs.
pub(super) fn gain(levels: &[f64], octave: usize) -> f64 {
    mean(levels, octave) - mean(levels, octave + 1)
}

/// The mean level of an octave, 0 being the last.
fn mean(levels: &[f64], octave: usize) -> f64 {
    let end = levels.len() - octave * RUNGS_PER_OCTAVE;
    let rungs = &levels[end - RUNGS_PER_OCTAVE..end];
    rungs.iter().sum::<f64>() / to_f64(rungs.len() as u64)
}

/// How far one level may be off.
pub(super) struct Noise {
    /// What one object that comes and goes counts for.
    of_one: f64,
    /// The variance of the levels about the nearest ones that never fall.
    about_growth: f64,
    /// The same about a straight line.
    about_a_line: f64,
}

impl Noise {
    /// Of the last rungs.
    pub(super) fn of(iterations: &[f64], levels: &[f64], of_one: f64) -> Noise {
        let from = levels.len().saturating_sub(RUNGS_TO_RISE);
        let deviation = curve::Line::through(&iterations[from..], &levels[from..]).deviation;
        Noise {
            of_one,
            about_growth: ups_and_downs(&levels[from..]),
            about_a_line: deviation * deviation,
        }
    }

    /// The variance of a level. Objects that come and go one by one make it vary by its
    /// square root, also where it does so too slowly for its ups and downs to show; unless
    /// it is straighter than that.
    fn variance(&self, span: &[f64]) -> f64 {
        let of_counts = self.of_one * mean(span, 1);
        self.about_growth.max(of_counts.min(self.about_a_line))
    }

    /// Whether the levels double from octave to octave, beyond what is noise.
    pub(super) fn doubles(&self, levels: &[f64]) -> bool {
        let Some(from) = levels.len().checked_sub(RUNGS_TO_RISE) else {
            return false;
        };
        let span = &levels[from..];
        let gains = std::array::from_fn(|octave| gain(span, octave));
        let of_means = 2.0 * self.variance(span) / to_f64(RUNGS_PER_OCTAVE as u64);
        gains[0] > DEVIATIONS * of_means.sqrt() && phase_rises(&gains) && !rests_on_one_step(span)
    }

    /// Whether the level gained less than half of what so much growth per iteration adds
    /// to it, as far as can be told.
    pub(super) fn contradicts(&self, iterations: &[f64], levels: &[f64], rate: f64) -> bool {
        let Some(from) = levels.len().checked_sub(RUNGS_TO_RISE) else {
            return false;
        };
        let (iterations, levels) = (&iterations[from..], &levels[from..]);
        let of_means = 2.0 * self.about_growth / to_f64(RUNGS_PER_OCTAVE as u64);
        let expected = 0.5 * rate * gain(iterations, 0);
        gain(levels, 0) + CONTRADICTING * of_means.sqrt() < expected
    }

    /// The least rate of such growth that would be found.
    pub(super) fn findable(&self, iterations: &[f64], levels: &[f64]) -> f64 {
        let Some(from) = levels.len().checked_sub(RUNGS_TO_RISE) else {
            return f64::INFINITY;
        };
        let (iterations, levels) = (&iterations[from..], &levels[from..]);
        let deviation = self.variance(levels).sqrt();
        let mut rate = (deviation / iterations[iterations.len() - 1]).max(1e-9);
        for _ in 0..TIMES {
            let with = levels.iter().zip(iterations);
            let with: Vec<f64> = with.map(|(level, n)| level + rate * n).collect();
            if self.doubles(&with) && curve::quantity(iterations, &with, true).rate > 0.5 * rate {
                return rate;
            }
            rate *= MORE;
        }
        f64::INFINITY
    }
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
