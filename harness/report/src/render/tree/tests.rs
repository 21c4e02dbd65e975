use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::text::escape::columns;

use super::{MAX_LINES, WIDTH, render, share_of_widest};
use crate::render::fixtures::{finding, growth, regressed, report};

#[track_caller]
fn drawn<S: AsRef<str>>(stacks: &[(S, f64)]) -> String {
    collapsed("", stacks)
}

/// That of a reader whose crate this is: frames of others are collapsed.
#[track_caller]
fn collapsed<S: AsRef<str>>(own: &str, stacks: &[(S, f64)]) -> String {
    let stacks = stacks.iter().map(|(stack, rate)| (stack.as_ref(), *rate));
    let mut report = regressed("a", &stacks.collect::<Vec<_>>());
    report.own = own.split_whitespace().map(str::to_owned).collect();
    let text = render(&report).unwrap();
    assert_small(&text);
    text
}

#[track_caller]
fn assert_small(text: &str) {
    assert!(text.lines().count() <= MAX_LINES, "{text}");
    for line in text.lines() {
        assert!(columns(line) <= WIDTH, "{line}");
    }
}

#[test]
fn towers() {
    let text = drawn(&[
        ("demo::main http::serve http::parse alloc::push", 40.0),
        (
            "demo::main http::serve http::parse http::name String::from",
            8.0,
        ),
        ("demo::main http::serve log::line", 2.0),
        ("demo::main cache::evict", -16.0),
    ]);
    assert_snapshot!(text, @"
    grew +50 B per iteration
    100 %     +50 B ████████ demo::main
                             › http::serve
     96 %     +48 B ███████▋ ├ http::parse
     80 %     +40 B ██████▍  │ ├ alloc::push
     16 %      +8 B █▎       │ └ http::name
                             │   › String::from
      4 %      +2 B ▎        └ log::line

    shrank -16 B per iteration
    100 %     -16 B ████████ demo::main
                             › cache::evict
    ");
}

#[test]
fn thin_branches_are_counted() {
    let mut stacks = vec![("main wide", 1_000.0)];
    stacks.extend(["main a", "main b", "main c"].map(|stack| (stack, 1.0)));
    assert_snapshot!(drawn(&stacks), @"
    grew +1,003 B per iteration
    100 %  +1,003 B ████████ main
     99 %  +1,000 B ███████▉ ├ wide
      1 %      +3 B ▏        └ … 3 thinner branches
    ");
}

#[test]
fn the_widest_path_keeps_its_leaf() {
    let deep: Vec<String> = (0..300).map(|depth| format!("frame{depth}")).collect();
    let text = drawn(&[(deep.join(" ").as_str(), 48.0), ("frame0 other", 12.0)]);
    assert!(text.contains("› frame299"), "{text}");
    let deeper: Vec<String> = (0..40_000).map(|depth| format!("frame{depth}")).collect();
    let text = drawn(&[(&deeper.join(" "), 48.0)]);
    assert!(text.contains("› frame39999"), "{text}");
    // At each frame something else is called.
    let comb = (1..300).map(|depth| format!("{} other{depth}", deep[..depth].join(" ")));
    let whole = (deep.join(" "), 1_000.0);
    let stacks: Vec<_> = comb.map(|stack| (stack, 1.0)).chain([whole]).collect();
    let text = drawn(&stacks);
    assert!(text.contains("frame299"), "{text}");
}

#[test]
fn many_stacks_fit() {
    let stack = |n| format!("main a{} b{} c{n} {}", n % 3, n % 30, "x".repeat(500));
    let rates = [-9.0, 9.0, 9.0, 9.0, 9.0].into_iter().cycle();
    let stacks: Vec<(String, f64)> = (0..1_000).map(stack).zip(rates).collect();
    drawn(&stacks);
}

#[test]
fn the_order_of_stacks_changes_nothing() {
    let mut stacks = [
        ("m a", 0.1),
        ("m b", 0.2),
        ("m c", 0.3),
        ("m d", 0.3),
        ("m a x", 0.7),
    ];
    let text = drawn(&stacks);
    stacks.reverse();
    assert_eq!(drawn(&stacks), text);
}

#[test]
fn without_growth_the_findings_speak() {
    let mut report = report("a", Verdict::Regressed);
    assert_eq!(render(&report), None);
    assert_eq!(share_of_widest(&report), None);
    report.findings.push(finding("main put", 30.0));
    report.findings.push(finding("main get", 10.0));
    assert_snapshot!(render(&report).unwrap(), @"
    grew +40 B per iteration
    100 %     +40 B ████████ main
     75 %     +30 B ██████   ├ put
     25 %     +10 B ██       └ get
    ");
    assert_eq!(share_of_widest(&report), Some(75));
}

#[test]
fn numbers_that_are_none() {
    let mut report = report("a", Verdict::Regressed);
    for bytes in [f64::NAN, f64::INFINITY, f64::MAX, -0.0, 1e-12] {
        report.growth.push(growth("main a", bytes));
    }
    assert_small(&render(&report).unwrap());
    report.growth.push(growth("", 5.0));
    assert_small(&render(&report).unwrap());
}

#[test]
fn branches_inside_plumbing_are_all_there() {
    // The 39 frames of tokio below which a task runs on a thread of the runtime.
    let worker = include_str!("../../../../core/tests/report/worker.txt");
    let names = worker.lines().rev().map(|line| line.split("  ").next());
    // The stacks of these tests have spaces between names.
    let names = names.flatten().filter(|name| !name.contains(' '));
    let worker: Vec<&str> = names.collect();
    let (outer, inner) = (worker[..20].join(" "), worker[20..].join(" "));
    let task = format!("{outer} {inner} jobs::handle jobs::keep");
    let spawned = format!("{outer} tokio::task::spawn::spawn tokio::runtime::task::raw::new");
    assert_snapshot!(collapsed("jobs", &[(&task, 48.0), (&spawned, 16.0)]), @"
    grew +64 B per iteration
    100 %     +64 B ████████ tokio::runtime::blocking::pool::Spawner::spawn_thread::{{closure}}
                             … 19 frames of tokio
     75 %     +48 B ██████   ├ … 18 frames of tokio
                             │ › jobs::handle
                             │ › jobs::keep
     25 %     +16 B ██       └ tokio::task::spawn::spawn
                               › tokio::runtime::task::raw::new
    ");
    // Both sides of a fork are listed, if they are functions that one may look for.
    let serve = "jobs::main hyper::a hyper::b hyper::c hyper::d";
    let (one, other) = (
        "hyper::e hyper::f hyper::g h2::h",
        "h2::k h2::l h2::m h2::n h2::o",
    );
    let stacks = [
        (format!("{serve} {one}"), 48.0),
        (format!("{serve} {other}"), 16.0),
    ];
    let text = collapsed("jobs", &stacks);
    for listed in ["› hyper::d\n", "├ hyper::e\n", "└ h2::k\n"] {
        assert!(text.contains(listed), "{text}");
    }
}

#[test]
fn a_side_branch_keeps_the_readers_frames() {
    let mut stacks = vec![("jobs::main jobs::wide".to_owned(), 1_000.0)];
    stacks.extend((0..7).map(|n| {
        let calls: Vec<String> = (0..9).map(|call| format!("hyper::{n}::f{call}")).collect();
        let calls = calls.join(" ");
        (
            format!("jobs::main {calls} jobs::handle{n} jobs::keep{n} {calls}"),
            100.0,
        )
    }));
    // Too much for the frames next to the reader's, but not for hers.
    let text = collapsed("jobs", &stacks);
    assert!(!text.contains("thinner"), "{text}");
    for n in 0..7 {
        let is_there = |name: &str| text.contains(name);
        assert!(is_there(&format!("jobs::keep{n}")), "{text}");
        assert!(!is_there(&format!("hyper::{n}::f7")), "{text}");
    }
}

#[test]
fn listed_and_counted_frames_are_all_frames() {
    let pool = [
        "jobs::a",
        "hyper::b",
        "tokio::task::spawn::spawn",
        "tokio::loom::x",
        "qsort",
    ];
    for seed in 0..50_u64 {
        // The place in the stack makes each name another one.
        let names = (0..30_u64).map(|at| {
            let pick = plimsoll_core::text::hash::fnv(&(seed * 1_000 + at).to_le_bytes());
            format!("{}{at}", pool[usize::try_from(pick % 5).unwrap()])
        });
        let names: Vec<String> = names.collect();
        let text = collapsed("jobs", &[(&names.join(" "), 1.0)]);
        let listed = names
            .iter()
            .filter(|name| text.lines().any(|line| line.ends_with(&format!(" {name}"))));
        let counts = text
            .lines()
            .filter_map(|line| line.split_once("… ")?.1.split(' ').next());
        let counted: usize = counts.map(|count| count.parse::<usize>().unwrap()).sum();
        assert_eq!(listed.clone().count() + counted, names.len(), "{text}");
        for own in names.iter().filter(|name| name.starts_with("jobs")) {
            assert!(listed.clone().any(|name| name == own), "{own}:\n{text}");
        }
    }
}
