//! Judges dumps of a running process, which were taken at any distances.
//!
//! Dumps at equal distances have too few octaves for the rules of a test, and it is not known what
//! the process did before the first of them. So the question is whether a stack gains as much in
//! the last third of the time as in the two thirds before. It is asked of the levels at the ends
//! of the thirds, and of the mean levels of the four quarters of the time. The levels reach over
//! the whole time; the means vary less. Where the dumps are on a [ladder](crate::ladder), the
//! rules of a test find slower leaks on a stack whose level never falls.
//!
//! Only a gain that is not due to chance counts. Objects that come and go do so at random, and a
//! sampled object stands for several.

use std::ops::RangeInclusive;

use super::curve::{Line, STRAIGHT, number};
use super::{FEWEST_DUMPS, Growth, Quantity, Unit, to_f64};
use crate::ladder::{RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use crate::words::words;
use crate::{Law, Series, Stays};

/// The least gain that counts, in standard deviations. Of counted objects, that is 16 objects.
const GAIN_DEVIATIONS: f64 = 4.0;

/// The gain that is found nine times out of ten, in standard deviations: it must be even as well.
const SEEN_DEVIATIONS: f64 = 9.0;

/// The width of an error, in standard deviations.
const DEVIATIONS: f64 = 2.5;

/// What the last third must gain, as a share of the mean of the two thirds before. A gain that
/// falls to less than four fifths from third to third is not enough.
const GOES_ON: f64 = 0.7;

/// What each third must gain, as a share of the mean of all. One large step is in one third, or
/// in two quarters.
const EACH: f64 = 0.15;

/// By what factor each step must exceed the one before, if steps become larger. A `Vec` doubles.
const LARGER: f64 = 1.5;

/// How long the next step may take, as a multiple of the time between the last two steps.
const PATIENCE: f64 = 2.5;

/// The share of the rises that must fall for a level to be called fluctuating.
const FALLS: f64 = 0.25;

/// The number of dumps from which on the ups and downs of a level show how much it varies.
const MANY: usize = 32;

/// The number of dumps from which on a level that never falls is not in order by chance.
const IN_ORDER: usize = 16;

/// Octaves of distances: about a doubling in four steps. A dump that is missing makes five of
/// them.
const OCTAVE: RangeInclusive<f64> = 1.7..=2.4;

/// Whether a growth continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GoesOn {
    /// There is no growth, or it has stopped.
    No,
    /// There was growth until the end, but less than before, or all at once.
    Perhaps,
    /// It grows as a leak does.
    Yes,
}

words!(GoesOn {
    No = "no",
    Perhaps = "perhaps",
    Yes = "yes",
});

/// The growth of one stack over dumps of a running process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The law. Absent if the gain may be due to chance.
    pub law: Option<Law>,
    /// Whether the growth continues.
    pub goes_on: GoesOn,
    /// The gain per unit of distance.
    pub rate: f64,
    /// How far the rate may be off.
    pub error: f64,
}

impl Trend {
    /// Computes the growth of the levels that dumps of a [running process](Series::of_process)
    /// at increasing distances have. `None` if there are fewer than [`FEWEST_DUMPS`].
    ///
    /// ```
    /// use plimsoll_core::growth::{GoesOn, Trend, Unit};
    /// use plimsoll_core::{Law, Series, Tally};
    ///
    /// let at: Vec<u64> = (0..10).map(|minute| 60 * minute).collect();
    /// let levels = at.iter().map(|at| Tally { objects: 50 + 2 * at, bytes: 64 * at });
    /// let series = Series::new(levels.collect()).of_process([1.0, 32.0]);
    /// let trend = Trend::of(&at, &series, Unit::Objects).unwrap();
    /// assert_eq!((trend.law, trend.goes_on), (Some(Law::Linear), GoesOn::Yes));
    /// assert!((trend.rate - 2.0).abs() < 1e-9);
    /// ```
    pub fn of(at: &[u64], series: &Series, unit: Unit) -> Option<Trend> {
        let dumps = Dumps::of(at, series, unit)?;
        Some(Trend::of_dumps(at, series, unit, &dumps))
    }

