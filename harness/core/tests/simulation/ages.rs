//! Stacks of many shapes, judged from one dump by the births of their objects: how often is a
//! healthy one called a leak, and how small a leak is found?

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

use plimsoll_core::ages::{Birth, Fate, Generation, judge};
use plimsoll_core::dump::Estimate;

use crate::random::Random;

const DAY: f64 = 86_400.0;

static BIRTHS: LazyLock<Vec<Birth>> = LazyLock::new(|| (0..).map_while(Birth::new).collect());

/// The birth of what is allocated at that uptime, in seconds.
fn birth_at(uptime: f64) -> Birth {
    BIRTHS[BIRTHS.partition_point(|birth| birth.start() <= uptime) - 1]
}

/// The objects of one stack, all of which are sampled.
struct Heap {
    uptime: f64,
    counts_born: bool,
    born: BTreeMap<Birth, Generation>,
}

impl Heap {
    fn new(uptime: f64, counts_born: bool) -> Heap {
        Heap {
            uptime,
            counts_born,
            born: BTreeMap::new(),
        }
    }

    fn add(&mut self, birth: Birth, ever: f64, alive: f64) {
        let estimate = |objects: f64| Estimate {
            objects,
            bytes: 64.0 * objects,
        };
        let ever = estimate(if self.counts_born { ever } else { 0.0 });
        *self.born.entry(birth).or_default() += Generation::of(estimate(alive), ever, |_| 1.0);
    }

    /// Objects that are born at random, `rate` each second, of which a share is alive at an age.
    fn turned_over(
        &mut self,
        random: &mut Random,
        rate: impl Fn(f64) -> f64,
        alive: impl Fn(f64) -> f64,
    ) {
        const STEPS: u32 = 12;
        for birth in BIRTHS.iter().copied() {
            let end = birth.end().min(self.uptime);
            let length = (end - birth.start()) / f64::from(STEPS);
            if length <= 0.0 {
                return;
            }
            for step in 0..STEPS {
                let at = birth.start() + length * (f64::from(step) + 0.5);
                let ever = random.poisson(rate(at) * length);
                let alive = random.binomial(ever, alive(self.uptime - at));
                self.add(birth, ever as f64, alive as f64);
            }
        }
    }

    /// The dump has other stacks, so that its youngest birth is known.
    fn fate(&self) -> Fate {
        judge(&self.born, birth_at(self.uptime)).fate
    }
}

/// A cache of so many entries, of which the one that was not used for longest has to go.
fn cache(heap: &mut Heap, random: &mut Random, entries: usize, keys: f64, skew: f64) {
    const REQUESTS: u32 = 12_000;
    let mut born: HashMap<u64, (u32, f64)> = HashMap::new();
    let mut used = std::collections::VecDeque::new();
    let mut ever = Vec::new();
    for request in 0..REQUESTS {
        let at = heap.uptime * (f64::from(request) + 0.5) / f64::from(REQUESTS);
        // The popularity of a key falls with a power of its number.
        let key = (keys.powf(1.0 - skew) * random.unit()).powf(1.0 / (1.0 - skew));
        let key = key.floor().to_bits();
        let entry = born.entry(key).or_insert_with(|| {
            ever.push(at);
            (request, at)
        });
        entry.0 = request;
        used.push_back((key, request));
        while born.len() > entries {
            let (key, when) = used.pop_front().unwrap();
            if born[&key].0 == when {
                born.remove(&key);
            }
        }
        while used.front().is_some_and(|(key, when)| born[key].0 != *when) {
            used.pop_front();
        }
    }
    for at in ever {
        heap.add(birth_at(at), 1.0, 0.0);
    }
    for (_, at) in born.into_values() {
        heap.add(birth_at(at), 0.0, 1.0);
    }
}

/// With a swing of a half, three times as busy by day as by night.
fn swings(swing: f64, phase: f64) -> impl Fn(f64) -> f64 {
    move |at| 1.0 + swing * (std::f64::consts::TAU * (at / DAY + phase)).sin()
}

