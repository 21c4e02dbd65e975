//! What was found, with its stacks; and the sums of the findings for the table.

use super::entry::{source, words};
use super::escape::line;
use super::plot::share;
use super::{fact, folded, marked};
use crate::render::links::Links;
use maud::{Markup, html};
use plimsoll_core::blame::is_plumbing;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{count, span};
use plimsoll_core::report::view::collapse::{Collapse, Part, frames_of};
use plimsoll_core::report::view::{Amount, Sum};
use plimsoll_core::report::{Finding, Report};

/// The findings that are shown in full. The others are folded, below a line that counts them.
const MOST_FINDINGS: usize = 3;

/// Returns the cells of a scenario that was not measured.
pub(super) fn unknown() -> (Markup, Markup) {
    let unknown = html! { span class="quiet" { "unknown" } };
    (unknown.clone(), unknown)
}

/// Returns two cells for the table: what all findings that the verdict is about gain, and what
/// they may gain. Of a growth that has stopped, that is what is no longer needed.
pub(super) fn sums(report: &Report) -> (Markup, Markup) {
    let quiet = |text: &str| html! { span class="quiet" { (text) } };
    if report.rungs.is_empty() {
        return unknown();
    }
    let telling = report.telling();
    let amounts = Sum::of(report, &telling).amounts();
    let Some((first, others)) = amounts.split_first() else {
        let unused = report.of(Finding::is_unused);
        return match report.verdict {
            Verdict::Improved | Verdict::Regressed if !unused.is_empty() => (
                quiet("no longer"),
                html! { (Sum::allowed(&unused).short()) },
            ),
            Verdict::Within => (quiet("–"), quiet("–")),
            _ => unknown(),
        };
    };
    let grows = html! {
        b { (first.number) } (first.rest)
        @for Amount { number, rest } in others {
            " " span class="also" { (number) (rest) }
        }
    };
    (grows, html! { (Sum::allowed(&telling).short()) })
}

pub(super) fn all(report: &Report, slug: &str, links: &Links) -> Markup {
    let findings = &report.findings;
    let more = ("more finding", "more findings");
    let collapse = report.collapse();
    let one = |finding: &Finding| one(report, &collapse, finding, links);
    html! {
        @if !findings.is_empty() {
            section class="findings" aria-labelledby={ (slug) "~found" } {
                h3 id={ (slug) "~found" } { "What was found" }
                (folded(findings, MOST_FINDINGS, more, one))
            }
        }
    }
}

fn one(report: &Report, collapse: &Collapse<'_>, finding: &Finding, links: &Links) -> Markup {
    let standing = finding.standing;
    html! {
        li class={ "finding " (super::class(Some(finding.verdict))) } {
            p class="rate" {
                b { (report.growth_of(finding)) } " " (super::badge(Some(finding.verdict)))
            }
            @if let Some(place) = finding.blamed() { p { "In " (words(&place, links)) } }
            dl class="facts" {
                (fact("Allowed", finding.allowance()))
                (fact("Standing", format_args!("{}: {}", standing.as_str(), standing.meaning())))
                @if let Some(over) = finding.over() { (fact("Where", over)) }
                @if let Some(mapped) = finding.grown_mappings() { (fact("Mappings", marked(&mapped))) }
                @if let Some(moved) = finding.moved() { (fact("Moved", words(&moved, links))) }
                @if let Some(reason) = &finding.reason { (fact("Accepted because", line(reason))) }
            }
            (frames(collapse, finding, links))
            (survivors(report, finding))
        }
    }
}

/// Returns the table of surviving objects by the octave of their birth. It is open if objects
/// come and go, because the verdict then rests on it.
fn survivors(report: &Report, finding: &Finding) -> Markup {
    let about = if report.is_sampled() { "about " } else { "" };
    let (end, many) = (report.per.count(report.iterations()), report.per.many());
    html! {
        @if !finding.survivors.is_empty() {
            details class="rungs stayed" open[finding.stayed().is_some()] {
                summary { "Who stayed" }
                p {
                    "Objects still alive after " (end) ", by the octave (a doubling of the " (many)
                    ") in which they were born. A leak keeps the same share of every \
                     octave. Where objects come and go, only the last octaves have any left."
                }
                div class="scroll" tabindex="0" role="region"
                    aria-label="Survivors by octave of birth" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Born in " (many) }
                                @for name in ["Allocated", "Still alive", "Share"] {
                                    th scope="col" { (name) }
                                }
                            }
                        }
                        tbody {
                            @for octave in &finding.survivors {
                                @let alive = octave.alive.objects;
                                tr {
                                    th scope="row" { (span(octave.from, octave.to)) }
                                    td { (octave.allocated.map_or("unknown".to_owned(), count)) }
                                    td { (about) (count(alive)) }
                                    td class="share" {
                                        @if let Some(allocated) = octave.allocated {
                                            (share(alive, allocated))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the stack. A run of frames that say little is folded, with its number.
fn frames(collapse: &Collapse<'_>, finding: &Finding, links: &Links) -> Markup {
    let frames = finding.frames();
    let names: Vec<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
    let blamed = finding.place_of_blamed();
    let item = |at: usize| {
        let class = match is_plumbing(names[at]) {
            _ if blamed == Some(at) => "blamed",
            true => "plumbing",
            false => "",
        };
        html! {
            // The number counts folded frames.
            li class=(class) value=(at + 1) {
                code class="fn" { (line(names[at])) } " "
                span class="at" {
                    @match &frames[at].file {
                        Some(file) => (source(file, frames[at].line, links)),
                        None => "no source line",
                    }
                }
            }
        }
    };
    html! {
        @if !frames.is_empty() {
            ol class="frames" aria-label="Stack, innermost call first" {
                @for part in collapse.parts(&names) {
                    @match part {
                        Part::Frame(at) => (item(at)),
                        Part::Run(run) => li class="run" {
                            details {
                                summary { (line(&frames_of(&names[run.clone()]))) }
                                ol { @for at in run { (item(at)) } }
                            }
                        },
                    }
                }
            }
        }
    }
}
