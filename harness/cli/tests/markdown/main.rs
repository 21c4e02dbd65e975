//! `plimsoll report --format markdown|summary` over reports of an attacker's, read as GitHub
//! reads markdown.

#[path = "../project/mod.rs"]
mod project;
mod reader;

use std::path::Path;

use plimsoll_core::judge::Verdict;
use plimsoll_core::layout::valid_scenario_name;
use plimsoll_core::report::{CheckOutcome, Finding, Report, Standing, json as report_json};
use plimsoll_core::{FoldedStack, Rate};
use plimsoll_report::input::{self, Reader};
use plimsoll_report::render::{Context, markdown};
use serde_json::{Value, json};

use project::{Project, check, failure, finding, growth, rate, report, site, stack, within};
use reader::Page;

const COMMENT: usize = 65_000;
const SUMMARY: usize = 1 << 20;

/// What somebody might call a function.
const HOSTILE: &[&str] = &[
    "@someone",
    "@org/team",
    "#123 GH-1 owner/repo#1 fixes #2",
    "0123456789abcdef0123456789abcdef01234567",
    "https://evil.example/a www.evil.example me@evil.example",
    "xmpp:a@evil.example mailto:a@evil.example",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</code></b></summary></details><h1>x",
    "</details>\n\n# all is well\n\n",
    "<details open><summary>x",
    "<b",
    "<!-- hidden",
    "--> shown",
    "<!-- plimsoll:v1 key=main -->",
    "<![CDATA[ x ]]> <?php ?> <!DOCTYPE x>",
    "&lt;b&gt; &#64;someone &amp;",
    "`",
    "``",
    "a`b``c```d",
    "```\n\n# out\n\n```",
    "~~~\nx\n~~~",
    "`````text",
    "a|b",
    "|||| |:-:|",
    "a\\|b \\\\| \\",
    "a\n| x | y |\n|---|---|\n| 1 | 2 |",
    "**bold** _em_ ~~gone~~ [x](https://evil.example) ![x](https://evil.example/x.png)",
    "[[wiki]] [^1] [ref]\n\n[ref]: https://evil.example\n\n[^1]: note",
    "- [ ] task\n- [x] done",
    "# title\n=====\n-----",
    "> quote",
    ":tada: :+1:",
    "$x$ $$y$$",
    "user\u{202e}nimda\u{2066}\u{2069}",
    "a\u{200b}b\u{200d}c\u{feff}",
    "\u{2028}\u{2029}\u{85}\u{b}\u{c}",
    "\u{0}\u{1}\u{7f}\u{9b}2J",
    "\\u0000 \\x00 %00",
    "\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}",
    "::error file=a,line=1::x",
    "  ::set-env name=PATH::x",
    "##[error]x ##[group]",
    "::stop-commands::x",
    "%0A::error::x",
    "",
    " ",
    "\t\n\r\n ",
    "e\u{301}\u{301}\u{301}",
    "😀👩‍👩‍👧🏽",
    "'\"; rm -rf ~ #",
    "$(touch /tmp/x) `touch /tmp/y`",
    "--config=x",
    "漢字とかな",
];

const RATE: Rate = rate(1.0, 48.0);

/// A report with something in each field, of that verdict.
fn full(scenario: &str, verdict: Verdict) -> Report {
    let mut report = report("r1", scenario, verdict);
    report.run.commit = Some("0123456".to_owned());
    let found = Finding {
        verdict: match verdict {
            Verdict::Failed | Verdict::Broken => Verdict::Regressed,
            verdict => verdict,
        },
        reason: Some("a reason".to_owned()),
        ..finding("main fill put", RATE)
    };
    use Standing::{Exceeded, Expired, Moved, New, Stale};
    report.findings = [New, Exceeded, Expired, Stale, Moved]
        .map(|standing| Finding {
            standing,
            moved_from: (standing == Moved).then(|| stack("main other put")),
            ..found.clone()
        })
        .to_vec();
    report.findings.push(Finding {
        subject: site("fill put", 3),
        frames: Vec::new(),
        reason: None,
        ..found
    });
    let checks = [
        ("canary", CheckOutcome::Failed),
        ("coverage", CheckOutcome::Unavailable),
    ];
    let detail = "expected one thing\nfound another";
    let checks = checks.map(|(name, outcome)| check(name, outcome, detail));
    report.checks.extend(checks);
    report.failure = failure("panicked: it did", Some(7), "one line\nand another\n");
    report.notes.push("a note".to_owned());
    report.growth = vec![
        growth("main fill put", RATE),
        growth("main drop free", rate(1.0, -16.0)),
    ];
    report
}

/// Where a report has strings that are free: all but the words of the format.
fn free_strings(report: &Report) -> Vec<String> {
    let value: Value = serde_json::from_str(&report_json::to_string(report)).unwrap();
    let mut places = Vec::new();
    strings(&value, String::new(), &mut places);
    places.retain(|place| {
        let poisoned = poisoned(report, std::slice::from_ref(place), "any text");
        report_json::parse(poisoned.to_string().as_bytes()).is_ok()
    });
    assert!(places.len() >= 40, "{places:?}");
    places
}

/// The report with that text in each of those places.
fn poisoned(report: &Report, places: &[String], with: &str) -> Value {
    let mut value: Value = serde_json::from_str(&report_json::to_string(report)).unwrap();
    for place in places {
        *value.pointer_mut(place).unwrap() = json!(with);
    }
    value
}

fn strings(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::String(_) => places.push(place),
        Value::Array(all) => (0..).zip(all).for_each(|(index, value): (usize, _)| {
            strings(value, format!("{place}/{index}"), places);
        }),
        Value::Object(all) => all.iter().for_each(|(key, value)| {
            strings(value, format!("{place}/{key}"), places);
        }),
        _ => {}
    }
}

