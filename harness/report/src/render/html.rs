//! The report as one HTML page that needs no other file and no network.
//!
//! ```text
//! Joined ──► entries, table, stacks, plots  markup, readable without JavaScript
//!        └─► stacks of each flame graph     JSON in the page, drawn by flame.js
//! ```
//!
//! The script lets the reader search, sort, fold and zoom what is there. It makes text and no
//! markup. The content security policy in the page's head allows this script and this style by
//! their digests, and nothing else.

mod detail;
mod entry;
mod escape;
mod findings;
mod flame;
mod plot;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::plural;
use plimsoll_core::report::view::Sum;
use sha2::{Digest, Sha256};

use super::entries::worst_first;
use super::{Context, View, capital, markdown};
use crate::joined::{Joined, NO_RESULT, Outcome, need, word};
use escape::line;
use plot::Grown;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = concat!(
    include_str!("html/page.js"),
    include_str!("html/flame.js"),
    include_str!("html/graph.js"),
    include_str!("html/plot.js"),
);

/// Returns the whole page. Of the context it shows what the base grew.
pub fn render(joined: &Joined, context: &Context) -> String {
    let view = View::new(joined, context);
    let slugs = slugs(&view.titles);
    let all = Page { view, slugs };
    let has_server = joined.reports().any(|report| !report.per.is_iteration());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(joined))
            body {
                a class="skip" href="#~scenarios" { "Skip to the scenarios" }
                header class="top" {
                    (headline(joined))
                    (source(joined))
                }
                main id="~scenarios" tabindex="-1" {
                    (entry::all(&all))
                    h2 { "Scenarios" }
                    (tools(joined))
                    (table(&all))
                }
                footer {
                    "plimsoll " (env!("CARGO_PKG_VERSION")) ". Rates are per iteration of a \
                     scenario's workload"
                    @if has_server {
                        ", and of a server per second or per unit of its counter"
                    }
                    ". This page loads nothing from anywhere."
                }
            }
        }
    };
    page.into_string() + "\n"
}

fn head(joined: &Joined) -> Markup {
    // `default-src` forbids everything that no other directive allows, such as images, fonts,
    // requests and frames. `base-uri` and `form-action` do not fall back to it. Trusted types
    // keep the script itself from making markup out of text.
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        by_digest(SCRIPT),
        by_digest(STYLE),
    );
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            title { (word(joined.verdict())) ": leak report of " (scenarios(joined.scenarios.len())) }
            style { (PreEscaped(STYLE)) }
            script { (PreEscaped(SCRIPT)) }
        }
    }
}

/// Returns the name of our own style or script in the content security policy.
fn by_digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Returns every verdict that occurs and its number of scenarios, the one that needs a person
/// most first.
fn counts(joined: &Joined) -> Vec<(Option<Verdict>, usize)> {
    let mut counts = joined.counts();
    counts.sort_by_key(|(verdict, _)| Reverse(need(*verdict)));
    counts
}

fn scenarios(count: usize) -> String {
    plural(count as u64, "scenario", "scenarios")
}

fn headline(joined: &Joined) -> Markup {
    let verdict = joined.verdict();
    html! {
        p class="kind" { "Leak report" }
        h1 class=(class(verdict)) {
            (badge(verdict)) " " span class="what" { (capital(&markdown::headline(joined))) }
        }
        ul class="counts" aria-label="Scenarios by verdict" {
            @for (verdict, count) in counts(joined) {
                li class=(class(verdict)) { b { (count) } " " (word(verdict)) }
            }
        }
    }
}

