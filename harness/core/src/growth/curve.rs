//! Levels that never fall: whether they grow as a leak does, and which leak would have
//! been found on top of them.
//!
//! All that such levels do is growth, and only its shape is asked.

use super::{AT_RANDOM, Quantity, gain, to_f64};
use crate::Law;
use crate::ladder::{RISING_OCTAVES, RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use crate::series::{Alive, LEAST_SIZE};

/// How many standard deviations of a workload's own fluctuation an error holds.
///
/// A rate is the difference of two levels, so its error is this times √2 times
/// the deviation, over the window. 2.5 keeps 99 % of a normal distribution;
/// that *within* is asked of every rung of two octaves does the rest.
const DEVIATIONS: f64 = 2.5;

/// The same for the slope of a straight line through nine rungs: Student's t
/// with seven degrees of freedom is below 3 in 99 % of cases.
const SLOPE_DEVIATIONS: f64 = 3.0;

/// How much more an octave must gain than the one before it.
///
/// Unbounded growth tends to 2; what is bounded falls below 1. 1.3 was tried on
/// 45 leaks and 60 healthy variants.
const RISE: f64 = 1.3;

/// What an octave that is out of line must gain of the one before it.
const HARDLY_LESS: f64 = 0.8;

/// How far from a straight line a linear law may stray, as a share of the
/// growth of two octaves. A `Vec` that doubles strays by 0.17 at least.
const STRAIGHT: f64 = 0.08;

/// Objects that a leak which is to be found makes by the last rung, at least.
const OBJECTS_TO_FIND: f64 = 16.0;

/// By how much a leak that was not found is raised, until it is; and how often.
const MORE: f64 = 1.189_207_115_002_721;
const TIMES: usize = 240;

/// Objects that the last octave must gain.
const FEW: f64 = 5.0;

/// How many say for sure that it is not new: some must have come three octaves
/// ago.
const MANY: f64 = 40.0;

/// Rungs of the last four octaves that must have gained something. A leak of thirty
/// objects at random does so at eleven of sixteen, give or take two; new peaks of what is
/// used again and again, each of several objects, are at three or four.
const STEPS: usize = 6;

/// What an octave must gain of the one before it, at least and at most, where fewer rungs
/// than that did.
const LESS_THAN_TWICE: f64 = 1.4;
const MORE_THAN_TWICE: f64 = 3.2;

/// What the last octave must gain of all that was gained before. A leak gains as
/// much; a cache that was full two octaves ago, a seventh at most.
const OF_ALL_BEFORE: f64 = 0.3;

/// What it must gain of the octave before it. A leak gains twice as much.
const OF_ONE_BEFORE: f64 = 0.6;

/// The greatest share of what was kept in the last octave that may have died of what
/// was kept until then. Of a leak nothing dies. A cache from which random keys are
/// evicted loses half of its old ones in each octave, which is as many as it gains.
const THINS: f64 = 0.25;

/// How far off a straight line what was kept may be, as a share of it.
const IN_BURSTS: f64 = 0.15;

/// The same in standard deviations of a count at random, of which 99.9 % stay within 1.95 of
/// it all the way (Kolmogorov and Smirnov).
const AT_RANDOM_OFF_A_LINE: f64 = 1.95;

/// The greatest share of the growth of four octaves that may be of one step.
const GREATEST_STEP: f64 = 0.65;

/// Levels that never fall.
pub(super) struct Curve<'a> {
    pub(super) iterations: &'a [f64],
    pub(super) levels: Vec<f64>,
    /// What one object counts for, at most.
    pub(super) of_one: f64,
    /// Whether a few objects that come at random may be told by it.
    pub(super) at_random: bool,
    /// Whether it is of what was kept, by when it was born.
    pub(super) is_kept: bool,
    /// What died in the last two octaves of what had been kept until then.
    pub(super) died: f64,
    /// Whether objects are counted, and not their bytes.
    pub(super) counts: bool,
}

