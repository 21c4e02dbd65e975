//! Computes the rate, law and error of one stack from its levels over a ladder.
//!
//! A leak is growth that does not stop: its gain in an octave (a doubling of the iterations)
//! doubles from octave to octave. This holds for a leak of one object per iteration and for
//! the steps of a `Vec` that is only pushed to. The gain of a cache, a pool or a lazy static
//! falls to nothing.
//!
//! ```text
//! Series ─┬─ levels, where they never fall ───────────────┐
//!         ├─ kept: who is still alive, by birth ──────────┼─► curve: does it grow
//!         │    (levels that fall)                         │   as a leak does?
//!         └─ levels: do they double all the same? ────────┴─► Quantity
//!              (a queue that falls behind)
//! ```
//!
//! A [`Trend`] is the growth over dumps of a running process, which may be at any distances.

mod answer;
mod curve;
#[cfg(feature = "reports")]
mod dumps;
mod kept;
mod levels;

pub use self::answer::{Answer, Looked, Question, View, Wanted};
use self::curve::Curve;
#[cfg(feature = "reports")]
pub use self::dumps::{GoesOn, Trend};
use self::kept::Kept;
use self::levels::Noise;
use crate::ladder::{RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use crate::rate::to_f64;
use crate::series::Alive;
use crate::{Law, Rate, Series, Tally};

/// The fewest dumps with which a leak can be told from a cache that fills: the ends of three
/// thirds.
pub const FEWEST_DUMPS: usize = 4;

/// Factor by which the mean object size must grow before [`Growth::objects_swell`] is true.
/// Bytes that grow without objects make the objects four times as large in two octaves. A
/// buffer that is sometimes longer than ever before makes them only a little larger.
const SWELLING: f64 = 1.25;

/// Standard deviations of a random count by which the younger generations may be below the
/// half that they must keep. Two are enough, because the half already allows for much.
const BY_CHANCE: f64 = 2.0;

/// Factor by which a buffer that doubles must grow faster than even growth, to be found as
/// surely: its last step may be an octave ago.
const SHOWS_LATE: f64 = 4.0;

/// Growth of one quantity (objects or bytes) over the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Growth per iteration over the last octave. For stepped growth, the greatest level per
    /// iteration in the last octave. If objects come and go, only those that stay count.
    pub rate: f64,
    /// Upper bound of the rate. If it is below a limit, the rate is below that limit, as far
    /// as the measurement can tell. Infinite if there is no bound.
    pub bound: f64,
    /// How far the rate may be off because of the workload's own fluctuation, and because of
    /// what was not sampled.
    pub error: f64,
    /// The law of the growth.
    pub law: Law,
    /// Whether it rose for three octaves by more than chance explains.
    pub rising: bool,
    /// Whether it rises although no old object stays, as a queue does that falls behind. A
    /// buffer that has just become full may look like this for an octave.
    pub is_anew: bool,
    /// Smallest additional rate that would have been found to rise. Zero if the level never
    /// moved, and of a running process; infinite if no rate would have been found.
    pub findable: f64,
    /// The same for growth that keeps no old objects, such as a list that is replaced when it
    /// grows. Zero if the level never falls. Of a running process, this is for any growth.
    pub findable_anew: f64,
}

impl Quantity {
    /// The quantity of a level that never moved.
    const FLAT: Quantity = Quantity {
        rate: 0.0,
        bound: 0.0,
        error: 0.0,
        law: Law::Filling,
        rising: false,
        is_anew: false,
        findable: 0.0,
        findable_anew: 0.0,
    };

    /// Combines several views of one stack. The stack rises if it rises in one view. If it
    /// rises in none, the view with the smallest bound counts.
    fn together(views: &[View]) -> Quantity {
        let quantities = || views.iter().map(|view| view.quantity);
        let surer = |best: Quantity, other: Quantity| {
            let is_better = !best.rising && (other.rising || other.bound < best.bound);
            if is_better { other } else { best }
        };
        let Some(surest) = quantities().reduce(surer) else {
            return Quantity::FLAT;
        };
        let findable = quantities().map(|quantity| quantity.findable);
        let findable_anew = quantities().map(|quantity| quantity.findable_anew);
        Quantity {
            findable: findable.fold(f64::INFINITY, f64::min),
            findable_anew: findable_anew.fold(0.0, f64::max),
            ..surest
        }
    }
}

