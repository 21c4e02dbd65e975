//! The joined report: what is written can be read, what could not have been
//! written is refused, and what is too much is cut so that both stay true.

#[path = "../../../../core/tests/schema/mod.rs"]
mod schema;

use std::sync::LazyLock;

use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::json::{MAX_BYTES, MAX_DEPTH};
use plimsoll_core::report::{Report, StackGrowth};
use serde_json::{Value, json};

use super::*;
use crate::joined::NoResult;
use crate::render::fixtures::{self, finding, lost};
use schema::Schema;

/// With each schema where it stands in the sources: one refers to the others.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let of = |id: &str, text: &str| {
        let mut schema: Value = serde_json::from_str(text).unwrap();
        schema["$id"] = format!("file:///{id}.schema.json").into();
        schema
    };
    let [one, two] = [
        include_str!("../../../../core/schema/report-v1.schema.json"),
        include_str!("../../../../core/schema/report-v2.schema.json"),
    ];
    let joined = include_str!("../../../schema/joined-v1.schema.json");
    let mut joined = of("report/schema/joined-v1", joined);
    joined["$defs"]["v1"] = of("core/schema/report-v1", one);
    joined["$defs"]["v2"] = of("core/schema/report-v2", two);
    Schema::of(&joined)
});

fn report(name: &str, verdict: Verdict) -> Report {
    let mut report = fixtures::report(name, verdict);
    report.run.commit = Some("2bc8970".to_owned());
    report.visible = None;
    report.rungs.truncate(2);
    report.rungs[0].allocated = None;
    report
}

fn growth(names: usize, bytes: u64) -> StackGrowth {
    let mut growth = fixtures::growth("main", 0.0);
    growth.stack.0.resize(names, "main".to_owned());
    growth.after.bytes = bytes;
    growth
}

/// One of everything.
fn full() -> Joined {
    let mut regressed = report("lru \u{202e}\"churn\"\n", Verdict::Regressed);
    regressed.findings.push(finding("main fill", 96.0));
    regressed.growth.push(growth(2, 100));
    let echo = report("http::echo", Verdict::Within);
    let mut full = Joined::of_run("r1", [regressed.into(), echo.into(), lost("late")]);
    full.source = Some(fixtures::source());
    full
}

/// That of [`full`] as JSON, with something changed, read. The schema takes what can be read; what
/// else it takes is said.
fn read(change: impl FnOnce(&mut Value)) -> String {
    let mut value = json_of(&full());
    change(&mut value);
    let said = outcome(value.to_string().as_bytes());
    let errors = SCHEMA.errors(&value);
    match (said.ends_with(" scenarios"), errors.is_empty()) {
        (false, true) => said + " (the schema takes it)",
        (true, false) => panic!("read, but not in the schema: {errors:?}"),
        _ => said,
    }
}

/// The same, with that at the place instead.
fn with(place: &str, value: impl Into<Value>) -> String {
    read(|file| *file.pointer_mut(place).unwrap() = value.into())
}

fn json_of(joined: &Joined) -> Value {
    serde_json::from_str(&to_string(joined)).unwrap()
}

fn outcome(bytes: &[u8]) -> String {
    match parse(bytes) {
        Ok(joined) => format!("{} scenarios", joined.scenarios.len()),
        Err(err) => format!("{}: {err}", NoResult::of(&err)),
    }
}

#[test]
fn what_is_written_can_be_read() {
    let full = full();
    let text = to_string(&full);
    assert_eq!(parse(text.as_bytes()).unwrap(), full);
    assert_eq!(to_string(&parse(text.as_bytes()).unwrap()), text);
    assert!(text.ends_with("}\n"), "{text}");
    let none = Joined::of_run("r1", []);
    assert_eq!(parse(to_string(&none).as_bytes()).unwrap(), none);
    for written in [full, none] {
        assert_eq!(SCHEMA.errors(&json_of(&written)), [""; 0]);
    }
}

/// A file that an older plimsoll wrote.
#[test]
fn reports_of_format_1() {
    let read = read(|file| {
        let report = &mut file["scenarios"][0]["report"];
        report["version"] = json!(1);
        let finding = report["findings"][0].as_object_mut().unwrap();
        finding.retain(|key, _| !["objects_law", "bytes_law", "survivors"].contains(&key.as_str()));
    });
    assert_snapshot!(read, @"3 scenarios");
}

