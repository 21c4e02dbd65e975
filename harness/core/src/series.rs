use crate::Tally;
use crate::dump::{Noise, SampleInterval};
use crate::growth::RUNGS_TO_RISE;

/// The level of one stack (or site, or resource) at every rung of a ladder.
///
/// Of a sampled profile levels are estimates, and come with what sampling adds
/// to their error; of an exact one they are counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    levels: Vec<Tally>,
    interval: SampleInterval,
    /// What was sampled at each rung, as printed; none where levels are exact.
    counted: Vec<Tally>,
    /// What stands behind each level, where this is a sum.
    sums: Vec<Samples>,
    /// What was sampled at each rung, as printed, by the generation that it was born
    /// in; no rows where births are not known.
    births: Vec<Vec<Tally>>,
}

/// What stands behind one level of a sampled series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    /// For what was allocated.
    pub(crate) sampling: Variance,
    /// For what is allocated in the long run, if it comes at random.
    pub(crate) at_random: Variance,
    /// Objects, if those of stacks with objects of several sizes are the
    /// smallest that there are: at most so many can have come.
    pub(crate) smallest: f64,
    /// The variance of that, if they come at random.
    pub(crate) of_smallest: Variance,
}

/// Of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Variance {
    pub(crate) level: Noise,
    /// Of that, what came or went since the rung before, at least: summed over
    /// the stacks of which this is the sum, where what one gains and another
    /// loses does not cancel.
    pub(crate) moved: Noise,
}

impl Variance {
    fn after(level: Noise, before: Variance) -> Variance {
        Variance {
            level,
            moved: level.apart(before.level),
        }
    }

    fn add(&mut self, other: Variance) {
        self.level += other.level;
        self.moved += other.moved;
    }
}

impl Series {
    /// From the level at each rung, in the ladder's order.
    pub fn new(levels: Vec<Tally>) -> Self {
        Self {
            levels,
            ..Self::default()
        }
    }

    /// Of one stack, from the objects and bytes that were sampled at each rung.
    pub fn sampled(interval: SampleInterval, counted: &[Tally]) -> Self {
        let mut series = Series::default();
        for (rung, counted) in counted.iter().enumerate() {
            series.add_sampled(rung, interval, *counted);
        }
        series
    }

    /// Of one stack, from what was sampled at each rung of each generation:
    /// `alive[rung][generation]`. Generation k was born on the way to rung k; what was
    /// set up before is of generation 0 as well.
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
    /// assert_eq!(series.survivors(1), [objects(2), objects(4)]);
    /// ```
    pub fn of_births(interval: SampleInterval, alive: &[Vec<Tally>]) -> Self {
        let mut series = Series::default();
        series.extend_births_to(alive.len());
        for (rung, generations) in alive.iter().enumerate() {
            for (generation, alive) in generations.iter().enumerate() {
                series.add_born(rung, generation, interval, *alive);
            }
        }
        series
    }

    /// What was sampled at a rung, as printed, by the generation that it was born in;
    /// empty where births are not known, or nothing was alive.
    pub fn survivors(&self, rung: usize) -> &[Tally] {
        self.births.get(rung).map_or(&[], Vec::as_slice)
    }

    /// Whether it is known when objects were born.
    pub fn has_births(&self) -> bool {
        !self.births.is_empty()
    }

    /// The level at each rung.
    pub fn levels(&self) -> &[Tally] {
        &self.levels
    }

    /// What was sampled at each rung, as printed; empty where levels are exact.
    pub fn counted(&self) -> &[Tally] {
        &self.counted
    }

    /// The variance that sampling gives the level at each rung; empty where
    /// levels are exact.
    pub fn noise(&self) -> Vec<Noise> {
        let samples = self.samples();
        samples.iter().map(|one| one.sampling.level).collect()
    }

    /// Mean bytes between samples: the greatest, where series were merged.
    pub fn interval(&self) -> SampleInterval {
        self.interval
    }

    /// Whether no rung differs from the first.
    pub fn is_flat(&self) -> bool {
        let flat = |tallies: &[Tally]| tallies.windows(2).all(|pair| pair[0] == pair[1]);
        flat(&self.levels) && flat(&self.counted)
    }

    /// Sets the level at a rung; rungs that are skipped are at zero.
    pub fn set(&mut self, rung: usize, level: Tally) {
        self.extend_to(rung + 1);
        self.levels[rung] = level;
    }

    /// Adds to the level at a rung; rungs that are skipped are at zero.
    pub fn add(&mut self, rung: usize, more: Tally) {
        let level = self.levels.get(rung).copied().unwrap_or_default();
        self.set(rung, level.saturating_add(more));
    }

    /// Adds what was sampled of one stack at a rung; rungs that are skipped are
    /// at zero. At an interval of 1 that is [`add`](Self::add).
    ///
    /// The mean size of a stack's samples tells what stands behind them. So
    /// this is for one stack of addresses; different ones are merged.
    pub fn add_sampled(&mut self, rung: usize, interval: SampleInterval, more: Tally) {
        if interval.is_exact() && self.interval.is_exact() {
            return self.add(rung, more);
        }
        self.interval = self.interval.max(interval);
        self.extend_to(rung + 1);
        self.counted[rung] += more;
        self.levels[rung] = self.interval.level(self.counted[rung]).tally;
    }

