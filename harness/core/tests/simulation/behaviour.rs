//! What one stack of addresses does, and what a sampled profile shows of it.

use plimsoll_core::Tally;
use plimsoll_core::dump::SampleInterval;

use super::Random;
use super::level::{Births, Level, Pace, Step};
use super::pool::{Order, Pool};

/// What is sampled: `alive[rung][generation]`. Generation k was born on the way
/// to rung k.
pub(crate) type Alive = Vec<Vec<Tally>>;

/// What one stack of addresses does. What is drawn here is a workload's own;
/// every run of it draws the rest anew.
#[derive(Clone, Debug)]
pub(crate) enum Behaviour {
    /// About so many objects, each of which lives for so many iterations.
    Turnover { objects: u64, size: u64, life: f64 },
    /// Anything up to so many, all of them new, or as few new as it takes.
    Occupancy { objects: u64, size: u64, kept: bool },
    /// Nothing, and at one rung in ten very much.
    Bursts { objects: u64, size: u64 },
    /// Sizes from a log-normal distribution on one stack, with its median and
    /// its deviation in natural logarithms.
    LogNormal {
        objects: u64,
        median: f64,
        sigma: f64,
        life: f64,
    },
    /// One object an iteration, all freed when there are so many.
    Batch { objects: u64, size: u64 },
    /// K·(1 − exp(−n/C)); turned over, or kept for ever.
    Fill {
        objects: u64,
        size: u64,
        capacity: f64,
        turnover: bool,
    },
    /// So many from the start to the end.
    Base { objects: u64, size: u64 },
    /// Births that go on for ever, from an iteration on; as many are freed as
    /// are too many for the level.
    Bounded {
        births: f64,
        pace: Pace,
        size: u64,
        level: Level,
        order: Order,
    },
    /// Objects that live for so long, and are born at a rate that changes.
    Arrivals {
        births: Births,
        size: u64,
        life: f64,
    },
    /// Births that live for so long. Instead of being freed, a share of them
    /// moves on to a second level, which frees the oldest.
    TwoLevels {
        births: f64,
        size: u64,
        life: f64,
        share: f64,
        second: u64,
    },
    /// As many as were ever needed at once. What is needed is normal, with the
    /// variance of a count, and forgets itself in so many iterations.
    Slab { mean: f64, size: u64, memory: f64 },
    /// A list to which one object an iteration is added, up to so many. All of
    /// it is cloned every so many iterations.
    Clones { most: u64, size: u64, every: u64 },
    /// A sample of so many of all objects that ever came, one an iteration.
    Reservoir { objects: u64, size: u64 },
    /// So many buffers that each grow to the longest message that they ever held, one
    /// message an iteration. A message is e^(sigma·z) times as long as the median, z being
    /// normal.
    HighWater {
        buffers: u64,
        median: f64,
        sigma: f64,
    },
    /// One new object on the way to the rungs after those iterations.
    Rare { size: u64, seen: [u64; 2] },
    /// One object that is allocated anew, in another size, at some iteration.
    Step { sizes: [u64; 2], at: u64 },
    /// Connections that come in clumps of three: each clump comes once in the
    /// iterations up to `full`, and at one rung in ten after that one clump is
    /// replaced.
    Clumps {
        clumps: u64,
        size: u64,
        full: f64,
        exponent: f64,
        order: Order,
    },
    /// Objects that come at random, at most so many. All of them are freed every
    /// so many iterations.
    Deferred { most: u64, size: u64, every: u64 },
    /// So many an iteration, for ever, after so many iterations.
    Leak {
        rate: f64,
        size: u64,
        pace: Pace,
        from: u64,
    },
    /// A `Vec` to which so many bytes are pushed in every iteration.
    Push { bytes: f64 },
    /// Several that allocate on the same stack of addresses.
    Together(Vec<Behaviour>),
}

impl Behaviour {
    /// What is sampled of it at every rung.
    pub(super) fn run(
        &self,
        random: &mut Random,
        iterations: &[u64],
        interval: SampleInterval,
    ) -> Alive {
        if let Behaviour::Together(behaviours) = self {
            let mut sum = Alive::new();
            for behaviour in behaviours {
                add(&mut sum, &behaviour.run(random, iterations, interval));
            }
            return sum;
        }
        let shares = self.shares();
        let pools = shares.iter().map(|(_, size)| Pool::new(*size, interval));
        let mut state = State {
            pools: pools.collect(),
            held: 0,
        };
        let mut before = 0;
        let mut alive = Alive::new();
        for n in iterations {
            let step = Step { before, n: *n };
            before = *n;
            state.pools.iter_mut().for_each(Pool::next_generation);
            self.step(random, step, &shares, &mut state);
            let mut sum = vec![Tally::default(); alive.len() + 1];
            for pool in &state.pools {
                sum.iter_mut().zip(pool.sampled()).for_each(add_tally);
            }
            alive.push(sum);
        }
        alive
    }

