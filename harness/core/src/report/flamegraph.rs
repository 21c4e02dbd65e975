//! `growth.svg`: what one iteration adds and takes away, as a flame graph.
//!
//! Two towers stand side by side, `grew` in reds and `shrank` in blues, each as
//! wide as the bytes per iteration it stands for; a name has the same shade in
//! every picture. Widths, names and numbers are there without JavaScript,
//! searching and zooming with it.
//!
//! Drawn by inferno from folded stacks. What it has no words for goes through
//! two doors of it: colours by tower are a palette map over names that end in
//! an annotation (`_[k]`, which it does not show), and whole numbers come from
//! counting the bytes of as many iterations as small rates need.

use std::cmp::Reverse;
use std::fmt;
use std::io;

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self, Options};

use super::units::{count, plural, signed_bytes};
use super::{Report, escape};

const WIDTH: usize = 1200;
/// As wide as a comment on a page shows it: scaled down, letters are too small.
const IMAGE_WIDTH: usize = 800;
/// Of the width, in percent; what is thinner cannot be read or hit.
const MIN_WIDTH: f64 = 0.1;
/// The same in an image, which nobody can zoom into. A coarser one is tried
/// where the image gets too large.
const IMAGE_MIN_WIDTHS: [f64; 3] = [0.4, 1.5, 5.0];
/// The longest image, in bytes.
const MAX_IMAGE: usize = 1 << 20;
/// More would be thinner than a pixel, and a file that no browser likes.
const MAX_STACKS: usize = 20_000;
/// jemalloc cuts at 128 addresses, each of a few inlined frames.
const MAX_FRAMES: usize = 500;
/// In an image: more rows than a screen has room for.
const MAX_IMAGE_FRAMES: usize = 60;
/// Characters of a name: a line across the whole picture has about 170.
const MAX_NAME: usize = 300;

/// Why there is no picture.
#[derive(Debug)]
pub struct FlamegraphError(io::Error);

impl fmt::Display for FlamegraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the flame graph could not be drawn")
    }
}

impl std::error::Error for FlamegraphError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Which of the two towers a stack stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tower {
    Grew,
    Shrank,
}

impl Tower {
    fn name(self) -> &'static str {
        match self {
            Tower::Grew => "grew",
            Tower::Shrank => "shrank",
        }
    }

    /// Appended to a name, it makes the palette's key, and inferno hides it. It
    /// also keeps a name that ends in a number from passing for a count.
    fn annotation(self) -> &'static str {
        match self {
            Tower::Grew => "_[k]",
            Tower::Shrank => "_[w]",
        }
    }

    fn color(self, name: &str) -> Color {
        let [a, b, ..] = fnv(name).to_le_bytes();
        match self {
            // From red to orange, and from blue to violet: all light enough
            // for black letters, none near the other tower's.
            Tower::Grew => Color {
                r: 225 + a % 31,
                g: 100 + b % 100,
                b: 60 + a % 50,
            },
            Tower::Shrank => Color {
                r: 120 + b % 60,
                g: 150 + a % 60,
                b: 225 + a % 31,
            },
        }
    }
}

/// The page that a picture stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Theme {
    /// Black on white.
    Light,
    /// White on nearly black.
    Dark,
}

impl Theme {
    fn background(self) -> Color {
        match self {
            Theme::Light => Color {
                r: 255,
                g: 255,
                b: 255,
            },
            Theme::Dark => Color {
                r: 13,
                g: 17,
                b: 23,
            },
        }
    }

    /// Of what stands on the background; the letters on frames are black.
    fn text(self) -> Color {
        match self {
            Theme::Light => Color { r: 0, g: 0, b: 0 },
            Theme::Dark => Color {
                r: 230,
                g: 237,
                b: 243,
            },
        }
    }
}

/// How to draw.
struct Canvas {
    width: usize,
    min_width: f64,
    frames: usize,
    theme: Theme,
    /// Whether nobody can search, zoom or read a tool tip in it.
    image: bool,
}

/// Draws a report's growth as an SVG document.
///
/// # Errors
///
/// If inferno refuses, which no report is known to make it do.
pub fn render(report: &Report) -> Result<String, FlamegraphError> {
    let canvas = Canvas {
        width: WIDTH,
        min_width: MIN_WIDTH,
        frames: MAX_FRAMES,
        theme: Theme::Light,
        image: false,
    };
    draw(report, &canvas)
}

