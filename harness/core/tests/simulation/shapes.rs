//! Shapes of workloads: what their stacks do, drawn at random.

use super::Random;
use super::behaviour::Behaviour;
use super::level::{Births, Level, Pace};
use super::pool::Order;

/// What the stacks of a workload do, by the folded stack that they are under.
pub(crate) type Stacks = Vec<(&'static str, Behaviour)>;

/// What a shape of workloads is called, and one of them for a ladder of so many
/// iterations.
pub(crate) type Shape = (&'static str, fn(&mut Random, u64) -> Stacks);

/// Healthy workloads.
pub(crate) const SHAPES: [Shape; 26] = [
    ("steady turnover", |random, last| {
        work(turnover(random, last as f64 / 4.0))
    }),
    ("random occupancy", |random, _| work(occupancy(random, 0))),
    ("bursts", |random, _| {
        let objects = objects(random);
        let size = size(random);
        work(Behaviour::Bursts { objects, size })
    }),
    ("log-normal sizes", |random, last| {
        let behaviour = Behaviour::LogNormal {
            objects: objects(random),
            median: random.magnitude(32.0, 4096.0),
            sigma: 0.5 + 1.5 * random.unit(),
            life: random.magnitude(1.0, last as f64 / 4.0),
        };
        work(behaviour)
    }),
    ("batch flush", |random, last| {
        let objects = random.magnitude(4.0, last as f64 / 4.0) as u64;
        let size = size(random);
        work(Behaviour::Batch { objects, size })
    }),
    ("slow fill", |random, last| work(fill(random, last))),
    ("large base, little turnover", |random, last| {
        let base = Behaviour::Base {
            objects: random.magnitude(1e3, 1e7) as u64,
            size: size(random),
        };
        let turnover = little_turnover(random, last);
        vec![("main;work", base), ("main;work", turnover)]
    }),
    ("twelve stacks", |random, last| {
        const NAMES: [&str; 12] = [
            "main;a;one",
            "main;b;one",
            "main;c;one",
            "main;d;two",
            "main;e;two",
            "main;f;two",
            "main;g;three",
            "main;h;three",
            "main;i;four",
            "main;j;five",
            "main;k;six",
            "main;l;seven",
        ];
        let behaviour = |random: &mut Random| {
            let behaviour = random.one_of(&MIX);
            behaviour(random, last)
        };
        NAMES.map(|name| (name, behaviour(random))).to_vec()
    }),
    ("queue that is kept up with", |random, last| {
        work(queue(random, last))
    }),
    ("backlog that grows and shrinks", |random, last| {
        work(backlog(random, last))
    }),
    ("cache with hot and cold keys", |random, last| {
        work(hot_and_cold(random, last))
    }),
    ("LRU", |random, last| work(lru(random, last))),
    ("random eviction", |random, last| {
        work(random_eviction(random, last))
    }),
    ("two-level cache", |random, last| {
        work(two_levels(random, last))
    }),
    ("slab reuse", |random, last| work(slab(random, last))),
    ("clone and replace", |random, last| {
        work(clones(random, last))
    }),
    ("births that drift", |random, last| {
        work(drift(random, last))
    }),
    ("reservoir", |random, last| work(reservoir(random, last))),
    ("buffers at their high-water mark", |random, _| {
        work(high_water(random))
    }),
    ("filled once", |random, last| {
        work(Behaviour::Fill {
            objects: random.magnitude(8.0, 1e4) as u64,
            size: size(random),
            capacity: last as f64 / random.magnitude(16.0, 256.0),
            turnover: false,
        })
    }),
    ("one large object now and then", |random, last| {
        let names = random.one_of(&["main;work", "main;large"]);
        let turnover = little_turnover(random, last);
        vec![("main;work", turnover), (names, rare(random, last))]
    }),
    ("one step of a table", |random, last| {
        work(step(random, last))
    }),
    ("growth in clumps, bounded", |random, last| {
        work(clumps(random, last))
    }),
    ("deferred frees", |random, last| {
        work(deferred(random, last))
    }),
    ("turnover, lives up to 1/64", |random, last| {
        work(turnover(random, last as f64 / 64.0))
    }),
    ("turnover, lives up to 1/8", |random, last| {
        work(turnover(random, last as f64 / 8.0))
    }),
];

/// Growth that leaves nothing old behind.
pub(crate) const GROWING: [Shape; 3] = [
    ("queue that falls behind", |random, _| {
        let births = random.magnitude(1.0, 4.0);
        let level = Level::Growing {
            rate: births * random.magnitude(0.01, 0.1),
            noise: 20.0 * random.unit(),
        };
        let size = size(random);
        work(bounded(births, random, size, level, Order::Oldest))
    }),
    ("births become more", |random, last| {
        let greatest = random.magnitude(4.0, 40.0);
        work(Behaviour::Arrivals {
            births: Births::Rising(greatest / last as f64),
            size: size(random),
            life: last as f64 / 256.0,
        })
    }),
    ("clones of a list that grows", |random, _| {
        work(Behaviour::Clones {
            most: u64::MAX,
            size: size(random),
            every: random.magnitude(1.0, 16.0) as u64,
        })
    }),
];

/// What the stacks of "twelve stacks" do.
const MIX: [fn(&mut Random, u64) -> Behaviour; 17] = [
    |random, last| turnover(random, last as f64 / 4.0),
    occupancy,
    fill,
    queue,
    backlog,
    hot_and_cold,
    lru,
    random_eviction,
    two_levels,
    slab,
    clones,
    drift,
    reservoir,
    rare,
    step,
    clumps,
    deferred,
];

fn work(behaviour: Behaviour) -> Stacks {
    vec![("main;work", behaviour)]
}

fn size(random: &mut Random) -> u64 {
    (random.magnitude(8.0, 65_536.0) as u64).next_multiple_of(8)
}

fn objects(random: &mut Random) -> u64 {
    random.magnitude(1.0, 1e6) as u64
}

/// Each lives for one iteration, up to so many.
fn turnover(random: &mut Random, longest: f64) -> Behaviour {
    Behaviour::Turnover {
        objects: objects(random),
        size: size(random),
        life: random.magnitude(1.0, longest),
    }
}

fn little_turnover(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Turnover {
        objects: random.magnitude(1.0, 1e3) as u64,
        size: size(random),
        life: random.magnitude(1.0, last as f64 / 4.0),
    }
}

fn occupancy(random: &mut Random, _: u64) -> Behaviour {
    Behaviour::Occupancy {
        objects: objects(random),
        size: size(random),
        kept: random.coin(),
    }
}

/// Seen for two octaves after n = C, or longer.
fn fill(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Fill {
        objects: objects(random),
        size: size(random),
        capacity: last as f64 / random.magnitude(4.0, 64.0),
        turnover: random.coin(),
    }
}

/// Births per iteration.
fn births(random: &mut Random) -> f64 {
    random.magnitude(1.0 / 16.0, 4.0)
}

/// What is born in up to that share of the ladder.
fn capacity(random: &mut Random, births: f64, last: u64, share: f64) -> f64 {
    random.magnitude(1.0, (births * last as f64 * share).max(2.0))
}

fn bounded(births: f64, random: &mut Random, size: u64, level: Level, order: Order) -> Behaviour {
    Behaviour::Bounded {
        births,
        pace: random.one_of(&[Pace::Even, Pace::Random]),
        size,
        level,
        order,
    }
}

/// Either follows at most 1/64 of the ladder: a reader that is hardly faster
/// than the writer takes the square of what waits to catch up.
fn queue(random: &mut Random, last: u64) -> Behaviour {
    let births = births(random);
    let mean = capacity(random, births, last, 1.0 / 64.0);
    let level = match random.coin() {
        true => Level::Wander {
            mean,
            memory: random.magnitude(1.0, last as f64 / 64.0),
        },
        false => Level::Geometric { mean: mean.sqrt() },
    };
    let size = size(random);
    bounded(births, random, size, level, Order::Oldest)
}

/// The backlog grows by half of what is born, or more slowly.
fn backlog(random: &mut Random, last: u64) -> Behaviour {
    let births = births(random);
    let period = random.magnitude(last as f64 / 512.0, last as f64 / 8.0);
    let most = random.magnitude(1.0, (births * period / 4.0).max(2.0));
    let phase = random.unit();
    let level = match random.coin() {
        true => Level::Triangle {
            most,
            period,
            phase,
        },
        false => Level::Waves {
            most,
            periods: [period, period * random.magnitude(0.25, 1.0)],
            phase,
        },
    };
    let size = size(random);
    bounded(births, random, size, level, Order::Oldest)
}

fn hot_and_cold(random: &mut Random, last: u64) -> Behaviour {
    let births = births(random);
    let size = size(random);
    let cold = random.one_of(&[Order::Oldest, Order::Random]);
    let mut keys = |order| {
        let capacity = capacity(random, births, last, 1.0 / 64.0) as u64;
        bounded(births, random, size, Level::Capacity(capacity), order)
    };
    let hot = keys(Order::Newest);
    let cold = keys(cold);
    Behaviour::Together(vec![hot, cold])
}

fn lru(random: &mut Random, last: u64) -> Behaviour {
    evicting(random, last, Order::Oldest)
}

fn random_eviction(random: &mut Random, last: u64) -> Behaviour {
    evicting(random, last, Order::Random)
}

fn evicting(random: &mut Random, last: u64, order: Order) -> Behaviour {
    let births = births(random);
    let level = Level::Capacity(capacity(random, births, last, 1.0 / 16.0) as u64);
    let size = size(random);
    bounded(births, random, size, level, order)
}

fn two_levels(random: &mut Random, last: u64) -> Behaviour {
    let births = births(random);
    let share = random.magnitude(1.0 / 256.0, 0.5);
    Behaviour::TwoLevels {
        births,
        size: size(random),
        life: random.magnitude(1.0, last as f64 / 1_024.0),
        share,
        second: capacity(random, births * share, last, 1.0 / 16.0) as u64,
    }
}

fn slab(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Slab {
        mean: random.magnitude(1.0, 1e5),
        size: size(random),
        memory: random.magnitude(1.0, last as f64 / 64.0),
    }
}

fn clones(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Clones {
        most: capacity(random, 1.0, last, 1.0 / 16.0) as u64,
        size: size(random),
        every: random.magnitude(1.0, last as f64 / 64.0) as u64,
    }
}

/// At most twice as many births as at the least.
fn drift(random: &mut Random, last: u64) -> Behaviour {
    let life = random.magnitude(1.0, last as f64 / 64.0);
    Behaviour::Arrivals {
        births: Births::Swing {
            mean: objects(random) as f64 / life,
            share: random.unit() / 3.0,
            period: last as f64 / random.magnitude(4.0, 32.0),
            phase: random.unit(),
        },
        size: size(random),
        life,
    }
}

fn reservoir(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Reservoir {
        objects: capacity(random, 1.0, last, 1.0 / 64.0) as u64,
        size: size(random),
    }
}

fn high_water(random: &mut Random) -> Behaviour {
    Behaviour::HighWater {
        buffers: random.magnitude(1.0, 1e3) as u64,
        median: random.magnitude(32.0, 4096.0),
        sigma: 0.5 + 1.5 * random.unit(),
    }
}

/// At one or two rungs of the last three octaves.
fn rare(random: &mut Random, last: u64) -> Behaviour {
    let mut at = || (last as f64 / random.magnitude(1.0, 8.0)) as u64;
    let first = at();
    let second = at();
    Behaviour::Rare {
        seen: match random.coin() {
            true => [first, first],
            false => [first, second],
        },
        size: (random.magnitude(2_560.0, 524_288.0) as u64).next_multiple_of(8),
    }
}

/// The step is six rungs before the end, or earlier.
fn step(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Step {
        sizes: [8_192, 61_440],
        at: (last as f64 / random.magnitude(3.0, 64.0)) as u64,
    }
}

/// All are there an octave before the end, or earlier.
fn clumps(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Clumps {
        clumps: 4 + random.below(9),
        size: size(random),
        full: last as f64 / random.magnitude(2.0, 16.0),
        exponent: random.magnitude(0.2, 1.0),
        order: random.one_of(&[Order::Oldest, Order::Newest]),
    }
}

/// None is older than a third of the last octave's iterations.
fn deferred(random: &mut Random, last: u64) -> Behaviour {
    Behaviour::Deferred {
        most: 1 + random.below(16),
        size: size(random),
        every: random.magnitude(16.0, last as f64 / 6.0) as u64,
    }
}