    /// The sizes that it allocates, each with its share of the objects.
    fn shares(&self) -> Vec<(f64, u64)> {
        match *self {
            Behaviour::Turnover { size, .. }
            | Behaviour::Occupancy { size, .. }
            | Behaviour::Bursts { size, .. }
            | Behaviour::Batch { size, .. }
            | Behaviour::Fill { size, .. }
            | Behaviour::Base { size, .. }
            | Behaviour::Bounded { size, .. }
            | Behaviour::Arrivals { size, .. }
            | Behaviour::Slab { size, .. }
            | Behaviour::Clones { size, .. }
            | Behaviour::Reservoir { size, .. }
            | Behaviour::Rare { size, .. }
            | Behaviour::Clumps { size, .. }
            | Behaviour::Deferred { size, .. }
            | Behaviour::Leak { size, .. } => vec![(1.0, size)],
            Behaviour::TwoLevels { size, share, .. } => vec![(1.0, size), (share, size)],
            Behaviour::LogNormal { median, sigma, .. }
            | Behaviour::HighWater { median, sigma, .. } => classes(median, sigma),
            Behaviour::Step { sizes, .. } => vec![(1.0, sizes[0])],
            Behaviour::Push { .. } => vec![(1.0, 8)],
            Behaviour::Together(_) => Vec::new(),
        }
    }

    fn step(&self, random: &mut Random, step: Step, shares: &[(f64, u64)], state: &mut State) {
        let State { pools, held } = state;
        if let Behaviour::LogNormal { objects, life, .. } = self {
            let survives = (-step.passed() / life).exp();
            for ((share, _), class) in shares.iter().zip(pools) {
                class.survive(random, survives);
                let arrived = random.poisson(*objects as f64 * share * (1.0 - survives));
                class.allocate(random, arrived);
            }
            return;
        }
        if let Behaviour::HighWater { buffers, .. } = *self {
            return high_water(random, step, buffers, shares, pools);
        }
        let Some((pool, others)) = pools.split_first_mut() else {
            return;
        };
        match *self {
            Behaviour::Turnover { objects, life, .. } => {
                pool.survive(random, (-step.passed() / life).exp());
                let jitter = random.below(objects / 10 + 2);
                pool.reach(random, objects + jitter, Order::Random);
            }
            Behaviour::Occupancy { objects, kept, .. } => {
                if !kept {
                    pool.free_all();
                }
                let objects = random.below(objects + 1);
                pool.reach(random, objects, Order::Random);
            }
            Behaviour::Bursts { objects, .. } => {
                pool.free_all();
                if random.below(10) == 0 {
                    pool.allocate(random, 5 * objects);
                }
            }
            Behaviour::Batch { objects, .. } => {
                if step.crosses(objects) {
                    pool.free_all();
                }
                pool.reach(random, step.n % objects.max(1), Order::Random);
            }
            Behaviour::Fill {
                objects,
                capacity,
                turnover: true,
                ..
            } => {
                let survives = (-step.passed() / capacity).exp();
                pool.survive(random, survives);
                let arrived = random.poisson(objects as f64 * (1.0 - survives));
                pool.allocate(random, arrived);
            }
            Behaviour::Fill {
                objects, capacity, ..
            } => {
                let level = objects as f64 * -(-(step.n as f64) / capacity).exp_m1();
                pool.reach(random, level.round() as u64, Order::Random);
            }
            Behaviour::Base { objects, .. } => pool.reach(random, objects, Order::Random),
            Behaviour::Bounded {
                births,
                pace,
                level,
                order,
                ..
            } => {
                let born = pace.came(births, random, step);
                *held = level.at(random, step, *held);
                pool.turn_over(random, born, *held, order);
            }
            Behaviour::Arrivals { births, life, .. } => {
                pool.survive(random, (-step.passed() / life).exp());
                let left = random.poisson(births.left(step, life));
                pool.allocate(random, left);
            }
            Behaviour::TwoLevels {
                births,
                life,
                share,
                second,
                ..
            } => {
                let survives = (-step.passed() / life).exp();
                let born = random.poisson(births * step.passed());
                let left = random.binomial(born, life * (1.0 - survives) / step.passed());
                let mut promoted = pool.survive(random, survives);
                promoted.survive(random, share);
                pool.allocate(random, left);
                for other in others {
                    let born = random.binomial(born - left, share);
                    other.adopt(&promoted);
                    other.turn_over(random, born, second, Order::Oldest);
                }
            }
            Behaviour::Slab { mean, memory, .. } => {
                let greatest = random.greatest_normal(1.0 + step.passed() / memory);
                let needed = (mean + mean.sqrt() * greatest).round().max(0.0) as u64;
                let objects = needed.max(pool.live());
                pool.reach(random, objects, Order::Random);
            }
            Behaviour::Clones { most, every, .. } => {
                if step.crosses(every) {
                    pool.free_all();
                }
                pool.reach(random, step.n.min(most), Order::Random);
            }
            Behaviour::Reservoir { objects, .. } => {
                pool.reach(random, objects.min(step.n), Order::Random);
                let full = step.before.max(objects).min(step.n);
                pool.survive(random, full as f64 / step.n as f64);
                pool.reach(random, objects.min(step.n), Order::Random);
            }
            Behaviour::Rare { seen, .. } => {
                pool.free_all();
                if seen.iter().any(|at| step.passes(*at)) {
                    pool.allocate(random, 1);
                }
            }
            Behaviour::Step { sizes, at } => {
                if step.before == 0 || step.passes(at) {
                    let size = sizes[usize::from(step.n >= at)];
                    pool.replace(random, 1, size);
                }
            }
            Behaviour::Clumps {
                clumps,
                full,
                exponent,
                order,
                ..
            } => {
                let due = |n: u64| (n as f64 / full).min(1.0).powf(exponent);
                let missing = clumps - pool.live() / CLUMP;
                let late = 1.0 - due(step.before);
                if late > 0.0 {
                    let share = (due(step.n) - due(step.before)) / late;
                    let came = random.binomial(missing, share);
                    pool.allocate(random, CLUMP * came);
                } else if random.below(10) == 0 {
                    pool.free(random, CLUMP, order);
                    pool.allocate(random, CLUMP);
                }
            }
            Behaviour::Deferred { most, every, .. } => {
                let since = match step.crosses(every) {
                    true => {
                        pool.free_all();
                        (step.n % every) as f64
                    }
                    false => step.passed(),
                };
                let came = random.poisson(since / every as f64 * most as f64);
                let room = most - pool.live();
                pool.allocate(random, came.min(room));
            }
            Behaviour::Leak {
                rate, pace, from, ..
            } => {
                let leaked = pace.came(rate, random, step.after(from));
                pool.allocate(random, leaked);
            }
            Behaviour::Push { bytes } => {
                let capacity = ((step.n as f64 * bytes) as u64).next_power_of_two().max(8);
                if capacity != *held {
                    *held = capacity;
                    pool.replace(random, 1, capacity);
                }
            }
            Behaviour::LogNormal { .. } | Behaviour::HighWater { .. } | Behaviour::Together(_) => {}
        }
    }
}

