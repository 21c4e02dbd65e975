//! Rows that may be left out: further entries, and the scenarios that are green.

use plimsoll_core::report::Report;
use plimsoll_core::report::units::plural;
use plimsoll_core::report::view::Sum;

use super::page::Rows;
use super::{NAME, View, entry, is_green, state, summary_line};
use crate::render::entries::{Entry, worst_first};
use plimsoll_core::text::sink::table_code_span;

/// Returns the folded list of further entries, one line each.
pub(super) fn more(view: &View<'_>, entries: &[Entry<'_>]) -> Rows {
    let rows = entries.iter();
    let rows = rows.map(|one| format!("- {}\n", entry::first_line(view, one)));
    folded(rows.collect(), "more cause", "more causes", "")
}

/// Returns the folded table of all green scenarios.
pub(super) fn green(view: &View<'_>) -> Rows {
    let places = worst_first(view.joined).into_iter();
    let green = places.filter(|place| is_green(&view.joined.scenarios[*place]));
    let rows = green.map(|place| green_row(view, place)).collect();
    let one = "scenario within its baseline";
    let head = "| State | Scenario | Grows by, as allowed | Would have seen |\n|:--|:--|--:|:--|\n";
    folded(rows, one, "scenarios within their baselines", head)
}

/// Returns rows below a line that counts them.
fn folded(rows: Vec<String>, one: &str, many: &str, head: &str) -> Rows {
    let summary = summary_line(&plural(rows.len() as u64, one, many));
    Rows {
        before: format!("<details>{summary}\n\n{head}"),
        rows,
        after: "\n</details>".to_owned(),
    }
}

fn green_row(view: &View<'_>, place: usize) -> String {
    let scenario = &view.joined.scenarios[place];
    let title = table_code_span(&view.titles[place], NAME);
    let none = || "–".to_owned();
    let report = scenario.report();
    let grows = report.map_or_else(none, |report| {
        match report.of(|finding| !finding.is_unused()) {
            used if used.is_empty() => "none".to_owned(),
            used => cell(&Sum::of(report, &used)),
        }
    });
    let seen = report.and_then(Report::seen).unwrap_or_else(none);
    format!("| {} | {title} | {grows} | {seen} |\n", state(scenario))
}

/// Returns amounts such as `**+48 B**, +1.00 objects`.
fn cell(sum: &Sum) -> String {
    let amounts = sum.amounts().into_iter().enumerate();
    let amounts = amounts.map(|(place, amount)| match place {
        0 => format!("**{}**{}", amount.number, amount.rest),
        _ => amount.number + &amount.rest,
    });
    amounts.collect::<Vec<_>>().join(", ")
}
