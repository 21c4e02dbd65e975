//! Reports to print: one of each verdict, and as strange a one as proptest
//! can make.

use std::sync::LazyLock;

use plimsoll_core::blame::{Blame, Packages, SourceFiles};
use plimsoll_core::fold::{Origin, Trace};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::LadderEnd::{Budget, Settled};
use plimsoll_core::report::json::parse;
use plimsoll_core::report::{
    Check, CheckOutcome, Compared, Completeness, Failure, Finding, LadderEnd, Report, Run, Rung,
    StackGrowth, Survivors,
};
use plimsoll_core::{FoldedStack, Frame, Rate, Tally};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sample;

/// [`regressed`], as plimsoll wrote it in format 1.
pub(crate) const REPORT_1: &str = include_str!("report-v1.json");

/// A pass, on which the others build.
pub(crate) fn within() -> Report {
    let rung = |iterations: u64| Rung {
        live: tally_of(96, 1_000),
        allocated: Some(100_096),
        resident: 12 * 1024 * 1024,
        ..sample::rung(iterations)
    };
    let base = sample::report("2f0c", "lru_churn", Verdict::Within);
    Report {
        run: Run {
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            package: "plimsoll-scenarios".to_owned(),
            scenarios: vec!["lru_churn".to_owned(), "http_echo".to_owned()],
            files: "target/plimsoll/plimsoll-scenarios/leaks/lru_churn".to_owned(),
            ..base.run
        },
        rungs: [4_096, 8_192, 16_384].map(rung).to_vec(),
        end: Settled,
        checks: vec![Check {
            name: "canary".to_owned(),
            outcome: CheckOutcome::Passed,
            detail: "64 objects of 64".to_owned(),
        }],
        completeness: Completeness {
            stacks: 500,
            addresses: 80,
            ..Completeness::default()
        },
        compared: Some(Compared {
            before: 4_096,
            after: 16_384,
        }),
        ..base
    }
}

/// Returns a copy of a report with a change.
pub(crate) fn with(mut report: Report, change: impl FnOnce(&mut Report)) -> Report {
    change(&mut report);
    report
}

pub(crate) fn tally_of(size: u64, objects: u64) -> Tally {
    let bytes = objects * size;
    Tally { objects, bytes }
}

pub(crate) fn rate_of(objects: f64, bytes: f64) -> Rate {
    Rate { objects, bytes }
}

pub(crate) fn frame(function: &str, place: Option<(&str, u32)>) -> Frame {
    Frame {
        function: function.to_owned(),
        file: place.map(|(file, _)| file.to_owned()),
        line: place.map(|(_, line)| line),
    }
}

pub(crate) fn stack(names: &[&str]) -> FoldedStack {
    FoldedStack(names.iter().map(|name| (*name).to_owned()).collect())
}

/// One stack that keeps growing, by an object of 96 bytes an iteration.
pub(crate) fn finding() -> Finding {
    Finding {
        frames: vec![
            frame("lru::LruCache::put", Some(("lru-0.18.1/src/lib.rs", 212))),
            frame("lru_churn::fill", Some(("scenarios/src/lru_churn.rs", 14))),
            frame("lru_churn", None),
        ],
        levels: vec![tally_of(96, 4_096), tally_of(96, 16_384)],
        survivors: vec![
            survivors(0, 8_192, Some(8_192), 8_192),
            survivors(8_192, 16_384, Some(8_192), 8_192),
        ],
        ..sample::finding(
            "lru_churn lru_churn::fill lru::LruCache::put",
            rate_of(1.0, 96.0),
        )
    }
}

const LOCK: &str = "
[[package]]\nname = \"jobs\"\ndependencies = [\"hyper\"]
[[package]]\nname = \"jobs-queue\"
[[package]]\nname = \"hyper\"\nsource = \"r\"\ndependencies = [\"want\"]
[[package]]\nname = \"want\"\nsource = \"r\"
[[package]]\nname = \"h2\"\nsource = \"r\"
[[package]]\nname = \"libxml\"\nsource = \"r\"
[[package]]\nname = \"minijinja\"\nsource = \"r\"
[[package]]\nname = \"tokio\"\nsource = \"r\"";

/// A report on a stack of those functions, leaf first, of which some have a place. It may be given
/// after two spaces.
pub(crate) fn blamed(names: &[&str], origin: Option<Origin>) -> Report {
    let of_file = |name: &str| match name.split("::").next()? {
        "jobs" => Some(("src/jobs.rs", 7)),
        "hyper" => Some(("hyper-1.9.0/src/client.rs", 7)),
        "want" => Some(("want-0.3.1/src/lib.rs", 7)),
        _ => None,
    };
    let frames = names.iter().map(|line| match line.split_once("  ") {
        Some((name, place)) => {
            let (file, line) = place.rsplit_once(':').expect("a line");
            frame(name, Some((file, line.parse().expect("a number"))))
        }
        None => frame(line, of_file(line)),
    });
    let trace = Trace {
        frames: frames.collect(),
        origin,
        lacks: None,
    };
    let packages = Packages::of_lockfile(LOCK);
    let found = Finding {
        blame: Blame::of(&trace, "pages", &packages, &SourceFiles::default()),
        frames: trace.frames,
        ..finding()
    };
    Report {
        own: packages.own_among(found.frames.iter()),
        findings: vec![found],
        ..regressed()
    }
}

/// What is left of objects of 96 bytes that were born in an octave.
pub(crate) fn survivors(from: u64, to: u64, allocated: Option<u64>, alive: u64) -> Survivors {
    Survivors {
        from,
        to,
        allocated,
        alive: tally_of(96, alive),
    }
}

