//! What the error messages about baselines and settings share: where something is in a file,
//! what is there, and which known key it resembles.

use toml_edit::{Item, Value};

use plimsoll_text::escape::{self, is_hidden};

/// Returns the line of an offset, counted from 1.
pub(crate) fn line_at(text: &[u8], offset: usize) -> usize {
    1 + text[..offset.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

/// Returns the parser's message about a file, without hidden characters and cut to length.
pub(crate) fn quoted_message(message: &str) -> String {
    // The limit is longer than for a quote of a file, because the parser lists what it
    // expected.
    message
        .chars()
        .filter(|char| !is_hidden(*char))
        .take(200)
        .collect()
}

/// Returns what was found where something else was expected.
pub(crate) fn found(item: &Item) -> String {
    match item.as_value() {
        Some(value) => found_value(value),
        None => format!("a {}", item.type_name()),
    }
}

/// The same for a value.
pub(crate) fn found_value(value: &Value) -> String {
    match value {
        // Without these words, the text would look like the number or boolean that was
        // expected.
        Value::String(text) if is_literal(text.value()) => {
            format!("the text `\"{}\"`", quoted(text.value()))
        }
        Value::String(text) => format!("`{}`", quoted(text.value())),
        Value::Integer(number) => format!("`{}`", number.value()),
        Value::Float(number) => format!("`{:?}`", number.value()),
        Value::Boolean(truth) => format!("`{}`", truth.value()),
        Value::Datetime(time) => format!("`{}`", time.value()),
        Value::Array(_) => "an array".to_owned(),
        Value::InlineTable(_) => "a table".to_owned(),
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
