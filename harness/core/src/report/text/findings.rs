//! Prints the causes of growth, and below them the stacks.

use super::command;
use super::page::{Page, Paint};
use crate::Frame;
use crate::blame::is_plumbing;
use crate::report::units::{bytes, give_or_take, signed_bytes};
use crate::report::view::collapse::{Collapse, Part, frames_of};
use crate::report::view::{Cause, counted};
use crate::report::{Finding, Report};
use crate::text::escape::{columns, cut_middle, cut_start, terminal};
use crate::verdict::Verdict;

/// The most causes, and the most stacks, that are printed. A sixth one helps nobody to find a
/// start.
const MAX_FINDINGS: usize = 5;
/// The most that are printed of a scenario that failed: its error comes first, and the largest growth
/// may be the reason for it.
const MAX_OF_FAILED: usize = 1;
/// The most steps of indentation of a frame. Frames further out stand below each other.
const MAX_STEPS: usize = 10;

/// Returns how many of `n` causes or stacks are printed.
fn shown(page: &Page, report: &Report, n: usize) -> usize {
    match report.verdict {
        _ if page.all => n,
        Verdict::Failed => n.min(MAX_OF_FAILED),
        _ => n.min(MAX_FINDINGS),
    }
}

/// Prints the place of each cause and what it means; of several causes also what each gains,
/// with a number.
pub(super) fn causes(page: &mut Page, report: &Report, findings: &[&Finding]) {
    let causes = report.causes(findings);
    // The headline has said what a single cause gains.
    if let [cause] = causes.as_slice()
        && (report.verdict == Verdict::Regressed || cause.is_by_clock())
    {
        about(page, 2, cause);
        return;
    }
    let (first, rest) = causes.split_at(shown(page, report, causes.len()));
    for (number, cause) in first.iter().enumerate() {
        if number == 0 {
            page.blank();
        }
        let number = number_of(number, causes.len());
        let text = format!("{number}{} ({})", cause.gains().plain(), cause.allowed());
        let indent = 2 + columns(&number);
        page.wrap(2, indent.max(4), Paint::Bold, &text);
        about(page, indent, cause);
    }
    let rest: Vec<&Finding> = rest
        .iter()
        .flat_map(|cause| cause.findings.clone())
        .collect();
    more(page, report, findings, &rest);
}

/// Prints the place of a cause, and what it means.
fn about(page: &mut Page, indent: usize, cause: &Cause<'_>) {
    let place = cause.place().map(|place| format!("in {}", place.plain()));
    let held = cause.held().into_iter().map(|held| held.plain());
    for line in place.into_iter().chain(held).chain(cause.means()) {
        page.wrap(indent, indent + 2, Paint::Plain, &line);
    }
}

/// Prints each finding with its frames. What a cause has said is not said again.
pub(super) fn stacks(page: &mut Page, report: &Report, findings: &[&Finding]) {
    // Resources have no stack.
    let has_frames = |finding: &&Finding| !finding.frames().is_empty();
    let mut findings: Vec<&Finding> = findings.iter().copied().filter(has_frames).collect();
    let growing = report.of(|finding| finding.verdict >= Verdict::Inconclusive);
    let causes = report.causes(&growing);
    let number_of_cause = |finding: &&Finding| {
        let is_cause = |cause: &Cause<'_>| cause.has(finding);
        causes.iter().position(is_cause).unwrap_or(usize::MAX)
    };
    findings.sort_by_key(number_of_cause);
    let (first, rest) = findings.split_at(shown(page, report, findings.len()));
    let collapse = report.collapse();
    for finding in first {
        page.blank();
        let standing = finding.standing.meaning();
        let mut of_all = causes.iter().enumerate();
        let cause = of_all.find(|(_, cause)| cause.has(finding));
        let text = match cause {
            _ if finding.is_unused() => finding.unused(&report.per).plain(),
            Some((number, cause)) => {
                let number = number_of(number, causes.len());
                let grows = match cause.findings.as_slice() {
                    [_] => cause.course(),
                    _ => report.growth_of(finding),
                };
                format!("{number}{grows} ({standing})")
            }
            None => format!("{} ({standing})", report.growth_of(finding)),
        };
        let paint = match finding.verdict {
            Verdict::Regressed => Paint::Red,
            _ => Paint::Plain,
        };
        stack(page, &collapse, finding, paint, &text);
    }
    more(page, report, &findings, rest);
}

/// Returns `2. ` for the second of several.
fn number_of(place: usize, all: usize) -> String {
    match all {
        1 => String::new(),
        _ => format!("{}. ", place + 1),
    }
}