/// Growth of one stack, site or resource over the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Objects, or threads, or descriptors.
    pub objects: Quantity,
    /// Bytes.
    pub bytes: Quantity,
    /// Whether the mean object size in the last two octaves is more than a quarter above every
    /// mean before. Always false if objects come and go. If it is false, bytes that do not
    /// rise can grow only together with objects.
    pub objects_swell: bool,
}

impl Growth {
    /// Computes the growth of a series over the iteration counts of its rungs.
    ///
    /// Rates need an octave, which is five rungs; with fewer rungs everything is flat. Only
    /// rungs that have both an iteration count and a level are used.
    ///
    /// Levels of a [running process](Series::of_process) are judged by their [`Trend`]. Only tools
    /// have such levels, so this needs the feature `reports`.
    pub fn of(iterations: &[u64], series: &Series) -> Growth {
        #[cfg(feature = "reports")]
        if series.grains().is_some() {
            return dumps::growth(iterations, series);
        }
        Growth::on_ladder(iterations, series)
    }

    /// Returns the sum of the levels of several stacks, and its growth. In an exact profile the
    /// growth is the sum of each stack's growth, so that the steps of one stack are no noise of
    /// the sum.
    pub(crate) fn together<'s>(
        iterations: &[u64],
        parts: impl Iterator<Item = &'s Series>,
    ) -> (Series, Growth) {
        let mut sum = Series::default();
        let mut growth: Option<Growth> = None;
        for part in parts {
            sum.merge(part);
            let own = Growth::of(iterations, part);
            growth = Some(growth.map_or(own, |growth| growth.plus(&own)));
        }
        let growth = growth.filter(|_| sum.interval().is_exact());
        let growth = growth.unwrap_or_else(|| Growth::of(iterations, &sum));
        (sum, growth)
    }

    fn plus(&self, other: &Growth) -> Growth {
        let quantity = |one: &Quantity, other: &Quantity| Quantity {
            rate: one.rate + other.rate,
            bound: one.bound + other.bound,
            error: one.error + other.error,
            law: match (one.rising, other.rising) {
                (true, false) => one.law,
                (false, true) => other.law,
                _ => one.law.max(other.law),
            },
            rising: one.rising || other.rising,
            is_anew: [one, other].iter().all(|one| one.is_anew || !one.rising),
            findable: one.findable + other.findable,
            findable_anew: one.findable_anew + other.findable_anew,
        };
        Growth {
            objects: quantity(&self.objects, &other.objects),
            bytes: quantity(&self.bytes, &other.bytes),
            objects_swell: self.objects_swell || other.objects_swell,
        }
    }

    fn on_ladder(iterations: &[u64], series: &Series) -> Growth {
        let asked = Asked::of(iterations, series);
        let objects = Quantity::together(&asked.views(Unit::Objects, true));
        let bytes = Quantity::together(&asked.views(Unit::Bytes, objects.rising));
        let levels: Vec<Tally> = asked.levels.iter().map(|alive| alive.level).collect();
        Growth {
            objects,
            bytes,
            objects_swell: !asked.falls && objects_swell(&levels),
        }
    }

    /// Returns every way in which [`Growth::of`] looks at the series, with its questions and
    /// answers: first for objects, then for bytes.
    pub fn views(iterations: &[u64], series: &Series) -> Vec<View> {
        let asked = Asked::of(iterations, series);
        let mut views = asked.views(Unit::Objects, true);
        let may_rise = Quantity::together(&views).rising;
        views.extend(asked.views(Unit::Bytes, may_rise));
        views
    }

    /// Returns the growth in objects and bytes per iteration.
    pub fn rate(&self) -> Rate {
        let (objects, bytes) = (self.objects.rate, self.bytes.rate);
        Rate { objects, bytes }
    }

    /// Returns the quantity that is counted in `unit`.
    pub(crate) fn of_unit(&mut self, unit: Unit) -> &mut Quantity {
        match unit {
            Unit::Objects => &mut self.objects,
            Unit::Bytes => &mut self.bytes,
        }
    }

    /// Returns how far the rate may be off.
    pub fn error(&self) -> Rate {
        let (objects, bytes) = (self.objects.error, self.bytes.error);
        Rate { objects, bytes }
    }

    /// Returns the law of the stack. If both quantities rise, linear goes before stepped. If
    /// only one rises, its law counts. If neither rises, the law that is later in the order of
    /// [`Law`] counts.
    pub fn law(&self) -> Law {
        match (self.bytes.rising, self.objects.rising) {
            (true, true) => self.objects.law.min(self.bytes.law),
            (true, false) => self.bytes.law,
            (false, true) => self.objects.law,
            (false, false) => self.bytes.law.max(self.objects.law),
        }
    }

    /// Returns whether the bytes, or a part of them, grow in steps: for example the spare room
    /// of a list, beside its elements. This holds if bytes rise in law [`Law::Stepped`]. It
    /// also holds if bytes rise and stray from a straight line by more than a hundredth of
    /// their rate, and objects do not.
    pub(crate) fn has_bytes_in_steps(&self) -> bool {
        let strays = |quantity: &Quantity| match quantity.rate > 0.0 {
            true => quantity.error / quantity.rate,
            false => 0.0,
        };
        self.bytes.rising
            && (self.bytes.law == Law::Stepped
                || strays(&self.bytes) > 0.01 + 2.0 * strays(&self.objects))
    }

    /// Returns whether objects or bytes rise.
    pub fn is_rising(&self) -> bool {
        self.objects.rising || self.bytes.rising
    }
}

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Objects, or threads, or descriptors.
    Objects,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// Returns what a tally counts in this unit.
    pub fn of(self, tally: &Tally) -> f64 {
        to_f64(self.count(tally))
    }

    /// The same as an integer.
    pub fn count(self, tally: &Tally) -> u64 {
        match self {
            Unit::Objects => tally.objects,
            Unit::Bytes => tally.bytes,
        }
    }

    /// Returns each level in this unit.
    fn levels(self, levels: &[Alive]) -> Vec<f64> {
        levels.iter().map(|alive| self.of(&alive.level)).collect()
    }

    /// Returns the most that one counted object stands for: the greatest ratio of what a level
    /// changed to the number of counted objects that came or went, between two of the last
    /// rungs.
    fn of_one(self, levels: &[Alive]) -> f64 {
        let from = levels.len().saturating_sub(RUNGS_TO_RISE);
        let of = |pair: &[Alive]| {
            let counted = pair[0].counted.objects.abs_diff(pair[1].counted.objects);
            (self.of(&pair[0].level) - self.of(&pair[1].level)).abs() / to_f64(counted.max(1))
        };
        levels[from..].windows(2).map(of).fold(0.0, f64::max)
    }
}

