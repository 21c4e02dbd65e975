//! From the levels of one stack over a ladder to its rate, law and error.
//!
//! A leak is growth that does not stop: what it gains in an octave (a doubling
//! of the iterations) doubles from octave to octave, whether it grows by one
//! object an iteration or in the steps of a `Vec` that is only pushed to. What
//! a cache, a pool or a lazy static gains falls to nothing, and what a buffer
//! gains changes sign. So a few gains decide, and levels do not.

mod contrast;
mod exact;
mod sampled;

use self::exact::Fluctuation;
use crate::{Law, Rate, Series, Tally, ladder::RUNGS_PER_OCTAVE};

pub(crate) use self::contrast::RUNGS as RUNGS_TO_RISE;
pub(crate) use self::sampled::SAMPLES_TO_FIND;

/// Octaves in a row that must rise before growth is called unbounded.
pub const RISING_OCTAVES: usize = 3;

/// How many standard deviations of a workload's own fluctuation an error holds.
///
/// A rate is the difference of two levels, so its error is this times √2 times
/// the deviation, over the window. 2.5 keeps 99 % of a normal distribution;
/// that *within* is asked of every rung of two octaves does the rest.
const DEVIATIONS: f64 = 2.5;

/// The same for the slope of a straight line through nine rungs: Student's t
/// with seven degrees of freedom is below 3 in 99 % of cases.
const SLOPE_DEVIATIONS: f64 = 3.0;

/// The least share of a stack's ups and downs that must be net growth.
///
/// A leak's is 1, a leak under heavy churn comes down to about 0.7, and a level
/// that only fluctuates is at 0.2 over twelve rungs, seldom over 0.5.
const NET_SHARE: f64 = 0.6;

/// What a deviation more adds to that.
const NET_MARGIN: f64 = 0.05;

/// How much more an octave must gain than the one before it.
///
/// Unbounded growth tends to 2; what is bounded falls below 1. 1.3 was tried on
/// 45 leaks and 60 healthy variants.
const RISE: f64 = 1.3;

/// What an octave that is out of line must gain of the one before it.
const HARDLY_LESS: f64 = 0.8;

/// How much larger objects must become to count as larger. Bytes that grow
/// without objects make them four times as large in two octaves; a buffer that
/// is sometimes longer than it ever was makes them a little larger.
const SWELLING: f64 = 1.25;

/// How far from a straight line a linear law may stray, as a share of the
/// growth of two octaves. A `Vec` that doubles strays by 0.17 at least.
const STRAIGHT: f64 = 0.08;

/// What one quantity (objects, or bytes) does over the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Per iteration, over the last octave; for stepped growth the greatest
    /// level per iteration in it.
    pub rate: f64,
    /// The greatest rate that the last two octaves leave possible: what is
    /// under a limit here is under it, for all that can be told.
    pub bound: f64,
    /// How far a rate may be off for the workload's own fluctuation.
    pub error: f64,
    /// The shape.
    pub law: Law,
    /// Whether it rose for three octaves, beyond what fluctuation explains.
    pub rising: bool,
    /// The least rate that, on top of what is there, would have been found to
    /// rise in 99.9 % of runs, for all that sampling leaves to chance; of counts,
    /// what would have been found in this run, and zero where they do not move.
    pub findable: f64,
}

impl Quantity {
    /// That of a level which never moved.
    const FLAT: Quantity = Quantity {
        rate: 0.0,
        bound: 0.0,
        error: 0.0,
        law: Law::Filling,
        rising: false,
        findable: 0.0,
    };
}

/// What one stack, site or resource does over the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Objects, or threads, or descriptors.
    pub objects: Quantity,
    /// Bytes.
    pub bytes: Quantity,
    /// Whether objects became larger, on average, in the last two octaves than
    /// they ever were before, by a quarter. Where they did not, bytes that do
    /// not rise can only grow with objects.
    pub objects_swell: bool,
    /// Objects, if those whose size is not known are the smallest that there
    /// are; absent where all sizes are known, or everything is sampled.
    pub smallest: Option<Quantity>,
    /// As the objects' [`findable`](Quantity::findable), for a leak of objects
    /// of any size on the very stacks of addresses that this is of.
    pub findable_of_any_size: f64,
}