/// Both outputs of the program, checked.
#[track_caller]
fn read(project: &Project, path: &Path) -> [Page; 2] {
    let path = path.to_str().unwrap();
    let formats = ["markdown", "summary"];
    checked(formats.map(|format| {
        project
            .ok(&format!("report {path} --format {format}"))
            .stdout
    }))
}

/// The same of that report as JSON, without a process: the hostile texts are many.
#[track_caller]
fn read_json(value: &Value) -> [Page; 2] {
    let joined = input::parse(value.to_string().as_bytes(), Reader::Desk).unwrap();
    let context = Context::default();
    checked([markdown::comment, markdown::summary].map(|render| render(&joined, &context)))
}

#[track_caller]
fn checked([comment, summary]: [String; 2]) -> [Page; 2] {
    let size = comment.encode_utf16().count();
    assert!(size <= COMMENT, "{size} in a comment");
    assert!(summary.len() <= SUMMARY, "{} in a summary", summary.len());
    [comment, summary].map(|text| {
        let page = Page::read(&text);
        page.check();
        page
    })
}

/// What is in a project, as JSON.
fn joined(project: &Project) -> Value {
    project.ok("report --format json").json()
}

#[test]
fn no_field_of_a_report_is_markdown() {
    let within = "🟢 Leak check: 1 of 1 scenario is within its baseline";
    let growing = "🔴 Leak check: 1 of 1 scenario keeps growing for 2 reasons";
    let failed = "🔴 Leak check: 1 of 1 scenario failed, 1 keeps growing for 2 reasons";
    let broken = "🔴 Leak check: 1 of 1 scenario could not be measured";
    for (verdict, line) in [
        (Verdict::Regressed, growing),
        (Verdict::Failed, failed),
        (Verdict::Broken, broken),
        (
            Verdict::Inconclusive,
            "🟡 Leak check: 1 of 1 scenario is inconclusive",
        ),
        (Verdict::Improved, within),
        (Verdict::Within, within),
    ] {
        let report = full("http::echo", verdict);
        let places = free_strings(&report);
        let read_with = |text: &str| read_json(&poisoned(&report, &places, text));
        // What can be typed has commands.
        let calm = ["calm", "a calm name"].map(read_with);
        for with in HOSTILE {
            let calm = &calm[usize::from(!valid_scenario_name(with))];
            for (page, calm) in read_with(with).iter().zip(calm) {
                assert_eq!(page.headline(), line, "{with:?}");
                // Whatever the names, the page has the same parts; but output of
                // nothing is said to be nothing.
                if !with.trim().is_empty() {
                    assert_eq!(page.outline(), calm.outline(), "{with:?} in {}", page.text);
                }
            }
        }
    }
}

#[test]
fn no_problem_of_a_scenario_is_markdown() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let mut joined = joined(&project);
    let headline = "⚪ Leak check: 1 of 2 scenarios has no result";
    for with in HOSTILE {
        for key in ["package", "target", "scenario", "platform", "problem"] {
            joined["scenarios"][1][key] = json!(with);
        }
        for (page, tables) in read_json(&joined).iter().zip([&[][..], &[2]]) {
            assert_eq!(page.headline(), headline);
            assert_eq!(page.tables, tables, "{with:?} in {}", page.text);
        }
    }
}

#[test]
fn a_thousand_scenarios_with_long_names() {
    let long = |n: usize| format!("{n:04}{}", "`@|<&".repeat(99));
    let mut one = full("lru_churn", Verdict::Regressed);
    let stack: Vec<String> = (0..8).map(long).collect();
    for growth in &mut one.growth {
        growth.stack = FoldedStack(stack.clone());
    }
    one.run.scenarios = vec!["lru_churn".to_owned()];
    let project = Project::with(&[one]);
    let mut joined = joined(&project);
    // A copy is short, so that a thousand are at most 8 MiB.
    let scenario = joined["scenarios"][0].clone();
    let names = (0..1_000).map(|n| {
        let mut scenario = scenario.clone();
        scenario["scenario"] = json!(long(n));
        scenario["report"]["scenario"] = json!(long(n));
        if n >= 100 {
            scenario["report"]["growth"] = json!([]);
        }
        scenario
    });
    joined["scenarios"] = names.collect();
    assert!(joined.to_string().len() <= 8 << 20);
    let [comment, summary] = read_json(&joined);
    let headline = "🔴 Leak check: 1,000 of 1,000 scenarios keep growing for 2 reasons";
    for page in [&comment, &summary] {
        assert_eq!(page.headline(), headline);
        assert!(page.text.contains("950 more"), "{}", page.text);
        assert_eq!(page.tables, [0; 0]);
    }
}

#[test]
fn giant_stacks() {
    let project = Project::new();
    for depth in [1, 100, 9_000] {
        let mut report = report("r1", "deep", Verdict::Regressed);
        let names: Vec<String> = (0..depth).map(|n| format!("frame{n}")).collect();
        report.growth.push(growth(&names.join(" "), RATE));
        report.findings.push(finding("main put", RATE));
        let path = project.leave(&report, 0);
        for page in read(&project, &path) {
            assert!(page.text.contains(&names[depth - 1]), "{}", page.text);
        }
    }
}

#[test]
fn outputs_are_the_same_every_time() {
    let project = Project::new();
    let path = project.leave(&full("lru_churn", Verdict::Regressed), 0);
    let [one, _] = read(&project, &path);
    let [two, _] = read(&project, &path);
    assert_eq!(one.text, two.text);
}
