//! Writes the frames of an allowance's stack into a file.

use toml::de::DeArray;

use super::text::{Draft, Place, toml_string};
use super::{PatternFrame, StackPattern};
use crate::fold::normalize_frame;

/// What stands before a frame that has a line of its own. With such lines, a changed frame is
/// one line of a diff.
const OWN_LINE: &str = "\n    ";

/// Returns the frames as an array with one frame on each line.
pub(super) fn written(pattern: &StackPattern) -> String {
    let frames = pattern.frames().iter();
    let mut lines: String = frames
        .map(|frame| format!("{OWN_LINE}{},", toml_string(frame.as_str())))
        .collect();
    if !lines.is_empty() {
        lines.push('\n');
    }
    format!("[{lines}]")
}

/// Changes a stack in a file into another one. Frames that both stacks have at either end are
/// not touched, and comments stay. `start` is where the array starts in the text.
pub(super) fn rewrite(draft: &mut Draft, start: usize, array: &DeArray, to: &StackPattern) {
    let to: Vec<&str> = to.frames().iter().map(PatternFrame::as_str).collect();
    let from: Vec<String> = array
        .iter()
        .map(|frame| normalize_frame(frame.get_ref().as_str().unwrap_or_default()))
        .collect();
    let shorter = from.len().min(to.len());
    let same = |(one, two): &(&String, &&str)| one == *two;
    let root = from.iter().zip(&to).take_while(same).count();
    let leaf = from.iter().rev().zip(to.iter().rev());
    let leaf = leaf.take(shorter - root).take_while(same).count();
    let (old, new) = (root..from.len() - leaf, &to[root..to.len() - leaf]);

    for (frame, name) in array[old.clone()].iter().zip(new) {
        draft.replace(frame.span(), toml_string(name));
    }
    match new.get(old.len()..) {
        Some(more) => insert(draft, start, array, old.end, more),
        None => remove(draft, array, old.start + new.len()..old.end),
    }
}

fn insert(draft: &mut Draft, start: usize, array: &DeArray, at: usize, names: &[&str]) {
    let mut end = start;
    let mut has_lines = false;
    for frame in array {
        has_lines |= draft.text[end..frame.span().start].contains('\n');
        end = frame.span().end;
    }
    let between = if has_lines { OWN_LINE } else { " " };
    let names = names.iter().map(|name| toml_string(name));
    let (place, frames): (usize, String) = match (array.get(at), array.last()) {
        (Some(next), _) => (
            next.span().start,
            names.map(|name| format!("{name},{between}")).collect(),
        ),
        // A comment at the end of the last line stays on it.
        (None, Some(last)) => (
            last.span().end,
            names.map(|name| format!(",{between}{name}")).collect(),
        ),
        (None, None) => (start + 1, names.collect::<Vec<_>>().join(", ")),
    };
    draft.insert(place, Place::Within, frames);
}

fn remove(draft: &mut Draft, array: &DeArray, frames: std::ops::Range<usize>) {
    let text = draft.text;
    for frame in &array[frames.clone()] {
        let (start, end) = (frame.span().start, frame.span().end);
        let comma = comma_after(text, end);
        let rest = comma.map_or(end, |comma| comma + 1);
        let rest = rest + blanks(&text[rest..]);
        let line = text[..start].rfind('\n').map_or(0, |feed| feed + 1);
        let is_line = text[line..start].trim().is_empty() && text[rest..].starts_with('\n');
        match comma {
            // Between the two is a comment.
            Some(comma) if comma > end + blanks(&text[end..]) => {
                draft.replace(start..end, String::new());
                draft.replace(comma..comma + 1, String::new());
            }
            Some(_) if is_line => draft.replace(line..rest + 1, String::new()),
            Some(_) => draft.replace(start..rest, String::new()),
            None => draft.replace(start..end, String::new()),
        }
    }
    // What is last now needs no comma if what was last had none.
    let (before, removed) = array.split_at(frames.start);
    if let (Some(last), Some(first), Some(removed_last)) =
        (before.last(), removed.first(), removed.last())
        && frames.end == array.len()
        && comma_after(text, removed_last.span().end).is_none()
        && text[last.span().end..first.span().start].trim() == ","
    {
        draft.replace(last.span().end..first.span().start, String::new());
    }
}

/// Returns the number of spaces and tabs that a text starts with.
fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// Returns the place of the comma that follows a frame, after comments perhaps.
fn comma_after(text: &str, end: usize) -> Option<usize> {
    let mut place = end;
    loop {
        let rest = text[place..].trim_start();
        place = text.len() - rest.len();
        match rest.chars().next()? {
            '#' => place += rest.find('\n')?,
            ',' => return Some(place),
            _ => return None,
        }
    }
}
