//! `--format markdown|summary` over reports of an attacker's, read as GitHub reads markdown.

use comrak::nodes::NodeValue;
use comrak::{Arena, Options, format_xml, parse_document};
use plimsoll_core::judge::Verdict;
use plimsoll_core::layout::valid_scenario_name;
use plimsoll_core::report::{CheckOutcome, Finding, Report, Standing};
use plimsoll_core::{FoldedStack, Rate};
use plimsoll_report::input::{self, Reader};
use plimsoll_report::joined::{Joined, Scenario};
use plimsoll_report::render::{Context, markdown};

use crate::project::{
    check, failure, finding, free_strings, growth, poisoned, rate, report, site, stack, within,
};

/// What somebody might call a function.
const HOSTILE: &[&str] = &[
    "@someone",
    "#123 GH-1 owner/repo#1 fixes #2",
    "https://evil.example/a www.evil.example me@evil.example",
    "<script>alert(1)</script>",
    "</code></b></summary></details><h1>x",
    "</details>\n\n# all is well\n\n",
    "<details open><summary>x",
    "<b",
    "<!-- hidden",
    "<!-- plimsoll:v1 key=main -->",
    "<![CDATA[ x ]]> <?php ?> <!DOCTYPE x>",
    "&lt;b&gt; &#64;someone &amp;",
    "`",
    "a`b``c```d",
    "```\n\n# out\n\n```",
    "~~~\nx\n~~~",
    "`````text",
    "a|b",
    "|||| |:-:|",
    "a\n| x | y |\n|---|---|\n| 1 | 2 |",
    "**bold** _em_ ~~gone~~ [x](https://evil.example) ![x](https://evil.example/x.png)",
    "[[wiki]] [^1] [ref]\n\n[ref]: https://evil.example\n\n[^1]: note",
    "- [ ] task\n- [x] done",
    "# title\n=====\n-----",
    "> quote",
    ":tada: :+1:",
    "a\u{2028}\u{2029}\u{85}\u{b}\u{c}b",
    "\u{0}\u{1}\u{7f}\u{9b}2J",
    "a\t\n\r\n b",
    "😀👩‍👩‍👧🏽",
];

const RATE: Rate = rate(1.0, 48.0);

/// A report with something in each field, of that verdict.
fn full(verdict: Verdict) -> Report {
    let mut report = report("r1", "http::echo", verdict);
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
    let detail = "expected one thing\nfound another";
    report.checks = vec![
        check("canary", CheckOutcome::Failed, detail),
        check("coverage", CheckOutcome::Unavailable, detail),
    ];
    report.failure = failure("panicked: it did", Some(7), "one line\nand another\n");
    report.notes.push("a note".to_owned());
    report.growth = vec![
        growth("main fill put", RATE),
        growth("main drop free", rate(1.0, -16.0)),
    ];
    report
}

/// A comment and a summary.
fn rendered(joined: &Joined) -> [String; 2] {
    let [comment, summary] =
        [markdown::comment, markdown::summary].map(|render| render(joined, &Context::default()));
    let size = comment.encode_utf16().count();
    assert!(size <= 65_000, "{size} in a comment");
    assert!(summary.len() <= 1 << 20, "{} in a summary", summary.len());
    [comment, summary]
}

/// A page as GitHub reads it, without what stands in code: all the rest has to be ours.
fn read(page: &str) -> String {
    let mut options = Options::default();
    let extension = &mut options.extension;
    (extension.table, extension.strikethrough) = (true, true);
    (extension.autolink, extension.tasklist) = (true, true);
    (extension.footnotes, extension.alerts) = (true, true);
    let arena = Arena::new();
    let root = parse_document(&arena, page, &options);
    for node in root.descendants() {
        match &mut node.data_mut().value {
            NodeValue::Code(code) => code.literal.clear(),
            NodeValue::CodeBlock(block) => {
                assert!(block.fenced && block.closed, "{page}");
                block.literal.clear();
            }
            NodeValue::HtmlBlock(block) => {
                let mut parts = block.literal.split("<code>");
                let mut ours = parts.next().unwrap_or_default().to_owned();
                for part in parts {
                    ours += part.split_once("</code>").unwrap().1;
                }
                block.literal = ours;
            }
            _ => {}
        }
    }
    let mut xml = String::new();
    format_xml(root, &options, &mut xml).unwrap();
    xml
}

/// Asserts that both pages say the same, whatever the names.
#[track_caller]
fn say_the_same(render: impl Fn(&str) -> [String; 2]) {
    let read_with = |text: &str| render(text).map(|page| (read(&page), page));
    // What can be typed has commands.
    let calm = ["calm", "a calm name"].map(&read_with);
    for with in HOSTILE {
        let calm = &calm[usize::from(!valid_scenario_name(with))];
        for ((read, page), (calm, _)) in read_with(with).iter().zip(calm) {
            assert_eq!(read, calm, "{with:?} in {page}");
        }
    }
}

#[test]
fn no_field_of_a_report_is_markdown() {
    use Verdict::{Broken, Failed, Improved, Inconclusive, Regressed, Within};
    for verdict in [Regressed, Failed, Broken, Inconclusive, Improved, Within] {
        let report = full(verdict);
        let places = free_strings(&report);
        say_the_same(|text| {
            let value = poisoned(&report, &places, text).to_string();
            rendered(&input::parse(value.as_bytes(), Reader::Desk).unwrap())
        });
    }
}

#[test]
fn no_problem_of_a_scenario_is_markdown() {
    say_the_same(|text| {
        let mut lost = Scenario::without_result(text, text, text, text);
        lost.platform = Some(text.to_owned());
        let scenarios = [within("r1", "lru_churn").into(), lost];
        rendered(&Joined::of_run("r1", scenarios))
    });
}

#[test]
fn a_thousand_scenarios_with_long_names() {
    let long = |n: usize| format!("{n:04}{}", "`@|<&".repeat(99));
    let stack: Vec<String> = (0..8).map(long).collect();
    let mut report = full(Verdict::Regressed);
    for growth in &mut report.growth {
        growth.stack = FoldedStack(stack.clone());
    }
    let scenarios = (0..1_000).map(|n| {
        let mut report = report.clone();
        report.scenario = long(n);
        Scenario::from(report)
    });
    let joined = Joined::of_run("r1", scenarios);
    for page in rendered(&joined) {
        let headline = "### 🔴 Leak check: 1,000 of 1,000 scenarios keep growing for 2 reasons\n";
        assert!(page.starts_with(headline), "{page}");
        assert!(page.contains("950 more"), "{page}");
    }
}
