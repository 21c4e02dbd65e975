//! The text of a baseline while it is edited.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::Date;
use crate::to_f64;
use crate::toml_file::{self, Item, integer};

/// A text, and what is to become of it. Whatever no edit names stays as it is.
pub(super) struct Draft<'a> {
    pub(super) text: &'a str,
    edits: Vec<Edit>,
}

struct Edit {
    range: Range<usize>,
    place: Place,
    text: String,
    /// Whether an empty line has to follow.
    is_apart: bool,
}

/// What is inserted, in the order in which it is written where several are inserted at one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A part of the table that ends there.
    Within,
    /// A table.
    Table,
    /// A comment above the table that begins there.
    Above,
}

impl<'a> Draft<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let edits = Vec::new();
        Self { text, edits }
    }

    pub(super) fn insert(&mut self, at: usize, place: Place, text: String) {
        self.edit(at..at, place, text, false);
    }

    pub(super) fn replace(&mut self, range: Range<usize>, text: String) {
        self.edit(range, Place::Within, text, false);
    }

    /// Removes what belongs to a table: its lines, and the comment right above it. Comments that an
    /// empty line separates from that one stay apart from what follows.
    pub(super) fn remove(&mut self, table: &Section) {
        let range = table.own(self.text);
        let is_apart = range.start > table.above;
        self.edit(range, Place::Within, String::new(), is_apart);
    }

    fn edit(&mut self, range: Range<usize>, place: Place, text: String, is_apart: bool) {
        self.edits.push(Edit {
            range,
            place,
            text,
            is_apart,
        });
    }

    /// Sets a key of a table if its value differs. Returns whether it differed.
    pub(super) fn set(&mut self, table: &mut Section<'a>, key: &'static str, value: Value) -> bool {
        match table.table.get(key) {
            Some(written) if value.is(written.get_ref()) => return false,
            Some(written) => self.replace(written.span(), value.written()),
            None => {
                table.added.push(key);
                let line = format!("{key} = {}\n", value.written());
                self.insert(table.end, Place::Within, line);
            }
        }
        true
    }

    /// Removes the lines of a key. Returns whether the table had it.
    pub(super) fn unset(&mut self, table: &Section, key: &str) -> bool {
        let Some((written, item)) = table.table.get_key_value(key) else {
            return false;
        };
        let start = written.span().start;
        let values = table.table.values().map(|item| item.span().end);
        let before = values.filter(|end| *end < start).max();
        let before = line_end(self.text, before.unwrap_or(table.header));
        self.replace(before..line_end(self.text, item.span().end), String::new());
        true
    }

    /// Returns the text with all edits, if there are any.
    pub(super) fn finish(mut self) -> Option<String> {
        if self.edits.is_empty() {
            return None;
        }
        self.edits
            .sort_by_key(|edit| (edit.range.start, edit.range.end, edit.place));
        let (mut text, mut at, mut is_apart) = (String::new(), 0, false);
        for edit in self.edits {
            // Frames that are removed together may overlap.
            let before = self.text.get(at..edit.range.start).unwrap_or_default();
            push(&mut text, before, &mut is_apart);
            push(&mut text, &edit.text, &mut is_apart);
            at = at.max(edit.range.end);
            is_apart |= edit.is_apart;
        }
        push(&mut text, &self.text[at..], &mut is_apart);
        Some(text)
    }
}

fn push(text: &mut String, part: &str, is_apart: &mut bool) {
    if *is_apart && !part.is_empty() {
        *is_apart = false;
        if !part.starts_with('\n') {
            text.push('\n');
        }
    }
    text.push_str(part);
}

/// A table of the file, with its header.
pub(super) struct Section<'a> {
    pub(super) table: &'a DeTable<'a>,
    /// Where the lines above its header begin.
    pub(super) above: usize,
    /// Where the line of its header begins.
    pub(super) header: usize,
    /// Where the line after its last value begins.
    pub(super) end: usize,
    /// The keys that it gets.
    added: Vec<&'static str>,
}

impl<'a> Section<'a> {
    fn of(text: &str, item: &'a Item<'a>) -> Option<Self> {
        let table = item.get_ref().as_table()?;
        let values = table.values().map(|item| item.span().end);
        let header = text[..item.span().start].rfind('\n');
        Some(Self {
            table,
            above: 0,
            header: header.map_or(0, |feed| feed + 1),
            end: line_end(text, values.fold(item.span().end, usize::max)),
            added: Vec::new(),
        })
    }