impl Growth {
    /// Of a series over the iteration counts of the same rungs.
    ///
    /// Rates need an octave, that is, five rungs; with fewer everything is
    /// flat. Only as many rungs are used as both have.
    pub fn of(iterations: &[u64], series: &Series) -> Growth {
        let rungs = iterations.len().min(series.levels().len());
        if !series.interval().is_exact() {
            return sampled::growth(&iterations[..rungs], series);
        }
        let (iterations, levels) = (&iterations[..rungs], &series.levels()[..rungs]);
        let objects: Vec<f64> = levels.iter().map(|level| to_f64(level.objects)).collect();
        let bytes: Vec<f64> = levels.iter().map(|level| to_f64(level.bytes)).collect();
        let iterations: Vec<f64> = iterations.iter().copied().map(to_f64).collect();
        let counts = Fluctuation::of(&objects, 1.0);
        let sizes = Fluctuation::of(&bytes, greatest_size(levels)).with(&counts);
        let objects = quantity(&iterations, &objects, counts);
        Growth {
            objects,
            bytes: quantity(&iterations, &bytes, sizes),
            objects_swell: objects_swell(levels),
            smallest: None,
            findable_of_any_size: objects.findable,
        }
    }

    /// Objects and bytes per iteration.
    pub fn rate(&self) -> Rate {
        Rate {
            objects: self.objects.rate,
            bytes: self.bytes.rate,
        }
    }

    /// How far the rate may be off.
    pub fn error(&self) -> Rate {
        Rate {
            objects: self.objects.error,
            bytes: self.bytes.error,
        }
    }

    /// The law of the quantity that says more: of what rises, bytes before
    /// objects, since bytes see a `Vec` that doubles.
    pub fn law(&self) -> Law {
        match (self.bytes.rising, self.objects.rising) {
            (true, true) => self.objects.law.min(self.bytes.law),
            (true, false) => self.bytes.law,
            (false, true) => self.objects.law,
            (false, false) => self.bytes.law.max(self.objects.law),
        }
    }

    /// Whether bytes come in steps, if only a part of them: the room of a list, beside
    /// what is in it. They stray from a straight line by more than a hundredth, and objects
    /// do not.
    pub fn has_bytes_in_steps(&self) -> bool {
        let strays = |quantity: &Quantity| match quantity.rate > 0.0 {
            true => quantity.error / quantity.rate,
            false => 0.0,
        };
        self.bytes.rising
            && (self.bytes.law == Law::Stepped
                || strays(&self.bytes) > 0.01 + 2.0 * strays(&self.objects))
    }

    /// Whether objects or bytes rise.
    pub fn is_rising(&self) -> bool {
        self.objects.rising || self.bytes.rising
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 are no heap's"
)]
fn to_f64(value: u64) -> f64 {
    value as f64
}

/// Of levels that are counts.
fn quantity(iterations: &[f64], levels: &[f64], fluctuation: Fluctuation) -> Quantity {
    if levels.len() <= RUNGS_PER_OCTAVE {
        return Quantity::FLAT;
    }
    let rising = exact::rises(iterations, levels, &fluctuation, 0.0);
    Quantity {
        findable: exact::findable(iterations, levels, &fluctuation),
        ..quantity_of(iterations, levels, rising)
    }
}

