use std::ops::AddAssign;

use crate::dump::SampleInterval;
use crate::ladder::RUNGS_TO_RISE;
use crate::{Rate, Tally};

/// The levels of one stack (or site, or resource) at every rung of a ladder.
///
/// Levels of a sampled profile are estimates; levels of an exact profile are counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    levels: Vec<Tally>,
    interval: SampleInterval,
    /// What each dump printed; empty if levels are exact.
    counted: Vec<Tally>,
    /// What was alive at each of the last rungs, by generation, in order. No rows if births
    /// are not known.
    births: Vec<Vec<Born>>,
    /// Objects that were ever allocated, by generation, in order. Empty if that is not known.
    allocated: Vec<(usize, u64)>,
    /// Of dumps of a running process, see [`of_process`](Self::of_process).
    grains: Option<[f64; 2]>,
    /// Of dumps of a running process, see [`who_stay`](Self::who_stay).
    pub(crate) stays: Option<Stays>,
}

/// Whose objects stay on a stack: what births add to the levels of many dumps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stays {
    /// As many of each second, as in a leak: what it keeps from the first dump to the last, and the
    /// standard error of that.
    Evenly(Rate, Rate),
    /// The young. A level that rises has more of them than before.
    Young,
}

/// The objects of one generation that are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Born {
    /// The generation: the number of the rung that the subject ran towards when it allocated
    /// the objects.
    pub generation: usize,
    /// The objects that are left of it.
    pub alive: Alive,
}

/// The objects of one generation, or of all generations, that are alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alive {
    /// Estimated from the samples; the counts themselves if everything is sampled.
    pub level: Tally,
    /// As the dump printed it.
    pub counted: Tally,
}

impl AddAssign for Alive {
    fn add_assign(&mut self, other: Alive) {
        self.level += other.level;
        self.counted += other.counted;
    }
}

impl Series {
    /// Makes a series from the level at each rung, in the ladder's order.
    pub fn new(levels: Vec<Tally>) -> Self {
        Self {
            levels,
            ..Self::default()
        }
    }

    /// Makes the series of one stack from the objects and bytes that were sampled at each
    /// rung.
    pub fn sampled(interval: SampleInterval, counted: &[Tally]) -> Self {
        let mut series = Series::default();
        for (rung, counted) in counted.iter().enumerate() {
            series.add_sampled(rung, interval, *counted);
        }
        series
    }

    /// Makes the series of one stack from what was sampled at each rung of each generation:
    /// `alive[rung][generation]`. Generation k was born on the way to rung k. Objects of the
    /// setup are in generation 0 as well.
    ///
    /// ```
    /// use plimsoll_core::{Series, Tally, dump::SampleInterval};
    /// let objects = |objects| Tally { objects, bytes: 32 * objects };
    /// // Five live at the first rung. At the second, two of them are left, and four new.
    /// let series = Series::of_births(
    ///     SampleInterval::default(),
    ///     &[vec![objects(5)], vec![objects(2), objects(4)]],
    /// );
    /// assert_eq!(series.levels(), [objects(5), objects(6)]);
    /// assert_eq!(series.survivors(1)[0].alive.level, objects(2));
    /// ```
    pub fn of_births(interval: SampleInterval, alive: &[Vec<Tally>]) -> Self {
        let mut series = Series {
            interval,
            ..Series::default()
        };
        series.extend_births_to(alive.len());
        for (rung, generations) in alive.iter().enumerate() {
            let alive = generations.iter().enumerate();
            for (generation, alive) in alive.filter(|(_, alive)| **alive != Tally::default()) {
                series.add_born(rung, generation, interval, *alive);
            }
        }
        series
    }

    /// Makes these the levels of a running process, of which nobody knows what it did before
    /// the first dump. They are judged by other rules, see [`Trend`](crate::growth::Trend).
    ///
    /// `grains` has the variance of objects that come and go at random, for each unit of them,
    /// in objects and in bytes: 1 for objects that are all counted, and their size for their
    /// bytes.
    #[must_use]
    pub fn of_process(mut self, grains: [f64; 2]) -> Self {
        self.grains = Some(grains);
        self
    }