    fn of_dumps(at: &[u64], series: &Series, unit: Unit, dumps: &Dumps) -> Trend {
        let trend = Trend::of_levels(at, series, unit, dumps);
        match series.stays {
            Some(Stays::Evenly(kept, error)) => match unit {
                Unit::Objects => trend.beside_a_leak(dumps, kept.objects, error.objects),
                Unit::Bytes => trend.beside_a_leak(dumps, kept.bytes, error.bytes),
            },
            // An object that becomes larger is allocated again, so it is young.
            Some(Stays::Young) if unit == Unit::Objects => Trend {
                goes_on: trend.goes_on.min(GoesOn::Perhaps),
                ..trend
            },
            _ => trend,
        }
    }

    fn of_levels(at: &[u64], series: &Series, unit: Unit, dumps: &Dumps) -> Trend {
        // Without births, levels that fall are told by thirds: what they did before the first dump
        // is not known, and their octaves say less.
        if has_octaves(at) && (series.has_births() || dumps.never_fall()) {
            let quantity = *Growth::on_ladder(at, series).of_unit(unit);
            if quantity.rising {
                return Trend {
                    law: Some(quantity.law),
                    goes_on: GoesOn::Yes,
                    rate: quantity.rate,
                    error: quantity.error,
                };
            }
        }
        dumps.trend()
    }

    /// Adds that births are those of a leak. They tell it from chance below a level that goes up
    /// and down. From a cache that fills, the level tells it: a cache keeps everything until it
    /// is full.
    ///
    /// `kept` is what the births say was kept from the first dump to the last.
    fn beside_a_leak(self, dumps: &Dumps, kept: f64, error: f64) -> Trend {
        if !matches!(self.law, None | Some(Law::Fluctuating)) {
            let goes_on = self.goes_on.max(GoesOn::Perhaps);
            return Trend { goes_on, ..self };
        }
        let last = dumps.at.len() - 1;
        let (first, last) = (dumps.point(0), dumps.point(last));
        let per_unit = |gained: f64| gained / (last.at - first.at);
        let chance = dumps.deviation(last.level - first.level, last.place, 1.0);
        let of_levels = Line::through(&dumps.at, &dumps.levels).slope;
        let of_levels = of_levels + DEVIATIONS * per_unit(chance);
        let (rate, error) = (per_unit(kept), DEVIATIONS * per_unit(error));
        Trend {
            law: Some(Law::Linear),
            // What the level gained has to have room for what was kept.
            goes_on: match of_levels >= rate - error {
                true => GoesOn::Yes,
                false => GoesOn::Perhaps,
            },
            rate,
            error,
        }
    }
}

/// Returns whether the last of these distances are on a ladder that is long enough to see a stack
/// rise.
fn has_octaves(at: &[u64]) -> bool {
    let Some(from) = at.len().checked_sub(RUNGS_TO_RISE) else {
        return false;
    };
    let is_octave = |pair: &[u64]| {
        let [before, after] = [pair[0], pair[RUNGS_PER_OCTAVE]].map(to_f64);
        OCTAVE.contains(&(after / before))
    };
    at[from..].windows(RUNGS_PER_OCTAVE + 1).all(is_octave)
}

/// Computes the growth of the levels of a running process. With too few dumps, any growth is
/// possible.
pub(super) fn growth(at: &[u64], series: &Series) -> Growth {
    let quantity = |unit| {
        let Some(dumps) = Dumps::of(at, series, unit) else {
            return Quantity {
                bound: f64::INFINITY,
                findable_anew: f64::INFINITY,
                ..Quantity::FLAT
            };
        };
        let trend = Trend::of_dumps(at, series, unit, &dumps);
        let (rate, error) = match trend.goes_on {
            GoesOn::No => (0.0, 0.0),
            _ => (trend.rate, trend.error),
        };
        Quantity {
            rate,
            bound: (rate + error).max(0.0),
            error: trend.error,
            law: trend.law.unwrap_or(Law::Fluctuating),
            rising: trend.goes_on == GoesOn::Yes,
            findable_anew: dumps.findable(),
            ..Quantity::FLAT
        }
    };
    Growth {
        objects: quantity(Unit::Objects),
        bytes: quantity(Unit::Bytes),
        // Bytes are judged by themselves.
        objects_swell: true,
    }
}