/// As [`render`], for an `<img>` on a page of that theme: narrow, without
/// JavaScript, at most 1 MiB long. Absent where there is nothing to draw.
///
/// # Errors
///
/// If inferno refuses, or the image cannot be made small enough.
pub fn render_image(report: &Report, theme: Theme) -> Result<Option<String>, FlamegraphError> {
    if rates(report).next().is_none() {
        return Ok(None);
    }
    for min_width in IMAGE_MIN_WIDTHS {
        let canvas = Canvas {
            width: IMAGE_WIDTH,
            min_width,
            frames: MAX_IMAGE_FRAMES,
            theme,
            image: true,
        };
        let svg = draw(report, &canvas)?;
        if svg.len() <= MAX_IMAGE {
            return Ok(Some(svg));
        }
    }
    let message = format!("expected at most {MAX_IMAGE} bytes of image, found more");
    Err(FlamegraphError(io::Error::other(message)))
}

fn draw(report: &Report, canvas: &Canvas) -> Result<String, FlamegraphError> {
    // Without room for a subtitle in another colour than black.
    let title = match canvas.image {
        true => format!("{}: {}", shown(&report.scenario), sums(report)),
        false => format!("{}: growth per iteration", shown(&report.scenario)),
    };
    let total: f64 = rates(report).map(|(_, rate)| rate.abs()).sum();
    let per = iterations_per_unit(total);
    let stacks = stacks(report, per, canvas.frames);
    if stacks.is_empty() {
        return Ok(nothing(&title, &between(report)));
    }

    let mut palette = PaletteMap::default();
    palette.insert(
        "",
        Color {
            r: 225,
            g: 225,
            b: 225,
        },
    );
    let mut lines = Vec::with_capacity(stacks.len());
    for (tower, names, bytes) in &stacks {
        let mut line = String::new();
        for name in std::iter::once(tower.name()).chain(names.iter().map(String::as_str)) {
            let key = format!("{name}{}", tower.annotation());
            if !line.is_empty() {
                line.push(';');
            }
            line.push_str(&key);
            if palette.get(&key).is_none() {
                palette.insert(key, tower.color(name));
            }
        }
        line.push_str(&format!(" {bytes}"));
        lines.push(line);
    }

    let mut options = Options::default();
    options.title = title;
    options.subtitle = (!canvas.image).then(|| subtitle(report));
    options.no_javascript = canvas.image;
    options.count_name = match per {
        1 => "bytes per iteration".to_owned(),
        per => format!("bytes per {} iterations", count(per)),
    };
    options.image_width = Some(canvas.width);
    options.min_width = canvas.min_width;
    options.font_type = "monospace".to_owned();
    options.bgcolors = Some(BackgroundColor::Flat(canvas.theme.background()));
    options.uicolor = canvas.theme.text();
    options.palette_map = Some(&mut palette);
    // "Flame chart" only means that inferno keeps the order it is given,
    // reversed. Its own order is that of whole lines, where the space and the
    // `;` behind a name decide, and tears equal frames apart.
    options.flame_chart = true;
    let lines = lines.iter().rev().map(String::as_str);

    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines, &mut svg).map_err(FlamegraphError)?;
    String::from_utf8(svg)
        .map_err(|error| FlamegraphError(io::Error::new(io::ErrorKind::InvalidData, error)))
}

fn rates(report: &Report) -> impl Iterator<Item = (&super::StackGrowth, f64)> {
    report
        .growth
        .iter()
        .map(|growth| (growth, growth.rate.bytes))
        .filter(|(_, rate)| rate.is_finite() && *rate != 0.0)
}

/// So many iterations that all growth together is at least 10,000 bytes, as a
/// power of 1,000: then what is a tenth of the thinnest frame still counts.
fn iterations_per_unit(total: f64) -> u64 {
    [1, 1_000, 1_000_000, 1_000_000_000]
        .into_iter()
        .find(|&per| total * approximate(per) >= 10_000.0)
        .unwrap_or(1_000_000_000_000)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "powers of ten and widths of frames"
)]
fn approximate(n: u64) -> f64 {
    n as f64
}

