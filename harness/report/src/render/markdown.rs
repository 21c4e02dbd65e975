//! The comment on a pull request, and the summary page of a job, in GitHub's markdown.
//!
//! The verdict comes first, in words and with numbers. Then come the entries, one for each
//! cause, the worst first: where, what it means, what to do, and how to measure it again. The
//! stacks and pictures of an entry are folded below it. A green page is one line.
//!
//! Blocks get their space in order of importance, and stand in reading order. Blocks that do
//! not fit are counted and named. No block is ever cut, so every fence and every `<details>` is
//! closed.

mod details;
mod entry;
mod headline;
mod page;
mod rows;

use std::collections::BTreeSet;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::plural;

use self::page::{Measure, Page};
use super::entries::{Kind, entries};
use super::{Context, TouchedKind, View};
use crate::joined::{Joined, NoResult, Scenario, need, word};
use plimsoll_core::text::sink::{code_span, html_text, url};

/// GitHub refuses a comment of more than 65,536 characters.
const COMMENT: Size = Size {
    measure: Measure::Utf16,
    limit: 65_000,
    entries: 10,
    has_green: false,
};
/// GitHub drops a summary of more than 1 MiB completely.
const SUMMARY: Size = Size {
    measure: Measure::Bytes,
    limit: (1 << 20) - 1_024,
    entries: 50,
    has_green: true,
};
/// The most columns of a scenario's name.
const NAME: usize = 100;
const MAX_TOUCHED: usize = 10;
/// The space kept for the line that says what was left out. It may contain the URL of the
/// report.
const NOTE: usize = 3_000;
const MAX_PLATFORMS: usize = 3;
/// The most runs or commits that are named.
const MAX_NAMED: usize = 3;

/// The limits of a page.
struct Size {
    measure: Measure,
    limit: usize,
    /// The most entries that are not folded.
    entries: usize,
    /// Whether green scenarios are listed.
    has_green: bool,
}

/// Returns a comment on a pull request of at most 65,000 characters.
pub fn comment(joined: &Joined, context: &Context) -> String {
    View::new(joined, context).render(&COMMENT, marker(context))
}

/// Returns the verdict in one line, without formatting or colour.
pub fn headline(joined: &Joined) -> String {
    headline::plain(joined, &entries(joined))
}

/// Returns the summary page of a job, at most 1 MiB long.
pub fn summary(joined: &Joined, context: &Context) -> String {
    View::new(joined, context).render(&SUMMARY, None)
}

/// Returns a comment for a run that has nothing to show. It never reads as a pass.
pub fn no_result(context: &Context, reason: NoResult) -> String {
    let mut page = Page::new(COMMENT.measure, COMMENT.limit);
    page.add(marker(context));
    page.add(Some("### ⚪ Leak check: no result".to_owned()));
    page.add(Some(format!(
        "{} Nothing is known of this change: this is not a pass. (`{}`)",
        reason.text(),
        reason.code()
    )));
    page.add(touched(context));
    page.add(Some(footer(context, &Joined::default())));
    page.finish()
}

/// Returns the first lines of a comment, which are invisible.
fn marker(context: &Context) -> Option<String> {
    Some(context.marker.as_ref()?.lines.clone())
}

