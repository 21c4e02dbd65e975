//! Messages about what a rate does not say, each with its exact text.

use insta::assert_snapshot;
use plimsoll_core::holders::LinkKind;
use plimsoll_core::judge::Verdict;
use plimsoll_core::ladder::rung;
use plimsoll_core::report::{BuilderSetting, Finding, LadderEnd, Report, Subject, Threshold};
use plimsoll_core::{Law, Resource, Tally};

use crate::sample;
use crate::samples::{finding, rate_of, regressed, with, within};

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

fn unsure(law: Law, rungs: usize, level: Level) -> Report {
    of(Verdict::Inconclusive, law, 0.1, rungs, level)
}

const LEAK: Level = |at| (rung(at), 96 * rung(at));
const WAVE: Level = |at| (12 + at as u64 * 5 % 7, 1_200 + at as u64 * 5 % 7 * 96);

#[test]
fn evidence() {
    use Law::{Filling, Fluctuating};
    let peak: Level = |at| if at == 44 { (1, 2_560) } else { (0, 0) };
    let peaks: Level = |at| match at {
        0..4 => (1, 96),
        41 | 44 => (3 + at as u64 % 4, 1_000 + at as u64 * 100),
        _ => (3, 1_000),
    };
    let step: Level = |at| (2, if at < 34 { 1_024 } else { 55_296 });
    let last: Level = |at| (1 + at as u64 / 39, 96 + at as u64 / 39 * 4_096);
    let steps: Level = |at| (at as u64 / 5, at as u64 / 5 * 96);
    let threads = with(unsure(Fluctuating, 40, WAVE), |report| {
        report.findings[0].subject = Subject::Resource(Resource::Threads);
    });
    let said = [
        ("a peak", unsure(Fluctuating, 48, peak)),
        ("peaks above what stays", unsure(Fluctuating, 48, peaks)),
        ("a step, then flat", unsure(Filling, 40, step)),
        ("a step at the last dump", unsure(Filling, 40, last)),
        ("several steps", unsure(Filling, 40, steps)),
        ("up and down", unsure(Fluctuating, 40, WAVE)),
        ("threads", threads),
        ("a leak", of(Verdict::Regressed, Law::Linear, 1.0, 40, LEAK)),
        ("no ladder", regressed()),
    ]
    .map(|(name, report)| format!("{name}: {:?}", report.evidence(&report.findings[0])));
    assert_snapshot!(said.join("\n"), @r#"
    a peak: Some("1 object of 2.5 KiB at 1 of 48 dumps, and none at the others; 4 more octaves (up to 881,744 iterations) would tell")
    peaks above what stays: Some("up to 4.3 KiB more at 2 of the last 16 dumps than at the others; 4 more octaves (up to 881,744 iterations) would tell")
    a step, then flat: Some("one step of 53 KiB in iterations 4,872–5,793, flat since; 1 more octave (up to 27,554 iterations) would tell")
    a step at the last dump: Some("one step of 4 KiB (1 object) in iterations 11,586–13,777")
    several steps: Some("3 steps, the last of 96 B (1 object) in iterations 5,794–6,889, flat since; 3 more octaves (up to 110,218 iterations) would tell")
    up and down: Some("12 to 18 objects, 1.17 KiB to 1.73 KiB, at the last 16 dumps")
    threads: Some("12 to 18 threads at the last 16 dumps")
    a leak: None
    no ladder: None
    "#);
}

const COARSENED: Threshold = Threshold {
    iterations: 10,
    coarsened: true,
    outside: None,
};

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

fn enough(key: &str, value: &str) -> Option<BuilderSetting> {
    let (key, value) = (key.to_owned(), value.to_owned());
    Some(BuilderSetting { key, value })
}

#[test]
fn advice() {
    use Law::{Filling, Fluctuating, Linear, Stepped};
    let wave = || unsure(Fluctuating, 40, WAVE);
    let fill = || unsure(Filling, 40, |at| (at as u64, 96));
    let ended = |end| with(fill(), |report| report.end = end);
    let enough = |report, key, value| with(report, |report| report.enough = enough(key, value));
    let coarse = |report| with(report, |report| report.threshold = COARSENED);
    let leak = || of(Verdict::Regressed, Linear, 1.0, 40, LEAK);
    let doubles: Level = |at| (1, 64 << (at / 4));
    let list = with(
        of(Verdict::Regressed, Stepped, 0.0, 40, doubles),
        |report| {
            report.findings[0].rate.bytes = 12.0;
        },
    );
    let table = |law| {
        let level: Level = |at| (at as u64 / 4, at as u64 * 24);
        of(Verdict::Regressed, law, 0.0008, 40, level)
    };
    let threads = with(leak(), |report| {
        report.findings[0].subject = Subject::Resource(Resource::Threads);
    });
    let reached = ended(LadderEnd::Iterations);
    let released = with(wave(), |report| {
        let measured = report.measured.as_mut().expect("a measurement");
        measured.profile = "release".to_owned();
    });
    let of_tasks = |count| {
        with(leak(), |report| {
            let mut holders = sample::in_a_map();
            holders.chain = vec![sample::link(LinkKind::Tasks, "", count)];
            report.findings[0].holders = Some(holders);
        })
    };
    let attack = "1s](https://evil.example)";
    let said = [
        ("a budget", enough(coarse(fill()), "budget", "60s")),
        ("no number", wave()),
        ("no number, coarsened", coarse(wave())),
        ("no number, in a release build", released),
        (
            "out of reach",
            enough(ended(LadderEnd::OutOfReach), "budget", "5h"),
        ),
        ("iterations", enough(reached, "max-iterations", "16000")),
        ("memory", ended(LadderEnd::Memory)),
        ("an attack", enough(fill(), "budget", attack)),
        ("a coarser pass", enough(coarse(within()), "budget", "10m")),
        ("a leak", coarse(leak())),
        (
            "a leak that ended early",
            with(leak(), |report| report.end = LadderEnd::Threads),
        ),
        ("tasks", of_tasks(768)),
        ("a task", of_tasks(1)),
        ("a list", list),
        ("a table in a library", table(Linear)),
        ("what only fills, and has expired", table(Filling)),
        ("threads", threads),
    ]
    .map(|(name, report)| {
        let lines = said(&report).into_iter().map(|line| format!("  {line}\n"));
        lines.fold(format!("{name}\n"), |text, line| text + &line)
    });
    assert_snapshot!(said.concat(), @"
    a budget
      the time budget was spent first: a budget of about 60s would do, or make an iteration cheaper, as `cargo test --release` or `opt-level = 1` does
      the threshold was coarsened to 1 object in 10
    no number
      the time budget was spent first: how much is enough cannot be predicted; try twice as much, or make an iteration cheaper, as `cargo test --release` or `opt-level = 1` does
      a steadier workload needs fewer iterations, and so does a `threshold` below 1,000
    no number, coarsened
      the time budget was spent first: how much is enough cannot be predicted; try twice as much, or make an iteration cheaper, as `cargo test --release` or `opt-level = 1` does
      a steadier workload needs fewer iterations
      the threshold was coarsened to 1 object in 10
    no number, in a release build
      the time budget was spent first: how much is enough cannot be predicted; try twice as much, or make an iteration cheaper
      a steadier workload needs fewer iterations, and so does a `threshold` below 1,000
    out of reach
      the time budget is too small for that, and was not spent: a budget of about 5h would do, or make an iteration cheaper, as `cargo test --release` or `opt-level = 1` does
      a `threshold` below 1,000 needs fewer iterations
    iterations
      `max-iterations` was reached first: `max-iterations` of 16,000 would do
      a `threshold` below 1,000 needs fewer iterations
    memory
      the memory limit was reached first: raise `memory-limit`, or keep less alive in the scenario
      a `threshold` below 1,000 needs fewer iterations
    an attack
      the time budget was spent first: how much is enough cannot be predicted; try twice as much, or make an iteration cheaper, as `cargo test --release` or `opt-level = 1` does
      a `threshold` below 1,000 needs fewer iterations
    a coarser pass
      the threshold was coarsened to 1 object in 10: a budget of about 10m would find smaller growth
    a leak
      1 GiB in 3.1 h at 1,000 iterations a second
      a cache of more than 13,777 objects looks like this too: make it smaller in the scenario, or raise the budget to reach 8 times the iterations that fill it
    a leak that ended early
      1 GiB in 3.1 h at 1,000 iterations a second
      a cache of more than 13,777 objects looks like this too: make it smaller in the scenario
    tasks
      1 GiB in 3.1 h at 1,000 iterations a second
      tasks that end after the run look like this too, such as those that wait for a timeout: wait in an iteration for their end, or make the time shorter
    a task
      1 GiB in 3.1 h at 1,000 iterations a second
      a cache of more than 13,777 objects looks like this too: make it smaller in the scenario, or raise the budget to reach 8 times the iterations that fill it
    a list
      1 GiB in 25 h at 1,000 iterations a second
      a cache of more than 32 KiB looks like this too: make it smaller in the scenario, or raise the budget to reach 4 times the iterations that fill it
    a table in a library
      a cache of more than 9 objects looks like this too: raise the budget to reach 16 times the iterations that fill it
    what only fills, and has expired
    threads
      1,000 threads in 1.0 s at 1,000 iterations a second
    ");
}