fn source(joined: &Joined) -> Markup {
    let mut rows: Vec<(&str, Markup)> = Vec::new();
    if let Some(source) = &joined.source {
        rows.push(("Repository", code(&source.repository)));
        if let Some(number) = source.pull_request {
            rows.push(("Pull request", html! { "#" (number) }));
        }
        rows.push(("Head", code(&source.head)));
        if let Some(base) = &source.base {
            rows.push(("Base", code(base)));
        }
        let (run, attempt, event) = (source.run, source.attempt, line(&source.event));
        let run = html! { (run) ", attempt " (attempt) ", on " (event) };
        rows.push(("Workflow run", run));
        if !source.prefix.is_empty() {
            rows.push(("Folder", code(&source.prefix)));
        }
    } else {
        let commits = BTreeSet::from_iter(joined.commits());
        rows.extend(list(commits).map(|codes| ("Commit", codes)));
    }
    let runs = if joined.runs.len() == 1 {
        "Run"
    } else {
        "Runs"
    };
    let codes = list(joined.runs.iter().map(String::as_str));
    rows.extend(codes.map(|codes| (runs, codes)));
    let platforms = joined.scenarios.iter().map(|of| of.platform.as_deref());
    let platforms: BTreeSet<&str> = platforms.flatten().collect();
    rows.extend(list(platforms).map(|codes| ("Measured on", codes)));
    html! {
        dl class="facts source" {
            @for (name, value) in rows {
                (fact(name, value))
            }
        }
    }
}

/// Returns a name and its value in a list of facts.
fn fact(name: &str, value: impl Render) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// Returns text in one line. What stands between backticks is code.
fn marked(text: &str) -> Markup {
    let line = line(text);
    html! {
        @for (at, part) in line.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Returns a numbered list. Items after the first `most` are folded, below a line that counts
/// them.
fn folded<T>(
    all: &[T],
    most: usize,
    (one, many): (&str, &str),
    item: impl Fn(&T) -> Markup,
) -> Markup {
    let (shown, rest) = all.split_at(all.len().min(most));
    html! {
        ol { @for one in shown { (item(one)) } }
        @if !rest.is_empty() {
            details class="rest" {
                summary { (plural(rest.len() as u64, one, many)) }
                ol start=(most + 1) { @for one in rest { (item(one)) } }
            }
        }
    }
}

fn code(text: &str) -> Markup {
    html! { code { (line(text)) } }
}

/// Returns a list of at most five texts, and how many more there are.
fn list<'a>(all: impl IntoIterator<Item = &'a str>) -> Option<Markup> {
    const MOST: usize = 5;
    let all: Vec<&str> = all.into_iter().collect();
    let more = all.len().saturating_sub(MOST);
    (!all.is_empty()).then(|| {
        html! {
            @for (at, one) in all.iter().take(MOST).enumerate() {
                @if at > 0 { ", " }
                (code(one))
            }
            @if more > 0 { ", " (more) " more" }
        }
    })
}

/// Returns the controls of the script. Without JavaScript they are hidden.
fn tools(joined: &Joined) -> Markup {
    html! {
        div class="tools" role="search" aria-label="Scenarios" {
            label class="search" {
                span { "Search" } " "
                input type="search" id="~search" placeholder="scenario, package, function"
                    autocomplete="off" spellcheck="false" aria-keyshortcuts="/";
                " " kbd { "/" }
            }
            div class="filters" role="group" aria-label="Only those that are" {
                @for (verdict, count) in counts(joined) {
                    button type="button" class={ "filter " (class(verdict)) } aria-pressed="false"
                        data-verdict=(need(verdict)) {
                        (word(verdict)) " " span class="n" { (count) }
                    }
                }
            }
            p class="shown" id="~shown" role="status" {}
            button type="button" class="theme" id="~theme" { "Theme: system" }
        }
    }
}

/// What all parts of the page read.
struct Page<'a> {
    view: View<'a>,
    /// The id of each scenario's row.
    slugs: Vec<String>,
}

