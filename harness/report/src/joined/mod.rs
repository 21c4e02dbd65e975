//! The reports of one run as one value, from whichever files they came.
//!
//! ```text
//! folder of report.json ──► Reports ──► Joined ──► text, markdown, html, SARIF, JUnit
//! joined report (a file) ──────────────►   │  ▲
//!                                          ▼  │ several, of a matrix or of shards
//!                               joined report (json)
//! ```
//!
//! A scenario that its target lists but that left no report is part of the value, without a
//! result: a missing report never counts as green.

pub mod json;
mod merge;
mod no_result;

use std::collections::BTreeMap;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Report;
use plimsoll_core::report::json::required;
use serde::{Deserialize, Serialize};

pub use merge::merge;
pub use no_result::NoResult;

/// The reports of one run, or of several runs that are shown together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joined {
    /// The ids of the runs.
    pub runs: Vec<String>,
    /// The change that CI measured; `None` for a local run.
    pub source: Option<Source>,
    /// Sorted by package and target, and in each target by its own list.
    pub scenarios: Vec<Scenario>,
}

/// The change that a run measured, in GitHub's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// `owner/name` of the repository whose workflow ran.
    pub repository: String,
    /// The event that started the run: `pull_request`, `merge_group`, `push`, …
    pub event: String,
    /// The id of the workflow run.
    pub run: u64,
    /// The attempt of the workflow run, from 1.
    pub attempt: u64,
    /// The pull request's number.
    #[serde(deserialize_with = "required")]
    pub pull_request: Option<u64>,
    /// The commit that is judged: the last commit of a pull request, not its merge commit.
    pub head: String,
    /// The commit that the pull request is to be merged into.
    #[serde(deserialize_with = "required")]
    pub base: Option<String>,
    /// The folder of the workspace in the repository; `""` for its root.
    pub prefix: String,
}

/// One scenario of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub package: String,
    pub target: String,
    pub name: String,
    /// The target triple that the scenario was measured on. A scenario without a measurement
    /// has the platform of the other results of its run, if they share one.
    pub platform: Option<String>,
    pub outcome: Outcome,
    /// If a run did not select the scenario and so left no result of it: its newest report, of
    /// an older run. It is for people alone, and changes no verdict.
    pub older: Option<Box<Report>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Report(Box<Report>),
    /// The run lists the scenario, but left no report of it. The text says why, as far as
    /// known.
    NoResult(String),
}

impl Scenario {
    /// Returns a scenario without a result, before its platform has a name.
    pub fn without_result(
        package: &str,
        target: &str,
        name: &str,
        why: impl Into<String>,
    ) -> Scenario {
        Scenario {
            package: package.to_owned(),
            target: target.to_owned(),
            name: name.to_owned(),
            platform: None,
            outcome: Outcome::NoResult(why.into()),
            older: None,
        }
    }

    pub fn verdict(&self) -> Option<Verdict> {
        self.report().map(|report| report.verdict)
    }

    /// Returns what people call the scenario: its name, or its benchmark's.
    pub fn title(&self) -> &str {
        self.report().map_or(&self.name, |report| report.title())
    }

    pub fn report(&self) -> Option<&Report> {
        match &self.outcome {
            Outcome::Report(report) => Some(report),
            Outcome::NoResult(_) => None,
        }
    }
}

impl From<Report> for Scenario {
    /// Returns the scenario of a report, before its platform has a name.
    fn from(report: Report) -> Self {
        Scenario {
            package: report.run.package.clone(),
            target: report.run.target.clone(),
            name: report.scenario.clone(),
            platform: None,
            outcome: Outcome::Report(Box::new(report)),
            older: None,
        }
    }
}

/// The words in place of a verdict if there is none.
pub const NO_RESULT: &str = "no result";

/// Returns how much a scenario needs a person: the greater, the more.
///
/// No result ranks above the verdicts that need nothing, as it does in the run's own verdict,
/// and below every other verdict.
pub fn need(verdict: Option<Verdict>) -> u8 {
    match verdict {
        Some(Verdict::Within) => 0,
        Some(Verdict::Improved) => 1,
        None => 2,
        Some(Verdict::Inconclusive) => 3,
        Some(Verdict::Regressed) => 4,
        Some(Verdict::Failed) => 5,
        Some(Verdict::Broken) => 6,
    }
}

/// Returns the verdict in words, or [`NO_RESULT`].
pub fn word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or(NO_RESULT, Verdict::as_str)
}

impl Joined {
    /// Returns the scenarios of one run, and gives each its platform.
    pub fn of_run(id: &str, scenarios: impl IntoIterator<Item = Scenario>) -> Joined {
        let mut joined = Joined {
            runs: vec![id.to_owned()],
            source: None,
            scenarios: scenarios.into_iter().collect(),
        };
        joined.name_platforms();
        joined
    }

