//! Finds the source line of each address.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::DebugLineOffset;

use super::budget::{Budget, STEP};
use super::{DwarfError, Reader};

/// The most bytes of a line program's header, which lists directories and files. A unit with a
/// hundred thousand files has less.
const MAX_HEADER: usize = 8 << 20;

/// The most bytes of a path. The kernel takes 4096.
const MAX_PATH: usize = 1 << 14;

/// The source of an instruction. The file is a number in the line program.
#[derive(Clone, Copy, Debug)]
struct Row {
    file: u64,
    line: u32,
}

/// The lines of some addresses. The rows of the line program are read one by one, and not kept.
pub(super) struct Lines<'u, 'a> {
    dwarf: &'u gimli::Dwarf<Reader<'a>>,
    unit: &'u gimli::Unit<Reader<'a>>,
    budget: &'u Budget,
    header: Option<gimli::LineProgramHeader<Reader<'a>>>,
    at: Vec<Option<Row>>,
    files: HashMap<u64, Option<Rc<str>>>,
}

impl<'u, 'a> Lines<'u, 'a> {
    /// Finds the lines of these addresses, which must be sorted.
    pub(super) fn find(
        dwarf: &'u gimli::Dwarf<Reader<'a>>,
        unit: &'u gimli::Unit<Reader<'a>>,
        program: Option<DebugLineOffset>,
        svmas: &[u64],
        budget: &'u Budget,
    ) -> Result<Self, DwarfError> {
        let mut lines = Self {
            dwarf,
            unit,
            budget,
            header: None,
            at: vec![None; svmas.len()],
            files: HashMap::new(),
        };
        let Some(offset) = program else {
            return Ok(lines);
        };
        let program = open(dwarf, unit, offset, budget)?;
        // If several sequences contain an address, the one that begins nearest counts:
        // discarded ones seem to lie at 0.
        let mut starts: Vec<u64> = vec![0; svmas.len()];
        let mut sequence = Sequence::default();
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            let address = row.address();
            if let Some((from, found)) = sequence.last {
                // Skip addresses before the last row.
                while let Some(svma) = svmas.get(sequence.next)
                    && *svma < from
                {
                    sequence.next += 1;
                }
                while let Some(svma) = svmas.get(sequence.next)
                    && *svma < address
                {
                    budget.spend(STEP)?;
                    sequence.found.push((sequence.next, found));
                    sequence.next += 1;
                }
            }
            if row.end_sequence() {
                // Only the end shows that the rows were a sequence.
                for (index, found) in sequence.found.drain(..) {
                    if lines.at[index].is_none() || starts[index] < sequence.start {
                        lines.at[index] = Some(found);
                        starts[index] = sequence.start;
                    }
                }
                sequence.last = None;
                continue;
            }
            if sequence.last.is_none() {
                sequence.start = address;
                sequence.next = svmas.partition_point(|svma| *svma < address);
            }
            let line = row.line().map_or(0, |line| line.get());
            let found = Row {
                file: row.file_index(),
                line: u32::try_from(line).unwrap_or(0),
            };
            sequence.last = Some((address, found));
        }
        lines.header = Some(rows.header().clone());
        Ok(lines)
    }

    /// Returns the file and line of an address, if there is a row for it.
    pub(super) fn location(&mut self, index: usize) -> Option<(Option<Rc<str>>, Option<u32>)> {
        let row = self.at[index]?;
        Some((self.file(row.file), (row.line != 0).then_some(row.line)))
    }

    pub(super) fn file(&mut self, index: u64) -> Option<Rc<str>> {
        if let Some(file) = self.files.get(&index) {
            return file.clone();
        }
        let file = self.render(index).map(Rc::from);
        self.files.insert(index, file.clone());
        file
    }

    /// Returns the path of a file as it was at compile time.
    fn render(&self, index: u64) -> Option<String> {
        let header = self.header.as_ref()?;
        let Some(file) = header.file(index) else {
            // Before DWARF 5 there may be no file 0, so the file is unknown.
            return (index == 0).then(String::new);
        };
        let owned = |text: Reader<'a>| {
            self.budget.spend(text.len()).ok()?;
            let short = text.len() <= MAX_PATH;
            short.then(|| String::from_utf8_lossy(text.slice()).into_owned())
        };
        let text = |value| owned(self.dwarf.attr_string(self.unit, value).ok()?);
        let mut path = match self.unit.comp_dir {
            Some(directory) => owned(directory)?,
            None => String::new(),
        };
        // Directory 0 is the one in which the unit was compiled.
        if file.directory_index() != 0
            && let Some(directory) = file.directory(header)
        {
            join(&mut path, &text(directory)?);
        }
        join(&mut path, &text(file.path_name())?);
        Some(path)
    }
}

