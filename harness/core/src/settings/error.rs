use std::fmt;

use super::{KEYS, MAX_BYTES};

/// Why settings could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    line: Option<usize>,
    kind: SettingsErrorKind,
}

/// What is wrong. What was found is quoted, escaped and cut to length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsErrorKind {
    /// Larger than [`MAX_BYTES`].
    TooLarge,
    /// Not text at all.
    NotUtf8,
    /// No TOML; the fragment says what the parser expected.
    Syntax(String),
    /// A key that no setting has.
    UnknownKey {
        /// As the file has it.
        found: String,
        /// The setting that it resembles.
        nearest: Option<&'static str>,
    },
    /// A variable that has the name of another but for a slip of the finger.
    UnknownVariable {
        /// As it is set.
        found: String,
        /// What it should be.
        nearest: String,
    },
    /// A setting with a value that it cannot have.
    Unexpected {
        /// Its key, in a file between backticks, or its variable.
        name: String,
        /// What can stand there.
        expected: String,
        /// What does.
        found: String,
        /// What may have been meant.
        hint: Option<String>,
    },
}

impl SettingsError {
    pub(super) fn new(line: Option<usize>, kind: SettingsErrorKind) -> Self {
        Self { line, kind }
    }

    /// The line of the file, from 1, if it is at one place.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// What is wrong.
    pub fn kind(&self) -> &SettingsErrorKind {
        &self.kind
    }

    /// For people: the file, what is wrong in it, what was expected, what to do.
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

/// Without where it is, over up to three lines.
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
                        // On lines that fit a terminal.
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