/// The levels of one stack, and how far chance moves them.
struct Dumps {
    at: Vec<f64>,
    levels: Vec<f64>,
    grain: f64,
    /// The variance that one step adds, estimated from the falls. A fall is not growth, and rises
    /// of the same size are not growth, either.
    step: f64,
    /// The variance of a level, if all its objects come and go.
    level: f64,
}

/// A level at a time, or the mean of several dumps.
#[derive(Clone, Copy)]
struct Point {
    at: f64,
    level: f64,
    /// The place of the dump, or of the middle of several.
    place: f64,
    dumps: f64,
}

impl Dumps {
    /// Returns `None` if there are too few.
    fn of(at: &[u64], series: &Series, unit: Unit) -> Option<Dumps> {
        let dumps = at.len().min(series.levels().len());
        let levels = series.levels()[..dumps].iter().map(|level| unit.of(level));
        let [objects, bytes] = series.grains().unwrap_or([1.0, 1.0]);
        let grain = match unit {
            Unit::Objects => objects,
            Unit::Bytes => bytes,
        };
        (dumps >= FEWEST_DUMPS).then(|| Dumps::new(&at[..dumps], levels.collect(), grain))
    }

    fn new(at: &[u64], levels: Vec<f64>, grain: f64) -> Dumps {
        let falls: f64 = steps(&levels).map(|step| step.min(0.0).powi(2)).sum();
        Dumps {
            at: at.iter().copied().map(to_f64).collect(),
            grain,
            step: falls / number(levels.len() - 1),
            level: grain * levels.iter().copied().fold(0.0, f64::max),
            levels,
        }
    }

    fn never_fall(&self) -> bool {
        self.step <= 0.0
    }

    fn goes_on(&self) -> GoesOn {
        let thirds = self.thirds();
        let rises = |points: &[Point; 4]| {
            let [first, .., last] = points;
            self.is_gain(first, last, GAIN_DEVIATIONS) && is_even(points)
        };
        let [first, .., third, last] = &thirds;
        let is_growth = self.is_gain(first, last, GAIN_DEVIATIONS);
        if rises(&thirds)
            || self.quarters().is_some_and(|quarters| rises(&quarters))
            || is_growth && self.grows_in_larger_steps()
        {
            GoesOn::Yes
        // For doubt, a lower limit is enough.
        } else if is_growth && self.is_gain(third, last, DEVIATIONS) {
            GoesOn::Perhaps
        } else {
            GoesOn::No
        }
    }

    fn trend(&self) -> Trend {
        let goes_on = self.goes_on();
        let [first, .., last] = self.thirds();
        let gain = last.level - first.level;
        let line = Line::through(&self.at, &self.levels);
        let by_chance = DEVIATIONS * self.deviation(gain / 2.0, 1.0, 1.0);
        let is_straight = line.greatest <= STRAIGHT * gain.abs() + by_chance;
        let law = match goes_on {
            GoesOn::Yes if is_straight => Some(Law::Linear),
            GoesOn::Yes => Some(Law::Stepped),
            _ if fluctuates(&self.levels) => Some(Law::Fluctuating),
            _ => self
                .is_gain(&first, &last, GAIN_DEVIATIONS)
                .then_some(Law::Filling),
        };
        let half = self.nearest(0.5).clamp(1, self.at.len() - 2);
        let from = match law {
            Some(Law::Linear) => first,
            _ => self.point(half),
        };
        let rate = match law {
            Some(Law::Linear) => line.slope,
            _ => rate(&from, &last),
        };
        let deviation = self.deviation(last.level - from.level, last.place - from.place, 1.0);
        Trend {
            law,
            goes_on,
            rate,
            error: DEVIATIONS * deviation / (last.at - from.at),
        }
    }

