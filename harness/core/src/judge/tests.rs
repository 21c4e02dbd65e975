mod moved;

use super::*;
use crate::ladder::rung;
use insta::assert_snapshot;

type Level = fn(u64) -> (u64, u64);

/// Judges stacks given by functions from iterations to objects and bytes.
struct Case<'a> {
    rungs: usize,
    stacks: &'a [(&'a str, Level)],
    threads: Level,
    baseline: &'a str,
    policy: Policy,
}

const FLAT: Level = |_| (3, 0);

fn at_top(rungs: usize, stacks: &[(&'static str, Level)]) -> String {
    checked(Case {
        rungs,
        stacks,
        threads: FLAT,
        baseline: "format = 1\n",
        policy: TOP,
    })
}

const TOP: Policy = Policy {
    threshold: None,
    at_top: true,
    accuse_from: 0,
    may_coarsen: true,
    today: None,
};

fn checked(case: Case<'_>) -> String {
    let iterations: Vec<u64> = (0..case.rungs).map(rung).collect();
    let series = |level: Level| {
        let levels = iterations.iter().map(|n| level(*n));
        Series::new(
            levels
                .map(|(objects, bytes)| Tally { objects, bytes })
                .collect(),
        )
    };
    let observed = Observed {
        stacks: case
            .stacks
            .iter()
            .map(|(stack, level)| (folded(stack), series(*level)))
            .collect(),
        threads: series(case.threads),
        descriptors: series(FLAT),
        iterations: iterations.clone(),
        ..Observed::default()
    };
    let baseline = Baseline::parse(case.baseline.as_bytes()).unwrap();
    shown(&judge(&observed, &baseline, &case.policy))
}

fn folded(stack: &str) -> FoldedStack {
    FoldedStack(stack.split(';').map(str::to_owned).collect())
}

fn shown(assessment: &Assessment) -> String {
    let Assessment {
        verdict,
        findings,
        threshold,
        ..
    } = assessment;
    let mut text = format!("{verdict}, 1 per {}", threshold.iterations);
    if threshold.coarsened {
        text += " (coarsened)";
    }
    for finding in findings {
        let subject = match &finding.subject {
            Subject::Stack(stack) => stack.to_string(),
            Subject::Site { frames, stacks } => format!("{stacks} stacks at {frames}"),
            Subject::Threads => "threads".to_owned(),
            Subject::Descriptors => "descriptors".to_owned(),
        };
        text += &format!(
            "\n{} {:?}: {subject} {:.2} objects {:.2} B {}",
            finding.verdict,
            finding.standing,
            finding.rate.objects,
            finding.rate.bytes,
            finding.law
        );
        if let Some(from) = &finding.moved_from {
            text += &format!(", from {from}");
        }
    }
    text
}

#[test]
fn nothing_grows() {
    assert_snapshot!(at_top(41, &[]), @"within, 1 per 1000");
}

#[test]
fn a_leak_is_named_at_the_top_and_left_open_before() {
    let leak: &[(&str, Level)] = &[("main;leak", |n| (n, 32 * n))];
    assert_snapshot!(at_top(41, leak), @r"
    regressed, 1 per 1000
    regressed New: main;leak 1.00 objects 32.00 B linear
    ");
    let before = Case {
        rungs: 41,
        stacks: leak,
        threads: FLAT,
        baseline: "format = 1\n",
        policy: Policy {
            at_top: false,
            ..TOP
        },
    };
    assert_snapshot!(checked(before), @r"
    inconclusive, 1 per 1000
    inconclusive New: main;leak 1.00 objects 32.00 B linear
    ");
}

#[test]
fn a_cache_that_is_full_is_within() {
    assert_snapshot!(
        at_top(41, &[("main;fill", |n| (n.min(1_000), 48 * n.min(1_000)))]),
        @"within, 1 per 1000"
    );
}

#[test]
fn a_short_ladder_coarsens_and_a_shorter_one_cannot_say() {
    assert_snapshot!(at_top(30, &[]), @"within, 1 per 100 (coarsened)");
    assert_snapshot!(at_top(16, &[]), @"within, 1 per 10 (coarsened)");
    assert_snapshot!(at_top(13, &[]), @"inconclusive, 1 per 10 (coarsened)");
}

#[test]
fn for_want_of_memory_nothing_coarsens() {
    let ended = |rungs: usize, stacks: &'static [(&'static str, Level)]| {
        checked(Case {
            rungs,
            stacks,
            threads: FLAT,
            baseline: "format = 1\n",
            policy: Policy {
                may_coarsen: false,
                ..TOP
            },
        })
    };
    assert_snapshot!(ended(30, &[]), @"inconclusive, 1 per 1000");
    assert_snapshot!(ended(16, &[]), @"inconclusive, 1 per 1000");
    assert_snapshot!(ended(41, &[]), @"within, 1 per 1000");
    // What grows is found as ever.
    assert_snapshot!(ended(30, &[("main;leak", |n| (n, 48 * n))]), @"
    regressed, 1 per 1000
    regressed New: main;leak 1.00 objects 48.00 B linear
    ");
}

#[test]
fn a_threshold_that_was_set_never_coarsens() {
    let case = Case {
        rungs: 30,
        stacks: &[],
        threads: FLAT,
        baseline: "format = 1\n",
        policy: Policy {
            threshold: Some(1_000),
            ..TOP
        },
    };
    assert_snapshot!(checked(case), @"inconclusive, 1 per 1000");
}

#[test]
fn batches_are_told_apart_as_soon_as_the_ladder_is_long_enough() {
    // As of threads or open files: when each came is not known.
    let batches: &[(&str, Level)] = &[("main;push", |n| (n % 1_300, n % 1_300 * 16))];
    assert_snapshot!(at_top(68, batches), @"within, 1 per 1000");
    assert_snapshot!(at_top(54, batches), @"within, 1 per 100 (coarsened)");
    assert_snapshot!(at_top(46, batches), @"within, 1 per 1000");
}

#[test]
fn many_thin_stacks_are_found_by_their_site() {
    // Each of them grows in one iteration of 3,200, too seldom to be told.
    let stacks: &[(&str, Level)] = &[
        ("a;leak", |n| (n / 3_200, n / 3_200 * 64)),
        ("b;leak", |n| ((n + 800) / 3_200, (n + 800) / 3_200 * 64)),
        ("c;leak", |n| {
            ((n + 1_600) / 3_200, (n + 1_600) / 3_200 * 64)
        }),
        ("d;leak", |n| {
            ((n + 2_400) / 3_200, (n + 2_400) / 3_200 * 64)
        }),
    ];
    let text = at_top(49, stacks);
    assert!(text.starts_with("regressed"), "{text}");
}

#[test]
fn a_site_is_found_where_its_stacks_take_turns() {
    let stacks: &[(&str, Level)] = &[
        ("a;leak", |n| (n.min(6_000), n.min(6_000) * 64)),
        ("b;leak", |n| {
            (n.saturating_sub(6_000), n.saturating_sub(6_000) * 64)
        }),
    ];
    let text = at_top(41, stacks);
    assert!(
        text.contains("regressed New: 2 stacks at leak 1.00 objects"),
        "{text}"
    );
}

/// Two pools, and the rungs before which each of them reached a new peak, by how many objects.
#[test]
fn a_site_is_not_found_where_its_stacks_are_at_new_peaks() {
    fn peaks(n: u64, of: &[(usize, u64)]) -> (u64, u64) {
        let reached = of.iter().filter(|(at, _)| n >= rung(*at));
        let objects = 100 + reached.map(|(_, more)| more).sum::<u64>();
        (objects, objects * 64)
    }
    const FIRST: &[(usize, u64)] = &[(28, 3), (32, 3), (36, 3)];
    const SECOND: &[(usize, u64)] = &[(29, 3), (37, 3), (40, 5), (42, 8)];
    let stacks: &[(&str, Level)] = &[
        ("a;pool", |n| peaks(n, FIRST)),
        ("b;pool", |n| peaks(n, SECOND)),
    ];
    assert_snapshot!(at_top(43, stacks), @"within, 1 per 100 (coarsened)");
    // On one stack it would be a leak that comes in bursts.
    let one: &[(&str, Level)] = &[("a;pool", |n| {
        let (one, two) = (peaks(n, FIRST), peaks(n, SECOND));
        (one.0 + two.0, one.1 + two.1)
    })];
    assert_snapshot!(at_top(43, one), @r"
    regressed, 1 per 1000
    regressed New: a;pool 0.00 objects 0.08 B stepped
    ");
}

#[test]
fn a_slow_leak_that_was_agreed_to_is_not_stale_on_a_slow_machine() {
    let case = Case {
        rungs: 30,
        stacks: &[("main;a;b;leak", |n| (n / 250, n / 250 * 8))],
        threads: FLAT,
        baseline: &ALLOWED.replace("1.0", "0.004").replace("32.0", "0.032"),
        policy: TOP,
    };
    let text = checked(case);
    assert!(text.starts_with("within"), "{text}");
}

#[test]
fn a_thread_in_every_iteration_is_a_finding() {
    let case = Case {
        rungs: 29,
        stacks: &[],
        threads: |n| (n + 1, 0),
        baseline: "format = 1\n",
        policy: TOP,
    };
    assert_snapshot!(checked(case), @r"
    regressed, 1 per 100 (coarsened)
    regressed New: threads 1.00 objects 0.00 B linear
    ");
}

const ALLOWED: &str = "format = 1\n\n[[allow]]\nstack = [\"main\", \"a\", \"b\", \"leak\"]\nobjects = 1.0\nbytes = 32.0\nlaw = \"linear\"\nreason = \"known\"\n";

fn against_allowance(stacks: &[(&str, Level)], today: Option<&str>, extra: &str) -> String {
    checked(Case {
        rungs: 41,
        stacks,
        threads: FLAT,
        baseline: &format!("{ALLOWED}{extra}"),
        policy: Policy {
            today: today.map(|date| date.parse().unwrap()),
            ..TOP
        },
    })
}

#[test]
fn an_allowance_covers_what_it_says_and_no_more() {
    assert_snapshot!(against_allowance(&[("main;a;b;leak", |n| (n, 32 * n))], None, ""), @r"
    within, 1 per 1000
    within Allowed: main;a;b;leak 1.00 objects 32.00 B linear
    ");
    assert_snapshot!(against_allowance(&[("main;a;b;leak", |n| (n, 48 * n))], None, ""), @r"
    regressed, 1 per 1000
    regressed Exceeded: main;a;b;leak 1.00 objects 48.00 B linear
    ");
}

#[test]
fn a_stepped_allowance_holds_wherever_the_ladder_ends() {
    let pushed: &[(&str, Level)] = &[("main;push", |n| (1, (n + n / 50).next_power_of_two() * 8))];
    let rates = [30, 37, 44, 52, 61].map(|rungs| {
        let text = at_top(rungs, pushed);
        text.split(' ')
            .rev()
            .nth(2)
            .unwrap()
            .parse::<f64>()
            .unwrap()
    });
    for (rate, rungs) in rates
        .iter()
        .flat_map(|rate| (30..64).map(move |to| (rate, to)))
    {
        let baseline = format!(
            "format = 1\n\n[[allow]]\nstack = [\"main\", \"push\"]\nobjects = 0.0\n\
             bytes = {rate}\nlaw = \"stepped\"\n"
        );
        let text = checked(Case {
            rungs,
            stacks: pushed,
            threads: FLAT,
            baseline: &baseline,
            policy: TOP,
        });
        assert!(
            text.starts_with("within"),
            "{rate} B, {rungs} rungs: {text}"
        );
    }
}

#[test]
fn an_allowance_without_growth_is_stale() {
    assert_snapshot!(against_allowance(&[], None, ""), @r"
    improved, 1 per 1000
    improved Stale: main;a;b;leak 0.00 objects 0.00 B linear
    ");
}

#[test]
fn another_caller_is_a_move_and_only_one_stack_may_use_it() {
    let moved: Level = |n| (n, 32 * n);
    assert_snapshot!(against_allowance(&[("main;new;a;b;leak", moved)], None, ""), @r"
    within, 1 per 1000
    within Moved: main;new;a;b;leak 1.00 objects 32.00 B linear, from main;a;b;leak
    ");
    assert_snapshot!(
        against_allowance(&[("main;n;a;b;leak", moved), ("main;o;a;b;leak", moved)], None, ""),
        @r"
    regressed, 1 per 1000
    regressed New: main;o;a;b;leak 1.00 objects 32.00 B linear
    within Moved: main;n;a;b;leak 1.00 objects 32.00 B linear, from main;a;b;leak
    "
    );
}

#[test]
fn an_expired_allowance_fails_whether_it_is_used_or_not() {
    let extra = "expires = 2026-01-31\n";
    let leak: &[(&str, Level)] = &[("main;a;b;leak", |n| (n, 32 * n))];
    assert_snapshot!(against_allowance(leak, Some("2026-01-31"), extra), @r"
    within, 1 per 1000
    within Allowed: main;a;b;leak 1.00 objects 32.00 B linear
    ");
    assert_snapshot!(against_allowance(leak, Some("2026-02-01"), extra), @r"
    regressed, 1 per 1000
    regressed Expired: main;a;b;leak 1.00 objects 32.00 B linear
    ");
    assert_snapshot!(against_allowance(&[], Some("2026-02-01"), extra), @r"
    regressed, 1 per 1000
    regressed Expired: main;a;b;leak 0.00 objects 0.00 B linear
    ");
}

#[test]
fn an_expired_allowance_excuses_no_move() {
    let moved: &[(&str, Level)] = &[("main;new;a;b;leak", |n| (n, 32 * n))];
    let extra = "expires = 2026-01-31\n";
    assert_snapshot!(against_allowance(moved, Some("2026-02-01"), extra), @r"
    regressed, 1 per 1000
    regressed New: main;new;a;b;leak 1.00 objects 32.00 B linear
    regressed Expired: main;a;b;leak 0.00 objects 0.00 B linear
    ");
}

#[test]
fn more_growth_never_improves_a_verdict() {
    let levels: [Level; 5] = [
        |n| (n / 4_000, n / 4_000 * 8),
        |n| (n / 1_000, n / 1_000 * 8),
        |n| (n / 100, n / 100 * 8),
        |n| (n, n * 8),
        |n| (n, n * 64),
    ];
    for rungs in [17, 29, 41, 49] {
        let verdicts = levels.map(|level| at_top(rungs, &[("main;leak", level)]));
        let rank =
            |text: &String| Verdict::from_word(text.split(',').next().unwrap_or_default()).unwrap();
        assert!(verdicts.iter().map(rank).is_sorted(), "{verdicts:#?}");
    }
}

/// A leak of that many sampled objects in every rung's iterations.
fn sampled_leak(per_sample: u64, size: u64) -> Observed {
    let iterations: Vec<u64> = (0..70).map(rung).collect();
    let interval = SampleInterval::new(4_096).unwrap();
    let counted = iterations.iter().map(|n| Tally {
        objects: n / per_sample,
        bytes: n / per_sample * size,
    });
    let counted: Vec<Tally> = counted.collect();
    let stack = FoldedStack(["main", "a", "b", "leak"].map(str::to_owned).to_vec());
    Observed {
        stacks: BTreeMap::from([(stack, Series::sampled(interval, &counted))]),
        iterations,
        interval,
        ..Observed::default()
    }
}

#[test]
fn a_sampled_allowance_holds_for_an_estimate_beside_it() {
    // One object of 64 B in 1 / (500 p) iterations.
    let observed = sampled_leak(500, 64);
    let found = judge(&observed, &Baseline::default(), &TOP);
    assert_eq!(found.verdict, Verdict::Regressed);
    let rate = found.findings[0].rate;
    for (share, verdict, caller) in [
        (1.0, Verdict::Within, "main"),
        (0.9, Verdict::Within, "main"),
        (0.9, Verdict::Within, "other"),
        (0.3, Verdict::Regressed, "main"),
        (0.3, Verdict::Regressed, "other"),
    ] {
        let baseline = format!(
            "format = 1\n\n[[allow]]\nstack = [\"{caller}\", \"a\", \"b\", \"leak\"]\nobjects = \
             {:.6}\nbytes = {:.6}\nlaw = \"linear\"\n",
            share * rate.objects,
            share * rate.bytes
        );
        let baseline = Baseline::parse(baseline.as_bytes()).unwrap();
        let assessment = judge(&observed, &baseline, &TOP);
        assert_eq!(
            assessment.verdict, verdict,
            "{share} {caller}: {assessment:#?}"
        );
    }
}

#[test]
fn the_interval_for_a_threshold_is_the_largest_that_settles() {
    for (threshold, iterations) in [(10, 100_000), (100, 1 << 20), (1_000, 1 << 26)] {
        let interval = interval_to_settle(threshold, iterations).unwrap();
        let next = SampleInterval::new(interval.bytes() + 1).unwrap();
        assert!(iterations_to_settle(Some(threshold), interval) <= iterations);
        assert!(iterations_to_settle(Some(threshold), next) > iterations);
    }
    assert_eq!(interval_to_settle(1_000, 15_999), None);
    assert_eq!(
        interval_to_settle(1_000, 16_000),
        Some(SampleInterval::default())
    );
}