/// One series, prepared for the questions about both quantities.
struct Asked {
    iterations: Vec<f64>,
    levels: Vec<Alive>,
    kept: Kept,
    /// Whether counted objects or bytes fell at one of the last rungs.
    falls: bool,
    is_exact: bool,
}

impl Asked {
    fn of(iterations: &[u64], series: &Series) -> Asked {
        let rungs = iterations.len().min(series.levels().len());
        let levels: Vec<Alive> = (0..rungs).map(|rung| series.alive(rung)).collect();
        Asked {
            iterations: iterations[..rungs].iter().copied().map(to_f64).collect(),
            kept: Kept::of(series, rungs),
            falls: falls(&levels),
            is_exact: series.interval().is_exact(),
            levels,
        }
    }

    /// Returns the views of one quantity. For bytes, `may_rise` says whether objects rise,
    /// because survivors gain bytes only if they gain objects. For objects it is true.
    fn views(&self, unit: Unit, may_rise: bool) -> Vec<View> {
        let is_turned_over = self.falls || self.kept.dies();
        let levels = unit.levels(&self.levels);
        let mut views = Vec::new();
        if !self.falls {
            views.push(self.curve(unit, Looked::Level, &self.levels, may_rise));
        }
        // A list that is replaced as it grows keeps its bytes in no old object. So if levels
        // never fall, survivors do not bound bytes: only the level does.
        if is_turned_over && (self.falls || unit == Unit::Objects) {
            let of_age = |age| self.by_age(unit, age, may_rise);
            views.extend(kept::AGES.into_iter().filter_map(of_age));
        }
        if self.falls && !self.kept.is_known {
            let floor = kept::floor(&self.levels);
            let iterations = &self.iterations[..floor.len()];
            views.push(View {
                unit,
                of: Looked::Floor,
                answers: Vec::new(),
                quantity: curve::quantity(iterations, &unit.levels(&floor), false),
            });
        }
        if self.falls {
            views.push(self.by_level(unit, &levels));
        }
        views
    }

