//! Judges levels that never fall: whether they grow as a leak does, and which leak would have
//! been found on top of them.
//!
//! Every change of such levels is growth, so only the shape is tested.

use std::ops::RangeInclusive;

use super::answer::{Answer, Question};
use super::{Quantity, to_f64};
use crate::Law;
use crate::ladder::{RISING_OCTAVES, RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use crate::rate::to_u64;
use crate::series::{Alive, LEAST_SIZE};

/// Standard deviations of a workload's own fluctuation in the error of a rate.
///
/// A rate is the difference of two levels, so its error is this times √2 times the deviation,
/// over the window. 2.5 standard deviations cover 99 % of a normal distribution.
const DEVIATIONS: f64 = 2.5;

/// The same for the slope of a straight line through nine rungs. Student's t with seven
/// degrees of freedom is below 3 in 99 % of cases.
const SLOPE_DEVIATIONS: f64 = 3.0;

/// Greatest distance from a straight line at which a law is linear, as a share of the growth
/// of two octaves. A `Vec` that doubles is off by 0.17 at least.
pub(super) const STRAIGHT: f64 = 0.08;

/// Objects that the smallest leak tried by [`Curve::findable`] makes by the last rung.
const OBJECTS_TO_FIND: f64 = 16.0;

/// Factor from one tried leak rate to the next, 2^(1/4), and the number of rates that are
/// tried.
const RATE_STEP: f64 = 1.189_207_115_002_721;
const RATE_STEPS: usize = 240;

/// Objects that the last octave must gain.
const MIN_OBJECTS: f64 = 5.0;

/// Objects that the last octave must gain if only the last three octaves are a line, because
/// something was filled before them.
const MIN_OBJECTS_OF_SHORT_LINE: f64 = 15.0;

/// Rungs that a line goes through. With [`MIN_OBJECTS_OF_SHORT_LINE`] objects, three octaves are enough.
const LINE: usize = RUNGS_TO_RISE;
const SHORT_LINE: usize = LINE - RUNGS_PER_OCTAVE;

/// Rungs of a line that must gain something. A leak of thirty objects at random times gains at
/// eleven of sixteen rungs, give or take two. New peaks of memory that is used again and
/// again, each of several objects, gain at five.
const MIN_STEPS: usize = 7;

/// Share of the gain of the octave before that the last octave must gain. A leak gains twice
/// as much as in the octave before. Something that fills may still gain a few objects.
const MIN_OF_OCTAVE_BEFORE: f64 = 0.6;

/// Ratio of the gains of two octaves in a row for a `Vec` that doubles: twice as much, give or
/// take a quarter, because other objects may be on its stack. Buffers that are as long as the
/// longest of many messages gain 1.4 times as much.
const DOUBLING: RangeInclusive<f64> = 1.6..=2.5;

/// How many times the least level per iteration the greatest one is, at most, of a list that grows
/// by half: by half, and by as much as comes between two rungs.
const IN_PACE: f64 = 1.9;

/// Rungs of the last sixteen at which such a list may gain something: it does at six or seven. A
/// thousand buffers that keep the room of their longest message gain something at each.
const MAX_STEPS: usize = 9;

/// Greatest number of old objects that may have died, as a share of the last octave's gain. No
/// object of a leak dies. A cache that evicts random keys loses half of its old objects in
/// each octave, which is as many as it gains.
const MAX_DEATHS: f64 = 0.25;

/// Factor on [`MIN_OBJECTS_OF_SHORT_LINE`] and [`MIN_OF_OCTAVE_BEFORE`] for the leaks that [`Curve::findable`] tries,
/// because chance decides how many objects come in an octave.
const ROOM: f64 = 1.25;

/// Distance from a straight line that growth in bursts may have, as a share of the growth.
const IN_BURSTS: f64 = 0.1;

/// Distance that chance may add to it, in standard deviations of a random count.
const AT_RANDOM: f64 = 3.3;

/// Levels that never fall.
pub(super) struct Curve<'a> {
    pub(super) iterations: &'a [f64],
    pub(super) levels: Vec<f64>,
    /// The most that one object counts for.
    pub(super) of_one: f64,
    /// Whether the levels are those of survivors, by birth.
    pub(super) is_kept: bool,
    /// Whether the levels may be a straight line. Bytes may be one only if objects rise.
    pub(super) may_be_straight: bool,
    /// Old objects that died in the last two octaves, in the unit of the levels.
    pub(super) died: f64,
    /// Whether the levels count objects, not bytes.
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
            // Survivors are counted exactly.
            error: if self.is_kept { 0.0 } else { found.error },
            ..found
        }
    }

    /// Widens the error of a quantity whose levels are estimates: how many samples came is
    /// subject to chance. A list that grows is the same few objects throughout, so chance adds
    /// nothing to it.
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
        self.shape(levels, 1.0).ask().0
    }

    /// Returns the answers about the levels; empty if there are too few levels.
    pub(super) fn answers(&self) -> Vec<Answer> {
        match self.levels.len() > RUNGS_PER_OCTAVE {
            true => self.shape(&self.levels, 1.0).ask().1,
            false => Vec::new(),
        }
    }

    fn shape<'a>(&'a self, levels: &'a [f64], room: f64) -> Shape<'a> {
        let recent = &levels[levels.len().saturating_sub(RUNGS_TO_RISE)..];
        Shape {
            curve: self,
            levels,
            unit: self.of_one.max(clump(recent)),
            room,
        }
    }

    /// Returns the smallest rate of a leak that would be found on top of these levels.
    fn findable(&self) -> f64 {
        let (levels, iterations) = (&self.levels, self.iterations);
        let last = levels.len() - 1;
        let span = &levels[levels.len().saturating_sub(RUNGS_TO_RISE)..];
        if span[0] >= span[span.len() - 1] && !self.is_kept || levels.len() < RUNGS_TO_RISE {
            // Either nothing moves, or the ladder is too short. The judge checks the length of
            // the ladder.
            return 0.0;
        }
        // Only the shape decides, and chance bends it. So the planted leak comes one standard
        // deviation early. Its objects have at most the least size: a leak of larger ones is
        // found by their number.
        let unit = self.of_one.min(LEAST_SIZE);
        let early = |rate: f64, n: f64| (unit * rate * n * (1.0 - n / iterations[last])).sqrt();
        let grown = |rate: f64, n: f64| match self.counts || self.is_kept {
            true => rate * n + early(rate, n),
            false => doubled(rate * n),
        };
        least(OBJECTS_TO_FIND / iterations[last], |rate| {
            let with = levels.iter().zip(iterations);
            let with: Vec<f64> = with.map(|(level, n)| level + grown(rate, *n)).collect();
            // Half of what may die is left for objects that die by chance.
            let gained = with[last] - with[last - RUNGS_PER_OCTAVE];
            if !self.shape(&with, ROOM).ask().0 || self.died > 0.5 * MAX_DEATHS * gained {
                return false;
            }
            let found = quantity(iterations, &with, true);
            // A run must find growth at twice its threshold. The cut, half the threshold, is a
            // quarter of that.
            found.rate - found.error > 0.25 * rate
        })
    }
}

