//! The text that a failing test prints, and the line that a passing test prints.
//!
//! It says three things: what grows, how much, and what to do next.
//!
//! ```text
//! lru_churn: 1 stack keeps growing (65,536 iterations, exact)
//!
//!   +96 B  +1.00 objects per iteration, linear     allowed 0 B     new
//!     lru_churn::fill                               scenarios/src/lru_churn.rs:14
//!     └ lru::LruCache::put                          lru/src/lib.rs:212
//!
//!   at 1,000 iterations a second: 1 GiB in 3.1 h
//!   files: target/plimsoll/plimsoll-scenarios/leaks/lru_churn/
//!   if this is intended: cargo plimsoll accept lru_churn
//! ```

mod findings;
mod page;

use self::page::{Page, Paint};
use super::units::{count, duration, plural};
use super::view::{allowance_words, are, counted, is_one, total, unsure_words};
use super::{CheckOutcome, Finding, Report, Standing, Subject};
use crate::verdict::Verdict;
use plimsoll_text::escape::{columns, command_word, cut_middle, terminal};

/// Lines of a subject's output that are printed. The end tells the most, and the report has
/// more.
const MAX_OUTPUT_LINES: usize = 30;
const MAX_NOTES: usize = 10;
/// Lines of a check's detail after its first line: what was expected, and a hint.
const MAX_DETAIL_LINES: usize = 4;

/// How to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether the reader is a terminal that understands ANSI colours.
    pub color: bool,
    /// The most columns of a line; less than 40 counts as 40. Only a path may be longer.
    pub width: usize,
    /// The command that runs this scenario again, alone and under a debugger.
    pub reproduce: Option<String>,
}

impl Style {
    /// Returns a style of 80 columns without colour.
    pub fn plain() -> Self {
        Style {
            color: false,
            width: 80,
            reproduce: None,
        }
    }
}

/// Returns the whole text for one scenario, with a newline at its end.
pub fn render(report: &Report, style: &Style) -> String {
    let mut page = Page::new(style);
    let name = cut_middle(&terminal(&report.scenario), page.width / 2);
    headline(&mut page, &name, report);
    match report.verdict {
        Verdict::Within => {}
        Verdict::Improved => findings::blocks(&mut page, report, &report.stale()),
        Verdict::Inconclusive => inconclusive(&mut page, report),
        Verdict::Regressed => regressed(&mut page, report),
        Verdict::Failed => failed(&mut page, report),
        Verdict::Broken => broken(&mut page, report),
    }
    others(&mut page, report);
    remarks(&mut page, report);
    if report.verdict != Verdict::Within {
        page.blank();
        next(&mut page, report, style);
    }
    page.finish()
}

/// Returns the text about one finding, whatever the verdict, with a newline at its end.
pub fn finding(report: &Report, finding: &Finding, style: &Style) -> String {
    let mut page = Page::new(style);
    findings::blocks(&mut page, report, &[finding]);
    findings::moves(&mut page, &[finding]);
    page.finish()
}

/// Returns the outcome in one line of any length, which a passing test prints on request.
pub fn one_line(report: &Report) -> String {
    let outcome = report.outcome().plain();
    terminal(&format!("{}: {outcome}", report.scenario))
}

fn headline(page: &mut Page, name: &str, report: &Report) {
    let text = format!("{name}: {}", report.outcome().plain());
    let paint = match report.verdict {
        Verdict::Within | Verdict::Improved => Paint::Green,
        Verdict::Inconclusive => Paint::Yellow,
        Verdict::Regressed | Verdict::Failed | Verdict::Broken => Paint::Red,
    };
    page.wrap(0, 2, paint, &text);
}

fn regressed(page: &mut Page, report: &Report) {
    let growing = report.past();
    findings::blocks(page, report, &growing);
    page.blank();
    service(page, &growing);
    if report.end.is_by_growth() {
        let text = format!("the ladder ended early: {}", report.end.why());
        page.wrap(2, 2, Paint::Plain, &text);
    }
    if findings::may_be_filling(&growing) {
        let text = "a cache larger than the ladder reached looks like this too: make it smaller \
                    in the scenario, or raise the budget";
        page.wrap(2, 2, Paint::Plain, text);
    }
}

/// Prints what the growth means for a service that runs for a long time.
fn service(page: &mut Page, growing: &[&Finding]) {
    const PER_SECOND: f64 = 1_000.0;
    const GIB: f64 = 1_073_741_824.0;
    let mut parts = Vec::new();
    let rate = total(growing);
    if rate.bytes > 0.0 {
        let time = duration(GIB / (rate.bytes * PER_SECOND));
        parts.push(format!("1 GiB in {time}"));
    }
    for finding in growing {
        // 1,024 is the usual limit of open files. A thousand threads are a lot.
        let (n, what) = match finding.subject {
            Subject::Threads => (1_000_u32, "threads"),
            Subject::Descriptors => (1_024, "file descriptors"),
            _ => continue,
        };
        if finding.rate.objects > 0.0 {
            let time = duration(f64::from(n) / (finding.rate.objects * PER_SECOND));
            let n = count(n.into());
            parts.push(format!("{n} {what} in {time}"));
        }
    }
    if !parts.is_empty() {
        let text = format!("at 1,000 iterations a second: {}", parts.join(", "));
        page.wrap(2, 4, Paint::Bold, &text);
    }
}

