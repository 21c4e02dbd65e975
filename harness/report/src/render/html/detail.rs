//! All that a report says of one scenario.

use maud::{Markup, html};
use plimsoll_core::Resource;
use plimsoll_core::growth::Unit;
use plimsoll_core::report::units::{count, plural, size};
use plimsoll_core::report::view::{Resident, shortened};
use plimsoll_core::report::{Check, CheckOutcome, Compared, Completeness, Failure, Report, Rung};

use super::escape::{block, line};
use super::plot::{Grown, Plot, Series, figure};
use super::{code, entry, fact, findings, flame, marked};
use crate::render::capital;

use crate::render::links::Links;

/// The most lines of a workload's output.
const MOST_LINES: usize = 200;

pub(super) fn of(report: &Report, slug: &str, links: &Links) -> Markup {
    html! {
        p class="say" { (entry::words(&report.outcome().sentence(), links)) "." }
        (checks(report, |outcome| outcome == CheckOutcome::Failed))
        (next(report, slug))
        @if let Some(failure) = &report.failure { (failed(report, failure)) }
        (findings::all(report, slug, links))
        (plots(report, slug))
        (flame::of(report, slug))
        (how(report, slug))
    }
}

/// Returns what a failed workload printed: its beginning, its panic and its end are shown, and
/// all of it is folded below.
fn failed(report: &Report, failure: &Failure) -> Markup {
    let output = failure.output.trim_end();
    html! {
        section class="failure" {
            h3 { "It failed " (report.failed_at().unwrap_or_default()) }
            p { (line(&failure.what)) }
            @if output.is_empty() {
                p class="quiet" { "It printed nothing." }
            } @else {
                details class="rest" {
                    summary { "What it printed" }
                    // `tabindex` lets people without a mouse scroll the text.
                    pre tabindex="0" { (block(&shortened(output, MOST_LINES))) }
                }
            }
        }
    }
}

fn checks(report: &Report, wanted: fn(CheckOutcome) -> bool) -> Markup {
    let checks = report.checks.iter();
    let checks: Vec<&Check> = checks.filter(|check| wanted(check.outcome)).collect();
    html! {
        @if !checks.is_empty() {
            ul class="checks" {
                @for check in checks {
                    @let (class, outcome) = match check.outcome {
                        CheckOutcome::Passed => ("v-within", "passed"),
                        CheckOutcome::Unavailable => ("v-inconclusive", "unavailable"),
                        CheckOutcome::Failed => ("v-broken", "failed"),
                    };
                    li {
                        span class={ "badge " (class) } { (outcome) } " "
                        b { (line(&check.name)) } " "
                        span class="pre" { (block(check.detail.trim_end())) }
                    }
                }
            }
        }
    }
}

