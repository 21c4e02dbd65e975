//! What programs and GitHub read: SARIF, JUnit XML and markdown. No output has hidden characters.

mod junit;
mod markdown;
#[path = "../project/mod.rs"]
mod project;
mod sarif;
#[path = "../../../core/tests/schema/mod.rs"]
mod schema;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{CheckOutcome, Report, Standing, Subject};
use plimsoll_core::text::escape::is_hidden;
use plimsoll_core::{FoldedStack, Frame, Rate, Resource};
use plimsoll_report::joined::{Joined, Scenario, merge};

use project::{Project, RATE, check, failure, finding, report, site, stack, unused, within};

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

fn joined(report: Report) -> Joined {
    Joined::of_run(&report.run.id.clone(), [report.into()])
}

/// A scenario for each verdict, with each kind of finding, and one without a result.
fn one_of_each() -> Joined {
    let mut growth = report("r1", "growth", Verdict::Regressed);
    let mut new = finding("main fill lru::LruCache::put", RATE);
    let fill = ("fill", "scenarios/src/lru churn.rs", 14);
    new.frames = frames(&[PUT, fill, ("main", "scenarios/src/main.rs", 3)]);
    let mut expired = finding("main agreed", RATE);
    (expired.standing, expired.allowed) = (Standing::Expired, RATE);
    expired.reason = Some("[until](https://x) the rewrite".to_owned());
    let mut unsure = finding("main unsure", RATE);
    unsure.verdict = Verdict::Inconclusive;
    let mut allowed = finding("main allowed", RATE);
    (allowed.verdict, allowed.standing) = (Verdict::Within, Standing::Allowed);
    let mut several = finding("lru::LruCache::put", RATE);
    several.subject = site("lru::LruCache::put", 1_024);
    several.frames = frames(&[PUT]);
    growth.findings = vec![new, several, expired, unsure, allowed];

    let mut resources = report("r1", "resources", Verdict::Regressed);
    for resource in [Resource::Threads, Resource::Descriptors] {
        let mut one = finding("main", Rate { bytes: 0.0, ..RATE });
        one.subject = Subject::Resource(resource);
        one.frames.clear();
        resources.findings.push(one);
    }

    let mut improved = report("r1", "improved", Verdict::Improved);
    let mut stale = unused(Subject::Stack(stack("main mended")), Standing::Stale);
    stale.allowed = RATE;
    improved.findings.push(stale);

    let mut failed = report("r1", "failed", Verdict::Failed);
    let what = "panicked: <no> \"route\" & [more]";
    failed.failure = failure(what, Some(4), "thread panicked\n");

    let mut broken = report("r1", "broken", Verdict::Broken);
    let why = "expected 64 objects, found 0\nhint: profile";
    broken.checks = vec![check("canary", CheckOutcome::Failed, why)];
    // What a broken measurement found is no growth.
    broken.findings.push(finding("main fill", RATE));

    let inconclusive = report("r1", "inconclusive", Verdict::Inconclusive);
    let healthy = [within("r1", "within"), growth, resources, improved];
    let others = [inconclusive, failed, broken];
    let scenarios = healthy.into_iter().chain(others).map(Scenario::from);
    let why = "it left no report in this run";
    let lost = Scenario::without_result("demo", "leaks", "lost", why);
    Joined::of_run("r1", scenarios.chain([lost]))
}

/// Two targets with a scenario each, measured on each of these platforms.
fn measured_on(platforms: &[&str]) -> Joined {
    let runs = platforms.iter().map(|platform| {
        let mut one = within(&format!("on {platform}"), "lru_churn");
        one.measured.as_mut().unwrap().target = (*platform).to_owned();
        let mut slow = one.clone();
        slow.run.target = "slow".to_owned();
        let id = one.run.id.clone();
        let joined = Joined::of_run(&id, [one, slow].map(Scenario::from));
        (String::new(), joined)
    });
    merge(runs.collect()).joined
}

/// Names and messages that try to leave their place in a file.
const HOSTILE: &str =
    "a\u{1b}[31m\u{202e}b\u{7}\u{fffe}<x y='z'>\"&amp;]]>`|\\[c](https://x)\u{200b}\r\n{0}ü";

/// Everything that a report's author can write.
fn with(text: &str) -> Report {
    let mut report = report("r1", HOSTILE, Verdict::Regressed);
    report.run.scenarios = vec![HOSTILE.to_owned()];
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
