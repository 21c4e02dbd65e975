//! Ages as a page: a chart of survivors by birth for each stack. It needs no script.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plimsoll_core::ages::{Birth, Fate};
use plimsoll_core::report::units::{count, duration, objects};
use plimsoll_core::text::escape;

use super::{Ages, Stack};
use crate::text::most;

/// The height of a chart, and the width of a bar, in the chart's own unit.
const HEIGHT: f64 = 100.0;
const BAR: f64 = 10.0;
/// A bar twice as high in the scale of logarithms: the lowest is a thousandth of the highest.
const OCTAVES: f64 = 10.0;

const STYLE: &str = include_str!("page.css");

impl Ages<'_> {
    pub(super) fn page(&self, top: usize) -> String {
        let shown = most(top, self.stacks.len());
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                    title { (visible(self.name)) " by birth" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { (visible(&self.title())) }
                    p { (self.sum()) "." }
                    p.quiet {
                        "A bar is a step of the uptime, four to each doubling, from the start to \
                         the dump: how many of the objects that were born in one second of it are \
                         alive, on a scale of logarithms. The pale bar is not complete."
                    }
                    main {
                        @for stack in &self.stacks[..shown] { (self.section(stack)) }
                    }
                    @if shown < self.stacks.len() {
                        p.quiet { (count((self.stacks.len() - shown) as u64)) " stacks more: --top 0 shows all" }
                    }
                    footer { "plimsoll " (env!("CARGO_PKG_VERSION")) }
                }
            }
        };
        page.into_string()
    }

    fn section(&self, stack: &Stack) -> Markup {
        let fate = stack.judged.fate;
        html! {
            section class=(class(fate)) {
                h2 {
                    span.badge { (fate.as_str()) } " "
                    code { (visible(stack.names.first().map_or("", String::as_str))) }
                }
                @if let Some(blame) = &stack.blame {
                    p { "in " (visible(&blame.words().plain())) }
                }
                p { (stack.amount())
                    @if let Some(kept) = stack.kept() {
                        "; alive of those born in the first half: " (format!("{kept:.1} %"))
                    }
                }
                (self.chart(stack))
                details {
                    summary { (count(stack.names.len() as u64)) " frames" }
                    ol { @for name in &stack.names { li { code { (visible(name)) } } } }
                }
            }
        }
    }

    fn chart(&self, stack: &Stack) -> Markup {
        let births: Vec<(Birth, f64)> = (0..=self.youngest.number())
            .filter_map(Birth::new)
            .map(|birth| {
                let born = stack.born.get(&birth).copied().unwrap_or_default();
                (birth, born.alive.objects / (birth.end() - birth.start()))
            })
            .collect();
        let greatest = births.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let wide = BAR * f64::from(self.youngest.number() + 1);
        let bar = |place: usize, rate: f64| {
            let lower = (greatest / rate).log2();
            let height = HEIGHT * (1.0 - lower / OCTAVES).max(0.02);
            let left = BAR * f64::from(u16::try_from(place).unwrap_or(u16::MAX));
            (left, HEIGHT - height, height)
        };
        let ticks = births
            .iter()
            .enumerate()
            .filter(|(place, _)| place % 16 == 4);
        let ticks: Vec<(usize, Birth)> = ticks.map(|(place, (birth, _))| (place, *birth)).collect();
        let percent = |place: usize| {
            let place = f64::from(u16::try_from(place).unwrap_or(u16::MAX));
            format!("{:.2}%", 100.0 * BAR * place / wide)
        };
        html! {
            figure {
                div.scale { (objects(greatest)) " objects per second" }
                svg viewBox=(format!("0 0 {wide} {HEIGHT}")) preserveAspectRatio="none" role="img"
                    aria-label="survivors for each second of birth, by birth" {
                    @for (place, (birth, rate)) in births.iter().enumerate() {
                        @if *rate > 0.0 {
                            @let (x, y, height) = bar(place, *rate);
                            rect.young[*birth == self.youngest] x=(x) y=(format!("{y:.2}"))
                                width=(BAR - 1.0) height=(format!("{height:.2}")) {
                                title {
                                    "born at " (duration(birth.start())) " to " (duration(birth.end()))
                                    ": " (objects(*rate)) " objects per second"
                                }
                            }
                        }
                    }
                }
                div.axis {
                    @for (place, birth) in &ticks {
                        span style=(format!("left:{}", percent(*place))) { (duration(birth.start())) }
                    }
                }
            }
        }
    }
}

fn class(fate: Fate) -> &'static str {
    match fate {
        Fate::Leaks => "leaks",
        Fate::Unsure => "unsure",
        Fate::TooFew => "few",
        Fate::ThinsOut => "thins",
        Fate::SetUp => "setup",
        Fate::InUse => "inuse",
    }
}

fn visible(text: &str) -> String {
    escape::terminal(text)
}
