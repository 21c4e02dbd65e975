//! Draws flame graphs: stacks as towers of frames, each as wide as its number.
//!
//! The root is above. A name has the same shade in every picture. Widths, names and numbers need no JavaScript;
//! searching and zooming do.
//!
//! inferno draws the picture from folded stacks. Two needs that it has no option for are met
//! indirectly. Colours by tower are a palette map over names that end in an annotation
//! (`_[k]`), which inferno does not show. And inferno counts in whole numbers only.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self, Direction, Options};

use crate::text::escape;
use crate::text::hash::fnv;

/// Most characters of a name. A line across the whole picture has about 170.
const MAX_NAME: usize = 300;

/// The reason why there is no picture.
#[derive(Debug)]
pub struct FlamegraphError(pub(crate) io::Error);

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

/// The tower that a stack is in, with its colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tower {
    /// What is there. In reds, without a frame below.
    Held,
    /// What was gained. In reds, on the frame `grew`.
    Grew,
    /// What was lost. In blues, on the frame `shrank`.
    Shrank,
}

impl Tower {
    fn name(self) -> Option<&'static str> {
        match self {
            Tower::Held => None,
            Tower::Grew => Some("grew"),
            Tower::Shrank => Some("shrank"),
        }
    }

    /// Returns the annotation. A name with it is the palette's key, and inferno does not show
    /// it. Without it, a number at the end of a name would be read as a count.
    fn annotation(self) -> &'static str {
        match self {
            Tower::Held | Tower::Grew => "_[k]",
            Tower::Shrank => "_[w]",
        }
    }

    fn color(self, name: &str) -> Color {
        let [a, b, ..] = fnv(name.as_bytes()).to_le_bytes();
        match self {
            // From red to orange, and from blue to violet. All are light enough for black
            // letters, and none is near a colour of the other tower.
            Tower::Held | Tower::Grew => rgb(225 + a % 31, 100 + b % 100, 60 + a % 50),
            Tower::Shrank => rgb(120 + b % 60, 150 + a % 60, 225 + a % 31),
        }
    }
}

/// The background of the page that shows a picture.
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
            Theme::Light => rgb(255, 255, 255),
            Theme::Dark => rgb(13, 17, 23),
        }
    }

    /// Returns the colour of text on the background. Text on frames is black.
    fn text(self) -> Color {
        match self {
            Theme::Light => rgb(0, 0, 0),
            Theme::Dark => rgb(230, 237, 243),
        }
    }
}

fn rgb(r: u8, g: u8, b: u8) -> Color {
    Color { r, g, b }
}

/// The picture to draw.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// The title above the picture.
    pub title: String,
    /// The line below the title, if there is room.
    pub subtitle: Option<String>,
    /// The unit of the counts: `bytes per iteration`.
    pub count_name: String,
    /// The width in pixels.
    pub width: usize,
    /// The thinnest frame that is drawn, in percent of the width.
    pub min_width: f64,
    /// Whether the picture is an image, in which nobody can search, zoom or read a tool tip.
    pub image: bool,
    /// The page that shows the picture.
    pub theme: Theme,
    /// Towers, names (root first, as [`names`] makes them) and counts, in the order of towers
    /// and names.
    pub stacks: &'a [(Tower, Vec<String>, u64)],
    /// Names whose colour is an age, from 0 (young, yellow) to 1 (old, violet). All other names
    /// have the colours of their tower.
    pub ages: BTreeMap<String, f64>,
}

/// Returns the colour of an age: from yellow through orange to violet. All are light enough for
/// black letters.
fn color_of_age(age: f64) -> Color {
    const STOPS: [[f64; 3]; 3] = [
        [250.0, 230.0, 110.0],
        [245.0, 150.0, 85.0],
        [190.0, 140.0, 235.0],
    ];
    let place = 2.0 * age.clamp(0.0, 1.0);
    let (from, to, share) = match place <= 1.0 {
        true => (STOPS[0], STOPS[1], place),
        false => (STOPS[1], STOPS[2], place - 1.0),
    };
    #[expect(clippy::cast_possible_truncation, reason = "between two colours")]
    #[expect(clippy::cast_sign_loss, reason = "between two colours")]
    let part = |at: usize| (from[at] + share * (to[at] - from[at])).round() as u8;
    rgb(part(0), part(1), part(2))
}