#[test]
fn compact_json_is_the_same_json() {
    let full = full();
    let short = write(&full, &Written::new(&full, Limits::UNTRUSTED, false));
    assert_eq!(short.find('\n'), Some(short.len() - 1));
    assert!(!short.contains("\": "), "{short}");
    let parsed: Value = serde_json::from_str(&short).unwrap();
    assert_eq!(parsed, json_of(&full));
}

#[test]
fn keys_are_all_there_and_known() {
    // Every key of every object, also those that may be null.
    for place in ["", "/source", "/scenarios/2", "/scenarios/0/report"] {
        let more = read(|file| file.pointer_mut(place).unwrap()["more"] = json!(1));
        assert!(more.starts_with("not-a-report: "), "{place}: {more}");
        assert!(more.contains("unknown field `more`"), "{place}: {more}");
        assert!(!more.contains("the schema takes it"), "{place}: {more}");
        let whole = json_of(&full());
        for key in whole.pointer(place).unwrap().as_object().unwrap().keys() {
            let read = read(|file| {
                let object = file.pointer_mut(place).unwrap().as_object_mut().unwrap();
                object.remove(key).unwrap();
            });
            assert!(read.starts_with("not-a-report: "), "{place} {key}: {read}");
            let missing = format!("missing field `{key}`");
            assert!(read.contains(&missing), "{place} {key}: {read}");
        }
    }
}

