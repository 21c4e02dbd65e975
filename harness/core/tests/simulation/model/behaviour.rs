//! What one stack of addresses does, and what a sampled profile shows of it.

use std::rc::Rc;

use plimsoll_core::Tally;
use plimsoll_core::dump::SampleInterval;

use super::Random;
use super::pool::Pool;

/// What is sampled: `alive[rung][generation]`. Generation k was born on the way
/// to rung k.
pub(crate) type Alive = Vec<Vec<Tally>>;

/// The way from one rung to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(super) before: u64,
    pub(super) n: u64,
}

impl Step {
    pub(super) fn passed(self) -> f64 {
        (self.n - self.before) as f64
    }

    /// The share that is left at the end of what lives for so long on the mean.
    pub(super) fn survives(self, life: f64) -> f64 {
        (-self.passed() / life).exp()
    }

    /// Whether that iteration is on the way.
    pub(super) fn passes(self, at: u64) -> bool {
        self.before < at && at <= self.n
    }

    /// Whether a multiple of that is on the way.
    pub(super) fn crosses(self, every: u64) -> bool {
        self.n / every.max(1) != self.before / every.max(1)
    }

    /// Without the iterations up to that one.
    pub(super) fn after(self, from: u64) -> Step {
        Step {
            before: self.before.saturating_sub(from),
            n: self.n.saturating_sub(from),
        }
    }
}

/// How evenly objects come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    Even,
    Random,
    /// All that came in so many iterations at once; the phase is a share of them.
    Bursts {
        every: f64,
        phase: f64,
    },
}

impl Pace {
    /// How many come on the way, at a rate per iteration.
    pub(super) fn came(self, rate: f64, random: &mut Random, step: Step) -> u64 {
        let even = |n: u64| match self {
            Pace::Bursts { every, phase } => {
                ((n as f64 / every + phase).floor() * every * rate) as u64
            }
            Pace::Even | Pace::Random => (n as f64 * rate) as u64,
        };
        match self {
            Pace::Random => random.poisson(step.passed() * rate),
            Pace::Even | Pace::Bursts { .. } => even(step.n) - even(step.before),
        }
    }
}

/// What happens to the objects of each size on the way to a rung.
type Act = dyn Fn(&mut Random, Step, &mut [Pool]);

/// What one stack of addresses does: the sizes of its objects, and what happens to them. What is
/// drawn when it is made is a workload's own; every run of it draws the rest anew.
#[derive(Clone)]
pub(crate) struct Behaviour(Vec<(Vec<u64>, Rc<Act>)>);

impl Behaviour {
    pub(super) fn of(size: u64, act: impl Fn(&mut Random, Step, &mut Pool) + 'static) -> Behaviour {
        Behaviour::of_sizes(vec![size], move |random, step, pools| {
            act(random, step, &mut pools[0]);
        })
    }

    pub(super) fn of_sizes(
        sizes: Vec<u64>,
        act: impl Fn(&mut Random, Step, &mut [Pool]) + 'static,
    ) -> Behaviour {
        Behaviour(vec![(sizes, Rc::new(act))])
    }

    /// Two that allocate on the same stack of addresses.
    pub(super) fn beside(mut self, other: Behaviour) -> Behaviour {
        self.0.extend(other.0);
        self
    }

    /// What is sampled of it at every rung.
    pub(super) fn run(
        &self,
        random: &mut Random,
        iterations: &[u64],
        interval: SampleInterval,
    ) -> Alive {
        let mut alive = vec![Vec::new(); iterations.len()];
        for (sizes, act) in &self.0 {
            let pools = sizes.iter().map(|size| Pool::new(*size, interval));
            let mut pools: Vec<Pool> = pools.collect();
            let mut before = 0;
            for (n, alive) in iterations.iter().zip(&mut alive) {
                pools.iter_mut().for_each(Pool::next_generation);
                act(random, Step { before, n: *n }, &mut pools);
                before = *n;
                for pool in &pools {
                    add_generations(alive, pool.sampled());
                }
            }
        }
        alive
    }
}

/// Adds what is sampled of objects that are allocated on the same stack.
pub(super) fn add(sum: &mut Alive, more: &Alive) {
    sum.resize(sum.len().max(more.len()), Vec::new());
    for (sum, more) in sum.iter_mut().zip(more) {
        add_generations(sum, more.iter().copied());
    }
}

fn add_generations(sum: &mut Vec<Tally>, more: impl Iterator<Item = Tally>) {
    for (generation, more) in more.enumerate() {
        sum.resize(sum.len().max(generation + 1), Tally::default());
        sum[generation] += more;
    }
}
