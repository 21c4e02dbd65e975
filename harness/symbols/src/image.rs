use std::fmt;
use std::path::Path;

use object::{Object, ObjectSegment};

use crate::BuildId;
use crate::bytes::{Bytes, ReadError};
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
        let mut segments: Vec<Segment> = object
            .segments()
            .map(|segment| {
                let (offset, size) = segment.file_range();
                let executable = segment.permissions().executable();
                Segment {
                    offset,
                    size,
                    svma: segment.address(),
                    executable,
                }
            })
            .collect();
        // The last page of one segment and the first page of the next may be one page of the
        // file. If both contain a byte, the executable segment counts.
        segments.sort_by_key(|segment| !segment.executable);
        Ok(Self { object, segments })
    }

    /// Returns the SVMA of the byte at an offset in the file.
    pub(crate) fn svma(&self, file_offset: u64) -> Option<u64> {
        let segment = self.segments.iter().find(|segment| {
            file_offset
                .checked_sub(segment.offset)
                .is_some_and(|at| at < segment.size)
        })?;
        segment.svma.checked_add(file_offset - segment.offset)
    }

    /// Returns the distance of an SVMA from the start of the image.
    pub(crate) fn relative(&self, svma: u64) -> u64 {
        let first = self
            .segments
            .iter()
            .map(|segment| segment.svma)
            .min()
            .unwrap_or(0);
        svma.wrapping_sub(first & !(PAGE - 1))
    }

    pub(crate) fn build_id(&self) -> Option<BuildId> {
        // An unreadable note counts as none.
        BuildId::from_bytes(self.object.build_id().ok()??)
    }

    /// Returns the functions from the symbol tables of the file and from that of `more`.
    pub(crate) fn symbols(&self, more: Option<&object::File<'data>>) -> SymbolIndex<'data> {
        let code = self.segments.iter().filter(|segment| segment.executable);
        let code = code.map(|segment| segment.svma..segment.svma.saturating_add(segment.size));
        SymbolIndex::new(&self.object, more, &code.collect::<Vec<_>>())
    }
}

impl fmt::Debug for Image<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("segments", &self.segments)
            .finish_non_exhaustive()
    }
}

/// Returns the build ID of an ELF file, or `Ok(None)` if the file has none.
///
/// # Errors
///
/// If the file cannot be read, or is not an ELF file.
pub fn build_id(path: &Path) -> Result<Option<BuildId>, ReadError> {
    let bytes = Bytes::open(path)?;
    Ok(Image::parse(&bytes)?.build_id())
}