/// Returns the smallest tried rate, from `from` up, for which `is_found` holds there and at
/// all tried rates up to an octave above: where a buffer that doubles has its last step
/// depends on the rate.
pub(super) fn least(from: f64, is_found: impl Fn(f64) -> bool) -> f64 {
    let rates = std::iter::successors(Some(from), |rate| Some(rate * RATE_STEP));
    let mut least = None;
    let mut found = 0;
    for rate in rates.take(RATE_STEPS) {
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

/// Returns the rate, bound, error and law of levels. `rising` says whether they rise.
pub(super) fn quantity(iterations: &[f64], levels: &[f64], rising: bool) -> Quantity {
    let last = levels.len().saturating_sub(1);
    if last < RUNGS_PER_OCTAVE {
        return Quantity::FLAT;
    }
    let window_rate = |end: usize| {
        let start = end - RUNGS_PER_OCTAVE;
        (levels[end] - levels[start]) / (iterations[end] - iterations[start])
    };
    // A step may lie just before the last octave, so the window before counts as well.
    let recent = (last - 1).max(RUNGS_PER_OCTAVE)..=last;
    let greatest_rate = recent.map(window_rate).fold(f64::NEG_INFINITY, f64::max);

    let recent = levels.len().saturating_sub(1 + 2 * RUNGS_PER_OCTAVE);
    let straight = Line::through(&iterations[recent..], &levels[recent..]);
    let gain = levels[last] - levels[recent];
    let fits = straight.greatest <= (STRAIGHT * gain).max(1.0);
    let stepped = rising && !fits;
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
            law,
            rising,
            ..Quantity::FLAT
        };
    }
    let window = iterations[last] - iterations[last - RUNGS_PER_OCTAVE];
    let error = DEVIATIONS * std::f64::consts::SQRT_2 * straight.deviation / window;
    // Both bounds hold, so the smaller one counts. A line uses every rung. Windows are better
    // for growth that has stopped.
    let by_window = greatest_rate + error;
    let by_line = straight.slope + SLOPE_DEVIATIONS * straight.slope_deviation;
    Quantity {
        rate: window_rate(last),
        bound: by_window.min(by_line),
        error,
        law,
        rising,
        ..Quantity::FLAT
    }
}

