//! Reads a report. The types of [`report`](super::super) are read as they are; this module has
//! what is checked besides. The schema in the tests, and a report that is kept beside it, detect a
//! changed field. Keys that format 1 does not have are absent when format 1 is read.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Limits, MAX_BYTES, ReportError, VERSION, write};
use crate::report::Report;
pub use crate::required::required;
use crate::text::escape;

/// How deep objects and arrays may be nested; format 2 needs five levels.
pub const MAX_DEPTH: usize = 32;

/// Which keys of a finding belong to which format.
const SINCE_2: &str =
    "`objects_law`, `bytes_law` and `survivors` in format 2, and none of them in format 1";

/// Reads a report.
///
/// # Errors
///
/// If the file is anything that [`to_string`](super::to_string) would not have written.
pub fn parse(bytes: &[u8]) -> Result<Report, ReportError> {
    parse_within(bytes, &Limits::FORMAT)
}

/// Refuses a file that is too long, is nested too deep for a recursive parser, or has another
/// version than 1 to `newest`. Of the rest it reads nothing: a newer format is recognised by its
/// version alone.
///
/// # Errors
///
/// If the file is one of these. `expected` has the versions in words.
pub fn check_start(bytes: &[u8], newest: u64, expected: &str) -> Result<(), ReportError> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    if bytes.len() > MAX_BYTES {
        return Err(ReportError::TooLong {
            limit: MAX_BYTES,
            found: bytes.len(),
        });
    }
    check_depth(bytes)?;
    let Head { version: found } = from_slice(bytes)?;
    match found {
        0 => Err(ReportError::value("version", expected, found)),
        _ if found > newest => Err(ReportError::Newer {
            expected: newest,
            found,
        }),
        _ => Ok(()),
    }
}

/// Reads a part of a report, or a file that has reports.
///
/// # Errors
///
/// If the bytes are something else.
pub fn from_slice<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ReportError> {
    serde_json::from_slice(bytes).map_err(|error| syntax(&error))
}

/// Reads a report under other limits than those of the format.
///
/// # Errors
///
/// If the file is anything that [`to_string_within`] would not have written.
pub fn parse_within(bytes: &[u8], limits: &Limits) -> Result<Report, ReportError> {
    check_start(bytes, VERSION, &format!("1 to {VERSION}"))?;
    let report = read(bytes)?;
    limits.check(&report)?;
    Ok(report)
}

/// The same as [`to_string`](super::to_string), but cut to tighter limits and not to [`MAX_BYTES`]. This is for
/// one of several reports that have to fit into one file.
pub fn to_string_within(report: &Report, limits: &Limits) -> String {
    write(&limits.cut(report)) + "\n"
}

/// The same as [`to_string_within`], but on one line, without white
/// space between tokens and without a newline at the end.
#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
pub fn to_line_within(report: &Report, limits: &Limits) -> String {
    serde_json::to_string(&limits.cut(report)).expect("plain data serialises")
}

fn read(bytes: &[u8]) -> Result<Report, ReportError> {
    let mut report: Report = from_slice(bytes)?;
    check_keys(bytes, report.version)?;
    if report.version == 1 {
        for finding in &mut report.findings {
            (finding.objects_law, finding.bytes_law) = (finding.law, finding.law);
        }
        report.version = VERSION;
    }
    report.visible = report.visible.map(|seen| seen.within(f64::MAX));
    Ok(report)
}

/// Checks that findings have exactly the keys of their format.
fn check_keys(bytes: &[u8], version: u64) -> Result<(), ReportError> {
    #[derive(Deserialize)]
    struct Findings {
        findings: Vec<Since2>,
    }
    #[derive(Deserialize)]
    struct Since2 {
        objects_law: Option<IgnoredAny>,
        bytes_law: Option<IgnoredAny>,
        survivors: Option<IgnoredAny>,
    }
    let Findings { findings } = from_slice(bytes)?;
    let has_keys = |finding: &Since2| {
        let keys = [&finding.objects_law, &finding.bytes_law, &finding.survivors];
        keys.iter().all(|key| key.is_some() == (version > 1))
    };
    match findings.iter().all(has_keys) {
        true => Ok(()),
        false => {
            let found = format!("others in format {version}");
            Err(ReportError::value("findings", SINCE_2, found))
        }
    }
}

fn syntax(error: &serde_json::Error) -> ReportError {
    let mut message = error.to_string();
    // serde_json writes the place at the end of its message; this error has it as numbers.
    if let Some(place) = message.rfind(" at line ") {
        message.truncate(place);
    }
    // The message quotes keys and words of the file, of any length.
    let message = escape::cut_middle(&escape::terminal(&message), 200);
    ReportError::Syntax {
        line: error.line(),
        column: error.column(),
        message,
    }
}

/// Refuses a file that is nested too deep, before a recursive parser reads it.
fn check_depth(bytes: &[u8]) -> Result<(), ReportError> {
    let mut depth = 0_usize;
    let mut line = 1;
    let mut in_string = false;
    let mut escaped = false;
    for byte in bytes {
        match byte {
            b'\n' => line += 1,
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(ReportError::TooDeep {
                        limit: MAX_DEPTH,
                        line,
                    });
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}
