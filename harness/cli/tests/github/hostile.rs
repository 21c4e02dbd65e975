//! Reports that were written to do harm, through the whole bot. What each output
//! makes of each text is tested beside it; here, what is posted and printed.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Report;
use serde_json::{Value, json};

use crate::images::drawable;
use crate::job::{Job, green, red};
use crate::project::{Project, Ran, failure};

/// Posts a file as the report of the pull request's own job.
fn posted(text: &str) -> (Job, Ran) {
    let job = Job::new();
    job.project.write("report.json", text);
    let ran = job.run("comment --report report.json").ends(0);
    (job, ran)
}

/// What the pull request's own job would write of these reports.
fn joined(reports: &[Report]) -> Value {
    Project::with(reports).ok("report --format json").json()
}

/// Refused with that code, in fixed words; the check is neutral.
#[track_caller]
fn refused(text: &str, code: &str) {
    let (job, ran) = posted(text);
    let body = job.says(&[code, "o result"]);
    assert!(!body.contains("PWNED"), "{body}\n{ran}");
    assert_eq!(job.the_check().1, "neutral");
}

/// What is none of ours, and every limit, is tested beside the reader.
#[test]
fn what_is_no_report() {
    refused("{\"version\": 1, \"runs\": [\"PWNED\"", "not-a-report");
    refused("{\"version\": 2, \"runs\": [\"PWNED\"]}", "newer-format");
    refused(&format!("\"{}\"", "x".repeat(9 << 20)), "too-long");
}

#[test]
fn a_thousand_scenarios_and_one_more() {
    let of = |count: usize| {
        let mut report = joined(&red());
        let one = json!({
            "package": "demo", "target": "leaks", "scenario": "", "platform": null,
            "verdict": "no result", "problem": "PWNED".repeat(100), "report": null,
        });
        let scenarios = (0..count).map(|index| {
            let mut one = one.clone();
            one["scenario"] = json!(format!("{index}{}", "n".repeat(500)));
            one
        });
        report["scenarios"] = scenarios.collect();
        report["verdict"] = json!("no result");
        report.to_string()
    };
    let (job, _) = posted(&of(1_000));
    let body = job.the_comment().body;
    assert!(body.encode_utf16().count() <= 65_000);
    assert!(body.contains("1,000"), "{}", &body[..1_000]);
    refused(&of(1_001), "too-much");
}

#[test]
fn nothing_that_is_printed_is_a_command() {
    let evil = "x\n::error::PWNED\n::set-output name=a::b\n##[error]PWNED\r\n::add-mask::x";
    let mut reports = red();
    reports[0].findings[0].frames[0].function = evil.to_owned();
    reports[0].findings[0].frames[0].file = Some(format!("src/lib.rs,line=1::{evil}"));
    reports[0].notes.push(evil.to_owned());
    reports[1].verdict = Verdict::Failed;
    reports[1].failure = failure(evil, None, evil);
    let job = Job::of(&reports);
    // `run` holds every line that is printed against what a runner would obey.
    for more in ["", "--dry-run", "--skip check"] {
        let ran = job.comment(more);
        for line in ran.stderr.lines() {
            let line = line
                .strip_prefix("::warning title=plimsoll::")
                .unwrap_or(line);
            assert!(!line.trim_start().starts_with("::"), "{line}");
            assert!(!line.contains("##["), "{line}");
        }
        let lines = ran.stdout.lines();
        let lines = lines.filter(|line| line.starts_with("::error"));
        for line in lines {
            assert_eq!(line.matches("::error").count(), 1, "{line}");
        }
    }
}

#[test]
fn a_forged_second_line_changes_nothing() {
    let mut reports = green();
    for report in &mut reports {
        report.verdict = Verdict::Broken;
        report.notes.push(
            "--><!-- plimsoll:meta {\"run\":99999,\"attempt\":1,\"sha\":\"0\"} -->".to_owned(),
        );
    }
    let job = Job::of(&reports);
    job.comment("");
    let body = job.the_comment().body;
    let comments = body.lines().filter(|line| line.starts_with("<!--"));
    assert_eq!(comments.count(), 2, "{body}");
    let second = body.lines().nth(1).unwrap();
    assert!(second.contains("\"run\":500"), "{body}");
}

/// Every number of a report, but for those that say what it is, and for lines,
/// which are shorter.
fn numbers<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => found.push(value),
        Value::Array(list) => list.iter_mut().for_each(|one| numbers(one, found)),
        Value::Object(map) => {
            let inside = map
                .iter_mut()
                .filter(|(key, _)| !["version", "source", "line"].contains(&key.as_str()));
            inside.for_each(|(_, one)| numbers(one, found));
        }
        _ => {}
    }
}

#[test]
fn numbers_of_any_size() {
    let plain = joined(&drawable());
    let integers = [0, 1, u64::from(u32::MAX), i64::MAX as u64, u64::MAX];
    let floats = [0.0, -0.0, -1e16, 1e16, 5e-324];
    for (integer, float) in integers.into_iter().zip(floats) {
        let mut report = plain.clone();
        let mut found = Vec::new();
        numbers(&mut report, &mut found);
        assert!(found.len() > 10, "{plain:#}");
        for number in found {
            *number = match number.is_f64() {
                true => float.into(),
                false => integer.into(),
            };
        }
        let (job, ran) = posted(&report.to_string());
        ran.lacks(&["panicked", "cannot be read"]);
        // What the second job renders with its token at hand.
        for format in ["html", "text", "summary", "sarif", "junit", "json"] {
            let ran = job.run_unchecked("", &format!("report report.json --format {format}"));
            assert_eq!(ran.status, Some(0), "{format}: {}\n{report:#}", ran.stderr);
        }
    }
}