    /// Returns the smallest rate that would have been found nine times out of ten, if it had been
    /// there as well.
    fn findable(&self) -> f64 {
        let last = self.at.len() - 1;
        let is_found = |gain: f64| {
            let level = self.level + self.grain * gain;
            let deviation = self.deviation_at(level, gain, number(last), 1.0);
            gain >= SEEN_DEVIATIONS * deviation
        };
        let mut found = self.grain.max(1.0);
        while !is_found(found) {
            found *= 2.0;
        }
        let mut missed = 0.0;
        for _ in 0..20 {
            let middle = f64::midpoint(missed, found);
            *if is_found(middle) {
                &mut found
            } else {
                &mut missed
            } = middle;
        }
        found / (self.at[last] - self.at[0])
    }

    fn point(&self, dump: usize) -> Point {
        Point {
            at: self.at[dump],
            level: self.levels[dump],
            place: number(dump),
            dumps: 1.0,
        }
    }

    /// Returns the first dump, the dumps that are nearest to one third and two thirds of the time,
    /// and the last dump. No third is empty.
    fn thirds(&self) -> [Point; 4] {
        let last = self.at.len() - 1;
        let second = self.nearest(1.0 / 3.0).clamp(1, last - 2);
        let third = self.nearest(2.0 / 3.0).clamp(second + 1, last - 1);
        [0, second, third, last].map(|dump| self.point(dump))
    }

    /// Returns the means of the dumps of each quarter of the time. `None` if a quarter has none.
    fn quarters(&self) -> Option<[Point; 4]> {
        let (first, last) = (self.at[0], self.at[self.at.len() - 1]);
        let end = |quarter: u32| match quarter {
            4 => self.at.len(),
            _ => {
                let to = first + f64::from(quarter) / 4.0 * (last - first);
                self.at.partition_point(|at| *at < to)
            }
        };
        let quarter = |quarter: u32| {
            let dumps = end(quarter)..end(quarter + 1);
            let count = number(dumps.len());
            let mean = |values: &[f64]| values[dumps.clone()].iter().sum::<f64>() / count;
            (!dumps.is_empty()).then(|| Point {
                at: mean(&self.at),
                level: mean(&self.levels),
                place: number(dumps.start) + (count - 1.0) / 2.0,
                dumps: count,
            })
        };
        Some([quarter(0)?, quarter(1)?, quarter(2)?, quarter(3)?])
    }

    /// Returns the dump that is nearest to a share of the time.
    fn nearest(&self, share: f64) -> usize {
        let last = self.at.len() - 1;
        let to = self.at[0] + share * (self.at[last] - self.at[0]);
        let off = |dump: &usize| (self.at[*dump] - to).abs();
        let nearest = (0..=last).min_by(|one, two| off(one).total_cmp(&off(two)));
        nearest.unwrap_or_default()
    }

    /// Returns the standard deviation of a gain over this many steps, from and to means of this
    /// many dumps.
    fn deviation(&self, gain: f64, steps: f64, dumps: f64) -> f64 {
        self.deviation_at(self.level, gain, steps, dumps)
    }

    /// The same for another variance of a level.
    fn deviation_at(&self, level: f64, gain: f64, steps: f64, dumps: f64) -> f64 {
        // Objects that live long add variance from step to step, but never more than the whole
        // level has.
        let mut variance = (self.step * steps).min(level).max(self.step);
        let count = self.levels.len();
        // Few levels may be in order by chance. Then nothing falls.
        if count < MANY && (!self.never_fall() || count < IN_ORDER) {
            variance = variance.max(level / 2.0);
        }
        // The longer objects live, the less the levels of neighbours differ, and the less a mean
        // takes off.
        let life = match self.never_fall() {
            true => f64::INFINITY,
            false => (level / self.step).max(1.0),
        };
        let of_mean = variance * ((2.0 * life - 1.0) / dumps).min(1.0);
        (2.0 * of_mean + self.grain * gain.abs()).sqrt()
    }

