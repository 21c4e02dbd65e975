//! What was accepted where one ladder ended, held against ladders that end elsewhere: on
//! a faster machine, on a slower one, with another budget.

use plimsoll_core::baseline::{Acceptance, Baseline, update};
use plimsoll_core::judge::{Observed, Policy, Verdict, judge};
use plimsoll_core::ladder::rung;
use plimsoll_core::report::Report;
use plimsoll_core::{FoldedStack, Series, Tally};

use crate::sample;
use crate::samples::within;

/// jemalloc's size classes: four to a doubling, and no finer than 16 bytes.
fn rounded(bytes: u64) -> u64 {
    let class = (bytes.max(16).next_power_of_two() / 8).max(16);
    bytes.next_multiple_of(class)
}

/// A map of so many bytes an entry, as hashbrown has it.
fn map(entries: u64, entry: u64) -> u64 {
    let mut buckets: u64 = 4;
    while entries > buckets * 7 / 8 {
        buckets *= 2;
    }
    rounded(buckets * (entry + 1) + 16)
}

/// A `Vec`.
fn vec(length: u64, item: u64) -> u64 {
    rounded(length.max(4).next_power_of_two() * item)
}

type Level = fn(u64) -> (u64, u64);

/// What a stack keeps that only ever inserts: objects and bytes after so many iterations.
const SHAPES: [(&str, Level); 10] = [
    ("objects", |n| (n, 96 * n)),
    ("a Vec", |n| (1, vec(n, 8))),
    ("a map", |n| (1, map(n, 32))),
    ("a Vec of boxes", |n| (1 + n, vec(n, 8) + 48 * n)),
    ("a Vec of strings", |n| (1 + n, vec(n, 24) + 160 * n)),
    ("a Vec of long strings", |n| (1 + n, vec(n, 24) + 1_024 * n)),
    ("a map of small boxes", |n| (1 + n, map(n, 16) + 16 * n)),
    ("a map of strings", |n| (1 + n, map(n, 32) + 96 * n)),
    ("a map of long strings", |n| (1 + n, map(n, 32) + 1_024 * n)),
    ("a map, every third time", |n| {
        (1 + n / 3, map(n / 3, 32) + 64 * (n / 3))
    }),
];

fn observed(rungs: usize, level: impl Fn(u64) -> (u64, u64)) -> Observed {
    let iterations: Vec<u64> = (0..rungs).map(rung).collect();
    let levels = iterations.iter().map(|n| {
        let (objects, bytes) = level(*n);
        Tally { objects, bytes }
    });
    let stack = FoldedStack(vec!["main".to_owned(), "keep".to_owned()]);
    Observed {
        stacks: [(stack, Series::new(levels.collect()))].into(),
        iterations,
        ..Observed::default()
    }
}

/// The file that `accept` would write.
fn agreed(observed: &Observed) -> String {
    let found = judge(observed, &Baseline::default(), &Policy::TOP);
    assert_eq!(found.verdict, Verdict::Regressed);
    let rungs = observed.iterations.iter().map(|n| sample::rung(*n));
    let report = Report {
        rungs: rungs.collect(),
        findings: found.findings,
        ..within()
    };
    let acceptance = Acceptance::of(&report, &Baseline::default());
    update(None, &acceptance).unwrap()
}

#[test]
fn what_was_agreed_to_holds_wherever_a_ladder_ends() {
    let mut wrong = Vec::new();
    for (name, level) in SHAPES {
        for from in (44..72).step_by(3) {
            let text = agreed(&observed(from, level));
            let baseline = Baseline::parse(text.as_bytes()).unwrap();
            for to in 40..80 {
                let mut check = |expected, what: &str, level: &dyn Fn(u64) -> (u64, u64)| {
                    let found = judge(&observed(to, level), &baseline, &Policy::TOP).verdict;
                    if found != expected {
                        let ends = format!("{} -> {}", rung(from - 1), rung(to - 1));
                        wrong.push(format!("{name}{what}, {ends}: {found}\n{text}"));
                    }
                };
                check(Verdict::Within, "", &level);
                let twice = |n| (2 * level(n).0, 2 * level(n).1);
                check(Verdict::Regressed, ", twice", &twice);
                // As many bytes, and more objects.
                let more = |n| (level(n).0 + n / 50, level(n).1);
                check(Verdict::Regressed, ", more objects", &more);
            }
        }
    }
    let few = &wrong[..wrong.len().min(6)];
    assert!(few.is_empty(), "{} wrong:\n{}", wrong.len(), few.join("\n"));
}
