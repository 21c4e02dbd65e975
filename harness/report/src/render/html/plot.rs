//! Levels over the rungs as SVG. It is drawn here, so that it needs no script.
//!
//! A picture is as wide as the page lets it be. Positions are in percent, and only lines are
//! stretched; text keeps its size.

use maud::{Markup, html};
use plimsoll_core::report::units::{count, plural, size};
use plimsoll_core::report::{Compared, Rung};

/// The edges of the plotted area and the height of the picture, in pixels from the top.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 166.0;
const HEIGHT: f64 = 190.0;

/// One plot.
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// The iterations done at each rung.
    pub(super) iterations: &'a [u64],
    pub(super) compared: Option<Compared>,
    pub(super) unit: Unit,
    pub(super) series: Vec<Series>,
}

pub(super) struct Series {
    pub(super) name: &'static str,
    /// The value at each rung. If there are fewer values than rungs, the line ends early.
    pub(super) values: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    Count,
}

impl Unit {
    fn say(self, value: u64) -> String {
        match self {
            Unit::Bytes => size(value),
            Unit::Count => count(value),
        }
    }

    /// Returns the step of the scale: at most four steps to `max`, and a round number in this
    /// unit.
    fn step(self, max: u64) -> u64 {
        let least = max.div_ceil(4).max(1);
        match self {
            Unit::Bytes => least.checked_next_power_of_two().unwrap_or(1 << 63),
            Unit::Count => {
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
}

#[expect(clippy::cast_precision_loss, reason = "places and three digits")]
fn float(value: u64) -> f64 {
    value as f64
}

/// The horizontal scale from the first rung to the last. Each doubling has the same width.
struct Across {
    first: f64,
    octaves: f64,
}

impl Across {
    fn new(iterations: &[u64]) -> Option<Across> {
        let log = |n: &u64| float((*n).max(1)).log2();
        let (min, max) = (iterations.iter().min()?, iterations.iter().max()?);
        Some(Across {
            first: log(min),
            octaves: (log(max) - log(min)).max(f64::EPSILON),
        })
    }

    /// Returns a position from 0 to 1.
    fn place(&self, iterations: u64) -> f64 {
        let octave = float(iterations.max(1)).log2() - self.first;
        (octave / self.octaves).clamp(0.0, 1.0)
    }
}

/// Returns a figure with its legend, or nothing if there is no line to draw.
pub(super) fn figure(plot: &Plot<'_>) -> Markup {
    let across = Across::new(plot.iterations).filter(|_| plot.iterations.len() > 1);
    let Some(across) = across else {
        return Markup::default();
    };
    let values = plot.series.iter().flat_map(|series| &series.values);
    let max = values.copied().max().unwrap_or(0);
    let step = plot.unit.step(max);
    let top = max.div_ceil(step).max(1).saturating_mul(step);
    let y = |value: u64| BOTTOM - (BOTTOM - TOP) * (float(value) / float(top)).min(1.0);
    let (wide, high) = (1_000.0, BOTTOM - TOP);
    let points = |series: &Series| {
        let points = plot.iterations.iter().zip(&series.values);
        let points = points.map(|(iterations, value)| {
            let x = across.place(*iterations) * wide;
            format!("{x:.1},{:.1}", y(*value) - TOP)
        });
        points.collect::<Vec<_>>().join(" ")
    };
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
            svg class="plot" width="100%" height=(HEIGHT) role="img" aria-label=(spoken(plot)) {
                (scale(plot, step, top, y))
                @if let Some(Compared { before, after }) = plot.compared {
                    (marks(across.place(before), across.place(after)))
                }
                svg x="0" y=(TOP) width="100%" height=(high) viewBox={ "0 0 " (wide) " " (high) }
                    preserveAspectRatio="none" {
                    @for (at, series) in plot.series.iter().enumerate() {
                        polyline class={ "line s" (at) } points=(points(series)) {}
                    }
                }
                @for (at, series) in plot.series.iter().enumerate() {
                    @for (iterations, value) in plot.iterations.iter().zip(&series.values) {
                        @let place = across.place(*iterations) * 100.0;
                        circle class={ "dot s" (at) } cx=(format_args!("{place:.2}%"))
                            cy=(format_args!("{:.1}", y(*value))) r="2.5" {
                            title {
                                (series.name) " after "
                                (plural(*iterations, "iteration", "iterations")) ": "
                                (plot.unit.say(*value))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn scale(plot: &Plot<'_>, step: u64, top: u64, y: impl Fn(u64) -> f64) -> Markup {
    let values = std::iter::successors(Some(0_u64), |value| value.checked_add(step));
    let (first, last) = (plot.iterations.first(), plot.iterations.last());
    let below = HEIGHT - 6.0;
    html! {
        @for value in values.take_while(|value| *value <= top) {
            @let at = format!("{:.1}", y(value));
            line class="grid" x1="0" x2="100%" y1=(at) y2=(at) {}
            // Zero has no label, because the lines begin where it would stand.
            @if value > 0 {
                text class="tick" x="0" y=(format_args!("{:.1}", y(value) - 3.0)) {
                    (plot.unit.say(value))
                }
            }
        }
        @if let Some((first, last)) = first.zip(last) {
            text class="tick" x="0" y=(below) { (plural(*first, "iteration", "iterations")) }
            text class="tick middle" x="50%" y=(below) { "each doubling as wide" }
            text class="tick end" x="100%" y=(below) { (count(*last)) }
        }
    }
}

/// Marks the rungs *before* and *after*.
fn marks(before: f64, after: f64) -> Markup {
    html! {
        @for (place, name) in [(before, "before"), (after, "after")] {
            @let x = format!("{:.2}%", place * 100.0);
            @let (side, dx) = if place > 0.5 { ("end", -4) } else { ("start", 4) };
            line class="mark" x1=(x) x2=(x) y1="4" y2=(BOTTOM) {}
            text class={ "mark " (side) } x=(x) dx=(dx) y="13" { (name) }
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
                plot.unit.say(*first),
                plural(*from, "iteration", "iterations"),
                plot.unit.say(*last),
                plural(*to, "iteration", "iterations"),
            ));
        }
    }
    format!("{}: {}", plot.title, parts.join("; "))
}

/// Returns a bar for a part of a whole, for a cell of a table. The numbers stand beside it, so
/// it is hidden from screen readers.
pub(super) fn share(part: u64, whole: u64) -> Markup {
    let wide = (100.0 * float(part) / float(whole.max(1))).min(100.0);
    html! {
        svg class="share" width="100%" height="10" aria-hidden="true" {
            rect class="whole" width="100%" height="10" {}
            rect class="part" width=(format_args!("{wide:.1}%")) height="10" {}
        }
    }
}

/// Returns the live heap over the rungs as a small line, for a cell of a table.
pub(super) fn spark(rungs: &[Rung]) -> Markup {
    let iterations: Vec<u64> = rungs.iter().map(|rung| rung.iterations).collect();
    let max = rungs.iter().map(|rung| rung.live.bytes).max().unwrap_or(0);
    let Some(across) = Across::new(&iterations).filter(|_| rungs.len() > 1) else {
        return Markup::default();
    };
    let points = rungs.iter().map(|rung| {
        let x = across.place(rung.iterations) * 100.0;
        let y = 22.0 - 20.0 * float(rung.live.bytes) / float(max.max(1));
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
        let steps = |unit: Unit| [0, 1, 5, 100, 1_000, 5_000_000].map(|max| unit.step(max));
        assert_eq!(steps(Unit::Bytes), [1, 1, 2, 32, 256, 2_097_152]);
        assert_eq!(steps(Unit::Count), [1, 1, 2, 50, 500, 2_000_000]);
        for unit in [Unit::Bytes, Unit::Count] {
            let step = unit.step(u64::MAX);
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