type Shape = (&'static str, u64, fn(&mut Heap, &mut Random));

/// So many objects come in all, and each lives for up to a share of the uptime.
fn turnover(
    heap: &mut Heap,
    random: &mut Random,
    objects: Range<f64>,
    lives: Range<f64>,
    busy: impl Fn(f64) -> f64,
) {
    let rate = random.magnitude(objects.start, objects.end) / heap.uptime;
    let life = random.magnitude(lives.start, lives.end) * heap.uptime;
    heap.turned_over(random, |at| rate * busy(at), |age| (-age / life).exp());
}

/// Healthy stacks, and how many of [`RUNS`] may be called a leak.
const HEALTHY: [Shape; 10] = [
    ("turnover, lives up to 1/20", 0, |heap, random| {
        turnover(heap, random, 1e2..1e6, 1e-6..0.05, |_| 1.0);
    }),
    ("turnover, lives of 1/20 to 1/8", 0, |heap, random| {
        turnover(heap, random, 1e2..1e6, 0.05..0.125, |_| 1.0);
    }),
    ("turnover, three times as busy by day", 0, |heap, random| {
        let swings = swings(0.5, random.unit());
        turnover(heap, random, 1e2..1e6, 1e-3..0.125, swings);
    }),
    // Their objects live for as long as those of a leak must.
    ("turnover, lives of 1/8 to 1/3", 2, |heap, random| {
        turnover(heap, random, 1e2..1e6, 0.125..0.33, |_| 1.0);
    }),
    ("sessions that end at a limit", 0, |heap, random| {
        let rate = random.magnitude(1e2, 1e5) / heap.uptime;
        let most = random.magnitude(1e-2, 0.5) * heap.uptime;
        heap.turned_over(random, |_| rate, |age| f64::from(age < most));
    }),
    ("set-up, then nothing", 0, |heap, random| {
        let objects = random.magnitude(1.0, 1e5);
        let until = random.magnitude(1e-6, 0.03) * heap.uptime;
        let rate = |at| if at < until { objects / until } else { 0.0 };
        heap.turned_over(random, rate, |_| 1.0);
    }),
    ("set-up beside turnover", 0, |heap, random| {
        let objects = random.magnitude(1.0, 1e4);
        let birth = birth_at(random.unit() * 0.03 * heap.uptime);
        heap.add(birth, objects, objects.round());
        turnover(heap, random, 1e2..1e5, 1e-6..0.05, |_| 1.0);
    }),
    ("bursts, each freed by the next", 0, |heap, random| {
        let period = random.magnitude(1e-3, 2.0) * heap.uptime;
        let mut at = random.unit() * period;
        let objects = random.magnitude(1.0, 1e4).round();
        while at < heap.uptime {
            let is_last = at + period >= heap.uptime;
            let alive = if is_last { objects } else { 0.0 };
            heap.add(birth_at(at), objects, alive);
            at += period;
        }
    }),
    ("a cache, least recently used", 6, |heap, random| {
        let entries = 25 << random.below(6);
        let skew = 0.5 + 0.49 * random.unit();
        cache(heap, random, entries, 10_000.0, skew);
    }),
    ("a cache that has filled", 0, |heap, random| {
        // Each key is there after its first use.
        let keys = random.magnitude(1e2, 1e5);
        let rate = random.magnitude(8.0, 1e3) / heap.uptime;
        heap.turned_over(random, |at| keys * rate * (-at * rate).exp(), |_| 1.0);
    }),
];

/// Leaks of so many sampled objects, beside so many times as many that are turned over, and how
/// many of 100 are found: if the dump does not count what was ever born, and if it does.
const LEAKS: [(f64, f64, [u64; 2]); 4] = [
    (30.0, 0.0, [20, 45]),
    (100.0, 0.0, [70, 96]),
    (100.0, 100.0, [70, 90]),
    (1_000.0, 1_000.0, [97, 99]),
];

const RUNS: u64 = 100;

/// Judges a shape so many times, and counts the leaks.
fn leaks(counts_born: bool, runs: u64, shape: impl Fn(&mut Heap, &mut Random)) -> u64 {
    let leaks = (0..runs).filter(|run| {
        let random = &mut Random(run * 7_919 + 1);
        let mut heap = Heap::new(random.magnitude(3_600.0, 2.0 * DAY), counts_born);
        shape(&mut heap, random);
        heap.fate() == Fate::Leaks
    });
    leaks.count() as u64
}

#[test]
fn healthy_stacks_are_no_leaks() {
    for (name, most, shape) in HEALTHY {
        for counts_born in [false, true] {
            let found = leaks(counts_born, RUNS, shape);
            assert!(found <= most, "{name}, {counts_born}: {found} leaks");
        }
    }
}

#[test]
fn leaks_are_found_beside_turnover_whatever_the_hour() {
    for (objects, turnover, least) in LEAKS {
        for (counts_born, least) in [false, true].into_iter().zip(least) {
            for swing in [0.0, 0.5] {
                let found = leaks(counts_born, RUNS, |heap, random| {
                    let traffic = swings(swing, random.unit());
                    let rate = objects / heap.uptime;
                    let life = random.magnitude(1e-6, 0.05) * heap.uptime;
                    heap.turned_over(random, |at| traffic(at) * rate, |_| 1.0);
                    let others = turnover * rate;
                    heap.turned_over(random, |at| traffic(at) * others, |age| (-age / life).exp());
                });
                let name = format!("{objects} beside {turnover}, {counts_born}, {swing}");
                assert!(100 * found >= least * RUNS, "{name}: {found} found");
            }
        }
    }
}
