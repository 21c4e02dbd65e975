use object::{Object, ObjectSegment};

use crate::BuildId;
use crate::bytes::ReadError;
use crate::symbol_index::SymbolIndex;

/// The smallest size of a page. The first segment's address is rounded down to it.
const PAGE: u64 = 4096;

/// An ELF file, with its headers parsed.
pub(crate) struct Image<'data> {
    pub(crate) object: object::File<'data>,
    segments: Vec<Segment>,
}

/// A `PT_LOAD` program header.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    size: u64,
    svma: u64,
    executable: bool,
}

impl<'data> Image<'data> {
    pub(crate) fn parse(bytes: &'data [u8]) -> Result<Self, ReadError> {
        let object = object::File::parse(bytes).map_err(|err| ReadError::Elf(err.to_string()))?;
        let segments = object.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            Segment {
                offset,
                size,
                svma: segment.address(),
                executable: segment.permissions().executable(),
            }
        });
        let mut segments: Vec<Segment> = segments.collect();
        // The last page of one segment and the first page of the next may be one page of the
        // file. If both contain a byte, the executable segment counts.
        segments.sort_by_key(|segment| !segment.executable);
        Ok(Self { object, segments })
    }

    /// Returns the SVMA of the byte at an offset in the file.
    pub(crate) fn svma(&self, file_offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let at = file_offset.checked_sub(segment.offset)?;
            (at < segment.size).then(|| segment.svma.checked_add(at))
        })?
    }

    /// Returns the distance of an SVMA from the start of the image.
    pub(crate) fn relative(&self, svma: u64) -> u64 {
        let first = self.segments.iter().map(|segment| segment.svma).min();
        svma.wrapping_sub(first.unwrap_or(0) & !(PAGE - 1))
    }

    pub(crate) fn build_id(&self) -> Option<BuildId> {
        // An unreadable note counts as none.
        BuildId::from_bytes(self.object.build_id().ok()??)
    }

    /// Returns the functions that contain one of these addresses, which are sorted, from the symbol
    /// tables of the file and from that of `more`.
    pub(crate) fn symbols(
        &self,
        more: Option<&object::File<'data>>,
        svmas: &[u64],
    ) -> SymbolIndex<'data> {
        let code = self.segments.iter().filter(|segment| segment.executable);
        let code = code.map(|segment| segment.svma..segment.svma.saturating_add(segment.size));
        SymbolIndex::new(&self.object, more, &code.collect::<Vec<_>>(), svmas)
    }
}
