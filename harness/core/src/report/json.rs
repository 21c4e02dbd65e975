//! The file format of a report: `report.json`, format 2. Format 1 can still be read.
//!
//! The format is a promise, which `schema/report-v2.schema.json` defines. Every key is always
//! present, with `null` if there is no value. Only these keys are absent without a value:
//! `selected` in `run`, `builder`, `per`, `rarest`, `own`, `enough`, `mappings` and `memory` in
//! `rungs`, `outside` in `threshold`, `blame`, `lacks`, `clock`, `mappings` and `holders` in
//! `findings`, `cycle` in `holders`, `by` and `origin` in `blame`, and `error` in `growth`. Unknown keys are errors.
//! Integers are integers, rates are floats.
//!
//! A report may come with a pull request. So [`parse`] refuses what no run writes: too much,
//! too deep, too long. [`to_string`] keeps to the same limits by leaving out the smallest
//! growth first, and says so in the notes.

mod limits;
#[cfg(feature = "reports")]
mod read;

use std::fmt;

pub use self::limits::Limits;
#[cfg(feature = "reports")]
pub use self::read::{check_size, parse, parse_within, required, to_line_within};
use super::Report;

/// The format that [`to_string`] writes.
pub const VERSION: u64 = 2;
/// The longest file that [`parse`] reads, in bytes.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// How deep objects and arrays may be nested; format 2 needs five levels.
pub const MAX_DEPTH: usize = 32;

/// Writes a report with two spaces for each level and a newline at the end. The same report
/// always gives the same bytes.
///
/// Content beyond the limits of [`parse`] is cut. A rate that is not a number is written as
/// zero, an infinite rate as the largest number.
pub fn to_string(report: &Report) -> String {
    let mut limits = Limits::FORMAT;
    loop {
        let cut = limits.cut(report);
        // Each part may be within its own limit while all parts together are not. If the names
        // alone are too long, writing them out is of no use.
        let text = (limits::string_bytes(&cut) <= MAX_BYTES)
            .then(|| write(&cut) + "\n")
            .filter(|text| text.len() <= MAX_BYTES);
        match (text, limits.halved()) {
            (Some(text), _) => return text,
            (None, Some(tighter)) => limits = tighter,
            (None, None) => return write(&cut) + "\n",
        }
    }
}

/// The same as [`to_string`], but cut to tighter limits and not to [`MAX_BYTES`]. This is for
/// one of several reports that have to fit into one file.
pub fn to_string_within(report: &Report, limits: &Limits) -> String {
    write(&limits.cut(report)) + "\n"
}

#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
fn write(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("plain data serialises")
}

/// Why a report cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportError {
    /// The file has more bytes than a report may have.
    TooLong {
        /// The limit.
        limit: usize,
        /// The number of bytes in the file.
        found: usize,
    },
    /// Objects and arrays are nested too deep.
    TooDeep {
        /// The limit.
        limit: usize,
        /// The first line that is nested deeper, counted from 1.
        line: usize,
    },
    /// A newer plimsoll wrote the file.
    Newer {
        /// The newest format that this version reads.
        expected: u64,
        /// The format of the file.
        found: u64,
    },
    /// The file is not JSON, or not a report.
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column in bytes, counted from 1.
        column: usize,
        /// The parser's message: what was expected, and what was found.
        message: String,
    },
    /// Every key is present, but a value makes no sense.
    Value {
        /// The key.
        at: &'static str,
        /// The values that are possible.
        expected: String,
        /// The value that was found.
        found: String,
    },
    /// There is more of something than the limits allow.
    TooMany {
        /// The unit of the limit: `scenarios`, `frames`, `bytes in a string`.
        what: &'static str,
        /// The limit.
        limit: usize,
        /// The number that was found, or the first count past the limit.
        found: usize,
    },
    /// A rate is larger than any program can reach.
    OutOfRange,
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { limit, found } => {
                write!(f, "expected at most {limit} bytes, found {found}")
            }
            Self::TooDeep { limit, line } => {
                write!(f, "line {line}: nested more than {limit} levels deep")
            }
            Self::Newer { expected, found } => {
                let expected = format!("expected format {expected} or older, found {found}");
                write!(f, "written by a newer plimsoll: {expected}")
            }
            Self::Syntax {
                line,
                column,
                message,
            } => {
                write!(f, "line {line}, column {column}: {message}")
            }
            Self::Value {
                at,
                expected,
                found,
            } => {
                write!(f, "`{at}`: expected {expected}, found {found}")
            }
            Self::TooMany { what, limit, found } => {
                write!(f, "expected at most {limit} {what}, found {found}")
            }
            Self::OutOfRange => f.write_str("a rate is larger than any program can reach"),
        }
    }
}

impl std::error::Error for ReportError {}
