//! From the levels of one stack over a ladder to its rate, law and error.
//!
//! A leak is growth that does not stop: what it gains in an octave (a doubling
//! of the iterations) doubles from octave to octave, whether it grows by one
//! object an iteration or in the steps of a `Vec` that is only pushed to. What
//! a cache, a pool or a lazy static gains falls to nothing.
//!
//! ```text
//! Series ─┬─ levels, where they never fall ───────────────┐
//!         ├─ kept: who is still alive, by birth ──────────┼─► curve: does it grow
//!         │    (levels that fall)                         │   as a leak does?
//!         └─ levels: do they double all the same? ────────┴─► Quantity
//!              (a queue that falls behind)
//! ```

mod answer;
mod curve;
mod kept;
mod levels;

pub use self::answer::{Answer, Looked, Question, View};
use self::curve::Curve;
use self::kept::Kept;
use self::levels::Noise;
use crate::ladder::{RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use crate::series::Alive;
use crate::{Law, Rate, Series, Tally};

/// How much larger objects must become to count as larger. Bytes that grow
/// without objects make them four times as large in two octaves; a buffer that
/// is sometimes longer than it ever was makes them a little larger.
const SWELLING: f64 = 1.25;

/// By how many deviations of a count at random it may be less than half of what it should
/// be: half is forgiven already.
const BY_CHANCE: f64 = 2.0;

/// How much faster a buffer that doubles must grow to be found as surely as what grows evenly:
/// its last step may be an octave ago.
const SHOWS_LATE: f64 = 4.0;

/// What one quantity (objects, or bytes) does over the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Per iteration, over the last octave; for stepped growth the greatest
    /// level per iteration in it. Of what comes and goes, only what stays.
    pub rate: f64,
    /// The greatest rate that was left possible: what is under a limit here is under it,
    /// for all that can be told.
    pub bound: f64,
    /// How far a rate may be off for the workload's own fluctuation, and for what was not
    /// sampled.
    pub error: f64,
    /// The shape.
    pub law: Law,
    /// Whether it rose for three octaves, beyond what chance explains.
    pub rising: bool,
    /// The least rate that, on top of what is there, would have been found to rise; zero
    /// where the level never moved.
    pub findable: f64,
    /// The same for growth that leaves nothing old behind, as of a list that is replaced
    /// when it grows; zero where the level never falls.
    pub findable_anew: f64,
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
        findable_anew: 0.0,
    };

    /// What several views of one stack say together: it grows where one says so, and what
    /// one bounds is bounded.
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

/// What one stack, site or resource does over the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Objects, or threads, or descriptors.
    pub objects: Quantity,
    /// Bytes.
    pub bytes: Quantity,
    /// Whether objects became larger, on average, in the last two octaves than
    /// they ever were before, by a quarter. Where they did not, or where they come and go,
    /// bytes that do not rise can only grow with objects.
    pub objects_swell: bool,
}

