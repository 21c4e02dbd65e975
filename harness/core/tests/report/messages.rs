//! Messages about what a rate does not say, each with its exact text.

use plimsoll_core::judge::Verdict;
use plimsoll_core::ladder::rung;
use plimsoll_core::report::{BuilderSetting, Finding, LadderEnd, Report, Subject, Threshold};
use plimsoll_core::{Law, Resource, Tally};

use crate::sample;
use crate::samples::{finding, rate_of, regressed, within};

/// Objects and bytes after so many dumps.
type Level = fn(usize) -> (u64, u64);

/// A report of one finding, on a whole ladder.
fn of(verdict: Verdict, law: Law, rate: f64, rungs: usize, level: Level) -> Report {
    let levels = (0..rungs).map(|at| {
        let (objects, bytes) = level(at);
        Tally { objects, bytes }
    });
    Report {
        verdict,
        end: LadderEnd::Budget,
        rungs: (0..rungs).map(|at| sample::rung(rung(at))).collect(),
        findings: vec![Finding {
            verdict,
            law,
            rate: rate_of(rate, 96.0 * rate),
            levels: levels.collect(),
            survivors: Vec::new(),
            ..finding()
        }],
        ..within()
    }
}

fn unsure(law: Law, rate: f64, rungs: usize, level: Level) -> Report {
    of(Verdict::Inconclusive, law, rate, rungs, level)
}

#[test]
fn evidence() {
    use Law::{Filling, Fluctuating, Linear};
    let many: [(&str, Report, Option<&str>); 9] = [
        (
            "a peak",
            unsure(Fluctuating, 0.0, 48, |at| match at {
                44 => (1, 2_560),
                _ => (0, 0),
            }),
            Some(
                "1 object of 2.5 KiB at 1 of 48 dumps, and none at the others; 4 more octaves (up to 881,744 iterations) would tell",
            ),
        ),
        (
            "peaks above what stays",
            unsure(Fluctuating, 0.0, 48, |at| match at {
                0..4 => (1, 96),
                41 | 44 => (3 + at as u64 % 4, 1_000 + at as u64 * 100),
                _ => (3, 1_000),
            }),
            Some(
                "up to 4.3 KiB more at 2 of the last 16 dumps than at the others; 4 more octaves (up to 881,744 iterations) would tell",
            ),
        ),
        (
            "a step, then flat",
            unsure(Filling, 0.0, 40, |at| {
                (2, if at < 34 { 1_024 } else { 55_296 })
            }),
            Some(
                "one step of 53 KiB in iterations 4,872–5,793, flat since; 1 more octave (up to 27,554 iterations) would tell",
            ),
        ),
        (
            "a step at the last dump",
            unsure(Filling, 0.1, 40, |at| {
                (1 + at as u64 / 39, 96 + at as u64 / 39 * 4_096)
            }),
            Some("one step of 4 KiB (1 object) in iterations 11,586–13,777"),
        ),
        (
            "several steps",
            unsure(Filling, 0.1, 40, |at| (at as u64 / 5, at as u64 / 5 * 96)),
            Some(
                "3 steps, the last of 96 B (1 object) in iterations 5,794–6,889, flat since; 3 more octaves (up to 110,218 iterations) would tell",
            ),
        ),
        (
            "up and down",
            unsure(Fluctuating, 0.1, 40, |at| {
                (12 + at as u64 * 5 % 7, 1_200 + at as u64 * 5 % 7 * 96)
            }),
            Some("12 to 18 objects, 1.17 KiB to 1.73 KiB, at the last 16 dumps"),
        ),
        (
            "threads",
            {
                let mut report = unsure(Fluctuating, 0.0, 40, |at| (4 + at as u64 * 5 % 7, 0));
                report.findings[0].subject = Subject::Resource(Resource::Threads);
                report
            },
            Some("4 to 10 threads at the last 16 dumps"),
        ),
        (
            "a leak",
            of(Verdict::Regressed, Linear, 1.0, 40, |at| {
                (rung(at), 96 * rung(at))
            }),
            None,
        ),
        ("no ladder", regressed(), None),
    ];
    let mut wrong = String::new();
    for (name, report, expected) in many {
        let said = report.evidence(&report.findings[0]);
        if said.as_deref() != expected {
            wrong += &format!("{name}: {said:?}\n");
        }
    }
    assert_eq!(wrong, "");
}

/// Everything that is said on what to do, or on what growth means.
fn said(report: &Report) -> Vec<String> {
    let mut said = report.advice();
    if report.verdict != Verdict::Inconclusive {
        said.clear();
    }
    said.extend(report.coarsened());
    said.extend(report.in_service(&report.past()));
    said.extend(report.may_be_filling(&report.past()));
    said
}

fn with(mut report: Report, change: impl FnOnce(&mut Report)) -> Report {
    change(&mut report);
    report
}

fn enough(key: &str, value: &str) -> Option<BuilderSetting> {
    let (key, value) = (key.to_owned(), value.to_owned());
    Some(BuilderSetting { key, value })
}

