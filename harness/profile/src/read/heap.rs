//! Reads jemalloc's text format.

use std::io::BufRead;

use plimsoll_core::dump::{DumpReader, Maps};
use plimsoll_core::{Avma, Counts};

use super::symbols::Symbols;
use super::{MAX_LINE, ReadError};
use crate::profile::{LocationId, MappedObject, Measure, Profile, ProfileBuilder};

/// How many bytes are read at once.
const PIECE: usize = 256 << 10;

pub(super) fn read(
    input: &mut dyn BufRead,
    symbols: Option<&Symbols>,
) -> Result<Profile, ReadError> {
    let mut builder = ProfileBuilder::new(&Measure::ALL[2..]);
    let mut locations: Vec<LocationId> = Vec::new();
    let mut has_alloc = false;
    let mut too_many = None;
    let mut record = |stack: &[Avma], counts: Counts| {
        locations.clear();
        for address in stack {
            match builder.address(*address) {
                Ok(location) => locations.push(location),
                Err(why) => too_many = Some(why),
            }
        }
        has_alloc |= counts.alloc.objects > 0;
        builder.stack(locations.iter().copied(), counts);
    };

    let before = symbols.map_or(0, |symbols| symbols.lines);
    let mut reader = DumpReader::after(before);
    let mut piece = Vec::with_capacity(PIECE + MAX_LINE);
    loop {
        let start = piece.len();
        piece.resize(start + PIECE, 0);
        let read = input.read(&mut piece[start..])?;
        piece.truncate(start + read);
        let rest = reader.lines(&piece, &mut record)?.len();
        piece.drain(..piece.len() - rest);
        if read == 0 {
            break;
        }
        if piece.len() > MAX_LINE {
            return Err(ReadError::Line(reader.lines_read() + 1));
        }
    }
    reader.end(&piece, &mut record)?;
    if let Some(why) = too_many {
        return Err(why.into());
    }
    let end = reader.finish(builder.profile.stacks().map(|(_, counts)| counts))?;

    let mut profile = builder.profile;
    profile.scaled_by = Some(end.sample_interval);
    profile.sample_interval = profile.scaled_by;
    if has_alloc {
        profile.measures = Measure::ALL.to_vec();
    }
    match end.maps {
        Some(maps) => mappings(maps, &mut profile),
        None => {
            let note = "the dump has no mappings: its addresses have no names";
            profile.notes.push(note.to_owned());
        }
    }
    if let Some(symbols) = symbols {
        profile.name(|address| symbols.of(address))?;
    }
    Ok(profile)
}

/// Adds the mappings to the profile. A hostile dump may have a million mappings, so they are
/// moved out of `maps` and never held twice.
fn mappings(maps: Maps, profile: &mut Profile) {
    for mapping in maps.mappings {
        let path = mapping.file().unwrap_or(&mapping.path);
        profile.mappings.push(MappedObject {
            start: mapping.start,
            end: mapping.end,
            file_offset: mapping.offset,
            // A line feed is the one character that the kernel escapes in a path.
            path: path.replace("\\012", "\n"),
            deleted: mapping.is_deleted(),
            build_id: None,
            executable: mapping.permissions.execute,
            inode: (mapping.inode != 0).then_some(mapping.inode),
        });
    }
    let mut unreadable = 0;
    for line in &maps.unreadable {
        match of_macos(line) {
            Some(mapping) => profile.mappings.push(mapping),
            None => unreadable += 1,
        }
    }
    if unreadable > 0 {
        let note = format!("{unreadable} of the dump's mappings cannot be read");
        profile.notes.push(note);
    }
}

/// Parses a mapping as jemalloc on macOS writes it:
/// `100000000-100004000: /usr/lib/libSystem.B.dylib`.
fn of_macos(line: &str) -> Option<MappedObject> {
    let (range, path) = line.trim_start().split_once(": ")?;
    let (start, end) = range.split_once('-')?;
    let number = |digits: &str| {
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        u64::from_str_radix(digits, 16).ok()
    };
    let (start, end) = (number(start)?, number(end)?);
    (start < end).then(|| MappedObject {
        start,
        end,
        path: path.trim().to_owned(),
        executable: true,
        ..MappedObject::default()
    })
}
