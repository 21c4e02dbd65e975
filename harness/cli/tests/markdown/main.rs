//! `plimsoll report --format markdown|summary`, the real binary over reports of
//! an attacker's, read as GitHub reads markdown.

#[path = "../project/mod.rs"]
mod project;
mod reader;

use std::path::Path;

use plimsoll_core::judge::Verdict;
use plimsoll_core::layout::valid_scenario_name;
use plimsoll_core::report::{
    Check, CheckOutcome, Failure, Finding, Report, StackGrowth, Standing, Subject, json,
};
use plimsoll_core::{FoldedStack, Rate, Tally};
use serde_json::Value;

use project::{Project, finding, report};
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

/// A report with something in each field, of that verdict.
fn full(scenario: &str, verdict: Verdict) -> Report {
    let mut report = report("r1", scenario, verdict);
    report.run.commit = Some("0123456".to_owned());
    let stack = |names: &str| FoldedStack(names.split(' ').map(str::to_owned).collect());
    let rate = Rate {
        objects: 1.0,
        bytes: 48.0,
    };
    let worst = match verdict {
        Verdict::Failed | Verdict::Broken => Verdict::Regressed,
        verdict => verdict,
    };
    for standing in [
        Standing::New,
        Standing::Exceeded,
        Standing::Expired,
        Standing::Stale,
        Standing::Moved,
    ] {
        report.findings.push(Finding {
            verdict: worst,
            standing,
            moved_from: (standing == Standing::Moved).then(|| stack("main other put")),
            reason: Some("a reason".to_owned()),
            ..finding("main fill put", rate)
        });
    }
    report.findings.push(Finding {
        verdict: worst,
        subject: Subject::Site {
            frames: stack("fill put"),
            stacks: 3,
        },
        frames: Vec::new(),
        ..finding("main fill put", rate)
    });
    for (name, outcome) in [
        ("canary", CheckOutcome::Failed),
        ("coverage", CheckOutcome::Unavailable),
    ] {
        report.checks.push(Check {
            name: name.to_owned(),
            outcome,
            detail: "expected one thing\nfound another".to_owned(),
        });
    }
    report.failure = Some(Failure {
        what: "panicked: it did".to_owned(),
        iteration: Some(7),
        output: "one line\nand another\n".to_owned(),
    });
    report.notes.push("a note".to_owned());
    for (names, bytes) in [("main fill put", 48.0), ("main drop free", -16.0)] {
        report.growth.push(StackGrowth {
            stack: stack(names),
            before: Tally::default(),
            after: Tally::default(),
            rate: Rate {
                objects: 1.0,
                bytes,
            },
            error: None,
        });
    }
    report
}

/// Where a report has strings that are free: all but the words of the format.
fn free_strings(report: &Report) -> Vec<String> {
    let value: Value = serde_json::from_str(&json::to_string(report)).unwrap();
    let mut places = Vec::new();
    strings(&value, String::new(), &mut places);
    let reads = |place: &String| {
        let mut value = value.clone();
        *value.pointer_mut(place).unwrap() = Value::String("any text".to_owned());
        json::parse(value.to_string().as_bytes()).is_ok()
    };
    places.retain(reads);
    assert!(places.len() >= 40, "{places:?}");
    places
}

/// The report with that text in each of those places.
fn poisoned(report: &Report, places: &[String], with: &str) -> Value {
    let mut value: Value = serde_json::from_str(&json::to_string(report)).unwrap();
    for place in places {
        *value.pointer_mut(place).unwrap() = Value::String(with.to_owned());
    }
    value
}

fn strings(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::String(_) => places.push(place),
        Value::Array(all) => {
            for (index, value) in all.iter().enumerate() {
                strings(value, format!("{place}/{index}"), places);
            }
        }
        Value::Object(all) => {
            for (key, value) in all {
                strings(value, format!("{place}/{key}"), places);
            }
        }
        _ => {}
    }
}

/// Both outputs, checked.
#[track_caller]
fn read(project: &Project, path: &Path) -> [Page; 2] {
    let path = path.to_str().unwrap();
    [("markdown", COMMENT), ("summary", SUMMARY)].map(|(format, limit)| {
        let ran = project.plimsoll(&["report", path, "--format", format]);
        assert_eq!(ran.status, Some(0), "{ran}");
        let size = match format {
            "markdown" => ran.stdout.encode_utf16().count(),
            _ => ran.stdout.len(),
        };
        assert!(size <= limit, "{size} in {format}");
        let page = Page::read(&ran.stdout);
        page.check();
        page
    })
}

fn write(project: &Project, value: &Value) -> std::path::PathBuf {
    project.write("x.json", &value.to_string());
    project.path("x.json")
}