/// What is drawn: tower, names and bytes, in the order of the first two.
fn stacks(report: &Report, per: u64, most_frames: usize) -> Vec<(Tower, Vec<String>, u64)> {
    /// A sum of 20,000 of them is far from the end of `u64`, and exact in `f64`.
    const MAX_BYTES: f64 = 1e11 * 4.0;

    let mut all: Vec<(Tower, Vec<String>, u64)> = rates(report)
        .filter_map(|(growth, rate)| {
            let tower = if rate > 0.0 {
                Tower::Grew
            } else {
                Tower::Shrank
            };
            let bytes = (rate.abs() * approximate(per)).round().min(MAX_BYTES);
            #[expect(clippy::cast_possible_truncation, reason = "cut to the range above")]
            #[expect(clippy::cast_sign_loss, reason = "an absolute value")]
            let bytes = bytes as u64;
            (bytes > 0).then(|| (tower, names(growth.stack.frames(), most_frames), bytes))
        })
        .collect();
    all.sort_by(|a, b| (Reverse(a.2), a.0, &a.1).cmp(&(Reverse(b.2), b.0, &b.1)));
    for tower in [Tower::Grew, Tower::Shrank] {
        let rest = all.iter().skip(MAX_STACKS).filter(|stack| stack.0 == tower);
        let rest = rest.fold(0_u64, |sum, stack| sum.saturating_add(stack.2));
        if rest > 0 {
            all.insert(0, (tower, vec!["[other]".to_owned()], rest));
        }
    }
    // Two more, where there are the merged ones.
    let merged = all
        .iter()
        .take(2)
        .filter(|stack| stack.1 == ["[other]"])
        .count();
    all.truncate(MAX_STACKS + merged);
    all.sort();
    all
}

/// The names of one stack as inferno can take and the picture can show them.
fn names(frames: &[String], most: usize) -> Vec<String> {
    let name = |name: &String| match shown(name).trim() {
        "" => "[unknown]".to_owned(),
        // As the collapsers of flame graphs do.
        name => name.replace(';', ":"),
    };
    match frames.len().checked_sub(most) {
        None | Some(0) => frames.iter().map(name).collect(),
        Some(too_many) => {
            // The ends say where a stack starts and what it allocates for.
            let root = most / 5;
            let mut names: Vec<String> = frames[..root].iter().map(name).collect();
            names.push("[…]".to_owned());
            names.extend(frames[root + too_many..].iter().map(name));
            names
        }
    }
}

fn shown(name: &str) -> String {
    escape::cut_middle(&escape::xml(name), MAX_NAME)
}

fn between(report: &Report) -> String {
    match report.compared {
        Some(super::Compared { before, after }) => {
            format!(
                "from {} to {}",
                count(before),
                plural(after, "iteration", "iterations")
            )
        }
        None => "between the first and the last rung".to_owned(),
    }
}

fn subtitle(report: &Report) -> String {
    format!("{}: {}", between(report), sums(report))
}

/// `grew +48 B, shrank -12 B per iteration`
fn sums(report: &Report) -> String {
    let sum = |wanted: fn(f64) -> bool| -> f64 {
        rates(report)
            .map(|(_, rate)| rate)
            .filter(|rate| wanted(*rate))
            .sum()
    };
    let (grew, shrank) = (sum(|rate| rate > 0.0), sum(|rate| rate < 0.0));
    let mut parts = Vec::new();
    if grew > 0.0 {
        parts.push(format!("grew {}", signed_bytes(grew)));
    }
    if shrank < 0.0 {
        parts.push(format!("shrank {}", signed_bytes(shrank)));
    }
    format!("{} per iteration", parts.join(", "))
}

/// inferno refuses to draw nothing, but a link to the picture must lead to one.
fn nothing(title: &str, between: &str) -> String {
    let text = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
    };
    format!(
        r##"<?xml version="1.0" standalone="no"?>
<svg version="1.1" width="{WIDTH}" height="110" viewBox="0 0 {WIDTH} 110" xmlns="http://www.w3.org/2000/svg">
<rect width="100%" height="100%" fill="#ffffff"/>
<g font-family="monospace" text-anchor="middle">
<text x="50%" y="30" font-size="17">{}</text>
<text x="50%" y="70" font-size="12">{}: nothing grew and nothing shrank</text>
</g>
</svg>
"##,
        text(title),
        text(between),
    )
}

/// FNV-1a, 64 bits: the same on every machine and in every version.
fn fnv(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
