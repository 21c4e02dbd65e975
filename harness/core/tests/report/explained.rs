//! Why a stack has its verdict, in numbers.

use insta::assert_snapshot;
use plimsoll_core::baseline::Baseline;
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::judge::{self, Observed};
use plimsoll_core::ladder::rung;
use plimsoll_core::report::{Report, explain, text};
use plimsoll_core::{Series, Tally};

use crate::sample;
use crate::samples::{self, POLICY};

const RUNGS: usize = 41;

/// Alive at a rung, of what was born on the way to each before it.
type Alive = fn(rung_: usize, generation: usize) -> u64;

/// What is said of how a stack grows, after 16,384 iterations, of which so many are alive.
fn explained(alive: Alive) -> String {
    let iterations: Vec<u64> = (0..RUNGS).map(rung).collect();
    let tally = |objects| Tally {
        objects,
        bytes: 32 * objects,
    };
    let of_rung = |at: usize| (0..=at).map(|born| tally(alive(at, born))).collect();
    let births: Vec<Vec<Tally>> = (0..RUNGS).map(of_rung).collect();
    let report = Report {
        rungs: iterations.iter().map(|n| sample::rung(*n)).collect(),
        ..samples::within()
    };
    let observed = Observed {
        iterations,
        stacks: [(
            samples::stack(&["main", "cache::insert"]),
            Series::of_births(SampleInterval::default(), &births),
        )]
        .into(),
        ..Observed::default()
    };
    let baseline = Baseline::default();
    assert!(judge::explain(&observed, &baseline, &POLICY, "lru").is_empty());
    let all = judge::explain(&observed, &baseline, &POLICY, "insert");
    let said = all
        .iter()
        .map(|(finding, views)| explain::explain(&report, finding, views, &text::Style::plain()));
    let said: String = said.collect();
    let growth = said.find("  How fast").unwrap();
    let allowance = said.find("  How much does").unwrap();
    let wide = said.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    said[growth..allowance].to_owned()
}

/// Iterations on the way to a rung.
fn between(generation: usize) -> u64 {
    let before = generation.checked_sub(1).map_or(0, rung);
    rung(generation) - before
}

