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

#[cfg(feature = "reports")]
mod error;
mod limits;
#[cfg(feature = "reports")]
mod read;

#[cfg(feature = "reports")]
pub use self::error::ReportError;
pub use self::limits::Limits;
#[cfg(feature = "reports")]
pub use self::read::{
    MAX_DEPTH, check_start, from_slice, parse, parse_within, required, to_line_within,
    to_string_within,
};
use super::Report;

/// The format that [`to_string`] writes.
pub const VERSION: u64 = 2;
/// The longest file that [`parse`] reads, in bytes.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

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

#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
fn write(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("plain data serialises")
}
