//! `plimsoll merge`: joins the reports of shards into one.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;

use crate::args::MergeArgs;
use plimsoll_core::judge::Verdict;
use plimsoll_desk::atomic;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::project::shown;
use plimsoll_report::input;
use plimsoll_report::joined::{self, Joined, Outcome, Scenario};

pub(crate) fn run(args: &MergeArgs, out: &mut Out) -> anyhow::Result<()> {
    let mut parts = Vec::new();
    for path in &args.reports {
        let name = shown(path);
        match input::read_shard(path, out)? {
            Some(part) => parts.push((name, part)),
            None => out.note(&format!("{name}: no reports, as of a shard without tests")),
        }
    }
    if parts.is_empty() {
        bail!(
            "none of them contains a report\n  hint: name the folder target/plimsoll of each shard"
        );
    }
    of_one_commit(&parts)?;
    of_one_list(&parts)?;
    let merged = joined::merge(parts);
    let scenarios = merged.joined.scenarios.iter().zip(&merged.results);
    for (scenario, results) in scenarios.filter(|(_, results)| results.len() > 1) {
        out.warning(&conflict(scenario, results));
    }
    let text = joined::json::to_string(&merged.joined);
    match &args.output {
        Some(path) => atomic::write_output(path, &text)?,
        None => out.print(&text)?,
    }
    complete(&merged.joined)
}

/// Refuses shards that were built from different commits.
fn of_one_commit(parts: &[(String, Joined)]) -> anyhow::Result<()> {
    let mut commits: BTreeMap<&str, &str> = BTreeMap::new();
    for (from, part) in parts {
        for commit in part.commits() {
            commits.entry(commit).or_insert(from);
        }
    }
    if commits.len() < 2 {
        return Ok(());
    }
    let lines = commits.iter();
    let lines = lines.map(|(commit, from)| format!("\n  {}: {from}", safe_line(commit)));
    bail!(
        "the reports are of different commits{}\n  hint: join the shards of one run",
        lines.collect::<String>()
    )
}

/// Refuses shards whose lists of scenarios differ, because then nobody knows whether one is
/// missing.
fn of_one_list(parts: &[(String, Joined)]) -> anyhow::Result<()> {
    type Target<'a> = (&'a str, &'a str, Option<&'a str>);
    let mut lists: BTreeMap<Target<'_>, (&str, BTreeSet<&str>)> = BTreeMap::new();
    for (from, part) in parts {
        let mut own: BTreeMap<Target<'_>, BTreeSet<&str>> = BTreeMap::new();
        for scenario in &part.scenarios {
            let (package, target) = (&*scenario.package, &*scenario.target);
            let target = (package, target, scenario.platform.as_deref());
            own.entry(target).or_default().insert(&scenario.name);
        }
        for (target, names) in own {
            let (first, known) = lists.entry(target).or_insert((from, names.clone()));
            let Some(only) = known.symmetric_difference(&names).next() else {
                continue;
            };
            let has = if known.contains(only) { *first } else { from };
            bail!(
                "the test target {} of {} has other scenarios in {first} than in {from}\n  \
                 {} is in {has} alone\n  hint: join the shards of one build",
                safe_line(target.1),
                safe_line(target.0),
                safe_line(only)
            );
        }
    }
    Ok(())
}

/// Returns the warning on several results: `lru_churn (demo, leaks) is regressed in shard-1
/// and within in shard-2: the worse counts`.
fn conflict(scenario: &Scenario, results: &[(String, Verdict)]) -> String {
    let results = results
        .iter()
        .map(|(from, verdict)| format!("{verdict} in {from}"));
    format!(
        "{} ({}, {}) is {}: the worse counts",
        safe_line(&scenario.name),
        safe_line(&scenario.package),
        safe_line(&scenario.target),
        results.collect::<Vec<_>>().join(" and ")
    )
}

/// Fails if a scenario has no result in any shard, and names each such scenario.
fn complete(joined: &Joined) -> anyhow::Result<()> {
    let titles = joined.titles();
    let scenarios = joined.scenarios.iter().zip(&titles);
    let missing = scenarios.filter_map(|(scenario, title)| match &scenario.outcome {
        Outcome::NoResult(why) => Some(format!("\n  {}: {}", safe_line(title), safe_line(why))),
        Outcome::Report(_) => None,
    });
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (n, have) = match missing.len() {
        1 => ("1 scenario".to_owned(), "has"),
        n => (format!("{n} scenarios"), "have"),
    };
    bail!(
        "{n} {have} no result in any shard{}\n  hint: name the folder of each shard separately",
        missing.concat()
    )
}
