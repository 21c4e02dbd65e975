//! Survivors: of the objects that are alive at the last rung, how many were born by each rung
//! before.
//!
//! ```text
//! alive at rung 40, by the rung before which they were born
//!   … 36: 156   37: 201   38: 240   39: 287   40: 490
//!                                └ age 2: those born by rung 38, and so on
//! ```
//!
//! This curve never falls, whatever comes and goes. Objects that live for a short time are
//! only in its last steps, which an age leaves out. Objects of the setup are in its first
//! step. A leak is a straight line through the whole curve, and none of its old objects has
//! died.

use std::ops::Range;

use super::{Unit, to_f64};
use crate::ladder::{RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use crate::series::Alive;
use crate::{Series, Tally};

/// Ages in rungs at which survivors are counted, from a quarter of an octave to two octaves.
/// Objects that live for up to a 64th of the ladder are gone after one rung. Objects that live
/// for an eighth are gone after an octave or two.
pub(super) const AGES: [usize; 4] = [1, 2, 4, 8];

/// Age in rungs that counts as old before the last octave. Two octaves before the last rung,
/// it is twelve times the life of an object that lives for a 64th of the ladder. So such an
/// object is certainly gone.
const CERTAINLY_OLD: usize = 8;

/// The births of a series, as far as it has them.
pub(super) struct Kept {
    pub(super) is_known: bool,
    /// What is alive at each of the last rungs, by generation; empty for older rungs.
    alive: Vec<Vec<Alive>>,
}

impl Kept {
    pub(super) fn of(series: &Series, rungs: usize) -> Kept {
        let row = |rung: usize| {
            let mut row = vec![Alive::default(); rung + 1];
            for born in series.survivors(rung) {
                // plimsoll writes no generation later than the rung itself. In any other
                // input, a later one counts as the newest.
                row[born.generation.min(rung)] += born.alive;
            }
            row
        };
        let is_known = series.has_births();
        let oldest = rungs.saturating_sub(RUNGS_TO_RISE + 1);
        let alive = (0..rungs).map(|rung| match is_known && rung >= oldest {
            true => row(rung),
            false => Vec::new(),
        });
        Kept {
            is_known,
            alive: alive.collect(),
        }
    }

    fn rungs(&self) -> usize {
        self.alive.len()
    }

    fn survivors(&self, rung: usize) -> &[Alive] {
        self.alive.get(rung).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a generation lost objects between two rungs of the last two octaves.
    pub(super) fn dies(&self) -> bool {
        let last = self.rungs().saturating_sub(1);
        let from = last.saturating_sub(2 * RUNGS_PER_OCTAVE);
        (from..last).any(|rung| self.died_at(rung, rung).objects > 0)
    }

    /// Returns what is alive at the last rung and was born by each rung, up to the rung that
    /// is `age` before the last. Empty if births are not known.
    pub(super) fn born_before(&self, age: usize) -> Vec<Alive> {
        let rungs = match self.is_known {
            true => self.rungs().saturating_sub(age),
            false => 0,
        };
        let alive = self.survivors(self.rungs().saturating_sub(1));
        let mut sum = Alive::default();
        let born_by = (0..rungs).map(|generation| {
            sum += alive.get(generation).copied().unwrap_or_default();
            sum
        });
        born_by.collect()
    }

    /// Returns the generations that are young at a rung.
    pub(super) fn youngest(rung: usize) -> Range<usize> {
        rung.saturating_sub(RUNGS_PER_OCTAVE)..rung + 1
    }

    /// Returns what is alive at each rung and young: born on the way to that rung or to one of
    /// the four before it. A list that doubles is born anew in each octave, give or take a
    /// rung.
    pub(super) fn young(&self) -> Vec<Alive> {
        let at = |rung: usize| {
            let mut young = Alive::default();
            for alive in self.survivors(rung).iter().skip(Kept::youngest(rung).start) {
                young += *alive;
            }
            young
        };
        (0..self.rungs()).map(at).collect()
    }

    /// Returns what died in the last two octaves and was old at that time. An object is old if
    /// one of these holds:
    ///
    /// - It has lived for at least as many iterations as lie between the last rung and the
    ///   rung that is `age` before it.
    /// - It has lived for at least `age` rungs. If it died before the last octave, it must
    ///   have lived for at least [`CERTAINLY_OLD`] rungs as well.
    pub(super) fn died(&self, iterations: &[f64], age: usize) -> Tally {
        let last = self.rungs().saturating_sub(1);
        let of_age = iterations[last] - iterations[last - age];
        let from = last.saturating_sub(2 * RUNGS_PER_OCTAVE);
        let died = (from..last).map(|rung| {
            let is_old = |born: &&f64| iterations[rung] - **born >= of_age;
            let mut old = iterations[..rung].iter().take_while(is_old).count();
            let age = match rung + RUNGS_PER_OCTAVE >= last {
                true => age,
                false => age.max(CERTAINLY_OLD),
            };
            old = old.max((rung + 1).saturating_sub(age));
            match old.checked_sub(1) {
                Some(generation) => self.died_at(rung, generation),
                None => Tally::default(),
            }
        });
        died.fold(Tally::default(), Tally::saturating_add)
    }

    /// Returns what died between a rung and the next, of all generations up to `generation`.
    fn died_at(&self, rung: usize, generation: usize) -> Tally {
        let (before, after) = (self.survivors(rung), self.survivors(rung + 1));
        let mut died = Tally::default();
        for (generation, before) in before.iter().enumerate().take(generation + 1) {
            let after = after.get(generation).copied().unwrap_or_default();
            if before.counted.objects > after.counted.objects {
                let less =
                    |of: fn(&Tally) -> u64| of(&before.level).saturating_sub(of(&after.level));
                died.objects += less(|level| level.objects);
                died.bytes += less(|level| level.bytes);
            }
        }
        died
    }

    /// Returns the variance of the level at each rung, if objects come and go one by one: the
    /// sum of the squares of their sizes. The largest object is left out, because it may be a
    /// list that grows. `asked` says which generations of a rung count.
    pub(super) fn variances(&self, unit: Unit, asked: impl Fn(usize) -> Range<usize>) -> Vec<f64> {
        let from = self.rungs().saturating_sub(RUNGS_TO_RISE);
        let each = |alive: &Alive| {
            let counted = to_f64(alive.counted.objects);
            (counted > 0.0).then(|| unit.of(&alive.level) / counted)
        };
        let youngest = (from..self.rungs()).filter_map(|rung| self.survivors(rung).get(rung));
        let least = youngest.filter_map(each).fold(f64::INFINITY, f64::min);
        let at = |rung: usize| {
            let Range { start, end } = asked(rung);
            let alive = self.survivors(rung);
            let alive = alive.get(start..end.min(alive.len())).unwrap_or_default();
            let (mut sum, mut largest) = (0.0, 0.0_f64);
            for alive in alive.iter().filter(|alive| alive.counted.objects > 0) {
                // Only the sum of a generation is known. All objects but one are taken to have
                // the least size, and that one to have the rest, which gives the greatest
                // variance.
                let others = to_f64(alive.counted.objects - 1);
                let of_all = unit.of(&alive.level);
                let of_others = least.min(of_all / (others + 1.0));
                let of_one = of_all - others * of_others;
                sum += others * of_others * of_others + of_one * of_one;
                largest = largest.max(of_one);
            }
            sum - largest * largest
        };
        (0..self.rungs()).map(at).collect()
    }
}

/// Returns what replaces survivors if births are not known: the lowest level at or after each
/// rung, up to an octave before the last rung. Objects that were kept at a rung are in every
/// later level.
pub(super) fn floor(levels: &[Alive]) -> Vec<Alive> {
    let mut floor = levels.to_vec();
    for rung in (0..floor.len().saturating_sub(1)).rev() {
        let next = floor[rung + 1].level;
        let level = &mut floor[rung].level;
        level.objects = level.objects.min(next.objects);
        level.bytes = level.bytes.min(next.bytes);
    }
    floor.truncate(levels.len().saturating_sub(RUNGS_PER_OCTAVE));
    floor
}
