//! What was found, with its stacks; and the sums of the findings for the table.

use super::entry::{source, words};
use super::escape::line;
use super::fact;
use super::plot::share;
use crate::render::links::Links;
use maud::{Markup, html};
use plimsoll_core::Frame;
use plimsoll_core::blame::is_plumbing;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{count, plural, span};
use plimsoll_core::report::view::{Amount, Sum};
use plimsoll_core::report::{Finding, Report};

/// The findings that are shown in full. The others are folded, below a line that counts them.
const MOST_FINDINGS: usize = 3;
/// The frames that are shown in full: twelve reach the caller's code. The others are folded
/// likewise.
const MOST_FRAMES: usize = 12;

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
    let (shown, rest) = findings.split_at(findings.len().min(MOST_FINDINGS));
    html! {
        @if !findings.is_empty() {
            section class="findings" aria-labelledby={ (slug) "~found" } {
                h3 id={ (slug) "~found" } { "What was found" }
                ol { @for finding in shown { (one(report, finding, links)) } }
                @if !rest.is_empty() {
                    details class="rest" {
                        summary { (plural(rest.len() as u64, "more finding", "more findings")) }
                        ol start=(MOST_FINDINGS + 1) {
                            @for finding in rest { (one(report, finding, links)) }
                        }
                    }
                }
            }
        }
    }
}

fn one(report: &Report, finding: &Finding, links: &Links) -> Markup {
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
                @if let Some(moved) = finding.moved() { (fact("Moved", words(&moved, links))) }
                @if let Some(reason) = &finding.reason { (fact("Accepted because", line(reason))) }
            }
            (frames(finding, links))
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

fn frames(finding: &Finding, links: &Links) -> Markup {
    let frames = finding.frames();
    let [blamed, _] = finding.places_of_blamed();
    let item = |place: usize, frame: &Frame| {
        let class = match is_plumbing(&frame.function) {
            _ if blamed == Some(place) => "blamed",
            true => "plumbing",
            false => "",
        };
        html! {
            li class=(class) {
                code class="fn" { (line(&frame.function)) } " "
                span class="at" {
                    @match &frame.file {
                        Some(file) => (source(file, frame.line, links)),
                        None => "no source line",
                    }
                }
            }
        }
    };
    let (shown, rest) = frames.split_at(frames.len().min(MOST_FRAMES));
    html! {
        @if !frames.is_empty() {
            ol class="frames" aria-label="Stack, innermost call first" {
                @for (place, frame) in shown.iter().enumerate() { (item(place, frame)) }
            }
        }
        @if !rest.is_empty() {
            details class="rest" {
                summary { (plural(rest.len() as u64, "more frame", "more frames")) }
                ol class="frames" start=(MOST_FRAMES + 1) {
                    @for (place, frame) in rest.iter().enumerate() {
                        (item(MOST_FRAMES + place, frame))
                    }
                }
            }
        }
    }
}
