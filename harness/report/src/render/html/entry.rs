//! What needs a person: one entry for each cause, in the order of every output.

use maud::{Markup, html};
use plimsoll_core::report::units::bytes;
use plimsoll_core::report::view::Node;
use plimsoll_core::text::words::{Word, Words};
use plimsoll_core::to_f64;

use super::escape::{block, line};
use super::{Page, badge, class, code, folded, marked};
use crate::render::capital;
use crate::render::entries::{Entry, Kind};
use crate::render::links::Links;

/// The entries that are shown in full. The others are folded, below a line that counts them.
const MOST_ENTRIES: usize = 10;
/// The most scenarios that an entry links.
const MOST_SCENARIOS: usize = 50;

pub(super) fn all(page: &Page<'_>) -> Markup {
    let entries = &page.view.entries;
    let more = ("more cause", "more causes");
    html! {
        @if !entries.is_empty() {
            section class="entries" aria-labelledby="~entries" {
                h2 id="~entries" { "What to look at" }
                (folded(entries, MOST_ENTRIES, more, |entry| one(page, entry)))
            }
        }
    }
}

fn one(page: &Page<'_>, entry: &Entry<'_>) -> Markup {
    let view = &page.view;
    let links = &view.links;
    let place = entry.cause().and_then(|cause| cause.place());
    let is_said = view.is_in_headline(entry) && place.is_some();
    let held = entry.cause().map(|cause| cause.held()).unwrap_or_default();
    let chain = entry.cause().map(|cause| cause.chain_down());
    let means = entry.means();
    let reasons = entry.reasons();
    html! {
        li class={ "entry " (class(entry.verdict())) } {
            p class="first" {
                // The words of the others begin with their verdict.
                @if !matches!(entry.kind, Kind::Failed | Kind::NoResult) {
                    (badge(entry.verdict())) " "
                }
                @if !is_said { (words(&entry.title(), links)) }
                @if let Some(place) = &place {
                    @if is_said { "In " } @else { " in " }
                    (words(place, links))
                }
                @for (at, (why, members)) in reasons.iter().enumerate() {
                    @if at > 0 { "; " } @else { ": " }
                    (line(why))
                    // One reason is that of all scenarios below.
                    @if reasons.len() > 1 {
                        @for (at, member) in members.iter().take(MOST_SCENARIOS).enumerate() {
                            @if at > 0 { ", " } @else { " in " }
                            (line(&view.titles[member.place]))
                        }
                    }
                }
                @if !reasons.is_empty() { ". What has no result did not pass." }
            }
            @if !held.is_empty() {
                p class="held" { @for held in held { (words(&held.capital(), links)) ". " } }
                ol class="chain" aria-label="From what holds to what is held" {
                    @for node in chain.into_iter().flatten() { li { (holder(&node, links)) } }
                }
            }
            @if !means.is_empty() {
                p class="means" { @for text in &means { (marked(&capital(text))) ". " } }
            }
            @if let Some(since) = view.since(entry) { p { (words(&since, links)) } }
            @if let Some(filling) = entry.filling() { p { (capital(&filling)) "." } }
            @for step in entry.steps(view.joined) { (command(step.to, &step.command)) }
            @let differ = entry.differ();
            p class="where" {
                "In " @for (at, member) in entry.members.iter().take(MOST_SCENARIOS).enumerate() {
                    @if at > 0 { ", " }
                    a href={ "#" (page.slugs[member.place]) } { (line(&view.titles[member.place])) }
                    @if let Some(cause) = member.cause.as_ref().filter(|_| differ) {
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
    let place = plimsoll_core::text::words::place(file, number);
    // The address is escaped for an attribute already.
    let url = links.line(file, number).map(maud::PreEscaped);
    html! {
        @match url {
            Some(url) => a href=(url) { (code(&place)) },
            None => (code(&place)),
        }
    }
}
