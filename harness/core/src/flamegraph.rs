//! Flame graphs: stacks as towers of frames, each as wide as what it holds.
//!
//! A name has the same shade in every picture. Widths, names and numbers are there
//! without JavaScript, searching and zooming with it.
//!
//! Drawn by inferno from folded stacks. What it has no words for goes through
//! two doors of it: colours by tower are a palette map over names that end in
//! an annotation (`_[k]`, which it does not show), and whole numbers are all it
//! counts in.

use std::fmt;
use std::io;

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self, Options};

use plimsoll_text::escape;
use plimsoll_text::hash::fnv;

/// Characters of a name: a line across the whole picture has about 170.
const MAX_NAME: usize = 300;

/// Why there is no picture.
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

/// Where a stack stands, and in which colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tower {
    /// What is there; in reds, on no other frame.
    Held,
    /// What was gained; in reds, on the frame `grew`.
    Grew,
    /// What was lost; in blues, on the frame `shrank`.
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

    /// Appended to a name, it makes the palette's key, and inferno hides it. It
    /// also keeps a name that ends in a number from passing for a count.
    fn annotation(self) -> &'static str {
        match self {
            Tower::Held | Tower::Grew => "_[k]",
            Tower::Shrank => "_[w]",
        }
    }

    fn color(self, name: &str) -> Color {
        let [a, b, ..] = fnv(name.as_bytes()).to_le_bytes();
        match self {
            // From red to orange, and from blue to violet: all light enough
            // for black letters, none near the other tower's.
            Tower::Held | Tower::Grew => Color {
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

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// Above it.
    pub title: String,
    /// Below that, if there is room.
    pub subtitle: Option<String>,
    /// What is counted: `bytes per iteration`.
    pub count_name: String,
    /// Columns of pixels.
    pub width: usize,
    /// Of the width, in percent; what is thinner is left out.
    pub min_width: f64,
    /// Whether nobody can search, zoom or read a tool tip in it.
    pub image: bool,
    /// The page that it stands on.
    pub theme: Theme,
    /// Names root first, as [`names`] makes them, and how many. In the order of their
    /// towers and names.
    pub stacks: &'a [(Tower, Vec<String>, u64)],
}

/// Draws it, as an SVG document.
///
/// # Errors
///
/// If inferno refuses: where there are no stacks, and for nothing else that is known.
pub fn draw(picture: &Picture<'_>) -> Result<String, FlamegraphError> {
    let mut palette = PaletteMap::default();
    palette.insert(
        "",
        Color {
            r: 225,
            g: 225,
            b: 225,
        },
    );
    let mut lines = Vec::with_capacity(picture.stacks.len());
    for (tower, names, count) in picture.stacks {
        let mut line = String::new();
        for name in tower
            .name()
            .into_iter()
            .chain(names.iter().map(String::as_str))
        {
            let key = format!("{name}{}", tower.annotation());
            if !line.is_empty() {
                line.push(';');
            }
            line.push_str(&key);
            if palette.get(&key).is_none() {
                palette.insert(key, tower.color(name));
            }
        }
        line.push_str(&format!(" {count}"));
        lines.push(line);
    }

    let mut options = Options::default();
    options.title.clone_from(&picture.title);
    options.subtitle.clone_from(&picture.subtitle);
    options.no_javascript = picture.image;
    options.count_name.clone_from(&picture.count_name);
    options.image_width = Some(picture.width);
    options.min_width = picture.min_width;
    options.font_type = "monospace".to_owned();
    options.bgcolors = Some(BackgroundColor::Flat(picture.theme.background()));
    options.uicolor = picture.theme.text();
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

/// The names of one stack as inferno can take and the picture can show them, at most
/// so many: of more, the middle is left out.
pub fn names(frames: &[String], most: usize) -> Vec<String> {
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

/// A name, safe in a picture and of bearable length.
pub fn shown(name: &str) -> String {
    escape::cut_middle(&escape::xml(name), MAX_NAME)
}

/// A picture that says why there is nothing in it: a link must lead to one.
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
