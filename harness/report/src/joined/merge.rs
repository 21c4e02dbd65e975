//! Shards, or the jobs of a matrix, as one run.

use std::collections::BTreeMap;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, json};

use super::{Joined, Scenario};

/// One run of several parts.
#[derive(Clone, Debug)]
pub struct Merged {
    pub joined: Joined,
    /// In the order of `joined`.
    pub twice: Vec<Twice>,
}

/// A scenario with more than one result on one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twice {
    pub package: String,
    pub target: String,
    pub name: String,
    /// The part that each is from, and its verdict.
    pub results: Vec<(String, Verdict)>,
}

/// Joins the reports of a matrix, or of shards, whatever their order; each part with
/// where it is from.
///
/// A scenario that one shard has no result of takes the result of another that ran on
/// the same platform. Of two results on one platform the worse one counts.
pub fn merge(mut parts: Vec<(String, Joined)>) -> Merged {
    parts.sort_by(|(_, one), (_, two)| {
        let text = super::json::to_string;
        one.runs
            .cmp(&two.runs)
            .then_with(|| text(one).cmp(&text(two)))
    });
    let mut joined = Joined::default();
    // Where each scenario's entry is, and which results there were.
    let mut places: BTreeMap<[String; 4], usize> = BTreeMap::new();
    let mut results: Vec<Vec<(String, Verdict)>> = Vec::new();
    for (from, part) in parts {
        for run in part.runs {
            if !joined.runs.contains(&run) {
                joined.runs.push(run);
            }
        }
        // The newest attempt, by which the whole is as new as any part.
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
                    // One report in two folders is one result.
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
    let several = joined.scenarios.iter().zip(results);
    let several = several.filter(|(_, results)| results.len() > 1);
    let twice = several.map(|(scenario, results)| Twice {
        package: scenario.package.clone(),
        target: scenario.target.clone(),
        name: scenario.name.clone(),
        results,
    });
    Merged {
        twice: twice.collect(),
        joined,
    }
}

/// Whether they are of one measurement. A report that was joined before has lost the list
/// of its target's scenarios: the whole has it.
fn is_same(one: Option<&Report>, other: Option<&Report>) -> bool {
    let alone = |report: &Report| {
        let mut alone = report.clone();
        alone.run.scenarios.clear();
        alone
    };
    one.map(alone) == other.map(alone)
}

/// Whether it is the worse one; of two as bad, the choice does not depend on which came
/// first.
fn counts_before(one: &Scenario, other: &Scenario) -> bool {
    // `None` is the least of all.
    let by_verdict = one.verdict().cmp(&other.verdict());
    let text = |scenario: &Scenario| scenario.report().map(json::to_string);
    by_verdict.then_with(|| text(one).cmp(&text(other))).is_gt()
}
