//! The growth of a stack whose levels are estimates.
//!
//! An object is sampled, or not, when it is allocated. So objects that live at
//! two rungs are the same samples at both, and cancel in the difference: a large
//! base that does not move adds no noise to growth. What came and went in
//! between adds (1 − p)/p² for each sample of it. How many those were is not in
//! the dumps; it is at least the difference of the counts, and what is turned
//! over beside it shows as ups and downs between the rungs. So the variance of a
//! difference is taken to be the sum of both: in closed form for what moved, and
//! from the ups and downs for the rest, a workload's own among them.

use super::contrast::{Contrast, RUNGS, rests_on_one_step, ups_and_downs};
use super::{
    Growth, HARDLY_LESS, Line, Quantity, RISE, RISING_OCTAVES, STRAIGHT, is_net_growth,
    moves_both_ways, objects_swell, to_f64,
};
use crate::ladder::RUNGS_PER_OCTAVE;
use crate::series::{LEAST_SIZE, Samples, Variance};
use crate::{Law, Series, Tally};

/// Samples that a leak must leave in the last octave to be found in 99.9 % of
/// runs: with 130, in the simulation, the rules below find 99.97 % of leaks on
/// ladders that are just long enough; with 100 and a lower bar for rising, a
/// cache that fills and is turned over passed for a leak in 8 of 100,000 runs.
pub(crate) const SAMPLES_TO_FIND: f64 = 130.0;

/// How many standard deviations an error holds; 99 % of a normal distribution.
const DEVIATIONS: f64 = 2.5;

/// The same where *within* is at stake.
const BOUND_DEVIATIONS: f64 = 3.0;

/// Objects that may have been there and were not sampled, in units of what one
/// sample stands for: with a mean of ln 1000 none is seen once in 1,000 times.
const UNSEEN: f64 = 6.907_755_278_982_137;

/// How many standard deviations an octave's gain must be. Where every sample is
/// growth that is 30 samples.
const GAIN_DEVIATIONS: f64 = 5.5;

/// By how many the last gain must exceed what bounded growth would leave of it.
const RISE_DEVIATIONS: f64 = 2.2;

/// How many standard deviations more make what is found in this run found in
/// 99.9 % of them.
const SURE: f64 = 3.1;

/// More objects or bytes an iteration than any machine has.
const MOST: f64 = 1e18;

/// Of a series of estimates over the iteration counts of the same rungs.
pub(super) fn growth(iterations: &[u64], series: &Series) -> Growth {
    let rungs = iterations.len();
    let levels = &series.levels()[..rungs];
    let samples = series.samples();
    let iterations: Vec<f64> = iterations.iter().copied().map(to_f64).collect();
    let least = 1.0 / series.interval().probability(LEAST_SIZE);
    let of = |level: &dyn Fn(usize) -> f64, variance: &dyn Fn(&Samples) -> [f64; 2], scale| {
        let levels: Vec<f64> = (0..rungs).map(level).collect();
        let variances = || samples[..rungs].iter().map(variance);
        let grain = variances()
            .zip(&levels)
            .filter(|(_, level)| **level > 0.0)
            .map(|([variance, _], level)| variance / level)
            .fold(0.0, f64::max);
        let sampled = Sampled {
            iterations: &iterations,
            moved: variances().map(|[_, moved]| moved).collect(),
            levels,
            grain,
            leaks_grain: scale,
        };
        sampled.quantity()
    };
    let objects_swell = objects_swell(levels);
    let objects = of(
        &|rung| to_f64(levels[rung].objects),
        &|one| {
            let Variance { level, moved } = one.at_random;
            [level.objects, moved.objects]
        },
        least,
    );
    let bytes = of(
        &|rung| to_f64(levels[rung].bytes),
        &|one| {
            let Variance { level, moved } = one.at_random;
            [level.bytes, moved.bytes]
        },
        LEAST_SIZE * least,
    );
    #[expect(clippy::float_cmp, reason = "the one is a copy of the other")]
    let all_known = (0..rungs).all(|rung| samples[rung].smallest == to_f64(levels[rung].objects));
    let smallest = (!all_known).then(|| {
        of(
            &|rung| samples[rung].smallest,
            &|one| {
                let Variance { level, moved } = one.of_smallest;
                [level.objects, moved.objects]
            },
            least,
        )
    });
    // Objects of another size would leave the sizes unknown.
    let counted = &series.counted()[..rungs];
    let each = |tally: &Tally| least * to_f64(tally.objects);
    let moved = |rung: usize| {
        let before = rung
            .checked_sub(1)
            .map_or(0.0, |before| each(&counted[before]));
        least * (each(&counted[rung]) - before).abs()
    };
    let any_size = Sampled {
        iterations: &iterations,
        levels: counted.iter().map(each).collect(),
        moved: (0..rungs).map(moved).collect(),
        grain: least,
        leaks_grain: least,
    }
    .quantity();
    let mut growth = Growth {
        objects,
        bytes,
        objects_swell,
        smallest,
        findable_of_any_size: objects.findable.max(any_size.findable),
    };
    if smallest.is_some_and(|smallest| smallest.rising) {
        by_the_size_of_what_came(&mut growth, &iterations, series);
    }
    growth
}

