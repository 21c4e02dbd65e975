//! The verdict of all scenarios together, in one line.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{count, plural, visible};
use plimsoll_core::report::{Report, Visible};

use crate::joined::{Joined, Scenario};
use crate::render::entries::{Entry, Kind};

/// Returns the verdict of all scenarios together. It quotes nothing from a report.
pub(super) fn plain(joined: &Joined, entries: &[Entry<'_>]) -> String {
    let scenarios = &joined.scenarios;
    match joined.verdict() {
        Some(Verdict::Within | Verdict::Improved) => {
            let n = scenarios.len();
            format!("{} {}", of_all(n, n), within(n))
        }
        None if scenarios.is_empty() => "no result, no scenario was measured".to_owned(),
        _ => not_green(scenarios, entries),
    }
}

fn not_green(scenarios: &[Scenario], entries: &[Entry<'_>]) -> String {
    let count_of = |wanted: Option<Verdict>| {
        let verdicts = scenarios.iter().map(Scenario::verdict);
        verdicts.filter(|verdict| *verdict == wanted).count()
    };
    let (broken, failed) = (Some(Verdict::Broken), Some(Verdict::Failed));
    let (broken, failed) = (count_of(broken), count_of(failed));
    // A workload that failed may have leaked before.
    let is_measured = |report: &&Report| report.verdict < Verdict::Broken;
    let measured = || reports(scenarios).filter(is_measured);
    let grows = measured()
        .filter(|report| !report.growing().is_empty())
        .count();
    let expired = measured()
        .filter(|report| report.is_only_expired() && report.growing().is_empty())
        .count();
    let regressed = count_of(Some(Verdict::Regressed));
    let others = regressed.saturating_sub(grows + expired);
    let (unsure, no_result) = (count_of(Some(Verdict::Inconclusive)), count_of(None));
    let growing = grows + others;
    let parts = [
        (broken, "could not be measured".to_owned()),
        (failed, "failed".to_owned()),
        (
            growing,
            format!(
                "{} growing{}",
                verb(growing, "keeps", "keep"),
                amount(entries)
            ),
        ),
        (
            expired,
            verb(
                expired,
                "has an expired allowance",
                "have expired allowances",
            )
            .to_owned(),
        ),
        (
            unsure,
            format!("{} inconclusive", verb(unsure, "is", "are")),
        ),
        (
            no_result,
            format!("{} no result", verb(no_result, "has", "have")),
        ),
    ];
    let parts = parts.into_iter().filter(|(n, _)| *n > 0).enumerate();
    let parts = parts.map(|(place, (n, what))| match place {
        0 => format!("{} {what}", of_all(n, scenarios.len())),
        _ => format!("{} {what}", count(n as u64)),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns what grows, if it has one cause: ` by +48 B per iteration (allowed: 0 B)`. Of
/// several causes, each has its own number further down.
fn amount(entries: &[Entry<'_>]) -> String {
    let growing: Vec<_> = entries
        .iter()
        .filter(|entry| entry.kind == Kind::Grows)
        .collect();
    match growing.as_slice() {
        [entry] => entry.cause().map_or(String::new(), |cause| {
            format!(" by {}", entry.grows(cause).plain())
        }),
        several => format!(" for {} reasons", count(several.len() as u64)),
    }
}

/// Returns a count such as `2 of 14 scenarios`.
fn of_all(n: usize, all: usize) -> String {
    format!(
        "{} of {}",
        count(n as u64),
        plural(all as u64, "scenario", "scenarios")
    )
}

fn verb(n: usize, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

fn within(n: usize) -> &'static str {
    verb(n, "is within its baseline", "are within their baselines")
}

fn reports(scenarios: &[Scenario]) -> impl Iterator<Item = &Report> {
    scenarios.iter().filter_map(Scenario::report)
}

/// Returns the smallest growth that every scenario of a green run would have detected. `None`
/// if the run is not green, if a scenario has no detection limit, or if
/// their rates are not per the same.
pub(super) fn seen_by_all(joined: &Joined) -> Option<String> {
    let is_green = matches!(joined.verdict(), Some(Verdict::Within | Verdict::Improved));
    let mut coarsest: Option<Visible> = None;
    let per = &reports(&joined.scenarios).next()?.per;
    for report in reports(&joined.scenarios).filter(|_| is_green) {
        // Seconds and requests do not compare.
        let rate = report.visible.filter(|_| report.per == *per)?;
        if coarsest.is_none_or(|other| coarseness(rate) > coarseness(other)) {
            coarsest = Some(rate);
        }
    }
    visible(coarsest?, per)
}

/// Returns a detection limit in objects per iteration, with 8 bytes as one object. If the rate
/// has both objects and bytes, the smaller result counts. A limit that is not known is the coarsest.
fn coarseness(seen: Visible) -> f64 {
    let parts = [seen.objects, seen.bytes.map(|rate| rate / 8.0)].into_iter();
    let known = parts.flatten().filter(|rate| *rate > 0.0);
    known.reduce(f64::min).unwrap_or(f64::INFINITY)
}