    /// Returns the run's own verdict: the worst verdict of its scenarios.
    ///
    /// A scenario without a result turns a green run into one without a verdict. It does not
    /// change any worse verdict.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdicts = self.scenarios.iter().map(Scenario::verdict);
        let greatest = verdicts.clone().flatten().max()?;
        let complete = verdicts.clone().all(|verdict| verdict.is_some());
        (complete || greatest > Verdict::Improved).then_some(greatest)
    }

    /// Returns how many scenarios have this verdict; `None` counts those without a result.
    pub fn count(&self, verdict: Option<Verdict>) -> usize {
        let verdicts = self.scenarios.iter().map(Scenario::verdict);
        verdicts.filter(|found| *found == verdict).count()
    }

    /// Returns every verdict that occurs with its number of scenarios: the mildest first, and
    /// no result last.
    pub fn counts(&self) -> Vec<(Option<Verdict>, usize)> {
        let verdicts = Verdict::ALL.into_iter().map(Some).chain([None]);
        let counts = verdicts.map(|verdict| (verdict, self.count(verdict)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Returns a title for each scenario: its name, and if others have the same name, whatever
    /// tells them apart.
    pub fn titles(&self) -> Vec<String> {
        let mut named: BTreeMap<&str, Vec<&Scenario>> = BTreeMap::new();
        for scenario in &self.scenarios {
            named.entry(&scenario.name).or_default().push(scenario);
        }
        let differ = |of: &[&Scenario], key: fn(&Scenario) -> Option<&str>| {
            of.iter().any(|scenario| key(scenario) != key(of[0]))
        };
        let keys: [fn(&Scenario) -> Option<&str>; 3] = [
            |scenario| Some(&scenario.package),
            |scenario| Some(&scenario.target),
            |scenario| scenario.platform.as_deref(),
        ];
        let title = |scenario: &Scenario| {
            let same = &named[scenario.name.as_str()];
            let telling = keys.iter().filter(|key| differ(same, **key));
            let more = telling.map(|key| key(scenario).unwrap_or("unknown platform"));
            let more: Vec<&str> = more.collect();
            match more.as_slice() {
                [] => scenario.title().to_owned(),
                more => format!("{} ({})", scenario.title(), more.join(", ")),
            }
        };
        self.scenarios.iter().map(title).collect()
    }

    /// Returns every report that there is.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.scenarios.iter().filter_map(Scenario::report)
    }

    /// Returns the commit of every report that names one.
    pub fn commits(&self) -> impl Iterator<Item = &str> {
        self.reports()
            .filter_map(|report| report.run.commit.as_deref())
    }

    /// Returns the platform that all results share. `None` if they differ, or if there is none.
    fn platform(&self) -> Option<&str> {
        let mut platforms = self.reports().filter_map(platform);
        let first = platforms.next()?;
        platforms.all(|one| one == first).then_some(first)
    }

    /// Sets the platform of every scenario: its own, or the one that all results share.
    pub fn name_platforms(&mut self) {
        let of_all = self.platform().map(str::to_owned);
        for scenario in &mut self.scenarios {
            let own = scenario.report().and_then(platform).map(str::to_owned);
            scenario.platform = own
                .or_else(|| scenario.platform.take())
                .or_else(|| of_all.clone());
        }
    }
}

/// Returns the platform that a report was measured on. `None` if it does not say: a server may
/// be on any.
fn platform(report: &Report) -> Option<&str> {
    let target = report.measured.as_ref()?.target.as_str();
    (!target.is_empty()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    fn part(run: &str, platform: Option<&str>, scenarios: &[&str]) -> Joined {
        let scenario = |name: &&str| Scenario {
            platform: platform.map(str::to_owned),
            ..fixtures::lost(name)
        };
        Joined::of_run(run, scenarios.iter().map(scenario))
    }

    #[test]
    fn titles_say_no_more_than_they_must() {
        let mut joined = part("1", Some("x86_64"), &["a", "b"]);
        assert_eq!(joined.titles(), ["a", "b"]);
        joined
            .scenarios
            .extend(part("1", Some("aarch64"), &["b"]).scenarios);
        assert_eq!(joined.titles(), ["a", "b (x86_64)", "b (aarch64)"]);
        joined.scenarios[2].package = "other".to_owned();
        assert_eq!(
            joined.titles(),
            ["a", "b (demo, x86_64)", "b (other, aarch64)"]
        );
    }

    #[test]
    fn a_platform_without_a_result_stays() {
        let parts = || {
            [
                part("1", Some("x86_64"), &["a", "b"]),
                part("2", Some("aarch64"), &["a"]),
                part("3", Some("x86_64"), &["b"]),
            ]
            .map(|part| (String::new(), part))
            .to_vec()
        };
        let merged = merge(parts()).joined;
        assert_eq!(merged.titles(), ["a (x86_64)", "b", "a (aarch64)"]);
        assert_eq!(merged.runs, ["1", "2", "3"]);
        assert_eq!(merged.verdict(), None);
        let mut reversed = parts();
        reversed.reverse();
        assert_eq!(merge(reversed).joined, merged);
    }
    #[test]
    fn of_two_reports_with_one_verdict_the_order_decides_nothing() {
        let one = fixtures::report("a", Verdict::Within);
        let mut other = one.clone();
        other.notes.push("another".to_owned());
        let merged = |reports: [&Report; 2]| {
            let part = |report: &Report| Joined::of_run("r1", [report.clone().into()]);
            merge(reports.map(|one| (String::new(), part(one))).to_vec())
        };
        let both = merged([&one, &other]);
        assert_eq!(both.results[0].len(), 2);
        assert_eq!(merged([&other, &one]).joined, both.joined);
        // The same report twice is one result.
        assert_eq!(merged([&one, &one]).results[0].len(), 1);
    }
}
