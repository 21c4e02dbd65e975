//! The report in a zip file that a workflow run left.
//!
//! The author of the pull request controls everything in the archive. plimsoll reads one entry
//! by its exact name, up to a size limit, and never unpacks an entry to a path that the
//! archive names.

use std::io::{Cursor, Read};

use plimsoll_core::report::json::MAX_BYTES;
use zip::ZipArchive;

use crate::joined::NoResult;

/// The name of the only entry that is read.
const ENTRY: &str = "report.json";

/// Returns the report in an archive, or the bytes themselves if they are not an archive.
///
/// Reads at most one byte more than a report may have; the parser refuses a report with that
/// byte.
pub fn open(bytes: Vec<u8>) -> Result<Vec<u8>, NoResult> {
    if !bytes.starts_with(b"PK") {
        return Ok(bytes);
    }
    let archive = ZipArchive::new(Cursor::new(bytes));
    let mut archive = archive.map_err(|_| NoResult::NotAnArchive)?;
    // Only the exact name: `../report.json` is another entry.
    let entry = archive.by_name(ENTRY).map_err(|_| NoResult::Missing)?;
    if !entry.is_file() || entry.is_symlink() {
        return Err(NoResult::NotAFile);
    }
    let mut report = Vec::new();
    let read = entry.take(MAX_BYTES as u64 + 1).read_to_end(&mut report);
    read.map(|_| report).map_err(|_| NoResult::NotAnArchive)
}