/// Returns the law of levels that do not rise.
pub(super) fn resting_law(levels: &[f64]) -> Law {
    match moves_both_ways(levels) {
        true => Law::Fluctuating,
        false => Law::Filling,
    }
}

/// The test whether the shape of levels that never fall is that of a leak.
struct Shape<'a> {
    curve: &'a Curve<'a>,
    levels: &'a [f64],
    /// The objects (or bytes) that come at once.
    unit: f64,
    /// Factor on what a line requires beside something that had filled before; 1, or [`ROOM`].
    room: f64,
}

impl Shape<'_> {
    /// Asks until it is known whether the levels rise. Returns that, and the answers.
    fn ask(&self) -> (bool, Vec<Answer>) {
        let mut answers = Vec::new();
        let mut ask = |answer: Answer| {
            answers.push(answer);
            answer.holds()
        };
        let is_exempt = !self.curve.counts && !self.curve.is_kept;
        let may_be_line = self.curve.may_be_straight && self.levels.len() >= RUNGS_TO_RISE;
        let rises = (is_exempt || ask(self.gained()))
            && ask(self.died())
            && (ask(self.doubles())
                || is_exempt && ask(self.few_steps()) && ask(self.in_pace())
                || may_be_line
                    && (!is_exempt || ask(self.gained()))
                    && ask(self.goes_on(0))
                    && (ask(self.steps(LINE)) && ask(self.off(LINE))
                        || ask(self.gained_many())
                            && ask(self.goes_on(1))
                            && ask(self.steps(SHORT_LINE))
                            && ask(self.off(SHORT_LINE))));
        (rises, answers)
    }

    /// Returns the gain of an octave. Octave 0 is the last.
    fn gain(&self, octave: usize) -> f64 {
        let end = self.levels.len() - 1 - octave * RUNGS_PER_OCTAVE;
        self.levels[end] - self.levels[end - RUNGS_PER_OCTAVE]
    }

    fn gained(&self) -> Answer {
        Answer::at_least(Question::Gained, self.gain(0), MIN_OBJECTS * self.unit)
    }

    fn gained_many(&self) -> Answer {
        let least = self.room * MIN_OBJECTS_OF_SHORT_LINE * self.unit;
        Answer::at_least(Question::Gained, self.gain(0), least)
    }

    fn died(&self) -> Answer {
        Answer::at_most(Question::Died, self.curve.died, MAX_DEATHS * self.gain(0))
    }

    fn goes_on(&self, octave: usize) -> Answer {
        let least = self.room * MIN_OF_OCTAVE_BEFORE * self.gain(octave + 1);
        Answer::at_least(Question::GoesOn(octave), self.gain(octave), least)
    }

    /// Counts the phases in which each of the last two octaves gained about twice as much as
    /// the octave before it, as a `Vec` that doubles does, and as its elements do.
    ///
    /// The ladder has four phases: the octaves end at the last rung, or at one of the three
    /// before it. Three phases must double. A step that is sometimes before and sometimes
    /// behind the edge of two octaves spoils the fourth.
    fn doubles(&self) -> Answer {
        let span = RISING_OCTAVES * RUNGS_PER_OCTAVE;
        let phases = self.levels.len().saturating_sub(span);
        let phases = phases.min(RUNGS_PER_OCTAVE);
        let is_twice = |pair: &[f64]| DOUBLING.contains(&(pair[0] / pair[1]));
        let doubling = (0..phases)
            .map(|phase| gains(self.levels, phase))
            .filter(|gains| gains.windows(2).all(is_twice))
            .count();
        // A ladder that is too short for four phases must double in those that it has.
        let least = phases.clamp(1, RUNGS_PER_OCTAVE - 1);
        Answer::at_least(Question::Doubles, number(doubling), number(least))
    }

    /// Returns how many times the least level per iteration the greatest one is, over the rungs in
    /// which growth shows. A list that grows by half, as many in C and C++ do, takes one or two steps
    /// in an octave, so the gains of octaves say little.
    fn in_pace(&self) -> Answer {
        let rungs = self.levels.len().min(RUNGS_TO_RISE);
        let (iterations, levels) = self.last(rungs);
        let each = || levels.iter().zip(iterations).map(|(level, n)| level / n);
        let least = each().fold(f64::INFINITY, f64::min);
        let times = match least > 0.0 && rungs == RUNGS_TO_RISE {
            true => each().fold(0.0, f64::max) / least,
            false => f64::INFINITY,
        };
        Answer::at_most(Question::InPace, times, IN_PACE)
    }

    fn steps(&self, rungs: usize) -> Answer {
        let steps = self.count_steps(rungs);
        Answer::at_least(Question::Steps(rungs), steps, number(MIN_STEPS))
    }

    fn few_steps(&self) -> Answer {
        let rungs = self.levels.len().min(RUNGS_TO_RISE);
        let steps = self.count_steps(rungs);
        Answer::at_most(Question::Steps(rungs), steps, number(MAX_STEPS))
    }

    /// Counts the rungs that gained something, of the last `rungs`.
    fn count_steps(&self, rungs: usize) -> f64 {
        let (_, levels) = self.last(rungs);
        let steps = levels.windows(2).filter(|pair| pair[1] > pair[0]);
        number(steps.count())
    }

    /// Returns how far the furthest of the last `rungs` levels is from a straight line, as a
    /// share of what bursts and chance explain.
    ///
    /// This excludes two shapes. Objects that are freed after a time are many among the
    /// youngest, and few among the old. Something that fills gains more early.
    fn off(&self, rungs: usize) -> Answer {
        let (iterations, levels) = self.last(rungs);
        let gain = levels[rungs - 1] - levels[0];
        let rate = gain / (iterations[rungs - 1] - iterations[0]);
        let off = |(n, level): (&f64, &f64)| {
            let expected = rate * (n - iterations[0]);
            let variance = self.unit * expected * (1.0 - expected / gain).max(0.0);
            let by_chance = variance.sqrt() + self.unit;
            let off = (level - levels[0] - expected).abs();
            off / (IN_BURSTS * gain + AT_RANDOM * by_chance)
        };
        let furthest = iterations.iter().zip(levels).map(off).fold(0.0, f64::max);
        Answer::at_most(Question::Off(rungs), furthest, 1.0)
    }

    fn last(&self, rungs: usize) -> (&[f64], &[f64]) {
        let all = self.levels.len();
        let recent = all - rungs..all;
        (&self.curve.iterations[recent.clone()], &self.levels[recent])
    }
}

