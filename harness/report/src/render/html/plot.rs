//! Levels over the rungs as SVG. It is drawn here, so that it needs no script.
//!
//! Iterations are on a linear scale, on which a linear leak is a straight line. On request,
//! plot.js moves the same points to a logarithmic scale.
//!
//! A picture is as wide as the page lets it be. Positions are in percent, and only lines are
//! stretched; text keeps its size.

use maud::{Markup, html};
use plimsoll_core::growth::Unit;
use plimsoll_core::report::units::count;
use plimsoll_core::report::view::each_stack_once;
use plimsoll_core::report::{Compared, Finding, Report, Subject};
use plimsoll_core::{Per, Resource, to_f64, to_u64};

use crate::render::{capital, level as say};

/// The edges of the plotted area and the height of the picture, in pixels from the top.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 166.0;
const HEIGHT: f64 = 190.0;
/// The height of a mark on the axis, in pixels.
const TICK: f64 = 4.0;
/// The width of a stretched picture, in its own unit.
const WIDE: f64 = 1_000.0;

/// One plot.
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// The iterations done at each rung.
    pub(super) iterations: &'a [u64],
    pub(super) per: &'a Per,
    pub(super) compared: Option<Compared>,
    pub(super) unit: Unit,
    pub(super) series: Vec<Series>,
}

pub(super) struct Series {
    pub(super) name: &'static str,
    /// The value at each rung. If there are fewer values than rungs, the line ends early.
    pub(super) values: Vec<u64>,
}

/// What the verdict is about, in one unit: its level at every rung.
#[derive(Debug)]
pub(super) struct Grown {
    pub(super) title: String,
    pub(super) unit: Unit,
    /// What is counted. Empty for bytes.
    noun: &'static str,
    pub(super) levels: Vec<u64>,
    /// What the baseline allows, per iteration.
    allowed: f64,
}

impl Grown {
    /// Returns what a report's verdict is about: bytes, then each resource, as
    /// the sums of findings are listed. Of allowances that are no longer needed, the levels are
    /// zero. Empty if there is neither.
    pub(super) fn of(report: &Report) -> Vec<Grown> {
        let telling = match report.telling() {
            none if none.is_empty() => report.stale(),
            telling => telling,
        };
        let heap = (
            "Held by what was found".to_owned(),
            Unit::Bytes,
            "",
            each_stack_once(&telling),
        );
        let resources = Resource::ALL.into_iter().map(|resource| {
            let subject = Subject::Resource(resource);
            let of = telling.iter().copied();
            let of = of.filter(|finding| finding.subject == subject);
            let title = capital(resource.many());
            let noun = resource.after_number();
            (title, resource.unit(), noun, of.collect())
        });
        let kinds = std::iter::once(heap).chain(resources);
        let grown = kinds.map(|(title, unit, noun, findings)| {
            let allowed = findings.iter().map(|finding| match unit {
                Unit::Bytes => finding.allowed.bytes,
                Unit::Objects => finding.allowed.objects,
            });
            Grown {
                title,
                unit,
                noun,
                levels: sum(report, &findings, unit),
                allowed: allowed.sum(),
            }
        });
        grown.filter(|grown| !grown.levels.is_empty()).collect()
    }

    /// Returns the level at the first and at the last rung: `3 → 1,027 threads`.
    pub(super) fn ends(&self) -> Option<String> {
        let (first, last) = self.levels.first().zip(self.levels.last())?;
        let (first, last) = (say(*first, self.unit), say(*last, self.unit));
        Some(
            format!("{first} → {last} {}", self.noun)
                .trim_end()
                .to_owned(),
        )
    }

    /// Returns the number by which scenarios are sorted: bytes at the last rung. A thread or a
    /// file counts as much as an object of 8 bytes.
    pub(super) fn weight(&self) -> u64 {
        let last = self.levels.last().copied().unwrap_or(0);
        match self.unit {
            Unit::Bytes => last,
            Unit::Objects => last.saturating_mul(8),
        }
    }

    /// Returns the lines of its plot: the level, and what it may be.
    pub(super) fn series(&self, iterations: &[u64]) -> Vec<Series> {
        let level = Series {
            name: "found",
            values: self.levels.clone(),
        };
        let start = iterations.first().zip(self.levels.first());
        let allowed = start.filter(|_| self.allowed > 0.0).map(|(from, level)| {
            let gained = |at: &u64| self.allowed * to_f64(at.saturating_sub(*from));
            Series {
                name: "allowed",
                values: iterations
                    .iter()
                    .map(|at| level.saturating_add(to_u64(gained(at))))
                    .collect(),
            }
        });
        [level].into_iter().chain(allowed).collect()
    }
}