    /// Returns the view of the survivors that were born `age` rungs before the last rung, or
    /// earlier. `None` if births are not known, or the ladder is too short.
    fn by_age(&self, unit: Unit, age: usize, may_rise: bool) -> Option<View> {
        let born = self.kept.born_before(age);
        (born.len() > RUNGS_PER_OCTAVE).then(|| {
            let mut view = self.curve(unit, Looked::Kept(age), &born, may_rise);
            if view.quantity.rising {
                let younger = self.younger(unit, age, view.quantity.rate);
                view.quantity.rising = younger.iter().all(Answer::holds);
                view.answers.extend(younger);
            }
            if !may_rise {
                view.quantity.rising = false;
                view.answers = vec![Answer::at_least(Question::ObjectsRise, 0.0, 1.0)];
            }
            view
        })
    }

    fn curve(&self, unit: Unit, of: Looked, levels: &[Alive], may_rise: bool) -> View {
        let died = match of {
            Looked::Kept(age) => unit.of(&self.kept.died(&self.iterations, age)),
            _ => 0.0,
        };
        let curve = Curve {
            iterations: &self.iterations[..levels.len()],
            levels: unit.levels(levels),
            of_one: self.of_one(unit, levels),
            is_kept: matches!(of, Looked::Kept(_)),
            may_be_straight: may_rise,
            died,
            counts: unit == Unit::Objects,
        };
        let quantity = curve.quantity();
        View {
            unit,
            of,
            answers: curve.answers(),
            quantity: match self.is_exact {
                true => quantity,
                false => curve.sampled(quantity, levels),
            },
        }
    }

    fn of_one(&self, unit: Unit, levels: &[Alive]) -> f64 {
        match unit == Unit::Objects && self.is_exact {
            true => 1.0,
            false => unit.of_one(levels),
        }
    }

    /// Returns whether objects that are younger than the survivors of an age stay as well, at
    /// each younger age. At least half as many per iteration must stay, less what chance
    /// explains. A full cache keeps none of them.
    fn younger(&self, unit: Unit, age: usize, rate: f64) -> Vec<Answer> {
        let born = self.kept.born_before(0);
        let last = born.len() - 1;
        let by = |rung: usize| unit.of(&born[rung].level);
        let of_age = |younger: usize| {
            let iterations = self.iterations[last - younger] - self.iterations[last - age];
            let half = 0.5 * rate * iterations;
            let by_chance = BY_CHANCE * (self.of_one(unit, &born) * half).sqrt();
            let stayed = by(last - younger) - by(last - age) + by_chance;
            Answer::at_least(Question::Younger(younger), stayed, half)
        };
        (0..age).map(of_age).collect()
    }

