//! `growth.svg`: a flame graph of what one iteration adds and takes away.
//!
//! Two towers are side by side, `grew` in reds and `shrank` in blues. Each is as wide as its
//! bytes per iteration. Widths must be whole numbers, so for small rates the bytes of several
//! iterations are counted.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use super::Report;
use super::units::{bytes, count, give_or_take, signed_bytes};
pub use crate::flamegraph::{FlamegraphError, Theme};
use crate::flamegraph::{Picture, Tower, draw, names, nothing, shown};
use crate::text::escape::cut_middle;
use crate::{Rate, to_f64, to_u64};

const WIDTH: usize = 1200;
/// The width of an image in a comment on a page. In a wider image, which is scaled down,
/// letters would be too small.
const IMAGE_WIDTH: usize = 800;
/// The thinnest frame, in percent of the width. Thinner ones can be neither read nor hit.
const MIN_WIDTH: f64 = 0.1;
/// The same in an image, which nobody can zoom into. If the image is too large, the next value
/// is tried.
const IMAGE_MIN_WIDTHS: [f64; 3] = [0.4, 1.5, 5.0];
/// The most characters of a scenario's name: with the sums behind it, a title in an image has
/// about 80.
const MAX_NAME: usize = 45;
/// The longest image, in bytes.
const MAX_IMAGE: usize = 1 << 20;
/// The most stacks. More would be thinner than a pixel, and would make a file that no browser
/// likes.
const MAX_STACKS: usize = 20_000;
/// The most frames of a stack. jemalloc cuts at 128 addresses, and each has a few inlined
/// frames.
const MAX_FRAMES: usize = 500;
/// The most frames of a stack in an image. This is more rows than a screen has room for.
const MAX_IMAGE_FRAMES: usize = 60;

/// Draws a report's growth as an SVG document.
///
/// # Errors
///
/// If inferno refuses. No report is known for which it does.
pub fn render(report: &Report) -> Result<String, FlamegraphError> {
    let per = iterations_per_unit(report);
    let title = title(report, &format!("growth per {}", report.per.one()));
    let stacks = stacks(report, per, MAX_FRAMES);
    if stacks.is_empty() {
        let why = format!("{}: nothing grew and nothing shrank", between(report));
        return Ok(nothing(WIDTH, &title, &why));
    }
    draw(&Picture {
        title,
        subtitle: Some(format!("{}: {}", between(report), sums(report))),
        count_name: count_name(report, per),
        width: WIDTH,
        min_width: MIN_WIDTH,
        image: false,
        theme: Theme::Light,
        stacks: &stacks,
        ages: BTreeMap::new(),
    })
}

/// The same as [`render`], for an `<img>` on a page of that theme: narrow, without JavaScript,
/// and at most 1 MiB long. `None` if there is nothing to draw.
///
/// # Errors
///
/// If inferno refuses, or the image cannot be made small enough.
pub fn render_image(report: &Report, theme: Theme) -> Result<Option<String>, FlamegraphError> {
    let per = iterations_per_unit(report);
    let stacks = stacks(report, per, MAX_IMAGE_FRAMES);
    if stacks.is_empty() {
        return Ok(None);
    }
    for min_width in IMAGE_MIN_WIDTHS {
        let svg = draw(&Picture {
            title: title(report, &sums(report)),
            // inferno draws a subtitle in black on every background.
            subtitle: None,
            count_name: count_name(report, per),
            width: IMAGE_WIDTH,
            min_width,
            image: true,
            theme,
            stacks: &stacks,
            ages: BTreeMap::new(),
        })?;
        if svg.len() <= MAX_IMAGE {
            return Ok(Some(svg));
        }
    }
    let message = format!("expected at most {MAX_IMAGE} bytes of image, found more");
    Err(FlamegraphError(io::Error::other(message)))
}

fn title(report: &Report, what: &str) -> String {
    let name = cut_middle(&shown(report.title()), MAX_NAME);
    format!("{name}: {what}")
}

fn count_name(report: &Report, per: u64) -> String {
    match per {
        1 => format!("bytes per {}", report.per.one()),
        per => format!("bytes per {}", report.per.count(per)),
    }
}

fn rates(report: &Report) -> impl Iterator<Item = (&super::StackGrowth, f64)> {
    let growth = report.growth.iter();
    let rates = growth.map(|growth| (growth, growth.rate.bytes));
    rates.filter(|(_, rate)| rate.is_finite() && *rate != 0.0)
}

/// Returns so many iterations that all growth together is at least 10,000 bytes, as a power of
/// 1,000. So a tenth of the thinnest frame still counts.
fn iterations_per_unit(report: &Report) -> u64 {
    let total: f64 = rates(report).map(|(_, rate)| rate.abs()).sum();
    [1, 1_000, 1_000_000, 1_000_000_000]
        .into_iter()
        .find(|&per| total * to_f64(per) >= 10_000.0)
        .unwrap_or(1_000_000_000_000)
}

/// Returns what is drawn: towers, names and bytes, in the order of the first two.
fn stacks(report: &Report, per: u64, most_frames: usize) -> Vec<(Tower, Vec<String>, u64)> {
    /// A sum of 20,000 such numbers is far below the end of `u64`, and exact in `f64`.
    const MAX_BYTES: f64 = 1e11 * 4.0;

    let mut all: Vec<(Tower, Vec<String>, u64)> = rates(report)
        .filter_map(|(growth, rate)| {
            let tower = match rate > 0.0 {
                true => Tower::Grew,
                false => Tower::Shrank,
            };
            let bytes = to_u64((rate.abs() * to_f64(per)).round().min(MAX_BYTES));
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
    // The merged stacks are in addition to the limit.
    let merged = all
        .iter()
        .take(2)
        .filter(|stack| stack.1 == ["[other]"])
        .count();
    all.truncate(MAX_STACKS + merged);
    all.sort();
    all
}

fn between(report: &Report) -> String {
    match report.compared {
        Some(super::Compared { before, after }) => {
            let after = report.per.count(after);
            format!("from {} to {after}", count(before))
        }
        None => "between the first and the last rung".to_owned(),
    }
}

/// Returns `grew +48 B, shrank -12 B per iteration`, or for samples
/// `grew +48 B ± 3 B per iteration`.
fn sums(report: &Report) -> String {
    let sum = |word: &str, wanted: fn(f64) -> bool| {
        let (mut sum, mut variance) = (0.0, None);
        for (growth, rate) in rates(report).filter(|(_, rate)| wanted(*rate)) {
            sum += rate;
            if let Some(Rate { bytes, .. }) = growth.error {
                *variance.get_or_insert(0.0) += bytes * bytes;
            }
        }
        let error = give_or_take(variance.map(f64::sqrt), bytes);
        (sum != 0.0).then(|| format!("{word} {}{error}", signed_bytes(sum)))
    };
    let grew = sum("grew", |rate| rate > 0.0);
    let shrank = sum("shrank", |rate| rate < 0.0);
    let parts: Vec<String> = grew.into_iter().chain(shrank).collect();
    format!("{} per {}", parts.join(", "), report.per.one())
}