/// The rows of one continuous piece of code.
#[derive(Debug, Default)]
struct Sequence {
    start: u64,
    /// The last row and its address.
    last: Option<(u64, Row)>,
    /// The index of the first address without a row.
    next: usize,
    found: Vec<(usize, Row)>,
}

fn open<'a>(
    dwarf: &gimli::Dwarf<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    offset: DebugLineOffset,
    budget: &Budget,
) -> Result<gimli::IncompleteLineProgram<Reader<'a>>, DwarfError> {
    use gimli::Reader as _;
    let mut reader = *gimli::Section::reader(&dwarf.debug_line);
    reader.skip(offset.0)?;
    let (length, format) = reader.read_initial_length()?;
    // Every byte of the program may be a row.
    budget.spend(length.saturating_mul(STEP))?;
    let version = reader.read_u16()?;
    if version >= 5 {
        reader.skip(2)?;
    }
    let header = reader.read_length(format)?;
    if header > MAX_HEADER {
        return Err(DwarfError::TooMuch);
    }
    // A file in the list takes a few bytes here, and about a hundred in memory.
    budget.spend(header.saturating_mul(16))?;
    let address_size = unit.header.address_size();
    let lines = &dwarf.debug_line;
    Ok(lines.program(offset, address_size, unit.comp_dir, unit.name)?)
}

/// Returns the ranges of code that a line program describes.
pub(super) fn sequences<'a>(
    dwarf: &gimli::Dwarf<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    offset: DebugLineOffset,
    budget: &Budget,
) -> Result<Vec<(u64, u64)>, DwarfError> {
    let mut rows = open(dwarf, unit, offset, budget)?.rows();
    let mut found = Vec::new();
    let mut start = None;
    while let Some((_, row)) = rows.next_row()? {
        let begin = *start.get_or_insert(row.address());
        if row.end_sequence() {
            start = None;
            if begin < row.address() {
                found.push((begin, row.address()));
            }
        }
    }
    Ok(found)
}

fn join(path: &mut String, next: &str) {
    let is_windows = |path: &str| path.starts_with('\\') || path.get(1..3) == Some(":\\");
    let is_absolute = next.starts_with('/') || next.get(1..3) == Some(":/") || is_windows(next);
    if is_absolute {
        path.clear();
    }
    let separator = if is_windows(path) { '\\' } else { '/' };
    if !path.is_empty() && !path.ends_with(separator) {
        path.push(separator);
    }
    path.push_str(next);
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn paths_are_joined() {
        for (path, next, joined) in [
            ("", "src/lib.rs", "src/lib.rs"),
            ("/a", "src/lib.rs", "/a/src/lib.rs"),
            ("/a/", "src/lib.rs", "/a/src/lib.rs"),
            ("/a", "/b", "/b"),
            ("/a", "C:\\b", "C:\\b"),
            ("C:\\a", "b", "C:\\a\\b"),
            ("/a", "", "/a/"),
        ] {
            let mut found = path.to_owned();
            join(&mut found, next);
            assert_eq!(found, joined, "{path} {next}");
        }
    }
}
