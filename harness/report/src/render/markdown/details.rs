//! The folded part of an entry: its scenarios, its stacks and pictures, and how it was
//! measured. Also the lines about allowances that are no longer needed.

use std::collections::BTreeSet;

use plimsoll_core::growth::Unit;
use plimsoll_core::report::units::plural;
use plimsoll_core::report::view::{Cause, Sum, counted};
use plimsoll_core::report::{CheckOutcome, Finding, Report, Standing, Subject};
use plimsoll_core::text::sink::{code_span, fenced, html_attribute, url};
use plimsoll_core::text::spark;
use plimsoll_core::text::words::Words;

use super::entry::LINE;
use super::{NAME, View, first, joined, more, summary_line};
use crate::render::entries::{Entry, Kind, options, worst_first};
use crate::render::{capital, level, tree};

/// The most findings in a list. A sixth stack would not help anybody to start.
const MAX_FINDINGS: usize = 5;
const MAX_SCENARIOS: usize = 50;
/// The most parts of a stack in the text for a picture.
const MAX_CALLERS: usize = 6;
const MAX_NOTES: usize = 5;
const MAX_IMPROVED: usize = 10;
const TREND: usize = 32;

/// Returns the block of an entry. `None` if there is nothing more to say. What a scenario has
/// as a whole is shown once: `above` has those that were shown.
pub(super) fn block(
    view: &View<'_>,
    entry: &Entry<'_>,
    is_open: bool,
    above: &mut BTreeSet<usize>,
) -> Option<String> {
    let place = entry.worst().place;
    let is_first = above.insert(place);
    let report = entry.worst().report()?;
    let mut parts: Vec<String> = scenarios(view, entry).into_iter().collect();
    if let Some(cause) = entry.cause() {
        if is_first {
            parts.extend(picture(view, place, report));
            parts.extend(tree::render(report).map(|tree| fenced(&tree, tree::WIDTH)));
        }
        parts.extend(findings(view, report, &cause.findings));
        parts.push(course(report, cause));
    }
    if is_first {
        parts.extend(moved(report));
        parts.extend(remarks(report));
    }
    let interactive = view.context.report_url.as_deref().and_then(url);
    if let Some(url) = interactive.filter(|_| entry.cause().is_some()) {
        parts.push(format!("[Interactive flame graph]({url})"));
    }
    if parts.is_empty() {
        return None;
    }
    let open = if is_open { " open" } else { "" };
    let summary = match (entry.cause(), entry.members.len()) {
        (Some(_), 1) => "Stacks and flame graph",
        (Some(_), _) => "Scenarios, stacks and flame graph",
        (None, 1) => "Notes",
        (None, _) => "Scenarios and notes",
    };
    Some(format!(
        "<details{open}>{}\n\n{}\n\n</details>",
        summary_line(summary),
        parts.join("\n\n")
    ))
}

/// Returns the list of the scenarios of an entry, if there are several.
fn scenarios(view: &View<'_>, entry: &Entry<'_>) -> Option<String> {
    if entry.members.len() == 1 || entry.kind == Kind::NoResult {
        return None;
    }
    let differ = entry.differ();
    let names = entry.members.iter().map(|member| {
        let title = view.title(member.place);
        match member.cause.as_ref().filter(|_| differ) {
            Some(cause) => format!("{title} {}", cause.sum().short()),
            None => title,
        }
    });
    let names = first(MAX_SCENARIOS, names, more);
    let of_first = match entry.cause() {
        Some(_) => " What follows is of the first.",
        None => "",
    };
    Some(format!("In {}.{of_first}", names.join(", ")))
}

/// Returns the flame graph as a `<picture>`. The browser chooses the image for the theme that
/// it shows.
fn picture(view: &View<'_>, place: usize, report: &Report) -> Option<String> {
    let image = view.context.images.get(&place)?;
    let (light, dark) = (url(&image.light)?, url(&image.dark)?);
    let growth = Sum::of(report, &report.growing()).short();
    let share = tree::share_of_widest(report).unwrap_or(0);
    let stack = tree::widest(report).map_or(String::new(), |frames| {
        let frames = frames[..frames.len().min(MAX_CALLERS)].join(", called by ");
        format!("; {share} % of the growth on the stack {frames}")
    });
    let alt = format!("Flame graph: {growth} per {}{stack}", report.per.one());
    Some(format!(
        "<picture>\n\
         <source media=\"(prefers-color-scheme: dark)\" srcset=\"{dark}\">\n\
         <img alt=\"{}\" src=\"{light}\" width=\"800\">\n\
         </picture>",
        html_attribute(&alt, 600)
    ))
}

