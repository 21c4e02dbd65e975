//! Reports made by hand, for the tests of outputs.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{
    Completeness, Finding, LadderEnd, Measured, Report, Run, Rung, StackGrowth, Standing, Subject,
    Threshold,
};
use plimsoll_core::{FoldedStack, Frame, Law, Rate, Tally};

use crate::joined::{Joined, Outcome, Scenario};

pub(super) fn joined(reports: Vec<Report>) -> Joined {
    let scenario = |report: Report| Scenario {
        package: report.run.package.clone(),
        target: report.run.target.clone(),
        name: report.scenario.clone(),
        platform: None,
        outcome: Outcome::Report(Box::new(report)),
    };
    let mut joined = Joined {
        runs: vec!["r1".to_owned()],
        source: None,
        scenarios: reports.into_iter().map(scenario).collect(),
    };
    joined.name_platforms();
    joined
}

pub(crate) fn report(scenario: &str, verdict: Verdict) -> Report {
    let rung = |iterations: u64| Rung {
        iterations,
        live: Tally {
            objects: 10,
            bytes: 1_048_576 + 48 * iterations,
        },
        allocated: Some(1_000),
        threads: 1,
        descriptors: 3,
        resident: 1 << 20,
    };
    Report {
        run: Run {
            id: "r1".to_owned(),
            commit: None,
            package: "demo".to_owned(),
            target: "leaks".to_owned(),
            scenarios: Vec::new(),
            plimsoll: "0.1.0".to_owned(),
            files: format!("target/plimsoll/demo/leaks/{scenario}"),
            baseline: format!("baselines/{scenario}.toml"),
        },
        scenario: scenario.to_owned(),
        verdict,
        measured: Some(Measured {
            target: "x86_64-unknown-linux-gnu".to_owned(),
            profile: "debug".to_owned(),
            toolchain: "rustc 1.95.0".to_owned(),
            jemalloc: "5.3.0".to_owned(),
            sample_interval: 1,
            unwinder: "framehop".to_owned(),
        }),
        builder: Vec::new(),
        rungs: [512, 1_024, 2_048, 4_096, 8_192].map(rung).to_vec(),
        end: LadderEnd::Budget,
        threshold: Threshold {
            iterations: 1_000,
            coarsened: false,
        },
        visible: Some(Rate {
            objects: 0.001,
            bytes: 0.008,
        }),
        rarest: None,
        findings: Vec::new(),
        checks: Vec::new(),
        completeness: Completeness::default(),
        failure: None,
        notes: Vec::new(),
        compared: None,
        growth: Vec::new(),
    }
}

/// A stack of names with a space between two, root first, and its growth.
pub(super) fn growth(stack: &str, bytes: f64) -> StackGrowth {
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

pub(super) fn finding(stack: &str, bytes: f64) -> Finding {
    let names: Vec<String> = stack.split(' ').map(str::to_owned).collect();
    let frames = names.iter().rev().map(|name| Frame {
        function: name.clone(),
        file: Some("src/lib.rs".to_owned()),
        line: Some(7),
    });
    Finding {
        verdict: Verdict::Regressed,
        frames: frames.collect(),
        subject: Subject::Stack(FoldedStack(names)),
        rate: Rate {
            objects: 1.0,
            bytes,
        },
        error: Rate::default(),
        law: Law::Linear,
        objects_law: Law::Linear,
        bytes_law: Law::Linear,
        allowed: Rate::default(),
        standing: Standing::New,
        moved_from: None,
        reason: None,
        levels: [512, 1_024, 2_048, 4_096, 8_192]
            .map(|iterations| Tally {
                objects: iterations,
                bytes: 48 * iterations,
            })
            .to_vec(),
        survivors: Vec::new(),
    }
}

/// One that found stacks to grow.
pub(super) fn regressed(scenario: &str, stacks: &[(&str, f64)]) -> Report {
    let mut report = report(scenario, Verdict::Regressed);
    for (stack, bytes) in stacks {
        report.findings.push(finding(stack, *bytes));
        report.growth.push(growth(stack, *bytes));
    }
    report
}