impl Growth {
    /// Of a series over the iteration counts of the same rungs.
    ///
    /// Rates need an octave, that is, five rungs; with fewer everything is
    /// flat. Only as many rungs are used as both have.
    pub fn of(iterations: &[u64], series: &Series) -> Growth {
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

    /// Every way in which [`Growth::of`] looks at that series, with what it asks and what the
    /// answers are: objects first, then bytes.
    pub fn views(iterations: &[u64], series: &Series) -> Vec<View> {
        let asked = Asked::of(iterations, series);
        let mut views = asked.views(Unit::Objects, true);
        let may_rise = Quantity::together(&views).rising;
        views.extend(asked.views(Unit::Bytes, may_rise));
        views
    }

    /// Objects and bytes per iteration.
    pub fn rate(&self) -> Rate {
        Rate {
            objects: self.objects.rate,
            bytes: self.bytes.rate,
        }
    }

    /// One of the two.
    pub(crate) fn of_unit(&mut self, unit: Unit) -> &mut Quantity {
        match unit {
            Unit::Objects => &mut self.objects,
            Unit::Bytes => &mut self.bytes,
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

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Objects, or threads, or descriptors.
    Objects,
    /// Bytes.
    Bytes,
}

impl Unit {
    pub(crate) fn of(self, tally: &Tally) -> f64 {
        to_f64(match self {
            Unit::Objects => tally.objects,
            Unit::Bytes => tally.bytes,
        })
    }

    /// Each level in this unit.
    fn levels(self, levels: &[Alive]) -> Vec<f64> {
        levels.iter().map(|alive| self.of(&alive.level)).collect()
    }

    /// What one object that was counted stands for, where that is most: of those that came
    /// or went between two rungs.
    fn of_one(self, levels: &[Alive]) -> f64 {
        let from = levels.len().saturating_sub(RUNGS_TO_RISE);
        let of = |pair: &[Alive]| {
            let counted = pair[0].counted.objects.abs_diff(pair[1].counted.objects);
            (self.of(&pair[0].level) - self.of(&pair[1].level)).abs() / to_f64(counted.max(1))
        };
        levels[from..].windows(2).map(of).fold(0.0, f64::max)
    }
}

/// One series, of which both quantities are asked.
struct Asked {
    iterations: Vec<f64>,
    levels: Vec<Alive>,
    kept: Kept,
    /// Whether a level of the last rungs is below the one before.
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

    /// What stayed takes more objects for more bytes: they are told whether those rise.
    fn views(&self, unit: Unit, may_rise: bool) -> Vec<View> {
        let is_turned_over = self.falls || self.kept.dies();
        let levels = unit.levels(&self.levels);
        let mut views = Vec::new();
        if !self.falls {
            views.push(self.curve(unit, Looked::Level, &self.levels, may_rise));
        }
        // Bytes of a list that is replaced as it grows are in no old object: where levels
        // never fall, they alone bound what grows so.
        if is_turned_over && (self.falls || unit == Unit::Objects) {
            let of_age = |age| self.by_age(unit, age, may_rise);
            views.extend(kept::AGES.into_iter().filter_map(of_age));
        }
        if self.falls && !self.kept.is_known() {
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

    /// What those who stayed say, of an age, where the ladder is long enough.
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
        match (unit, self.is_exact) {
            (Unit::Objects, true) => 1.0,
            _ => unit.of_one(levels),
        }
    }

    /// Whether of those who are younger than what stayed as many stay, of each age: half of
    /// them at least, as far as can be told. A cache that is full has none.
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

    /// Whether the level doubles from octave to octave, whoever stays. Of bytes those of the
    /// young have to double as well: a few large ones that are old make no growth.
    fn by_level(&self, unit: Unit, levels: &[f64]) -> View {
        let is_known = self.kept.is_known();
        let from = self.levels.len().saturating_sub(RUNGS_TO_RISE);
        let come_and_go = match is_known {
            true => self.kept.variances(unit, |rung| from + 1..rung),
            false => {
                let of_one = unit.of_one(&self.levels);
                let objects = counted(&self.levels);
                objects
                    .map(|objects| of_one * of_one * (objects - 1.0))
                    .collect()
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
        if unit == Unit::Bytes && self.kept.is_known() {
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
                ..curve::quantity(&self.iterations, levels, rising)
            },
        }
    }
}

/// How many objects were counted at each rung.
fn counted(levels: &[Alive]) -> impl Iterator<Item = f64> {
    levels.iter().map(|alive| to_f64(alive.counted.objects))
}

/// Whether some of what was counted went at one of the last rungs.
fn falls(levels: &[Alive]) -> bool {
    let span = &levels[levels.len().saturating_sub(RUNGS_TO_RISE)..];
    span.windows(2).any(|pair| {
        let (before, after) = (pair[0].counted, pair[1].counted);
        before.objects > after.objects || before.bytes > after.bytes
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 are no heap's"
)]
fn to_f64(value: u64) -> f64 {
    value as f64
}

/// What the last rungs but so many octaves gain on those of the octave before, on the
/// mean of their four rungs.
fn gain(levels: &[f64], octave: usize) -> f64 {
    mean(levels, octave) - mean(levels, octave + 1)
}

/// The mean level of an octave, 0 being the last.
fn mean(levels: &[f64], octave: usize) -> f64 {
    let end = levels.len() - octave * RUNGS_PER_OCTAVE;
    let rungs = &levels[end - RUNGS_PER_OCTAVE..end];
    rungs.iter().sum::<f64>() / to_f64(rungs.len() as u64)
}

/// Whether objects are larger in the last two octaves than any were before, where there
/// are not more of them.
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
