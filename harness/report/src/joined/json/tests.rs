//! The joined report: what is written can be read, what could not have been
//! written is refused, and what is too much is cut so that both stay true.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::json::{MAX_BYTES, MAX_DEPTH};
use plimsoll_core::report::{Finding, Report, StackGrowth};
use plimsoll_core::{FoldedStack, Rate, Tally};
use serde_json::{Value, json};

use super::*;
use crate::render::fixtures::sample;

fn report(name: &str, verdict: Verdict) -> Report {
    let mut report = sample::report("r1", name, verdict);
    report.run.commit = Some("2bc8970".to_owned());
    report.visible = None;
    for rung in &mut report.rungs {
        (rung.live, rung.allocated, rung.resident) = (Tally::default(), None, 4096);
    }
    report
}

fn finding(names: &[&str], bytes: f64) -> Finding {
    let rate = Rate {
        objects: 1.0,
        bytes,
    };
    sample::finding(&names.join(" "), rate)
}

fn growth(names: usize, bytes: u64) -> StackGrowth {
    StackGrowth {
        stack: FoldedStack(vec!["main".to_owned(); names]),
        before: Tally::default(),
        after: Tally { objects: 1, bytes },
        rate: Rate::default(),
        error: None,
    }
}

fn scenario(outcome: Outcome, name: &str) -> Scenario {
    Scenario {
        package: "demo".to_owned(),
        target: "leaks".to_owned(),
        name: name.to_owned(),
        platform: Some("x86_64-unknown-linux-gnu".to_owned()),
        outcome,
    }
}

fn with_report(report: Report) -> Scenario {
    let name = report.scenario.clone();
    scenario(Outcome::Report(Box::new(report)), &name)
}

fn without(name: &str) -> Scenario {
    let why = "it left no report in this run";
    scenario(Outcome::NoResult(why.to_owned()), name)
}

fn joined(scenarios: Vec<Scenario>) -> Joined {
    Joined {
        runs: vec!["r1".to_owned()],
        source: None,
        scenarios,
    }
}

/// One of everything.
fn full() -> Joined {
    let mut regressed = report("lru \u{202e}\"churn\"\n", Verdict::Regressed);
    regressed.findings.push(finding(&["main", "fill"], 96.1));
    regressed.growth.push(growth(2, 100));
    let mut full = joined(vec![
        with_report(regressed),
        with_report(report("http::echo", Verdict::Within)),
        without("late"),
    ]);
    full.source = Some(Source {
        repository: "owner/name".to_owned(),
        event: "pull_request".to_owned(),
        run: u64::MAX,
        attempt: 2,
        pull_request: Some(7),
        head: "2bc8970".to_owned(),
        base: None,
        prefix: "sub/work".to_owned(),
    });
    full
}

/// That of [`full`] as JSON, with something changed, read.
fn read(change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&to_string(&full())).unwrap();
    change(&mut value);
    outcome(value.to_string().as_bytes())
}

fn outcome(bytes: &[u8]) -> String {
    match parse(bytes) {
        Ok(joined) => format!("{} scenarios", joined.scenarios.len()),
        Err(err) => format!("{}: {err}", err.reason()),
    }
}

#[test]
fn what_is_written_can_be_read() {
    let full = full();
    let text = to_string(&full);
    assert_eq!(parse(text.as_bytes()).unwrap(), full);
    assert_eq!(to_string(&parse(text.as_bytes()).unwrap()), text);
    assert!(text.ends_with("}\n"), "{text}");
    let none = joined(Vec::new());
    assert_eq!(parse(to_string(&none).as_bytes()).unwrap(), none);
}

#[test]
fn compact_json_is_the_same_json() {
    let full = full();
    let short = write(&full, &Written::new(&full, Limits::UNTRUSTED, Space::None));
    assert_eq!(short.find('\n'), Some(short.len() - 1));
    assert!(!short.contains("\": "), "{short}");
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(parsed(&short), parsed(&to_string(&full)));
}