/// Draws a picture as an SVG document.
///
/// # Errors
///
/// If inferno refuses, which it does if there are no stacks. No other cause is known.
pub fn draw(picture: &Picture<'_>) -> Result<String, FlamegraphError> {
    let mut palette = PaletteMap::default();
    palette.insert("", rgb(225, 225, 225));
    let mut lines = Vec::with_capacity(picture.stacks.len());
    for (tower, names, count) in picture.stacks {
        let names = names.iter().map(String::as_str);
        let keys = tower.name().into_iter().chain(names).map(|name| {
            let key = format!("{name}{}", tower.annotation());
            let color = match picture.ages.get(name) {
                Some(age) => color_of_age(*age),
                None => tower.color(name),
            };
            palette.insert(key.clone(), color);
            key
        });
        let keys: Vec<String> = keys.collect();
        lines.push(format!("{} {count}", keys.join(";")));
    }

    let mut options = Options::default();
    options.title.clone_from(&picture.title);
    options.subtitle.clone_from(&picture.subtitle);
    options.no_javascript = picture.image;
    options.count_name.clone_from(&picture.count_name);
    options.image_width = Some(picture.width);
    options.min_width = picture.min_width;
    // The root is above, as on the HTML page, where a stack is read from its root down.
    options.direction = Direction::Inverted;
    options.font_type = "monospace".to_owned();
    options.bgcolors = Some(BackgroundColor::Flat(picture.theme.background()));
    options.uicolor = picture.theme.text();
    options.palette_map = Some(&mut palette);
    // "Flame chart" only means that inferno keeps the given order, reversed. inferno's own
    // order is that of whole lines. In it, the space or `;` behind a name decides, which
    // separates equal frames.
    options.flame_chart = true;
    let lines = lines.iter().rev().map(String::as_str);

    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines, &mut svg).map_err(FlamegraphError)?;
    let svg = String::from_utf8(svg)
        .map_err(|error| FlamegraphError(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    Ok(if picture.image {
        without_buttons(svg)
    } else {
        svg
    })
}

/// Removes the labels that inferno's script reacts to, and that inferno writes without the
/// script as well.
fn without_buttons(mut svg: String) -> String {
    const END: &str = "</text>";
    for id in ["search", "unzoom"] {
        let start = svg.find(&format!("<text id=\"{id}\""));
        let range =
            start.and_then(|start| Some(start..start + svg[start..].find(END)? + END.len()));
        if let Some(range) = range {
            svg.replace_range(range, "");
        }
    }
    svg
}

/// Returns the names of one stack in a form that inferno can read and the picture can show. If
/// there are more than `most`, the middle is left out.
pub fn names(frames: &[String], most: usize) -> Vec<String> {
    let name = |name: &String| match shown(name).trim() {
        "" => "[unknown]".to_owned(),
        // The collapsers of flame graph tools replace it in the same way.
        name => name.replace(';', ":"),
    };
    match frames.len().checked_sub(most) {
        None | Some(0) => frames.iter().map(name).collect(),
        Some(too_many) => {
            // The two ends say where a stack starts and what it allocates for.
            let root = most / 5;
            let mut names: Vec<String> = frames[..root].iter().map(name).collect();
            names.push("[…]".to_owned());
            names.extend(frames[root + too_many..].iter().map(name));
            names
        }
    }
}

/// Returns a name that is escaped for a picture and cut to length.
pub fn shown(name: &str) -> String {
    escape::cut_middle(&escape::xml(name), MAX_NAME)
}

/// Draws a picture that says why it is empty, because a link must lead to a picture.
pub fn nothing(width: usize, title: &str, why: &str) -> String {
    format!(
        r##"<?xml version="1.0" standalone="no"?>
<svg version="1.1" width="{width}" height="110" viewBox="0 0 {width} 110" xmlns="http://www.w3.org/2000/svg">
<rect width="100%" height="100%" fill="#ffffff"/>
<g font-family="monospace" text-anchor="middle">
<text x="50%" y="30" font-size="17">{}</text>
<text x="50%" y="70" font-size="12">{}</text>
</g>
</svg>
"##,
        escape::markup(title),
        escape::markup(why),
    )
}
