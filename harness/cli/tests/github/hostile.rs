//! Reports that were written to do harm, through the whole bot. What each output
//! makes of each text is tested beside it; here, what is posted and printed.

use plimsoll_core::judge::Verdict;
use plimsoll_report::input::{self, Reader};
use plimsoll_report::joined::json::to_string;
use plimsoll_report::render::{Context, html, junit, markdown, sarif};
use serde_json::{Value, json};

use crate::images::drawable;
use crate::job::{Job, joined, red};
use crate::project::{Ran, failure, places};

/// Posts a file as the report of the pull request's own job.
fn posted(text: &str) -> (Job, Ran) {
    let job = Job::new();
    job.project.write("report.json", text);
    let ran = job.run("comment --report report.json").ends(0);
    (job, ran)
}

/// Refused with a code, in fixed words; the check is neutral. Every limit is tested beside the
/// reader.
#[test]
fn what_is_no_report() {
    let mut many = joined(&red());
    let one = json!({
        "package": "demo", "target": "leaks", "scenario": "PWNED", "platform": null,
        "verdict": "no result", "problem": "PWNED", "report": null,
    });
    many["scenarios"] = vec![one; 1_001].into();
    for (text, code) in [
        ("{\"version\": 1, \"runs\": [\"PWNED\"", "not-a-report"),
        ("{\"version\": 2, \"runs\": [\"PWNED\"]}", "newer-format"),
        (&format!("\"{}\"", "x".repeat(9 << 20)), "too-long"),
        (&many.to_string(), "too-much"),
    ] {
        let (job, ran) = posted(text);
        let body = job.says(&[code, "o result"]);
        assert!(!body.contains("PWNED"), "{body}\n{ran}");
        job.concludes("neutral");
    }
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
    // `comment` holds every line that is printed against what a runner would obey.
    for more in ["", "--dry-run", "--skip check"] {
        job.comment(more);
    }
}

#[test]
fn numbers_of_any_size() {
    let plain = joined(&drawable());
    let mut numbers = places(&plain, Value::is_number);
    // These say what it is, and lines are shorter.
    let others = ["/version", "/source/", "/line"];
    numbers.retain(|place| !others.iter().any(|part| place.contains(part)));
    assert!(numbers.len() > 10, "{plain:#}");
    let integers = [0, 1, u64::from(u32::MAX), i64::MAX as u64, u64::MAX];
    let floats = [0.0, -0.0, -1e16, 1e16, 5e-324];
    for (integer, float) in integers.into_iter().zip(floats) {
        let mut report = plain.clone();
        for place in &numbers {
            let number = report.pointer_mut(place).unwrap();
            *number = match number.is_f64() {
                true => float.into(),
                false => integer.into(),
            };
        }
        let text = report.to_string();
        let (job, ran) = posted(&text);
        ran.lacks(&["panicked", "cannot be read"]);
        // What the second job renders with its token at hand.
        job.run("report report.json --format text").ends(0);
        let joined = input::parse(text.as_bytes(), Reader::Bot).unwrap();
        for render in [html::render, markdown::summary] {
            render(&joined, &Context::default());
        }
        for render in [sarif::render, junit::render, to_string] {
            render(&joined);
        }
    }
}