/// The longest of k messages is below a class with the k-th power of the probability that
/// one message is.
fn high_water(
    random: &mut Random,
    step: Step,
    buffers: u64,
    shares: &[(f64, u64)],
    pools: &mut [Pool],
) {
    if step.before == 0 {
        pools[0].allocate(random, buffers);
    }
    let messages = step.passed() / buffers as f64;
    let mut below = 1.0_f64;
    let mut grown = vec![0; pools.len()];
    for class in (1..pools.len()).rev() {
        let up_to = below;
        below = (below - shares[class].0).max(0.0);
        let smaller: u64 = pools[..class].iter().map(Pool::live).sum();
        grown[class] = random.binomial(smaller, 1.0 - (below / up_to).powf(messages));
        let (mut left, mut of) = (grown[class], smaller);
        for pool in &mut pools[..class] {
            let live = pool.live();
            let freed = random.hypergeometric(left, live, of);
            pool.free(random, freed, Order::Random);
            (left, of) = (left - freed, of - live);
        }
    }
    for (pool, grown) in pools.iter_mut().zip(grown) {
        pool.allocate(random, grown);
    }
}

/// What a run of a behaviour has come to.
struct State {
    pools: Vec<Pool>,
    /// A level, or a capacity.
    held: u64,
}

/// Connections that come at a time.
const CLUMP: u64 = 3;

/// Adds what is sampled of objects that are allocated on the same stack.
pub(super) fn add(sum: &mut Alive, more: &Alive) {
    sum.resize(sum.len().max(more.len()), Vec::new());
    for (sum, more) in sum.iter_mut().zip(more) {
        sum.resize(sum.len().max(more.len()), Tally::default());
        sum.iter_mut().zip(more.iter().copied()).for_each(add_tally);
    }
}

fn add_tally((sum, more): (&mut Tally, Tally)) {
    *sum += more;
}

/// Size classes, and what share of the objects is of each.
fn classes(median: f64, sigma: f64) -> Vec<(f64, u64)> {
    let log = |size: u64| ((size as f64 / median).ln() / sigma).clamp(-6.0, 6.0);
    let mut below = 0.0;
    (3..22)
        .map(|power| {
            let size = 1_u64 << power;
            let to_here = match power {
                21 => 1.0,
                _ => normal_below(log(size)),
            };
            let share = to_here - below;
            below = to_here;
            (share, size)
        })
        .collect()
}

/// The share of a normal distribution that is below z, within 1e-7 (Abramowitz
/// and Stegun, 26.2.17).
fn normal_below(z: f64) -> f64 {
    const FACTORS: [f64; 5] = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = FACTORS
        .iter()
        .rev()
        .fold(0.0, |sum, factor| t * (factor + sum));
    let above = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * series;
    if z < 0.0 { above } else { 1.0 - above }
}