/// The name of a line, and its value at a rung.
type Line = (&'static str, fn(&Resident) -> u64);

/// The lines of the plot of resident memory: each is what lies below it.
const MEMORY: [Line; 4] = [
    ("all, with what is outside the allocator", |of| of.all),
    ("with the profile and jemalloc itself", |of| {
        of.live + of.kept + of.overhead
    }),
    ("with pages that jemalloc keeps", |of| of.live + of.kept),
    ("live heap", |of| of.live),
];

/// Returns the plots: first of what the verdict is about, each in its own unit, and then of the
/// whole heap.
fn plots(report: &Report, slug: &str) -> Markup {
    let iterations: Vec<u64> = report.rungs.iter().map(|rung| rung.iterations).collect();
    let plot = |title: &str, unit, series| {
        figure(&Plot {
            title,
            iterations: &iterations,
            per: &report.per,
            compared: report.compared,
            unit,
            series,
        })
    };
    let grown = Grown::of(report);
    let of = |value: fn(&Rung) -> u64| report.rungs.iter().map(value).collect::<Vec<u64>>();
    let heap = (
        "Live heap".to_owned(),
        Unit::Bytes,
        of(|rung| rung.live.bytes),
    );
    let resources = Resource::ALL.into_iter().map(|resource| {
        let (title, unit) = (capital(resource.many()), resource.unit());
        let levels = report.rungs.iter().map(|rung| rung.resource(resource));
        let levels = levels.map(|level| level.map_or(0, |level| unit.count(&level)));
        (title, unit, levels.collect())
    });
    let parts: Vec<Resident> = report
        .rungs
        .iter()
        .map_while(|rung| report.resident_parts(rung))
        .collect();
    let memory = MEMORY.map(|(name, sum)| Series {
        name,
        values: parts.iter().map(sum).collect(),
    });
    let is_new = |title: &str| grown.iter().all(|grown| grown.title != title);
    let risen = resources.filter(|(title, _, values): &(String, Unit, Vec<u64>)| {
        // What was not found may rise all the same.
        is_new(title) && values.first() < values.last()
    });
    html! {
        @if !iterations.is_empty() {
            section class="levels" aria-labelledby={ (slug) "~levels" } {
                h3 id={ (slug) "~levels" } { "Growth over the " (report.per.many()) }
                div class="plots" {
                    @for grown in &grown {
                        (plot(&grown.title, grown.unit, grown.series(&iterations)))
                    }
                    @for (title, unit, values) in [heap].into_iter().chain(risen) {
                        (plot(&title, unit, vec![Series { name: "level", values }]))
                    }
                    @if parts.len() == report.rungs.len() {
                        (plot("Resident memory", Unit::Bytes, memory.into()))
                    }
                }
                (rungs(report))
            }
        }
    }
}

fn rungs(report: &Report) -> Markup {
    let positions = capital(report.per.many());
    let heads = [positions.as_str(), "Live heap", "Objects"];
    // Of a server, only its dumps are known.
    let is_test = report.per.is_iteration();
    let of_test = ["Allocated", "Threads", "Descriptors", "Resident"];
    let heads = heads
        .into_iter()
        .chain(of_test.into_iter().filter(|_| is_test));
    let is = |rung: &Rung, which: fn(Compared) -> u64| {
        report.compared.map(which) == Some(rung.iterations)
    };
    html! {
        details class="rungs" {
            summary { "As a table: " (plural(report.rungs.len() as u64, "rung", "rungs")) }
            div class="scroll" tabindex="0" role="region" aria-label="Levels at each rung" {
                table {
                    thead { tr { @for head in heads { th scope="col" { (head) } } } }
                    tbody {
                        @for rung in &report.rungs {
                            tr {
                                th scope="row" {
                                    (count(rung.iterations))
                                    @if is(rung, |of| of.before) { " " i { "before" } }
                                    @else if is(rung, |of| of.after) { " " i { "after" } }
                                }
                                td { (size(rung.live.bytes)) }
                                td { (count(rung.live.objects)) }
                                @if is_test {
                                    td { (rung.allocated.map_or("unknown".to_owned(), size)) }
                                    td { (count(rung.threads)) }
                                    td { (count(rung.descriptors)) }
                                    td { (size(rung.resident)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the commands to type.
fn next(report: &Report, slug: &str) -> Markup {
    let (accept, again) = (report.accept(""), report.again());
    html! {
        @if accept.is_some() || again.is_some() {
            section class="next" aria-labelledby={ (slug) "~next" } {
                h3 id={ (slug) "~next" } { "What to do" }
                @if let Some(step) = accept { (entry::command(step.to, &step.command)) }
                @if let Some(again) = again { (entry::command("measure it again", &again)) }
            }
        }
    }
}

/// Returns what the result rests on.
fn how(report: &Report, slug: &str) -> Markup {
    let coarsened = report.coarsened();
    let interval = match report.sampled_every() {
        Some(every) => format!("sampled every {every}"),
        None => "every allocation".to_owned(),
    };
    let run = &report.run;
    html! {
        section class="how" aria-labelledby={ (slug) "~how" } {
            h3 id={ (slug) "~how" } { "How it was measured" }
            dl class="facts" {
                @if let Some(wanted) = report.to_be_found() { (fact("To be found", wanted)) }
                @if let Some(coarsened) = coarsened { (fact("Note", coarsened)) }
                @if let Some(seen) = report.seen() { (fact("Would have been seen", seen)) }
                @if let Some(resident) = report.resident() { (fact("Memory", resident)) }
                @if report.per.is_iteration() {
                    (fact("The ladder ended because", marked(report.end.why())))
                }
                @if let Some(measured) = &report.measured {
                    (fact("Profile", interval))
                    @let build = format!("{}, {}", line(&measured.profile), line(&measured.toolchain));
                    @for (name, known) in [
                        ("Build", build.trim_matches([',', ' '])),
                        ("Platform", &line(&measured.target)),
                        ("jemalloc", &line(&measured.jemalloc)),
                        ("Unwinder", &line(&measured.unwinder)),
                    ] {
                        @if !known.is_empty() { (fact(name, known)) }
                    }
                }
                (fact("Completeness", complete(&report.completeness)))
                (fact("Run", code(&run.id)))
                @if let Some(commit) = &run.commit { (fact("Commit", code(commit))) }
                (fact("plimsoll", line(&run.plimsoll)))
                @for (name, path) in [("Files", &run.files), ("Baseline", &run.baseline)] {
                    @if !path.is_empty() { (fact(name, code(path))) }
                }
            }
            (checks(report, |outcome| outcome != CheckOutcome::Failed))
            @if !report.notes.is_empty() {
                h4 { "Notes" }
                ul class="notes" { @for note in &report.notes { li { (marked(note)) } } }
            }
        }
    }
}

fn complete(of: &Completeness) -> String {
    let list = |all: String, parts: [(usize, &str); 2]| {
        let parts = parts.into_iter().filter(|(value, _)| *value > 0);
        let parts = parts.map(|(value, what)| format!(", {} {what}", count(value as u64)));
        all + &parts.collect::<String>()
    };
    let stacks = list(
        plural(of.stacks as u64, "stack", "stacks"),
        [
            (of.zero_object_stacks, "without a live object"),
            (of.truncated_stacks, "cut at jemalloc's limit of frames"),
        ],
    );
    if of.addresses == 0 {
        return stacks;
    }
    let addresses = list(
        plural(
            of.addresses as u64,
            "address that grew",
            "addresses that grew",
        ),
        [
            (of.without_debug_info, "named by a symbol table alone"),
            (of.unresolved, "without a name"),
        ],
    );
    format!("{stacks}; {addresses}")
}
