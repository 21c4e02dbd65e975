//! What a comment says that only the bot can know, and what no report of the gallery shows. The
//! gallery (`xtask/src/gallery`) has a comment for each verdict.

use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Failure, Finding, Report};

use super::{comment, no_result, summary};
use crate::joined::NoResult;
use crate::render::fixtures::{finding, joined, regressed, report};
use crate::render::{Context, Image, Marker, Touched, TouchedKind};

fn context() -> Context {
    Context {
        marker: Some(Marker {
            lines: "<!-- plimsoll:v1 key=main -->\n<!-- plimsoll:meta {\"run\":77,\"attempt\":2,\
                    \"sha\":\"2bc8970aa\",\"job\":\"c0ffee\",\"state\":\"red\"} -->"
                .to_owned(),
            run: 77,
            attempt: 2,
        }),
        head: Some("2bc8970aa".to_owned()),
        base: Some("9f31c02bb".to_owned()),
        job_url: Some("https://example.org/o/r/actions/runs/77".to_owned()),
        report_url: Some("https://example.org/o/r/actions/runs/77/artifacts/5".to_owned()),
        ..Context::default()
    }
}

/// The comment of reports at a desk.
fn told(reports: Vec<Report>) -> String {
    comment(&joined(reports), &Context::default())
}

#[test]
fn of_a_long_output_the_beginning_and_the_end_are_shown() {
    let mut bad = report("a", Verdict::Failed);
    bad.failure = Some(Failure {
        what: "panicked: index out of bounds".to_owned(),
        iteration: Some(1_234),
        output: (1..=40).map(|n| format!("line {n}\n")).collect(),
    });
    let told = told(vec![bad]);
    let shown = "```text\nline 1\nline 2\nline 3\nline 4\nline 5\n… 10 lines left out\nline 16\n";
    assert!(told.contains(shown), "{told}");
    assert!(told.contains("line 40\n```"), "{told}");
}

