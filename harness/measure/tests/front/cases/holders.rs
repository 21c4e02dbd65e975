//! Who holds what grows, for one workload of each kind.

use plimsoll_core::holders::{ChainEnd, Holders, LinkKind};

use plimsoll_core::judge::Verdict::Regressed;
use plimsoll_core::report::Report;

use super::Project;
use crate::PROGRAM;

/// Writes a chain down: the types from the objects upward, and the end.
fn written(holders: &Holders) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".to_owned());
    let links = holders.chain.iter().map(|link| match link.kind {
        LinkKind::Objects => name(&link.name),
        LinkKind::State => "state".to_owned(),
        kind => format!("{kind:?} {}", name(&link.name)),
    });
    let end = match (holders.end, &holders.cycle) {
        (ChainEnd::Root, _) => String::new(),
        (end, Some(back)) => format!(" {end:?} {} to {}", name(&back.from), name(&back.to)),
        (end, None) => format!(" {end:?}"),
    };
    let what = [name(&holders.what)].into_iter().chain(links);
    what.collect::<Vec<_>>().join(" < ") + &end
}

/// Scenarios, and below each what is said of its causes, and their chains as [`written`].
const HELD: &str = include_str!("holders.txt");

/// Those of the findings of a report.
fn chains(report: &Report) -> Vec<String> {
    let holders = report
        .findings
        .iter()
        .filter_map(|one| one.holders.as_ref());
    holders.map(written).collect()
}

pub(super) fn what_holds_each_kind_of_growth_is_named() {
    let project = Project::new("holders");
    let set = "MAX_ITERATIONS=1024 THRESHOLD=25";
    let mut command = project.leaks(&[], set);
    let output = command.env(PROGRAM, "holders").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for group in HELD.trim_end().split("\n\n") {
        let (scenario, rows) = group.split_once('\n').unwrap();
        let report = project.report(scenario);
        let chains = chains(&report);
        let begins = text.find(&format!("---- {scenario} ----")).unwrap();
        let section = text[begins + 5..].split("\n---- ").next().unwrap();
        let section = section.split_whitespace().collect::<Vec<_>>().join(" ");
        let all = format!("{scenario}: {chains:#?}, {:?}\n{section}", report.notes);
        for row in rows.lines() {
            let (said, chain) = row.split_once(" | ").unwrap();
            let is_named = chains.iter().any(|one| one == chain);
            assert!(is_named && section.contains(said), "{row}, {all}");
        }
        let causes = report.causes(&report.growing()).len();
        assert_eq!(causes, rows.lines().count(), "{all}");
        let is_weak = section.contains("only a `Weak`");
        assert_eq!(is_weak, scenario == "a_weak", "{all}");
    }
}

pub(super) fn where_holders_cannot_be_found_the_verdict_stands() {
    let project = Project::new("holders_hostile");
    let set = "MAX_ITERATIONS=1024 THRESHOLD=25";
    let mut command = project.leaks(&[], set);
    command.env(PROGRAM, "hostile").output().unwrap();
    for row in [
        "panics_the_second_time | not again",
        "exits_the_second_time | exited early, with status 3",
        "hangs_the_second_time | it took too long to run again",
        "keeps_nothing_the_second_time | the second run had none",
        "does_not_stop | 1 thread did not stop",
        // Nothing is said where they are found.
        "has_threads | ",
        "forks | ",
    ] {
        let (scenario, note) = row.split_once(" | ").unwrap();
        let report = project.report(scenario);
        assert_eq!(report.verdict, Regressed, "{scenario}");
        let notes = report.notes.join("\n");
        assert!(notes.contains(note), "{scenario}: {notes}");
        let chains = chains(&report);
        let is_lost = chains.iter().any(|one| one == "Box<Session> Lost");
        let found = (is_lost, chains.is_empty());
        assert_eq!(
            found,
            (note.is_empty(), !note.is_empty()),
            "{row}: {chains:?}"
        );
    }
}