impl Curve<'_> {
    pub(super) fn quantity(&self) -> Quantity {
        if self.levels.len() <= RUNGS_PER_OCTAVE {
            return Quantity::FLAT;
        }
        let found = quantity(self.iterations, &self.levels, self.rises(&self.levels));
        Quantity {
            findable: self.findable(),
            // Those who stayed were counted.
            error: if self.is_kept { 0.0 } else { found.error },
            ..found
        }
    }

    /// The same of levels that are estimates: how many samples came is chance. Those of a
    /// list that grows are of the same few objects, and chance has no part in them.
    pub(super) fn sampled(&self, of_levels: Quantity, counted: &[Alive]) -> Quantity {
        let Some(from) = counted.len().checked_sub(RUNGS_PER_OCTAVE + 1) else {
            return of_levels;
        };
        let came = |from: usize| {
            let objects = |alive: &Alive| alive.counted.objects;
            to_f64(objects(&counted[counted.len() - 1]).saturating_sub(objects(&counted[from])))
        };
        let window = self.iterations[self.iterations.len() - 1] - self.iterations[from];
        let by_chance = DEVIATIONS * self.of_one * came(from).sqrt() / window;
        let law = match of_levels.law {
            Law::Stepped if by_chance > 0.0 => Law::Linear,
            law => law,
        };
        Quantity {
            error: of_levels.error.max(by_chance),
            law,
            ..of_levels
        }
    }

    fn rises(&self, levels: &[f64]) -> bool {
        let last = levels.len() - 1;
        let gained = levels[last] - levels[last - RUNGS_PER_OCTAVE];
        let span = &levels[levels.len().saturating_sub(RUNGS_TO_RISE)..];
        let enough = match self.counts || self.is_kept {
            true => FEW * self.of_one.max(clump(span)),
            false => 0.0,
        };
        gained >= enough
            && self.died <= THINS * gained
            && (!self.is_kept || is_straight(self.iterations, levels, self.of_one))
            && (is_rising_in_phases(levels) || self.at_random && is_even(levels, self.of_one))
    }

    /// The least rate of a leak on top of these levels that would be found.
    fn findable(&self) -> f64 {
        let (levels, iterations) = (&self.levels, self.iterations);
        let last = levels.len() - 1;
        let span = &levels[levels.len().saturating_sub(RUNGS_TO_RISE)..];
        if span[0] >= span[span.len() - 1] && !self.is_kept || levels.len() < RUNGS_TO_RISE {
            // Nothing moves; or too little was seen, which the length of the ladder says.
            return 0.0;
        }
        // Shape alone tells, which chance bends: a deviation more of it comes early.
        // Where it is of larger objects, their number tells.
        let unit = self.of_one.min(LEAST_SIZE);
        let early = |rate: f64, n: f64| (unit * rate * n * (1.0 - n / iterations[last])).sqrt();
        let grown = |rate: f64, n: f64| match self.counts || self.is_kept {
            true => rate * n + early(rate, n),
            false => doubled(rate * n),
        };
        least(OBJECTS_TO_FIND / iterations[last], |rate| {
            let with = levels.iter().zip(iterations);
            let with: Vec<f64> = with.map(|(level, n)| level + grown(rate, *n)).collect();
            // With room for what dies by chance.
            let gained = with[last] - with[last - RUNGS_PER_OCTAVE];
            if !self.rises(&with) || self.died > 0.5 * THINS * gained {
                return false;
            }
            let found = quantity(iterations, &with, true);
            // The cut of growth at a threshold is a quarter of twice that.
            found.rate - found.error > 0.25 * rate
        })
    }
}

/// The least rate of growth that is found. So is all that is up to an octave faster: where a
/// buffer that doubles has its last step depends on the rate.
pub(super) fn least(from: f64, is_found: impl Fn(f64) -> bool) -> f64 {
    let rates = std::iter::successors(Some(from), |rate| Some(rate * MORE));
    let mut least = None;
    let mut found = 0;
    for rate in rates.take(TIMES) {
        found = if is_found(rate) { found + 1 } else { 0 };
        if found == 1 {
            least = Some(rate);
        }
        if let (Some(least), true) = (least, found > RUNGS_PER_OCTAVE) {
            return least;
        }
    }
    f64::INFINITY
}

/// What one quantity does, of which it is known whether it rises.
pub(super) fn quantity(iterations: &[f64], levels: &[f64], rising: bool) -> Quantity {
    let Some(last) = levels.len().checked_sub(1) else {
        return Quantity::FLAT;
    };
    if last < RUNGS_PER_OCTAVE {
        return Quantity::FLAT;
    }
    let window_rate = |end: usize| {
        let start = end - RUNGS_PER_OCTAVE;
        (levels[end] - levels[start]) / (iterations[end] - iterations[start])
    };
    // A step may lie just before the last octave.
    let recent = (last - 1).max(RUNGS_PER_OCTAVE)..=last;
    let greatest_rate = recent.map(window_rate).fold(f64::NEG_INFINITY, f64::max);

    let recent = levels.len().saturating_sub(1 + 2 * RUNGS_PER_OCTAVE);
    let straight = Line::through(&iterations[recent..], &levels[recent..]);
    let stepped = rising && !straight.fits;
    let law = match (rising, stepped) {
        (true, false) => Law::Linear,
        (true, true) => Law::Stepped,
        (false, _) => resting_law(levels),
    };
    if stepped {
        // The greatest level per iteration does not depend on how long ago the
        // last step was.
        let base = levels.iter().copied().fold(f64::INFINITY, f64::min);
        let rate = (last - RUNGS_PER_OCTAVE..=last)
            .map(|rung| (levels[rung] - base) / iterations[rung])
            .fold(f64::NEG_INFINITY, f64::max);
        let bound = greatest_rate.max(rate);
        return Quantity {
            rate,
            bound,
            error: 0.0,
            law,
            rising,
            findable: 0.0,
            findable_anew: 0.0,
        };
    }
    let window = iterations[last] - iterations[last - RUNGS_PER_OCTAVE];
    let error = DEVIATIONS * std::f64::consts::SQRT_2 * straight.deviation / window;
    // Each of the two holds. A line uses every rung; windows see best what has stopped.
    let by_window = greatest_rate + error;
    let by_line = straight.slope + SLOPE_DEVIATIONS * straight.slope_deviation;
    Quantity {
        rate: window_rate(last),
        bound: by_window.min(by_line),
        error,
        law,
        rising,
        findable: 0.0,
        findable_anew: 0.0,
    }
}

