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