    /// Tells whether a level rose by at least this many standard deviations.
    fn is_gain(&self, from: &Point, to: &Point, deviations: f64) -> bool {
        let gain = to.level - from.level;
        let dumps = from.dumps.min(to.dumps);
        gain > 0.0 && gain >= deviations * self.deviation(gain, to.place - from.place, dumps)
    }

    /// Tells whether nothing ever falls, and there are at least three steps, each larger than the
    /// one before, and the next is not overdue.
    fn grows_in_larger_steps(&self) -> bool {
        let rises = self.at[1..].iter().copied().zip(steps(&self.levels));
        let rises: Vec<(f64, f64)> = rises.filter(|(_, step)| *step > 0.0).collect();
        let [.., before, last] = rises.as_slice() else {
            return false;
        };
        let since = self.at[self.at.len() - 1] - last.0;
        self.never_fall()
            && rises.len() >= 3
            && rises.windows(2).all(|two| two[1].1 >= LARGER * two[0].1)
            && since <= PATIENCE * (last.0 - before.0)
    }
}

fn rate(from: &Point, to: &Point) -> f64 {
    (to.level - from.level) / (to.at - from.at)
}

/// Tells whether each part gains something, and the last about as much as those before.
fn is_even([first, second, third, last]: &[Point; 4]) -> bool {
    let each = [(first, second), (second, third), (third, last)];
    let least = EACH * rate(first, last);
    each.iter().all(|(from, to)| rate(from, to) > least)
        && rate(third, last) >= GOES_ON * rate(first, third)
}

fn steps(levels: &[f64]) -> impl Iterator<Item = f64> {
    levels.windows(2).map(|two| two[1] - two[0])
}

