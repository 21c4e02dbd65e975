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

/// Iterations on the way to a rung.
fn between(generation: usize) -> u64 {
    let before = generation.checked_sub(1).map_or(0, rung);
    rung(generation) - before
}

#[test]
fn pages() {
    let cases: [(&str, Alive); 3] = [
        // One object in 100 iterations stays, and the others are gone a rung later.
        ("a_leak_beside_what_comes_and_goes", |at, born| {
            match at == born {
                true => 200 - 7 * (born as u64 % 3),
                false => {
                    rung(born) / 100 - born.checked_sub(1).map_or(0, |before| rung(before) / 100)
                }
            }
        }),
        // Half of what was born goes with each rung that follows.
        ("births_that_become_more", |at, born| {
            between(born) >> (at - born).min(63)
        }),
        // Each octave has about as many, at one of its rungs.
        ("a_level_that_never_falls", |_, born| match born % 8 {
            0 => 41,
            4 => 40,
            _ => 0,
        }),
    ];
    for (name, alive) in cases {
        assert_snapshot!(name, explained(alive));
    }
}
