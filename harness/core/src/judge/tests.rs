mod moved;
mod outside;

use super::*;
use crate::ladder::rung;
use insta::assert_snapshot;

/// Objects and bytes after so many iterations.
type Level = fn(u64) -> (u64, u64);

const TOP: Policy = Policy::TOP;

/// Before the top of the ladder, where it may end early.
const EARLY: Policy = Policy {
    at_top: false,
    ..TOP
};

const LEAK: Level = |n| (n, 32 * n);

fn at_top(rungs: usize, stacks: &[(&str, Level)]) -> String {
    judged(rungs, stacks, "", TOP)
}

/// Judges stacks, one of which may be `threads`, by the allowances of a baseline.
fn judged(rungs: usize, stacks: &[(&str, Level)], allowances: &str, policy: Policy) -> String {
    shown(&assessed(rungs, stacks, allowances, policy))
}

fn assessed(
    rungs: usize,
    stacks: &[(&str, Level)],
    allowances: &str,
    policy: Policy,
) -> Assessment {
    let mut observed = Observed {
        iterations: (0..rungs).map(rung).collect(),
        ..Observed::default()
    };
    for (stack, level) in stacks {
        let series = series(rungs, level);
        match Resource::from_word(stack) {
            Some(resource) => observed.resources.insert(resource, series),
            None => observed.stacks.insert(folded(stack), series),
        };
    }
    let baseline = Baseline::parse(format!("format = 1\n{allowances}").as_bytes()).unwrap();
    judge(&observed, &baseline, &policy)
}

/// The levels of so many rungs.
fn series(rungs: usize, level: impl Fn(u64) -> (u64, u64)) -> Series {
    let levels = (0..rungs).map(|at| level(rung(at)));
    let levels = levels.map(|(objects, bytes)| Tally { objects, bytes });
    Series::new(levels.collect())
}

fn folded(stack: &str) -> FoldedStack {
    FoldedStack(stack.split(';').map(str::to_owned).collect())
}

fn shown(assessment: &Assessment) -> String {
    let threshold = assessment.threshold;
    let mut text = format!("{}, 1 per {}", assessment.verdict, threshold.iterations);
    if threshold.coarsened {
        text += " (coarsened)";
    }
    for finding in &assessment.findings {
        let subject = match &finding.subject {
            Subject::Stack(stack) => stack.to_string(),
            Subject::Site { frames, stacks } => format!("{stacks} stacks at {frames}"),
            Subject::Resource(resource) => resource.to_string(),
        };
        let Rate { objects, bytes } = finding.rate;
        // One finding is on the line of the verdict.
        text += if assessment.findings.len() == 1 {
            " | "
        } else {
            "\n"
        };
        text += &format!("{} {:?}: {subject}", finding.verdict, finding.standing);
        text += &format!(" {objects:.2} objects {bytes:.2} B {}", finding.law);
        if let Some(from) = &finding.moved_from {
            text += &format!(", from {from}");
        }
    }
    text
}

#[test]
fn growth_without_an_allowance() {
    let leak: &[(&str, Level)] = &[("main;leak", LEAK)];
    assert_snapshot!(at_top(41, &[]), @"within, 1 per 1000");
    assert_snapshot!(at_top(41, leak), @"regressed, 1 per 1000 | regressed New: main;leak 1.00 objects 32.00 B linear");
    assert_snapshot!(judged(41, leak, "", EARLY), @"inconclusive, 1 per 1000 | inconclusive New: main;leak 1.00 objects 32.00 B linear");
    let full: Level = |n| (n.min(1_000), 48 * n.min(1_000));
    assert_snapshot!(at_top(41, &[("main;fill", full)]), @"within, 1 per 1000");
    assert_snapshot!(at_top(29, &[("threads", |n| (n + 1, 0))]), @"regressed, 1 per 100 (coarsened) | regressed New: threads 1.00 objects 0.00 B linear");
}

