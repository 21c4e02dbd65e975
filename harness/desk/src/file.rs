//! Reads what people write beside their sources: settings and baselines.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The bytes of a file, also behind a link: at most so many, and one more for the
/// parser to refuse.
pub fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for whoever writes to it.
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