/// The same, where it is known whether they rise.
fn quantity_of(iterations: &[f64], levels: &[f64], rising: bool) -> Quantity {
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
    let recent = last.saturating_sub(RUNGS_PER_OCTAVE).max(RUNGS_PER_OCTAVE)..=last;
    let greatest_rate = recent.map(window_rate).fold(f64::NEG_INFINITY, f64::max);

    let straight = Line::through(iterations, levels);
    let stepped = rising && !straight.fits;
    let law = match (rising, stepped) {
        (true, false) => Law::Linear,
        (true, true) => Law::Stepped,
        (false, _) if moves_both_ways(levels) => Law::Fluctuating,
        (false, _) => Law::Filling,
    };
    if stepped {
        // The greatest level per iteration does not depend on how long ago the
        // last step was.
        let base = levels[0];
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
        };
    }
    let window = iterations[last] - iterations[last - RUNGS_PER_OCTAVE];
    let error = DEVIATIONS * std::f64::consts::SQRT_2 * straight.deviation / window;
    // Each of the two holds. A line uses every rung, and is told sooner of what
    // only fluctuates; windows see best what has stopped.
    let by_window = greatest_rate + error;
    let by_line = straight.slope + SLOPE_DEVIATIONS * straight.slope_deviation;
    Quantity {
        rate: window_rate(last),
        bound: by_window.min(by_line),
        error,
        law,
        rising,
        findable: 0.0,
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
    let rising = (0..phases)
        .filter(|phase| phase_rises(&gains(levels, *phase)))
        .count();
    // A ladder too short for every phase must rise in those that it has.
    rising >= phases.clamp(1, RUNGS_PER_OCTAVE - 1) && is_net_growth(levels, 0.0)
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
fn phase_rises(gains: &[f64; RISING_OCTAVES]) -> bool {
    let grow_by = |factor: f64| gains.windows(2).all(|pair| pair[0] >= factor * pair[1]);
    let overall = gains[0] >= RISE * RISE * gains[RISING_OCTAVES - 1];
    gains.iter().all(|gain| *gain > 0.0) && (grow_by(RISE) || overall && grow_by(HARDLY_LESS))
}

/// Whether most of the movement of the last three octaves is upwards; by a margin,
/// where another run is to see the same.
fn is_net_growth(levels: &[f64], margin: f64) -> bool {
    let span = &levels[levels.len() - 1 - RISING_OCTAVES * RUNGS_PER_OCTAVE..];
    let path: f64 = span.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
    span[span.len() - 1] - span[0] >= (NET_SHARE + NET_MARGIN * margin) * path
}

fn moves_both_ways(levels: &[f64]) -> bool {
    let from = levels
        .len()
        .saturating_sub(1 + RISING_OCTAVES * RUNGS_PER_OCTAVE);
    let steps = || levels[from..].windows(2).map(|pair| pair[1] - pair[0]);
    steps().any(|step| step > 0.0) && steps().any(|step| step < 0.0)
}

/// The mean size of the objects at each rung; zero where there are none.
fn mean_sizes(levels: &[Tally]) -> impl Iterator<Item = f64> {
    let mean = |level: &Tally| match level.objects {
        0 => 0.0,
        objects => to_f64(level.bytes) / to_f64(objects),
    };
    levels.iter().map(mean)
}

/// The size of the objects that came or went between two rungs, where that is
/// greatest.
fn greatest_size(levels: &[Tally]) -> f64 {
    let from = levels.len().saturating_sub(RUNGS_TO_RISE);
    let of = |pair: &[Tally]| {
        let objects = pair[0].objects.abs_diff(pair[1].objects).max(1);
        to_f64(pair[0].bytes.abs_diff(pair[1].bytes)) / to_f64(objects)
    };
    levels[from..].windows(2).map(of).fold(0.0, f64::max)
}

fn objects_swell(levels: &[Tally]) -> bool {
    let recent = levels.len().saturating_sub(2 * RUNGS_PER_OCTAVE);
    if recent == 0 {
        return true;
    }
    let greatest = |levels: &[Tally]| mean_sizes(levels).fold(0.0, f64::max);
    greatest(&levels[recent..]) > SWELLING * greatest(&levels[..recent])
}

/// The straight line through the last two octaves, by least squares.
struct Line {
    /// Per iteration.
    slope: f64,
    /// The standard deviation of the slope.
    slope_deviation: f64,
    /// The standard deviation of the levels about it.
    deviation: f64,
    /// How far the one that is farthest off is.
    greatest: f64,
    /// Whether they follow it.
    fits: bool,
}

impl Line {
    fn through(iterations: &[f64], levels: &[f64]) -> Line {
        let from = levels.len().saturating_sub(1 + 2 * RUNGS_PER_OCTAVE);
        let (iterations, levels) = (&iterations[from..], &levels[from..]);
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
            greatest,
            fits: greatest <= (STRAIGHT * gain).max(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::rung;

    /// The growth of a level given by a function of the iterations done.
    fn growth_to(rungs: usize, level: impl Fn(u64) -> Tally) -> Growth {
        let iterations: Vec<u64> = (0..rungs).map(rung).collect();
        let series = Series::new(iterations.iter().map(|n| level(*n)).collect());
        Growth::of(&iterations, &series)
    }

    fn tally(objects: u64, bytes: u64) -> Tally {
        Tally { objects, bytes }
    }

    /// One line: laws, rates, error, and what rises.
    fn shown(growth: Growth) -> String {
        let one = |q: Quantity| {
            format!(
                "{} {:.4}{}{}",
                q.law,
                q.rate,
                if q.error > 0.0 {
                    format!(" ± {:.4}", q.error)
                } else {
                    String::new()
                },
                if q.rising { " rising" } else { "" }
            )
        };
        format!(
            "objects {}; bytes {}",
            one(growth.objects),
            one(growth.bytes)
        )
    }

    #[test]
    fn one_object_an_iteration_reads_one_at_every_end() {
        for rungs in 13..80 {
            let growth = growth_to(rungs, |n| tally(500 + n, 7_000 + 32 * n));
            assert_eq!(
                shown(growth),
                "objects linear 1.0000 rising; bytes linear 32.0000 rising",
                "{rungs} rungs"
            );
        }
    }

    #[test]
    fn a_vec_only_pushed_to_rises_in_steps_wherever_the_ladder_ends() {
        for rungs in 20..80 {
            let growth = growth_to(rungs, |n| tally(1, n.next_power_of_two().max(4) * 8));
            assert!(growth.bytes.rising, "{rungs} rungs");
            assert_eq!(growth.bytes.law, Law::Stepped, "{rungs} rungs");
            assert!(
                (8.0..=16.0).contains(&growth.bytes.rate),
                "{rungs} rungs: {growth:?}"
            );
            assert!(!growth.objects.rising);
        }
    }

    #[test]
    fn the_rate_of_steps_does_not_depend_on_where_the_ladder_ended() {
        let rates: Vec<f64> = (30..60)
            .map(|rungs| {
                growth_to(rungs, |n| tally(1, n.next_power_of_two() * 8))
                    .bytes
                    .rate
            })
            .collect();
        let (least, greatest) = rates.iter().fold((f64::MAX, f64::MIN), |(l, g), rate| {
            (l.min(*rate), g.max(*rate))
        });
        assert!(greatest / least < 1.01, "{rates:?}");
    }

    #[test]
    fn steps_that_jitter_about_a_rung_still_rise() {
        // A push in nine of ten iterations: the table doubles between rungs
        // here and on one there.
        for per_mille in [377_u64, 500, 707, 841, 900, 999, 1_001, 1_189, 2_000] {
            for rungs in 24..70 {
                let growth = growth_to(rungs, |n| {
                    let pushes = n * per_mille / 1_000 + (n * 7_919 % 3);
                    tally(1, pushes.next_power_of_two() * 16)
                });
                assert!(
                    growth.bytes.rising,
                    "{per_mille}, {rungs} rungs: {growth:?}"
                );
            }
        }
    }

    #[test]
    fn a_rate_that_depends_on_timing_still_rises() {
        for rates in [[5, 3, 6], [3, 5, 6], [6, 6, 4], [4, 6, 7]] {
            // So many objects in ten iterations, by octave, the last first.
            let growth = growth_to(41, |n| {
                let octave = |from: u64, rate: u64| n.clamp(from, 2 * from).abs_diff(from) * rate;
                let objects = 2_048 * 5
                    + octave(8_192, rates[0])
                    + octave(4_096, rates[1])
                    + octave(2_048, rates[2]);
                tally(objects / 10, objects / 10 * 64)
            });
            assert!(growth.is_rising(), "{rates:?}: {growth:?}");
        }
    }

    #[test]
    fn a_slow_leak_rises() {
        let growth = growth_to(41, |n| tally(n / 1_000, n / 1_000 * 32));
        assert!(growth.is_rising(), "{growth:?}");
    }

    /// The growth of so many objects of 32 bytes at the last rungs, the last of
    /// which is that of so many iterations; before them there was the first.
    fn growth_of(last: u64, objects: &[u64]) -> Growth {
        let iterations: Vec<u64> = (0..).map(rung).take_while(|n| *n <= last).collect();
        let mut levels = vec![objects[0]; iterations.len() - objects.len()];
        levels.extend(objects);
        let series = Series::new(levels.iter().map(|n| tally(*n, 32 * n)).collect());
        Growth::of(&iterations, &series)
    }

    #[test]
    fn a_few_objects_that_come_and_go_at_random_do_not_rise() {
        for objects in [
            &[0, 0, 1, 0, 2, 1, 3][..],
            &[0, 0, 0, 0, 1, 0, 2, 2, 2, 5, 7, 6, 6, 8, 7, 9, 13],
            &[
                13, 12, 11, 10, 13, 12, 13, 16, 22, 22, 31, 36, 49, 50, 54, 49, 51,
            ],
            // Never seen to fall, and full all the same.
            &[1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4],
            &[
                54, 64, 74, 87, 101, 112, 123, 125, 132, 133, 144, 144, 149, 163, 186, 195, 196,
            ],
        ] {
            let growth = growth_of(16_384, objects);
            assert!(!growth.is_rising(), "{objects:?}: {growth:?}");
        }
    }

    #[test]
    fn a_few_objects_that_come_at_random_and_stay_rise() {
        for objects in [
            [0, 0, 0, 1, 1, 1, 3, 3, 4, 6, 8, 9, 13, 15, 19, 20, 27],
            [1, 2, 2, 2, 3, 3, 6, 8, 8, 9, 9, 12, 12, 17, 20, 26, 29],
        ] {
            let growth = growth_of(16_384, &objects);
            assert!(growth.objects.rising, "{objects:?}: {growth:?}");
        }
    }

    #[test]
    fn a_slow_leak_rises_beside_an_object_that_flickers() {
        for flickers in [|n: u64| n * 7_919 % 5 % 2, |n: u64| n * 7_919 % 7 / 6] {
            let growth = growth_to(41, |n| {
                let objects = n / 500 + flickers(n);
                tally(objects, 32 * objects)
            });
            assert!(growth.objects.rising, "{growth:?}");
            // At twice the threshold of one in 1,000.
            let healthy = growth_to(41, |n| tally(flickers(n), 32 * flickers(n)));
            assert!(healthy.objects.findable <= 0.002, "{healthy:?}");
        }
    }

    #[test]
    fn what_would_have_been_found_is_what_is_found() {
        // Anything up to so many at every rung.
        for most in [3, 40, 1_000, 100_000] {
            let noise = |n: u64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % (most + 1);
            let healthy = growth_to(49, |n| tally(noise(n), 32 * noise(n))).objects;
            let leak = |share: f64| {
                growth_to(49, |n| {
                    let more = (share * healthy.findable * to_f64(n)).floor();
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a count"
                    )]
                    let more = more as u64;
                    tally(noise(n) + more, 32 * (noise(n) + more))
                })
            };
            assert!(!healthy.rising && healthy.findable > 0.0, "{healthy:?}");
            assert!(leak(1.02).objects.rising, "{most}: {healthy:?}");
            assert!(!leak(0.1).objects.rising, "{most}: {healthy:?}");
        }
    }

    #[test]
    fn a_cache_that_filled_an_octave_ago_does_not_rise() {
        for full_at in [100_u64, 700, 1_000, 1_500, 2_000] {
            let enough = (0..).find(|k| rung(*k) >= 2 * full_at).unwrap() + 1;
            for rungs in enough.max(13)..60 {
                let growth = growth_to(rungs, |n| tally(n.min(full_at), n.min(full_at) * 48));
                assert!(
                    !growth.is_rising(),
                    "full at {full_at}, {rungs} rungs: {growth:?}"
                );
            }
        }
    }

    #[test]
    fn a_sawtooth_never_rises() {
        for period in [3_u64, 7, 64, 100, 1_300, 4_096] {
            let enough = (0..).find(|k| rung(*k) >= 4 * period).unwrap() + 13;
            for rungs in enough..80 {
                let growth = growth_to(rungs, |n| tally(n % period, n % period * 16));
                assert!(
                    !growth.is_rising(),
                    "period {period}, {rungs} rungs: {growth:?}"
                );
            }
        }
    }

    #[test]
    fn bytes_without_objects_swell_and_batches_do_not() {
        assert!(growth_to(41, |n| tally(1, n.next_power_of_two())).objects_swell);
        assert!(!growth_to(41, |n| tally(n % 1_300, n % 1_300 * 16)).objects_swell);
        assert!(!growth_to(41, |_| tally(5, 500)).objects_swell);
    }

    #[test]
    fn a_flat_level_is_flat() {
        let growth = growth_to(41, |_| tally(5, 500));
        assert_eq!(
            shown(growth),
            "objects filling 0.0000; bytes filling 0.0000"
        );
    }

    #[test]
    fn a_short_ladder_says_nothing() {
        for rungs in 0..5 {
            assert_eq!(growth_to(rungs, |n| tally(n, n)).rate(), Rate::default());
        }
    }
}
