//! The block of one scenario that is not green: where it grows and how, or why nothing can be
//! said.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{count, plural, size};
use plimsoll_core::report::view::{Sum, counted};
use plimsoll_core::report::{Check, CheckOutcome, Failure, Finding, Report, Standing};

use super::rows::{levels, live};
use super::{NAME, View, commands};
use crate::joined::Outcome;
use crate::render::{capital, tree};
use plimsoll_text::sink::{code_span, fenced, html_attribute, html_code, url};
use plimsoll_text::spark;

/// The most findings in a list. A sixth stack would not help anybody to start.
const MAX_FINDINGS: usize = 5;
/// The most lines of a workload's output. A check's detail gets a third of them.
const MAX_LINES: usize = 30;
const MAX_CHECKS: usize = 5;
const MAX_NOTES: usize = 5;
/// The most columns of a quoted line.
const LINE: usize = 160;
const TREND: usize = 32;

/// Returns the whole block of one scenario.
pub(super) fn block(view: &View<'_>, place: usize, is_open: bool) -> String {
    let scenario = &view.joined.scenarios[place];
    let (about, body) = match &scenario.outcome {
        Outcome::Report(report) => (about(report), of_report(view, place, report)),
        Outcome::NoResult(why) => (
            "no result".to_owned(),
            format!("{}\n\nWhat left no result did not pass.", fenced(why, LINE)),
        ),
    };
    let open = if is_open { " open" } else { "" };
    let title = html_code(&view.titles[place], NAME);
    format!(
        "<details{open}><summary><b>{title}</b>: {about}</summary>\n\n{}\n\n</details>",
        body.trim_end()
    )
}

/// Returns the text beside a scenario's name. It has only plimsoll's words and numbers.
fn about(report: &Report) -> String {
    let growing = report.growing();
    let said = report.outcome().said;
    match report.verdict {
        Verdict::Within => "within its baseline".to_owned(),
        Verdict::Inconclusive => "inconclusive".to_owned(),
        Verdict::Regressed if !growing.is_empty() => {
            let amount = Sum::of(report, &growing).short();
            let share = match tree::share_of_widest(report) {
                Some(100) => "; all of the growth on one stack".to_owned(),
                Some(share) => format!("; {share} % of the growth on one stack"),
                None => String::new(),
            };
            format!("{said}, {amount} per iteration{share}")
        }
        _ => said,
    }
}

fn of_report(view: &View<'_>, place: usize, report: &Report) -> String {
    let mut parts: Vec<String> = Vec::new();
    match report.verdict {
        Verdict::Broken => parts.extend(broken(report)),
        Verdict::Failed => parts.extend(report.failure.as_ref().map(failed)),
        Verdict::Improved => parts.extend(improved(view, place, report)),
        Verdict::Inconclusive => parts.push(inconclusive(report)),
        Verdict::Regressed | Verdict::Within => {}
    }
    let shown = report.of(|finding| finding.verdict >= Verdict::Inconclusive);
    if report.verdict >= Verdict::Inconclusive {
        if report.verdict > Verdict::Regressed && !shown.is_empty() {
            parts.push("What grew until then:".to_owned());
        }
        if shown.iter().any(|finding| !finding.is_unused()) {
            parts.extend(picture(view, place, report));
            parts.extend(tree::render(report).map(|tree| fenced(&tree, tree::WIDTH)));
        }
        parts.extend(findings(report, &shown));
        parts.extend(over_the_rungs(report, &shown));
    }
    parts.extend(moved(report));
    parts.extend(remarks(report));
    let interactive = view.context.report_url.as_deref().and_then(url);
    if let Some(url) = interactive.filter(|_| !report.growth.is_empty()) {
        parts.push(format!("[Interactive flame graph]({url})"));
    }
    if parts.is_empty() {
        parts.push("The report has no more to say of it.".to_owned());
    }
    parts.join("\n\n")
}

/// Returns the flame graph as a `<picture>`. The browser chooses the image for the theme that
/// it shows.
fn picture(view: &View<'_>, place: usize, report: &Report) -> Option<String> {
    let image = view.context.images.get(&place)?;
    let (light, dark) = (url(&image.light)?, url(&image.dark)?);
    let growth = Sum::of(report, &report.growing()).short();
    let share = tree::share_of_widest(report).unwrap_or(0);
    let stack = tree::widest(report).map_or(String::new(), |frames| {
        let frames: Vec<&str> = frames.iter().rev().take(6).map(String::as_str).collect();
        let frames = frames.join(", called by ");
        format!("; {share} % of the growth on the stack {frames}")
    });
    let alt = format!("Flame graph: {growth} per iteration{stack}");
    Some(format!(
        "<picture>\n\
         <source media=\"(prefers-color-scheme: dark)\" srcset=\"{dark}\">\n\
         <img alt=\"{}\" src=\"{light}\" width=\"800\">\n\
         </picture>",
        html_attribute(&alt, 600)
    ))
}

/// Returns the first of these findings, each as an item of a list.
fn items(report: &Report, findings: &[&Finding]) -> Vec<String> {
    let item = |finding: &&Finding| format!("- {}", report.sentence(finding).markdown(NAME));
    findings.iter().take(MAX_FINDINGS).map(item).collect()
}

/// Returns a list of what grows.
fn findings(report: &Report, shown: &[&Finding]) -> Option<String> {
    if shown.is_empty() {
        return None;
    }
    let mut lines = items(report, shown);
    let rest = &shown[shown.len().min(MAX_FINDINGS)..];
    if !rest.is_empty() {
        lines.push(format!("- and {}", counted(rest, "more ")));
    }
    Some(lines.join("\n"))
}