#[test]
fn a_leak_beside_what_comes_and_goes() {
    // One in a hundred stays, of what is gone a rung later.
    assert_snapshot!(explained(|at, born| match at == born {
        true => 200 - 7 * (born as u64 % 3),
        false => rung(born) / 100 - born.checked_sub(1).map_or(0, |before| rung(before) / 100),
    }), @"
    How fast does it grow, per iteration?
      +0.010 objects, linear
      +0.32 B, linear
    In objects: does what has stayed for 16 % of the ladder grow as a leak does?
      yes  gained in the last octave: 69 (at least 5)
      yes  died, of what had been kept: 0 (at most 17.25)
      yes  phases of the ladder that double: 4 (at least 3)
      yes  stayed, of what is new: 200.23 (at least 13.06)
      so it does: at most 0.010 per iteration; 0.0012 more would be found
    In objects: does what has stayed for 29 % of the ladder grow as a leak does?
      yes  gained in the last octave: 58 (at least 5)
      yes  died, of what had been kept: 0 (at most 14.50)
      yes  phases of the ladder that double: 4 (at least 3)
      yes  stayed, of what is new: 224.80 (at least 24.03)
      yes  stayed, of what is a rung old: 28.63 (at least 10.98)
      so it does: at most 0.010 per iteration; 0.0014 more would be found
    In objects: does what has stayed for 50 % of the ladder grow as a leak does?
      yes  gained in the last octave: 41 (at least 5)
      yes  died, of what had been kept: 0 (at most 10.25)
      yes  phases of the ladder that double: 4 (at least 3)
      yes  stayed, of what is new: 261.81 (at least 41)
      yes  stayed, of what is a rung old: 66.57 (at least 27.95)
      yes  stayed, of what is 2 rungs old: 42.24 (at least 16.98)
      yes  stayed, of what is 3 rungs old: 21.57 (at least 7.76)
      so it does: at most 0.010 per iteration; 0.0020 more would be found
    In objects: does what has stayed for 75 % of the ladder grow as a leak does?
      yes  gained in the last octave: 20 (at least 5)
      yes  died, of what had been kept: 0 (at most 5)
      yes  phases of the ladder that double: 4 (at least 3)
      yes  stayed, of what is new: 305.49 (at least 60)
      yes  stayed, of what is a rung old: 110.75 (at least 47.27)
      yes  stayed, of what is 2 rungs old: 87.09 (at least 36.57)
      yes  stayed, of what is 3 rungs old: 67.50 (at least 27.57)
      yes  stayed, of what is 4 rungs old: 49.94 (at least 20)
      yes  stayed, of what is 5 rungs old: 35.39 (at least 13.64)
      yes  stayed, of what is 6 rungs old: 22.76 (at least 8.29)
      yes  stayed, of what is 7 rungs old: 11.89 (at least 3.78)
      so it does: at most 0.010 per iteration; 0.0039 more would be found
    In objects: does the mean level of an octave grow as a leak does?
      yes  mean gained in the last octave: 52.50 (at least 24.67)
      yes  mean gained in the octave before that one: 11.50 (more than 0)
      yes  mean gained in the last octave: 52.50 (at least 39.33)
      yes  mean gained in the octave before the last: 30.25 (at least 14.95)
      yes  the greatest step: 32 (at most 50.80)
      so it does: at most 0.010 per iteration; 0.00039 more would be found
    In bytes: does what has stayed for 16 % of the ladder grow as a leak does?
      yes  gained in the last octave: 2.16 KiB (at least 160 B)
      yes  died, of what had been kept: 0 B (at most 552 B)
      yes  phases of the ladder that double: 4 (at least 3)
      yes  stayed, of what is new: 6.26 KiB (at least 418 B)
      so it does: at most 0.32 B per iteration; 0.0012 B more would be found
    In bytes: does what has stayed for 29 % of the ladder grow as a leak does?
      yes  gained in the last octave: 1.81 KiB (at least 160 B)
      yes  died, of what had been kept: 0 B (at most 464 B)
      yes  phases of the ladder that double: 4 (at least 3)
      yes  stayed, of what is new: 7.03 KiB (at least 769 B)
      yes  stayed, of what is a rung old: 916 B (at least 351 B)
      so it does: at most 0.32 B per iteration; 0.0014 B more would be found
    In bytes: does what has stayed for 50 % of the ladder grow as a leak does?
      yes  gained in the last octave: 1.28 KiB (at least 160 B)
      yes  died, of what had been kept: 0 B (at most 328 B)
      yes  phases of the ladder that double: 4 (at least 3)
      yes  stayed, of what is new: 8.18 KiB (at least 1.28 KiB)
      yes  stayed, of what is a rung old: 2.08 KiB (at least 894 B)
      yes  stayed, of what is 2 rungs old: 1.32 KiB (at least 543 B)
      yes  stayed, of what is 3 rungs old: 690 B (at least 248 B)
      so it does: at most 0.32 B per iteration; 0.002 B more would be found
    In bytes: does what has stayed for 75 % of the ladder grow as a leak does?
      yes  gained in the last octave: 640 B (at least 160 B)
      yes  died, of what had been kept: 0 B (at most 160 B)
      yes  phases of the ladder that double: 4 (at least 3)
      yes  stayed, of what is new: 9.55 KiB (at least 1.88 KiB)
      yes  stayed, of what is a rung old: 3.46 KiB (at least 1.48 KiB)
      yes  stayed, of what is 2 rungs old: 2.72 KiB (at least 1.14 KiB)
      yes  stayed, of what is 3 rungs old: 2.11 KiB (at least 882 B)
      yes  stayed, of what is 4 rungs old: 1.56 KiB (at least 640 B)
      yes  stayed, of what is 5 rungs old: 1.11 KiB (at least 436 B)
      yes  stayed, of what is 6 rungs old: 728 B (at least 265 B)
      yes  stayed, of what is 7 rungs old: 380 B (at least 121 B)
      so it does: at most 0.32 B per iteration; 0.0039 B more would be found
    In bytes: does the mean level of an octave grow as a leak does?
      yes  mean gained in the last octave: 1.64 KiB (at least 790 B)
      yes  mean gained in the octave before that one: 368 B (more than 0)
      yes  mean gained in the last octave: 1.64 KiB (at least 1.23 KiB)
      yes  mean gained in the octave before the last: 968 B (at least 478 B)
      yes  the greatest step: 1 KiB (at most 2.58 KiB)
      no   mean gained in the last octave: 824 B (at least 1.8 KiB)
      so it does not: at most 0.33 B per iteration
    ");
}

#[test]
fn births_that_become_more() {
    // Half of what was born goes with each rung that follows.
    assert_snapshot!(explained(|at, born| between(born) >> (at - born).min(63)), @"
    How fast does it grow, per iteration?
      +0.27 ± 0.00022 objects, linear
      +8.79 B ± 0.0071 B, linear
    In objects: does the level, which never falls, grow as a leak does?
      yes  gained in the last octave: 2249 (at least 5)
      yes  died, of what had been kept: 0 (at most 562.25)
      yes  phases of the ladder that double: 4 (at least 3)
      so it does: at most 0.27 per iteration; 0.00098 more would be found
    In objects: does what has stayed for 16 % of the ladder grow as a leak does?
      yes  gained in the last octave: 1830 (at least 5)
      no   died, of what had been kept: 2603 (at most 457.50)
      so it does not: at most 0.25 per iteration; 2.83 more would be found
    In objects: does what has stayed for 29 % of the ladder grow as a leak does?
      yes  gained in the last octave: 768 (at least 5)
      no   died, of what had been kept: 1051 (at most 192)
      so it does not: at most 0.13 per iteration; 1.41 more would be found
    In objects: does what has stayed for 50 % of the ladder grow as a leak does?
      yes  gained in the last octave: 135 (at least 5)
      no   died, of what had been kept: 185 (at most 33.75)
      so it does not: at most 0.031 per iteration; 0.35 more would be found
    In objects: does what has stayed for 75 % of the ladder grow as a leak does?
      no   gained in the last octave: 3 (at least 5)
      so it does not: at most 0.0014 per iteration; 0.022 more would be found
    In bytes: does the level, which never falls, grow as a leak does?
      yes  died, of what had been kept: 0 B (at most 17.6 KiB)
      yes  phases of the ladder that double: 4 (at least 3)
      so it does: at most 8.79 B per iteration; 0.00098 B more would be found
    ");
}

#[test]
fn a_level_that_never_falls() {
    assert_snapshot!(explained(|_, born| between(born).min(40)), @"
    How fast does it grow, per iteration?
      +0.020 ± 0.0096 objects, filling
      +0.62 B ± 0.31 B, filling
    In objects: does the level, which never falls, grow as a leak does?
      no   gained in the last octave: 160 (at least 200)
      so it does not: at most 0.031 per iteration; 0.013 more would be found
    In bytes: does the level, which never falls, grow as a leak does?
      yes  died, of what had been kept: 0 B (at most 1.25 KiB)
      no   phases of the ladder that double: 0 (at least 3)
      so it does not: at most 1 B per iteration; 3.36 B more would be found
    ");
    // About as many in each octave, at one of its rungs.
    let in_bursts: Alive = |_, born| match born % 8 {
        0 => 41,
        4 => 40,
        _ => 0,
    };
    assert_snapshot!(explained(in_bursts), @"
    How fast does it grow, per iteration?
      +0.0050 ± 0.0052 objects, filling
      +0.16 B ± 0.17 B, filling
    In objects: does the level, which never falls, grow as a leak does?
      yes  gained in the last octave: 41 (at least 5)
      yes  died, of what had been kept: 0 (at most 10.25)
      no   phases of the ladder that double: 0 (at least 3)
      yes  gained in the last octave: 41 (at least 24)
      no   rungs of 16 that gained something: 4 (at least 7)
      yes  gained in the last octave: 41 (at least 15)
      yes  gained in the octave before the last: 40 (at least 24.60)
      no   rungs of 12 that gained something: 3 (at least 7)
      so it does not: at most 0.0093 per iteration; 0.00098 more would be found
    In bytes: does the level, which never falls, grow as a leak does?
      yes  died, of what had been kept: 0 B (at most 328 B)
      no   phases of the ladder that double: 0 (at least 3)
      so it does not: at most 0.3 B per iteration; 0.84 B more would be found
    ");
}