/// Prints a finding by itself: all that is said of it, and its stack.
pub(super) fn alone(page: &mut Page, report: &Report, finding: &Finding) {
    let collapse = report.collapse();
    if finding.is_unused() {
        stack(
            page,
            &collapse,
            finding,
            Paint::Bold,
            &finding.unused(&report.per).plain(),
        );
        return;
    }
    let cause = Cause::of(report, finding);
    let text = format!("{} ({})", cause.gains().plain(), cause.allowed());
    page.wrap(2, 4, Paint::Bold, &text);
    about(page, 2, &cause);
    page.blank();
    let course = format!("{} ({})", cause.course(), finding.standing.meaning());
    stack(page, &collapse, finding, Paint::Plain, &course);
}

fn stack(page: &mut Page, collapse: &Collapse<'_>, finding: &Finding, paint: Paint, text: &str) {
    page.wrap(2, 4, paint, text);
    if let Some(over) = finding.over() {
        page.wrap(4, 4, Paint::Dim, &over);
    }
    frames(page, collapse, finding);
    if let Some(reason) = &finding.reason {
        page.wrap(4, 6, Paint::Dim, &format!("accepted because: {reason}"));
    }
}

/// Counts the findings that are not printed, and names the command that prints them.
fn more(page: &mut Page, report: &Report, all: &[&Finding], rest: &[&Finding]) {
    if rest.is_empty() {
        return;
    }
    page.blank();
    // Stacks in the sum of a site are not counted again.
    let mut once = rest.to_vec();
    once.retain(|finding| !finding.is_in_site_of(all));
    let together: f64 = once.iter().map(|finding| finding.rate.bytes).sum();
    let error = report.error_of_total(&once).map(|error| error.bytes);
    let (sum, error) = (signed_bytes(together), give_or_take(error, bytes));
    let rate = match together == 0.0 {
        true => String::new(),
        false => format!(", {sum}{error} per {} together", report.per.one()),
    };
    let command = command(report, "report --all");
    let text = format!("and {}{rate}{command}", counted(rest, "more "));
    page.wrap(2, 4, Paint::Plain, &text);
}

/// Prints the frames from the leaf on. The frame to blame is bold, and plumbing is dimmed.
fn frames(page: &mut Page, collapse: &Collapse<'_>, finding: &Finding) {
    let frames = finding.frames();
    let names: Vec<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
    let blamed = finding.place_of_blamed();
    for (depth, part) in collapse.parts(&names).into_iter().enumerate() {
        match part {
            Part::Frame(number) => {
                let paint = match blamed == Some(number) {
                    true => Paint::Bold,
                    false if is_plumbing(names[number]) => Paint::Dim,
                    false => Paint::Plain,
                };
                frame(page, depth, paint, &frames[number]);
            }
            Part::Run(run) => {
                let run = format!("… {}", frames_of(&names[run]));
                page.line(&[(Paint::Plain, &branch(depth)), (Paint::Dim, &run)]);
            }
        }
    }
}

fn frame(page: &mut Page, depth: usize, paint: Paint, frame: &Frame) {
    let branch = branch(depth);
    let room = page.width - columns(&branch);
    let name = cut_middle(&terminal(&frame.function), room);
    let Some(place) = frame.place() else {
        page.line(&[(Paint::Plain, &branch), (paint, &name)]);
        return;
    };
    let end = columns(&branch) + columns(&name);
    let place = cut_start(&terminal(&place), page.width - 6);
    if end + 2 + columns(&place) <= page.width {
        // All places begin in the same column, or further left if a place needs the room.
        let latest = page.width - columns(&place);
        let column = (page.width * 50 / 80).min(latest).max(end + 2);
        let gap = " ".repeat(column - end);
        page.line(&[
            (Paint::Plain, &branch),
            (paint, &name),
            (Paint::Dim, &gap),
            (Paint::Dim, &place),
        ]);
    } else {
        page.line(&[(Paint::Plain, &branch), (paint, &name)]);
        let indent = (columns(&branch) + 2).min(page.width - columns(&place));
        page.line(&[(Paint::Plain, &" ".repeat(indent)), (Paint::Dim, &place)]);
    }
}

/// Prints `lru::LruCache::put moved from a caller to another` for each finding that moved.
pub(super) fn moves(page: &mut Page, findings: &[&Finding]) {
    for finding in findings.iter().take(MAX_FINDINGS) {
        if let Some(moved) = finding.moved() {
            page.wrap(4, 6, Paint::Dim, &moved.plain());
        }
    }
}

fn branch(depth: usize) -> String {
    match depth {
        0 => "    ".to_owned(),
        depth => format!("{}└ ", "  ".repeat(depth.min(MAX_STEPS) + 1)),
    }
}
