//! What the messages about baselines and settings have in common: where something
//! stands in a file, what stands there, and which known key it resembles.

use toml_edit::{Item, Value};

use plimsoll_text::escape::is_hidden;

/// The line of an offset, from 1.
pub(crate) fn line_at(text: &[u8], offset: usize) -> usize {
    1 + text[..offset.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

/// What the parser says of a file, in its own words.
pub(crate) fn quoted_message(message: &str) -> String {
    // Longer than what is quoted of a file: the parser lists what it expected.
    message
        .chars()
        .filter(|char| !is_hidden(*char))
        .take(200)
        .collect()
}

/// What stands where something else was expected.
pub(crate) fn found(item: &Item) -> String {
    match item.as_value() {
        Some(value) => found_value(value),
        None => format!("a {}", item.type_name()),
    }
}

/// The same of a value.
pub(crate) fn found_value(value: &Value) -> String {
    match value {
        // Or it reads as what was expected.
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

/// Something that a file holds, so that a message can: without control or
/// invisible characters, and of bearable length.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let shown: String = text
        .chars()
        .take(LONGEST)
        .flat_map(|char| {
            // What is printed on its own and in reading order stays readable.
            let escaped = if char.is_alphanumeric() || char == ' ' || char.is_ascii_punctuation() {
                None
            } else {
                Some(char.escape_default())
            };
            let plain = escaped.is_none().then_some(char);
            plain.into_iter().chain(escaped.into_iter().flatten())
        })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        format!("{shown}…")
    } else {
        shown
    }
}

/// The known key that is the fewest edits away, where that is few enough for a
/// slip of the hand.
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

/// The known word that one is but for a slip of the finger: what else there may be that
/// resembles it is nobody's mistake.
pub(crate) fn meant(
    found: &str,
    known: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    let nearest = nearest(found, known)?;
    let slips = if nearest.len() < 6 { 1 } else { 2 };
    (distance(found, nearest) <= slips).then_some(nearest)
}

/// Characters to insert, remove, replace, and neighbours to swap (optimal string
/// alignment).
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