    /// Adds what was sampled of one stack at a rung and was born in one generation; as
    /// [`add_sampled`](Self::add_sampled) otherwise.
    pub fn add_born(
        &mut self,
        rung: usize,
        generation: usize,
        interval: SampleInterval,
        more: Tally,
    ) {
        self.add_sampled(rung, interval, more);
        self.extend_births_to(rung + 1);
        let generations = &mut self.births[rung];
        if generations.len() <= generation {
            generations.resize(generation + 1, Tally::default());
        }
        generations[generation] += more;
    }

    fn extend_births_to(&mut self, rungs: usize) {
        self.extend_to(rungs);
        self.births.resize(self.levels.len(), Vec::new());
    }

    /// Puts rungs that are missing at zero, so that there are so many.
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

    /// Adds another series, rung by rung. Births are known where they are of both.
    pub fn merge(&mut self, other: &Series) {
        if self.levels.is_empty() {
            self.clone_from(other);
            return;
        }
        self.merge_births(other);
        if !self.interval.is_exact() || !other.interval.is_exact() {
            self.merge_samples(other);
        }
        self.extend_to(other.levels.len());
        for (level, more) in self.levels.iter_mut().zip(&other.levels) {
            *level += *more;
        }
        for (counted, more) in self.counted.iter_mut().zip(&other.counted) {
            *counted += *more;
        }
    }

    fn merge_births(&mut self, other: &Series) {
        if !self.has_births() || !other.has_births() {
            self.births.clear();
            return;
        }
        self.extend_births_to(other.births.len());
        for (sum, more) in self.births.iter_mut().zip(&other.births) {
            if sum.len() < more.len() {
                sum.resize(more.len(), Tally::default());
            }
            for (sum, more) in sum.iter_mut().zip(more) {
                *sum += *more;
            }
        }
    }

    fn merge_samples(&mut self, other: &Series) {
        self.interval = self.interval.max(other.interval);
        let rungs = self.levels.len().max(other.levels.len());
        let of = |series: &Series| {
            let mut series = series.clone();
            series.extend_to(rungs);
            series.samples()
        };
        let mut sums = of(self);
        for (sum, more) in sums.iter_mut().zip(of(other)) {
            sum.sampling.add(more.sampling);
            sum.at_random.add(more.at_random);
            sum.smallest += more.smallest;
            sum.of_smallest.add(more.of_smallest);
        }
        self.sums = sums;
    }

    /// What stands behind each level; empty where levels are exact.
    pub(crate) fn samples(&self) -> Vec<Samples> {
        let mut samples = self.sums.clone();
        let has_one_size = self.has_one_size();
        let are_the_same = self.are_the_same_objects();
        let mut counted_before = Tally::default();
        let least = self.interval.probability(LEAST_SIZE);
        for counted in self.counted.iter().skip(samples.len()) {
            let before = samples.last().copied().unwrap_or_default();
            let level = self.interval.level(*counted);
            let sampled = counted.objects as f64;
            let (smallest, of_smallest) = match has_one_size {
                true => (level.tally.objects as f64, level.at_random.objects),
                false => (sampled / least, sampled / (least * least)),
            };
            let of_smallest = Noise {
                objects: of_smallest,
                bytes: 0.0,
            };
            let mut at_random = Variance::after(level.at_random, before.at_random);
            if are_the_same {
                at_random.level.bytes = level.noise.bytes;
                at_random.moved.bytes = level.noise.apart(before.at_random.level).bytes;
            } else {
                at_random.moved.bytes += of_other_sizes(counted_before, *counted, level.tally);
            }
            counted_before = *counted;
            samples.push(Samples {
                sampling: Variance::after(level.noise, before.sampling),
                at_random,
                smallest,
                of_smallest: Variance::after(of_smallest, before.of_smallest),
            });
        }
        samples
    }

    /// Whether the mean size is the same at every rung, and so that of every
    /// object: only then is it known how many a sample stands for.
    fn has_one_size(&self) -> bool {
        let mut counted = self.counted.iter().filter(|tally| tally.objects > 0);
        let Some(first) = counted.next() else {
            return true;
        };
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        counted
            .all(|tally| product(tally.bytes, first.objects) == product(first.bytes, tally.objects))
    }

    /// Whether there are as many objects at every one of the last rungs: the
    /// same ones, which may become larger, as a `Vec` that is pushed to. Chance
    /// decides nothing of those but whether they are sampled.
    fn are_the_same_objects(&self) -> bool {
        let last = self.counted.len().saturating_sub(RUNGS_TO_RISE);
        let last = &self.counted[last..];
        last.windows(2)
            .all(|pair| pair[0].objects == pair[1].objects)
    }
}

/// The variance of bytes from one rung to the next for objects of other sizes
/// than those that were there: what the count does not explain is chance.
fn of_other_sizes(before: Tally, after: Tally, level: Tally) -> f64 {
    if after.objects == 0 || before.objects == 0 {
        return 0.0;
    }
    let explained = before.bytes as f64 / before.objects as f64 * after.objects as f64;
    let scale = level.bytes as f64 / after.bytes as f64;
    ((after.bytes as f64 - explained) * scale).powi(2)
}

/// The least size of an object, in bytes: jemalloc's smallest class, and so the
/// one that is sampled least.
pub(crate) const LEAST_SIZE: f64 = 8.0;