#[test]
fn what_may_grow() {
    let mut unsure = report("a", Verdict::Inconclusive);
    unsure.findings.push(Finding {
        verdict: Verdict::Inconclusive,
        ..finding("main put", 16.0)
    });
    let told = told(vec![unsure]);
    for said in [
        "🟡 Unsure: may grow by **+16 B**, +1.00 objects per iteration (allowed: 0 B) in `put`",
        "To be found: 1 object or 8 B per 1,000 iterations; would have been seen: 1 object per",
        "try twice as much, or make an iteration cheaper, as `cargo test --release` or",
    ] {
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn measured_by_the_code_under_review() {
    let workflow = touched(TouchedKind::Workflow, ".github/workflows/leaks.yml");
    let baseline = touched(TouchedKind::Baseline, "baselines/a`@b`.toml");
    let context = Context {
        untrusted: true,
        touched: vec![workflow, baseline],
        ..context()
    };
    let text = comment(&joined(vec![report("a", Verdict::Within)]), &context);
    let (_, text) = text.split_once("-->\n\n").unwrap();
    assert_snapshot!(text.replace('\u{200b}', "(U+200B)"), @"
    ### ⚪ Leak check: 1 of 1 scenario is within its baseline

    **Measured by this pull request's own code.** The numbers are that code's word: nobody else has checked them.

    **This pull request changes files that decide its own result**, in 2 files:

    - `.github/workflows/leaks.yml`: workflow
    - ``baselines/a`@(U+200B)b`.toml``: baseline, which says what may grow

    <sub>[report](https://example.org/o/r/actions/runs/77/artifacts/5) · [measuring job](https://example.org/o/r/actions/runs/77) · growth of 1 object per 1,000 iterations would have been seen · plimsoll 0.1.0 · base `9f31c02` · head `2bc8970` · `x86_64-unknown-linux-gnu` · run 77, attempt 2</sub>
    ");
}

fn touched(kind: TouchedKind, path: &str) -> Touched {
    let path = path.to_owned();
    Touched { kind, path }
}

#[test]
fn many_touched_files_hide_no_other_kind() {
    let tests = (0..60).map(|n| touched(TouchedKind::Test, &format!("tests/{n:03}.rs")));
    let workflow = touched(TouchedKind::Workflow, ".github/workflows/x.yml");
    let baseline = touched(TouchedKind::Baseline, "baselines/a.toml");
    let context = Context {
        touched: tests.chain([baseline, workflow]).collect(),
        ..Context::default()
    };
    let text = comment(&joined(vec![report("a", Verdict::Within)]), &context);
    for expected in [
        "in 62 files:\n\n- `.github/workflows/x.yml`: workflow\n- `tests/000.rs`: leak test\n",
        "- `tests/009.rs`: leak test\n- and 50 more: leak test\n- `baselines/a.toml`: baseline",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn nothing_to_show() {
    assert_snapshot!(no_result(&context(), NoResult::OtherHead), @r#"
    <!-- plimsoll:v1 key=main -->
    <!-- plimsoll:meta {"run":77,"attempt":2,"sha":"2bc8970aa","job":"c0ffee","state":"red"} -->

    ### ⚪ Leak check: no result

    The run's report names another commit than the one that was to be measured. Nothing is known of this change: this is not a pass. (`other-head`)

    <sub>[report](https://example.org/o/r/actions/runs/77/artifacts/5) · [measuring job](https://example.org/o/r/actions/runs/77) · plimsoll 0.1.0 · base `9f31c02` · head `2bc8970` · run 77, attempt 2</sub>
    "#);
}

#[test]
fn no_scenarios_are_no_result() {
    let headline = "### ⚪ Leak check: no result, no scenario was measured\n";
    assert!(told(Vec::new()).starts_with(headline));
}

#[test]
fn images_say_in_words_what_they_show() {
    let bad = regressed("a", &[("main \"><script>@someone put", 48.0)]);
    let image = |theme: &str| format!("https://example.org/o/r/raw/0abc/{theme}.svg");
    let mut context = context();
    let images = Image {
        light: image("light"),
        dark: image("dark"),
    };
    context.images.insert(0, images.clone());
    let text = comment(&joined(vec![bad.clone()]), &context);
    let start = text.find("<picture>").unwrap();
    let end = text.find("</picture>").unwrap();
    assert_snapshot!(&text[start..end], @r#"
    <picture>
    <source media="(prefers-color-scheme: dark)" srcset="https://example.org/o/r/raw/0abc/dark.svg">
    <img alt="Flame graph: +48 B per iteration; 100 % of the growth on the stack put, called by &quot;&gt;&lt;script&gt;@someone, called by main" src="https://example.org/o/r/raw/0abc/light.svg" width="800">
    "#);
    // An address that is none is no reason to say nothing.
    let dark = "https://example.org/\"onerror=".to_owned();
    context.images.insert(0, Image { dark, ..images });
    assert!(!comment(&joined(vec![bad]), &context).contains("<picture>"));
}

#[test]
fn a_summary_has_no_marker_and_more_rows_open() {
    let bad = (0..30).map(|n| regressed(&format!("s{n:02}"), &[(&format!("main s{n:02}"), 48.0)]));
    let all = joined(bad.collect());
    let (page, short) = (summary(&all, &context()), comment(&all, &context()));
    assert!(page.starts_with("### 🔴 Leak check: 30 of 30 scenarios keep growing for 30 reasons"));
    assert!(short.starts_with("<!-- plimsoll:v1 key=main -->\n<!-- plimsoll:meta {"));
    assert_eq!(page.matches("\n🔴 **+48 B**").count(), 30);
    assert!(!page.contains("more causes"));
    assert!(short.contains("<summary>20 more causes</summary>"));
    assert_eq!(short.matches("\n🔴 **+48 B**").count(), 10);
    assert_eq!(short.matches("\n- 🔴 **+48 B**").count(), 20);
}

#[test]
fn a_scenario_of_two_platforms_is_accepted_once() {
    let one = |name, bytes| regressed(name, &[("main put", bytes)]);
    let text = told(vec![one("slow", 1.0), one("fast", 100.0), one("slow", 1.0)]);
    let command = "cargo plimsoll accept fast slow --reason";
    assert!(text.contains(command), "{text}");
}

#[test]
fn every_run_and_commit_is_counted() {
    let last = |commits: [&str; 2], runs: &[&str]| {
        let with_commit = |commit: &str| {
            let mut report = report(&format!("of_{commit}"), Verdict::Within);
            report.run.commit = Some(commit.repeat(8));
            report
        };
        let mut all = joined(commits.map(with_commit).to_vec());
        all.runs = runs.iter().map(|run| (*run).to_owned()).collect();
        let text = comment(&all, &Context::default());
        text.lines().last().unwrap().to_owned()
    };
    assert_snapshot!(last(["abcde", "abcde"], &["r1"]), @"<sub>growth of 1 object per 1,000 iterations would have been seen · plimsoll 0.1.0 · commit `abcdeab` · `x86_64-unknown-linux-gnu` · run `r1`</sub>");
    assert_snapshot!(last(["fedcb", "abcde"], &["r1", "r2", "r3", "r4", "r5"]), @"<sub>growth of 1 object per 1,000 iterations would have been seen · plimsoll 0.1.0 · commits `abcdeab`, `fedcbfe` · `x86_64-unknown-linux-gnu` · runs `r1`, `r2`, `r3`, 2 more</sub>");
}

#[test]
fn what_is_typed_measures_the_same_again() {
    let mut report = regressed("a", &[("main put", 48.0)]);
    // The target `leak-tests`, which the compiler knows as `leak_tests`.
    report.run.target = "leak_tests".to_owned();
    report.measured.as_mut().unwrap().profile = "release".to_owned();
    let text = told(vec![report]);
    let command = "\ncargo test --release -p demo --test 'leak?tests' -- --exact a\n";
    assert!(text.contains(command), "{text}");
}