    /// Adds what the births in the last dump of a running process say. `None` if they say nothing,
    /// or if there are none.
    #[must_use]
    pub fn who_stay(mut self, stays: Option<Stays>) -> Self {
        self.stays = stays;
        self
    }

    /// Returns the grains, if these are the levels of a running process.
    pub(crate) fn grains(&self) -> Option<[f64; 2]> {
        self.grains
    }

    /// Returns what was alive at a rung, by generation, the oldest first. Empty if births are
    /// not known, if nothing was alive, or if the rung is too old for a verdict to use its
    /// births.
    pub fn survivors(&self, rung: usize) -> &[Born] {
        self.births.get(rung).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the births of the objects are known.
    pub fn has_births(&self) -> bool {
        !self.births.is_empty()
    }

    /// Returns the objects that were ever allocated, by generation, in order, as the newest
    /// dump says. Empty if the profiler does not keep that.
    pub fn allocated(&self) -> &[(usize, u64)] {
        &self.allocated
    }

    /// Returns the level at each rung.
    pub fn levels(&self) -> &[Tally] {
        &self.levels
    }

    /// Returns what each dump printed; empty if levels are exact.
    pub fn counted(&self) -> &[Tally] {
        &self.counted
    }

    /// Returns the level at a rung, and what the dump printed.
    pub(crate) fn alive(&self, rung: usize) -> Alive {
        let level = self.levels.get(rung).copied().unwrap_or_default();
        let counted = self.counted.get(rung).copied().unwrap_or(level);
        Alive { level, counted }
    }

    /// Returns the mean number of bytes between samples. If series were merged, it is the
    /// greatest.
    pub fn interval(&self) -> SampleInterval {
        self.interval
    }

    /// Returns whether all rungs equal the first.
    pub fn is_flat(&self) -> bool {
        let flat = |tallies: &[Tally]| tallies.windows(2).all(|pair| pair[0] == pair[1]);
        flat(&self.levels) && flat(&self.counted)
    }

    /// Sets the level at a rung. Missing rungs before it become zero.
    pub fn set(&mut self, rung: usize, level: Tally) {
        self.extend_to(rung + 1);
        self.levels[rung] = level;
    }

    /// Adds to the level at a rung. Missing rungs before it become zero.
    pub fn add(&mut self, rung: usize, more: Tally) {
        let level = self.levels.get(rung).copied().unwrap_or_default();
        self.set(rung, level.saturating_add(more));
    }

    /// Adds what was sampled of one stack at a rung. Missing rungs before it become zero. At
    /// an interval of 1 this is the same as [`add`](Self::add).
    ///
    /// Levels are estimated from the mean size of the stack's samples. So use this for one
    /// stack of addresses only, and [`merge`](Self::merge) for different stacks.
    pub fn add_sampled(&mut self, rung: usize, interval: SampleInterval, more: Tally) {
        if interval.is_exact() && self.interval.is_exact() {
            return self.add(rung, more);
        }
        self.interval = self.interval.max(interval);
        self.extend_to(rung + 1);
        self.counted[rung] += more;
        self.levels[rung] = self.interval.level(self.counted[rung]).tally;
    }

    /// Adds what is alive at a rung, of which the estimate is known: a stack of names is many
    /// stacks of addresses, and each of them is estimated from its own mean size.
    pub fn add_estimated(&mut self, rung: usize, interval: SampleInterval, more: Alive) {
        self.interval = self.interval.max(interval);
        self.add(rung, more.level);
        self.extend_to(rung + 1);
        if let Some(counted) = self.counted.get_mut(rung) {
            *counted += more.counted;
        }
    }

    /// The same as [`add_sampled`](Self::add_sampled), for objects of one generation.
    pub fn add_born(
        &mut self,
        rung: usize,
        generation: usize,
        interval: SampleInterval,
        more: Tally,
    ) {
        self.interval = self.interval.max(interval);
        self.extend_births_to(rung + 1);
        let born = &mut self.births[rung];
        let place = born.binary_search_by_key(&generation, |born| born.generation);
        let place = place.unwrap_or_else(|place| {
            let alive = Alive::default();
            born.insert(place, Born { generation, alive });
            place
        });
        let alive = &mut born[place].alive;
        let before = alive.level;
        alive.counted += more;
        alive.level = interval.level(alive.counted).tally;
        // Generations may differ in the size of their objects, so each is estimated from its
        // own mean.
        let level = &mut self.levels[rung];
        level.objects = level.objects + alive.level.objects - before.objects.min(level.objects);
        level.bytes = level.bytes + alive.level.bytes - before.bytes.min(level.bytes);
        if !self.interval.is_exact() {
            self.counted[rung] += more;
        }
    }

    /// Adds to the objects that were ever allocated in a generation, as a dump says. A newer
    /// dump counts the same objects again, so call
    /// [`forget_allocated`](Self::forget_allocated) before it.
    pub fn add_allocated(&mut self, generation: usize, objects: u64) {
        let allocated = &mut self.allocated;
        match allocated.binary_search_by_key(&generation, |(generation, _)| *generation) {
            Ok(place) => allocated[place].1 = allocated[place].1.saturating_add(objects),
            Err(place) => allocated.insert(place, (generation, objects)),
        }
    }

    /// Forgets the objects that were ever allocated. Call it before those of a newer dump are
    /// added.
    pub fn forget_allocated(&mut self) {
        self.allocated.clear();
    }

    fn extend_births_to(&mut self, rungs: usize) {
        self.extend_to(rungs);
        self.births.resize(self.levels.len(), Vec::new());
        if let Some(old) = self.births.len().checked_sub(RUNGS_TO_RISE + 1) {
            for forgotten in self.births[..old].iter_mut().rev() {
                if forgotten.capacity() == 0 {
                    break;
                }
                *forgotten = Vec::new();
            }
        }
    }

    /// Appends rungs at zero until there are `rungs` of them.
    pub fn extend_to(&mut self, rungs: usize) {
        if self.levels.len() < rungs {
            self.levels.resize(rungs, Tally::default());
        }
        if !self.interval.is_exact() {
            self.counted.resize(self.levels.len(), Tally::default());
        }
        if self.has_births() {
            self.births.resize(self.levels.len(), Vec::new());
        }
    }

    /// Adds another series, rung by rung. The sum has births only if both series have them.
    /// The same holds for the objects that were ever allocated. An empty series becomes a copy
    /// of the other.
    pub fn merge(&mut self, other: &Series) {
        if self.levels.is_empty() {
            self.clone_from(other);
            return;
        }
        self.merge_births(other);
        self.merge_allocated(other);
        // Each unit of the sum varies at most as much as each unit of the coarser part.
        if let (Some(own), Some(other)) = (self.grains, other.grains) {
            self.grains = Some([own[0].max(other[0]), own[1].max(other[1])]);
        }
        self.stays = match (self.stays, other.stays) {
            (Some(Stays::Evenly(one, error)), Some(Stays::Evenly(two, other))) => {
                // Errors of one direction at worst.
                Some(Stays::Evenly(one + two, error + other))
            }
            (leak @ Some(Stays::Evenly(..)), _) | (_, leak @ Some(Stays::Evenly(..))) => leak,
            (Some(Stays::Young), Some(Stays::Young)) => Some(Stays::Young),
            _ => None,
        };
        self.interval = self.interval.max(other.interval);
        self.extend_to(other.levels.len());
        for (level, more) in self.levels.iter_mut().zip(&other.levels) {
            *level += *more;
        }
        for (counted, more) in self.counted.iter_mut().zip(&other.counted) {
            *counted += *more;
        }
    }

    fn merge_allocated(&mut self, other: &Series) {
        if self.allocated.is_empty() || other.allocated.is_empty() {
            self.allocated.clear();
            return;
        }
        for (generation, objects) in &other.allocated {
            self.add_allocated(*generation, *objects);
        }
    }

    fn merge_births(&mut self, other: &Series) {
        if !self.has_births() || !other.has_births() {
            self.births.clear();
            return;
        }
        self.extend_births_to(other.births.len());
        for (sum, more) in self.births.iter_mut().zip(&other.births) {
            for more in more {
                match sum.binary_search_by_key(&more.generation, |born| born.generation) {
                    Ok(place) => sum[place].alive += more.alive,
                    Err(place) => sum.insert(place, *more),
                }
            }
        }
    }
}

/// The least size of an object in bytes: jemalloc's smallest size class, which is the one that
/// is sampled least often.
pub(crate) const LEAST_SIZE: f64 = 8.0;