/// Of levels that do not rise.
pub(super) fn resting_law(levels: &[f64]) -> Law {
    match moves_both_ways(levels) {
        true => Law::Fluctuating,
        false => Law::Filling,
    }
}

/// Whether the gains of the last three octaves rise, and are not what a level
/// gains that merely goes up and down.
///
/// The ladder has four phases: octaves that end at the last rung, and at the
/// three before it. Three of them must rise; a step that falls now before and
/// now behind the edge between two octaves spoils the fourth.
fn is_rising_in_phases(levels: &[f64]) -> bool {
    let span = RISING_OCTAVES * RUNGS_PER_OCTAVE;
    let phases = levels.len().saturating_sub(span).min(RUNGS_PER_OCTAVE);
    let is_in_steps = steps(&levels[levels.len().saturating_sub(RUNGS_TO_RISE)..]) < STEPS;
    let rising = (0..phases)
        .map(|phase| gains(levels, phase))
        .filter(|gains| phase_rises(gains) && (!is_in_steps || doubles(gains)))
        .count();
    // A ladder too short for every phase must rise in those that it has.
    rising >= phases.clamp(1, RUNGS_PER_OCTAVE - 1) && moved_lately(levels)
}

/// Whether each octave gains about twice what the one before it does, as a `Vec` that
/// doubles, and its elements.
fn doubles(gains: &[f64; RISING_OCTAVES]) -> bool {
    gains
        .windows(2)
        .all(|pair| pair[0] >= LESS_THAN_TWICE * pair[1] && pair[0] <= MORE_THAN_TWICE * pair[1])
}

/// Rungs that gained something.
fn steps(levels: &[f64]) -> usize {
    levels.windows(2).filter(|pair| pair[1] > pair[0]).count()
}

/// Whether it gained something in the last octave, or in the rung before that: what doubles
/// cannot rest for longer.
fn moved_lately(levels: &[f64]) -> bool {
    let last = levels.len() - 1;
    levels[last] > levels[last.saturating_sub(RUNGS_PER_OCTAVE + 1)]
}

/// The gains of the last octaves, the last one first, in the phase that ends
/// so many rungs before the last.
fn gains(levels: &[f64], phase: usize) -> [f64; RISING_OCTAVES] {
    std::array::from_fn(|octave| {
        let end = levels.len() - 1 - phase - octave * RUNGS_PER_OCTAVE;
        levels[end] - levels[end - RUNGS_PER_OCTAVE]
    })
}

/// Whether each octave gains more than the one before it; or, where the rate
/// depends on timing and one octave is out of line, hardly less, and the last one
/// as much more than the first as it should.
pub(super) fn phase_rises(gains: &[f64; RISING_OCTAVES]) -> bool {
    let grow_by = |factor: f64| gains.windows(2).all(|pair| pair[0] >= factor * pair[1]);
    let overall = gains[0] >= RISE * RISE * gains[RISING_OCTAVES - 1];
    gains.iter().all(|gain| *gain > 0.0) && (grow_by(RISE) || overall && grow_by(HARDLY_LESS))
}

fn moves_both_ways(levels: &[f64]) -> bool {
    let from = levels
        .len()
        .saturating_sub(1 + RISING_OCTAVES * RUNGS_PER_OCTAVE);
    let steps = || levels[from..].windows(2).map(|pair| pair[1] - pair[0]);
    steps().any(|step| step > 0.0) && steps().any(|step| step < 0.0)
}

