//! One run's reports as one value, whichever files they came from.
//!
//! ```text
//! folder of report.json ──► Reports ──► Joined ──► text, markdown, html, SARIF, JUnit
//! joined report (a file) ──────────────►   │  ▲
//!                                          ▼  │ several, of a matrix or of shards
//!                               joined report (json)
//! ```
//!
//! A scenario that its target lists and that left no report is in it, without a
//! result: what is missing is never green.

pub mod json;
mod merge;
mod no_result;

use std::collections::BTreeMap;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Report;

pub use merge::{Twice, merge};
pub use no_result::NoResult;

/// The reports of one run; or of several that are shown together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joined {
    /// The ids of the runs.
    pub runs: Vec<String>,
    /// What the continuous integration measured; absent at a desk.
    pub source: Option<Source>,
    /// By package and target, in the order of each target's list.
    pub scenarios: Vec<Scenario>,
}

/// Which change a run measured, in GitHub's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// `owner/name` of the repository whose workflow ran.
    pub repository: String,
    /// The event that started it: `pull_request`, `merge_group`, `push`, …
    pub event: String,
    /// The id of the workflow run.
    pub run: u64,
    /// Which attempt of it, from 1.
    pub attempt: u64,
    /// The pull request's number.
    pub pull_request: Option<u64>,
    /// The commit that is judged: a pull request's last, not its merge.
    pub head: String,
    /// The commit that it is to be merged into.
    pub base: Option<String>,
    /// The folder of the workspace in the repository, `""` for its root.
    pub prefix: String,
}

/// One scenario of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub package: String,
    pub target: String,
    pub name: String,
    /// The target triple that it was measured on, or that the others of its run
    /// were.
    pub platform: Option<String>,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Report(Box<Report>),
    /// The run lists the scenario, but has no report of it; why, as far as known.
    NoResult(String),
}

impl Scenario {
    pub fn verdict(&self) -> Option<Verdict> {
        self.report().map(|report| report.verdict)
    }

    pub fn report(&self) -> Option<&Report> {
        match &self.outcome {
            Outcome::Report(report) => Some(report),
            Outcome::NoResult(_) => None,
        }
    }
}

/// What stands for a verdict where there is none.
pub const NO_RESULT: &str = "no result";

/// How much a scenario needs a person. No result is more than nothing to do, as in the run's own
/// verdict, and less than anything that was found.
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

/// A verdict, or that there is none, in words.
pub fn word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or(NO_RESULT, Verdict::as_str)
}

impl Joined {
    /// The run's own verdict: the greatest of its scenarios'. One without a
    /// result never makes a run green, and says less than any that is not.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdicts = self.scenarios.iter().map(Scenario::verdict);
        let greatest = verdicts.clone().flatten().max()?;
        let complete = verdicts.clone().all(|verdict| verdict.is_some());
        (complete || greatest > Verdict::Improved).then_some(greatest)
    }

    /// As many scenarios have that verdict; `None` for no result.
    pub fn count(&self, verdict: Option<Verdict>) -> usize {
        let verdicts = self.scenarios.iter().map(Scenario::verdict);
        verdicts.filter(|found| *found == verdict).count()
    }

    /// Every verdict that occurs with how often it does, mildest first, no
    /// result last.
    pub fn counts(&self) -> Vec<(Option<Verdict>, usize)> {
        let verdicts = Verdict::ALL.into_iter().map(Some).chain([None]);
        let counts = verdicts.map(|verdict| (verdict, self.count(verdict)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// What to call each scenario: its name, and as much more as tells it from
    /// the others of that name.
    pub fn titles(&self) -> Vec<String> {
        let mut named: BTreeMap<&str, Vec<&Scenario>> = BTreeMap::new();
        for scenario in &self.scenarios {
            named.entry(&scenario.name).or_default().push(scenario);
        }
        let differ = |of: &[&Scenario], key: fn(&Scenario) -> Option<&str>| {
            of.iter().any(|scenario| key(scenario) != key(of[0]))
        };
        let title = |scenario: &Scenario| {
            let same = &named[scenario.name.as_str()];
            let mut more = Vec::new();
            if differ(same, |scenario| Some(&scenario.package)) {
                more.push(scenario.package.as_str());
            }
            if differ(same, |scenario| Some(&scenario.target)) {
                more.push(&scenario.target);
            }
            if differ(same, |scenario| scenario.platform.as_deref()) {
                more.push(scenario.platform.as_deref().unwrap_or("unknown platform"));
            }
            match more.as_slice() {
                [] => scenario.name.clone(),
                more => format!("{} ({})", scenario.name, more.join(", ")),
            }
        };
        self.scenarios.iter().map(title).collect()
    }

    /// The platform of its results, where they have one and the same.
    fn platform(&self) -> Option<&str> {
        let mut platforms = self.scenarios.iter().filter_map(Scenario::report);
        let first = platforms.next()?.measured.as_ref()?.target.as_str();
        let same = |report: &Report| {
            let measured = report.measured.as_ref();
            measured.is_none_or(|measured| measured.target == first)
        };
        platforms.all(same).then_some(first)
    }

    /// Says of every scenario on which platform it was to be measured.
    pub fn name_platforms(&mut self) {
        let of_all = self.platform().map(str::to_owned);
        for scenario in &mut self.scenarios {
            let measured = scenario
                .report()
                .and_then(|report| report.measured.as_ref());
            let own = measured.map(|measured| measured.target.clone());
            scenario.platform = own
                .or_else(|| scenario.platform.take())
                .or_else(|| of_all.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(run: &str, platform: Option<&str>, scenarios: &[&str]) -> Joined {
        let scenario = |name: &&str| Scenario {
            package: "demo".to_owned(),
            target: "leaks".to_owned(),
            name: (*name).to_owned(),
            platform: platform.map(str::to_owned),
            outcome: Outcome::NoResult("it left no report in this run".to_owned()),
        };
        Joined {
            runs: vec![run.to_owned()],
            source: None,
            scenarios: scenarios.iter().map(scenario).collect(),
        }
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
}