/// Returns the sum of the levels of findings at every rung. Empty if there are no findings.
fn sum(report: &Report, findings: &[&Finding], unit: Unit) -> Vec<u64> {
    let mut sum: Vec<u64> = Vec::new();
    if !findings.is_empty() {
        sum.resize(report.rungs.len(), 0);
    }
    for finding in findings {
        for (sum, of) in sum.iter_mut().zip(&finding.levels) {
            *sum = sum.saturating_add(unit.count(of));
        }
    }
    sum
}

/// Returns the step of the scale: at most four steps to `max`, and a round number in this unit.
fn step(max: u64, unit: Unit) -> u64 {
    let least = max.div_ceil(4).max(1);
    match unit {
        Unit::Bytes => least.checked_next_power_of_two().unwrap_or(1 << 63),
        Unit::Objects => {
            let mut power = 1_u64;
            loop {
                for factor in [1, 2, 5] {
                    let step = power.saturating_mul(factor);
                    if step >= least || step == u64::MAX {
                        return step;
                    }
                }
                power = power.saturating_mul(10);
            }
        }
    }
}

/// The horizontal scale: from no iteration to those of the last rung.
struct Across(f64);

impl Across {
    /// Returns `None` if there is no line to draw.
    fn new(iterations: &[u64]) -> Option<Across> {
        let last = iterations.iter().max().filter(|_| iterations.len() > 1)?;
        Some(Across(to_f64((*last).max(1))))
    }

    /// Returns a position from 0 to 1.
    fn place(&self, iterations: u64) -> f64 {
        (to_f64(iterations) / self.0).min(1.0)
    }
}

