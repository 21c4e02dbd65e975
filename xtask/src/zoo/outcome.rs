//! The content of a table's row, and whether the row is right. This module is pure.

use std::time::Duration;

use plimsoll_core::Rate;
use plimsoll_core::fold::normalize_frame;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, Subject};

use super::Job;
use super::manifest::Expected;
use super::run::Run;

/// The number of causes that a failing test shows.
const SHOWN_CAUSES: usize = 5;

/// One variant of a case, after its run.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) job: Job,
    /// The run, or cargo's errors if the build failed.
    pub(super) run: Result<Run, String>,
    /// The time of the build.
    pub(super) build: Duration,
    /// A note for people.
    pub(super) note: Option<String>,
}

/// What a run blames.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Blamed {
    /// The first frame shown, or the resource.
    pub(super) what: String,
    pub(super) rate: Rate,
    /// The number of other findings with the same verdict, shown or not.
    pub(super) others: usize,
}

impl Outcome {
    /// Returns why the outcome is not what the manifest expects; `None` if it is.
    pub(super) fn wrong(&self) -> Option<String> {
        let Job { case, expected, .. } = &self.job;
        match &self.run {
            Ok(run) => wrong(*expected, case.culprit.as_deref(), run),
            Err(_) => Some("it does not build".to_owned()),
        }
    }

    /// Returns the verdict, or the words in its place if there is none.
    pub(super) fn verdict(&self) -> &'static str {
        match self.run.as_ref().map(|run| &run.report) {
            Err(_) => "not built",
            Ok(Ok(report)) => report.verdict.as_str(),
            Ok(Err(_)) => "no report",
        }
    }
}

/// Returns why a run is not what is expected of it.
fn wrong(expected: Expected, culprit: Option<&str>, run: &Run) -> Option<String> {
    let report = match &run.report {
        Ok(report) => report,
        Err(why) => return Some(why.clone()),
    };
    if report.verdict != expected.verdict() {
        let (expected, found) = (expected.verdict(), report.verdict);
        return Some(format!("expected {expected}, found {found}"));
    }
    if run.passed != (report.verdict == Verdict::Within) {
        let did = if run.passed { "passed" } else { "failed" };
        return Some(format!("it is {}, but the test {did}", report.verdict));
    }
    let culprit = culprit.filter(|_| expected == Expected::Flag)?;
    let shown: Vec<&Finding> = shown(report).collect();
    let causes = report.causes(&shown).into_iter().take(SHOWN_CAUSES);
    let named = causes
        .flat_map(|cause| cause.findings)
        .any(|finding| names(finding, culprit));
    if !named {
        return Some(format!("`{culprit}` is in no place to blame that is shown"));
    }
    let mut notes = report.notes.iter();
    notes.find(|note| note.starts_with("who holds")).cloned()
}

/// Returns the findings that a failing test shows, in its order.
fn shown(report: &Report) -> impl Iterator<Item = &Finding> {
    let findings = report.findings.iter();
    findings.filter(|finding| finding.verdict >= Verdict::Regressed)
}

/// Returns whether the place to blame names the culprit.
fn names(finding: &Finding, culprit: &str) -> bool {
    let Some(blame) = &finding.blame else {
        return false;
    };
    // A frame does not show, for example, generic arguments.
    let folded = normalize_frame(culprit);
    blame.frames().any(|frame| {
        frame.function.contains(culprit) || (!folded.is_empty() && frame.function.contains(&folded))
    })
}

