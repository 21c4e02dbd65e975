//! What needs a person: one entry for each cause, in the order of every output.

use maud::{Markup, html};
use plimsoll_core::report::units::{bytes, plural};
use plimsoll_core::report::view::Node;
use plimsoll_core::to_f64;
use plimsoll_text::words::{Word, Words};

use super::escape::{block, line};
use super::{badge, class, code, marked};
use crate::render::capital;
use crate::render::entries::{Entry, Kind};
use crate::render::links::Links;

/// The entries that are shown in full. The others are folded, below a line that counts them.
const MOST_ENTRIES: usize = 10;
/// The most scenarios that an entry links.
const MOST_SCENARIOS: usize = 50;

/// What all entries read.
pub(super) struct Page<'a> {
    pub(super) joined: &'a crate::joined::Joined,
    pub(super) titles: &'a [String],
    /// The id of each scenario's row.
    pub(super) slugs: &'a [String],
    pub(super) links: &'a Links,
    /// How an entry compares with the base.
    pub(super) since: &'a dyn Fn(&Entry<'_>) -> Option<Words>,
    /// Whether the headline says how much grows.
    pub(super) is_said: bool,
}

pub(super) fn all(page: &Page<'_>, entries: &[Entry<'_>]) -> Markup {
    let (shown, rest) = entries.split_at(entries.len().min(MOST_ENTRIES));
    html! {
        @if !entries.is_empty() {
            section class="entries" aria-labelledby="~entries" {
                h2 id="~entries" { "What to look at" }
                ol { @for entry in shown { (one(page, entry)) } }
                @if !rest.is_empty() {
                    details class="rest" {
                        summary { (plural(rest.len() as u64, "more cause", "more causes")) }
                        ol start=(MOST_ENTRIES + 1) {
                            @for entry in rest { (one(page, entry)) }
                        }
                    }
                }
            }
        }
    }
}

fn one(page: &Page<'_>, entry: &Entry<'_>) -> Markup {
    let place = entry.cause().and_then(|cause| cause.place());
    let is_said = page.is_said && entry.kind == Kind::Grows && place.is_some();
    let held = entry.cause().map(|cause| cause.held()).unwrap_or_default();
    let chain = entry
        .cause()
        .map(|cause| cause.chain_down())
        .unwrap_or_default();
    let means = entry.cause().map(|cause| cause.means()).unwrap_or_default();
    let sampled = entry.cause().and_then(|cause| cause.report.sampled_every());
    let accept = match entry.kind {
        Kind::Grows | Kind::Expired => entry.accept(page.joined),
        _ => None,
    };
    let grows = entry.cause().filter(|_| entry.kind == Kind::Grows);
    let filling = grows.and_then(|cause| cause.report.may_be_filling(&cause.findings));
    let again = entry.again().filter(|_| entry.kind != Kind::Expired);
    let reasons = entry.reasons();
    html! {
        li class={ "entry " (class(entry.verdict())) } {
            p class="first" {
                // The words of the others begin with their verdict.
                @if !matches!(entry.kind, Kind::Failed | Kind::NoResult) {
                    (badge(entry.verdict())) " "
                }
                @if !is_said { (words(&entry.title(), page.links)) }
                @if let Some(place) = &place {
                    @if is_said { "In " } @else { " in " }
                    (words(place, page.links))
                }
                @for (at, (why, members)) in reasons.iter().enumerate() {
                    @if at > 0 { "; " } @else { ": " }
                    (line(why))
                    // One reason is that of all scenarios below.
                    @if reasons.len() > 1 {
                        @for (at, member) in members.iter().take(MOST_SCENARIOS).enumerate() {
                            @if at > 0 { ", " } @else { " in " }
                            (line(&page.titles[member.place]))
                        }
                    }
                }
                @if !reasons.is_empty() { ". What has no result did not pass." }
            }
            @if !held.is_empty() {
                p class="held" { @for held in held { (words(&held.capital(), page.links)) ". " } }
                ol class="chain" aria-label="From what holds to what is held" {
                    @for node in chain { li { (holder(&node, page.links)) } }
                }
            }
            @if !means.is_empty() || sampled.is_some() {
                p class="means" {
                    @for text in &means { (marked(&capital(text))) ". " }
                    @if let Some(every) = sampled {
                        "Estimated from one sample every " (every)
                        "; the number behind ± is the error. "
                    }
                }
            }
            @if let Some(since) = (page.since)(entry) { p { (words(&since, page.links)) } }
            @if let Some(filling) = filling { p { (capital(&filling)) "." } }
            @if let Some(step) = accept { (command(step.to, &step.command)) }
            @if let Some(again) = again { (command("measure it again", &again)) }
            p class="where" {
                "In " @for (at, member) in entry.members.iter().take(MOST_SCENARIOS).enumerate() {
                    @if at > 0 { ", " }
                    a href={ "#" (page.slugs[member.place]) } { (line(&page.titles[member.place])) }
                    @if let Some(cause) = member.cause.as_ref().filter(|_| entry.differ()) {
                        " " (cause.sum().short())
                    }
                }
                @if let more @ 1.. = entry.members.len().saturating_sub(MOST_SCENARIOS) {
                    ", " (more) " more"
                }
            }
        }
    }
}

/// Returns one thing in the picture of who holds what.
fn holder(node: &Node, links: &Links) -> Markup {
    html! {
        (words(&node.what, links))
        @if node.bytes > 0 { span class="quiet" { " " (bytes(to_f64(node.bytes))) } }
        @if let Some(place) = &node.place { span class="place" { (words(place, links)) } }
    }
}

/// Returns a command with what it does, for people to paste.
pub(super) fn command(to: &str, command: &str) -> Markup {
    html! {
        p { (capital(to)) ":" }
        pre class="command" tabindex="0" { (block(command)) }
    }
}

/// Returns a sentence whose quotes are code, and whose source lines are links.
pub(super) fn words(words: &Words, links: &Links) -> Markup {
    html! {
        @for word in words.iter() {
            @match word {
                Word::Said(said) => (said),
                Word::Stressed(said) => b { (said) },
                Word::Quoted(quoted) | Word::Named(quoted) => (code(quoted)),
                Word::Line { file, line } => (source(file, *line, links)),
            }
        }
    }
}

/// Returns a line of a source file, as a link if it can be read somewhere.
pub(super) fn source(file: &str, number: Option<u32>, links: &Links) -> Markup {
    let place = plimsoll_text::words::place(file, number);
    // The address is escaped for an attribute already.
    let url = links.line(file, number).map(maud::PreEscaped);
    html! {
        @match url {
            Some(url) => a href=(url) { (code(&place)) },
            None => (code(&place)),
        }
    }
}