#[test]
fn other_formats() {
    let of_report = "/scenarios/0/report/version";
    assert_snapshot!(with("/version", 2), @"newer-format: written by a newer plimsoll: expected format 1 or older, found 2");
    assert_snapshot!(with("/version", 0), @"not-consistent: `version`: expected 1, found 0");
    assert_snapshot!(with("/version", "1"), @r#"not-a-report: line 1, column 3344: invalid type: string "1", expected u64"#);
    assert_snapshot!(with(of_report, 3), @"newer-format: written by a newer plimsoll: expected format 2 or older, found 3");
    assert_snapshot!(outcome(b""), @"not-a-report: line 1, column 0: EOF while parsing a value");
    assert_snapshot!(outcome(b"[]"), @"not-a-report: line 1, column 2: invalid length 0, expected struct Head with 1 element");
    assert_snapshot!(outcome(b"\xff"), @"not-a-report: line 1, column 1: expected value");
}

#[test]
fn what_does_not_agree_with_itself() {
    assert_snapshot!(with("/verdict", "within"), @"not-consistent: `verdict`: expected regressed, found another (the schema takes it)");
    assert_snapshot!(with("/scenarios/0/verdict", "within"), @"not-consistent: `verdict`: expected regressed, found another (the schema takes it)");
    assert_snapshot!(with("/scenarios/2/verdict", "within"), @"not-consistent: `verdict`: expected no result, found another");
    let no_run_of_it = json!(["a"]);
    assert_snapshot!(with("/scenarios/0/scenario", "other"), @"not-consistent: `report`: expected the package, target and scenario of its entry, found another's (the schema takes it)");
    assert_snapshot!(with("/scenarios/0/package", "other"), @"not-consistent: `report`: expected the package, target and scenario of its entry, found another's (the schema takes it)");
    assert_snapshot!(with("/scenarios/0/problem", "why"), @"not-consistent: `problem`: expected either it or a report, found both or neither");
    assert_snapshot!(with("/scenarios/2/problem", Value::Null), @"not-consistent: `problem`: expected either it or a report, found both or neither");
    assert_snapshot!(with("/scenarios/0/report/run/scenarios", no_run_of_it), @"not-consistent: `scenarios`: expected an empty list in a report, found names");
    // The last one has no result: without a worse one the run is not green.
    let green = read(|file| {
        file["scenarios"].as_array_mut().unwrap().remove(0);
        file["verdict"] = json!("within");
    });
    assert_snapshot!(green, @"not-consistent: `verdict`: expected no result, found another (the schema takes it)");
}

#[test]
fn one_past_each_limit() {
    let mut bytes = to_string(&full()).into_bytes();
    bytes.resize(MAX_BYTES, b' ');
    assert_snapshot!(outcome(&bytes), @"3 scenarios");
    bytes.push(b' ');
    assert_snapshot!(outcome(&bytes), @"too-long: expected at most 8388608 bytes, found 8388609");

    let nested = |depth: usize| outcome(("[".repeat(depth) + &"]".repeat(depth)).as_bytes());
    assert_snapshot!(nested(MAX_DEPTH), @"not-a-report: line 1, column 1: invalid type: sequence, expected u64");
    assert_snapshot!(nested(MAX_DEPTH + 1), @"too-deep: line 1: nested more than 32 levels deep");

    let scenarios = |n: usize| {
        read(|file| {
            let last = file["scenarios"][2].clone();
            file["scenarios"].as_array_mut().unwrap().resize(n, last);
        })
    };
    let runs = |n: usize| with("/runs", vec!["r"; n]);
    let frames = |n: usize| {
        read(|file| {
            let report = &mut file["scenarios"][0]["report"];
            report["findings"] = json!([]);
            report["growth"][0]["stack"] = json!(vec!["f"; n]);
        })
    };
    assert_snapshot!(scenarios(1_000), @"1000 scenarios");
    assert_snapshot!(scenarios(1_001), @"too-much: expected at most 1000 scenarios, found 1001");
    assert_snapshot!(runs(1_000), @"3 scenarios");
    assert_snapshot!(runs(1_001), @"too-much: expected at most 1000 runs, found 1001");
    assert_snapshot!(frames(10_000), @"3 scenarios");
    assert_snapshot!(frames(10_001), @"too-much: expected at most 10000 frames, found 10001");
    let rate = |bytes: f64| with("/scenarios/0/report/findings/0/rate/bytes", bytes);
    assert_snapshot!(rate(-1e16), @"3 scenarios");
    assert_snapshot!(rate(1.0000000000000002e16), @"out-of-range: a rate is larger than any program can reach");
}

#[test]
fn one_byte_past_the_longest_string() {
    // A report is of the scenario of its entry.
    let entry = [
        ("/scenarios/0/package", "/scenarios/0/report/run/package"),
        ("/scenarios/0/target", "/scenarios/0/report/run/target"),
        ("/scenarios/0/scenario", "/scenarios/0/report/scenario"),
    ];
    let others = "/plimsoll /runs/0 /source/repository /source/event /source/head /source/base \
        /source/prefix /scenarios/2/platform /scenarios/2/problem /scenarios/0/report/run/files \
        /scenarios/0/report/findings/0/frames/0/function /scenarios/0/report/growth/0/stack/0";
    let others = others.split_whitespace().map(|place| (place, place));
    for (place, own) in others.chain(entry) {
        let long = |n: usize| {
            read(|file| {
                for place in [place, own] {
                    *file.pointer_mut(place).unwrap() = json!("a".repeat(n));
                }
            })
        };
        assert_eq!(long(512), "3 scenarios", "{place}");
        let expected = "too-much: expected at most 512 bytes in a string, found 513";
        assert!(long(513).starts_with(expected), "{place}");
    }
}

/// Written to a file of at most so many bytes, and read again.
fn through(scenarios: Vec<Scenario>, most: usize) -> Joined {
    let text = to_string_within(&Joined::of_run("r1", scenarios), most);
    assert!(text.len() <= most, "{} bytes", text.len());
    let read = parse(text.as_bytes()).unwrap_or_else(|err| panic!("{err}"));
    let again = to_string_within(&read, most);
    assert_eq!(again, text, "reading and writing again changes it");
    read
}

const LEFT_OUT: [&str; 1] = ["too long for a report, left out: small growth"];

#[test]
fn long_strings_are_cut() {
    let mut report = report(&"ä".repeat(600), Verdict::Regressed);
    report.run.package = "p".repeat(600);
    report.findings = vec![finding(&"f".repeat(9_000), f64::INFINITY)];
    let long = vec![Scenario::from(report), lost(&"n".repeat(600))];
    let read = through(long, MAX_BYTES);
    assert_eq!(read.scenarios[0].name, "ä".repeat(256));
    assert_eq!(read.scenarios[0].package, "p".repeat(512));
    assert_eq!(read.scenarios[1].name, "n".repeat(512));
    let finding = &read.scenarios[0].report().unwrap().findings[0];
    assert_eq!(finding.frames[0].function, "f".repeat(512));
    assert_eq!(finding.rate.bytes.to_string(), "10000000000000000");
}

#[test]
fn too_many_frames_are_left_out_and_it_says_so() {
    let mut report = report("a", Verdict::Within);
    report.growth = (0..200).map(|bytes| growth(100, bytes)).collect();
    let read = through(vec![Scenario::from(report)], MAX_BYTES);
    let report = read.scenarios[0].report().unwrap();
    let kept = report.growth.iter().map(|one| one.after.bytes);
    assert!(kept.eq(100..200), "{:?}", report.growth);
    assert_eq!(report.notes, LEFT_OUT);
}

#[test]
fn all_reports_share_the_file() {
    // Each report is within its limits. Together they are four times as long as the file may be.
    let scenarios = (0..10).map(|number| {
        let name = format!("s{number} {}", "x".repeat(300));
        let mut report = report(&name, Verdict::Regressed);
        report.findings.push(finding("main fill", 96.0));
        let mut stack = growth(100, 8);
        stack.stack.0.fill("y".repeat(64));
        report.growth = vec![stack; 50];
        Scenario::from(report)
    });
    let read = through(scenarios.collect(), MAX_BYTES / 10);
    assert_eq!(read.count(Some(Verdict::Regressed)), 10);
    for report in read.scenarios.iter().filter_map(Scenario::report) {
        assert_eq!(report.findings.len(), 1);
        assert!(report.growth.len() < 50);
        assert_eq!(report.notes, LEFT_OUT);
    }
}

#[test]
fn what_finds_no_room_has_no_result() {
    // Rungs are never left out, and these alone are longer than the file.
    let scenarios = (0..20).map(|number| {
        let verdict = [Verdict::Within, Verdict::Regressed][usize::from(number == 19)];
        let mut report = report(&format!("s{number}"), verdict);
        report.rungs = vec![report.rungs[0].clone(); 80];
        Scenario::from(report)
    });
    let read = through(scenarios.collect(), 160_000);
    assert_eq!(read.scenarios.len(), 20);
    assert_eq!(read.verdict(), Some(Verdict::Regressed));
    let lost = read.count(None);
    assert!((1..10).contains(&lost), "{lost} without a result");
    // The last ones first, of those that need a person least.
    assert_eq!(read.scenarios[19].verdict(), Some(Verdict::Regressed));
    let why = "its report does not fit into the 160000 bytes of all".to_owned();
    assert_eq!(read.scenarios[18].outcome, Outcome::NoResult(why));
    assert!(read.scenarios[0].report().is_some());
}

#[test]
fn too_many_scenarios_are_not_green() {
    let green = |number: usize| Scenario::from(report(&format!("s{number}"), Verdict::Within));
    let mut many: Vec<Scenario> = (0..1_010).map(green).collect();
    many[1_005] = Scenario::from(report("bad", Verdict::Regressed));
    many[1_007] = lost("lost");
    let read = through(many, MAX_BYTES);
    assert_eq!(read.scenarios.len(), 1_000);
    assert_eq!(read.verdict(), Some(Verdict::Regressed));
    let name = |at: usize| read.scenarios[at].name.as_str();
    assert_eq!(
        [996, 997, 998, 999].map(name),
        ["s996", "bad", "lost", "s997"]
    );
    let why = "it and 10 more were left out: a joined report has at most 1000 scenarios".to_owned();
    assert_eq!(read.scenarios[999].outcome, Outcome::NoResult(why));
}

#[test]
fn as_many_runs_as_can_be_read() {
    let mut many = full();
    many.runs = (0..1_001).map(|run| run.to_string()).collect();
    let read = parse(to_string(&many).as_bytes()).unwrap();
    assert_eq!(read.runs.len(), 1_000);
}

/// The other limits are those of the rows above.
#[test]
fn the_schema_has_the_limits_of_the_code() {
    let schema = include_str!("../../../schema/joined-v1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let words = Verdict::ALL.into_iter().map(Some).chain([None]).map(word);
    let words = json!(words.collect::<Vec<_>>());
    assert_eq!(schema["$defs"]["verdict"]["enum"], words);
}
