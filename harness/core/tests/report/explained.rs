//! Why a stack has its verdict, in numbers.

use insta::assert_snapshot;
use plimsoll_core::baseline::Baseline;
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::judge::{self, Observed, Policy};
use plimsoll_core::ladder::rung;
use plimsoll_core::report::{Report, explain, text};
use plimsoll_core::{Series, Tally};

use crate::sample;
use crate::samples;

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
    let all = judge::explain(&observed, &baseline, &Policy::TOP);
    let said = all
        .iter()
        .filter(|(finding, _)| finding.mentions("insert"))
        .map(|(finding, views)| explain::explain(&report, finding, views, &text::Style::plain()));
    let said: String = said.collect();
    let growth = said.find("  How fast").unwrap();
    let allowance = said.find("  How much does").unwrap();
    let wide = said.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    said[growth..allowance].to_owned()
}

/// What is said of the rate and of each question about objects, without its numbers.
fn answers(said: &str) -> String {
    let of_objects = said.split("  In bytes").next().unwrap_or_default().lines();
    let is_number = |line: &&str| ["yes", "no"].contains(&line.split_whitespace().next().unwrap());
    let answers: Vec<&str> = of_objects.filter(|line| !is_number(line)).collect();
    answers.join("\n")
}

const HALF: &str = "In objects: does what has stayed for 50 % of the ladder grow as a leak does?\n";
const MEAN_OF_BYTES: &str = "In bytes: does the mean level of an octave grow as a leak does?\n";

/// All that answers a question.
fn answer<'a>(said: &'a str, question: &str) -> &'a str {
    let (_, answer) = said.split_once(question).unwrap();
    answer.split("\n  In ").next().unwrap()
}

/// Iterations on the way to a rung.
fn between(generation: usize) -> u64 {
    let before = generation.checked_sub(1).map_or(0, rung);
    rung(generation) - before
}

#[test]
fn a_leak_beside_what_comes_and_goes() {
    // One in a hundred stays, of what is gone a rung later.
    let said = explained(|at, born| match at == born {
        true => 200 - 7 * (born as u64 % 3),
        false => rung(born) / 100 - born.checked_sub(1).map_or(0, |before| rung(before) / 100),
    });
    assert_snapshot!(answers(&said), @"
    How fast does it grow, per iteration?
      +0.010 objects, linear
      +0.32 B, linear
    In objects: does what has stayed for 16 % of the ladder grow as a leak does?
      so it does: at most 0.010 per iteration; 0.0012 more would be found
    In objects: does what has stayed for 29 % of the ladder grow as a leak does?
      so it does: at most 0.010 per iteration; 0.0014 more would be found
    In objects: does what has stayed for 50 % of the ladder grow as a leak does?
      so it does: at most 0.010 per iteration; 0.0020 more would be found
    In objects: does what has stayed for 75 % of the ladder grow as a leak does?
      so it does: at most 0.010 per iteration; 0.0039 more would be found
    In objects: does the mean level of an octave grow as a leak does?
      so it does: at most 0.010 per iteration; 0.00039 more would be found
    ");
    assert_snapshot!(answer(&said, HALF), @"
    yes  gained in the last octave: 41 (at least 5)
    yes  died, of what had been kept: 0 (at most 10.25)
    yes  phases of the ladder that double: 4 (at least 3)
    yes  stayed, of what is new: 261.81 (at least 41)
    yes  stayed, of what is a rung old: 66.57 (at least 27.95)
    yes  stayed, of what is 2 rungs old: 42.24 (at least 16.98)
    yes  stayed, of what is 3 rungs old: 21.57 (at least 7.76)
    so it does: at most 0.010 per iteration; 0.0020 more would be found
    ");
    assert_snapshot!(answer(&said, MEAN_OF_BYTES), @"
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
    let said = explained(|at, born| between(born) >> (at - born).min(63));
    assert!(said.contains("+0.27 ± 0.00022 objects, linear"), "{said}");
    assert_snapshot!(answer(&said, HALF), @"
    yes  gained in the last octave: 135 (at least 5)
    no   died, of what had been kept: 185 (at most 33.75)
    so it does not: at most 0.031 per iteration; 0.35 more would be found
    ");
}

#[test]
fn a_level_that_never_falls() {
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
