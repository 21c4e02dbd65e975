//! Growth that leaves nothing old behind: a queue whose reader is slower than its
//! writer, a list that is cloned as it grows, births that become more.
//!
//! Nobody stays, and yet the level doubles from octave to octave. That is held against
//! the ups and downs of the level.

use super::answer::{Answer, Question};
use super::curve;
use super::{Unit, gain, mean, to_f64};
use crate::ladder::{RISING_OCTAVES, RUNGS_PER_OCTAVE, RUNGS_TO_RISE};

/// How many standard deviations the mean level of an octave must be above that of the
/// octave before.
const DEVIATIONS: f64 = 5.5;

/// How much more an octave must gain than the one before it. What does not stop gains twice
/// as much; 1.3 was tried on 45 leaks and 60 healthy variants.
const RISE: f64 = 1.3;

/// What an octave that is out of line must gain of the one before it.
const HARDLY_LESS: f64 = 0.8;

/// The greatest share of the growth of four octaves that may be of one step. A `Vec` that
/// doubles makes steps of 4/7, 2/7 and 1/7; where a few objects of all sizes come and go, a
/// very large one may have come last.
const GREATEST_STEP_OF_BYTES: f64 = 0.65;

/// The same of objects: a queue that falls behind makes a step of 0.17 at the last rung. What is
/// at its peak again makes one large step.
const GREATEST_STEP_OF_OBJECTS: f64 = 0.4;

/// How far one level may be off.
pub(super) struct Noise {
    /// The variance of the levels about the nearest ones that never fall.
    about_growth: f64,
    /// The variance of a count at random.
    of_counts: f64,
    /// The greatest share of the growth of four octaves that may be of one step.
    greatest_step: f64,
}

impl Noise {
    /// Of the last rungs, where what comes and goes makes each of them vary so much.
    ///
    /// Objects that come and go one by one make a level vary by their square root, also
    /// where it does so too slowly for its ups and downs to show.
    pub(super) fn of(unit: Unit, levels: &[f64], variances: &[f64]) -> Noise {
        let from = levels.len().saturating_sub(RUNGS_TO_RISE);
        let has_octaves = variances.len() >= 2 * RUNGS_PER_OCTAVE;
        Noise {
            about_growth: ups_and_downs(&levels[from..]),
            greatest_step: match unit {
                Unit::Objects => GREATEST_STEP_OF_OBJECTS,
                Unit::Bytes => GREATEST_STEP_OF_BYTES,
            },
            of_counts: if has_octaves {
                mean(variances, 1).max(0.0)
            } else {
                0.0
            },
        }
    }

    /// Of bytes that are sampled one object may be as large as all others: where the levels
    /// are straighter than that, they are their own measure.
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

    /// Whether the levels double from octave to octave, beyond what is noise: asks until that is
    /// known.
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
        // Where one octave is out of line, hardly less, and the last one as much more than the
        // first as it should.
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

    /// The least rate of such growth that would be found.
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
