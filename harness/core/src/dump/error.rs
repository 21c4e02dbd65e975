use std::borrow::Cow;
use std::fmt;

use crate::text::escape::quoted;

/// The most characters of a line that a message quotes.
const QUOTED: usize = 60;

/// Why a text is not a heap dump, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpError {
    line: usize,
    expected: Cow<'static, str>,
    found: Found,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Found {
    /// The line, or its beginning, with control characters escaped.
    Line(String),
    /// The file ends here.
    #[default]
    End,
}

impl DumpError {
    pub(super) fn at(line: usize, expected: impl Into<Cow<'static, str>>, found: Found) -> Self {
        Self {
            line,
            expected: expected.into(),
            found,
        }
    }

    /// Returns the line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl Found {
    /// Quotes a line that may contain anything.
    pub(super) fn line(line: &[u8]) -> Self {
        // A character takes at most four bytes. A character that is cut becomes replacement
        // characters behind those that are shown.
        let beginning = &line[..line.len().min(4 * (QUOTED + 1))];
        let text = String::from_utf8_lossy(beginning);
        Found::Line(quoted(text.trim_ascii_start(), QUOTED))
    }
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found ", self.line, self.expected)?;
        match &self.found {
            Found::Line(line) if line.is_empty() => f.write_str("an empty line"),
            Found::Line(line) => write!(f, "`{line}`"),
            Found::End => f.write_str("the end of the dump"),
        }
    }
}

impl std::error::Error for DumpError {}
