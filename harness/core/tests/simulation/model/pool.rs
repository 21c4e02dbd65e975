//! Objects of one size, by the generation that they were born in.

use plimsoll_core::Tally;
use plimsoll_core::dump::SampleInterval;

use super::Random;

/// Which objects are freed first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Random,
    Oldest,
    Newest,
}

/// The living objects of one generation.
#[derive(Clone, Copy, Debug, Default)]
struct Cohort {
    sampled: u64,
    others: u64,
}

impl Cohort {
    fn live(self) -> u64 {
        self.sampled + self.others
    }
}

/// Objects of one size, in one place.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    size: u64,
    interval: SampleInterval,
    /// By generation, the one that is being born last.
    cohorts: Vec<Cohort>,
    /// How many it was last to keep, or the capacity of its one object.
    pub(super) held: u64,
}

impl Pool {
    pub(super) fn new(size: u64, interval: SampleInterval) -> Pool {
        Pool {
            size,
            interval,
            cohorts: Vec::new(),
            held: 0,
        }
    }

    /// What is allocated from now on is of the next generation.
    pub(super) fn next_generation(&mut self) {
        self.cohorts.push(Cohort::default());
    }

    pub(super) fn live(&self) -> u64 {
        self.cohorts.iter().map(|cohort| cohort.live()).sum()
    }

    pub(super) fn allocate(&mut self, random: &mut Random, objects: u64) {
        let sampled = random.binomial(objects, self.interval.probability(self.size as f64));
        if let Some(born) = self.cohorts.last_mut() {
            born.sampled += sampled;
            born.others += objects - sampled;
        }
    }

    /// Frees so many, or all that there are.
    pub(super) fn free(&mut self, random: &mut Random, objects: u64, order: Order) {
        let mut live = self.live();
        let mut left = objects.min(live);
        let mut free_of = |cohort: &mut Cohort| {
            let freed = match order {
                Order::Random => random.hypergeometric(left, cohort.live(), live),
                Order::Oldest | Order::Newest => left.min(cohort.live()),
            };
            left -= freed;
            live -= cohort.live();
            let sampled = random.hypergeometric(freed, cohort.sampled, cohort.live());
            cohort.sampled -= sampled;
            cohort.others -= freed - sampled;
        };
        match order {
            Order::Newest => self.cohorts.iter_mut().rev().for_each(&mut free_of),
            Order::Random | Order::Oldest => self.cohorts.iter_mut().for_each(&mut free_of),
        }
    }

    pub(super) fn free_all(&mut self) {
        self.cohorts.fill(Cohort::default());
    }

    /// All are freed, and so many of that size are born.
    pub(super) fn replace(&mut self, random: &mut Random, objects: u64, size: u64) {
        self.free_all();
        self.size = size;
        self.allocate(random, objects);
    }

    /// Each object lives on with that probability. The others are returned.
    pub(super) fn survive(&mut self, random: &mut Random, probability: f64) -> Pool {
        let mut freed = self.clone();
        for (cohort, freed) in self.cohorts.iter_mut().zip(&mut freed.cohorts) {
            cohort.sampled = random.binomial(cohort.sampled, probability);
            cohort.others = random.binomial(cohort.others, probability);
            freed.sampled -= cohort.sampled;
            freed.others -= cohort.others;
        }
        freed
    }

    /// Takes the objects of another pool, which keep their generations.
    pub(super) fn adopt(&mut self, other: &Pool) {
        for (cohort, more) in self.cohorts.iter_mut().zip(&other.cohorts) {
            cohort.sampled += more.sampled;
            cohort.others += more.others;
        }
    }

    /// Allocates or frees until there are so many.
    pub(super) fn reach(&mut self, random: &mut Random, objects: u64, order: Order) {
        match objects.checked_sub(self.live()) {
            Some(more) => self.allocate(random, more),
            None => self.free(random, self.live() - objects, order),
        }
    }

    /// So many are born, and as many are freed as are too many for that level.
    pub(super) fn turn_over(&mut self, random: &mut Random, born: u64, level: u64, order: Order) {
        match order {
            Order::Oldest => {
                self.allocate(random, born);
                self.free(random, self.live().saturating_sub(level), order);
            }
            // Those that are freed at once are not worth allocating.
            Order::Newest => {
                let level = level.min(self.live() + born);
                self.reach(random, level, order);
            }
            Order::Random => {
                let level = level.min(self.live() + born);
                let evicting = born - level.saturating_sub(self.live());
                let survives = (1.0 - 1.0 / level.max(1) as f64).powf(evicting as f64);
                self.reach(random, level, order);
                self.survive(random, survives);
                self.reach(random, level, order);
            }
        }
    }

    /// What is sampled, by generation.
    pub(super) fn sampled(&self) -> impl Iterator<Item = Tally> {
        self.cohorts.iter().map(|cohort| Tally {
            objects: cohort.sampled,
            bytes: cohort.sampled * self.size,
        })
    }
}