/// Returns a sentence on the levels from the first rung to the last.
fn over_the_rungs(report: &Report, shown: &[&Finding]) -> Option<String> {
    let [first, .., last] = report.rungs.as_slice() else {
        return None;
    };
    let rungs = format!(
        "From {} to {}",
        count(first.iterations),
        plural(last.iterations, "iteration", "iterations")
    );
    let worst = shown.iter().find(|finding| finding.levels.len() > 1);
    let trend = worst.map(|finding| {
        let levels = levels(finding);
        let say = |value: Option<&u64>| match value {
            Some(value) if finding.is_heap() => size(*value),
            Some(value) => count(*value),
            None => "–".to_owned(),
        };
        format!(
            "the first of them {} → {} `{}`, ",
            say(levels.first()),
            say(levels.last()),
            spark::line(&levels, TREND)
        )
    });
    let live_levels: Vec<u64> = report.rungs.iter().map(|rung| rung.live.bytes).collect();
    Some(format!(
        "{rungs}: {}the live heap {} `{}`.",
        trend.unwrap_or_default(),
        live(report)?,
        spark::line(&live_levels, TREND)
    ))
}

fn failed(failure: &Failure) -> String {
    let what = format!(
        "Failed {}:\n\n{}",
        failure.at(),
        fenced(&failure.what, LINE)
    );
    let lines: Vec<&str> = failure.output.trim_end().lines().collect();
    if failure.output.trim().is_empty() {
        return what + "\n\nIt printed nothing.";
    }
    let skipped = lines.len().saturating_sub(MAX_LINES);
    let before = match skipped {
        0 => String::new(),
        n => format!(", after {}", plural(n as u64, "line more", "lines more")),
    };
    let end = fenced(&lines[skipped..].join("\n"), LINE);
    format!("{what}\n\nThe end of what it printed{before}:\n\n{end}")
}

fn broken(report: &Report) -> Vec<String> {
    let failed: Vec<&Check> = report.checks(CheckOutcome::Failed).collect();
    let mut parts = Vec::new();
    for check in failed.iter().take(MAX_CHECKS) {
        let detail: Vec<&str> = check.detail.lines().take(MAX_LINES / 3).collect();
        parts.push(format!(
            "The check {} failed:\n\n{}",
            code_span(&check.name, 60),
            fenced(&detail.join("\n"), LINE)
        ));
        parts.extend(check.hint().map(sentence));
    }
    if let more @ 1.. = failed.len().saturating_sub(MAX_CHECKS) {
        let checks = plural(more as u64, "check", "checks");
        parts.push(format!("And {checks} more."));
    }
    parts.extend(report.failure.as_ref().map(self::failed));
    parts
}

fn inconclusive(report: &Report) -> String {
    let seen = report.seen();
    let seen = seen.map_or(String::new(), |seen| {
        format!("; would have been seen: {seen}")
    });
    let too_few = report.too_few_for_the_interval();
    let too_few = too_few.map_or(String::new(), |why| format!(". {}", capital(&why)));
    format!(
        "To be found: {}{seen}{too_few}.\n\nWhat would settle it? {} A steadier workload needs \
         fewer iterations, and so does a coarser threshold.",
        report.to_be_found(),
        sentence(report.end.advice())
    )
}

fn improved(view: &View<'_>, place: usize, report: &Report) -> Vec<String> {
    let stale = report.stale();
    let mut lines = items(report, &stale);
    if let more @ 1.. = stale.len().saturating_sub(MAX_FINDINGS) {
        lines.push(format!("- and {more} more"));
    }
    let mut parts = vec![lines.join("\n")];
    if let Some(command) = commands::accept(view, &view.joined.scenarios[place]) {
        let from = match report.run.baseline.is_empty() {
            true => String::new(),
            false => format!(" from {}", code_span(&report.run.baseline, NAME)),
        };
        parts.push(format!(
            "This command removes{from} what is no longer needed:\n\n{}",
            fenced(&command, 600)
        ));
    }
    parts
}

/// Returns a list of the allowances whose stacks now have another caller.
fn moved(report: &Report) -> Option<String> {
    let moved = report.of(|finding| finding.standing == Standing::Moved);
    let moved = moved.iter().filter_map(|finding| finding.moved());
    let lines = moved.map(|moved| format!("- the allowance of {}", moved.markdown(NAME)));
    let lines: Vec<String> = lines.take(MAX_FINDINGS).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns a list of what was left out or fell back, and what ended the ladder early.
fn remarks(report: &Report) -> Option<String> {
    let mut lines = Vec::new();
    if report.verdict == Verdict::Regressed && report.end.is_by_growth() {
        lines.push(format!("- the ladder ended early: {}", report.end.why()));
    }
    for check in report.checks(CheckOutcome::Unavailable) {
        lines.push(format!(
            "- the check {} could not be made: {}",
            code_span(&check.name, 60),
            code_span(&check.detail, LINE)
        ));
    }
    let notes = report.notes.iter();
    lines.extend(notes.map(|note| format!("- note: {}", code_span(note, LINE))));
    if let more @ 1.. = lines.len().saturating_sub(MAX_NOTES) {
        lines.truncate(MAX_NOTES);
        let more = plural(more as u64, "more note", "more notes");
        lines.push(format!("- and {more}"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns a fragment as a sentence.
fn sentence(fragment: &str) -> String {
    (capital(fragment) + ".").replace("?.", "?")
}
