//! The verdict of all scenarios together, in one line.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{count, plural, visible};
use plimsoll_core::report::{Report, Visible};

use crate::joined::Joined;
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
        _ => not_green(joined, entries),
    }
}

fn not_green(joined: &Joined, entries: &[Entry<'_>]) -> String {
    let scenarios = &joined.scenarios;
    let count_of = |verdict| joined.count(Some(verdict));
    // A workload that failed may have leaked before.
    let is_measured = |report: &&Report| report.verdict < Verdict::Broken;
    let measured = || joined.reports().filter(is_measured);
    let grows = measured()
        .filter(|report| !report.growing().is_empty())
        .count();
    let expired = measured()
        .filter(|report| report.is_only_expired() && report.growing().is_empty())
        .count();
    let others = count_of(Verdict::Regressed).saturating_sub(grows + expired);
    let (unsure, no_result) = (count_of(Verdict::Inconclusive), joined.count(None));
    let growing = grows + others;
    let keep = verb(growing, "keeps", "keep");
    let allowances = match expired {
        1 => "has an expired allowance",
        _ => "have expired allowances",
    };
    let are = verb(unsure, "is", "are");
    let have = verb(no_result, "has", "have");
    let (broken, failed) = (count_of(Verdict::Broken), count_of(Verdict::Failed));
    let parts = [
        (broken, "could not be measured".to_owned()),
        (failed, "failed".to_owned()),
        (growing, format!("{keep} growing{}", amount(entries))),
        (expired, allowances.to_owned()),
        (unsure, format!("{are} inconclusive")),
        (no_result, format!("{have} no result")),
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

/// Returns the smallest growth that every scenario of a green run would have detected. `None`
/// if the run is not green, if a scenario has no detection limit, or if
/// their rates are not per the same.
pub(super) fn seen_by_all(joined: &Joined) -> Option<String> {
    let is_green = matches!(joined.verdict(), Some(Verdict::Within | Verdict::Improved));
    let mut coarsest: Option<Visible> = None;
    let per = &joined.reports().next()?.per;
    for report in joined.reports().filter(|_| is_green) {
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
