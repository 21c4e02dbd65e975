//! What a run needs of its allowances.

use plimsoll_core::accept::needs;
use plimsoll_core::baseline::Baseline;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, Standing, Subject};
use plimsoll_core::{FoldedStack, Resource, Tally};

use crate::sample;
use crate::samples::{rate_of, within};

const BASELINE: &str = "format = 1\n\
    [[allow]]\nstack = ['...', 'b']\nobjects = 2\nbytes = 16\nlaw = 'linear'\n\
    [[allow]]\nstack = ['a', 'b']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
    [[allow]]\nresource = 'threads'\nobjects = 3\nlaw = 'linear'\n";

/// A subject as it is written in the table below, and which stack it moved from.
fn found(of: &str, standing: Standing, bytes: f64) -> Finding {
    let (of, from) = of
        .split_once(" from ")
        .map_or((of, None), |(of, from)| (of, Some(from)));
    let stack = |frames: &str| FoldedStack(frames.split(' ').map(str::to_owned).collect());
    let subject = match of.strip_prefix("2 stacks at ") {
        _ if of == "threads" => Subject::Resource(Resource::Threads),
        Some(frames) => Subject::Site {
            frames: stack(frames),
            stacks: 2,
        },
        None => Subject::Stack(stack(of)),
    };
    let levels = match standing {
        Standing::Stale | Standing::Expired => Vec::new(),
        _ => vec![Tally::default()],
    };
    Finding {
        verdict: Verdict::Within,
        subject,
        standing,
        allowed: rate_of(2.0, 16.0),
        moved_from: from.map(stack),
        levels,
        ..sample::finding("", rate_of(bytes / 8.0, bytes))
    }
}

#[test]
fn what_each_allowance_is_needed_for() {
    use Standing::{Allowed, Exceeded, Expired, Moved, New, Stale};

    let baseline = Baseline::parse(BASELINE.as_bytes()).unwrap();
    for (of, standing, bytes, expected) in [
        ("a b", Allowed, 4.0, [None, Some(4.0), None]),
        ("a b", Exceeded, 9.0, [None, Some(9.0), None]),
        ("x b", Allowed, 4.0, [Some(4.0), None, None]),
        ("threads", Allowed, 8.0, [None, None, Some(8.0)]),
        // Its stacks have an allowance together, by their rate the first.
        ("2 stacks at b", Allowed, 12.0, [Some(12.0), None, None]),
        ("c b from a b", Moved, 4.0, [None, Some(4.0), None]),
        // Agreed to since the run.
        ("a b", New, 4.0, [None, Some(4.0), None]),
        ("2 stacks at b", New, 12.0, [Some(12.0), None, None]),
        ("threads", New, 8.0, [None, None, Some(8.0)]),
        ("a b from c b", Moved, 4.0, [None, Some(4.0), None]),
        // A wider allowance that somebody has written since is not held against one of its stacks.
        ("x b", New, 4.0, [None; 3]),
        // Not used.
        ("... b", Stale, 0.0, [Some(0.0), None, None]),
        ("a b", Expired, 0.0, [None, Some(0.0), None]),
        // The file may have changed since the run.
        ("c", Stale, 0.0, [None; 3]),
    ] {
        let report = Report {
            findings: vec![found(of, standing, bytes)],
            ..within()
        };
        let needed = needs(&baseline, &report).into_iter();
        let needed = needed.map(|need| need.map(|need| need.rate.bytes));
        assert_eq!(needed.collect::<Vec<_>>(), expected, "{of} {standing:?}");
    }
}
