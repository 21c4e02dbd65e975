//! Writes the frames of an allowance's stack into a file.

use std::ops::Range;

use toml_edit::{Array, RawString, Value};

use super::{PatternFrame, StackPattern};
use crate::fold::normalize_frame;

/// What stands before a frame that has a line of its own. With such lines, a changed frame is
/// one line of a diff.
const OWN_LINE: &str = "\n    ";

/// Returns the frames as an array with one frame on each line.
pub(super) fn written(pattern: &StackPattern) -> Array {
    let mut array = Array::new();
    for frame in pattern.frames() {
        array.push_formatted(Value::from(frame.as_str()).decorated(OWN_LINE, ""));
    }
    if !array.is_empty() {
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    array
}

/// Changes a stack in a file into another one. Frames that both stacks have at either end are
/// not touched, and comments stay.
pub(super) fn rewrite(array: &mut Array, to: &StackPattern) {
    let to: Vec<&str> = to.frames().iter().map(PatternFrame::as_str).collect();
    let from: Vec<String> = array
        .iter()
        .map(|value| normalize_frame(value.as_str().unwrap_or_default()))
        .collect();
    let shorter = from.len().min(to.len());
    let same = |(one, two): &(&String, &&str)| one == *two;
    let root = from.iter().zip(&to).take_while(same).count();
    let leaf = from.iter().rev().zip(to.iter().rev());
    let leaf = leaf.take(shorter - root).take_while(same).count();
    let (old, new) = (root..from.len() - leaf, &to[root..to.len() - leaf]);

    for (index, name) in old.clone().zip(new) {
        if let Some(frame) = array.get_mut(index) {
            let decor = frame.decor().clone();
            *frame = Value::from(*name);
            *frame.decor_mut() = decor;
        }
    }
    match new.get(old.len()..) {
        Some(more) => insert(array, old.end, more),
        None => remove(array, old.start + new.len()..old.end),
    }
}

fn insert(array: &mut Array, at: usize, names: &[&str]) {
    let has_lines = array.iter().any(|frame| before(frame).contains('\n'));
    let plain = if has_lines { OWN_LINE } else { " " };
    for (index, name) in (at..).zip(names) {
        // A comment at the end of the line before is stored before the next frame. It must
        // stay on its line.
        let prefix = match array.get_mut(index) {
            Some(next) => {
                let prefix = before(next);
                next.decor_mut().set_prefix(plain);
                prefix
            }
            None if index == 0 => String::new(),
            None => plain.to_owned(),
        };
        array.insert_formatted(index, Value::from(*name).decorated(prefix, ""));
    }
}

fn remove(array: &mut Array, frames: Range<usize>) {
    let at = frames.start;
    let first = array.get(at).map_or(String::new(), before);
    let mut removed = String::new();
    for _ in frames {
        let frame = array.remove(at);
        removed += &before(&frame);
        removed += text(frame.decor().suffix());
    }
    let is_last = at >= array.len();
    let rest = match array.get(at) {
        Some(next) => before(next),
        None => text(Some(array.trailing())).to_owned(),
    };
    let all = format!("{removed}{rest}");
    let kept = match (all.contains('#'), at) {
        (true, _) => commented(&all, at, if is_last { "\n" } else { OWN_LINE }),
        // The frame that is first now gets the white space of the frame that was first.
        (false, 0) if !is_last => first,
        (false, _) => rest,
    };
    match array.get_mut(at) {
        Some(next) => next.decor_mut().set_prefix(kept),
        None => array.set_trailing(kept),
    }
}

/// Returns the comments between frames, each on a line of its own. Only the first one stays
/// beside the frame whose line it ends.
fn commented(between: &str, frames_before: usize, end: &str) -> String {
    let mut kept = String::new();
    for (line, comment) in between.split('\n').map(str::trim).enumerate() {
        if !comment.is_empty() {
            let is_beside = line == 0 && frames_before > 0;
            kept += if is_beside { " " } else { OWN_LINE };
            kept += comment;
        }
    }
    kept + end
}

fn before(frame: &Value) -> String {
    text(frame.decor().prefix()).to_owned()
}

pub(super) fn text(raw: Option<&RawString>) -> &str {
    raw.and_then(RawString::as_str).unwrap_or_default()
}
