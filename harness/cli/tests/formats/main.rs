//! What programs read, as the real binary writes it: the joined report, SARIF
//! and JUnit XML.

mod joined;
mod junit;
#[path = "../project/mod.rs"]
mod project;
mod sarif;
#[path = "../../../core/tests/schema/mod.rs"]
mod schema;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{CheckOutcome, Report, Standing, Subject};
use plimsoll_core::{FoldedStack, Frame, Rate, Resource};
use plimsoll_text::escape::is_hidden;

use project::{Project, RATE, check, failure, finding, report};

/// Function, file and line, leaf first.
fn frames(frames: &[(&str, &str, u32)]) -> Vec<Frame> {
    let frame = |&(function, file, line): &(&str, &str, u32)| Frame {
        function: function.to_owned(),
        file: Some(file.to_owned()),
        line: Some(line),
    };
    frames.iter().map(frame).collect()
}

const PUT: (&str, &str, u32) = ("lru::LruCache::put", "lru-0.18.1/src/lib.rs", 212);

/// A scenario for each verdict and each kind of finding.
fn one_of_each() -> Vec<Report> {
    let mut growth = report("r1", "growth", Verdict::Regressed);
    let mut stack = finding("main fill lru::LruCache::put", RATE);
    let fill = ("fill", "scenarios/src/lru churn.rs", 14);
    stack.frames = frames(&[PUT, fill, ("main", "scenarios/src/main.rs", 3)]);
    let mut expired = finding("main agreed", RATE);
    (expired.standing, expired.allowed) = (Standing::Expired, RATE);
    expired.reason = Some("[until](https://x) the rewrite".to_owned());
    let mut unsure = finding("main unsure", RATE);
    unsure.verdict = Verdict::Inconclusive;
    let mut allowed = finding("main allowed", RATE);
    (allowed.verdict, allowed.standing) = (Verdict::Within, Standing::Allowed);
    let mut site = finding("lru::LruCache::put", RATE);
    site.subject = project::site("lru::LruCache::put", 1_024);
    site.frames = frames(&[PUT]);
    growth.findings = vec![stack, site, expired, unsure, allowed];

    let mut resources = report("r1", "resources", Verdict::Regressed);
    for subject in [
        Subject::Resource(Resource::Threads),
        Subject::Resource(Resource::Descriptors),
    ] {
        let mut one = finding("main", Rate { bytes: 0.0, ..RATE });
        one.subject = subject;
        one.frames.clear();
        resources.findings.push(one);
    }

    let mut improved = report("r1", "improved", Verdict::Improved);
    let mut stale = finding("main mended", Rate::default());
    (stale.verdict, stale.standing) = (Verdict::Improved, Standing::Stale);
    stale.allowed = RATE;
    stale.frames.clear();
    stale.levels.clear();
    improved.findings.push(stale);

    let mut failed = report("r1", "failed", Verdict::Failed);
    let what = "panicked: <no> \"route\" & [more]";
    failed.failure = failure(what, Some(4), "thread panicked\n");

    let mut broken = report("r1", "broken", Verdict::Broken);
    let why = "expected 64 objects, found 0\nhint: profile";
    broken
        .checks
        .push(check("canary", CheckOutcome::Failed, why));

    let within = report("r1", "within", Verdict::Within);
    let inconclusive = report("r1", "inconclusive", Verdict::Inconclusive);
    let healthy = [within, growth, resources, improved];
    let mut all = [&healthy[..], &[inconclusive, failed, broken]].concat();
    let names = all.iter().map(|one| one.scenario.clone());
    let names: Vec<String> = names.chain(["lost".to_owned()]).collect();
    for one in &mut all {
        one.run.scenarios.clone_from(&names);
    }
    all
}

/// The only report of a run on that platform.
fn measured_on(platform: &str, run: &str) -> Report {
    let mut one = alone(report(run, "lru_churn", Verdict::Within));
    one.measured.as_mut().unwrap().target = platform.to_owned();
    one
}

/// As the only scenario of its run.
fn alone(mut report: Report) -> Report {
    report.run.scenarios = vec![report.scenario.clone()];
    report
}

/// What is written of a project; twice the same, unless it is so long that it takes seconds.
#[track_caller]
fn written(project: &Project, format: &str, args: &[&str]) -> String {
    let all = [&["report", "--format", format], args].concat();
    let ran = project.plimsoll(&all);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    if ran.stdout.len() < 100_000 {
        assert_eq!(
            ran.stdout,
            project.plimsoll(&all).stdout,
            "not the same again"
        );
    }
    ran.stdout
}

/// Names and messages that try to leave their place in a file.
const HOSTILE: &str =
    "a\u{1b}[31m\u{202e}b\u{7}\u{fffe}<x y='z'>\"&amp;]]>`|\\[c](https://x)\u{200b}\r\n{0}ü";

/// Everything that a report's author can write, hostile.
fn hostile() -> Report {
    with(HOSTILE)
}

/// Everything that a report's author can write.
fn with(text: &str) -> Report {
    let mut report = report("r1", HOSTILE, Verdict::Regressed);
    report.run.scenarios = vec![HOSTILE.to_owned()];
    report.run.package = "demo".to_owned();
    report.run.baseline = format!("../../{text}");
    report.run.files = text.to_owned();
    report.notes = vec![text.to_owned()];
    let mut one = finding("main", RATE);
    one.frames = frames(&[(text, text, 1), (text, "../../../etc/passwd", 0)]);
    one.subject = Subject::Stack(FoldedStack(vec![text.to_owned()]));
    one.reason = Some(text.to_owned());
    report.findings = vec![one];
    report
}

/// Characters that must be nowhere in a file.
#[track_caller]
fn assert_clean(text: &str) {
    let bad = |c: &char| *c != '\n' && is_hidden(*c);
    assert_eq!(text.chars().find(bad), None, "{text}");
}

/// Whatever is hidden, in every text of a report and in every output that a person reads.
#[test]
fn what_is_hidden_is_in_no_output() {
    let all = || (char::MIN..=char::MAX).filter(|c| is_hidden(*c));
    let is_next =
        |c: char, by| char::from_u32(u32::from(c).wrapping_add_signed(by)).is_some_and(is_hidden);
    let is_end = |c: &char| !is_next(*c, -1) || !is_next(*c, 1);
    let hidden: String = all().filter(is_end).flat_map(|c| ['a', c]).collect();
    assert!(hidden.chars().count() > 100);
    let project = Project::with(&[with(&hidden)]);
    for format in ["text", "markdown", "html", "sarif", "junit"] {
        let ran = project.plimsoll(&["report", "--format", format]);
        assert!(ran.status.is_some_and(|status| status < 2), "{ran}");
        // What we put there ourselves, so that no bar ends a table's cell and nobody is called.
        let printed = ran.stdout.replace("@\u{200b}", "");
        assert_clean(&printed.replace("\\\u{200b}|", ""));
        assert_clean(&ran.stderr);
    }
}
