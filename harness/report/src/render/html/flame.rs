//! The data of the flame graph: every stack that changed. Names are numbered, because stacks
//! share most of theirs.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use plimsoll_core::report::units::{bytes, count, give_or_take, plural, signed_bytes, size};
use plimsoll_core::report::view::collapse::{Collapse, Part, frames_of};
use plimsoll_core::report::{Report, StackGrowth};
use serde::Serialize;

use super::{code, escape};

/// The most stacks of the list, which is for people without JavaScript or who do not see the
/// picture.
const MOST_LISTED: usize = 10;

#[derive(Serialize)]
struct Data {
    names: Vec<String>,
    stacks: Vec<Stack>,
    /// What rates are per, in one word.
    per: String,
}

/// Numbers of names from the root on; bytes before; bytes after; the rate.
#[derive(Serialize)]
struct Stack(Vec<usize>, u64, u64, f64);

pub(super) fn of(report: &Report, slug: &str) -> Markup {
    let between = match report.compared {
        Some(of) => {
            let (before, after) = (count(of.before), count(of.after));
            format!("between {} {before} and {after}", report.per.one())
        }
        None => "between the two compared rungs".to_owned(),
    };
    html! {
        @if !report.growth.is_empty() {
            section class="flame" aria-labelledby={ (slug) "~flame" } {
                h3 id={ (slug) "~flame" } { "What changed " (between) }
                div class="graph" {
                    script type="application/json" { (PreEscaped(escape::json(&data(report)))) }
                }
                (listed(report))
            }
        }
    }
}

fn data(report: &Report) -> Data {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names = Vec::new();
    let mut stacks = Vec::with_capacity(report.growth.len());
    for growth in &report.growth {
        let frames = growth.stack.frames().iter().map(|name| {
            *numbers.entry(name).or_insert_with(|| {
                names.push(escape::line(name));
                names.len() - 1
            })
        });
        let rate = growth.rate.bytes;
        let rate = if rate.is_finite() { rate } else { 0.0 };
        let (before, after) = (growth.before.bytes, growth.after.bytes);
        stacks.push(Stack(frames.collect(), before, after, rate));
    }
    Data {
        names,
        stacks,
        per: escape::line(report.per.one()),
    }
}

/// Returns the stacks that changed most, as a list.
fn listed(report: &Report) -> Markup {
    let collapse = report.collapse();
    let mut most: Vec<&StackGrowth> = report.growth.iter().collect();
    let change = |growth: &StackGrowth| growth.after.bytes.abs_diff(growth.before.bytes);
    most.sort_by(|a, b| (change(b), &a.stack).cmp(&(change(a), &b.stack)));
    let all = plural(most.len() as u64, "stack", "stacks");
    let summary = match most.len() {
        0..=MOST_LISTED => format!("As a list: {all}"),
        _ => format!("As a list: the {MOST_LISTED} that changed most, of {all}"),
    };
    html! {
        details class="listed" {
            summary { (summary) }
            ol {
                @for growth in most.into_iter().take(MOST_LISTED) {
                    li {
                        b {
                            (signed_bytes(growth.rate.bytes))
                            (give_or_take(growth.error.map(|error| error.bytes), bytes))
                        }
                        " per " (report.per.one()) ", " (size(growth.before.bytes)) " → "
                        (size(growth.after.bytes))
                        br;
                        (calls(&collapse, growth))
                    }
                }
            }
        }
    }
}

/// Returns a stack on one line, the innermost call first. Runs of frames that say little are
/// folded.
fn calls(collapse: &Collapse<'_>, growth: &StackGrowth) -> Markup {
    let names = growth.stack.frames().iter().rev();
    let names: Vec<&str> = names.map(String::as_str).collect();
    html! {
        @for (place, part) in collapse.parts(&names).into_iter().enumerate() {
            @if place > 0 { " ← " }
            @match part {
                Part::Frame(at) => (code(names[at])),
                Part::Run(run) => details class="run" {
                    summary { (escape::line(&frames_of(&names[run.clone()]))) }
                    @for (place, name) in names[run].iter().enumerate() {
                        @if place > 0 { " ← " }
                        (code(name))
                    }
                },
            }
        }
    }
}
