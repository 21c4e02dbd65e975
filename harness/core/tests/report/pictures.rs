//! `growth.folded` and `growth.svg`.

use std::cmp::Ordering;

use insta::assert_snapshot;
use plimsoll_core::FoldedStack;
use plimsoll_core::report::{Report, flamegraph, folded};
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::samples::{any_report, growth, rate_of, regressed, tally_of, within};

/// Every frame's title, as it is escaped, with its colour. The document must be well-formed.
#[track_caller]
fn frames(svg: &str) -> Vec<String> {
    let mut reader = Reader::from_str(svg);
    while reader.read_event().expect("the picture is well-formed XML") != Event::Eof {}
    let no_text = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    assert!(!svg.contains(no_text), "a character that XML cannot hold");
    let frames = svg.split("<title>").skip(1).map(|frame| {
        let (title, rest) = frame.split_once("</title>").expect("it ends");
        let (_, fill) = rest.split_once("fill=\"rgb(").expect("it has a colour");
        let parts = fill
            .split([',', ')'])
            .take(3)
            .map(|part| part.parse().unwrap());
        let parts: Vec<u8> = parts.collect();
        let colour = match parts[0].cmp(&parts[2]) {
            Ordering::Greater => "red",
            Ordering::Equal => "grey",
            Ordering::Less => "blue",
        };
        format!("{title} {colour}")
    });
    frames.collect()
}

fn picture(report: &Report) -> String {
    flamegraph::render(report).expect("every report can be drawn")
}

#[test]
fn folded_stacks() {
    assert_snapshot!(folded::render(&regressed()), @r"
    lru_churn;lru_churn::fill;lru::LruCache::put 5898240
    lru_churn;lru_churn::fill;lru::LruCache::resize 126976
    lru_churn;lru_churn::flush;bytes::BytesMut::reserve -61440
    ");
    assert_snapshot!(folded::render(&within()), @"");

    let mut report = within();
    report.growth = vec![
        growth(&["b", "[u8; 8]"], 0, 10, 1.0),
        growth(&["a 12", "x\ny 7"], 0, 30, 1.0),
        growth(&["b", "[u8: 8]"], 5, 0, 1.0),
        growth(&["c"], 7, 7, 1.0),
        growth(&["d"], 0, u64::MAX, 1.0),
    ];
    assert_snapshot!(folded::render(&report), @r"
    a_12;x\ny_7 30
    b;[u8: 8] 5
    d 18446744073709551615
    ");
}

#[test]
fn grew_and_shrank_are_two_towers() {
    let svg = picture(&regressed());
    // The same name is red in one tower and blue in the other.
    assert_snapshot!(frames(&svg).join("\n"));
    assert!(svg.contains("lru_churn: growth per iteration"));
    assert!(svg.contains("from 4,096 to 65,536 iterations: grew +98 B, shrank -1 B per iteration"));
}

#[test]
fn what_samples_say_has_its_error() {
    let mut report = regressed();
    report.measured.as_mut().unwrap().sample_interval = 4_096;
    let growth = report.growth.iter_mut();
    growth.for_each(|growth| growth.error = Some(rate_of(0.1, 6.0)));
    let svg = picture(&report);
    // Two errors of 6 B that have nothing to do with each other, and one.
    let said = "grew +98 B ± 8.49 B, shrank -1 B ± 6 B per iteration";
    assert!(svg.contains(said), "{svg}");
}

#[test]
fn nothing_to_draw_is_drawn_as_such() {
    let mut report = within();
    report.scenario = "<script>&\"".to_owned();
    let svg = picture(&report);
    frames(&svg);
    assert!(svg.contains("from 4,096 to 16,384 iterations: nothing grew and nothing shrank"));
    assert!(svg.contains("&lt;script&gt;&amp;&quot;: growth per iteration"));
}

#[test]
fn rates_of_every_size_survive() {
    for (rate, expected) in [
        (1e-4, "100,000 bytes per 1,000,000,000 iterations"),
        (0.03, "30,000 bytes per 1,000,000 iterations"),
        (96.0, "96,000 bytes per 1,000 iterations"),
        (1_000_000.0, "1,000,000 bytes per iteration"),
    ] {
        let mut report = within();
        report.growth = vec![growth(&["a"], 0, 1, rate)];
        let title = format!("grew ({expected}, 100.00%)");
        assert!(picture(&report).contains(&title), "{rate}");
    }
    let mut report = within();
    let (least, greatest) = (f64::MIN_POSITIVE, f64::MAX);
    let rates = [f64::NAN, f64::INFINITY, greatest, f64::MIN, least];
    report.growth = rates.map(|rate| growth(&["a"], 0, 1, rate)).to_vec();
    frames(&picture(&report));
}

#[test]
fn hostile_names_stay_text() {
    let long = "x".repeat(10_000);
    let names = [
        "</title></svg><script>alert(1)</script>",
        "]]>",
        "<!-- -->",
        "a;b",
        "trailing 12",
        "_[k]",
        "\u{0}\u{1b}[31m\u{ffff}\u{202e}",
        "",
        " ",
        "&amp;",
        &long,
    ];
    let mut report = regressed();
    report.scenario = "</text><script>alert(1)</script>]]>\u{0}".to_owned();
    let grown = names.iter().zip(100_u8..).flat_map(|(name, weight)| {
        let weight = f64::from(weight);
        let root = growth(&["root", name], 0, 1, weight);
        [root, growth(&[name], 0, 1, -weight)]
    });
    report.growth = grown.collect();
    let svg = picture(&report);
    let titles = frames(&svg);
    let titles = titles
        .iter()
        .map(|title| title.split(" bytes").next().unwrap());
    let titles: Vec<&str> = titles.filter(|title| !title.starts_with("xxx")).collect();
    assert_eq!(svg.matches("<script").count(), 1, "inferno's own");
    assert_snapshot!(titles.join("\n"));
}

#[test]
fn many_stacks_are_merged_and_deep_ones_cut() {
    let mut report = within();
    report.growth = (0..30_000_u32)
        .map(|n| growth(&["root", &format!("leaf {n}")], 0, 1, f64::from(n)))
        .collect();
    let svg = picture(&report);
    // The 10,000 smallest, of which the first does not grow at all.
    assert!(svg.contains("[other] (49,995,000 bytes per iteration, 11.11%)"));

    let deep: Vec<String> = (0..5_000).map(|n| format!("f{n}")).collect();
    report.growth = vec![growth(&[], 0, 1, 1.0), growth(&[], 0, 1, 1.0)];
    report.growth[0].stack = FoldedStack(deep);
    report.growth[0].after = tally_of(1, 1);
    let svg = picture(&report);
    let titles = frames(&svg);
    assert_eq!(titles.len(), 503, "all, grew, 500 frames and the gap");
    for end in ["f0 ", "f4999 "] {
        assert!(titles.iter().any(|title| title.starts_with(end)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_report_can_be_drawn(report in any_report()) {
        let svg = picture(&report);
        frames(&svg);
        prop_assert_eq!(&svg, &picture(&report));
        // Every folded line has frames and one number.
        for line in folded::render(&report).lines() {
            let (stack, bytes) = line.rsplit_once(' ').expect("a space before the number");
            prop_assert!(bytes.parse::<i128>().is_ok_and(|bytes| bytes != 0), "{line:?}");
            let last = stack.rsplit(' ').next().unwrap_or_default();
            prop_assert!(!stack.contains(' ') || last.parse::<f64>().is_err() || !last.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-'), "{line:?}");
            prop_assert!(stack.split(';').all(|name| !name.is_empty()), "{line:?}");
        }
    }
}
