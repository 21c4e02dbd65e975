//! The text that a failing test prints, and the line that a passing test prints.
//!
//! It says in this order: the verdict and its number, the place, what it means, what to do, how
//! to measure again, and the stacks.
//!
//! ```text
//! lru_churn: keeps growing by +96 B, +1.00 objects per iteration (allowed: 0 B)
//!   in lru::LruCache::put, called from lru_churn::fill at
//!     scenarios/src/lru_churn.rs:14
//!   1 GiB in 3.1 h at 1,000 iterations a second
//!
//!   fix it, or accept it: cargo plimsoll accept lru_churn --reason "…"
//!   measure it again: cargo test -p plimsoll-scenarios --test leaks -- --exact \
//!     lru_churn
//!
//!   linear over 65,536 iterations, every allocation counted (not in the baseline)
//!     lru::LruCache::put                           lru-0.18.1/src/lib.rs:212
//!     └ lru_churn::fill                            scenarios/src/lru_churn.rs:14
//!
//!   files: target/plimsoll/plimsoll-scenarios/leaks/lru_churn/
//! ```

mod findings;
mod page;

use self::page::{Page, Paint};
use super::units::{count, plural};
use super::view::{Excerpt, allowance_words, are, excerpt, unsure_words};
use super::{CheckOutcome, Finding, Report, Standing, Subject};
use crate::text::escape::{columns, command_word, cut_middle, terminal};
use crate::verdict::Verdict;

/// Lines of a subject's output that are printed. The report has more.
const MAX_OUTPUT_LINES: usize = 30;
const MAX_NOTES: usize = 10;
/// The most columns that are used, however wide the terminal is.
const MAX_WIDTH: usize = 200;
/// Lines of a check's detail after its first line: what was expected, and a hint.
const MAX_DETAIL_LINES: usize = 4;

/// How to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether the reader is a terminal that understands ANSI colours.
    pub color: bool,
    /// The most columns of a line; less than 40 counts as 40. Only a path may be longer.
    pub width: usize,
    /// Whether every cause, finding and note is printed, and not just the first of them.
    pub all: bool,
}

impl Style {
    /// Returns a style for a terminal with so many columns, of which at most 200 are used. If
    /// the output is no terminal, it has 80.
    pub fn of(columns: Option<usize>, color: bool) -> Self {
        Style {
            color,
            width: columns.unwrap_or(80).min(MAX_WIDTH),
            all: false,
        }
    }

    /// Returns a style of 80 columns without colour.
    pub fn plain() -> Self {
        Style::of(None, false)
    }
}

/// Returns the whole text for one scenario, with a newline at its end.
pub fn render(report: &Report, style: &Style) -> String {
    let mut page = Page::new(style);
    let name = cut_middle(&terminal(report.title()), page.width / 2);
    headline(&mut page, &name, report);
    let (causes, stacks) = match report.verdict {
        Verdict::Within => (Vec::new(), Vec::new()),
        Verdict::Improved => (Vec::new(), report.stale()),
        Verdict::Inconclusive => (report.unsure(), report.unsure()),
        Verdict::Regressed | Verdict::Failed => (report.growing(), report.past()),
        // The findings of a broken measurement mean nothing.
        Verdict::Broken => (Vec::new(), Vec::new()),
    };
    if report.verdict == Verdict::Broken {
        broken(&mut page, report);
    }
    findings::causes(&mut page, report, &causes);
    advice(&mut page, report, &causes);
    if report.verdict != Verdict::Within {
        page.blank();
        steps(&mut page, report);
    }
    if let Some(failure) = &report.failure {
        output(&mut page, &failure.output);
    }
    findings::stacks(&mut page, report, &stacks);
    others(&mut page, report);
    remarks(&mut page, report);
    if report.verdict != Verdict::Within {
        page.blank();
        files(&mut page, report);
    }
    page.finish()
}

/// Returns the text about one finding, whatever the verdict, with a newline at its end.
pub fn finding(report: &Report, finding: &Finding, style: &Style) -> String {
    let mut page = Page::new(style);
    findings::alone(&mut page, report, finding);
    findings::moves(&mut page, &[finding]);
    page.finish()
}

/// Returns the outcome in one line of any length, which a passing test prints on request.
pub fn one_line(report: &Report) -> String {
    let outcome = report.outcome().sentence().plain();
    terminal(&format!("{}: {outcome}", report.title()))
}

