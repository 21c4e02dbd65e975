//! The comment on a pull request, and the summary page of a job, in GitHub's markdown: what
//! grew, how much, where, and what to do.
//!
//! The verdict comes first, in words and with numbers. Then come a sentence on the worst
//! scenario, a table with the worst first, a block for each scenario that is not green, and
//! commands. Blocks get their space in order of importance, and stand in reading order. Blocks
//! that do not fit are counted and named. No block is ever cut, so every fence and every
//! `<details>` is closed.

mod commands;
mod details;
mod headline;
mod page;
mod rows;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Report;
use plimsoll_core::report::units::plural;
use plimsoll_core::report::view::Sum;

use self::page::{Measure, Page};
use super::{Context, TouchedKind};
use crate::joined::{Joined, NoResult, Scenario, need, word};
use plimsoll_text::sink::{code_span, html_text, url};

/// GitHub refuses a comment of more than 65,536 characters.
const COMMENT: Size = Size {
    measure: Measure::Utf16,
    limit: 65_000,
    open_rows: 10,
    details: 10,
};
/// GitHub drops a summary of more than 1 MiB completely.
const SUMMARY: Size = Size {
    measure: Measure::Bytes,
    limit: (1 << 20) - 1_024,
    open_rows: 200,
    details: 50,
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
    /// The most rows of the table that are not folded.
    open_rows: usize,
    /// The most scenarios with a block of their own.
    details: usize,
}

/// What all parts of a page read.
struct View<'a> {
    joined: &'a Joined,
    context: &'a Context,
    titles: Vec<String>,
    /// The index of every scenario, the one that needs a person most first.
    order: Vec<usize>,
}

/// Returns a comment on a pull request of at most 65,000 characters.
pub fn comment(joined: &Joined, context: &Context) -> String {
    View::new(joined, context).render(&COMMENT, marker(context))
}

/// Returns the verdict in one line, without formatting or colour.
pub fn headline(joined: &Joined) -> String {
    headline::plain(joined)
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
    let links = links(context);
    let links = links.map_or(String::new(), |links| format!(" · {links}"));
    page.add(Some(format!(
        "{} Nothing is known of this change: this is not a pass. (`{}`){links}",
        reason.text(),
        reason.code()
    )));
    page.add(touched(context));
    page.add(Some(footer(context, &[], &[])));
    page.finish()
}

/// Returns the first lines of a comment, which are invisible.
fn marker(context: &Context) -> Option<String> {
    Some(context.marker.as_ref()?.lines.clone())
}