pub(super) fn number(of_these: usize) -> f64 {
    to_f64(of_these as u64)
}

/// Returns the gains of the last octaves, the last one first. The last octave ends `phase`
/// rungs before the last rung.
fn gains(levels: &[f64], phase: usize) -> [f64; RISING_OCTAVES] {
    std::array::from_fn(|octave| {
        let end = levels.len() - 1 - phase - octave * RUNGS_PER_OCTAVE;
        levels[end] - levels[end - RUNGS_PER_OCTAVE]
    })
}

fn moves_both_ways(levels: &[f64]) -> bool {
    let recent = 1 + RISING_OCTAVES * RUNGS_PER_OCTAVE;
    let from = levels.len().saturating_sub(recent);
    let steps = || levels[from..].windows(2).map(|pair| pair[1] - pair[0]);
    steps().any(|step| step > 0.0) && steps().any(|step| step < 0.0)
}

/// Returns the size of a buffer for `bytes` that doubles whenever it is full.
fn doubled(bytes: f64) -> f64 {
    bytes.max(LEAST_SIZE).log2().ceil().exp2()
}

/// Returns what comes at once: the greatest common divisor of all steps. For example,
/// connections of three objects each come in threes, and are as rare as a third of their
/// objects.
fn clump(levels: &[f64]) -> f64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let steps = levels.windows(2).map(|pair| pair[1] - pair[0]);
    // Levels are counts or bytes. A fall counts as 0.
    let steps = steps.map(|step| to_u64(step.round()));
    to_f64(steps.fold(0, divisor))
}