fn inconclusive(page: &mut Page, report: &Report) {
    findings::blocks(page, report, &report.unsure());
    page.blank();
    let mut say = |text: &str| page.wrap(2, 4, Paint::Plain, text);
    say(&format!("to be found: {}", report.to_be_found()));
    if let Some(seen) = report.seen() {
        say(&format!("would have been seen: {seen}"));
    }
    if let Some(why) = report.too_few_for_the_interval() {
        say(&why);
    }
    say(report.end.advice());
    say("a steadier workload needs fewer iterations, and so does a coarser threshold");
}

fn failed(page: &mut Page, report: &Report) {
    if let Some(failure) = &report.failure {
        output(page, &failure.output);
    }
    let growing = report.past();
    if !growing.is_empty() {
        page.blank();
        let verb = if is_one(&growing) { "was" } else { "were" };
        let text = format!("until then {} {verb} growing:", counted(&growing, ""));
        page.wrap(2, 4, Paint::Plain, &text);
        findings::blocks(page, report, &growing);
        page.blank();
        service(page, &growing);
    }
}

fn output(page: &mut Page, output: &str) {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    page.blank();
    if lines.is_empty() {
        page.wrap(2, 4, Paint::Dim, "it printed nothing");
        return;
    }
    // If there is a panic, its message and the frames next to it say more than the end, which
    // belongs to the runtime.
    let at_end = lines.len().saturating_sub(MAX_OUTPUT_LINES);
    let panic = lines.iter().rposition(|line| line.contains("panicked at "));
    let start = panic.map_or(at_end, |panic| panic.min(at_end));
    let end = lines.len().min(start + MAX_OUTPUT_LINES);
    let what = match end == lines.len() {
        true => "the end of what it printed:",
        false => "of what it printed:",
    };
    page.wrap(2, 4, Paint::Plain, what);
    if start > 0 {
        let text = format!("… {}", plural(start as u64, "line before", "lines before"));
        page.wrap(2, 4, Paint::Dim, &text);
    }
    page.quote(&lines[start..end].join("\n"));
    let after = lines.len() - end;
    if after > 0 {
        let text = format!("… {}", plural(after as u64, "line after", "lines after"));
        page.wrap(2, 4, Paint::Dim, &text);
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
        if !failure.output.is_empty() {
            output(page, &failure.output);
        }
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
        let n = stacks.sum();
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
    let was_measured = !matches!(report.verdict, Verdict::Failed | Verdict::Broken);
    if report.threshold.coarsened && was_measured {
        let threshold = count(report.threshold.iterations);
        lines.push(format!(
            "the threshold was coarsened to 1 object in {threshold}: a longer budget would \
             find smaller growth"
        ));
    }
    for check in report.checks(CheckOutcome::Unavailable) {
        lines.push(format!("{} unavailable: {}", check.name, check.detail));
    }
    let complete = &report.completeness;
    let of_addresses = plural(complete.addresses as u64, "address", "addresses");
    // Missing names matter in the frames of a finding, and not in the C library below every
    // thread.
    let mut frames = report.findings.iter().flat_map(|finding| &finding.frames);
    let names_matter = frames.any(|frame| frame.file.is_none());
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
    if lines.is_empty() {
        return;
    }
    if report.verdict != Verdict::Within {
        page.blank();
    }
    for line in lines.iter().take(MAX_NOTES) {
        page.wrap(2, 4, Paint::Dim, &format!("note: {line}"));
    }
    if let more @ 1.. = lines.len().saturating_sub(MAX_NOTES) {
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

/// Prints where the files are, and which command to run.
fn next(page: &mut Page, report: &Report, style: &Style) {
    let files = terminal(&report.run.files);
    if !files.is_empty() {
        let files = format!("{}/", files.trim_end_matches('/'));
        if columns(&files) + 9 <= page.width {
            page.line(&[(Paint::Plain, "  files: "), (Paint::Plain, &files)]);
        } else {
            page.line(&[(Paint::Plain, "  files:")]);
            page.path(&files);
        }
    }
    if let Some((why, command)) = report.accept() {
        page.command(&format!("{why}:"), &command);
        let baseline = &report.run.baseline;
        if report.verdict == Verdict::Improved && !baseline.is_empty() {
            page.wrap(2, 4, Paint::Plain, &format!("it stands in: {baseline}"));
        }
    }
    if let Some(command) = &style.reproduce
        && report.verdict != Verdict::Improved
        && !report.lacks_baseline()
    {
        page.command("reproduce:", command);
    }
}