fn table(page: &Page<'_>) -> Markup {
    // At first, the scenario is open that grows most, or else the worst.
    let worst = page.view.growing().next().or(page.view.entries.first());
    let open = worst.map(|entry| entry.worst().place);
    // The heading, the class, and the key by which the script sorts.
    let columns = [
        ("Verdict", "c-verdict", Some("verdict")),
        ("Scenario", "c-name", Some("name")),
        ("Grows by", "c-rate", Some("rate")),
        ("Allowed", "c-allowed", None),
        ("Level, first → last", "c-level", Some("level")),
        ("Trend", "c-trend", None),
    ];
    html! {
        table class="scenarios" role="table" {
            caption class="quiet" {
                "Every scenario of the run, the one that needs a person most first. Each has its \
                 details below its row."
            }
            thead role="rowgroup" {
                tr role="row" {
                    @for (name, class, sort) in columns {
                        th scope="col" role="columnheader" class=(class) data-sort=[sort]
                            aria-sort=[(sort == Some("verdict")).then_some("descending")] {
                            (name)
                        }
                    }
                }
            }
            @for at in worst_first(page.view.joined) { (row(page, at, open == Some(at))) }
        }
        p class="none" id="~none" hidden { "No scenario is like that." }
    }
}

/// Returns an id for each scenario's row.
fn slugs(titles: &[String]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let slug = |title: &String| unique(&mut taken, escape::slug(title));
    titles.iter().map(slug).collect()
}

/// Returns a slug that is not taken yet, because a link leads only to the first of two
/// elements with the same id.
fn unique(taken: &mut BTreeSet<String>, slug: String) -> String {
    let again = (2_usize..).map(|n| format!("{slug}-{n}"));
    let mut free = std::iter::once(slug.clone()).chain(again);
    // There are more candidates than taken names, so one is always free.
    let found = free.find(|slug| !taken.contains(slug)).unwrap_or(slug);
    taken.insert(found.clone());
    found
}

fn row(page: &Page<'_>, at: usize, is_open: bool) -> Markup {
    let view = &page.view;
    let (title, slug) = (&view.titles[at], &page.slugs[at]);
    let scenario = &view.joined.scenarios[at];
    let verdict = scenario.verdict();
    let report = scenario.report();
    let (grows, allowed) = report.map_or_else(findings::unknown, findings::sums);
    let weight = report.map_or(0.0, |report| Sum::of(report, &report.telling()).weight());
    let rungs = report.map_or(&[][..], |report| &report.rungs);
    let iterations: Vec<u64> = rungs.iter().map(|rung| rung.iterations).collect();
    let grown = report.and_then(|report| Grown::of(report).into_iter().next());
    let grown = grown.filter(|grown| grown.weight() > 0);
    let class = class(verdict);
    html! {
        tbody role="rowgroup" class={ "scenario " (class) } id=(slug) data-verdict=(need(verdict))
            data-rate=(weight) data-level=(grown.as_ref().map_or(0, Grown::weight))
            data-open=[is_open.then_some("")] {
            tr class="row" role="row" {
                td role="cell" class="c-verdict" { (badge(verdict)) }
                th scope="row" role="rowheader" class="c-name" {
                    a class="name" href={ "#" (slug) } { (line(title)) }
                    span class="place" { (line(&scenario.package)) " / " (line(&scenario.target)) }
                }
                td role="cell" class="c-rate" { (grows) }
                td role="cell" class="c-allowed" { (allowed) }
                td role="cell" class="c-level" {
                    @match grown.as_ref().and_then(Grown::ends) {
                        Some(ends) => (ends),
                        None => span class="quiet" { "–" },
                    }
                }
                td role="cell" class="c-trend" {
                    @if let Some(grown) = &grown { (plot::spark(&iterations, &grown.levels)) }
                }
            }
            tr class="detail" role="row" id={ (slug) "~detail" } {
                td role="cell" colspan="6" {
                    @match &scenario.outcome {
                        Outcome::Report(report) => (detail::of(report, slug, &view.links)),
                        Outcome::NoResult(why) => p class="say" {
                            (capital(NO_RESULT)) ": " (line(why))
                            ". What has no result did not pass."
                        },
                    }
                }
            }
        }
    }
}

fn class(verdict: Option<Verdict>) -> String {
    format!("v-{}", verdict.map_or("none", Verdict::as_str))
}

fn badge(verdict: Option<Verdict>) -> Markup {
    html! { span class={ "badge " (class(verdict)) } { (word(verdict)) } }
}

#[cfg(test)]
mod tests;
