//! Memory outside the allocator.

use super::*;

const MIB: u64 = 1 << 20;

/// What the C library and the program have from the start.
const BASE: u64 = 5 * MIB + 340 * 1_024;

const PAGES: Level = |n| (0, BASE + 4_096 * n);

/// 100 bytes in each iteration, with glibc's 12 bytes for itself, in steps of 33 pages.
const OF_GLIBC: Level = |n| (0, BASE + 112 * n / 135_168 * 135_168);

const FLAT: Level = |_| (0, BASE);

/// Judges levels of memory beside a heap that does not grow.
fn outside(rungs: usize, level: Level) -> String {
    at_top(rungs, &[("outside", level), ("a", |_| (1, 32))])
}

/// The same before the top of the ladder, where it may end early.
fn early(rungs: usize, level: Level) -> Verdict {
    let stacks: [(&str, Level); 2] = [("outside", level), ("a", |_| (1, 32))];
    assessed(rungs, &stacks, "", EARLY).verdict
}

#[test]
fn leaks_are_found_by_their_rates() {
    assert_snapshot!(outside(37, PAGES), @"regressed, 1 per 100 (coarsened) | regressed New: outside 0.00 objects 4096.00 B linear");
    assert_snapshot!(outside(18, PAGES), @"regressed, 1 per 10 (coarsened) | regressed New: outside 0.00 objects 4096.00 B linear");
    assert_snapshot!(outside(41, OF_GLIBC), @"regressed, 1 per 1000 | regressed New: outside 0.00 objects 115.50 B linear");
    assert_snapshot!(outside(45, OF_GLIBC), @"regressed, 1 per 1000 | regressed New: outside 0.00 objects 115.50 B linear");
    assert_snapshot!(outside(45, |n| (0, BASE + 64 * n.next_power_of_two())), @"regressed, 1 per 1000 | regressed New: outside 0.00 objects 107.58 B stepped");
}

#[test]
fn what_is_less_than_the_threshold_is_within() {
    assert_snapshot!(outside(45, FLAT), @"within, 1 per 1000");
    assert_snapshot!(outside(45, |n| (0, BASE + 24 * n)), @"within, 1 per 1000");
    // This pool is full.
    assert_snapshot!(outside(45, |n| (0, BASE + n.min(900) * 8_192)), @"within, 1 per 1000");
    // A ladder of 304 iterations has a coarser threshold.
    assert_snapshot!(outside(18, |n| (0, BASE + 1_024 * n)), @"within, 1 per 10 (coarsened)");
    let of = |rungs| {
        assessed(rungs, &[("outside", FLAT)], "", TOP)
            .threshold
            .outside
    };
    assert_eq!(
        [13, 18, 37, 45].map(of),
        [Some(8_192), Some(3_450), Some(128), Some(64)]
    );
}

#[test]
fn steps_and_ups_and_downs_are_no_leak() {
    let levels: [Level; 5] = [
        |n| (0, BASE + if n > 6_000 { 2 * MIB } else { 0 }),
        |n| (0, BASE + n % 7 * 300_000),
        |n| (0, BASE + u64::from(n.max(1).ilog2()) * 135_168),
        |n| (0, BASE + (n * 2_654_435_761 % 40) * MIB),
        |n| {
            (
                0,
                BASE + u64::from(n.max(1).ilog2()) * 135_168 + n % 3 * 135_168,
            )
        },
    ];
    for (index, level) in levels.into_iter().enumerate() {
        for rungs in 13..50 {
            let verdict = assessed(rungs, &[("outside", level)], "", TOP).verdict;
            assert_ne!(verdict, Verdict::Regressed, "{index} at {rungs}");
        }
        let said = outside(45, level);
        assert!(said.starts_with("within"), "{index}: {said}");
    }
}

#[test]
fn a_ladder_goes_on_while_it_has_just_grown() {
    assert_eq!(early(41, FLAT), Verdict::Within);
    assert_eq!(early(41, OF_GLIBC), Verdict::Inconclusive);
    assert_eq!(early(41, PAGES), Verdict::Inconclusive);
    let late: Level = |n| (0, BASE + if n > 10_000 { 2 * MIB } else { 0 });
    assert_eq!(early(41, late), Verdict::Inconclusive);
    assert_eq!(early(61, late), Verdict::Within);
    // Stacks of threads that come and go never rest, and never leave anything open.
    let fluctuates: Level = |n| (0, BASE + n % 20 * 2 * MIB);
    assert_eq!(early(41, fluctuates), Verdict::Within);
}

#[test]
fn stacks_of_threads_are_explained_by_the_threads() {
    let threads: (&str, Level) = ("threads", |n| (n, 0));
    let stacks: (&str, Level) = ("outside", |n| (0, BASE + n * (2 * MIB + 4_096)));
    let found = assessed(37, &[threads, stacks], "", TOP);
    assert_eq!(found.findings.len(), 1, "{}", shown(&found));
    let more: (&str, Level) = ("outside", |n| (0, BASE + n * 12 * MIB));
    assert_eq!(assessed(37, &[threads, more], "", TOP).findings.len(), 2);
}

#[test]
fn an_allowance_has_bytes() {
    let allow = |bytes: u64| {
        let allowance =
            format!("[[allow]]\nresource = \"outside\"\nbytes = {bytes}\nlaw = \"linear\"");
        judged(37, &[("outside", PAGES)], &allowance, TOP)
    };
    assert_snapshot!(allow(4_096), @"within, 1 per 100 (coarsened) | within Allowed: outside 0.00 objects 4096.00 B linear");
    assert_snapshot!(allow(2_048), @"regressed, 1 per 100 (coarsened) | regressed Exceeded: outside 0.00 objects 4096.00 B linear");
    let stale = "[[allow]]\nresource = \"outside\"\nbytes = 4096\nlaw = \"linear\"";
    assert_snapshot!(judged(45, &[("outside", FLAT)], stale, TOP), @"improved, 1 per 1000 | improved Stale: outside 0.00 objects 0.00 B linear");
}

#[test]
fn a_threshold_that_was_set_must_be_reached() {
    let set = |bytes, rungs, level| {
        let policy = Policy {
            outside: Some(bytes),
            ..TOP
        };
        let found = assessed(rungs, &[("outside", level)], "", policy);
        (found.verdict, found.threshold.outside)
    };
    assert_eq!(set(64, 30, FLAT), (Verdict::Inconclusive, Some(64)));
    assert_eq!(set(64, 45, FLAT), (Verdict::Within, Some(64)));
    assert_eq!(set(16_384, 30, PAGES).0, Verdict::Within);
    assert_eq!(set(1_024, 30, PAGES).0, Verdict::Regressed);
}
