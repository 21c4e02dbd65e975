//! Joins shards, or the jobs of a matrix, into one run.

use std::collections::BTreeMap;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, json};

use super::{Joined, Scenario};

/// Several parts as one run.
#[derive(Clone, Debug)]
pub struct Merged {
    pub joined: Joined,
    /// The origin of each result of each scenario, and its verdict.
    pub results: Vec<Vec<(String, Verdict)>>,
}

/// Joins the reports of a matrix or of shards. Each part comes with a name of its origin. The
/// order of the parts does not matter.
///
/// If one shard has no result of a scenario, the result of another shard on the same platform
/// counts. Of two results on one platform, the worse one counts.
pub fn merge(mut parts: Vec<(String, Joined)>) -> Merged {
    parts.sort_by(|(_, one), (_, two)| {
        let text = super::json::to_string;
        one.runs
            .cmp(&two.runs)
            .then_with(|| text(one).cmp(&text(two)))
    });
    let mut joined = Joined::default();
    // The index of each scenario's entry, and the results that were found for it.
    let mut places: BTreeMap<[String; 4], usize> = BTreeMap::new();
    let mut results: Vec<Vec<(String, Verdict)>> = Vec::new();
    for (from, part) in parts {
        for run in part.runs {
            if !joined.runs.contains(&run) {
                joined.runs.push(run);
            }
        }
        // The source of the newest attempt: the joined report is as new as its newest part.
        joined.source = match (joined.source.take(), part.source) {
            (Some(one), Some(two)) if two.attempt > one.attempt => Some(two),
            (one, two) => one.or(two),
        };
        for scenario in part.scenarios {
            let key = [
                scenario.package.clone(),
                scenario.target.clone(),
                scenario.platform.clone().unwrap_or_default(),
                scenario.name.clone(),
            ];
            let verdict = scenario.verdict().map(|verdict| (from.clone(), verdict));
            match places.get(&key) {
                None => {
                    places.insert(key, joined.scenarios.len());
                    results.push(verdict.into_iter().collect());
                    joined.scenarios.push(scenario);
                }
                Some(&place) => {
                    let found = &mut joined.scenarios[place];
                    // The same report in two folders is one result.
                    if !is_same(scenario.report(), found.report()) {
                        results[place].extend(verdict);
                    }
                    if counts_before(&scenario, found) {
                        *found = scenario;
                    }
                }
            }
        }
    }
    Merged { joined, results }
}

/// Returns whether both are the same report. The lists of their targets' scenarios are not
/// compared, because a report that was joined before has an empty list.
fn is_same(one: Option<&Report>, other: Option<&Report>) -> bool {
    let alone = |report: &Report| {
        let mut alone = report.clone();
        alone.run.scenarios.clear();
        alone
    };
    one.map(alone) == other.map(alone)
}

/// Returns whether `one` counts instead of `other`: whether its verdict is worse. If both
/// verdicts are equal, the reports' texts decide, so the result does not depend on their
/// order.
fn counts_before(one: &Scenario, other: &Scenario) -> bool {
    // `None` is less than every verdict.
    let by_verdict = one.verdict().cmp(&other.verdict());
    let text = |scenario: &Scenario| scenario.report().map(json::to_string);
    by_verdict.then_with(|| text(one).cmp(&text(other))).is_gt()
}