/// Returns a list of the findings of a cause. Of one finding, only what its cause does not say.
fn findings(view: &View<'_>, report: &Report, shown: &[&Finding]) -> Option<String> {
    if let [finding] = shown {
        let over = finding.over().map(|over| Words::default().say(over));
        let reason = finding.reason.as_ref();
        let reason = reason.map(|why| Words::default().say("accepted because ").quote(why));
        let said = over.into_iter().chain(reason);
        let lines = said.map(|one| format!("- {}", one.markdown(NAME, none)));
        return joined(lines, "\n");
    }
    let link = |file: &str, line| view.links.line(file, line);
    let item = |finding: &&Finding| format!("- {}", report.sentence(finding).markdown(NAME, link));
    let mut lines: Vec<String> = shown.iter().take(MAX_FINDINGS).map(item).collect();
    let rest = &shown[shown.len().min(MAX_FINDINGS)..];
    if !rest.is_empty() {
        lines.push(format!("- and {}", counted(rest, "more ")));
    }
    Some(lines.join("\n"))
}

/// Stands for the address of a line that is not linked.
fn none(_: &str, _: Option<u32>) -> Option<String> {
    None
}

/// Returns a sentence on the course of the growth, and on the level of what grows.
fn course(report: &Report, cause: &Cause<'_>) -> String {
    let finding = cause.first();
    let unit = finding.subject.unit().unwrap_or(Unit::Bytes);
    let levels: Vec<u64> = finding.levels.iter().map(|at| unit.count(at)).collect();
    let what = match finding.subject {
        Subject::Resource(resource) => format!(" {}", resource.after_number()),
        _ => String::new(),
    };
    let trend = match levels.as_slice() {
        [from, .., to] if levels.len() == report.rungs.len() => {
            let rungs = report.rungs.iter().map(|rung| rung.iterations);
            let points: Vec<(u64, u64)> = rungs.zip(levels.iter().copied()).collect();
            let line = spark::over(&points, TREND);
            format!(
                ": {} → {}{what} `{line}`",
                level(*from, unit),
                level(*to, unit)
            )
        }
        _ => String::new(),
    };
    format!("{}{trend}.", capital(&cause.course()))
}

/// Returns a line for each scenario with allowances that are no longer needed: how many, and
/// the command that removes them.
pub(super) fn improved(view: &View<'_>) -> Option<String> {
    let places = worst_first(view.joined).into_iter();
    let stale = places.filter_map(|place| {
        let report = view.joined.scenarios[place].report()?;
        let n = report.stale().len();
        (n > 0 && super::is_green(&view.joined.scenarios[place])).then_some((place, report, n))
    });
    let lines = stale.map(|(place, report, n)| {
        let scenario = &view.joined.scenarios[place];
        let are = if n == 1 { "is" } else { "are" };
        let allowances = plural(n as u64, "allowance", "allowances");
        let step = options(view.joined, scenario).and_then(|options| report.accept(&options));
        let command = step.map_or(String::new(), |step| {
            format!(": {}", code_span(&step.command, 600))
        });
        let title = view.title(place);
        format!("- {title}: {allowances} {are} no longer needed{command}")
    });
    let lines = first(MAX_IMPROVED, lines, |others| {
        let more = plural(others as u64, "more scenario", "more scenarios");
        format!("- and {more} like that")
    });
    joined(lines, "\n")
}

/// Returns a list of the allowances whose stacks now have another caller.
fn moved(report: &Report) -> Option<String> {
    let moved = report.of(|finding| finding.standing == Standing::Moved);
    let moved = moved.iter().filter_map(|finding| finding.moved());
    let lines = moved.map(|moved| {
        let moved = moved.markdown(NAME, none);
        format!("- the allowance of {moved}")
    });
    joined(lines.take(MAX_FINDINGS), "\n")
}

/// Returns a list of what was left out or fell back, and what ended the ladder early.
fn remarks(report: &Report) -> Option<String> {
    let mut lines = Vec::new();
    if !report.growing().is_empty() && report.end.is_by_growth() {
        lines.push(format!("- the ladder ended early: {}", report.end.why()));
    }
    lines.extend(report.coarsened().map(|note| format!("- note: {note}")));
    for check in report.checks(CheckOutcome::Unavailable) {
        lines.push(format!(
            "- the check {} could not be made: {}",
            code_span(&check.name, 60),
            code_span(&check.detail, LINE)
        ));
    }
    let notes = report.notes.iter();
    lines.extend(notes.map(|note| format!("- note: {}", code_span(note, LINE))));
    let lines = first(MAX_NOTES, lines.into_iter(), |others| {
        format!("- and {}", plural(others as u64, "more note", "more notes"))
    });
    joined(lines, "\n")
}