/// Returns the finding that a report blames first. If the report blames nothing for certain,
/// returns the first inconclusive finding.
pub(super) fn blamed(report: &Report) -> Option<Blamed> {
    let unsure = |finding: &&Finding| finding.verdict == Verdict::Inconclusive;
    let first = shown(report)
        .next()
        .or_else(|| report.findings.iter().find(unsure))?;
    let what = match (&first.subject, first.frames.first()) {
        (Subject::Resource(resource), _) => resource.many().to_owned(),
        (_, Some(frame)) => frame.function.clone(),
        (_, None) => "no frame".to_owned(),
    };
    let findings = report.findings.iter();
    let alike = findings.filter(|finding| finding.verdict == first.verdict);
    Some(Blamed {
        what,
        rate: first.rate,
        others: alike.count() - 1,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use plimsoll_core::blame::{Blame, Packages, SourceFiles};
    use plimsoll_core::fold::Trace;

    use super::super::manifest::{Case, Variant};
    use super::*;
    use crate::sample;

    /// Returns a report with these stacks, whose frames have no place. Each stack is written
    /// leaf first.
    fn report(verdict: Verdict, stacks: &[&[&str]]) -> Report {
        let rate = Rate {
            objects: 1.0,
            bytes: 304.0,
        };
        let finding = |frames: &&[&str]| {
            let names: Vec<&str> = frames.iter().rev().copied().collect();
            let mut finding = sample::finding(&names.join(" "), rate);
            finding.verdict = verdict;
            for frame in &mut finding.frames {
                (frame.file, frame.line) = (None, None);
            }
            let trace = Trace {
                frames: finding.frames.clone(),
                ..Trace::default()
            };
            let (packages, files) = (Packages::default(), SourceFiles::default());
            finding.blame = Blame::of(&trace, "a", &packages, &files);
            finding
        };
        let mut report = sample::report("1", "a", verdict);
        report.findings = stacks.iter().map(finding).collect();
        report
    }

    pub(in super::super) fn ran(verdict: Verdict, stacks: &[&[&str]]) -> Run {
        Run {
            took: Duration::from_millis(10_240),
            report: Ok(report(verdict, stacks)),
            passed: verdict == Verdict::Within,
            output: "output.txt".into(),
        }
    }

    pub(in super::super) fn outcome(
        expected: Expected,
        culprit: &str,
        run: Result<Run, String>,
    ) -> Outcome {
        let variant = match expected {
            Expected::Flag => Variant::Leaky,
            Expected::Pass => Variant::Fixed,
        };
        Outcome {
            job: Job {
                case: Case {
                    id: "bytes-owned-to-vec".to_owned(),
                    dir: "cases/a".into(),
                    culprit: Some(culprit.to_owned()),
                    variants: vec![variant],
                    expect: [(variant, expected)].into(),
                },
                variant,
                expected,
            },
            run,
            build: Duration::from_secs(5),
            note: None,
        }
    }

    #[track_caller]
    fn wrong(expected: Expected, culprit: &str, run: Run) -> String {
        outcome(expected, culprit, Ok(run))
            .wrong()
            .unwrap_or_else(|| "right".to_owned())
    }

    #[test]
    fn the_verdict_has_to_be_the_expected_one() {
        use Verdict::{Improved, Inconclusive, Regressed, Within};
        assert_eq!(wrong(Expected::Pass, "c", ran(Within, &[])), "right");
        for verdict in [Improved, Inconclusive, Regressed] {
            let found = wrong(Expected::Pass, "c", ran(verdict, &[]));
            assert_eq!(found, format!("expected within, found {verdict}"));
        }
        let unsure = wrong(Expected::Flag, "c", ran(Inconclusive, &[&["c"]]));
        assert_eq!(unsure, "expected regressed, found inconclusive");
    }

    #[test]
    fn the_place_to_blame_has_to_name_the_culprit() {
        let flagged = |culprit: &str, stacks: &[&[&str]]| {
            wrong(Expected::Flag, culprit, ran(Verdict::Regressed, stacks))
        };
        let nowhere = "`x::leak` is in no place to blame that is shown";
        assert_eq!(flagged("x::leak", &[&["x::leaky::c", "d"]]), "right");
        assert_eq!(flagged("x::leak", &[&["slab::new", "x::leak"]]), "right");
        assert_eq!(flagged("x::leak", &[&["x::a", "x::leak", "b"]]), nowhere);
        assert_eq!(flagged("x::leak", &[]), nowhere);
        let others: [&[&str]; 5] = [&["a::a"], &["b::b"], &["c::c"], &["d::d"], &["e::e"]];
        let culprit: &[&str] = &["x::leak"];
        assert_eq!(flagged("x::leak", &[others[0], culprit]), "right");
        let sixth = [&others[..], &[culprit]].concat();
        assert_eq!(flagged("x::leak", &sixth), nowhere);
        assert_eq!(flagged("<x::Map<K, V>>::put", &[&["x::Map::put"]]), "right");
    }

    #[test]
    fn who_holds_it_has_to_be_known() {
        let note = "who holds the objects of 1 stack is not known: the second run had none";
        let mut run = ran(Verdict::Regressed, &[&["x::leak"]]);
        run.report.as_mut().unwrap().notes.push(note.to_owned());
        assert_eq!(wrong(Expected::Flag, "x::leak", run), note);
    }

    #[test]
    fn a_run_without_a_report_and_one_that_lies() {
        let good = || ran(Verdict::Within, &[]);
        let silent = Run {
            report: Err("the test left no report".to_owned()),
            ..good()
        };
        let lies = Run {
            passed: false,
            ..good()
        };
        for (run, expected) in [
            (silent, "the test left no report"),
            (lies, "it is within, but the test failed"),
        ] {
            assert_eq!(wrong(Expected::Pass, "c", run), expected);
        }
    }
}