/// Returns a figure with its legend, or nothing if there is no line to draw.
pub(super) fn figure(plot: &Plot<'_>) -> Markup {
    let Some(across) = Across::new(plot.iterations) else {
        return Markup::default();
    };
    let values = plot.series.iter().flat_map(|series| &series.values);
    let max = values.copied().max().unwrap_or(0);
    let step = step(max, plot.unit);
    let top = max.div_ceil(step).max(1).saturating_mul(step);
    let y = |value: u64| BOTTOM - (BOTTOM - TOP) * (to_f64(value) / to_f64(top)).min(1.0);
    let high = BOTTOM - TOP;
    let points = |series: &Series| {
        let points = plot.iterations.iter().zip(&series.values);
        let points = points.map(|(iterations, value)| {
            let x = across.place(*iterations) * WIDE;
            format!("{x:.1},{:.1}", y(*value) - TOP)
        });
        points.collect::<Vec<_>>().join(" ")
    };
    let rungs: Vec<String> = plot.iterations.iter().map(u64::to_string).collect();
    html! {
        figure class="plot" {
            figcaption {
                b { (plot.title) }
                @if plot.series.len() > 1 {
                    @for (at, series) in plot.series.iter().enumerate() {
                        " " span class={ "key s" (at) } { (series.name) }
                    }
                }
            }
            svg class="plot" width="100%" height=(HEIGHT) role="img" aria-label=(spoken(plot))
                data-rungs=(rungs.join(" ")) {
                (scale(plot, step, top, y))
                @if let Some(Compared { before, after }) = plot.compared {
                    (marks(&across, before, after))
                }
                svg x="0" y=(TOP) width="100%" height=(high) viewBox={ "0 0 " (WIDE) " " (high) }
                    preserveAspectRatio="none" {
                    @for (at, series) in plot.series.iter().enumerate() {
                        polyline class={ "line s" (at) } points=(points(series)) {}
                    }
                }
                @for (at, series) in plot.series.iter().enumerate() {
                    @for (iterations, value) in plot.iterations.iter().zip(&series.values) {
                        circle class={ "dot s" (at) } cx=(percent(across.place(*iterations)))
                            cy=(format_args!("{:.1}", y(*value))) r="2" data-at=(iterations) {
                            title {
                                (series.name) " after "
                                (plot.per.count(*iterations)) ": "
                                (say(*value, plot.unit))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn percent(place: f64) -> String {
    format!("{:.2}%", place * 100.0)
}

fn scale(plot: &Plot<'_>, step: u64, top: u64, y: impl Fn(u64) -> f64) -> Markup {
    let values = std::iter::successors(Some(0_u64), |value| value.checked_add(step));
    let across = Across::new(plot.iterations);
    let rungs = plot.iterations.iter().map(|at| {
        let place = across.as_ref().map_or(0.0, |across| across.place(*at));
        format!("M{:.1} 0V{TICK}", place * WIDE)
    });
    let (first, last) = (plot.iterations.iter().min(), plot.iterations.iter().max());
    let below = HEIGHT - 6.0;
    html! {
        @for value in values.take_while(|value| *value <= top) {
            @let at = format!("{:.1}", y(value));
            line class="grid" x1="0" x2="100%" y1=(at) y2=(at) {}
            // Zero has no label, because the lines begin where it would stand.
            @if value > 0 {
                text class="tick" x="0" y=(format_args!("{:.1}", y(value) - 3.0)) {
                    (say(value, plot.unit))
                }
            }
        }
        svg x="0" y=(BOTTOM) width="100%" height=(TICK) viewBox={ "0 0 " (WIDE) " " (TICK) }
            preserveAspectRatio="none" {
            path class="rungs" d=(rungs.collect::<String>()) {}
        }
        @if let Some((first, last)) = first.zip(last) {
            @for quarter in [1, 2] {
                text class="tick middle on-linear" x={ (25 * quarter) "%" } y=(below) {
                    (count(last / 4 * quarter))
                }
            }
            text class="tick on-log" x="0" y=(below) { (count(*first)) }
            text class="tick middle on-log" x="50%" y=(below) { "each doubling as wide" }
            text class="tick end" x="100%" y=(below) { (plot.per.count(*last)) }
        }
    }
}

/// Marks the rungs *before* and *after*.
fn marks(across: &Across, before: u64, after: u64) -> Markup {
    html! {
        // The names stand inside the picture on either scale.
        @for (at, name, side, dx) in [(before, "before", "start", 4), (after, "after", "end", -4)] {
            @let x = percent(across.place(at));
            line class="mark" x1=(x) x2=(x) y1="4" y2=(BOTTOM) data-at=(at) {}
            text class={ "mark " (side) } x=(x) dx=(dx) y="13" data-at=(at) { (name) }
        }
    }
}

/// Returns the text for people who do not see the plot.
fn spoken(plot: &Plot<'_>) -> String {
    let mut parts = Vec::new();
    for series in &plot.series {
        let ends = series.values.first().zip(series.values.last());
        let iterations = plot.iterations.first().zip(plot.iterations.last());
        if let (Some((first, last)), Some((from, to))) = (ends, iterations) {
            parts.push(format!(
                "{} goes from {} after {} to {} after {}",
                series.name,
                say(*first, plot.unit),
                plot.per.count(*from),
                say(*last, plot.unit),
                plot.per.count(*to),
            ));
        }
    }
    format!("{}: {}", plot.title, parts.join("; "))
}

/// Returns a bar for a part of a whole, for a cell of a table. The numbers stand beside it, so
/// it is hidden from screen readers.
pub(super) fn share(part: u64, whole: u64) -> Markup {
    let wide = (100.0 * to_f64(part) / to_f64(whole.max(1))).min(100.0);
    html! {
        svg class="share" width="100%" height="10" aria-hidden="true" {
            rect class="whole" width="100%" height="10" {}
            rect class="part" width=(format_args!("{wide:.1}%")) height="10" {}
        }
    }
}

/// Returns levels over the iterations as a small line, for a cell of a table.
pub(super) fn spark(iterations: &[u64], levels: &[u64]) -> Markup {
    let max = levels.iter().copied().max().unwrap_or(0).max(1);
    let Some(across) = Across::new(iterations) else {
        return Markup::default();
    };
    let points = iterations.iter().zip(levels).map(|(iterations, level)| {
        let x = across.place(*iterations) * 100.0;
        let y = 22.0 - 20.0 * to_f64(*level) / to_f64(max);
        format!("{x:.1},{y:.1}")
    });
    // Hidden from screen readers, because the numbers stand beside it.
    html! {
        svg class="spark" width="100%" height="24" viewBox="0 0 100 24" preserveAspectRatio="none"
            aria-hidden="true" {
            polyline points=(points.collect::<Vec<_>>().join(" ")) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_four_at_most() {
        let steps = |unit: Unit| [0, 1, 5, 100, 1_000, 5_000_000].map(|max| step(max, unit));
        assert_eq!(steps(Unit::Bytes), [1, 1, 2, 32, 256, 2_097_152]);
        assert_eq!(steps(Unit::Objects), [1, 1, 2, 50, 500, 2_000_000]);
        for unit in [Unit::Bytes, Unit::Objects] {
            let step = step(u64::MAX, unit);
            assert!(u64::MAX.div_ceil(step) <= 4, "{step}");
        }
    }

    /// Whatever levels somebody made up, positions are within the picture, and no number is
    /// infinite or NaN.
    #[test]
    fn every_ladder_can_be_drawn() {
        let levels = [0, 1, u64::MAX];
        for iterations in [vec![0, 0], vec![5, 5, 5], vec![u64::MAX, 0, 7], vec![1, 2]] {
            let plot = Plot {
                title: "Live heap",
                per: &Per::default(),
                iterations: &iterations,
                compared: Some(Compared {
                    before: 0,
                    after: u64::MAX,
                }),
                unit: Unit::Bytes,
                series: vec![Series {
                    name: "live heap",
                    values: levels.to_vec(),
                }],
            };
            let page = figure(&plot).into_string();
            assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
            assert_eq!(page.matches("<circle").count(), iterations.len());
            for part in page.split("cx=\"").skip(1) {
                let place = part.split_once('%').map(|(place, _)| place.parse::<f64>());
                assert!(matches!(place, Some(Ok(0.0..=100.0))), "{part}");
            }
        }
    }
}
