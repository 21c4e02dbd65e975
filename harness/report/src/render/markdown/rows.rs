//! The tables: one row for each scenario, worst first.

use plimsoll_core::Tally;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{plural, size};
use plimsoll_core::report::view::Sum;
use plimsoll_core::report::{Finding, Report};

use super::page::Rows;
use super::{NAME, View, state, summary_line};
use plimsoll_text::sink::table_code_span;
use plimsoll_text::spark;

/// The most characters of a trend.
const TREND: usize = 16;

const HEAD: &str = "\
| State | Scenario | Grows by, per iteration | Allowed | Live heap, first → last rung | Trend |
|:--|:--|--:|--:|:--|:--|
";
const GREEN_HEAD: &str = "\
| State | Scenario | Grows by, as allowed | Would have seen | Live heap, first → last rung |
|:--|:--|--:|:--|:--|
";

/// Returns the open table of the scenarios at `places`, which are not green.
pub(super) fn open(view: &View<'_>, places: &[usize]) -> Option<String> {
    if places.is_empty() {
        return None;
    }
    let rows: String = places.iter().map(|&place| row(view, place)).collect();
    Some(format!("{HEAD}{}", rows.trim_end()))
}

/// Returns the folded table of further scenarios that are not green.
pub(super) fn more(view: &View<'_>, places: &[usize]) -> Option<Rows> {
    let one = "more scenario that is not green";
    let rows = places.iter().map(|&place| row(view, place));
    folded(
        one,
        "more scenarios that are not green",
        HEAD,
        rows.collect(),
    )
}

fn folded(one: &str, many: &str, head: &str, rows: Vec<String>) -> Option<Rows> {
    let summary = summary_line(&plural(rows.len() as u64, one, many));
    (!rows.is_empty()).then(|| Rows {
        before: format!("<details>{summary}\n\n{head}"),
        rows,
        after: "\n</details>".to_owned(),
    })
}

/// Returns the folded table of all green scenarios.
pub(super) fn green(view: &View<'_>) -> Option<Rows> {
    let one = "scenario within its baseline";
    let rows = view.green().map(|place| green_row(view, place));
    folded(
        one,
        "scenarios within their baselines",
        GREEN_HEAD,
        rows.collect(),
    )
}

fn row(view: &View<'_>, place: usize) -> String {
    let scenario = &view.joined.scenarios[place];
    let title = table_code_span(&view.titles[place], NAME);
    let state = state(scenario);
    let Some(report) = scenario.report() else {
        return format!("| {state} | {title} | – | – | – | – |\n");
    };
    let (grows, allowed) = match report.growing() {
        found if !found.is_empty() => {
            (cell(&Sum::of(report, &found)), Sum::allowed(&found).short())
        }
        _ if report.verdict == Verdict::Regressed && report.is_only_expired() => {
            ("no longer".to_owned(), "expired".to_owned())
        }
        _ => ("–".to_owned(), "–".to_owned()),
    };
    format!(
        "| {state} | {title} | {grows} | {allowed} | {} | {} |\n",
        live(report).unwrap_or_else(|| "–".to_owned()),
        trend(report).map_or_else(|| "–".to_owned(), |trend| format!("`{trend}`")),
    )
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
    let seen = report.and_then(Report::seen);
    format!(
        "| {} | {title} | {grows} | {} | {} |\n",
        state(scenario),
        seen.unwrap_or_else(none),
        report.and_then(live).unwrap_or_else(none),
    )
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

/// Returns the live heap at the first and last rung: `1.1 MiB → 1.6 MiB`.
pub(super) fn live(report: &Report) -> Option<String> {
    let [first, .., last] = report.rungs.as_slice() else {
        return None;
    };
    let (first, last) = (size(first.live.bytes), size(last.live.bytes));
    Some(format!("{first} → {last}"))
}

/// Returns a finding's level at every rung: bytes, or the number of threads or file
/// descriptors.
pub(super) fn levels(finding: &Finding) -> Vec<u64> {
    let level = |level: &Tally| match finding.is_heap() {
        true => level.bytes,
        false => level.objects,
    };
    finding.levels.iter().map(level).collect()
}

/// Returns the trend over the rungs of what grows most, or else of the whole live heap.
fn trend(report: &Report) -> Option<String> {
    let growing = report.growing();
    let worst = growing.first();
    let levels: Vec<u64> = match worst {
        Some(finding) if finding.levels.len() > 1 => levels(finding),
        _ => report.rungs.iter().map(|rung| rung.live.bytes).collect(),
    };
    (levels.len() > 1).then(|| spark::line(&levels, TREND))
}
