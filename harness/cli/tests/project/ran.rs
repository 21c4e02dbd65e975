//! How a command ended, and what it printed.

#![allow(dead_code, reason = "every test file uses some of it")]

use std::path::Path;
use std::process::Output;

use serde_json::Value;

/// What a command left.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// All three in one text.
impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status.map(|status| status.to_string());
        let status = status.unwrap_or("signal".to_owned());
        write!(f, "{}--- {status}\n{}", self.stdout, self.stderr)
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ran {
            status: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The same, with `DIR` in the place of that folder.
    pub(crate) fn within(mut self, dir: &Path) -> Ran {
        for text in [&mut self.stdout, &mut self.stderr] {
            *text = text.replace(&*dir.to_string_lossy(), "DIR");
        }
        self
    }

    /// What it printed, as JSON; `null` where it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }

    /// Asserts how it ended, and that all of these were printed.
    #[track_caller]
    pub(crate) fn has(self, status: i32, parts: &[&str]) -> Ran {
        assert_eq!(self.status, Some(status), "{self}");
        let text = self.to_string();
        for part in parts {
            assert!(text.contains(part), "expected {part:?} in: {text}");
        }
        self
    }

    /// Asserts that none of these was printed.
    #[track_caller]
    pub(crate) fn lacks(self, parts: &[&str]) -> Ran {
        let text = self.to_string();
        for part in parts {
            assert!(!text.contains(part), "unexpected {part:?} in: {text}");
        }
        self
    }
}
