//! The first line of a page, and the sentence below it.

use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{count, plural, visible};
use plimsoll_core::report::view::Sum;
use plimsoll_core::report::{CheckOutcome, Report};

use super::{View, icon, links};
use crate::joined::{Joined, Outcome, Scenario};
use plimsoll_text::sink::code_span;

/// The most columns of a quoted sentence.
const SENTENCE: usize = 200;

/// Returns the verdict in one line. It quotes nothing from a report.
pub(super) fn verdict(view: &View<'_>) -> String {
    let icon = match view.joined.verdict() {
        Some(Verdict::Within | Verdict::Improved) if view.context.untrusted => icon(None),
        verdict => icon(verdict),
    };
    format!("### {icon} Leak check: {}", plain(view.joined))
}

/// Returns the verdict of all scenarios together.
pub(super) fn plain(joined: &Joined) -> String {
    let scenarios = &joined.scenarios;
    match joined.verdict() {
        Some(Verdict::Within | Verdict::Improved) => green(scenarios),
        None if scenarios.is_empty() => "no result, no scenario was measured".to_owned(),
        _ => not_green(scenarios),
    }
}

fn green(scenarios: &[Scenario]) -> String {
    let n = scenarios.len();
    let mut text = format!("{} {}", of_all(n, n), within(n));
    let stale: usize = reports(scenarios).map(|report| report.stale().len()).sum();
    if stale > 0 {
        text.push_str(&format!(
            "; {} {} no longer needed",
            plural(stale as u64, "allowance", "allowances"),
            verb(stale, "is", "are")
        ));
    }
    if let Some(seen) = seen_by_all(reports(scenarios)) {
        text.push_str(&format!("; growth of {seen} would have been seen"));
    }
    text
}

fn not_green(scenarios: &[Scenario]) -> String {
    let of = |wanted: Option<Verdict>| scenarios.iter().filter(move |one| one.verdict() == wanted);
    let count_of = |wanted| of(wanted).count();
    let is_expired = |one: &&Scenario| one.report().is_some_and(Report::is_only_expired);
    let (expired, growing): (Vec<&Scenario>, Vec<&Scenario>) =
        of(Some(Verdict::Regressed)).partition(is_expired);
    let broken = count_of(Some(Verdict::Broken));
    let growing_by = |verb: &str| format!("{verb} growing{}", amount(&growing));
    let unsure = count_of(Some(Verdict::Inconclusive));
    let (failed, no_result) = (count_of(Some(Verdict::Failed)), count_of(None));
    let parts = [
        (broken, "could not be measured".to_owned()),
        (failed, "failed".to_owned()),
        (
            growing.len(),
            growing_by(verb(growing.len(), "keeps", "keep")),
        ),
        (
            expired.len(),
            verb(
                expired.len(),
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

/// Returns the growth in brackets: ` (+48 B per iteration)`.
fn amount(growing: &[&Scenario]) -> String {
    let reports = growing.iter().filter_map(|scenario| scenario.report());
    let most = reports.max_by_key(|report| super::order_of_growth(report));
    let sum = most.map(|report| (report, report.growing()));
    let Some((report, findings)) = sum.filter(|(_, findings)| !findings.is_empty()) else {
        return String::new();
    };
    let up_to = if growing.len() > 1 { "up to " } else { "" };
    let most = Sum::of(report, &findings).short();
    format!(" ({up_to}{most} per iteration)")
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

/// Returns a sentence on the worst scenario, the number of green ones, and where to read on.
pub(super) fn sentence(view: &View<'_>) -> Option<String> {
    let mut text = String::new();
    if let Some(place) = view.open().next() {
        text = format!("{}.", worst(view, place));
        let green = view.green().count();
        if green > 0 {
            let scenarios = plural(green as u64, "scenario", "scenarios");
            text.push_str(&format!(" {scenarios} {}.", within(green)));
        }
    }
    let parts = Some(text).filter(|text| !text.is_empty()).into_iter();
    let parts: Vec<String> = parts.chain(links(view.context)).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn worst(view: &View<'_>, place: usize) -> String {
    let scenario = &view.joined.scenarios[place];
    let title = view.title(place);
    let report = match &scenario.outcome {
        Outcome::Report(report) => report,
        Outcome::NoResult(why) => {
            return format!("{title} has no result: {}", code_span(why, SENTENCE));
        }
    };
    match report.verdict {
        Verdict::Regressed if !report.growing().is_empty() && !report.is_only_expired() => {
            let growing = report.growing();
            format!(
                "{title} keeps **{} per iteration** (allowed: {})",
                Sum::of(report, &growing).short().trim_start_matches('+'),
                Sum::allowed(&growing).short()
            )
        }
        Verdict::Within | Verdict::Improved => format!("{title} is within its baseline"),
        _ => {
            let outcome = report.outcome();
            let failed = || report.checks(CheckOutcome::Failed).next();
            let cause = match &outcome.cause {
                Some(cause) => format!(": {}", code_span(cause, SENTENCE)),
                None => failed().map_or(String::new(), |check| {
                    format!(": the check {} failed", code_span(&check.name, 60))
                }),
            };
            format!("{title}: {}{cause}", outcome.said)
        }
    }
}

/// Returns the smallest growth that every one of the runs would have detected. `None` if a run
/// has no detection limit.
pub(super) fn seen_by_all<'a>(reports: impl Iterator<Item = &'a Report>) -> Option<String> {
    let mut coarsest: Option<Rate> = None;
    for report in reports {
        let rate = report.visible?;
        if coarsest.is_none_or(|other| coarseness(rate) > coarseness(other)) {
            coarsest = Some(rate);
        }
    }
    visible(coarsest?)
}

/// Returns a detection limit in objects per iteration, with 8 bytes as one object. If the rate
/// has both objects and bytes, the smaller result counts.
fn coarseness(rate: Rate) -> f64 {
    match (rate.objects > 0.0, rate.bytes > 0.0) {
        (true, true) => rate.objects.min(rate.bytes / 8.0),
        (true, false) => rate.objects,
        (false, _) => rate.bytes / 8.0,
    }
}
