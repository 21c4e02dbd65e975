//! Reads files as bytes.
//!
//! Files are mapped, not read, because a few addresses touch only a fraction of them. An
//! executable with full debug information had 112 MB. Reading it took 55 ms and 112 MB of
//! memory for every scenario that was symbolised; mapping it costs nothing.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// Why a file cannot be used for names.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The file cannot be opened or mapped.
    Io(io::Error),
    /// The path is a directory, a device or a pipe, or the file is empty.
    NotAFile,
    /// The file is not a valid ELF file; the text says why.
    Elf(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(err) => write!(f, "cannot be read: {err}"),
            ReadError::NotAFile => f.write_str("is not a regular file with contents"),
            ReadError::Elf(reason) => write!(f, "is not a readable ELF file: {reason}"),
        }
    }
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::ino(metadata))
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> Option<u64> {
    None
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Bytes {
    map: memmap2::Mmap,
    /// The inode of the file that was opened. The path may lead to another file by now. `None`
    /// on systems without inodes: there, no file is the one that was mapped.
    pub(crate) inode: Option<u64>,
}

impl Bytes {
    /// Maps a regular file.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        // This check comes before opening, because opening a pipe would wait for its writer,
        // and opening a device may do anything.
        if !path.metadata().map_err(ReadError::Io)?.is_file() {
            return Err(ReadError::NotAFile);
        }
        let file = File::open(path).map_err(ReadError::Io)?;
        let metadata = file.metadata().map_err(ReadError::Io)?;
        if !metadata.is_file() || metadata.len() == 0 {
            return Err(ReadError::NotAFile);
        }
        let map = Self::map(&file).map_err(ReadError::Io)?;
        Ok(Self {
            map,
            inode: inode(&metadata),
        })
    }

    #[expect(
        unsafe_code,
        reason = "a file can only be mapped by promising that it stays"
    )]
    fn map(file: &File) -> io::Result<memmap2::Mmap> {
        // SAFETY: `memmap2::Mmap::map` requires that the file does not change while it is
        // mapped. The mapping is private and read-only, so nothing here changes it. Linkers
        // (which unlink first) and package managers replace programs and libraries by renaming,
        // which does not change the mapped file. The kernel refuses to write to an executable
        // that runs (ETXTBSY). If somebody truncates a library in place, every process that
        // uses it is killed with SIGBUS, this one too. The bytes are only read as `u8`, by
        // parsers that treat them as hostile.
        unsafe { memmap2::Mmap::map(file) }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}