fn fluctuates(levels: &[f64]) -> bool {
    let rises: f64 = steps(levels).map(|step| step.max(0.0)).sum();
    let falls: f64 = steps(levels).map(|step| -step.min(0.0)).sum();
    falls > FALLS * rises
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use crate::dump::Estimate;
    use crate::ladder;

    /// The law of this many objects at these distances, and whether it goes on.
    fn at(distances: &[u64], objects: impl Fn(f64) -> f64) -> String {
        let level = |at: &u64| Estimate {
            objects: objects(to_f64(*at)),
            bytes: 0.0,
        };
        let series = distances.iter().map(|at| level(at).truncated());
        let series = Series::new(series.collect()).of_process([1.0; 2]);
        match Trend::of(distances, &series, Unit::Objects) {
            None => "too few".to_owned(),
            Some(Trend { law, goes_on, .. }) => {
                format!("{} {goes_on}", law.map_or("chance", Law::as_str))
            }
        }
    }

    fn of(dumps: u64, objects: impl Fn(f64) -> f64) -> String {
        at(&Vec::from_iter(0..dumps), objects)
    }

    /// Numbers that look random, and are the same every time.
    fn chance(at: f64) -> f64 {
        (at * 12.9898).sin() * 43_758.547 % 1.0
    }

    #[test]
    fn laws() {
        for dumps in [4, 5, 9, 13, 60] {
            assert_eq!(
                of(dumps, |at| 5_000.0 + 600.0 * at),
                "linear yes",
                "{dumps}"
            );
        }
        for dumps in [4, 6, 20, 60] {
            let level = |at: f64| 10_000.0 + 400.0 * chance(at);
            assert_eq!(of(dumps, level), "fluctuating no", "{dumps}");
        }
        for dumps in [9, 13, 60] {
            let last = (dumps - 1) as f64;
            let full_halfway = |at: f64| 20_000.0 * (2.0 * at / last).min(1.0);
            assert_eq!(of(dumps, full_halfway), "filling no", "{dumps}");
            let ever_slower = |at: f64| 50_000.0 * (1.0 - (-3.0 * at / last).exp());
            assert_eq!(of(dumps, ever_slower), "filling perhaps", "{dumps}");
        }
        let leak_beside_turnover = |at: f64| 10_000.0 + 300.0 * at + 200.0 * chance(at);
        let doubled = |at: f64| 4_096.0 * (1.0 + at).log2().floor().exp2();
        let step = |from: f64| move |at: f64| if at < from { 0.0 } else { 9_000.0 };
        for (found, expected) in [
            (of(30, leak_beside_turnover), "linear yes"),
            (of(24, doubled), "stepped yes"),
            (of(20, step(3.0)), "filling no"),
            (of(20, step(18.0)), "filling perhaps"),
            (of(40, |at| 1_000.0 * (at % 7.0)), "fluctuating no"),
            (of(4, |at| at), "chance no"),
            // Four levels are in order by chance once in 24 orders.
            (of(4, |at| 10_000.0 + 60.0 * at), "chance no"),
            (of(20, |at| 10_000.0 + 60.0 * at), "linear yes"),
            (of(3, |at| 1_000.0 * at), "too few"),
        ] {
            assert_eq!(found, expected);
        }
    }

    /// Births find what is lost in the ups and downs of a level, and nothing else.
    #[test]
    fn beside_births() {
        let at = Vec::from_iter(0..60);
        let goes_on = |level: fn(f64) -> f64, unit, stays| {
            let levels = at.iter().map(|at| Estimate {
                objects: level(to_f64(*at)),
                bytes: level(to_f64(*at)),
            });
            let series = Series::new(levels.map(Estimate::truncated).collect());
            let series = series.of_process([1.0; 2]).who_stay(Some(stays));
            let Trend { law, goes_on, .. } = Trend::of(&at, &series, unit).unwrap();
            format!("{} {goes_on}", law.map_or("chance", Law::as_str))
        };
        let swings = |at: f64| 10_000.0 + 4_000.0 * chance(at) + 50.0 * at;
        let falls = |at: f64| 10_000.0 + 4_000.0 * chance(at) - 100.0 * at;
        let fills = |at: f64| 50_000.0 * (1.0 - (-at / 20.0).exp());
        let rises = |at: f64| 5_000.0 + 600.0 * at;
        let (objects, bytes) = (Unit::Objects, Unit::Bytes);
        let kept = |objects: f64| Rate {
            objects,
            bytes: 0.0,
        };
        let evenly = Stays::Evenly(kept(3_000.0), kept(200.0));
        for (found, expected) in [
            (goes_on(swings, objects, evenly), "linear yes"),
            (goes_on(swings, objects, Stays::Young), "fluctuating no"),
            (goes_on(falls, objects, evenly), "linear perhaps"),
            (goes_on(fills, objects, evenly), "filling perhaps"),
            (goes_on(rises, objects, evenly), "linear yes"),
            (goes_on(rises, objects, Stays::Young), "linear perhaps"),
            (goes_on(rises, bytes, Stays::Young), "linear yes"),
        ] {
            assert_eq!(found, expected);
        }
    }

    /// On a ladder, a few objects that stay are found; a dump may be missing.
    #[test]
    fn a_ladder() {
        let ladder: Vec<u64> = (0..25).map(ladder::rung).collect();
        let few = |at: f64| 1_000_000.0 + at / 32.0;
        assert_eq!(at(&ladder, few), "linear yes");
        let missing: Vec<u64> = [&ladder[..18], &ladder[19..]].concat();
        assert_eq!(at(&missing, few), "linear yes");
        let equal = Vec::from_iter((0..25).map(|dump| 43 * dump));
        assert_eq!(at(&equal, |at| 1_000_000.0 + at / 100.0), "chance no");
        assert_eq!(
            at(&ladder, |at| 1_000.0 * (at / 512.0).min(1.0)),
            "filling no"
        );
    }
}
