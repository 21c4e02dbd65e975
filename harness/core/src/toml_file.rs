//! What baselines and settings share: how their files are parsed, and what error messages say:
//! where something is in a file, what is there, and which known key it resembles.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::text::escape::{self, is_hidden};

/// A value, and its place in the file.
pub(crate) type Item<'a> = Spanned<DeValue<'a>>;

/// Why a text is not TOML.
pub(crate) struct NotToml {
    /// The line, counted from 1.
    pub(crate) line: Option<usize>,
    /// The parser's own words. Nothing else of them is of the file.
    pub(crate) message: String,
}

pub(crate) fn parse(text: &str) -> Result<DeTable<'_>, NotToml> {
    let parsed = DeTable::parse(text).map_err(|error| NotToml {
        line: error
            .span()
            .map(|span| line_at(text.as_bytes(), span.start)),
        message: quoted_message(error.message()),
    });
    parsed.map(Spanned::into_inner)
}

/// Returns the entries of a table in the order of the file.
pub(crate) fn entries<'a, 'text>(
    table: &'a DeTable<'text>,
) -> Vec<(&'a Spanned<Cow<'text, str>>, &'a Item<'text>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

pub(crate) fn integer(value: &DeValue) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

pub(crate) fn float(value: &DeValue) -> Option<f64> {
    value.as_float()?.as_str().parse().ok()
}

/// Returns the line of an offset, counted from 1.
pub(crate) fn line_at(text: &[u8], offset: usize) -> usize {
    1 + text[..offset.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

/// Returns the parser's message about a file, without hidden characters and cut to length.
fn quoted_message(message: &str) -> String {
    // The limit is longer than for a quote of a file, because the parser lists what it
    // expected.
    message
        .chars()
        .filter(|char| !is_hidden(*char))
        .take(200)
        .collect()
}

/// Returns what was found where something else was expected.
pub(crate) fn found(value: &DeValue) -> String {
    match value {
        // Without these words, the text would look like the number or boolean that was
        // expected.
        DeValue::String(text) if is_literal(text) => {
            format!("the text `\"{}\"`", quoted(text))
        }
        DeValue::String(text) => format!("`{}`", quoted(text)),
        DeValue::Integer(number) => match integer(value) {
            Some(number) => format!("`{number}`"),
            None => format!("`{}`", quoted(number.as_str())),
        },
        DeValue::Float(number) => match float(value) {
            Some(number) => format!("`{number:?}`"),
            None => format!("`{}`", quoted(number.as_str())),
        },
        DeValue::Boolean(truth) => format!("`{truth}`"),
        DeValue::Datetime(time) => format!("`{time}`"),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn is_literal(text: &str) -> bool {
    text.parse::<f64>().is_ok() || text.parse::<bool>().is_ok()
}

/// Quotes text of a file for a message: without control or invisible characters, and cut to
/// length.
pub(crate) fn quoted(text: &str) -> String {
    escape::quoted(text, 60)
}

/// Returns the known key that is the fewest edits away, if there are few enough for a typing
/// error.
pub(crate) fn nearest(
    found: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    const LONGEST: usize = 40;
    if found.len() > LONGEST {
        return None;
    }
    let closest = known
        .into_iter()
        .map(|key| (distance(found, key), key))
        .min()?;
    (closest.0 <= closest.1.len().div_ceil(3)).then_some(closest.1)
}

/// Returns the known word that was meant, if `found` differs only by a slip of the finger: one
/// edit, or two in longer words. A word that merely resembles a known one is nobody's mistake.
pub(crate) fn meant(
    found: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    let nearest = nearest(found, known)?;
    let slips = if nearest.len() < 6 { 1 } else { 2 };
    (distance(found, nearest) <= slips).then_some(nearest)
}

/// Returns the number of edits between two words: characters to insert, remove or replace, and
/// neighbours to swap (optimal string alignment).
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    let mut before = None;
    for (index, char) in one.chars().enumerate() {
        let mut next = vec![index + 1];
        for (column, other) in two.iter().enumerate() {
            let replaced = row[column] + usize::from(char != *other);
            let mut fewest = replaced.min(row[column + 1] + 1).min(next[column] + 1);
            if column > 0 && before == Some(*other) && two[column - 1] == char {
                fewest = fewest.min(above[column - 1] + 1);
            }
            next.push(fewest);
        }
        above = std::mem::replace(&mut row, next);
        before = Some(char);
    }
    row[two.len()]
}