/// Whether what was kept follows a straight line through two octaves of birth, as far as
/// can be told of objects that come at random, or in bursts.
///
/// Of what goes again after a time there are many among the youngest, and few among the
/// old; of a pool whose level goes up and down, none of whole rungs.
fn is_straight(iterations: &[f64], levels: &[f64], of_one: f64) -> bool {
    let last = levels.len() - 1;
    let from = last.saturating_sub(2 * RUNGS_PER_OCTAVE);
    let gain = levels[last] - levels[from];
    let rate = gain / (iterations[last] - iterations[from]);
    let off = (from..last).map(|rung| {
        let expected = levels[from] + rate * (iterations[rung] - iterations[from]);
        (levels[rung] - expected).abs()
    });
    off.fold(0.0, f64::max) <= IN_BURSTS * gain + AT_RANDOM_OFF_A_LINE * (of_one * gain).sqrt()
}

/// What a buffer takes that doubles whenever it is full.
fn doubled(bytes: f64) -> f64 {
    bytes.max(LEAST_SIZE).log2().ceil().exp2()
}

/// Whether levels that never fall gain as much in the last octave as in all before
/// it, as far as can be told of a few objects that come at random: a phase may gain
/// nothing of those.
fn is_even(levels: &[f64], unit: f64) -> bool {
    let Some(from) = levels.len().checked_sub(RUNGS_TO_RISE) else {
        return false;
    };
    let last = levels.len() - 1;
    let before = last - RUNGS_PER_OCTAVE;
    let (gained, until) = (levels[last] - levels[before], levels[before] - levels[0]);
    let span = &levels[from..];
    let gains: [f64; RISING_OCTAVES] = std::array::from_fn(|octave| gain(span, octave));
    let one = unit;
    let unit = unit.max(clump(span));
    steps(span) >= STEPS
        && gained >= FEW * unit
        && gained >= OF_ALL_BEFORE * until
        && until - gained <= AT_RANDOM * (unit * (until + gained)).sqrt()
        && gains[0] >= OF_ONE_BEFORE * gains[1]
        && gains[1] > 0.0
        && (gains[2] > 0.0 || gained < MANY * one)
        && !rests_on_one_step(span)
}

/// What comes at once: the least that any step gains. Connections of three objects
/// each come in threes, and are as rare as a third of their objects.
fn clump(levels: &[f64]) -> f64 {
    let steps = levels.windows(2).map(|pair| pair[1] - pair[0]);
    let least = steps
        .filter(|step| *step > 0.0)
        .fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// Whether one step is most of the growth, as where a few objects of all sizes
/// come and go, and a very large one has come last. A `Vec` that doubles makes
/// steps of 4/7, 2/7 and 1/7.
pub(super) fn rests_on_one_step(levels: &[f64]) -> bool {
    let steps = levels.windows(2).map(|pair| pair[1] - pair[0]);
    let gain = levels[levels.len() - 1] - levels[0];
    steps.fold(0.0, f64::max) > GREATEST_STEP * gain
}

/// The straight line through some levels, by least squares.
pub(super) struct Line {
    /// Per iteration.
    slope: f64,
    /// The standard deviation of the slope.
    slope_deviation: f64,
    /// The standard deviation of the levels about it.
    pub(super) deviation: f64,
    /// Whether they follow it.
    fits: bool,
}

impl Line {
    pub(super) fn through(iterations: &[f64], levels: &[f64]) -> Line {
        let count = to_f64(levels.len() as u64);
        let mean_iterations = iterations.iter().sum::<f64>() / count;
        let mean_level = levels.iter().sum::<f64>() / count;
        let points = || iterations.iter().zip(levels);
        let covariance: f64 = points()
            .map(|(n, level)| (n - mean_iterations) * (level - mean_level))
            .sum();
        let variance: f64 = iterations
            .iter()
            .map(|n| (n - mean_iterations).powi(2))
            .sum();
        let slope = covariance / variance;
        let off = |n: &f64, level: &f64| level - mean_level - slope * (n - mean_iterations);
        let squares: f64 = points().map(|(n, level)| off(n, level).powi(2)).sum();
        let greatest = points()
            .map(|(n, level)| off(n, level).abs())
            .fold(0.0, f64::max);
        // Two parameters are fitted. Levels are whole numbers: what is off by
        // the rounding of a few large sums alone is not off.
        let deviation = (squares / (count - 2.0)).sqrt();
        let rounding = 1e-9 * mean_level.abs();
        let gain = levels[levels.len() - 1] - levels[0];
        let deviation = if deviation <= rounding {
            0.0
        } else {
            deviation
        };
        Line {
            slope,
            slope_deviation: deviation / variance.sqrt(),
            deviation,
            fits: greatest <= (STRAIGHT * gain).max(1.0),
        }
    }
}
