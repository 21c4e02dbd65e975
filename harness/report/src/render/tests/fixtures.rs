//! Reports made by hand, for the tests of outputs.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, StackGrowth};
use plimsoll_core::{FoldedStack, Rate, Tally};

use crate::joined::{Joined, Scenario, Source};

#[path = "../../../../core/tests/report/sample.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod sample;

pub(super) fn joined(reports: Vec<Report>) -> Joined {
    Joined::of_run("r1", reports.into_iter().map(Scenario::from))
}

/// A scenario without a result.
pub fn lost(name: &str) -> Scenario {
    Scenario::without_result("demo", "leaks", name, "it left no report in this run")
}

/// The change that CI measured.
pub fn source() -> Source {
    Source {
        repository: "owner/name".to_owned(),
        event: "pull_request".to_owned(),
        run: u64::MAX,
        attempt: 2,
        pull_request: Some(7),
        head: "2bc8970".to_owned(),
        base: None,
        prefix: "sub/work".to_owned(),
    }
}

pub fn report(scenario: &str, verdict: Verdict) -> Report {
    let rung = |iterations| {
        let mut rung = sample::rung(iterations);
        rung.live.bytes = 1_048_576 + 48 * iterations;
        rung
    };
    Report {
        rungs: ITERATIONS.map(rung).to_vec(),
        ..sample::report("r1", scenario, verdict)
    }
}

const ITERATIONS: [u64; 5] = [512, 1_024, 2_048, 4_096, 8_192];

/// Returns the growth of a stack, in bytes per iteration. The stack is written root first,
/// with a space between two names.
pub fn growth(stack: &str, bytes: f64) -> StackGrowth {
    StackGrowth {
        stack: FoldedStack(stack.split(' ').map(str::to_owned).collect()),
        before: Tally::default(),
        after: Tally::default(),
        rate: Rate {
            objects: bytes / 48.0,
            bytes,
        },
        error: None,
    }
}

pub fn finding(stack: &str, bytes: f64) -> Finding {
    let rate = Rate {
        objects: 1.0,
        bytes,
    };
    Finding {
        levels: ITERATIONS
            .map(|iterations| Tally {
                objects: iterations,
                bytes: 48 * iterations,
            })
            .to_vec(),
        ..sample::finding(stack, rate)
    }
}

/// Returns a report that found these stacks growing.
pub(super) fn regressed(scenario: &str, stacks: &[(&str, f64)]) -> Report {
    let mut report = report(scenario, Verdict::Regressed);
    for (stack, bytes) in stacks {
        report.findings.push(finding(stack, *bytes));
        report.growth.push(growth(stack, *bytes));
    }
    report
}
