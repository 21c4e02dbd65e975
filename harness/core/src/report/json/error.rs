//! What is wrong with a file that is no report: where, what was expected, and what was found.

use std::fmt;

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

impl ReportError {
    /// Returns the error for a value that makes no sense.
    pub fn value(at: &'static str, expected: &str, found: impl ToString) -> Self {
        Self::Value {
            at,
            expected: expected.to_owned(),
            found: found.to_string(),
        }
    }

    /// Refuses more of something than the limit allows.
    ///
    /// # Errors
    ///
    /// [`ReportError::TooMany`].
    pub fn at_most(what: &'static str, limit: usize, found: usize) -> Result<(), Self> {
        match found > limit {
            true => Err(Self::TooMany { what, limit, found }),
            false => Ok(()),
        }
    }
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