fn headline(page: &mut Page, name: &str, report: &Report) {
    let outcome = report.outcome();
    let paint = match report.verdict {
        Verdict::Within | Verdict::Improved => Paint::Green,
        Verdict::Inconclusive => Paint::Yellow,
        Verdict::Regressed | Verdict::Failed | Verdict::Broken => Paint::Red,
    };
    // Stacks, which come last, say how they were measured.
    let has_stacks = !report.growing().is_empty() || !report.unsure().is_empty();
    let conditions = match has_stacks || outcome.conditions.is_empty() {
        true => String::new(),
        false => format!(" {}", outcome.conditions),
    };
    let text = format!("{name}: {}{conditions}", outcome.said.plain());
    page.wrap(0, 2, paint, &text);
}

/// Prints what may be behind the growth if it is no leak, and what would give a verdict if
/// there is none.
fn advice(page: &mut Page, report: &Report, causes: &[&Finding]) {
    let mut lines = Vec::new();
    match report.verdict {
        Verdict::Inconclusive => {
            let wanted = report.to_be_found();
            lines.extend(wanted.map(|wanted| format!("to be found: {wanted}")));
            let seen = report.seen();
            lines.extend(seen.map(|seen| format!("would have been seen: {seen}")));
            lines.extend(report.too_few_for_the_interval());
            lines.extend(report.advice());
        }
        Verdict::Regressed => {
            if report.end.is_by_growth() {
                lines.push(format!("the ladder ended early: {}", report.end.why()));
            }
            lines.extend(report.may_be_filling(causes));
        }
        _ => {}
    }
    if !lines.is_empty() {
        page.blank();
    }
    for line in lines {
        page.wrap(2, 4, Paint::Plain, &line);
    }
}

/// Prints the beginning, the panic and the end of what a failed workload printed.
fn output(page: &mut Page, output: &str) {
    page.blank();
    if output.trim().is_empty() {
        page.wrap(2, 4, Paint::Dim, "it printed nothing");
        return;
    }
    page.wrap(2, 4, Paint::Plain, "what it printed:");
    let most = if page.all {
        usize::MAX
    } else {
        MAX_OUTPUT_LINES
    };
    for part in excerpt(output, most) {
        match part {
            Excerpt::Line(line) => page.quote(line),
            Excerpt::LeftOut(_) => page.wrap(2, 4, Paint::Dim, &part.to_string()),
        }
    }
}

fn broken(page: &mut Page, report: &Report) {
    for check in report.checks(CheckOutcome::Failed) {
        page.blank();
        let mut lines = check.detail.lines();
        let first = lines.next().unwrap_or_default();
        page.wrap(2, 4, Paint::Bold, &format!("{}: {first}", check.name));
        for line in lines.take(MAX_DETAIL_LINES) {
            page.wrap(4, 6, Paint::Plain, line);
        }
        if let Some(hint) = check.hint() {
            page.wrap(4, 4, Paint::Plain, hint);
        }
    }
    if let Some(failure) = &report.failure {
        page.blank();
        page.wrap(2, 4, Paint::Bold, &failure.what);
    }
}

/// Prints how many findings there are besides those that the verdict is about.
fn others(page: &mut Page, report: &Report) {
    let verdict = report.verdict;
    let mut lines = Vec::new();
    let allowed = report
        .of(|finding| finding.verdict == Verdict::Within && finding.standing == Standing::Allowed);
    if !allowed.is_empty() && verdict > Verdict::Within {
        lines.push(allowance_words(&allowed));
    }
    let moved = report.of(|finding| finding.standing == Standing::Moved);
    let is_single = |finding: &&Finding| finding.moved_from.is_some();
    let (moved, grouped): (Vec<&Finding>, Vec<&Finding>) = moved.into_iter().partition(is_single);
    if !grouped.is_empty() {
        let stacks = grouped.iter().map(|finding| match finding.subject {
            Subject::Site { stacks, .. } => stacks as u64,
            _ => 1,
        });
        let n = stacks.fold(0, u64::saturating_add);
        let use_them = plural(n, "stack uses", "stacks use");
        lines.push(format!(
            "{use_them} allowances that this build does not tell apart"
        ));
    }
    if !moved.is_empty() {
        let stand = are(moved.len(), "now stands", "now stand");
        let command = command(report, "accept");
        lines.push(format!("{stand} under another caller{command}"));
    }
    let stale = report.stale();
    if !stale.is_empty() && verdict != Verdict::Improved {
        // `review` can accept this finding alone; `accept` would accept the growth as well.
        let command = match verdict {
            Verdict::Regressed => command(report, "review"),
            _ => String::new(),
        };
        let are = are(stale.len(), "is", "are");
        lines.push(format!("{are} no longer needed{command}"));
    }
    let unsure = report.unsure();
    if !unsure.is_empty() && verdict != Verdict::Inconclusive {
        lines.push(unsure_words(&unsure));
    }
    if !lines.is_empty() && verdict != Verdict::Within {
        page.blank();
    }
    for line in lines {
        page.wrap(2, 4, Paint::Plain, &line);
    }
    findings::moves(page, &moved);
}

