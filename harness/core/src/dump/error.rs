use std::fmt;

use crate::Tally;
use plimsoll_text::escape::is_hidden;

/// The most characters of a line that a message quotes.
const QUOTED: usize = 60;

/// Why a text is not a heap dump, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpError {
    line: usize,
    expected: Expected,
    found: Found,
}

/// What was expected at the line of a [`DumpError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// The first line.
    Header,
    /// The process's line of counts, or the first stack.
    Totals,
    /// The line of counts that follows every stack.
    Counts {
        /// The line of the stack.
        stack: usize,
    },
    /// Four counts in the form `t*: 1: 8 [0: 0]`.
    CountsForm,
    /// A number that fits into 64 bits.
    Number,
    /// A return address in hexadecimal that fits into 64 bits.
    Address,
    /// No more than [`MAX_FRAMES`](super::MAX_FRAMES) addresses.
    FewerFrames,
    /// Another stack, a line of a thread, or the mappings.
    Record,
    /// The mappings, or nothing more.
    Maps,
    /// A line of text among the mappings.
    MapLine,
    /// The end of the line.
    EndOfLine,
    /// Totals that the stacks add up to.
    TotalsOfStacks {
        /// The sum of the stacks, as printed.
        stacks: Tally,
    },
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The line, or its beginning, with control characters escaped.
    Line(String),
    /// The file ends here.
    End,
}

impl DumpError {
    pub(super) fn at(line: usize, expected: Expected, found: Found) -> Self {
        Self {
            line,
            expected,
            found,
        }
    }

    /// Returns the line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns what was expected there.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns what was found there.
    pub fn found(&self) -> &Found {
        &self.found
    }
}

impl Found {
    /// Quotes a line that may contain anything.
    pub(super) fn line(line: &[u8]) -> Self {
        // A character takes at most four bytes. A character that is cut becomes replacement
        // characters behind those that are shown.
        let beginning = &line[..line.len().min(4 * (QUOTED + 1))];
        let text = String::from_utf8_lossy(beginning);
        let mut quoted = String::new();
        for (index, char) in text.trim_ascii_start().chars().enumerate() {
            if index == QUOTED {
                quoted.push('…');
                break;
            }
            if is_hidden(char) {
                quoted.extend(char.escape_default());
            } else {
                quoted.push(char);
            }
        }
        Found::Line(quoted)
    }
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}: expected {}, found {}",
            self.line, self.expected, self.found
        )
    }
}

impl std::error::Error for DumpError {}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Header => f.write_str("`heap_v2/` and a sample interval"),
            Expected::Totals => f.write_str("the counts of the process, or a stack"),
            Expected::Counts { stack } => write!(f, "counts for the stack on line {stack}"),
            Expected::CountsForm => f.write_str("counts such as `t*: 1: 8 [0: 0]`"),
            Expected::Number => f.write_str("a number of at most 64 bits"),
            Expected::Address => f.write_str("an address such as `0x1f` of at most 64 bits"),
            Expected::FewerFrames => write!(f, "at most {} addresses", super::MAX_FRAMES),
            Expected::Record => f.write_str("a stack, counts of a thread, or `MAPPED_LIBRARIES:`"),
            Expected::Maps => f.write_str("`MAPPED_LIBRARIES:` after an empty line"),
            Expected::MapLine => f.write_str("a mapping"),
            Expected::EndOfLine => f.write_str("the end of the line"),
            Expected::TotalsOfStacks { stacks } => write!(
                f,
                "totals that agree with the stacks, which add up to `{}: {}`",
                stacks.objects, stacks.bytes
            ),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Line(line) if line.is_empty() => f.write_str("an empty line"),
            Found::Line(line) => write!(f, "`{line}`"),
            Found::End => f.write_str("the end of the dump"),
        }
    }
}