#[test]
fn keys_are_all_there_and_known() {
    insta::assert_snapshot!(read(|file| file["more"] = json!(1)), @"not-a-report: line 1, column 7: unknown field `more`, expected one of `version`, `plimsoll`, `runs`, `source`, `verdict`, `scenarios`");
    insta::assert_snapshot!(read(|file| file["source"]["more"] = json!(1)), @"not-a-report: line 1, column 3076: unknown field `more`, expected one of `repository`, `event`, `run`, `attempt`, `pull_request`, `head`, `base`, `prefix`");
    insta::assert_snapshot!(read(|file| file["scenarios"][0]["more"] = json!(1)), @"not-a-report: line 1, column 54: unknown field `more`, expected one of `package`, `target`, `scenario`, `platform`, `verdict`, `problem`, `report`");
    insta::assert_snapshot!(read(|file| file["scenarios"][0]["report"]["more"] = json!(1)), @"not-a-report: line 1, column 986: unknown field `more`, expected one of `version`, `run`, `scenario`, `verdict`, … `end`, `threshold`, `visible`, `rarest`, `findings`, `checks`, `completeness`, `failure`, `notes`, `compared`, `growth`");
    // Every key of every object, also those that may be null.
    for place in ["", "/source", "/scenarios/2", "/scenarios/0/report"] {
        let whole: Value = serde_json::from_str(&to_string(&full())).unwrap();
        for key in whole.pointer(place).unwrap().as_object().unwrap().keys() {
            let read = read(|file| {
                let object = file.pointer_mut(place).unwrap().as_object_mut().unwrap();
                object.remove(key).unwrap();
            });
            assert_eq!(
                read,
                format!("not-a-report: {}", &read["not-a-report: ".len()..])
            );
            assert!(
                read.contains(&format!("missing field `{key}`")),
                "{place} {key}: {read}"
            );
        }
    }
}

