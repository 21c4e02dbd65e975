//! Growth that keeps no old objects: a queue whose reader is slower than its writer, a list
//! that is cloned as it grows, births that become more.
//!
//! No object stays, and yet the level doubles from octave to octave. The gains are compared
//! with the ups and downs of the level.

use super::answer::{Answer, Question};
use super::curve;
use super::{Unit, gain, mean, to_f64};
use crate::ladder::{RISING_OCTAVES, RUNGS_PER_OCTAVE, RUNGS_TO_RISE};

/// Standard deviations by which the mean level of the last octave must be above that of the
/// octave before.
const DEVIATIONS: f64 = 5.5;

/// Factor by which an octave must gain more than the one before. Growth that does not stop
/// gains twice as much. 1.3 was tried on 45 leaks and 60 healthy variants.
const RISE: f64 = 1.3;

/// Share of the gain of the octave before that an octave must gain if it is out of line.
const HARDLY_LESS: f64 = 0.8;

/// Greatest share of the growth over four octaves that one step may have, in bytes. A `Vec`
/// that doubles makes steps of 4/7, 2/7 and 1/7. If a few objects of all sizes come and go, a
/// very large one may have come last.
const GREATEST_STEP_OF_BYTES: f64 = 0.65;

/// The same for objects. A queue that falls behind makes a step of 0.17 at the last rung.
/// Something that is at its peak again makes one large step.
const GREATEST_STEP_OF_OBJECTS: f64 = 0.4;

/// How far one level may be off by chance.
pub(super) struct Noise {
    /// Variance of the levels about the nearest levels that never fall.
    about_growth: f64,
    /// Variance that comes from objects that come and go one by one.
    of_counts: f64,
    /// Greatest share of the growth over four octaves that one step may have.
    greatest_step: f64,
}

impl Noise {
    /// Returns the noise of the last rungs. `variances` has the variance of each level that
    /// comes from objects that come and go.
    ///
    /// Objects that come and go one by one make a level vary by the square root of their
    /// number. This holds even if the level varies too slowly for its ups and downs to show.
    pub(super) fn of(unit: Unit, levels: &[f64], variances: &[f64]) -> Noise {
        let from = levels.len().saturating_sub(RUNGS_TO_RISE);
        let has_octaves = variances.len() >= 2 * RUNGS_PER_OCTAVE;
        Noise {
            about_growth: ups_and_downs(&levels[from..]),
            greatest_step: match unit {
                Unit::Objects => GREATEST_STEP_OF_OBJECTS,
                Unit::Bytes => GREATEST_STEP_OF_BYTES,
            },
            of_counts: match has_octaves {
                true => mean(variances, 1).max(0.0),
                false => 0.0,
            },
        }
    }

    /// Limits the noise to the deviation of the levels from a straight line. In sampled bytes,
    /// one object may count as much as all others together, so the variance of the objects can
    /// be too large.
    pub(super) fn at_most_about_a_line(self, iterations: &[f64], levels: &[f64]) -> Noise {
        let from = levels.len().saturating_sub(RUNGS_TO_RISE);
        let deviation = curve::Line::through(&iterations[from..], &levels[from..]).deviation;
        Noise {
            of_counts: self.of_counts.min(deviation * deviation),
            ..self
        }
    }

    fn variance(&self) -> f64 {
        self.about_growth.max(self.of_counts)
    }

    /// Asks until it is known whether the levels double from octave to octave, beyond what is
    /// noise. Returns that, and the answers.
    pub(super) fn ask(&self, levels: &[f64]) -> (bool, Vec<Answer>) {
        let mut answers = Vec::new();
        let Some(from) = levels.len().checked_sub(RUNGS_TO_RISE) else {
            return (false, answers);
        };
        let span = &levels[from..];
        let gains: [f64; RISING_OCTAVES] = std::array::from_fn(|octave| gain(span, octave));
        let of_means = 2.0 * self.variance() / to_f64(RUNGS_PER_OCTAVE as u64);
        let mut ask = |question, found, least| {
            let answer = Answer::at_least(question, found, least);
            answers.push(answer);
            answer.holds()
        };
        let mut gained = |octave: usize, least: f64| {
            let least = least.max(f64::MIN_POSITIVE);
            ask(Question::MeanGained(octave), gains[octave], least)
        };
        // If one octave is out of line, it may gain hardly less than the octave before. The
        // last octave must still gain `RISE`² times what the first gained.
        let doubles = gained(0, DEVIATIONS * of_means.sqrt())
            && gained(2, 0.0)
            && (gained(0, RISE * gains[1]) && gained(1, RISE * gains[2])
                || gained(0, RISE * RISE * gains[2])
                    && gained(0, HARDLY_LESS * gains[1])
                    && gained(1, HARDLY_LESS * gains[2]))
            && {
                let steps = span.windows(2).map(|pair| pair[1] - pair[0]);
                let most = self.greatest_step * (span[span.len() - 1] - span[0]);
                let greatest = steps.fold(0.0, f64::max);
                let answer = Answer::at_most(Question::GreatestStep, greatest, most);
                answers.push(answer);
                answer.holds()
            };
        (doubles, answers)
    }

    /// Returns the smallest rate of such growth that would be found.
    pub(super) fn findable(&self, iterations: &[f64], levels: &[f64]) -> f64 {
        let Some(from) = levels.len().checked_sub(RUNGS_TO_RISE) else {
            return f64::INFINITY;
        };
        let (iterations, levels) = (&iterations[from..], &levels[from..]);
        let last = iterations[iterations.len() - 1];
        let deviation = self.variance().sqrt();
        curve::least((deviation / last).max(1e-9), |rate| {
            let with = levels.iter().zip(iterations);
            let with: Vec<f64> = with.map(|(level, n)| level + rate * n).collect();
            self.ask(&with).0 && curve::quantity(iterations, &with, true).rate > 0.5 * rate
        })
    }
}

/// Returns the variance of levels about the nearest levels that never fall. This is the part
/// that no growth explains, be it straight, bent or in steps.
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
