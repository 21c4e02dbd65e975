//! Reads folded stacks, as the stack collapsers of flame graph tools write them.

use std::io::BufRead;

use plimsoll_core::dump::MAX_FRAMES;
use plimsoll_core::{Counts, SourceFrame, Tally};

use super::{Limits, MAX_LINE, ReadError, next_line, quoted};
use crate::Profile;
use crate::profile::{Measure, ProfileBuilder};

const EXPECTED: &str = "a stack and a number, such as `main;parse;push 4096`";

/// Reads one stack a line, such as `root;caller;leaf 123`. The numbers are live bytes. Empty
/// lines, and lines that begin with `#`, are skipped, but something else has to come among them.
pub(super) fn read(input: &mut dyn BufRead, limits: Limits) -> Result<Profile, ReadError> {
    let mut builder = ProfileBuilder::new(&[Measure::InuseSpace]);
    let mut line = Vec::new();
    let mut number = 0;
    let mut locations = Vec::new();
    let mut skipped = 0;
    while next_line(input, &mut line, &mut number)? {
        let text = String::from_utf8_lossy(&line);
        // Some editors write a byte order mark.
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            skipped += line.len() + 1;
            if skipped > MAX_LINE && builder.profile.is_empty() {
                let found = "only empty lines and comments so far".to_owned();
                return Err(ReadError::text(number, EXPECTED, found));
            }
            continue;
        }
        let otherwise = || ReadError::text(number, EXPECTED, quoted(text.as_bytes()));
        let (stack, bytes) = text.rsplit_once([' ', '\t']).ok_or_else(otherwise)?;
        let bytes = whole(bytes).ok_or_else(otherwise)?;
        locations.clear();
        for name in stack.trim_end().rsplit(';') {
            if locations.len() == MAX_FRAMES {
                let expected = "at most 65536 frames in a stack";
                return Err(ReadError::text(number, expected, "more".to_owned()));
            }
            let frame = SourceFrame::named(name.trim().to_owned());
            locations.push(builder.frames(vec![frame])?);
        }
        let inuse = Tally { objects: 0, bytes };
        let alloc = Tally::default();
        builder.stack(locations.iter().copied(), Counts { inuse, alloc });
        limits.check(builder.memory())?;
    }
    Ok(builder.profile)
}

/// Tells whether a line is a stack and a number.
///
/// The line must begin with a valid UTF-8 character, which a protobuf field that is unknown to
/// us does not. The rest of the name may have invalid bytes.
pub(super) fn is_line(line: &[u8]) -> bool {
    let begins = line.utf8_chunks().next();
    if begins.is_none_or(|chunk| chunk.valid().is_empty()) {
        return false;
    }
    let text = String::from_utf8_lossy(line);
    let parts = text.trim().rsplit_once([' ', '\t']);
    parts.is_some_and(|(stack, bytes)| !stack.trim().is_empty() && whole(bytes).is_some())
}

/// Parses a number of bytes. A fraction, which some writers add, is dropped.
fn whole(digits: &str) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (is_number(whole) && is_number(fraction)).then(|| whole.parse().ok())?
}