/// The straight line through some levels, by least squares.
pub(super) struct Line {
    /// Growth per iteration.
    pub(super) slope: f64,
    /// The standard deviation of the slope.
    slope_deviation: f64,
    /// The standard deviation of the levels about the line.
    pub(super) deviation: f64,
    /// The greatest distance of a level from the line.
    pub(super) greatest: f64,
}

impl Line {
    pub(super) fn through(iterations: &[f64], levels: &[f64]) -> Line {
        let count = to_f64(levels.len() as u64);
        let mean_iterations = iterations.iter().sum::<f64>() / count;
        let mean_level = levels.iter().sum::<f64>() / count;
        let points = || iterations.iter().zip(levels);
        let products = points().map(|(n, level)| (n - mean_iterations) * (level - mean_level));
        let covariance: f64 = products.sum();
        let squares = iterations.iter().map(|n| (n - mean_iterations).powi(2));
        let variance: f64 = squares.sum();
        let slope = covariance / variance;
        let off = |n: &f64, level: &f64| level - mean_level - slope * (n - mean_iterations);
        let squares: f64 = points().map(|(n, level)| off(n, level).powi(2)).sum();
        let distances = points().map(|(n, level)| off(n, level).abs());
        let greatest = distances.fold(0.0, f64::max);
        // Two parameters are fitted, so the divisor is two less than the count. Levels are
        // whole numbers: a deviation no greater than the rounding of a few large sums counts
        // as none.
        let deviation = (squares / (count - 2.0)).sqrt();
        let rounding = 1e-9 * mean_level.abs();
        let is_rounding = deviation <= rounding;
        let deviation = if is_rounding { 0.0 } else { deviation };
        Line {
            slope,
            slope_deviation: deviation / variance.sqrt(),
            deviation,
            greatest,
        }
    }
}
