//! Prints lines that never exceed a width, whatever they contain. Only a path may be longer.

use super::Style;
use crate::report::units::BYTE_UNITS;
use crate::text::escape::{columns, cut_middle, start_of, terminal};

/// The least width. On a narrower page nothing would be readable.
const MIN_WIDTH: usize = 40;

/// The style of a piece of a line, if colour is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

impl Paint {
    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Bold => Some("1"),
            Paint::Dim => Some("2"),
            Paint::Red => Some("1;31"),
            Paint::Green => Some("32"),
            Paint::Yellow => Some("33"),
        }
    }
}

/// Collects lines. Every piece of text passes through [`terminal`], which escapes it.
pub(super) struct Page {
    out: String,
    color: bool,
    pub(super) width: usize,
    /// Whether nothing is left out.
    pub(super) all: bool,
}

impl Page {
    pub(super) fn new(style: &Style) -> Self {
        Page {
            out: String::new(),
            color: style.color,
            width: style.width.max(MIN_WIDTH),
            all: style.all,
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Adds an empty line, unless the page is empty or ends with one already.
    pub(super) fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Adds one line, and cuts what exceeds the width.
    pub(super) fn line(&mut self, parts: &[(Paint, &str)]) {
        let mut room = self.width;
        let mut cut: Vec<(Paint, String)> = Vec::with_capacity(parts.len());
        for (paint, text) in parts {
            let text = cut_middle(&terminal(text), room);
            room -= columns(&text);
            cut.push((*paint, text));
        }
        // Spaces at the end are removed, whichever part they are in.
        while let Some((_, text)) = cut.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            cut.pop();
        }
        for (paint, text) in cut {
            match paint.code() {
                Some(code) if self.color && !text.trim().is_empty() => {
                    self.out.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m"));
                }
                _ => self.out.push_str(&text),
            }
        }
        self.out.push('\n');
    }

    /// Adds a path, indented, on a line of its own. It is never cut, because a cut path is
    /// useless.
    pub(super) fn path(&mut self, path: &str) {
        self.out.push_str("    ");
        self.out.push_str(&terminal(path));
        self.out.push('\n');
    }

    /// Adds prose, broken between words. Lines after the first are indented by `hanging`. A
    /// word that is longer than a line is broken inside.
    pub(super) fn wrap(&mut self, indent: usize, hanging: usize, paint: Paint, text: &str) {
        for line in self.broken(indent, hanging, 0, text) {
            self.line(&[(paint, &line)]);
        }
    }

    /// Adds a shell command after a label. A long command continues after a backslash.
    pub(super) fn command(&mut self, label: &str, command: &str) {
        let text = format!("{label} {command}");
        // Two columns are kept free for ` \`.
        let lines = match columns(&terminal(&text)) + 2 > self.width {
            true => self.broken(2, 4, 2, &text),
            false => vec![format!("  {text}")],
        };
        let last = lines.len().saturating_sub(1);
        for (index, line) in lines.iter().enumerate() {
            let more = if index < last { " \\" } else { "" };
            self.line(&[(Paint::Plain, line), (Paint::Plain, more)]);
        }
    }

    /// Adds output of another program, line by line behind a bar. Long lines are broken.
    pub(super) fn quote(&mut self, text: &str) {
        const BAR: &str = "  │ ";
        let room = self.width - columns(BAR);
        for line in text.lines() {
            let line = terminal(line.trim_end());
            let mut rest = line.as_str();
            loop {
                let piece = start_of(rest, room);
                self.line(&[(Paint::Dim, BAR), (Paint::Plain, piece)]);
                rest = &rest[piece.len()..];
                if rest.is_empty() {
                    break;
                }
            }
        }
    }

    fn broken(&self, indent: usize, hanging: usize, keep: usize, text: &str) -> Vec<String> {
        let text = terminal(text);
        let width = self.width - keep;
        let mut lines = Vec::new();
        let mut line = " ".repeat(indent);
        let mut empty = true;
        for word in words(&text) {
            let mut word = word;
            let space = usize::from(!empty);
            if !empty && columns(&line) + space + columns(word) > width {
                lines.push(std::mem::replace(&mut line, " ".repeat(hanging)));
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            while columns(&line) + columns(word) > width {
                let piece = start_of(word, width - columns(&line));
                line.push_str(piece);
                word = &word[piece.len()..];
                lines.push(std::mem::replace(&mut line, " ".repeat(hanging)));
            }
            line.push_str(word);
            empty = false;
        }
        if !empty {
            lines.push(line);
        }
        lines
    }
}

/// The units besides those of bytes that stay with their number.
const UNITS: [&str; 10] = [
    "s", "min", "h", "d", "years", "%", "object", "objects", "thread", "threads",
];

/// Units of two words.
const PAIRS: [(&str, &str); 2] = [("file", "descriptor"), ("mapped", "file")];

/// Returns the words of a text. A number is one word with its unit.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(' ') {
        let unit = text[at + 1..].split(|c: char| !c.is_alphanumeric() && c != '%');
        let unit = unit.into_iter().next().unwrap_or_default();
        let (before, after) = (&text[..at], &text[at + 1..]);
        let ends_in_number = |text: &str| text.ends_with(|c: char| c.is_ascii_digit());
        let is_pair = PAIRS.iter().any(|(one, other)| {
            let number = before.strip_suffix(one).map(str::trim_end);
            let is_second = after.starts_with(other) && number.is_some_and(ends_in_number);
            is_second || ends_in_number(before) && after.starts_with(&format!("{one} {other}"))
        });
        let is_unit = BYTE_UNITS.contains(&unit) || UNITS.contains(&unit);
        if !(is_pair || is_unit && ends_in_number(before)) {
            words.push(&text[start..at]);
            start = at + 1;
        }
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let said = |text| words(text).join(" | ");
        assert_eq!(
            said("(allowed: 0 B) or 1.5 KiB."),
            "(allowed: | 0 B) | or | 1.5 KiB."
        );
        assert_eq!(
            said("in 3.1 h, 10 % of 5 min"),
            "in | 3.1 h, | 10 % | of | 5 min"
        );
        assert_eq!(said("5 stacks x s B"), "5 | stacks | x | s | B");
        assert_eq!(
            said("0 file descriptors, +1.00 mapped files or 2 objects of a mapped file"),
            "0 file descriptors, | +1.00 mapped files | or | 2 objects | of | a | mapped | file"
        );
    }
}
