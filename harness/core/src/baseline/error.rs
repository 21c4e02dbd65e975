use std::fmt;

use super::FORMAT;
use crate::toml_file::quoted;

/// Why a baseline could not be read, or would not be written. Text that was found is quoted,
/// escaped and cut to length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineError {
    /// The line, counted from 1, if the error is at one place.
    line: Option<usize>,
    /// What is wrong, in a few words.
    headline: String,
    /// What was expected, and what was found.
    detail: String,
    /// What to do. `SCENARIO` stands for the scenario's name.
    hint: Option<String>,
    is_newer: bool,
}

impl BaselineError {
    pub(super) fn new(
        line: Option<usize>,
        headline: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            line,
            headline: headline.into(),
            detail: detail.into(),
            hint: None,
            is_newer: false,
        }
    }

    /// The file has a format that this version does not know.
    pub(super) fn newer(line: Option<usize>, found: i64) -> Self {
        let detail = format!("expected format {FORMAT} or older, found {found}");
        Self {
            is_newer: true,
            ..Self::new(line, "written by a newer plimsoll", detail)
                // `accept` does not overwrite a file of a newer format.
                .hint("upgrade, or remove the file and re-record with `plimsoll accept SCENARIO`")
        }
    }

    /// A key has a value that it cannot have.
    pub(super) fn unexpected(
        line: Option<usize>,
        key: &str,
        expected: &str,
        found: String,
    ) -> Self {
        let headline = format!("unexpected `{}`", quoted(key));
        Self::new(
            line,
            headline,
            format!("expected {expected}, found {found}"),
        )
    }

    /// A value that is to be written is none that a file can have.
    pub(super) fn of_value(key: &str, expected: &str, found: &str) -> Self {
        Self::unexpected(None, key, expected, format!("`{}`", quoted(found)))
    }

    /// The file exceeds a limit of the format. `of` is its unit, such as "allowances".
    pub(super) fn too_many(line: Option<usize>, of: &str, limit: usize, found: usize) -> Self {
        let detail = format!("expected at most {limit}, found {found}");
        Self::new(line, format!("too many {of}"), detail)
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        let hint = Some(hint.into());
        Self { hint, ..self }
    }

    /// Returns the line, counted from 1, if the error is at one place.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns whether the file has a format that this version does not know.
    pub fn is_newer(&self) -> bool {
        self.is_newer
    }

    /// Returns the message for people, in up to three lines: the file, what is wrong with it,
    /// and what to do. Only the caller knows the file and its scenario.
    ///
    /// ```text
    /// baselines/lru_churn.toml: written by a newer plimsoll
    ///   expected format 1 or older, found 3
    ///   hint: upgrade, or …
    /// ```
    pub fn explain(&self, file: &str, scenario: &str) -> String {
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        let hint = self.hint.as_ref().map_or(String::new(), |hint| {
            format!("\n  hint: {}", hint.replace("SCENARIO", scenario))
        });
        format!("{file}{line}: {}\n  {}{hint}", self.headline, self.detail)
    }
}

/// Formats the error in one line, without the hint.
impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}: {}", self.headline, self.detail)
    }
}

impl std::error::Error for BaselineError {}
