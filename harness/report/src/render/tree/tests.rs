use insta::assert_snapshot;
use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_text::escape::columns;

use super::{MAX_LINES, WIDTH, render, share_of_widest};
use crate::render::fixtures::{finding, growth, regressed, report};

#[track_caller]
fn drawn(stacks: &[(&str, f64)]) -> String {
    let text = render(&regressed("a", stacks)).unwrap();
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
fn of_samples_each_number_has_its_error() {
    let stacks = [
        ("demo::main http::serve http::parse alloc::push", 4_000.0),
        ("demo::main http::serve log::line", 200.0),
        ("demo::main cache::evict", -1_600.0),
    ];
    let mut report = regressed("a", &stacks);
    report.measured.as_mut().unwrap().sample_interval = 4_096;
    for (growth, bytes) in report.growth.iter_mut().zip([300.0, 40.0, 90.0]) {
        growth.error = Some(Rate {
            objects: 1.0,
            bytes,
        });
    }
    let text = render(&report).unwrap();
    assert_small(&text);
    assert_snapshot!(text, @"
    grew +4.1 KiB ± 303 B per iteration
    100 %  +4.1 KiB ± 303 B     ████████ demo::main
                                         › http::serve
     95 % +3.91 KiB ± 300 B     ███████▌ ├ http::parse
                                         │ › alloc::push
      5 %    +200 B ± 40 B      ▍        └ log::line

    shrank -1.56 KiB ± 90 B per iteration
    100 % -1.56 KiB ± 90 B      ████████ demo::main
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
    let text = drawn(&[(&deep.join(" "), 48.0), ("frame0 other", 12.0)]);
    assert!(text.contains("› frame299"), "{text}");
    let deeper: Vec<String> = (0..40_000).map(|depth| format!("frame{depth}")).collect();
    let text = drawn(&[(&deeper.join(" "), 48.0)]);
    assert!(text.contains("› frame39999"), "{text}");
    // At each frame something else is called.
    let comb = (1..300).map(|depth| format!("{} other{depth}", deep[..depth].join(" ")));
    let comb: Vec<String> = comb.collect();
    let mut stacks: Vec<(&str, f64)> = comb.iter().map(|stack| (stack.as_str(), 1.0)).collect();
    let whole = deep.join(" ");
    stacks.push((&whole, 1_000.0));
    let text = drawn(&stacks);
    assert!(text.contains("frame299"), "{text}");
}

#[test]
fn many_stacks_fit() {
    let stacks: Vec<String> = (0..1_000)
        .map(|n| format!("main a{} b{} c{n} {}", n % 3, n % 30, "x".repeat(500)))
        .collect();
    let rates = [-9.0, 9.0, 9.0, 9.0, 9.0].into_iter().cycle();
    let stacks: Vec<(&str, f64)> = stacks.iter().map(String::as_str).zip(rates).collect();
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

/// The 39 frames of tokio below which a task runs on a thread of the runtime, root first.
fn worker() -> Vec<&'static str> {
    let worker = include_str!("../../../../core/tests/report/worker.txt");
    let names = worker.lines().filter_map(|line| line.split("  ").next());
    // The stacks of these tests have spaces between names.
    let names = names.filter(|name| !name.contains(' '));
    names.collect::<Vec<_>>().into_iter().rev().collect()
}

#[track_caller]
fn collapsed(own: &[&str], stacks: &[(&str, f64)]) -> String {
    let mut report = regressed("a", stacks);
    report.own = own.iter().map(|krate| (*krate).to_owned()).collect();
    let text = render(&report).unwrap();
    assert_small(&text);
    text
}

#[test]
fn plumbing_is_one_line_before_the_readers_frames() {
    let worker = worker().join(" ");
    let stack = format!("{worker} jobs::handle jobs::keep hashbrown::map::HashMap::insert");
    assert_snapshot!(collapsed(&["jobs"], &[(&stack, 48.0)]), @"
    grew +48 B per iteration
    100 %     +48 B ████████ … 38 frames of tokio
                             › jobs::handle
                             › jobs::keep
                             › hashbrown::map::HashMap::insert
    ");
    assert_snapshot!(collapsed(&["jobs"], &[(&worker, 48.0)]), @"
    grew +48 B per iteration
    100 %     +48 B ████████ tokio::runtime::blocking::pool::Spawner::spawn_thread::{{closure}}
                             … 36 frames of tokio
                             › tokio::runtime::task::core::Core::poll::{{closure}}
    ");
}

#[test]
fn branches_inside_plumbing_are_all_there() {
    let worker = worker();
    let (outer, inner) = (worker[..20].join(" "), worker[20..].join(" "));
    let task = format!("{outer} {inner} jobs::handle jobs::keep");
    let spawned = format!("{outer} tokio::task::spawn::spawn tokio::runtime::task::raw::new");
    assert_snapshot!(collapsed(&["jobs"], &[(&task, 48.0), (&spawned, 16.0)]), @"
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
    let stacks = stacks
        .each_ref()
        .map(|(stack, rate)| (stack.as_str(), *rate));
    assert_snapshot!(collapsed(&["jobs"], &stacks), @"
    grew +64 B per iteration
    100 %     +64 B ████████ jobs::main
                             › hyper::a
                             … 2 frames of hyper
                             › hyper::d
     75 %     +48 B ██████   ├ hyper::e
                             │ › hyper::f
                             │ › hyper::g
                             │ › h2::h
     25 %     +16 B ██       └ h2::k
                               … 2 frames of h2
                               › h2::n
                               › h2::o
    ");
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
    let stacks: Vec<(&str, f64)> = stacks
        .iter()
        .map(|(stack, rate)| (&**stack, *rate))
        .collect();
    assert_snapshot!(collapsed(&["jobs"], &stacks[..3]), @"
    grew +1.17 KiB per iteration
    100 % +1.17 KiB ████████ jobs::main
     83 %  +1,000 B ██████▋  ├ jobs::wide
      8 %    +100 B ▋        ├ hyper::0::f0
                             │ … 7 frames of hyper
                             │ › hyper::0::f8
                             │ › jobs::handle0
                             │ › jobs::keep0
                             │ › hyper::0::f0
                             │ … 6 frames of hyper
                             │ › hyper::0::f7
                             │ › hyper::0::f8
      8 %    +100 B ▋        └ hyper::1::f0
                               … 7 frames of hyper
                               › hyper::1::f8
                               › jobs::handle1
                               › jobs::keep1
                               › hyper::1::f0
                               … 6 frames of hyper
                               › hyper::1::f7
                               › hyper::1::f8
    ");
    // Too much for the frames next to the reader's, but not for hers.
    let text = collapsed(&["jobs"], &stacks);
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
    for seed in 0..200_u64 {
        // The place in the stack makes each name another one.
        let names = (0..30_u64).map(|at| {
            let pick = plimsoll_text::hash::fnv(&(seed * 1_000 + at).to_le_bytes());
            format!("{}{at}", pool[usize::try_from(pick % 5).unwrap()])
        });
        let names: Vec<String> = names.collect();
        let text = collapsed(&["jobs"], &[(&names.join(" "), 1.0)]);
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