#[test]
fn no_field_of_a_report_is_markdown() {
    let project = Project::new();
    let verdicts = [
        (
            Verdict::Regressed,
            "### 🔴 Leak check: 1 of 1 scenario keeps growing (+48 B per iteration)",
        ),
        (Verdict::Failed, "### 🔴 Leak check: 1 of 1 scenario failed"),
        (
            Verdict::Broken,
            "### 🔴 Leak check: 1 of 1 scenario could not be measured",
        ),
        (
            Verdict::Inconclusive,
            "### 🟡 Leak check: 1 of 1 scenario is inconclusive",
        ),
        (
            Verdict::Improved,
            "### 🟢 Leak check: 1 of 1 scenario is within its baseline; 1 allowance is no longer \
             needed; growth of 1 object per 1,000 iterations would have been seen",
        ),
        (
            Verdict::Within,
            "### 🟢 Leak check: 1 of 1 scenario is within its baseline; 1 allowance is no longer \
             needed; growth of 1 object per 1,000 iterations would have been seen",
        ),
    ];
    for (verdict, line) in verdicts {
        let report = full("http::echo", verdict);
        let places = free_strings(&report);
        // What can be typed has commands.
        let calm = ["calm", "a calm name"].map(|name| {
            read(
                &project,
                &write(&project, &poisoned(&report, &places, name)),
            )
        });
        for with in HOSTILE {
            let pages = read(
                &project,
                &write(&project, &poisoned(&report, &places, with)),
            );
            let calm = &calm[usize::from(!valid_scenario_name(with))];
            for (page, calm) in pages.iter().zip(calm) {
                assert_eq!(page.headline(), line.trim_start_matches("### "), "{with:?}");
                // Whatever the names, the page has the same parts; but output of
                // nothing is said to be nothing.
                if with.trim().is_empty() {
                    continue;
                }
                assert_eq!(page.outline(), calm.outline(), "{with:?} in {}", page.text);
            }
        }
    }
}

#[test]
fn no_problem_of_a_scenario_is_markdown() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let joined = project.plimsoll(&["report", "--format", "json"]).stdout;
    for with in HOSTILE {
        let mut value: Value = serde_json::from_str(&joined).unwrap();
        for key in ["package", "target", "scenario", "platform", "problem"] {
            value["scenarios"][1][key] = Value::String((*with).to_owned());
        }
        for page in read(&project, &write(&project, &value)) {
            assert_eq!(
                page.headline(),
                "⚪ Leak check: 1 of 2 scenarios has no result"
            );
            assert_eq!(page.tables, [2, 2], "{with:?} in {}", page.text);
        }
    }
}

#[test]
fn a_thousand_scenarios_with_long_names() {
    let project = Project::new();
    let long = |n: usize| format!("{n:04}{}", "`@|<&".repeat(99));
    let mut one = full("lru_churn", Verdict::Regressed);
    let stack: Vec<String> = (0..8).map(long).collect();
    for growth in &mut one.growth {
        growth.stack = FoldedStack(stack.clone());
    }
    one.run.scenarios = vec!["lru_churn".to_owned()];
    project.leave(&one, 0);
    let joined = project.plimsoll(&["report", "--format", "json"]).stdout;
    let mut value: Value = serde_json::from_str(&joined).unwrap();
    // A copy is short, so that a thousand are at most 8 MiB.
    let scenario = value["scenarios"][0].clone();
    let names = (0..1_000).map(|n| {
        let mut scenario = scenario.clone();
        scenario["scenario"] = Value::String(long(n));
        scenario["report"]["scenario"] = Value::String(long(n));
        if n >= 100 {
            scenario["report"]["growth"] = Value::Array(Vec::new());
        }
        scenario
    });
    value["scenarios"] = names.collect();
    let path = write(&project, &value);
    assert!(std::fs::metadata(&path).unwrap().len() <= 8 << 20);
    let [comment, summary] = read(&project, &path);
    for page in [&comment, &summary] {
        assert_eq!(
            page.headline(),
            "🔴 Leak check: 1,000 of 1,000 scenarios keep growing (up to +48 B per iteration)"
        );
        assert!(
            page.text.contains("Left out for length: the details of "),
            "{}",
            page.text
        );
    }
    // Ten rows and a head stand open.
    assert_eq!(comment.tables[0], 11);
    assert_eq!(summary.tables, [201, 801]);
    assert!(
        comment.text.contains(" rows of the tables; "),
        "{}",
        comment.text
    );
}

#[test]
fn giant_stacks() {
    let project = Project::new();
    let rate = Rate {
        objects: 1.0,
        bytes: 48.0,
    };
    for depth in [1, 100, 9_000] {
        let mut report = report("r1", "deep", Verdict::Regressed);
        let names: Vec<String> = (0..depth).map(|n| format!("frame{n}")).collect();
        report.growth.push(StackGrowth {
            stack: FoldedStack(names.clone()),
            before: Tally::default(),
            after: Tally::default(),
            rate,
            error: None,
        });
        report.findings.push(finding("main put", rate));
        let path = project.leave(&report, 0);
        for page in read(&project, &path) {
            let leaf = format!("frame{}", depth - 1);
            assert!(page.text.contains(&leaf), "{}", page.text);
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