fn is_hex(sha: &str) -> bool {
    !sha.is_empty() && sha.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl View<'_> {
    /// Returns a scenario's title for use in a sentence.
    fn title(&self, place: usize) -> String {
        code_span(&self.titles[place], NAME)
    }

    fn render(&self, size: &Size, marker: Option<String>) -> String {
        let mut page = Page::new(size.measure, size.limit);
        // In reading order. Blocks of limited size that must not be missing are added at once.
        page.add(marker);
        let icon = match self.joined.verdict() {
            Some(Verdict::Within | Verdict::Improved) if self.context.untrusted => icon(None),
            verdict => icon(verdict),
        };
        let headline = headline::plain(self.joined, &self.entries);
        page.add(Some(format!("### {icon} Leak check: {headline}")));
        page.add(self.context.untrusted.then(|| {
            "**Measured by this pull request's own code.** The numbers are that code's word: \
             nobody else has checked them."
                .to_owned()
        }));
        page.add(touched(self.context));
        let open = &self.entries[..self.entries.len().min(size.entries)];
        let places: Vec<_> = open.iter().map(|_| (page.place(), page.place())).collect();
        let more = page.place();
        page.add(details::improved(self));
        let green = page.place();
        let note = page.place();
        page.add(Some(footer(self.context, self.joined)));

        let kept = page.keep(NOTE);
        let mut left_out = Vec::new();
        let (mut missing, mut above) = (0, BTreeSet::new());
        let mut folded = Vec::new();
        for (entry, (head, details)) in open.iter().zip(places) {
            missing += usize::from(!page.fill(head, entry::block(self, entry, &mut above)));
            folded.push((entry, details));
        }
        if missing > 0 {
            left_out.push(plural(missing as u64, "entry", "entries"));
        }
        let worst = open.iter().position(|entry| entry.kind == Kind::Grows);
        let (mut without, mut above) = (0, BTreeSet::new());
        for (number, (entry, place)) in folded.into_iter().enumerate() {
            // Only the worst growth is open: it is read first.
            let is_open = worst == Some(number);
            if let Some(block) = details::block(self, entry, is_open, &mut above) {
                without += usize::from(!page.fill(place, block));
            }
        }
        if without > 0 {
            let entries = plural(without as u64, "entry", "entries");
            left_out.push(format!("the stacks of {entries}"));
        }
        let mut missing = page.fill_rows(more, rows::more(self, &self.entries[open.len()..]));
        if size.has_green {
            missing += page.fill_rows(green, rows::green(self));
        }
        if missing > 0 {
            left_out.push(plural(missing as u64, "row", "rows"));
        }
        page.release(kept);
        if !left_out.is_empty() {
            page.fill(note, self.left_out(&left_out));
        }
        page.finish()
    }

    fn left_out(&self, what: &[String]) -> String {
        let report = self.context.report_url.as_deref().and_then(url);
        let place = match report {
            Some(url) => format!("the [report]({url}) has all of it"),
            None => "`plimsoll report` shows all of it".to_owned(),
        };
        format!("Left out for length: {}; {place}.", what.join(", "))
    }
}

fn is_green(scenario: &Scenario) -> bool {
    need(scenario.verdict()) < 2
}

/// Returns the verdict in colour and in words.
fn state(scenario: &Scenario) -> String {
    let verdict = scenario.verdict();
    format!("{} {}", icon(verdict), word(verdict))
}

fn icon(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Within | Verdict::Improved) => "🟢",
        Some(Verdict::Inconclusive) => "🟡",
        Some(Verdict::Regressed | Verdict::Failed | Verdict::Broken) => "🔴",
        None => "⚪",
    }
}

/// Returns `[report](…) · [measuring job](…)`.
fn links(context: &Context) -> Option<String> {
    let link = |text: &str, to: &Option<String>| {
        let url = to.as_deref().and_then(url)?;
        Some(format!("[{text}]({url})"))
    };
    let report = link("report", &context.report_url);
    let job = link("measuring job", &context.job_url);
    joined(report.into_iter().chain(job), " · ")
}

/// Returns the list of changed files on which the pull request's own verdict rests.
fn touched(context: &Context) -> Option<String> {
    let unsure = context.touched_more.then(|| {
        "**Which files this pull request changes could not be looked up in full**: whether it \
         changes what it is measured by has to be seen in its diff."
            .to_owned()
    });
    if context.touched.is_empty() {
        return unsure;
    }
    let mut touched: Vec<_> = context.touched.iter().collect();
    touched.sort();
    let mut lines = vec![format!(
        "**This pull request changes files that decide its own result**, in {}:\n",
        plural(touched.len() as u64, "file", "files")
    )];
    // Each kind has its own limit, so many files of one kind do not hide those of another.
    for of_kind in touched.chunk_by(|a, b| a.kind == b.kind) {
        let kind = match of_kind[0].kind {
            TouchedKind::Baseline => "baseline, which says what may grow",
            TouchedKind::Test => "leak test",
            TouchedKind::Build => "what is built, and how",
            TouchedKind::Settings => "settings",
            TouchedKind::Workflow => "workflow",
        };
        let files = of_kind.iter();
        let files = files.map(|file| format!("- {}: {kind}", code_span(&file.path, NAME)));
        let more = |more| format!("- and {more} more: {kind}");
        lines.extend(first(MAX_TOUCHED, files, more));
    }
    lines.extend(unsure.map(|unsure| format!("\n{unsure}")));
    Some(lines.join("\n"))
}

