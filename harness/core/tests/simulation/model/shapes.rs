//! Shapes of workloads: what their stacks do, drawn at random.

use std::f64::consts::TAU;

use super::Random;
use super::behaviour::{Behaviour, Pace, Step};
use super::pool::{Order, Pool};
use Draw::{Many, One};

/// What the stacks of a workload do, by the folded stack that they are under.
pub(crate) type Stacks = Vec<(&'static str, Behaviour)>;

/// What a shape of workloads is called, and how one of them is drawn.
pub(crate) type Shape = (&'static str, Draw);

/// Draws a workload for a ladder of so many iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Draw {
    One(fn(&mut Random, u64) -> Behaviour),
    Many(fn(&mut Random, u64) -> Stacks),
}

impl Draw {
    pub(super) fn stacks(self, random: &mut Random, last: u64) -> Stacks {
        match self {
            One(behaviour) => vec![("main;work", behaviour(random, last))],
            Many(stacks) => stacks(random, last),
        }
    }
}

/// Healthy workloads.
pub(crate) const SHAPES: [Shape; 21] = [
    ("steady turnover", One(turnover::<4>)),
    ("random occupancy", One(occupancy)),
    ("bursts", One(bursts)),
    ("log-normal sizes", One(log_normal)),
    ("slow fill", One(fill)),
    ("twelve stacks", Many(twelve)),
    ("queue that is kept up with", One(queue)),
    ("cache with hot and cold keys", One(hot_and_cold)),
    ("LRU", One(evicting::<true>)),
    ("random eviction", One(evicting::<false>)),
    ("two-level cache", One(two_levels)),
    ("slab reuse", One(slab)),
    ("births that drift", One(drift)),
    ("reservoir", One(reservoir)),
    ("buffers at their high-water mark", One(high_water)),
    ("one large object now and then", Many(large_objects)),
    ("one step of a table", One(step)),
    ("growth in clumps, bounded", One(clumps)),
    ("deferred frees", One(deferred)),
    ("turnover, lives up to 1/64", One(turnover::<64>)),
    ("turnover, lives up to 1/8", One(turnover::<8>)),
];

/// Growth that leaves nothing old behind.
pub(crate) const GROWING: [Shape; 3] = [
    ("queue that falls behind", One(falling_behind)),
    ("births become more", One(rising_births)),
    ("clones of a list that grows", One(growing_clones)),
];

/// What the stacks of "twelve stacks" do.
const MIX: [fn(&mut Random, u64) -> Behaviour; 15] = [
    turnover::<4>,
    occupancy,
    fill,
    queue,
    hot_and_cold,
    evicting::<true>,
    evicting::<false>,
    two_levels,
    slab,
    drift,
    reservoir,
    rare,
    step,
    clumps,
    deferred,
];

fn twelve(random: &mut Random, last: u64) -> Stacks {
    let names = "main;a;one main;b;one main;c;one main;d;two main;e;two main;f;two main;g;three \
                 main;h;three main;i;four main;j;five main;k;six main;l;seven";
    let behaviour = |name| {
        let behaviour = random.one_of(&MIX);
        (name, behaviour(random, last))
    };
    names.split(' ').map(behaviour).collect()
}

fn large_objects(random: &mut Random, last: u64) -> Stacks {
    let names = random.one_of(&["main;work", "main;large"]);
    let objects = random.magnitude(1.0, 1e3) as u64;
    let turnover = turnover_of(objects, last as f64 / 4.0, random);
    vec![("main;work", turnover), (names, rare(random, last))]
}

fn size(random: &mut Random) -> u64 {
    (random.magnitude(8.0, 65_536.0) as u64).next_multiple_of(8)
}

fn objects(random: &mut Random) -> u64 {
    random.magnitude(1.0, 1e6) as u64
}

/// About so many objects. Each lives for one iteration, up to a share of the ladder.
fn turnover<const SHARE: u64>(random: &mut Random, last: u64) -> Behaviour {
    let objects = objects(random);
    turnover_of(objects, last as f64 / SHARE as f64, random)
}

fn turnover_of(objects: u64, longest: f64, random: &mut Random) -> Behaviour {
    let size = size(random);
    let life = random.magnitude(1.0, longest);
    Behaviour::of(size, move |random, step, pool| {
        pool.survive(random, step.survives(life));
        let jitter = random.below(objects / 10 + 2);
        pool.reach(random, objects + jitter, Order::Random);
    })
}

/// Anything up to so many, all of them new, or as few new as it takes.
fn occupancy(random: &mut Random, _: u64) -> Behaviour {
    let objects = objects(random);
    let size = size(random);
    let kept = random.coin();
    Behaviour::of(size, move |random, _, pool| {
        if !kept {
            pool.free_all();
        }
        let objects = random.below(objects + 1);
        pool.reach(random, objects, Order::Random);
    })
}

/// Nothing, and at one rung in ten very much.
fn bursts(random: &mut Random, _: u64) -> Behaviour {
    let objects = objects(random);
    Behaviour::of(size(random), move |random, _, pool| {
        pool.free_all();
        if random.below(10) == 0 {
            pool.allocate(random, 5 * objects);
        }
    })
}

/// Sizes from a log-normal distribution on one stack.
fn log_normal(random: &mut Random, last: u64) -> Behaviour {
    let objects = objects(random);
    let (sizes, shares) = classes(random);
    let life = random.magnitude(1.0, last as f64 / 4.0);
    Behaviour::of_sizes(sizes, move |random, step, pools| {
        let survives = step.survives(life);
        for (share, class) in shares.iter().zip(pools) {
            class.survive(random, survives);
            let arrived = random.poisson(objects as f64 * share * (1.0 - survives));
            class.allocate(random, arrived);
        }
    })
}

/// K·(1 − exp(−n/C)); turned over, or kept for ever. Seen for two octaves after n = C, or longer.
fn fill(random: &mut Random, last: u64) -> Behaviour {
    let objects = objects(random);
    let size = size(random);
    let capacity = last as f64 / random.magnitude(4.0, 64.0);
    let is_kept = !random.coin();
    Behaviour::of(size, move |random, step, pool| {
        if is_kept {
            let level = objects as f64 * -(-(step.n as f64) / capacity).exp_m1();
            return pool.reach(random, level.round() as u64, Order::Random);
        }
        let survives = step.survives(capacity);
        pool.survive(random, survives);
        let arrived = random.poisson(objects as f64 * (1.0 - survives));
        pool.allocate(random, arrived);
    })
}

/// So many from the start to the end.
pub(super) fn base(objects: u64, size: u64) -> Behaviour {
    Behaviour::of(size, move |random, _, pool| {
        pool.reach(random, objects, Order::Random);
    })
}

/// So many an iteration, for ever, after so many iterations.
pub(super) fn leak(rate: f64, size: u64, pace: Pace, from: u64) -> Behaviour {
    Behaviour::of(size, move |random, step, pool| {
        let leaked = pace.came(rate, random, step.after(from));
        pool.allocate(random, leaked);
    })
}

/// A `Vec` to which so many bytes are pushed in every iteration.
pub(super) fn push(bytes: f64) -> Behaviour {
    Behaviour::of(8, move |random, step, pool| {
        let capacity = ((step.n as f64 * bytes) as u64).next_power_of_two().max(8);
        if capacity != pool.held {
            pool.held = capacity;
            pool.replace(random, 1, capacity);
        }
    })
}

/// Births per iteration.
fn births(random: &mut Random) -> f64 {
    random.magnitude(1.0 / 16.0, 4.0)
}

/// What is born in up to that share of the ladder.
fn capacity(random: &mut Random, births: f64, last: u64, share: f64) -> f64 {
    random.magnitude(1.0, (births * last as f64 * share).max(2.0))
}

/// How many objects of a bounded place are kept, by how many there were to be before.
type Level = Box<dyn Fn(&mut Random, Step, u64) -> u64>;

/// Births that go on for ever. As many are freed as are too many for the level.
fn bounded(births: f64, random: &mut Random, order: Order, level: Level) -> Behaviour {
    bounded_of(size(random), births, random, order, level)
}

fn bounded_of(
    size: u64,
    births: f64,
    random: &mut Random,
    order: Order,
    level: Level,
) -> Behaviour {
    let pace = random.one_of(&[Pace::Even, Pace::Random]);
    Behaviour::of(size, move |random, step, pool| {
        let born = pace.came(births, random, step);
        pool.held = level(random, step, pool.held);
        pool.turn_over(random, born, pool.held, order);
    })
}

/// Either follows at most 1/64 of the ladder: a reader that is hardly faster
/// than the writer takes the square of what waits to catch up.
fn queue(random: &mut Random, last: u64) -> Behaviour {
    let births = births(random);
    let mean = capacity(random, births, last, 1.0 / 64.0);
    let level: Level = if random.coin() {
        // Poisson; it forgets itself in so many iterations.
        let memory = random.magnitude(1.0, last as f64 / 64.0);
        Box::new(move |random, step, before| {
            let stays = step.survives(memory);
            let stayed = random.binomial(before, stays);
            stayed + random.poisson(mean * (1.0 - stays))
        })
    } else {
        let mean = mean.sqrt();
        Box::new(move |random, _, _| (-mean * random.unit().ln()).round() as u64)
    };
    bounded(births, random, Order::Oldest, level)
}

fn falling_behind(random: &mut Random, _: u64) -> Behaviour {
    let births = random.magnitude(1.0, 4.0);
    let rate = births * random.magnitude(0.01, 0.1);
    let noise = 20.0 * random.unit();
    let level = move |random: &mut Random, step: Step, _| {
        (rate * step.n as f64 + random.poisson(noise) as f64).round() as u64
    };
    bounded(births, random, Order::Oldest, Box::new(level))
}

fn hot_and_cold(random: &mut Random, last: u64) -> Behaviour {
    let births = births(random);
    let size = size(random);
    let cold = random.one_of(&[Order::Oldest, Order::Random]);
    let mut keys = |order| {
        let capacity = capacity(random, births, last, 1.0 / 64.0) as u64;
        bounded_of(
            size,
            births,
            random,
            order,
            Box::new(move |_, _, _| capacity),
        )
    };
    keys(Order::Newest).beside(keys(cold))
}

/// A cache that is full, and lets go of the oldest or of any.
fn evicting<const OLDEST: bool>(random: &mut Random, last: u64) -> Behaviour {
    let order = if OLDEST { Order::Oldest } else { Order::Random };
    let births = births(random);
    let capacity = capacity(random, births, last, 1.0 / 16.0) as u64;
    bounded(births, random, order, Box::new(move |_, _, _| capacity))
}

/// Births that live for so long. Instead of being freed, a share of them
/// moves on to a second level, which frees the oldest.
fn two_levels(random: &mut Random, last: u64) -> Behaviour {
    let births = births(random);
    let share = random.magnitude(1.0 / 256.0, 0.5);
    let size = size(random);
    let life = random.magnitude(1.0, last as f64 / 1_024.0);
    let most = capacity(random, births * share, last, 1.0 / 16.0) as u64;
    Behaviour::of_sizes(vec![size; 2], move |random, step, pools| {
        let [first, second] = pools else { return };
        let survives = step.survives(life);
        let born = random.poisson(births * step.passed());
        let left = random.binomial(born, life * (1.0 - survives) / step.passed());
        let mut promoted = first.survive(random, survives);
        promoted.survive(random, share);
        first.allocate(random, left);
        let born = random.binomial(born - left, share);
        second.adopt(&promoted);
        second.turn_over(random, born, most, Order::Oldest);
    })
}

/// As many as were ever needed at once. What is needed is normal, with the
/// variance of a count, and forgets itself in so many iterations.
fn slab(random: &mut Random, last: u64) -> Behaviour {
    let mean = random.magnitude(1.0, 1e5);
    let size = size(random);
    let memory = random.magnitude(1.0, last as f64 / 64.0);
    Behaviour::of(size, move |random, step, pool| {
        let greatest = random.greatest_normal(1.0 + step.passed() / memory);
        let needed = (mean + mean.sqrt() * greatest).round().max(0.0) as u64;
        pool.reach(random, needed.max(pool.live()), Order::Random);
    })
}

/// A list to which one object an iteration is added. All of it is cloned every so many iterations.
fn growing_clones(random: &mut Random, _: u64) -> Behaviour {
    let size = size(random);
    let every = random.magnitude(1.0, 16.0) as u64;
    Behaviour::of(size, move |random, step, pool| {
        if step.crosses(every) {
            pool.free_all();
        }
        pool.reach(random, step.n, Order::Random);
    })
}

/// Objects that live for so long, and are born at a rate that changes: how many of those born on
/// the way are left at its end on the mean.
fn arrivals(size: u64, life: f64, left: impl Fn(Step) -> f64 + 'static) -> Behaviour {
    Behaviour::of(size, move |random, step, pool| {
        pool.survive(random, step.survives(life));
        let left = random.poisson(left(step));
        pool.allocate(random, left);
    })
}

/// Births go up and down by a share of the mean: at most twice as many as at the least.
fn drift(random: &mut Random, last: u64) -> Behaviour {
    let life = random.magnitude(1.0, last as f64 / 64.0);
    let mean = objects(random) as f64 / life;
    let share = random.unit() / 3.0;
    let speed = TAU / (last as f64 / random.magnitude(4.0, 32.0));
    let phase = random.unit();
    arrivals(size(random), life, move |step| {
        // The integral of exp(−(n − t)/L)·sin(ωt + φ), from where t is 0.
        let swung = |t: u64| {
            let (sin, cos) = (speed * t as f64 + phase * TAU).sin_cos();
            (sin - speed * life * cos) / (1.0 + (speed * life).powi(2))
        };
        let survives = step.survives(life);
        let swung = swung(step.n) - swung(step.before) * survives;
        mean * life * (1.0 - survives + share * swung)
    })
}

/// So many in the n-th iteration for each of the n.
fn rising_births(random: &mut Random, last: u64) -> Behaviour {
    let per_iteration = random.magnitude(4.0, 40.0) / last as f64;
    let life = last as f64 / 256.0;
    arrivals(size(random), life, move |step| {
        let risen = |t: u64| t as f64 - life;
        per_iteration * life * (risen(step.n) - risen(step.before) * step.survives(life))
    })
}

/// A sample of so many of all objects that ever came, one an iteration.
fn reservoir(random: &mut Random, last: u64) -> Behaviour {
    let objects = capacity(random, 1.0, last, 1.0 / 64.0) as u64;
    Behaviour::of(size(random), move |random, step, pool| {
        pool.reach(random, objects.min(step.n), Order::Random);
        let full = step.before.max(objects).min(step.n);
        pool.survive(random, full as f64 / step.n as f64);
        pool.reach(random, objects.min(step.n), Order::Random);
    })
}

/// So many buffers that each grow to the longest message that they ever held, one message an
/// iteration. The longest of k messages is below a class with the k-th power of the probability
/// that one message is.
fn high_water(random: &mut Random, _: u64) -> Behaviour {
    let buffers = random.magnitude(1.0, 1e3) as u64;
    let (sizes, shares) = classes(random);
    Behaviour::of_sizes(sizes, move |random, step, pools| {
        if step.before == 0 {
            pools[0].allocate(random, buffers);
        }
        let messages = step.passed() / buffers as f64;
        let mut below = 1.0_f64;
        let mut grown = vec![0; pools.len()];
        for class in (1..pools.len()).rev() {
            let up_to = below;
            below = (below - shares[class]).max(0.0);
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
    })
}

/// One new object at one or two rungs of the last three octaves.
fn rare(random: &mut Random, last: u64) -> Behaviour {
    let mut at = || (last as f64 / random.magnitude(1.0, 8.0)) as u64;
    let (first, second) = (at(), at());
    let seen = if random.coin() {
        [first; 2]
    } else {
        [first, second]
    };
    let size = (random.magnitude(2_560.0, 524_288.0) as u64).next_multiple_of(8);
    Behaviour::of(size, move |random, step, pool| {
        pool.free_all();
        if seen.iter().any(|at| step.passes(*at)) {
            pool.allocate(random, 1);
        }
    })
}

/// One object that is allocated anew, in another size, six rungs before the end, or earlier.
fn step(random: &mut Random, last: u64) -> Behaviour {
    let sizes = [8_192, 61_440];
    let at = (last as f64 / random.magnitude(3.0, 64.0)) as u64;
    Behaviour::of(sizes[0], move |random, step, pool| {
        if step.before == 0 || step.passes(at) {
            pool.replace(random, 1, sizes[usize::from(step.n >= at)]);
        }
    })
}

/// Connections that come in clumps of three: each clump comes once in the iterations up to an
/// octave before the end, or earlier, and at one rung in ten after that one clump is replaced.
fn clumps(random: &mut Random, last: u64) -> Behaviour {
    const CLUMP: u64 = 3;
    let clumps = 4 + random.below(9);
    let size = size(random);
    let full = last as f64 / random.magnitude(2.0, 16.0);
    let exponent = random.magnitude(0.2, 1.0);
    let order = random.one_of(&[Order::Oldest, Order::Newest]);
    Behaviour::of(size, move |random, step, pool| {
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
    })
}

/// Objects that come at random, at most so many. All of them are freed before they are older than
/// a third of the last octave's iterations.
fn deferred(random: &mut Random, last: u64) -> Behaviour {
    let most = 1 + random.below(16);
    let size = size(random);
    let every = random.magnitude(16.0, last as f64 / 6.0) as u64;
    Behaviour::of(size, move |random, step, pool| {
        let mut since = step.passed();
        if step.crosses(every) {
            pool.free_all();
            since = (step.n % every) as f64;
        }
        let came = random.poisson(since / every as f64 * most as f64);
        pool.allocate(random, came.min(most - pool.live()));
    })
}

/// Size classes of a log-normal distribution, and what share of the objects is of each. The
/// median is drawn, and the deviation in natural logarithms.
fn classes(random: &mut Random) -> (Vec<u64>, Vec<f64>) {
    let median = random.magnitude(32.0, 4096.0);
    let sigma = 0.5 + 1.5 * random.unit();
    let log = |size: u64| ((size as f64 / median).ln() / sigma).clamp(-6.0, 6.0);
    let sizes: Vec<u64> = (3..22).map(|power| 1 << power).collect();
    let mut below = 0.0;
    let shares = sizes.iter().map(|size| {
        let to_here = if *size == 1 << 21 {
            1.0
        } else {
            normal_below(log(*size))
        };
        let share = to_here - below;
        below = to_here;
        share
    });
    let shares = shares.collect();
    (sizes, shares)
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
    let series = FACTORS.iter().rev();
    let series = series.fold(0.0, |sum, factor| t * (factor + sum));
    let above = (-z * z / 2.0).exp() / TAU.sqrt() * series;
    if z < 0.0 { above } else { 1.0 - above }
}
