//! Many healthy workloads, and many leaks under the same churn, judged.
//!
//! Not a proof: a net for rules that would cry wolf, or would sleep.

use std::collections::BTreeMap;

use plimsoll_core::baseline::Baseline;
use plimsoll_core::judge::{Observed, Policy, Verdict, judge};
use plimsoll_core::ladder::rung;
use plimsoll_core::{FoldedStack, Series, Tally};

/// SplitMix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

/// A level after so many iterations, as objects and bytes.
type Shape = fn(&mut Random, u64, u64) -> (u64, u64);

/// Healthy workloads; `scale` is how many objects they hold.
const HEALTHY: [(&str, Shape); 7] = [
    ("steady turnover", |random, _, scale| {
        let objects = scale + random.below(scale / 10 + 2);
        (objects, objects * 64)
    }),
    ("random occupancy", |random, _, scale| {
        let objects = random.below(scale + 1);
        (objects, objects.next_power_of_two() * 48)
    }),
    ("bursts", |random, _, scale| {
        let objects = if random.below(10) == 0 { scale * 5 } else { 0 };
        (objects, objects * 100)
    }),
    ("sizes with a long tail", |random, _, scale| {
        let bytes = (0..scale.min(50)).map(|_| 16_u64 << random.below(12)).sum();
        (scale, bytes)
    }),
    ("batches", |_, n, scale| {
        (n % scale.max(1), n % scale.max(1) * 16)
    }),
    ("a cache that fills", |random, n, scale| {
        let objects = n.min(scale) + random.below(3);
        (objects, objects * 80)
    }),
    ("a table that settles", |random, n, scale| {
        let held = n.min(scale).max(1) * 3 / 4 + random.below(3);
        (1, held.next_power_of_two() * 32)
    }),
];

fn verdict(rungs: usize, level: &mut dyn FnMut(u64) -> (u64, u64)) -> Verdict {
    let iterations: Vec<u64> = (0..rungs).map(rung).collect();
    let levels = iterations.iter().map(|n| {
        let (objects, bytes) = level(*n);
        Tally { objects, bytes }
    });
    let stack = FoldedStack(vec!["main".to_owned(), "work".to_owned()]);
    let observed = Observed {
        stacks: BTreeMap::from([(stack, Series::new(levels.collect()))]),
        iterations,
        ..Observed::default()
    };
    let policy = Policy {
        threshold: None,
        at_top: true,
        today: None,
    };
    judge(&observed, &Baseline::default(), &policy).verdict
}

/// Ladders that are long enough for a workload of that scale to be through with
/// filling: two octaves above it.
fn ladder_for(scale: u64, random: &mut Random) -> usize {
    let full = (0..).find(|k| rung(*k) >= 4 * scale.max(64)).unwrap_or(80);
    full + usize::try_from(random.below(24)).unwrap_or(0)
}

#[test]
fn healthy_workloads_are_never_regressed() {
    let mut random = Random(1);
    let mut table = String::new();
    for (name, shape) in HEALTHY {
        let mut counts = BTreeMap::new();
        for _ in 0..4_000 {
            let scale = 1 << random.below(12);
            let rungs = ladder_for(scale, &mut random);
            let mut noise = Random(random.next());
            let verdict = verdict(rungs, &mut |n| shape(&mut noise, n, scale));
            *counts.entry(verdict).or_insert(0) += 1;
        }
        table += &format!("{name}: {counts:?}\n");
        assert_eq!(counts.get(&Verdict::Regressed), None, "{table}");
    }
}

#[test]
fn leaks_are_found_under_the_same_churn() {
    let mut random = Random(2);
    let mut table = String::new();
    for (name, shape) in HEALTHY {
        let mut counts = BTreeMap::new();
        for _ in 0..2_000 {
            let scale = 1 << random.below(8);
            let rungs = ladder_for(scale, &mut random) + 24;
            let mut noise = Random(random.next());
            let every = 1 + random.below(20);
            let verdict = verdict(rungs, &mut |n| {
                let (objects, bytes) = shape(&mut noise, n, scale);
                (objects + n / every, bytes + n / every * 56)
            });
            *counts.entry(verdict).or_insert(0) += 1;
        }
        table += &format!("{name}: {counts:?}\n");
        assert_eq!(counts.get(&Verdict::Within), None, "{table}");
        assert!(counts[&Verdict::Regressed] >= 1_900, "{table}");
    }
}
