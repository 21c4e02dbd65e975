use std::fmt;

/// Why settings could not be read. Text that was found is quoted, escaped and cut to length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    line: Option<usize>,
    message: String,
}

impl SettingsError {
    pub(super) fn new(line: Option<usize>, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { line, message }
    }

    /// Returns the line of the file, counted from 1, if the error is at one place.
    pub fn line(&self) -> Option<usize> {
        self.line
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
        f.write_str(&self.message)
    }
}

impl std::error::Error for SettingsError {}
