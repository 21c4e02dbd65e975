//! `report.json`, written and read.

use insta::assert_snapshot;
use plimsoll_core::Rate;
use plimsoll_core::report::Report;
use plimsoll_core::report::json::{Limits, MAX_BYTES, ReportError, parse, parse_within, to_string};

use crate::samples::{REPORT_1, failed, finding, growth, rate_of, regressed, within};

/// What reading a changed report says; the change must be one.
#[track_caller]
fn refused(from: &str, to: &str) -> String {
    let text = to_string(&regressed());
    let changed = text.replacen(from, to, 1);
    assert_ne!(text, changed, "nothing was replaced");
    match parse(changed.as_bytes()) {
        Ok(_) => "read".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn as_written() {
    let text = to_string(&regressed());
    assert!(text.ends_with("}\n"));
    assert_snapshot!(text);
}

#[test]
fn other_versions() {
    let newer = to_string(&within()).replacen("\"version\": 2", "\"version\": 3", 1);
    let newer = newer.replacen("\"verdict\"", "\"outcome\"", 1);
    let newer = parse(newer.as_bytes()).unwrap_err();
    let (expected, found) = (2, 3);
    assert_eq!(newer, ReportError::Newer { expected, found });
    assert_snapshot!(refused("\"version\": 2", "\"version\": 3"), @"written by a newer plimsoll: expected format 2 or older, found 3");
    assert_snapshot!(refused("\"version\": 2", "\"version\": 0"), @"`version`: expected 1 to 2, found 0");
    assert_snapshot!(refused("\"version\": 2", "\"version\": \"1\""), @r#"line 2, column 16: invalid type: string "1", expected u64"#);
    assert_snapshot!(refused("\"version\"", "\"versions\""), @"line 229, column 1: missing field `version`");

    let report = parse(REPORT_1.as_bytes()).expect("format 1 is still read");
    let mut same = regressed();
    same.findings[0].survivors = Vec::new();
    assert_eq!(report, same);
    // It has no key of a later format, and a later format has all of them.
    assert_snapshot!(refused("\"version\": 2", "\"version\": 1"), @"`findings`: expected `objects_law`, `bytes_law` and `survivors` in format 2, and none of them in format 1, found others in format 1");
    assert_snapshot!(refused("\"bytes_law\": \"linear\",", ""), @"`findings`: expected `objects_law`, `bytes_law` and `survivors` in format 2, and none of them in format 1, found others in format 2");
}

#[test]
fn keys_and_words_that_are_not_in_the_format() {
    assert_snapshot!(refused("\"commit\"", "\"comit\""), @"line 5, column 11: unknown field `comit`, expected one of `id`, `commit`, `package`, `target`, `scenarios`, `selected`, `built_with`, `benchmark`, `runner`, `plimsoll`, `files`, `baseline`");
    assert_snapshot!(refused("\"allocated\": 100096,", ""), @"line 37, column 5: missing field `allocated`");
    assert_snapshot!(refused("\"verdict\": \"regressed\"", "\"verdict\": \"fine\\u001b\""), @r"line 17, column 25: unknown variant `fine\u{1b}`, expected one of `within`, `improved`, `inconclusive`, `regressed`, `failed`, `broken`");
    assert_snapshot!(refused("\"bytes\": 96.0", "\"bytes\": null"), @"line 101, column 21: invalid type: null, expected f64");
    assert_snapshot!(refused("\"bytes\": 96.0", "\"bytes\": 1e999"), @"line 101, column 22: number out of range");
    assert_snapshot!(refused("\"iterations\": 4096", "\"iterations\": -1"), @"line 28, column 22: invalid value: integer `-1`, expected u64");
    assert_snapshot!(refused("\"kind\": \"stack\"", "\"kind\": \"site\""), @"line 81, column 7: `subject`: expected a stack and the number of stacks, found something in `stack` and null in `stacks`");
    assert_snapshot!(refused("\"kind\": \"stack\"", "\"kind\": \"threads\""), @"line 81, column 7: `subject`: expected null for both keys, found something in `stack` and null in `stacks`");
    assert_snapshot!(refused("\"notes\": [],", "\"notes\": [], \"notes\": [],"), @"line 165, column 22: duplicate field `notes`");
    assert_snapshot!(refused("\n}\n", "\n}\nmore\n"), @"line 230, column 1: trailing characters");
    let long = format!("\"{}\"", "x".repeat(1_000_000));
    assert!(refused("\"commit\"", &long).len() < 300);
}

#[test]
fn too_much() {
    let (limit, found) = (MAX_BYTES, MAX_BYTES + 1);
    let too_long = parse(&vec![b' '; found]).unwrap_err();
    assert_eq!(too_long, ReportError::TooLong { limit, found });
    let deep = format!("\n{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let (limit, line) = (32, 2);
    let too_deep = parse(deep.as_bytes()).unwrap_err();
    assert_eq!(too_deep, ReportError::TooDeep { limit, line });
    // Brackets in a string are text.
    let mut brackets = within();
    brackets.notes.push("[{\"\\".repeat(40));
    assert_eq!(parse(to_string(&brackets).as_bytes()), Ok(brackets));

    let list = format!("\"scenarios\": [{}\"\",", "\"\",".repeat(1_000));
    assert_snapshot!(refused("\"scenarios\": [", &list), @"expected at most 1000 scenarios, found 1003");
    let frames = format!("\"stack\": [{}", "\"\",".repeat(10_000));
    assert_snapshot!(refused("\"stack\": [", &frames), @"expected at most 10000 frames in findings, found 10006");
    let text = format!("\"scenario\": \"{}", "x".repeat(4_096));
    assert_snapshot!(refused("\"scenario\": \"", &text), @"expected at most 4096 bytes in a string, found 4105");
    assert!(parse(b"").is_err());
    assert!(parse(b"\xff\xfe").is_err());
}

/// Whatever a run finds, the reader takes it.
#[test]
fn what_is_written_is_cut_to_what_can_be_read() {
    let mut report = failed();
    report.scenario = "ż".repeat(5_000);
    report.visible = Some(rate_of(0.5, f64::INFINITY).into());
    report.notes = vec!["a note".to_owned(); 2_000];
    report.findings = vec![finding(); 5_000];
    let failure = report.failure.as_mut().unwrap();
    failure.output = format!("{}the end", "ż".repeat(100_000));
    let deep = (0..50).map(|n| format!("{}{n}", "frame\u{1}".repeat(300)));
    let deep: Vec<String> = deep.collect();
    let deep: Vec<&str> = deep.iter().map(String::as_str).collect();
    report.growth = (1..3_000).map(|n| growth(&deep, 0, n, 1.0)).collect();

    let text = to_string(&report);
    assert!(text.len() <= MAX_BYTES);
    let read = parse(text.as_bytes()).expect("what was written can be read");
    assert_eq!(to_string(&read), text, "cut twice");
    assert_eq!(
        read.visible.map(|seen| (seen.objects, seen.bytes)),
        Some((Some(0.5), None))
    );
    assert!(read.failure.unwrap().output.ends_with("the end"));
    // The greatest are kept.
    assert_eq!(read.growth.last().unwrap().after.bytes, 2_999);
    assert!(!read.findings.is_empty());
    assert_snapshot!(read.notes.last().unwrap(), @"too long for a report, left out: findings, small growth, notes");
}

/// A report of a pull request may have any number in it.
#[test]
fn no_rate_is_larger_than_a_program_can_reach() {
    let too_large = rate_of(0.0, -1e17);
    let changes: [fn(&mut Report, Rate); 6] = [
        |report, rate| report.visible = Some(rate.into()),
        |report, rate| report.findings[0].rate = rate,
        |report, rate| report.findings[0].error = rate,
        |report, rate| report.findings[0].allowed = rate,
        |report, rate| report.growth[0].rate = rate,
        |report, rate| report.growth[0].error = Some(rate),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut report = regressed();
        report.growth = vec![growth(&["main"], 0, 96, 1.0)];
        let read = |report: &Report| parse_within(to_string(report).as_bytes(), &Limits::UNTRUSTED);
        assert_eq!(read(&report), Ok(report.clone()), "{index}");
        change(&mut report, too_large);
        assert_eq!(read(&report), Err(ReportError::OutOfRange), "{index}");
    }
}
