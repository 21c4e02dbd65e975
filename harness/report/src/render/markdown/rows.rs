//! The tables: a row for each scenario, worst first.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::text::seen;
use plimsoll_core::report::units::{bytes, plural};
use plimsoll_core::report::{Report, Subject};

use super::page::Rows;
use super::words::{self, Sum};
use super::{NAME, View, state, summary_line};
use plimsoll_text::sink::table_code_span;
use plimsoll_text::spark;

/// Characters of a trend.
const TREND: usize = 16;

const HEAD: &str = "\
| State | Scenario | Grows by, per iteration | Allowed | Live heap, first → last rung | Trend |
|:--|:--|--:|--:|:--|:--|
";
const GREEN_HEAD: &str = "\
| State | Scenario | Grows by, as allowed | Would have seen | Live heap, first → last rung |
|:--|:--|--:|:--|:--|
";

/// Those that need a person, as far as they are not folded.
pub(super) fn open(view: &View<'_>, places: &[usize]) -> Option<String> {
    if places.is_empty() {
        return None;
    }
    let rows: String = places.iter().map(|&place| row(view, place)).collect();
    Some(format!("{HEAD}{}", rows.trim_end()))
}

/// The rest of them.
pub(super) fn more(view: &View<'_>, places: &[usize]) -> Option<Rows> {
    let n = places.len() as u64;
    (n > 0).then(|| Rows {
        before: format!(
            "<details>{}\n\n{HEAD}",
            summary_line(&plural(
                n,
                "more scenario that is not green",
                "more scenarios that are not green"
            ))
        ),
        rows: places.iter().map(|&place| row(view, place)).collect(),
        after: "\n</details>".to_owned(),
    })
}

/// All that are green.
pub(super) fn green(view: &View<'_>) -> Option<Rows> {
    let places: Vec<usize> = view.green().collect();
    let n = places.len() as u64;
    (n > 0).then(|| Rows {
        before: format!(
            "<details>{}\n\n{GREEN_HEAD}",
            summary_line(&plural(
                n,
                "scenario within its baseline",
                "scenarios within their baselines"
            ))
        ),
        rows: places.iter().map(|&place| green_row(view, place)).collect(),
        after: "\n</details>".to_owned(),
    })
}

fn row(view: &View<'_>, place: usize) -> String {
    let scenario = &view.joined.scenarios[place];
    let title = table_code_span(&view.titles[place], NAME);
    let state = state(scenario);
    let Some(report) = scenario.report() else {
        return format!("| {state} | {title} | – | – | – | – |\n");
    };
    let (grows, allowed) = match words::growing(report) {
        found if !found.is_empty() => (Sum::of(report, &found).cell(), words::allowed(&found)),
        _ if report.verdict == Verdict::Regressed && words::is_only_expired(report) => {
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
        let used = report.findings.iter();
        let used: Vec<_> = used.filter(|finding| !finding.is_unused()).collect();
        match used.is_empty() {
            true => "none".to_owned(),
            false => Sum::of(report, &used).cell(),
        }
    });
    let seen = report.and_then(seen);
    format!(
        "| {} | {title} | {grows} | {} | {} |\n",
        state(scenario),
        seen.unwrap_or_else(none),
        report.and_then(live).unwrap_or_else(none),
    )
}

/// `1.1 MiB → 1.6 MiB`
pub(super) fn live(report: &Report) -> Option<String> {
    let [first, .., last] = report.rungs.as_slice() else {
        return None;
    };
    Some(format!(
        "{} → {}",
        self::size(first.live.bytes),
        self::size(last.live.bytes)
    ))
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn size(value: u64) -> String {
    bytes(value as f64)
}

/// The level of what grows most at every rung, or else of the whole heap.
fn trend(report: &Report) -> Option<String> {
    let growing = words::growing(report);
    let worst = growing.first();
    let levels: Vec<u64> = match worst {
        Some(finding) if finding.levels.len() > 1 => match finding.subject {
            Subject::Threads | Subject::Descriptors => {
                finding.levels.iter().map(|level| level.objects).collect()
            }
            _ => finding.levels.iter().map(|level| level.bytes).collect(),
        },
        _ => report.rungs.iter().map(|rung| rung.live.bytes).collect(),
    };
    (levels.len() > 1).then(|| spark::line(&levels, TREND))
}
