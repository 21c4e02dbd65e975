use std::fmt;

use super::FORMAT;

/// Why a baseline could not be read, or would not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineError {
    /// The line, counted from 1, if the error is at one place.
    line: Option<usize>,
    kind: BaselineErrorKind,
}

/// What is wrong. Text that was found is quoted, escaped and cut to length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineErrorKind {
    /// The file has a format that this version does not know.
    NewerFormat {
        /// The key in the file.
        found: i64,
    },
    /// The file is not text.
    NotUtf8,
    /// The file is not TOML. The text says what the parser expected.
    Syntax(String),
    /// The file is not TOML, because git left both sides of a merge in it.
    Conflict,
    /// The same was allowed before in this file.
    AllowedTwice {
        /// The line of the first allowance, counted from 1.
        first: usize,
    },
    /// A stack has the name of a program in place of its functions, as in a build without
    /// symbols.
    Unnamed {
        /// The program's file.
        file: String,
    },
    /// The format has no such key.
    UnknownKey {
        /// The key in the file.
        found: String,
        /// The known key that it resembles.
        nearest: Option<&'static str>,
        /// The keys that are possible here.
        known: &'static [&'static str],
    },
    /// A required key is missing.
    MissingKey {
        /// Its name.
        key: &'static str,
        /// The table that it belongs to, such as `[measured]`.
        table: &'static str,
    },
    /// A key has a value that it cannot have.
    Unexpected {
        /// Its name.
        key: String,
        /// The values that are possible.
        expected: String,
        /// The value that was found.
        found: String,
    },
    /// The file exceeds a limit of the format.
    TooMany {
        /// The unit of the limit, such as "allowances" or "bytes".
        of: &'static str,
        /// The limit.
        limit: usize,
        /// The number that was found.
        found: usize,
    },
}

impl BaselineError {
    pub(super) fn new(line: Option<usize>, kind: BaselineErrorKind) -> Self {
        Self { line, kind }
    }

    /// Returns the line, counted from 1, if the error is at one place.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns what is wrong.
    pub fn kind(&self) -> &BaselineErrorKind {
        &self.kind
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
        let line = self
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        let mut text = format!("{file}{line}: {}\n  {}", self.headline(), self.detail());
        if let Some(hint) = self.hint(scenario) {
            text.push_str("\n  hint: ");
            text.push_str(&hint);
        }
        text
    }

    fn headline(&self) -> String {
        match &self.kind {
            BaselineErrorKind::NewerFormat { .. } => "written by a newer plimsoll".to_owned(),
            BaselineErrorKind::NotUtf8 => "not a text file".to_owned(),
            BaselineErrorKind::Syntax(_) => "not TOML".to_owned(),
            BaselineErrorKind::Conflict => "a merge conflict".to_owned(),
            BaselineErrorKind::AllowedTwice { .. } => "allowed twice".to_owned(),
            BaselineErrorKind::Unnamed { .. } => "a stack without names".to_owned(),
            BaselineErrorKind::UnknownKey { found, .. } => format!("unknown key `{found}`"),
            BaselineErrorKind::MissingKey { key, .. } => format!("`{key}` is missing"),
            BaselineErrorKind::Unexpected { key, .. } => format!("unexpected `{key}`"),
            BaselineErrorKind::TooMany { of, .. } => format!("too many {of}"),
        }
    }

    fn detail(&self) -> String {
        match &self.kind {
            BaselineErrorKind::NewerFormat { found } => {
                format!("expected format {FORMAT} or older, found {found}")
            }
            BaselineErrorKind::NotUtf8 => "expected UTF-8, found other bytes".to_owned(),
            BaselineErrorKind::Syntax(message) => message.clone(),
            BaselineErrorKind::Conflict => {
                "expected a baseline, found git's conflict markers".to_owned()
            }
            BaselineErrorKind::AllowedTwice { first } => format!(
                "expected one `[[allow]]` for each stack or resource, found the same on line {first}"
            ),
            BaselineErrorKind::Unnamed { file } => format!(
                "expected functions, found `{file}`, which cargo calls otherwise in another build"
            ),
            BaselineErrorKind::UnknownKey { known, .. } => {
                format!("expected one of `{}`", known.join("`, `"))
            }
            BaselineErrorKind::MissingKey { table, .. } => {
                format!("expected it in {table}, found none")
            }
            BaselineErrorKind::Unexpected {
                expected, found, ..
            } => {
                format!("expected {expected}, found {found}")
            }
            BaselineErrorKind::TooMany { limit, found, .. } => {
                format!("expected at most {limit}, found {found}")
            }
        }
    }

    fn hint(&self, scenario: &str) -> Option<String> {
        match &self.kind {
            // `accept` does not overwrite a file of a newer format.
            BaselineErrorKind::NewerFormat { .. } => Some(format!(
                "upgrade, or remove the file and re-record with `plimsoll accept {scenario}`"
            )),
            BaselineErrorKind::Conflict => Some(format!(
                "keep each `[[allow]]` of both sides once, or take one side and run \
                 `plimsoll accept {scenario}`"
            )),
            BaselineErrorKind::AllowedTwice { .. } => {
                Some("keep one of the two, with the rate that both together may have".to_owned())
            }
            BaselineErrorKind::Unnamed { .. } => Some(
                "the build was stripped: set `strip = false` in the profile in Cargo.toml, \
                 measure and accept again"
                    .to_owned(),
            ),
            BaselineErrorKind::UnknownKey {
                nearest: Some(nearest),
                ..
            } => Some(format!("did you mean `{nearest}`?")),
            _ => None,
        }
    }
}

/// Formats the error in one line, without the hint.
impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}: {}", self.headline(), self.detail())
    }
}

impl std::error::Error for BaselineError {}