    /// Whether it has a key, or gets it.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key) || self.added.contains(&key)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Item<'a>> {
        self.table.get(key)
    }

    /// Returns the place of the table, with the comment right above it.
    pub(super) fn own(&self, text: &str) -> Range<usize> {
        let above = &text[self.above..self.header];
        let mut start = self.header;
        for line in above.split_inclusive('\n').rev() {
            if !line.trim_start().starts_with('#') {
                break;
            }
            start -= line.len();
        }
        // Without a comment farther above, its empty lines are its own.
        let apart = text[self.above..start].trim_end();
        match apart.is_empty() {
            true => self.above..self.end,
            false => line_end(text, self.above + apart.len())..self.end,
        }
    }

    /// Returns every comment of the table, and that right above it, each on a line of its own.
    pub(super) fn comments(&self, text: &str) -> String {
        let mut strings: Vec<Range<usize>> = Vec::new();
        for (_, item) in toml_file::entries(self.table) {
            match item.get_ref() {
                DeValue::Array(frames) => strings.extend(frames.iter().map(Item::span)),
                _ => strings.push(item.span()),
            }
        }
        // A string may contain a line that looks like a comment.
        let own = self.own(text);
        let mut at = own.start;
        let mut outside = String::new();
        for string in strings {
            outside += &text[at..string.start];
            at = string.end;
        }
        outside += &text[at..own.end];
        let comments = outside
            .lines()
            .filter_map(|line| Some(&line[line.find('#')?..]));
        comments.flat_map(|comment| [comment, "\n"]).collect()
    }
}

/// The tables of a file.
pub(super) struct Sections<'a> {
    /// Where the line after the last key that is in no table begins.
    pub(super) root: usize,
    pub(super) measured: Option<Section<'a>>,
    pub(super) allowances: Vec<Section<'a>>,
}

impl<'a> Sections<'a> {
    pub(super) fn of(text: &str, document: &'a DeTable<'a>) -> Self {
        let format = document.get("format");
        let root = format.map_or(0, |item| line_end(text, item.span().end));
        let allowances = document.get("allow").map(Item::get_ref);
        let allowances = allowances.and_then(DeValue::as_array).into_iter().flatten();
        let measured = document.get("measured");
        let mut all = Self {
            root,
            measured: measured.and_then(|item| Section::of(text, item)),
            allowances: allowances
                .filter_map(|item| Section::of(text, item))
                .collect(),
        };
        let mut above = root;
        let mut sections: Vec<&mut Section> =
            all.allowances.iter_mut().chain(&mut all.measured).collect();
        sections.sort_by_key(|section| section.header);
        for section in sections {
            section.above = above;
            above = section.end;
        }
        all
    }

    /// Where the line after the last value begins.
    pub(super) fn end(&self) -> usize {
        let sections = self.allowances.iter().chain(&self.measured);
        sections.fold(self.root, |end, section| end.max(section.end))
    }
}

/// The value of a key.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Number(f64),
    Count(i64),
    Day(Date),
}

impl Value<'_> {
    /// Returns whether a value of the file means the same, however it is written.
    fn is(self, written: &DeValue) -> bool {
        match self {
            Value::Text(text) => written.as_str() == Some(text),
            Value::Count(count) => integer(written) == Some(count),
            Value::Number(number) => {
                let whole = integer(written).and_then(|whole| u64::try_from(whole).ok());
                let written = toml_file::float(written).or(whole.map(to_f64));
                written.is_some_and(|written| written.total_cmp(&number).is_eq())
            }
            Value::Day(day) => {
                let date = written.as_datetime().map(ToString::to_string);
                date.is_some_and(|date| date == day.to_string())
            }
        }
    }

    pub(super) fn written(self) -> String {
        match self {
            Value::Text(text) => toml_string(text),
            Value::Number(number) => format!("{number:?}"),
            Value::Count(count) => count.to_string(),
            Value::Day(day) => day.to_string(),
        }
    }
}

/// Returns a text as a TOML string: as it is read most easily, between quotes that it does not
/// contain, and over several lines if it has several.
pub(super) fn toml_string(text: &str) -> String {
    let has = |wanted: &[char]| text.contains(wanted);
    let is_hidden = |char: char| char.is_control() && char != '\n';
    match text.contains(is_hidden) || has(&['\\']) && has(&['\'', '\n']) {
        false if has(&['\n']) && !text.contains("\"\"\"") => format!("\"\"\"\n{text}\"\"\""),
        false if has(&['"', '\\']) && !has(&['\'', '\n']) => format!("'{text}'"),
        // What JSON escapes is escaped in the same way in TOML, which escapes one more.
        _ => serde_json::Value::from(text)
            .to_string()
            .replace('\u{7f}', "\\u007f"),
    }
}

/// Returns where the line after a place begins.
fn line_end(text: &str, place: usize) -> usize {
    let feed = text[place..].find('\n');
    feed.map_or(text.len(), |feed| place + feed + 1)
}
