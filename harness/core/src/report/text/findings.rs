//! What grows: blocks of a finding each, sums over them, and how to count them
//! in a sentence.

use super::page::{Page, Paint};
use crate::finding::each_stack_once;
use crate::report::units::{
    bytes, count, give_or_take, objects, plural, signed_bytes, signed_objects, span,
};
use crate::report::{Finding, Report, Standing, Subject, Survivors};
use crate::verdict::Verdict;
use crate::{Frame, Law, Rate};
use plimsoll_text::escape::{columns, cut_middle, cut_start, terminal};

/// A sixth stack tells nobody more about where to start.
const MAX_FINDINGS: usize = 5;
/// The frame to blame is the first; eight reach the caller's code.
const MAX_FRAMES: usize = 8;

/// At most five findings in full, and a line that counts the others.
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
    // What a site's sum has already counted is not counted again.
    let more: Vec<&Finding> = rest
        .iter()
        .copied()
        .filter(|finding| !finding.is_in_site_of(findings))
        .collect();
    let together = more
        .iter()
        .fold(Rate::default(), |sum, finding| sum + finding.rate);
    let error = report.error_of_total(&more).map(|error| error.bytes);
    let rate = if together.bytes == 0.0 {
        String::new()
    } else {
        format!(
            ", {}{} per iteration together",
            signed_bytes(together.bytes),
            give_or_take(error, bytes)
        )
    };
    page.wrap(
        2,
        2,
        Paint::Plain,
        &format!("and {}{rate}", counted(&rest, "more ")),
    );
}

fn block(page: &mut Page, report: &Report, finding: &Finding) {
    let left = growth(finding, report.error_of(finding));
    let allowed = format!("allowed {}", allowance(finding));
    let standing = standing(finding.standing);
    let paint = if finding.verdict == Verdict::Regressed {
        Paint::Red
    } else {
        Paint::Plain
    };

    // As wide as most rates and allowances are, so that they stand in columns.
    let (first, second) = (page.width * 49 / 80, 16);
    let right = match columns(&allowed) < second {
        true => format!("{allowed:<second$}{standing}"),
        false => format!("{allowed}  {standing}"),
    };
    let room = page
        .width
        .saturating_sub(2 + columns(&left) + columns(&right));
    let gap = first.saturating_sub(2 + columns(&left)).max(2).min(room);
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

    if let Subject::Site { stacks, .. } = finding.subject {
        let stacks = plural(stacks as u64, "stack", "stacks");
        page.wrap(
            4,
            4,
            Paint::Dim,
            &format!("over {stacks} of this allocation site"),
        );
    }
    if finding.is_unused() && finding.frames.is_empty() {
        // Nothing was measured there, so nobody has looked for its lines.
        frames(page, &named(&finding.subject));
    } else {
        frames(page, &finding.frames);
    }
    if matches!(finding.verdict, Verdict::Regressed | Verdict::Inconclusive)
        && let Some(octave) = finding.stayed()
    {
        page.wrap(4, 6, Paint::Plain, &stayed(report, octave));
    }
    if let Some(reason) = &finding.reason {
        page.wrap(4, 6, Paint::Dim, &format!("agreed: {reason}"));
    }
}

/// `born in iterations 8,193–16,384: 8,192 allocated, 82 alive at 65,536`
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

fn growth(finding: &Finding, error: Option<Rate>) -> String {
    if finding.is_unused() {
        return "no longer grows".to_owned();
    }
    let Finding { rate, law, .. } = finding;
    let what = match finding.subject {
        Subject::Stack(_) | Subject::Site { .. } => "objects",
        Subject::Threads => "threads",
        Subject::Descriptors => "descriptors",
    };
    let counted = format!(
        "{}{} {what}",
        signed_objects(rate.objects),
        give_or_take(error.map(|error| error.objects), objects)
    );
    match finding.subject {
        Subject::Stack(_) | Subject::Site { .. } => {
            let sized = format!(
                "{}{}",
                signed_bytes(rate.bytes),
                give_or_take(error.map(|error| error.bytes), bytes)
            );
            format!("{sized}  {counted} per iteration, {law}")
        }
        Subject::Threads | Subject::Descriptors => format!("{counted} per iteration, {law}"),
    }
}

fn allowance(finding: &Finding) -> String {
    let Rate {
        objects: count,
        bytes: size,
    } = finding.allowed;
    match finding.subject {
        Subject::Threads | Subject::Descriptors if count == 0.0 => "0".to_owned(),
        Subject::Threads | Subject::Descriptors => objects(count),
        _ if count == 0.0 => bytes(size),
        _ => format!("{}, {} objects", bytes(size), objects(count)),
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::New => "new",
        Standing::Allowed => "allowed",
        Standing::Exceeded => "exceeded",
        Standing::Moved => "moved",
        Standing::Expired => "expired",
        Standing::Stale => "stale",
    }
}