pub(crate) fn growth(names: &[&str], before: u64, after: u64, rate: f64) -> StackGrowth {
    let tally = |bytes| Tally {
        objects: bytes / 96,
        bytes,
    };
    StackGrowth {
        stack: stack(names),
        before: tally(before),
        after: tally(after),
        rate: rate_of(rate / 96.0, rate),
        error: None,
    }
}

pub(crate) fn regressed() -> Report {
    let grown = |name, before, after, rate| {
        let names = ["lru_churn", "lru_churn::fill", name];
        growth(&names, before, after, rate)
    };
    let mut shrunk = grown("bytes::BytesMut::reserve", 70_000, 8_560, -1.0);
    shrunk.stack.0[1] = "lru_churn::flush".to_owned();
    with(within(), |report| {
        report.verdict = Verdict::Regressed;
        report.end = Budget;
        report.rungs[2].iterations = 65_536;
        report.compared = Some(Compared {
            before: 4_096,
            after: 65_536,
        });
        report.findings = vec![finding()];
        report.growth = vec![
            grown("lru::LruCache::put", 393_216, 6_291_456, 96.0),
            grown("lru::LruCache::resize", 4_096, 131_072, 2.0),
            shrunk,
        ];
    })
}

pub(crate) fn failed() -> Report {
    let mut report = within();
    report.verdict = Verdict::Failed;
    report.end = LadderEnd::Failure;
    report.visible = None;
    report.failure = Some(Failure {
        what: "panicked: called `Option::unwrap()` on a `None` value".to_owned(),
        iteration: Some(12_345),
        output: "connecting\nthread 'main' panicked at scenarios/src/lru_churn.rs:17:42:\n\
                 called `Option::unwrap()` on a `None` value\n\
                 \u{1b}[31mred\u{1b}[0m and \u{1b}]0;a title\u{7}, then a line that goes on and on \
                 until it is longer than any terminal of 80 columns would show it\n"
            .to_owned(),
    });
    report
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_:<>]{0,12}",
        "[a-z:]{60,140}",
        "\\PC{0,30}",
        Just("user\u{202e}nimda\u{1b}[2J\r\n\t漢字\u{0}".to_owned()),
        Just(format!("{} {}", "x".repeat(300), "漢".repeat(100))),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        0.0..1e-3,
        -1e6..1e6,
        proptest::num::f64::NORMAL,
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
    ]
}

/// The schema of `report.json`.
pub(crate) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../schema/report-v2.schema.json");
    serde_json::from_str(text).expect("it is JSON")
});

/// Any value that a schema allows, with lists that are not long.
fn drawn(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(at) = schema["$ref"].as_str() {
        return drawn(SCHEMA.pointer(&at[1..]).expect("it is defined"));
    }
    if let Some(value) = schema.get("const") {
        return Just(value.clone()).boxed();
    }
    if let Some(words) = schema["enum"].as_array() {
        return proptest::sample::select(words.clone()).boxed();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(all) = schema[key].as_array() {
            let mut rest = schema.clone();
            rest.as_object_mut().expect("an object").remove(key);
            return any_of(all, &rest);
        }
    }
    match schema["type"].as_str() {
        Some("null") => Just(Value::Null).boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => {
            let most = schema["maximum"].as_u64().unwrap_or(u64::MAX);
            (0..=most).prop_map(Value::from).boxed()
        }
        Some("number") => number().prop_map(Value::from).boxed(),
        Some("string") if schema["pattern"].is_string() => {
            let per = vec!["second", "http_requests_total", "rpc{method=\"get\"}"];
            proptest::sample::select(per).prop_map(Value::from).boxed()
        }
        Some("string") => words().prop_map(Value::from).boxed(),
        Some("array") => vec(drawn(&schema["items"]), 0..7)
            .prop_map(Value::from)
            .boxed(),
        Some("object") => {
            let required = schema["required"].as_array().expect("a list");
            let properties = schema["properties"].as_object().expect("an object");
            let entries = properties.iter().map(|(key, schema)| {
                let entry = (Just(key.clone()), drawn(schema));
                match required.iter().any(|one| one == key) {
                    true => entry.prop_map(Some).boxed(),
                    false => option::of(entry).boxed(),
                }
            });
            let entries: Vec<_> = entries.collect();
            let object =
                |entries: Vec<Option<(String, Value)>>| entries.into_iter().flatten().collect();
            entries.prop_map(object).boxed()
        }
        _ => {
            let types = schema["type"].as_array().expect("types");
            let types: Vec<Value> = types.iter().map(|one| json!({ "type": one })).collect();
            any_of(&types, schema)
        }
    }
}

/// One of several schemas, each on top of what all have in common.
fn any_of(all: &[Value], common: &Value) -> BoxedStrategy<Value> {
    fn overlay(on: &mut Value, with: &Value) {
        match (on, with) {
            (Value::Object(on), Value::Object(with)) => {
                for (key, with) in with {
                    overlay(on.entry(key).or_insert(Value::Null), with);
                }
            }
            (on, with) => *on = with.clone(),
        }
    }
    let all = all.iter().map(|one| {
        let mut schema = common.clone();
        overlay(&mut schema, one);
        drawn(&schema)
    });
    proptest::strategy::Union::new(all).boxed()
}

/// Any report that is within the limits of the format, as its file.
pub(crate) fn any_file() -> BoxedStrategy<Value> {
    drawn(&SCHEMA)
}

/// The same as it is read.
pub(crate) fn any_report() -> impl Strategy<Value = Report> {
    any_file().prop_map(|file| parse(file.to_string().as_bytes()).expect("the schema allows it"))
}
