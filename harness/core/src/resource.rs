//! What a process can run out of besides its heap. Every output has its words from here.

use serde::{Deserialize, Serialize};

use crate::words::words;

/// Something that a process has a number of, and that it can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Threads of the process.
    Threads,
    /// Its open file descriptors.
    Descriptors,
}

words!(Resource {
    Threads = "threads",
    Descriptors = "descriptors",
});

impl Resource {
    /// Returns what one of it is called: `thread`.
    pub fn one(self) -> &'static str {
        match self {
            Resource::Threads => "thread",
            Resource::Descriptors => "file descriptor",
        }
    }

    /// Returns what several of it are called, and the resource as a whole: `file descriptors`.
    pub fn many(self) -> &'static str {
        match self {
            Resource::Threads => "threads",
            Resource::Descriptors => "file descriptors",
        }
    }

    /// Returns how many of it are so many that a service is in trouble.
    pub(crate) fn a_lot(self) -> u64 {
        match self {
            Resource::Threads => 1_000,
            // The usual limit of open files.
            Resource::Descriptors => 1_024,
        }
    }
}
