//! Names closures of which only the file is known.
//!
//! With `debug = "line-tables-only"`, an inlined closure has no name. The function that contains
//! it is further up in the stack, because it passed the closure on:
//!
//! ```text
//! case::{{closure}}    src/lib.rs:8     case::iteration::{{closure}}
//! lua::with            lua/src/lib.rs
//! case::iteration      src/lib.rs:5     the call spans lines 5 to 9
//! ```

use crate::Frame;

pub(super) const CLOSURE: &str = "::{{closure}}";

/// Returns a frame. If it is a closure of which only the file is known, it gets the name of the
/// function that contains it, if that is on the stack.
pub(super) fn named(frames: &[Frame], place: usize) -> Frame {
    let frame = &frames[place];
    let function = containing(frame, &frames[place + 1..]);
    let function = function.map(|function| format!("{function}{CLOSURE}"));
    Frame {
        function: function.unwrap_or_else(|| frame.function.clone()),
        ..frame.clone()
    }
}

/// Returns whether a frame is a closure.
pub(super) fn is_one(frame: &Frame) -> bool {
    frame.function.ends_with(CLOSURE)
}

fn containing<'a>(closure: &Frame, callers: &'a [Frame]) -> Option<&'a str> {
    let module = closure.function.strip_suffix(CLOSURE)?;
    let is_in_module = |frame: &&Frame| {
        let path = frame.function.trim_start_matches('<');
        let name = path
            .strip_prefix(module)
            .and_then(|rest| rest.strip_prefix("::"));
        frame.file == closure.file && name.is_some_and(|name| !name.starts_with("{{"))
    };
    let candidates = || callers.iter().filter(is_in_module);
    // A call begins at or before the closure that is its argument. Another function of the file
    // may be between.
    let before = candidates().filter(|frame| frame.line <= closure.line);
    let nearest = before.rev().max_by_key(|frame| frame.line);
    let found = nearest.or_else(|| candidates().next())?;
    Some(&found.function)
}
