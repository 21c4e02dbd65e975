//! One entry: what happened, where, what it means, what to do, and how to measure it again.

use std::collections::BTreeSet;

use plimsoll_core::report::units::plural;
use plimsoll_core::report::view::shortened;
use plimsoll_core::report::{Check, CheckOutcome, Report};
use plimsoll_core::text::sink::{code_span, fenced};
use plimsoll_core::text::words::Words;

use super::{NAME, View, first, icon, joined, more, summary_line};
use crate::render::capital;
use crate::render::entries::{Entry, Kind};

/// The most scenarios without a result that are named.
const MAX_NAMES: usize = 10;
/// The most lines of a workload's output, and of a check's detail.
const MAX_LINES: usize = 30;
const MAX_DETAIL: usize = 10;
const MAX_CHECKS: usize = 5;
/// The most columns of a quoted line.
pub(super) const LINE: usize = 160;
/// More columns than any command has.
const COMMAND: usize = 6_000;

/// Returns the entry without its stacks and pictures. Commands that stand above are left out.
pub(super) fn block(view: &View<'_>, entry: &Entry<'_>, above: &mut BTreeSet<String>) -> String {
    let mut parts = vec![first_line(view, entry)];
    parts.extend(held(view, entry));
    parts.extend(means(view, entry));
    let report = entry.worst().report();
    match (entry.kind, report) {
        (Kind::Broken, Some(report)) => parts.extend(broken(report)),
        (Kind::Failed, Some(report)) => parts.push(failed(report)),
        (Kind::Unsure, Some(report)) => parts.push(unsure(report)),
        _ => {}
    }
    parts.extend(commands(view, entry).filter(|commands| above.insert(commands.clone())));
    parts.join("\n\n")
}

/// Returns the verdict with its number, and the place, in one line.
pub(super) fn first_line(view: &View<'_>, entry: &Entry<'_>) -> String {
    let icon = icon(entry.verdict());
    if entry.kind == Kind::NoResult {
        return format!("{icon} {}", no_result(view, entry));
    }
    let place = entry.cause().and_then(|cause| cause.place());
    let is_said = view.is_in_headline(entry);
    let words = match place {
        Some(place) => {
            let place = Words::default()
                .say(if is_said { "In " } else { " in " })
                .join(place);
            let words = match is_said {
                true => place,
                false => title(entry).join(place),
            };
            let scenario = if entry.members.len() == 1 {
                "scenario "
            } else {
                ""
            };
            let words = words.say(format!(" ({scenario}"));
            words.join(entry.scenarios(&view.titles)).say(")")
        }
        None => {
            let scenarios = entry.scenarios(&view.titles);
            scenarios.say(": ").join(entry.title())
        }
    };
    let line = words.markdown(NAME, |file, line| view.links.line(file, line));
    format!("{icon} {line}")
}

/// Returns the title of an entry at the beginning of a sentence.
fn title(entry: &Entry<'_>) -> Words {
    match entry.kind {
        Kind::Unsure => Words::default().say("Unsure: ").join(entry.title()),
        _ => entry.title(),
    }
}

/// Returns who holds what grows.
fn held(view: &View<'_>, entry: &Entry<'_>) -> Option<String> {
    let held = entry.cause()?.held().into_iter().map(|words| {
        let line = words.markdown(NAME, |file, line| view.links.line(file, line));
        sentence(&line)
    });
    joined(held, " ")
}

/// Returns what the growth means: for a service, by who stayed, and against the base.
fn means(view: &View<'_>, entry: &Entry<'_>) -> Option<String> {
    entry.cause()?;
    let since = view.since(entry);
    let since = since.map(|since| since.markdown(NAME, |_, _| None));
    let (means, filling) = (entry.means().into_iter(), entry.filling().into_iter());
    let sentences = means.map(|text| sentence(&text)).chain(since);
    joined(sentences.chain(filling.map(|text| sentence(&text))), " ")
}

/// Returns the commands in one block, each below a comment that says what it does.
fn commands(view: &View<'_>, entry: &Entry<'_>) -> Option<String> {
    let steps = entry.steps(view.joined).into_iter();
    let lines = steps.map(|step| format!("# {}\n{}", step.to, step.command));
    Some(fenced(&joined(lines, "\n")?, COMMAND))
}

/// Returns one sentence on all scenarios without a result.
fn no_result(view: &View<'_>, entry: &Entry<'_>) -> String {
    let said = entry.reasons().into_iter().map(|(why, members)| {
        let names = members.iter().map(|one| view.title(one.place));
        let names = first(MAX_NAMES, names, more);
        format!("{} ({})", names.join(", "), code_span(why, LINE))
    });
    let n = entry.members.len();
    let have = if n == 1 { "has" } else { "have" };
    format!(
        "{} {have} no result, and did not pass: {}.",
        plural(n as u64, "scenario", "scenarios"),
        said.collect::<Vec<_>>().join("; ")
    )
}

/// Returns what the workload printed, folded.
fn failed(report: &Report) -> String {
    let output = report
        .failure
        .as_ref()
        .map_or("", |failure| failure.output.as_str());
    if output.trim().is_empty() {
        return "It printed nothing.".to_owned();
    }
    format!(
        "<details>{}\n\n{}\n\n</details>",
        summary_line("What it printed"),
        fenced(&shortened(output, MAX_LINES), LINE)
    )
}

fn broken(report: &Report) -> Vec<String> {
    let failed: Vec<&Check> = report.checks(CheckOutcome::Failed).collect();
    let mut parts = Vec::new();
    for check in failed.iter().take(MAX_CHECKS) {
        let detail: Vec<&str> = check.detail.lines().take(MAX_DETAIL).collect();
        let mut words = Words::default();
        if failed.len() > 1 {
            words = words
                .say("The check ")
                .quote(&check.name)
                .say(" failed:\n\n");
        }
        parts.push(words.markdown(60, |_, _| None) + &fenced(&detail.join("\n"), LINE));
        parts.extend(check.hint().map(sentence));
    }
    if let more @ 1.. = failed.len().saturating_sub(MAX_CHECKS) {
        let checks = plural(more as u64, "check", "checks");
        parts.push(format!("And {checks} more."));
    }
    if let Some(failure) = &report.failure {
        parts.push(fenced(&failure.what, LINE));
        parts.push(self::failed(report));
    }
    parts
}

fn unsure(report: &Report) -> String {
    let seen = report.seen();
    let seen = seen.map_or(String::new(), |seen| {
        format!("; would have been seen: {seen}")
    });
    let too_few = report.too_few_for_the_interval();
    let too_few = too_few.map_or(String::new(), |why| format!(". {}", capital(&why)));
    let advice: Vec<String> = report.advice().iter().map(|one| sentence(one)).collect();
    let settle = match advice.is_empty() {
        true => String::new(),
        false => format!("\n\nWhat would settle it? {}", advice.join(" ")),
    };
    let said = match report.to_be_found() {
        Some(wanted) => format!("To be found: {wanted}{seen}{too_few}."),
        None => String::new(),
    };
    format!("{said}{settle}").trim_start().to_owned()
}

/// Returns a fragment as a sentence.
pub(super) fn sentence(fragment: &str) -> String {
    (capital(fragment) + ".").replace("?.", "?")
}