fn is_hex(sha: &str) -> bool {
    !sha.is_empty() && sha.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the index of every scenario, the one that needs a person most first. Of scenarios
/// with the same verdict, the one that grows most comes first.
pub fn worst_first(joined: &Joined) -> Vec<usize> {
    let mut order: Vec<usize> = (0..joined.scenarios.len()).collect();
    order.sort_by_cached_key(|&place| {
        let scenario = &joined.scenarios[place];
        let bytes = scenario.report().map_or(0, order_of_growth);
        (Reverse((need(scenario.verdict()), bytes)), place)
    });
    order
}

/// Returns the growth by which scenarios with the same verdict are sorted, in millionths. It
/// is an integer, because no float decides an order.
#[expect(clippy::cast_possible_truncation, reason = "cut to the range before")]
fn order_of_growth(report: &Report) -> i128 {
    let weight = Sum::of(report, &report.growing()).weight();
    (weight * 1e6).clamp(-1e36, 1e36) as i128
}

impl<'a> View<'a> {
    fn new(joined: &'a Joined, context: &'a Context) -> Self {
        View {
            joined,
            context,
            titles: joined.titles(),
            order: worst_first(joined),
        }
    }

    /// Returns a scenario's title for use in a sentence.
    fn title(&self, place: usize) -> String {
        code_span(&self.titles[place], NAME)
    }

    /// Returns the scenarios that are not green, worst first.
    fn open(&self) -> impl Iterator<Item = usize> {
        let places = self.order.iter().copied();
        places.filter(|&place| !is_green(&self.joined.scenarios[place]))
    }

    fn green(&self) -> impl Iterator<Item = usize> {
        let places = self.order.iter().copied();
        places.filter(|&place| is_green(&self.joined.scenarios[place]))
    }

    fn render(&self, size: &Size, marker: Option<String>) -> String {
        let mut page = Page::new(size.measure, size.limit);
        // In reading order. Blocks of limited size that must not be missing are added at once.
        page.add(marker);
        page.add(Some(headline::verdict(self)));
        page.add(headline::sentence(self));
        page.add(self.context.untrusted.then(|| {
            "**Measured by this pull request's own code.** The numbers are that code's word: \
             nobody else has checked them."
                .to_owned()
        }));
        page.add(touched(self.context));
        let open: Vec<usize> = self.open().collect();
        page.add(rows::open(self, &open[..open.len().min(size.open_rows)]));
        let is_improved =
            |place: &usize| self.joined.scenarios[*place].verdict() == Some(Verdict::Improved);
        let with_details = open.iter().copied().chain(self.green().filter(is_improved));
        let with_details: Vec<usize> = with_details.take(size.details).collect();
        let places: Vec<_> = with_details.iter().map(|_| page.place()).collect();
        let more = page.place();
        let green = page.place();
        page.add(commands::block(self));
        let note = page.place();
        let Joined {
            scenarios, runs, ..
        } = self.joined;
        page.add(Some(footer(self.context, scenarios, runs)));

        let kept = page.keep(NOTE);
        let mut left_out = Vec::new();
        let mut without = open.len().saturating_sub(with_details.len());
        for (number, (&scenario, place)) in with_details.iter().zip(places).enumerate() {
            // Only the first block is open: the worst scenario is read first.
            let is_open = number == 0 && !is_green(&self.joined.scenarios[scenario]);
            if !page.fill(place, details::block(self, scenario, is_open)) {
                without += 1;
            }
        }
        if without > 0 {
            let scenarios = plural(without as u64, "scenario", "scenarios");
            left_out.push(format!("the details of {scenarios}"));
        }
        let folded = rows::more(self, &open[open.len().min(size.open_rows)..]);
        let missing = page.fill_rows(more, folded);
        let missing = missing + page.fill_rows(green, rows::green(self));
        if missing > 0 {
            let rows = plural(missing as u64, "row", "rows");
            left_out.push(format!("{rows} of the tables"));
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
    let links: Vec<String> = report.into_iter().chain(job).collect();
    (!links.is_empty()).then(|| links.join(" · "))
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
        for file in of_kind.iter().take(MAX_TOUCHED) {
            lines.push(format!("- {}: {kind}", code_span(&file.path, NAME)));
        }
        if let more @ 1.. = of_kind.len().saturating_sub(MAX_TOUCHED) {
            lines.push(format!("- and {more} more: {kind}"));
        }
    }
    lines.extend(unsure.map(|unsure| format!("\n{unsure}")));
    Some(lines.join("\n"))
}

/// Returns the footer: what was measured, and with what.
fn footer(context: &Context, scenarios: &[Scenario], runs: &[String]) -> String {
    let short = |sha: &str| format!("`{}`", &sha[..sha.len().min(7)]);
    let mut parts = vec![format!("plimsoll {}", env!("CARGO_PKG_VERSION"))];
    for (word, sha) in [("base", &context.base), ("head", &context.head)] {
        if let Some(sha) = sha.as_deref().filter(|sha| is_hex(sha)) {
            parts.push(format!("{word} {}", short(sha)));
        }
    }
    if context.head.is_none() {
        let reports = scenarios.iter().filter_map(Scenario::report);
        let commits = reports.filter_map(|report| report.run.commit.as_deref());
        let commits: BTreeSet<&str> = commits.filter(|commit| is_hex(commit)).collect();
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

/// Returns a list such as `runs a, b, c, 4 more`.
fn few(one: &str, many: &str, all: impl Iterator<Item = String>) -> Option<String> {
    let mut all: Vec<String> = all.collect();
    let word = if all.len() == 1 { one } else { many };
    if let more @ 1.. = all.len().saturating_sub(MAX_NAMED) {
        all.truncate(MAX_NAMED);
        all.push(format!("{more} more"));
    }
    (!all.is_empty()).then(|| format!("{word} {}", all.join(", ")))
}

/// Returns a `<summary>` of plimsoll's own words.
fn summary_line(text: &str) -> String {
    format!("<summary>{}</summary>", html_text(text, 300))
}

#[cfg(test)]
mod tests;
