//! What a run needs of its allowances.

use plimsoll_core::accept::needs;
use plimsoll_core::baseline::{Baseline, Need};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, Standing, Subject};
use plimsoll_core::{FoldedStack, Law, Rate};

use crate::samples::within;

const BASELINE: &str = "format = 1\n\
    [[allow]]\nstack = ['...', 'b']\nobjects = 2\nbytes = 16\nlaw = 'linear'\n\
    [[allow]]\nstack = ['a', 'b']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
    [[allow]]\nresource = 'threads'\nobjects = 3\nlaw = 'linear'\n";

fn stack(frames: &str) -> FoldedStack {
    FoldedStack(frames.split(' ').map(str::to_owned).collect())
}

fn found(subject: Subject, standing: Standing, bytes: f64) -> Finding {
    Finding {
        verdict: Verdict::Within,
        subject,
        frames: Vec::new(),
        rate: Rate {
            objects: bytes / 8.0,
            bytes,
        },
        error: Rate::default(),
        law: Law::Linear,
        objects_law: Law::Linear,
        bytes_law: Law::Linear,
        allowed: Rate {
            objects: 2.0,
            bytes: 16.0,
        },
        standing,
        moved_from: None,
        reason: None,
        levels: vec![plimsoll_core::Tally::default()],
        survivors: Vec::new(),
    }
}

/// Bytes that each of the three allowances needs.
#[track_caller]
fn check(finding: Finding, expected: [Option<f64>; 3]) {
    let baseline = Baseline::parse(BASELINE.as_bytes()).unwrap();
    let report = Report {
        findings: vec![finding],
        ..within()
    };
    let needed = needs(&baseline, &report).into_iter();
    let needed: Vec<Option<f64>> = needed
        .map(|need| need.map(|Need { rate, .. }| rate.bytes))
        .collect();
    assert_eq!(needed, expected);
}

#[test]
fn by_whom_an_allowance_is_used() {
    let own = Subject::Stack(stack("a b"));
    check(
        found(own.clone(), Standing::Allowed, 4.0),
        [None, Some(4.0), None],
    );
    check(
        found(own.clone(), Standing::Exceeded, 9.0),
        [None, Some(9.0), None],
    );
    let other = Subject::Stack(stack("x b"));
    check(
        found(other, Standing::Allowed, 4.0),
        [Some(4.0), None, None],
    );
    check(
        found(Subject::Threads, Standing::Allowed, 8.0),
        [None, None, Some(8.0)],
    );
    // Its stacks have an allowance together, by their rate the first.
    let site = Subject::Site {
        frames: stack("b"),
        stacks: 2,
    };
    check(
        found(site, Standing::Allowed, 12.0),
        [Some(12.0), None, None],
    );
    let moved = Finding {
        moved_from: Some(stack("a b")),
        ..found(Subject::Stack(stack("c b")), Standing::Moved, 4.0)
    };
    check(moved, [None, Some(4.0), None]);
}

#[test]
fn what_was_agreed_to_since_the_run_is_needed() {
    let own = Subject::Stack(stack("a b"));
    check(found(own, Standing::New, 4.0), [None, Some(4.0), None]);
    let site = Subject::Site {
        frames: stack("b"),
        stacks: 2,
    };
    check(found(site, Standing::New, 12.0), [Some(12.0), None, None]);
    check(
        found(Subject::Threads, Standing::New, 8.0),
        [None, None, Some(8.0)],
    );
    let moved = Finding {
        moved_from: Some(stack("c b")),
        ..found(Subject::Stack(stack("a b")), Standing::Moved, 4.0)
    };
    check(moved, [None, Some(4.0), None]);
    // A wider allowance that somebody has written since is not held against one of its stacks.
    let other = Subject::Stack(stack("x b"));
    check(found(other, Standing::New, 4.0), [None; 3]);
}

#[test]
fn what_is_not_used_needs_nothing() {
    let unused = |frames: &str, standing| Finding {
        levels: Vec::new(),
        ..found(Subject::Stack(stack(frames)), standing, 0.0)
    };
    check(unused("... b", Standing::Stale), [Some(0.0), None, None]);
    check(unused("a b", Standing::Expired), [None, Some(0.0), None]);
    // The file may have changed since the run.
    check(unused("c", Standing::Stale), [None; 3]);
}