/// Prints how complete the measurement was, if there is something to say.
fn remarks(page: &mut Page, report: &Report) {
    let mut lines = Vec::new();
    lines.extend(report.coarsened());
    for check in report.checks(CheckOutcome::Unavailable) {
        lines.push(format!("{} unavailable: {}", check.name, check.detail));
    }
    let complete = &report.completeness;
    let of_addresses = plural(complete.addresses as u64, "address", "addresses");
    let mut findings = report.findings.iter();
    let names_matter = findings.any(Finding::has_unexplained_frames);
    let were = |n: usize| if n == 1 { "was" } else { "were" };
    if let n @ 1.. = complete.unresolved
        && names_matter
    {
        let n = count(n as u64);
        lines.push(format!("{n} of {of_addresses} had no name"));
    }
    if let n @ 1.. = complete.without_debug_info
        && names_matter
    {
        let (were, n) = (were(n), count(n as u64));
        lines.push(format!(
            "{n} of {of_addresses} {were} named by a symbol table alone"
        ));
    }
    if let n @ 1.. = complete.truncated_stacks {
        let (were, n) = (were(n), count(n as u64));
        let stacks = plural(complete.stacks as u64, "stack", "stacks");
        lines.push(format!(
            "{n} of {stacks} {were} cut at jemalloc's limit of frames"
        ));
    }
    lines.extend(report.notes.iter().cloned());
    lines.extend(report.resident().filter(|_| page.all));
    if lines.is_empty() {
        return;
    }
    if report.verdict != Verdict::Within {
        page.blank();
    }
    let most = if page.all { usize::MAX } else { MAX_NOTES };
    for line in lines.iter().take(most) {
        page.wrap(2, 4, Paint::Dim, &format!("note: {line}"));
    }
    if let more @ 1.. = lines.len().saturating_sub(most) {
        let more = plural(more as u64, "more note", "more notes");
        page.wrap(2, 4, Paint::Dim, &format!("… {more} in report.json"));
    }
}

/// Returns `: cargo plimsoll accept NAME`, or nothing if no scenario can have this name.
fn command(report: &Report, what: &str) -> String {
    match command_word(&report.scenario) {
        Some(name) => format!(": cargo plimsoll {what} {name}"),
        None => String::new(),
    }
}

/// Prints what to do, and how to measure again.
fn steps(page: &mut Page, report: &Report) {
    if let Some(step) = report.accept("") {
        page.command(&format!("{}:", step.to), &step.command);
        let baseline = &report.run.baseline;
        if report.verdict == Verdict::Improved && !baseline.is_empty() {
            page.wrap(2, 4, Paint::Plain, &format!("it stands in: {baseline}"));
        }
    }
    if report.verdict == Verdict::Improved || report.lacks_baseline() {
        return;
    }
    if let Some(command) = report.again() {
        page.command("measure it again:", &command);
        if report.verdict == Verdict::Failed && report.run.runner == super::Runner::Test {
            let command = format!("PLIMSOLL_ISOLATION=off {command}");
            page.command("in a debugger, unmeasured:", &command);
        }
    }
}

fn files(page: &mut Page, report: &Report) {
    let files = terminal(&report.run.files);
    if files.is_empty() {
        return;
    }
    let files = format!("{}/", files.trim_end_matches('/'));
    if columns(&files) + 9 <= page.width {
        page.line(&[(Paint::Plain, "  files: "), (Paint::Plain, &files)]);
    } else {
        page.line(&[(Paint::Plain, "  files:")]);
        page.path(&files);
    }
}