fn frames(page: &mut Page, frames: &[Frame]) {
    for (depth, frame) in frames.iter().take(MAX_FRAMES).enumerate() {
        let branch = branch(depth);
        let paint = if depth == 0 {
            Paint::Bold
        } else {
            Paint::Plain
        };
        let room = page.width - columns(&branch);
        let name = cut_middle(&terminal(&frame.function), room);
        let Some(place) = place(frame) else {
            page.line(&[(Paint::Plain, &branch), (paint, &name)]);
            continue;
        };
        let end = columns(&branch) + columns(&name);
        let place = cut_start(&place, page.width - 6);
        if end + 2 + columns(&place) <= page.width {
            // The same column for all, or as far left of it as the place needs.
            let column = (page.width * 50 / 80)
                .min(page.width - columns(&place))
                .max(end + 2);
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
    if let more @ 1.. = frames.len().saturating_sub(MAX_FRAMES) {
        let more = format!("… {}", plural(more as u64, "more frame", "more frames"));
        page.line(&[(Paint::Plain, &branch(MAX_FRAMES)), (Paint::Dim, &more)]);
    }
}

/// The names of a subject's stack, leaf first.
fn named(subject: &Subject) -> Vec<Frame> {
    let (Subject::Stack(stack) | Subject::Site { frames: stack, .. }) = subject else {
        return Vec::new();
    };
    let names = stack.frames().iter().rev();
    names
        .map(|name| Frame {
            function: name.clone(),
            file: None,
            line: None,
        })
        .collect()
}

/// `lru::LruCache::put moved from a caller to another`, for each that did.
pub(super) fn moves(page: &mut Page, findings: &[&Finding]) {
    for finding in findings.iter().take(MAX_FINDINGS) {
        let (Subject::Stack(new), Some(old)) = (&finding.subject, &finding.moved_from) else {
            continue;
        };
        let none = "no caller";
        let text = format!(
            "{} moved from {} to {}",
            new.leaf(),
            old.caller_apart_from(new).unwrap_or(none),
            new.caller_apart_from(old).unwrap_or(none),
        );
        page.wrap(4, 6, Paint::Dim, &text);
    }
}

fn branch(depth: usize) -> String {
    match depth {
        0 => "    ".to_owned(),
        depth => format!("{}└ ", "  ".repeat(depth + 1)),
    }
}

fn place(frame: &Frame) -> Option<String> {
    let file = terminal(frame.file.as_deref()?);
    Some(match frame.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    })
}

/// What all of them gain per iteration, each stack once.
pub fn total(findings: &[&Finding]) -> Rate {
    each_stack_once(findings)
        .iter()
        .fold(Rate::default(), |sum, finding| sum + finding.rate)
}

/// `2 stacks and 1 allocation site`; `more` comes before each noun.
pub fn counted(findings: &[&Finding], more: &str) -> String {
    let mut stacks = 0;
    let mut sites = 0;
    let mut resources = Vec::new();
    for finding in findings {
        match finding.subject {
            Subject::Stack(_) => stacks += 1,
            Subject::Site { .. } => sites += 1,
            Subject::Threads => resources.push("threads".to_owned()),
            Subject::Descriptors => resources.push("file descriptors".to_owned()),
        }
    }
    let mut parts = Vec::new();
    if stacks > 0 {
        parts.push(plural(
            stacks,
            &format!("{more}stack"),
            &format!("{more}stacks"),
        ));
    }
    if sites > 0 {
        let noun = |noun| format!("{more}{noun}");
        parts.push(plural(
            sites,
            &noun("allocation site"),
            &noun("allocation sites"),
        ));
    }
    parts.append(&mut resources);
    match parts.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
    }
}

/// Whether a sentence about all of them takes a verb in the singular.
pub fn is_one(findings: &[&Finding]) -> bool {
    let [finding] = findings else { return false };
    matches!(finding.subject, Subject::Stack(_) | Subject::Site { .. })
}

/// Whether a cache that is still filling would look the same.
pub(super) fn may_be_filling(findings: &[&Finding]) -> bool {
    findings.iter().any(|finding| {
        !finding.is_unused()
            && matches!(finding.law, Law::Linear | Law::Stepped)
            && matches!(finding.subject, Subject::Stack(_) | Subject::Site { .. })
    })
}