/// Returns the footer: where to read on, what was measured, and with what.
fn footer(context: &Context, joined: &Joined) -> String {
    let Joined {
        scenarios, runs, ..
    } = joined;
    let short = |sha: &str| format!("`{}`", &sha[..sha.len().min(7)]);
    let mut parts: Vec<String> = links(context).into_iter().collect();
    if let Some(seen) = headline::seen_by_all(joined) {
        parts.push(format!("growth of {seen} would have been seen"));
    }
    parts.extend(compared(context, joined));
    parts.push(format!("plimsoll {}", env!("CARGO_PKG_VERSION")));
    for (word, sha) in [("base", &context.base), ("head", &context.head)] {
        if let Some(sha) = sha.as_deref().filter(|sha| is_hex(sha)) {
            parts.push(format!("{word} {}", short(sha)));
        }
    }
    if context.head.is_none() {
        let commits = joined.commits().filter(|commit| is_hex(commit));
        let commits = BTreeSet::from_iter(commits);
        parts.extend(few("commit", "commits", commits.into_iter().map(short)));
    }
    let platforms = scenarios.iter().map(|one| one.platform.as_deref());
    let platforms: BTreeSet<&str> = platforms.flatten().collect();
    if platforms.len() > MAX_PLATFORMS {
        parts.push(plural(platforms.len() as u64, "platform", "platforms"));
    } else {
        parts.extend(platforms.iter().map(|platform| code_span(platform, 60)));
    }
    match &context.marker {
        Some(marker) => parts.push(format!("run {}, attempt {}", marker.run, marker.attempt)),
        None => {
            let runs = runs.iter().map(|run| code_span(run, 60));
            parts.extend(few("run", "runs", runs));
        }
    }
    format!("<sub>{}</sub>", parts.join(" · "))
}

/// Returns whether growth was compared with that of the base, if something grows.
fn compared(context: &Context, joined: &Joined) -> Option<String> {
    let mut reports = joined.reports();
    let grows = reports.any(|report| !report.growing().is_empty());
    grows.then(|| match &context.main {
        Some(main) => main.named().markdown(60, |_, _| None),
        None => "not compared with main: no report of it was given".to_owned(),
    })
}

/// Returns a list such as `runs a, b, c, 4 more`.
fn few(one: &str, many: &str, all: impl Iterator<Item = String>) -> Option<String> {
    let all = first(MAX_NAMED, all, more);
    let word = if all.len() == 1 { one } else { many };
    (!all.is_empty()).then(|| format!("{word} {}", all.join(", ")))
}

/// Returns all texts in one, if there are any.
fn joined(all: impl IntoIterator<Item = String>, between: &str) -> Option<String> {
    let all = Vec::from_iter(all);
    (!all.is_empty()).then(|| all.join(between))
}

/// Returns the first texts and, if there are others, how many.
fn first(
    most: usize,
    all: impl Iterator<Item = String>,
    more: impl Fn(usize) -> String,
) -> Vec<String> {
    let mut all: Vec<String> = all.collect();
    if let others @ 1.. = all.len().saturating_sub(most) {
        all.truncate(most);
        all.push(more(others));
    }
    all
}

fn more(others: usize) -> String {
    format!("{others} more")
}

/// Returns a `<summary>` of plimsoll's own words.
fn summary_line(text: &str) -> String {
    format!("<summary>{}</summary>", html_text(text, 300))
}

#[cfg(test)]
mod tests;
