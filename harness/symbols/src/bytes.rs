//! Files as bytes.
//!
//! Mapped, not read: of a 112 MB executable with full debug information, a few
//! addresses touch a fraction. Reading it whole took 55 ms and 112 MB of
//! memory for every scenario that is symbolised; mapping it takes nothing.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Why a file cannot be used for names.
#[derive(Debug)]
pub enum ReadError {
    /// It cannot be opened or mapped.
    Io(io::Error),
    /// It is a directory, a device, a pipe, or empty.
    NotAFile,
    /// It is not an ELF file that can be understood; the text says why.
    Elf(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The cause is in the text, so it is not `source()` as well.
            ReadError::Io(err) => write!(f, "cannot be read: {err}"),
            ReadError::NotAFile => f.write_str("is not a regular file with contents"),
            ReadError::Elf(reason) => write!(f, "is not a readable ELF file: {reason}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Bytes {
    map: memmap2::Mmap,
    /// Of the file that was opened, whatever its path is by now.
    pub(crate) inode: u64,
}

impl Bytes {
    /// Maps a regular file.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        // Before opening: to open a pipe would wait for its writer, and to open
        // a device may do anything.
        if !path.metadata().map_err(ReadError::Io)?.is_file() {
            return Err(ReadError::NotAFile);
        }
        let file = File::open(path).map_err(ReadError::Io)?;
        let metadata = file.metadata().map_err(ReadError::Io)?;
        if !metadata.is_file() || metadata.len() == 0 {
            return Err(ReadError::NotAFile);
        }
        let map = Self::map(&file).map_err(ReadError::Io)?;
        let inode = metadata.ino();
        Ok(Self { map, inode })
    }

    #[expect(
        unsafe_code,
        reason = "a file can only be mapped by promising that it stays"
    )]
    fn map(file: &File) -> io::Result<memmap2::Mmap> {
        // SAFETY: `memmap2::Mmap::map` asks that the file is not changed while
        // it is mapped. The mapping is private and read-only, so nothing here
        // changes it. Programs and libraries that ran a moment ago are replaced
        // by renaming, by linkers (which unlink first) and by package managers
        // alike, which leaves the mapped file as it is; the kernel itself
        // refuses to write to an executable that runs (ETXTBSY). Someone who
        // truncates a library in place kills every process that uses it, this
        // one included, with SIGBUS. The bytes are only ever read as `u8`
        // through parsers that treat them as hostile.
        unsafe { memmap2::Mmap::map(file) }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}