/// Where one stack allocates objects of several sizes, and some of them leak,
/// the mean size of all says little of how many those are. What came in the last
/// octave has a mean size of its own.
fn by_the_size_of_what_came(growth: &mut Growth, iterations: &[f64], series: &Series) {
    let counted = &series.counted()[..iterations.len()];
    let last = counted.len() - 1;
    let (Some(before), Some(smallest)) = (last.checked_sub(RUNGS_PER_OCTAVE), growth.smallest)
    else {
        return;
    };
    let gained = |of: fn(&Tally) -> u64| to_f64(of(&counted[last])) - to_f64(of(&counted[before]));
    let samples = gained(|tally| tally.objects);
    if samples <= 0.0 {
        return;
    }
    let size = (gained(|tally| tally.bytes) / samples).max(LEAST_SIZE);
    let probability = |size| series.interval().probability(size);
    let objects = samples / probability(size) / (iterations[last] - iterations[before]);
    // As an error of the samples is one of what they stand for.
    let error = smallest.error * probability(LEAST_SIZE) / probability(size);
    let is_more = |quantity: &mut Quantity, rate: f64, error: f64| {
        if rate > quantity.rate {
            quantity.rate = rate;
            quantity.error = quantity.error.max(error);
            quantity.bound = quantity.bound.max(rate);
            quantity.law = smallest.law;
        }
    };
    is_more(&mut growth.objects, objects, error);
    is_more(&mut growth.bytes, objects * size, error * size);
}

/// One quantity, objects or bytes, of one series.
struct Sampled<'a> {
    iterations: &'a [f64],
    levels: Vec<f64>,
    /// The variance of what came or went since the rung before, at least.
    moved: Vec<f64>,
    /// What one sample stands for, as far as that is noise: the variance of a
    /// level for each unit of it.
    grain: f64,
    /// The same of a leak of the smallest objects.
    leaks_grain: f64,
}

