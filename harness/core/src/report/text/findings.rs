//! Prints a block for each finding.

use super::page::{Page, Paint};
use crate::blame::is_plumbing;
use crate::report::units::{bytes, count, give_or_take, plural, signed_bytes, span};
use crate::report::view::counted;
use crate::report::{Finding, Report, Survivors};
use crate::verdict::Verdict;
use crate::{Frame, Law};
use plimsoll_text::escape::{columns, cut_middle, cut_start, terminal};

/// The most findings that are printed in full. A sixth one helps nobody to find a start.
const MAX_FINDINGS: usize = 5;
/// The most frames of a finding, and one more if the reader's own code begins further out.
const MAX_FRAMES: usize = 8;

/// Prints at most five findings in full, and a line that counts the others.
pub(super) fn blocks(page: &mut Page, report: &Report, findings: &[&Finding]) {
    for finding in findings.iter().take(MAX_FINDINGS) {
        page.blank();
        block(page, report, finding);
    }
    let rest: Vec<&Finding> = findings.iter().skip(MAX_FINDINGS).copied().collect();
    if rest.is_empty() {
        return;
    }
    page.blank();
    // Stacks in the sum of a site are not counted again.
    let mut more = rest.clone();
    more.retain(|finding| !finding.is_in_site_of(findings));
    let together: f64 = more.iter().map(|finding| finding.rate.bytes).sum();
    let error = report.error_of_total(&more).map(|error| error.bytes);
    let (sum, error) = (signed_bytes(together), give_or_take(error, bytes));
    let rate = match together == 0.0 {
        true => String::new(),
        false => format!(", {sum}{error} per iteration together"),
    };
    let text = format!("and {}{rate}", counted(&rest, "more "));
    page.wrap(2, 2, Paint::Plain, &text);
}

fn block(page: &mut Page, report: &Report, finding: &Finding) {
    let left = report.growth_of(finding, "  ");
    let allowed = format!("allowed {}", finding.allowance());
    let standing = finding.standing.as_str();
    let paint = match finding.verdict {
        Verdict::Regressed => Paint::Red,
        _ => Paint::Plain,
    };

    // These widths fit most rates and allowances, so that they are in columns.
    let (first, second) = (page.width * 49 / 80, 16);
    let right = match columns(&allowed) < second {
        true => format!("{allowed:<second$}{standing}"),
        false => format!("{allowed}  {standing}"),
    };
    let end = 2 + columns(&left);
    let room = page.width.saturating_sub(end + columns(&right));
    let gap = first.saturating_sub(end).max(2).min(room);
    if gap >= 2 {
        page.line(&[
            (Paint::Plain, "  "),
            (paint, &left),
            (Paint::Plain, &" ".repeat(gap)),
            (Paint::Plain, &right),
        ]);
    } else {
        page.line(&[(Paint::Plain, "  "), (paint, &left)]);
        page.line(&[(Paint::Plain, "    "), (Paint::Plain, &right)]);
    }

    if let Some(over) = finding.over() {
        page.wrap(4, 4, Paint::Dim, &over);
    }
    frames(page, finding);
    if matches!(finding.verdict, Verdict::Regressed | Verdict::Inconclusive)
        && let Some(octave) = finding.stayed()
    {
        page.wrap(4, 6, Paint::Plain, &stayed(report, octave));
    }
    if let Some(reason) = &finding.reason {
        page.wrap(4, 6, Paint::Dim, &format!("accepted because: {reason}"));
    }
}

/// Returns `born in iterations 8,193–16,384: 8,192 allocated, 82 alive at 65,536`.
fn stayed(report: &Report, octave: &Survivors) -> String {
    let about = if report.is_sampled() { "about " } else { "" };
    let allocated = match octave.allocated {
        Some(objects) => format!("{} allocated, ", count(objects)),
        None => String::new(),
    };
    let alive = match octave.alive.objects {
        0 => "none".to_owned(),
        objects => format!("{about}{}", count(objects)),
    };
    let end = report.rungs.last().map_or(0, |rung| rung.iterations);
    format!(
        "born in iterations {}: {allocated}{alive} alive at {}",
        span(octave.from, octave.to),
        count(end)
    )
}

/// Prints the frames from the leaf on. The frame to blame is bold, and plumbing is dimmed. The
/// first frame of the reader's own code is always there.
fn frames(page: &mut Page, finding: &Finding) {
    let frames = finding.frames();
    let (at, caller) = match &finding.blame {
        Some(blame) => (Some(&blame.at), blame.caller.as_ref()),
        None => (frames.first(), None),
    };
    let place = |wanted: Option<&Frame>| frames.iter().position(|frame| Some(frame) == wanted);
    let at = place(at);
    let paint = |number: usize, frame: &Frame| match at == Some(number) {
        true => Paint::Bold,
        false if is_plumbing(&frame.function) => Paint::Dim,
        false => Paint::Plain,
    };
    let mut depth = 0;
    for (number, one) in frames.iter().enumerate().take(MAX_FRAMES) {
        frame(page, depth, paint(number, one), one);
        depth += 1;
    }
    let left_out = |page: &mut Page, depth: &mut usize, frames: usize| {
        if frames > 0 {
            let more = format!("… {}", plural(frames as u64, "more frame", "more frames"));
            page.line(&[(Paint::Plain, &branch(*depth)), (Paint::Dim, &more)]);
            *depth += 1;
        }
    };
    let mut shown = frames.len().min(MAX_FRAMES);
    if let Some(own) = place(caller).filter(|own| *own >= MAX_FRAMES) {
        left_out(page, &mut depth, own - shown);
        frame(page, depth, Paint::Plain, &frames[own]);
        depth += 1;
        shown = own + 1;
    }
    left_out(page, &mut depth, frames.len() - shown);
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
        depth => format!("{}└ ", "  ".repeat(depth + 1)),
    }
}

/// Returns whether a cache that is still filling would look the same.
pub(super) fn may_be_filling(findings: &[&Finding]) -> bool {
    let rises = |law| matches!(law, Law::Linear | Law::Stepped);
    let mut findings = findings.iter();
    findings.any(|finding| !finding.is_unused() && rises(finding.law) && finding.is_heap())
}
