//! Reads jemalloc's text format.

use std::io::BufRead;

use plimsoll_core::dump::{DumpReader, Mapping, Parts};
use plimsoll_core::{Avma, Counts};

use super::symbols::Symbols;
use super::{Limits, MAX_LINE, ReadError};
use crate::profile::{
    LocationId, MappedObject, Measure, Profile, ProfileBuilder, TooManyLocations,
};

/// How many bytes are read at once.
const PIECE: usize = 256 << 10;

pub(super) fn read(
    input: &mut dyn BufRead,
    symbols: Option<&Symbols>,
    limits: Limits,
) -> Result<Profile, ReadError> {
    let mut dump = Dump {
        builder: ProfileBuilder::new(&Measure::ALL[2..]),
        stack: Vec::new(),
        has_alloc: false,
        unreadable: 0,
        too_many: None,
    };
    let before = symbols.map_or(0, |symbols| symbols.lines);
    let names = symbols.map_or(0, |symbols| symbols.memory);
    let mut reader = DumpReader::after(before);
    let mut piece = Vec::with_capacity(PIECE + MAX_LINE);
    loop {
        let start = piece.len();
        piece.resize(start + PIECE, 0);
        let read = input.read(&mut piece[start..])?;
        piece.truncate(start + read);
        let rest = reader.lines(&piece, &mut dump)?.len();
        piece.drain(..piece.len() - rest);
        if read == 0 {
            break;
        }
        if piece.len() > MAX_LINE {
            return Err(ReadError::Line(reader.lines_read() + 1));
        }
        if let Some(why) = dump.too_many {
            return Err(why.into());
        }
        limits.check(names + dump.builder.memory())?;
    }
    let end = reader.end(&piece, &mut dump)?;

    let mut profile = dump.builder.profile;
    profile.scaled_by = Some(end.sample_interval);
    profile.sample_interval = profile.scaled_by;
    if dump.has_alloc {
        profile.measures = Measure::ALL.to_vec();
    }
    if !end.has_maps {
        let note = "the dump has no mappings: its addresses have no names";
        profile.notes.push(note.to_owned());
    }
    if dump.unreadable > 0 {
        let note = format!("{} of the dump's mappings cannot be read", dump.unreadable);
        profile.notes.push(note);
    }
    if let Some(symbols) = symbols {
        profile.name(|address| symbols.of(address))?;
    }
    Ok(profile)
}

/// What was read of a dump.
struct Dump {
    builder: ProfileBuilder,
    /// The locations of the last stack.
    stack: Vec<LocationId>,
    has_alloc: bool,
    /// The number of mappings that cannot be read.
    unreadable: usize,
    too_many: Option<TooManyLocations>,
}

impl Parts for Dump {
    fn stack(&mut self, stack: &[Avma], counts: Counts) {
        self.stack.clear();
        for address in stack {
            match self.builder.address(*address) {
                Ok(location) => self.stack.push(location),
                Err(why) => self.too_many = Some(why),
            }
        }
        self.has_alloc |= counts.alloc.objects > 0;
        self.builder.stack(self.stack.iter().copied(), counts);
    }

    fn mapping(&mut self, mapping: Result<Mapping, &[u8]>) {
        let object = match mapping {
            Ok(mapping) => {
                let path = mapping.file().unwrap_or(&mapping.path);
                Some(MappedObject {
                    start: mapping.start,
                    end: mapping.end,
                    file_offset: mapping.offset,
                    // A line feed is the one character that the kernel escapes in a path.
                    path: path.replace("\\012", "\n"),
                    deleted: mapping.is_deleted(),
                    build_id: None,
                    executable: mapping.permissions.execute,
                    inode: (mapping.inode != 0).then_some(mapping.inode),
                })
            }
            Err(line) => of_macos(&String::from_utf8_lossy(line)),
        };
        match object {
            Some(object) => self.builder.mapping(object),
            None => self.unreadable += 1,
        }
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
