//! Reads files that people write beside their sources: settings and baselines.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads at most `most` + 1 bytes of a file, and follows links. The byte too many makes the
/// parser refuse the file.
pub fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    // Opening a named pipe would wait for a writer.
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() {
        let found = match kind.is_dir() {
            true => "a folder",
            false => "a pipe, a socket or a device",
        };
        return Err(io::Error::other(format!("expected a file, found {found}")));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(most as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns `None` of something that does not exist.
pub fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}
