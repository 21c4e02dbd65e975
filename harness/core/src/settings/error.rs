use std::fmt;

use super::{KEYS, MAX_BYTES};

/// Why settings could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    line: Option<usize>,
    kind: SettingsErrorKind,
}

/// What is wrong. Text that was found is quoted, escaped and cut to length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsErrorKind {
    /// The file is larger than [`MAX_BYTES`].
    TooLarge,
    /// The file is not text.
    NotUtf8,
    /// The file is not TOML. The text says what the parser expected.
    Syntax(String),
    /// No setting has this key.
    UnknownKey {
        /// The key in the file.
        found: String,
        /// The setting that it resembles.
        nearest: Option<&'static str>,
    },
    /// A variable whose name looks like a misspelt name of another variable.
    UnknownVariable {
        /// The name of the variable.
        found: String,
        /// The name that it should have.
        nearest: String,
    },
    /// A setting has a value that it cannot have.
    Unexpected {
        /// Its key between backticks if it is in a file, or its variable.
        name: String,
        /// The values that are possible.
        expected: String,
        /// The value that was found.
        found: String,
        /// The value that may have been meant.
        hint: Option<String>,
    },
}

impl SettingsError {
    pub(super) fn new(line: Option<usize>, kind: SettingsErrorKind) -> Self {
        Self { line, kind }
    }

    /// Returns the line of the file, counted from 1, if the error is at one place.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns what is wrong.
    pub fn kind(&self) -> &SettingsErrorKind {
        &self.kind
    }

    /// Returns the message for people: the file, what is wrong in it, what was expected, and
    /// what to do.
    ///
    /// ```text
    /// plimsoll.toml:2: `bugdet`: there is no such setting
    ///   hint: `budget`?
    /// ```
    pub fn explain(&self, file: &str) -> String {
        match self.line {
            Some(line) => format!("{file}:{line}: {self}"),
            None => format!("{file}: {self}"),
        }
    }
}

/// Formats the error without its place, in up to three lines.
impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SettingsErrorKind::TooLarge => {
                write!(f, "too large\n  expected at most {MAX_BYTES} bytes")
            }
            SettingsErrorKind::NotUtf8 => {
                write!(f, "not a text file\n  expected UTF-8, found other bytes")
            }
            SettingsErrorKind::Syntax(message) => write!(f, "not TOML\n  {message}"),
            SettingsErrorKind::UnknownKey { found, nearest } => {
                write!(f, "`{found}`: there is no such setting\n  hint: ")?;
                match nearest {
                    Some(nearest) => write!(f, "`{nearest}`?"),
                    None => {
                        let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
                        // Six names fit on a line of a terminal.
                        let lines: Vec<String> =
                            names.chunks(6).map(|line| line.join(", ")).collect();
                        write!(f, "one of {}", lines.join(",\n    "))
                    }
                }
            }
            SettingsErrorKind::UnknownVariable { found, nearest } => {
                write!(f, "{found}: there is no such variable\n  hint: {nearest}?")
            }
            SettingsErrorKind::Unexpected {
                name,
                expected,
                found,
                hint,
            } => {
                write!(
                    f,
                    "{name}: unexpected value\n  expected {expected}\n  found {found}"
                )?;
                match hint {
                    Some(hint) => write!(f, "\n  hint: {hint}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for SettingsError {}