const COARSENED: Threshold = Threshold {
    iterations: 10,
    coarsened: true,
    outside: None,
};

#[test]
fn advice() {
    use Law::{Filling, Fluctuating, Linear, Stepped};
    const UNKNOWN: &str = "the time budget was spent first: how much is enough cannot be \
                           predicted; try twice as much, or make an iteration cheaper";
    const BELOW: &str = "a `threshold` below 1,000 needs fewer iterations";
    const LEAK: Level = |at| (rung(at), 96 * rung(at));
    let wave = || unsure(Fluctuating, 0.1, 40, |at| (12 + at as u64 * 5 % 7, 96));
    let fill = || unsure(Filling, 0.1, 40, |at| (at as u64, 96));
    let leak = |rate| of(Verdict::Regressed, Linear, rate, 40, LEAK);
    let table = |law| {
        of(Verdict::Regressed, law, 0.0008, 40, |at| {
            (at as u64 / 4, at as u64 * 24)
        })
    };
    let many: Vec<(&str, Report, &[&str])> = vec![
        (
            "a budget",
            with(fill(), |report| {
                report.threshold = COARSENED;
                report.enough = enough("budget", "60s");
            }),
            &[
                "the time budget was spent first: a budget of about 60s would do, or make an iteration cheaper",
                "the threshold was coarsened to 1 object in 10",
            ],
        ),
        (
            "no number",
            wave(),
            &[
                UNKNOWN,
                "a steadier workload needs fewer iterations, and so does a `threshold` below 1,000",
            ],
        ),
        (
            "no number, coarsened",
            with(wave(), |report| report.threshold = COARSENED),
            &[
                UNKNOWN,
                "a steadier workload needs fewer iterations",
                "the threshold was coarsened to 1 object in 10",
            ],
        ),
        (
            "out of reach",
            with(fill(), |report| {
                report.end = LadderEnd::OutOfReach;
                report.enough = enough("budget", "5h");
            }),
            &[
                "the time budget is too small for that, and was not spent: a budget of about 5h would do, or make an iteration cheaper",
                BELOW,
            ],
        ),
        (
            "iterations",
            with(fill(), |report| {
                report.end = LadderEnd::Iterations;
                report.enough = enough("max-iterations", "16000");
            }),
            &[
                "`max-iterations` was reached first: `max-iterations` of 16,000 would do",
                BELOW,
            ],
        ),
        (
            "memory",
            with(fill(), |report| report.end = LadderEnd::Memory),
            &[
                "the memory limit was reached first: raise `memory-limit`, or keep less alive in the scenario",
                BELOW,
            ],
        ),
        (
            "what an attacker wrote",
            with(fill(), |report| {
                report.enough = enough("budget", "1s](https://evil.example)");
            }),
            &[UNKNOWN, BELOW],
        ),
        (
            "a coarser pass",
            with(within(), |report| {
                report.threshold = COARSENED;
                report.enough = enough("budget", "10m");
            }),
            &[
                "the threshold was coarsened to 1 object in 10: a budget of about 10m would find smaller growth",
            ],
        ),
        (
            "a leak",
            with(leak(1.0), |report| report.threshold = COARSENED),
            &[
                "1 GiB in 3.1 h at 1,000 iterations a second",
                "a cache of more than 13,777 objects looks like this too: make it smaller in the scenario, or raise the budget to reach 8 times the iterations that fill it",
            ],
        ),
        (
            "a leak that ended early",
            with(leak(1.0), |report| report.end = LadderEnd::Threads),
            &[
                "1 GiB in 3.1 h at 1,000 iterations a second",
                "a cache of more than 13,777 objects looks like this too: make it smaller in the scenario",
            ],
        ),
        (
            "a list",
            with(
                of(Verdict::Regressed, Stepped, 0.0, 40, |at| {
                    (1, 64 << (at / 4))
                }),
                |report| {
                    report.findings[0].rate.bytes = 12.0;
                },
            ),
            &[
                "1 GiB in 25 h at 1,000 iterations a second",
                "a cache of more than 32 KiB looks like this too: make it smaller in the scenario, or raise the budget to reach 4 times the iterations that fill it",
            ],
        ),
        (
            "a table in a library",
            table(Linear),
            &[
                "a cache of more than 9 objects looks like this too: raise the budget to reach 16 times the iterations that fill it",
            ],
        ),
        ("what only fills, and has expired", table(Filling), &[]),
        (
            "threads",
            with(leak(1.0), |report| {
                report.findings[0].subject = Subject::Resource(Resource::Threads)
            }),
            &["1,000 threads in 1.0 s at 1,000 iterations a second"],
        ),
    ];
    let mut wrong = String::new();
    for (name, report, expected) in many {
        let said = said(&report);
        if said != expected {
            wrong += &format!("{name}: {said:#?}\n");
        }
    }
    assert_eq!(wrong, "", "{wrong}");
}
