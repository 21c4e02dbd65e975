use std::fmt;
use std::path::Path;

use object::{Object, ObjectSegment};

use crate::BuildId;
use crate::bytes::{Bytes, ReadError};
use crate::symbol_index::SymbolIndex;

/// Pages are at least this large, and the first segment's address is rounded
/// down to one.
const PAGE: u64 = 4096;

/// An ELF file, parsed as far as its headers.
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
        // The last page of one segment and the first of the next may be one
        // page of the file; where both claim a byte, code is meant.
        segments.sort_by_key(|segment| !segment.executable);
        Ok(Self { object, segments })
    }

    /// What the file itself would call the byte at this place in it.
    pub(crate) fn svma(&self, file_offset: u64) -> Option<u64> {
        let segment = self.segments.iter().find(|segment| {
            file_offset
                .checked_sub(segment.offset)
                .is_some_and(|at| at < segment.size)
        })?;
        segment.svma.checked_add(file_offset - segment.offset)
    }

    /// How far an SVMA is from where the image starts.
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
        // A note that cannot be read is as good as none.
        BuildId::from_bytes(self.object.build_id().ok()??)
    }

    /// The functions by its symbol tables, and by that of `more`.
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

/// The build ID of an ELF file; `Ok(None)` where it was linked without one.
///
/// # Errors
///
/// Where the file cannot be read, or is no ELF file.
pub fn build_id(path: &Path) -> Result<Option<BuildId>, ReadError> {
    let bytes = Bytes::open(path)?;
    Ok(Image::parse(&bytes)?.build_id())
}