#[test]
fn other_formats() {
    insta::assert_snapshot!(read(|file| file["version"] = json!(2)), @"newer-format: written by a newer plimsoll: expected format 1 or older, found 2");
    insta::assert_snapshot!(read(|file| file["version"] = json!(0)), @"not-consistent: `version`: expected 1, found 0");
    insta::assert_snapshot!(read(|file| file["version"] = json!("1")), @r#"not-a-report: line 1, column 3196: invalid type: string "1", expected u64"#);
    insta::assert_snapshot!(read(|file| file["scenarios"][0]["report"]["version"] = json!(3)), @"newer-format: written by a newer plimsoll: expected format 2 or older, found 3");
    insta::assert_snapshot!(outcome(b""), @"not-a-report: line 1, column 0: EOF while parsing a value");
    insta::assert_snapshot!(outcome(b"[]"), @"not-a-report: line 1, column 2: invalid length 0, expected struct Head with 1 element");
    insta::assert_snapshot!(outcome(b"\xff"), @"not-a-report: line 1, column 1: expected value");
}

#[test]
fn what_does_not_agree_with_itself() {
    insta::assert_snapshot!(read(|file| file["verdict"] = json!("within")), @"not-consistent: `verdict`: expected regressed, found another");
    insta::assert_snapshot!(read(|file| file["scenarios"][0]["verdict"] = json!("within")), @"not-consistent: `verdict`: expected regressed, found another");
    insta::assert_snapshot!(read(|file| file["scenarios"][2]["verdict"] = json!("within")), @"not-consistent: `verdict`: expected no result, found another");
    insta::assert_snapshot!(read(|file| file["scenarios"][0]["scenario"] = json!("other")), @"not-consistent: `report`: expected the package, target and scenario of its entry, found another's");
    insta::assert_snapshot!(read(|file| file["scenarios"][0]["package"] = json!("other")), @"not-consistent: `report`: expected the package, target and scenario of its entry, found another's");
    insta::assert_snapshot!(read(|file| file["scenarios"][0]["problem"] = json!("why")), @"not-consistent: `problem`: expected either it or a report, found both or neither");
    insta::assert_snapshot!(read(|file| file["scenarios"][2]["problem"] = json!(null)), @"not-consistent: `problem`: expected either it or a report, found both or neither");
    insta::assert_snapshot!(
        read(|file| file["scenarios"][0]["report"]["run"]["scenarios"] = json!(["a"])), @"not-consistent: `scenarios`: expected an empty list in a report, found names");
    // The last one has no result: without a worse one the run is not green.
    let green = read(|file| {
        file["scenarios"].as_array_mut().unwrap().remove(0);
        file["verdict"] = json!("within");
    });
    insta::assert_snapshot!(green, @"not-consistent: `verdict`: expected no result, found another");
}

#[test]
fn one_past_each_limit() {
    let mut bytes = to_string(&full()).into_bytes();
    bytes.resize(MAX_BYTES, b' ');
    insta::assert_snapshot!(outcome(&bytes), @"3 scenarios");
    bytes.push(b' ');
    insta::assert_snapshot!(outcome(&bytes), @"too-long: expected at most 8388608 bytes, found 8388609");

    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    insta::assert_snapshot!(outcome(nested(MAX_DEPTH).as_bytes()), @"not-a-report: line 1, column 1: invalid type: sequence, expected u64");
    insta::assert_snapshot!(outcome(nested(MAX_DEPTH + 1).as_bytes()), @"too-deep: line 1: nested more than 32 levels deep");

    let scenarios = |n: usize| {
        move |file: &mut Value| {
            let last = file["scenarios"][2].clone();
            file["scenarios"].as_array_mut().unwrap().resize(n, last);
        }
    };
    insta::assert_snapshot!(read(scenarios(1_000)), @"1000 scenarios");
    insta::assert_snapshot!(read(scenarios(1_001)), @"too-much: expected at most 1000 scenarios, found 1001");
    let runs = |n: usize| move |file: &mut Value| file["runs"] = json!(vec!["r"; n]);
    insta::assert_snapshot!(read(runs(1_000)), @"3 scenarios");
    insta::assert_snapshot!(read(runs(1_001)), @"too-much: expected at most 1000 runs, found 1001");

    let frames = |n: usize| {
        move |file: &mut Value| {
            let report = &mut file["scenarios"][0]["report"];
            report["findings"] = json!([]);
            report["growth"][0]["stack"] = json!(vec!["f"; n]);
        }
    };
    insta::assert_snapshot!(read(frames(10_000)), @"3 scenarios");
    insta::assert_snapshot!(read(frames(10_001)), @"too-much: expected at most 10000 frames, found 10001");
}

#[test]
fn one_byte_past_the_longest_string() {
    let places = [
        "/plimsoll",
        "/runs/0",
        "/source/repository",
        "/source/event",
        "/source/head",
        "/source/base",
        "/source/prefix",
        "/scenarios/0/package",
        "/scenarios/0/target",
        "/scenarios/0/scenario",
        "/scenarios/2/platform",
        "/scenarios/2/problem",
        "/scenarios/0/report/run/files",
        "/scenarios/0/report/findings/0/frames/0/function",
        "/scenarios/0/report/growth/0/stack/0",
    ];
    for place in places {
        let long = |n: usize| {
            read(|file| {
                *file.pointer_mut(place).unwrap() = json!("a".repeat(n));
                // A report is of the scenario of its entry.
                for (entry, own) in [
                    ("/scenarios/0/package", "/scenarios/0/report/run/package"),
                    ("/scenarios/0/target", "/scenarios/0/report/run/target"),
                    ("/scenarios/0/scenario", "/scenarios/0/report/scenario"),
                ] {
                    let text = file.pointer(entry).unwrap().clone();
                    *file.pointer_mut(own).unwrap() = text;
                }
            })
        };
        assert_eq!(long(512), "3 scenarios", "{place}");
        let expected = "too-much: expected at most 512 bytes in a string, found 513";
        assert_eq!(long(513), expected, "{place}");
    }
}

#[test]
fn rates_that_no_program_reaches() {
    let with_rate = |number: &str| {
        let text = to_string(&full());
        assert_eq!(text.matches("96.1").count(), 1);
        outcome(text.replace("96.1", number).as_bytes())
    };
    insta::assert_snapshot!(with_rate("1e16"), @"3 scenarios");
    insta::assert_snapshot!(with_rate("-1e16"), @"3 scenarios");
    insta::assert_snapshot!(with_rate("1.0000000000000002e16"), @"out-of-range: a rate is larger than any program can reach");
    insta::assert_snapshot!(with_rate("1e17"), @"out-of-range: a rate is larger than any program can reach");
    insta::assert_snapshot!(with_rate("1e999"), @"not-a-report: line 78, column 28: number out of range");
    insta::assert_snapshot!(with_rate("NaN"), @"not-a-report: line 103, column 24: expected value");
    insta::assert_snapshot!(with_rate("null"), @"not-a-report: line 78, column 27: invalid type: null, expected f64");
}

/// Written and read again.
fn through(joined: &Joined) -> Joined {
    let text = to_string(joined);
    assert!(text.len() <= MAX_BYTES, "{} bytes", text.len());
    let read = parse(text.as_bytes()).unwrap_or_else(|err| panic!("{err}"));
    assert_eq!(
        to_string(&read),
        text,
        "reading and writing again changes it"
    );
    read
}

#[test]
fn long_strings_are_cut() {
    let mut report = report(&"ä".repeat(600), Verdict::Regressed);
    report.run.package = "p".repeat(600);
    report
        .findings
        .push(finding(&["main", &"f".repeat(9_000)], f64::INFINITY));
    let mut long = joined(vec![with_report(report), without(&"n".repeat(600))]);
    long.scenarios[0].package = "p".repeat(600);
    let read = through(&long);
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
    let read = through(&joined(vec![with_report(report)]));
    let report = read.scenarios[0].report().unwrap();
    let kept: Vec<u64> = report.growth.iter().map(|one| one.after.bytes).collect();
    assert_eq!(kept, (100..200).collect::<Vec<u64>>());
    assert_eq!(
        report.notes,
        ["too long for a report, left out: small growth"]
    );
}

#[test]
fn all_reports_share_the_file() {
    // Each alone is well within its limits; all are many times the file's.
    let scenarios = (0..100).map(|number| {
        let mut report = report(
            &format!("s{number} {}", "x".repeat(300)),
            Verdict::Regressed,
        );
        report.findings.push(finding(&["main", "fill"], 96.0));
        let mut stack = growth(100, 8);
        stack.stack.0.fill("y".repeat(512));
        report.growth = vec![stack; 100];
        with_report(report)
    });
    let read = through(&joined(scenarios.collect()));
    assert_eq!(read.count(Some(Verdict::Regressed)), 100);
    for scenario in &read.scenarios {
        let report = scenario.report().unwrap();
        assert_eq!(report.findings.len(), 1);
        assert!(report.growth.len() < 100);
        assert_eq!(
            report.notes,
            ["too long for a report, left out: small growth"]
        );
    }
}

#[test]
fn what_finds_no_room_has_no_result() {
    // Rungs are never left out, and these alone are longer than the file.
    let scenarios = (0..1_000).map(|number| {
        let verdict = match number {
            990 => Verdict::Regressed,
            _ => Verdict::Within,
        };
        let mut report = report(&format!("s{number}"), verdict);
        report.rungs = vec![report.rungs[0].clone(); 80];
        with_report(report)
    });
    let read = through(&joined(scenarios.collect()));
    assert_eq!(read.scenarios.len(), 1_000);
    assert_eq!(read.verdict(), Some(Verdict::Regressed));
    let lost = read.count(None);
    assert!((50..500).contains(&lost), "{lost} without a result");
    // The last ones first, of those that need a person least.
    assert_eq!(read.scenarios[990].verdict(), Some(Verdict::Regressed));
    assert_eq!(
        read.scenarios[999].outcome,
        Outcome::NoResult("its report does not fit into the 8388608 bytes of all".to_owned())
    );
    assert!(read.scenarios[0].report().is_some());
}

#[test]
fn too_many_scenarios_are_not_green() {
    let scenarios = (0..1_010).map(|number| match number {
        1_005 => with_report(report("bad", Verdict::Regressed)),
        1_007 => without("lost"),
        _ => with_report(report(&format!("s{number}"), Verdict::Within)),
    });
    let many = joined(scenarios.collect());
    let read = through(&many);
    assert_eq!(read.scenarios.len(), 1_000);
    assert_eq!(read.verdict(), Some(Verdict::Regressed));
    let last: Vec<&str> = read.scenarios[996..]
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(last, ["s996", "bad", "lost", "s997"]);
    assert_eq!(
        read.scenarios[999].outcome,
        Outcome::NoResult(
            "it and 10 more were left out: a joined report has at most 1000 scenarios".to_owned()
        )
    );
    let green = |number| with_report(report(&format!("s{number}"), Verdict::Within));
    let green = joined((0..1_001).map(green).collect());
    assert_eq!(green.verdict(), Some(Verdict::Within));
    assert_eq!(through(&green).verdict(), None);
}

#[test]
fn as_many_runs_as_can_be_read() {
    let mut many = full();
    many.runs = (0..1_001).map(|run| run.to_string()).collect();
    assert_eq!(through(&many).runs.len(), 1_000);
}

/// The schema against the limits in the code.
#[test]
fn the_schema_has_the_limits_of_the_code() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../schema/joined-v1.schema.json")).unwrap();
    let at = |pointer: &str| {
        schema
            .pointer(pointer)
            .unwrap_or_else(|| panic!("no {pointer}"))
    };
    assert_eq!(at("/properties/version/const"), VERSION);
    assert_eq!(at("/properties/scenarios/maxItems"), MAX_SCENARIOS);
    assert_eq!(at("/properties/runs/maxItems"), MAX_SCENARIOS);
    let words = Verdict::ALL.into_iter().map(Some).chain([None]).map(word);
    assert_eq!(*at("/$defs/verdict/enum"), json!(words.collect::<Vec<_>>()));
    // Every string that is not one of a few words, whatever it is of.
    fn visit(value: &Value, found: &mut usize) {
        if let Some(longest) = value.get("maxLength") {
            assert_eq!(*longest, Limits::UNTRUSTED.string());
            *found += 1;
        } else if let Some(kind) = value.get("type") {
            let words = value.get("enum").is_some();
            let text = kind == "string" || kind == &json!(["string", "null"]);
            assert!(
                words || !text || value.get("description").is_none(),
                "{value}"
            );
        }
        match value {
            Value::Object(keys) => keys.values().for_each(|value| visit(value, found)),
            Value::Array(items) => items.iter().for_each(|value| visit(value, found)),
            _ => {}
        }
    }
    let mut found = 0;
    visit(&schema, &mut found);
    assert!(found > 10, "{found} limits of strings");
    // The rest is core's own; its tests know the numbers.
    for (pointer, limit) in [
        ("/$defs/report/properties/notes/maxItems", 100),
        ("/$defs/report/properties/growth/maxItems", 10_000),
    ] {
        assert_eq!(at(pointer), limit, "{pointer}");
    }
}