    /// Returns the view of the level: whether it doubles from octave to octave, whichever
    /// objects stay. For bytes, the bytes of young objects must double as well, because a few
    /// large old objects are no growth.
    fn by_level(&self, unit: Unit, levels: &[f64]) -> View {
        let is_known = self.kept.is_known;
        let from = self.levels.len().saturating_sub(RUNGS_TO_RISE);
        let come_and_go = match is_known {
            true => self.kept.variances(unit, |rung| from + 1..rung),
            false => {
                let of_one = unit.of_one(&self.levels);
                let others = counted(&self.levels).map(|objects| objects - 1.0);
                others.map(|others| of_one * of_one * others).collect()
            }
        };
        let noise = |levels: &[f64], variances: Vec<f64>| {
            let noise = Noise::of(unit, levels, &variances);
            match self.is_exact || unit == Unit::Objects {
                true => noise,
                false => noise.at_most_about_a_line(&self.iterations, levels),
            }
        };
        let noise_of_all = noise(levels, come_and_go);
        let (mut rising, mut answers) = noise_of_all.ask(levels);
        let mut findable = noise_of_all.findable(&self.iterations, levels);
        let mut findable_anew = findable;
        if unit == Unit::Bytes && self.kept.is_known {
            let young = self.kept.young();
            let variances = self.kept.variances(unit, Kept::youngest);
            let noise = noise(&unit.levels(&young), variances);
            let young = unit.levels(&young);
            let (young_rise, of_young) = noise.ask(&young);
            rising &= young_rise;
            answers.extend(of_young);
            let of_young = noise.findable(&self.iterations, &young);
            findable_anew = SHOWS_LATE * findable.max(of_young);
            findable = f64::INFINITY;
        }
        View {
            unit,
            of: Looked::Octaves,
            answers,
            quantity: Quantity {
                findable,
                findable_anew,
                is_anew: rising,
                ..curve::quantity(&self.iterations, levels, rising)
            },
        }
    }
}

/// Returns the number of objects that were counted at each rung.
fn counted(levels: &[Alive]) -> impl Iterator<Item = f64> {
    levels.iter().map(|alive| to_f64(alive.counted.objects))
}

/// Returns whether counted objects or bytes fell at one of the last rungs.
fn falls(levels: &[Alive]) -> bool {
    let span = &levels[levels.len().saturating_sub(RUNGS_TO_RISE)..];
    span.windows(2).any(|pair| {
        let (before, after) = (pair[0].counted, pair[1].counted);
        before.objects > after.objects || before.bytes > after.bytes
    })
}

/// Returns by how much the mean level of an octave exceeds that of the octave before. Octave 0
/// is the last.
fn gain(levels: &[f64], octave: usize) -> f64 {
    mean(levels, octave) - mean(levels, octave + 1)
}

/// Returns the mean level of the four rungs of an octave. Octave 0 is the last.
fn mean(levels: &[f64], octave: usize) -> f64 {
    let end = levels.len() - octave * RUNGS_PER_OCTAVE;
    let rungs = &levels[end - RUNGS_PER_OCTAVE..end];
    rungs.iter().sum::<f64>() / to_f64(rungs.len() as u64)
}

/// Returns whether the mean object size in the last two octaves exceeds every mean before by
/// the factor [`SWELLING`]. Only rungs with no more objects than before count. True if the
/// ladder has no rungs before its last two octaves.
fn objects_swell(levels: &[Tally]) -> bool {
    let recent = levels.len().saturating_sub(2 * RUNGS_PER_OCTAVE);
    let (before, recent) = levels.split_at(recent);
    if before.is_empty() {
        return true;
    }
    let most = before.iter().map(|level| level.objects).max().unwrap_or(0);
    let size = |level: &Tally| match level.objects {
        0 => 0.0,
        objects => to_f64(level.bytes) / to_f64(objects),
    };
    let greatest = before.iter().map(size).fold(0.0, f64::max);
    let no_more = recent.iter().filter(|level| level.objects <= most);
    no_more.map(size).fold(0.0, f64::max) > SWELLING * greatest
}

#[cfg(test)]
mod tests;
