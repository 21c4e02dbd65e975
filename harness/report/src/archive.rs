//! The report in a zip that a workflow run left.
//!
//! Everything in it is the pull request author's: it is read by its name from
//! the archive, up to a limit, and nothing is unpacked to where it says.

use std::io::{Cursor, Read};

use plimsoll_core::report::json::MAX_BYTES;
use zip::ZipArchive;

use crate::joined::NoResult;

/// The one file that is read.
const ENTRY: &str = "report.json";

/// The report in an archive, cut one byte after what a report may have; or the report itself, where it was not archived.
pub fn open(bytes: Vec<u8>) -> Result<Vec<u8>, NoResult> {
    if !bytes.starts_with(b"PK") {
        return Ok(bytes);
    }
    let Ok(mut archive) = ZipArchive::new(Cursor::new(bytes)) else {
        return Err(NoResult::NotAnArchive);
    };
    // By its exact name: `../report.json` is another.
    let Ok(entry) = archive.by_name(ENTRY) else {
        return Err(NoResult::Missing);
    };
    if !entry.is_file() || entry.is_symlink() {
        return Err(NoResult::NotAFile);
    }
    let mut report = Vec::new();
    match entry.take(MAX_BYTES as u64 + 1).read_to_end(&mut report) {
        Ok(_) => Ok(report),
        Err(_) => Err(NoResult::NotAnArchive),
    }
}