#[test]
fn what_is_surest_comes_first() {
    let stacks: [(&str, Level); 5] = [
        // More bytes than all others, up and down.
        ("main;wave", |n| {
            let objects = 16 + n * 7_919 % 5_003;
            (objects, objects << 10)
        }),
        ("main;fill", |n| {
            let octaves = u64::from(n.ilog2());
            (20 * octaves, octaves << 10)
        }),
        ("main;queue", |n| {
            let objects = n.next_power_of_two() / 16 + n % 3;
            (objects, 64 * objects)
        }),
        ("main;list", |n| (1, n.next_power_of_two() * 8)),
        ("main;leak", LEAK),
    ];
    assert_snapshot!(judged(45, &stacks, "", EARLY), @r"
    inconclusive, 1 per 1000
    inconclusive New: main;leak 1.00 objects 32.00 B linear
    inconclusive New: main;list 0.00 objects 13.45 B stepped
    inconclusive New: main;queue 0.06 objects 6.73 B stepped
    inconclusive New: main;fill 0.00 objects 0.06 B filling
    inconclusive New: main;wave 0.08 objects 79.75 B filling
    ");
}

#[test]
fn a_short_ladder_has_a_coarser_threshold_where_it_may() {
    assert_snapshot!(at_top(30, &[]), @"within, 1 per 100 (coarsened)");
    assert_snapshot!(at_top(16, &[]), @"within, 1 per 10 (coarsened)");
    assert_snapshot!(at_top(13, &[]), @"inconclusive, 1 per 10 (coarsened)");
    // For want of memory nothing coarsens, and what grows is found as ever.
    let policy = Policy {
        coarsens_to: None,
        ..TOP
    };
    let ended = |rungs, stacks: &[(&str, Level)]| judged(rungs, stacks, "", policy);
    assert_snapshot!(ended(30, &[]), @"inconclusive, 1 per 1000");
    assert_snapshot!(ended(16, &[]), @"inconclusive, 1 per 1000");
    assert_snapshot!(ended(41, &[]), @"within, 1 per 1000");
    assert_snapshot!(ended(30, &[("main;leak", LEAK)]), @"regressed, 1 per 1000 | regressed New: main;leak 1.00 objects 32.00 B linear");
    // Nor does a threshold that was set.
    assert_snapshot!(judged(30, &[], "", Policy { threshold: Some(1_000), ..TOP }), @"inconclusive, 1 per 1000");
    // Batches are told apart as soon as the ladder is long enough, though when each object
    // came is not known (as of threads and open files).
    let batches: &[(&str, Level)] = &[("main;push", |n| (n % 1_300, n % 1_300 * 16))];
    assert_snapshot!(at_top(68, batches), @"within, 1 per 1000");
    assert_snapshot!(at_top(54, batches), @"within, 1 per 100 (coarsened)");
    assert_snapshot!(at_top(46, batches), @"within, 1 per 1000");
}

#[test]
fn a_leak_on_many_stacks_is_found_by_their_site() {
    // Each of them grows in one iteration of 3,200, too seldom to be told.
    const EVERY: Level = |n| (n / 3_200, n / 3_200 * 64);
    let thin = at_top(
        49,
        &[
            ("a;leak", EVERY),
            ("b;leak", |n| EVERY(n + 800)),
            ("c;leak", |n| EVERY(n + 1_600)),
            ("d;leak", |n| EVERY(n + 2_400)),
        ],
    );
    assert!(thin.starts_with("regressed"), "{thin}");
    const UP_TO: Level = |n| (n.min(6_000), n.min(6_000) * 64);
    const FROM: Level = |n| (n.saturating_sub(6_000), n.saturating_sub(6_000) * 64);
    let turns = at_top(41, &[("a;leak", UP_TO), ("b;leak", FROM)]);
    let found = "regressed New: 2 stacks at leak 1.00 objects";
    assert!(turns.contains(found), "{turns}");
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
    let (first, second): (Level, Level) = (|n| peaks(n, FIRST), |n| peaks(n, SECOND));
    assert_snapshot!(at_top(43, &[("a;pool", first), ("b;pool", second)]), @"within, 1 per 100 (coarsened)");
    // On one stack it would be a leak that comes in bursts.
    let both: Level = |n| {
        let (first, second) = (peaks(n, FIRST), peaks(n, SECOND));
        (first.0 + second.0, first.1 + second.1)
    };
    assert_snapshot!(at_top(43, &[("a;pool", both)]), @"regressed, 1 per 1000 | regressed New: a;pool 0.00 objects 0.08 B stepped");
}

/// An allowance for `main;a;b;leak`.
const ALLOWED: &str = "[[allow]]\nstack = [\"main\", \"a\", \"b\", \"leak\"]\nobjects = 1.0\nbytes = 32.0\nlaw = \"linear\"\nreason = \"known\"\n";

#[test]
fn growth_with_an_allowance() {
    let allowed = |stacks: &[(&str, Level)]| judged(41, stacks, ALLOWED, TOP);
    assert_snapshot!(allowed(&[("main;a;b;leak", LEAK)]), @"within, 1 per 1000 | within Allowed: main;a;b;leak 1.00 objects 32.00 B linear");
    assert_snapshot!(allowed(&[("main;a;b;leak", |n| (n, 48 * n))]), @"regressed, 1 per 1000 | regressed Exceeded: main;a;b;leak 1.00 objects 48.00 B linear");
    assert_snapshot!(allowed(&[]), @"improved, 1 per 1000 | improved Stale: main;a;b;leak 0.00 objects 0.00 B linear");
    let known = assessed(41, &[("main;a;b;leak", LEAK)], ALLOWED, TOP);
    assert_eq!(known.findings[0].reason.as_deref(), Some("known"));
    // Another caller is a move, and only one stack may use it.
    assert_snapshot!(allowed(&[("main;new;a;b;leak", LEAK)]), @"within, 1 per 1000 | within Moved: main;new;a;b;leak 1.00 objects 32.00 B linear, from main;a;b;leak");
    assert_snapshot!(allowed(&[("main;n;a;b;leak", LEAK), ("main;o;a;b;leak", LEAK)]), @r"
    regressed, 1 per 1000
    regressed New: main;o;a;b;leak 1.00 objects 32.00 B linear
    within Moved: main;n;a;b;leak 1.00 objects 32.00 B linear, from main;a;b;leak
    ");
    // A slow leak that was accepted is not stale on a slow machine.
    let slow = ALLOWED.replace("1.0", "0.004").replace("32.0", "0.032");
    let level: Level = |n| (n / 250, n / 250 * 8);
    let text = judged(30, &[("main;a;b;leak", level)], &slow, TOP);
    assert!(text.starts_with("within"), "{text}");
}

#[test]
fn what_was_not_seen_is_said_in_numbers() {
    let said = |stacks: &[(&str, Level)], allowances| {
        let found = assessed(41, stacks, allowances, EARLY);
        format!("{:?}, short by {:.1}", found.visible, found.short_by)
    };
    assert_snapshot!(said(&[], ""), @"Some(Visible { objects: Some(0.001), bytes: Some(0.008) }), short by 0.0");
    // What has an allowance hides nothing.
    assert_snapshot!(said(&[("main;a;b;leak", LEAK)], ALLOWED), @"Some(Visible { objects: Some(0.001), bytes: Some(0.008) }), short by 0.0");
    assert_snapshot!(said(&[("main;leak", LEAK)], ""), @"None, short by 8000.0");
}

#[test]
fn an_expired_allowance_fails_whether_it_is_used_or_not() {
    let expiring = format!("{ALLOWED}expires = 2026-01-31\n");
    let on = |day: &str, stacks: &[(&str, Level)]| {
        let today = Some(day.parse().unwrap());
        judged(41, stacks, &expiring, Policy { today, ..TOP })
    };
    assert_snapshot!(on("2026-01-31", &[("main;a;b;leak", LEAK)]), @"within, 1 per 1000 | within Allowed: main;a;b;leak 1.00 objects 32.00 B linear");
    assert_snapshot!(on("2026-02-01", &[("main;a;b;leak", LEAK)]), @"regressed, 1 per 1000 | regressed Expired: main;a;b;leak 1.00 objects 32.00 B linear");
    assert_snapshot!(on("2026-02-01", &[]), @"regressed, 1 per 1000 | regressed Expired: main;a;b;leak 0.00 objects 0.00 B linear");
    // Nor does it excuse a move.
    assert_snapshot!(on("2026-02-01", &[("main;new;a;b;leak", LEAK)]), @r"
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
        let rank = |text: &String| Verdict::from_word(text.split_once(',').unwrap().0).unwrap();
        assert!(verdicts.iter().map(rank).is_sorted(), "{verdicts:#?}");
    }
}

/// What so many rungs show of one stack, at a sample interval: its objects of a size that are
/// sampled.
fn sampled(
    stack: &str,
    rungs: usize,
    (interval, size): (u64, u64),
    level: impl Fn(u64) -> u64,
) -> Observed {
    let interval = SampleInterval::new(interval).unwrap();
    let iterations: Vec<u64> = (0..rungs).map(rung).collect();
    let counted = iterations.iter().map(|n| level(*n));
    let counted = counted.map(|objects| Tally {
        objects,
        bytes: objects * size,
    });
    let series = Series::sampled(interval, &counted.collect::<Vec<_>>());
    Observed {
        stacks: BTreeMap::from([(folded(stack), series)]),
        iterations,
        interval,
        ..Observed::default()
    }
}

/// A leak of an object of 64 bytes that is sampled in one of 500 iterations.
#[test]
fn a_sampled_allowance_holds_for_an_estimate_beside_it() {
    let observed = sampled("main;a;b;leak", 70, (4_096, 64), |n| n / 500);
    let found = judge(&observed, &Baseline::default(), &TOP);
    assert_eq!(found.verdict, Verdict::Regressed);
    let Rate { objects, bytes } = found.findings[0].rate;
    // Chance: 2.5 times the deviation of the samples of the last octave.
    let error = found.findings[0].error;
    assert_snapshot!(format!("{objects:.4} ± {:.4}, {bytes:.4} ± {:.4} B", error.objects, error.bytes), @"0.1290 ± 0.0065, 8.2563 ± 0.4133 B");
    for (share, verdict, caller) in [
        (1.0, Verdict::Within, "main"),
        (0.9, Verdict::Within, "main"),
        (0.9, Verdict::Within, "other"),
        (0.3, Verdict::Regressed, "main"),
        (0.3, Verdict::Regressed, "other"),
    ] {
        let (objects, bytes) = (share * objects, share * bytes);
        let baseline = format!(
            "format = 1\n[[allow]]\nstack = ['{caller}', 'a', 'b', 'leak']\nobjects = {objects:.6}\n\
             bytes = {bytes:.6}\nlaw = 'linear'\n"
        );
        let baseline = Baseline::parse(baseline.as_bytes()).unwrap();
        let judged = judge(&observed, &baseline, &TOP);
        assert_eq!(judged.verdict, verdict, "{share} {caller}: {judged:#?}");
    }
}

/// What 25 dumps of a server at 512 KiB show, at rungs that end after 1,024 seconds, of objects of
/// 4 KiB. The limit is what would have been seen.
fn of_process(level: impl Fn(u64) -> u64, allowances: &str, policy: Policy) -> String {
    let mut observed = sampled("main;serve", 25, (512 << 10, 4_096), level);
    observed.of_process = true;
    let one = 1.0 / observed.interval.probability(4_096.0);
    for series in observed.stacks.values_mut() {
        *series = std::mem::take(series).of_process([one, 4_096.0 * one]);
    }
    let baseline = Baseline::parse(format!("format = 1\n{allowances}").as_bytes()).unwrap();
    let assessment = judge(&observed, &baseline, &policy);
    let seen = assessment.visible.map(|seen| {
        seen.bytes
            .map_or("?".to_owned(), |bytes| format!("{bytes:.0} B"))
    });
    format!(
        "{}, seen: {}",
        shown(&assessment),
        seen.unwrap_or("-".to_owned())
    )
}

#[test]
fn a_running_process() {
    let judged = |level: fn(u64) -> u64| of_process(level, "", TOP);
    let leak: fn(u64) -> u64 = |seconds| 200 + seconds / 2;
    let turnover: fn(u64) -> u64 = |seconds| 200 + seconds * 7_919 % 41;
    assert_snapshot!(judged(|_| 0), @"within, 1 per 1000, seen: 42295 B");
    assert_snapshot!(judged(leak), @"regressed, 1 per 1000 | regressed New: main;serve 64.25 objects 263169.33 B linear, seen: 42295 B");
    assert_snapshot!(judged(turnover), @"within, 1 per 1000, seen: 184380 B");
    assert_snapshot!(judged(|seconds| 200 + seconds.min(300)), @"within, 1 per 1000, seen: 42295 B");
    assert_snapshot!(judged(|seconds| 600 - 400 * 256 / (256 + seconds)), @"inconclusive, 1 per 1000 | inconclusive New: main;serve 13.30 objects 54484.28 B filling, seen: -");
    let allowed = |share: f64| {
        let rate = share * 0.5;
        let interval = SampleInterval::new(512 << 10).unwrap();
        let objects = rate / interval.probability(4_096.0);
        format!(
            "[[allow]]\nstack = ['main', 'serve']\nobjects = {objects:.3}\nbytes = {:.3}\nlaw = 'linear'\n",
            4_096.0 * objects
        )
    };
    assert_snapshot!(of_process(leak, &allowed(1.0), TOP), @"within, 1 per 1000 | within Allowed: main;serve 64.25 objects 263169.33 B linear, seen: 108087 B");
    assert_snapshot!(of_process(leak, &allowed(0.3), TOP), @"regressed, 1 per 1000 | regressed Exceeded: main;serve 64.25 objects 263169.33 B linear, seen: 62033 B");
    // What is allowed is more than would have been seen, or less.
    assert_snapshot!(of_process(turnover, &allowed(1.0), TOP), @"within, 1 per 1000, seen: 250172 B");
    assert_snapshot!(of_process(turnover, &allowed(0.1), TOP), @"within, 1 per 1000, seen: 190959 B");
}