impl Sampled<'_> {
    fn quantity(&self) -> Quantity {
        let levels = &self.levels;
        let Some(last) = levels.len().checked_sub(1) else {
            return Quantity::FLAT;
        };
        if last < RUNGS_PER_OCTAVE {
            return Quantity::FLAT;
        }
        let straight = Line::through(self.iterations, levels);
        let noise = ups_and_downs(&levels[levels.len().saturating_sub(RUNGS)..]);
        let rising = rises(levels, &self.moved, noise, 0.0);
        let stepped = rising && !self.is_straight(&straight);
        let law = match (rising, stepped) {
            (true, false) => Law::Linear,
            (true, true) => Law::Stepped,
            (false, _) if moves_both_ways(levels) => Law::Fluctuating,
            (false, _) => Law::Filling,
        };
        // Steps stray from a line, and are no fluctuation.
        let deviation = if stepped { 0.0 } else { straight.deviation };
        let gain = |end: usize| levels[end] - levels[end - RUNGS_PER_OCTAVE];
        let window = |end: usize| self.iterations[end] - self.iterations[end - RUNGS_PER_OCTAVE];
        let off = |end: usize| {
            let moved: f64 = self.moved[end + 1 - RUNGS_PER_OCTAVE..=end].iter().sum();
            (moved + 2.0 * deviation * deviation).sqrt()
        };
        let recent = last.saturating_sub(RUNGS_PER_OCTAVE).max(RUNGS_PER_OCTAVE)..=last;
        let bound = recent
            .map(|end| {
                (gain(end) + BOUND_DEVIATIONS * off(end) + UNSEEN * self.grain) / window(end)
            })
            .fold(f64::NEG_INFINITY, f64::max);
        let mut rate = gain(last) / window(last);
        if stepped {
            let base = levels[0];
            rate = (last - RUNGS_PER_OCTAVE..=last)
                .map(|rung| (levels[rung] - base) / self.iterations[rung])
                .fold(f64::NEG_INFINITY, f64::max);
        }
        Quantity {
            rate,
            bound: bound.max(rate),
            error: DEVIATIONS * off(last) / window(last),
            law,
            rising,
            findable: self.findable(&straight, noise),
        }
    }

    /// The least rate of a leak on top of these levels that would be found.
    fn findable(&self, straight: &Line, noise: f64) -> f64 {
        let last = self.levels.len() - 1;
        let span = self.iterations[last] - self.iterations[last - RUNGS_PER_OCTAVE];
        let is_found = |rate: f64| {
            let with = |rung: usize| self.levels[rung] + rate * self.iterations[rung];
            let moved = |rung: usize| {
                let passed = match rung.checked_sub(1) {
                    Some(before) => self.iterations[rung] - self.iterations[before],
                    None => self.iterations[rung],
                };
                self.moved[rung] + rate * passed * self.leaks_grain
            };
            let levels: Vec<f64> = (0..=last).map(with).collect();
            let moved: Vec<f64> = (0..=last).map(moved).collect();
            // Half of it is above the cut, which lies at a quarter or below.
            let gain = levels[last] - levels[last - RUNGS_PER_OCTAVE];
            let variance: f64 = moved[last + 1 - RUNGS_PER_OCTAVE..].iter().sum::<f64>()
                + 2.0 * straight.deviation * straight.deviation;
            gain - (DEVIATIONS + SURE) * variance.sqrt() > 0.25 * rate * span
                && rises(&levels, &moved, noise, SURE)
        };
        // One that no stack could be without: as many samples as are needed in
        // the last octave.
        let mut rate = 0.5 * SAMPLES_TO_FIND * self.leaks_grain / span;
        let mut below = 0.0;
        while !is_found(rate) {
            if rate > MOST {
                return f64::INFINITY;
            }
            below = rate;
            rate *= 2.0;
        }
        // To within a sixteenth.
        for _ in 0..4 {
            let middle = 0.5 * (below + rate);
            match below > 0.0 && is_found(middle) {
                true => rate = middle,
                false => below = middle,
            }
        }
        rate
    }

    /// Whether noise explains how far the levels stray from a straight line.
    fn is_straight(&self, line: &Line) -> bool {
        let from = self.levels.len().saturating_sub(1 + 2 * RUNGS_PER_OCTAVE);
        let gain = self.levels[self.levels.len() - 1] - self.levels[from];
        let moved: f64 = self.moved[from..].iter().skip(1).sum();
        let noise = 1.5 * moved.sqrt() + 3.0 * ups_and_downs(&self.levels[from..]).sqrt();
        line.greatest <= (STRAIGHT * gain).max(1.0).max(noise)
    }
}

/// Whether it rises beyond its noise, on the mean of the four phases in
/// which the ladder can be cut into octaves: each rung counts once, and what
/// fluctuates from rung to rung half as much as it would in one phase.
///
/// What is bounded gains ever less, so its last gain is less than the one of
/// two octaves before; a leak's is four times as much.
///
/// A margin of so many deviations more is for what another run would see.
fn rises(levels: &[f64], moved: &[f64], noise: f64, margin: f64) -> bool {
    let Some(from) = levels.len().checked_sub(RUNGS) else {
        return false;
    };
    let (levels, moved) = (&levels[from..], &moved[from..]);
    let gains: [Contrast; RISING_OCTAVES] = std::array::from_fn(Contrast::gain);
    let value = |contrast: &Contrast| contrast.of(levels);
    let beyond = |contrast: &Contrast, deviations: f64| {
        value(contrast) > (deviations + margin) * contrast.variance(moved, noise).sqrt()
    };
    let rise = gains[0].less(RISE * RISE, &gains[RISING_OCTAVES - 1]);
    let hardly_less = |pair: &[Contrast]| beyond(&pair[0].less(HARDLY_LESS, &pair[1]), 0.0);
    gains.iter().all(|gain| beyond(gain, 0.0))
        && gains.windows(2).all(hardly_less)
        && beyond(&gains[0], GAIN_DEVIATIONS)
        && beyond(&rise, RISE_DEVIATIONS)
        && is_net_growth(levels, 0.0)
        && !rests_on_one_step(levels)
}
