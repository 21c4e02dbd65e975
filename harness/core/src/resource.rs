//! What a process can run out of besides its heap. Every output has its words from here.

use serde::Serialize;

use crate::growth::Unit;
use crate::outside::Counts;
use crate::words::words;

/// Something that a process has, and that it can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Threads of the process.
    Threads,
    /// Its open file descriptors.
    Descriptors,
    /// Its mappings of files, by number.
    Mappings,
    /// Memory that it maps and that the allocator does not manage, in bytes.
    Outside,
}

words!(Resource {
    Threads = "threads",
    Descriptors = "descriptors",
    Mappings = "mappings",
    Outside = "outside",
});

impl Resource {
    /// Returns the unit in which it is measured: bytes for memory, and objects for what is
    /// counted.
    pub fn unit(self) -> Unit {
        match self {
            Resource::Threads | Resource::Descriptors | Resource::Mappings => Unit::Objects,
            Resource::Outside => Unit::Bytes,
        }
    }

    /// Returns what one of it is called: `thread`.
    pub fn one(self) -> &'static str {
        match self {
            Resource::Threads => "thread",
            Resource::Descriptors => "file descriptor",
            Resource::Mappings => "mapped file",
            Resource::Outside => "memory outside the allocator",
        }
    }

    /// Returns what several of it are called, and the resource as a whole: `file descriptors`.
    pub fn many(self) -> &'static str {
        match self {
            Resource::Threads => "threads",
            Resource::Descriptors => "file descriptors",
            Resource::Mappings => "mapped files",
            Resource::Outside => "memory outside the allocator",
        }
    }

    /// Returns what follows a number of it: `+1.00 threads`, `+4 KiB outside the allocator`.
    pub fn after_number(self) -> &'static str {
        match self {
            Resource::Outside => "outside the allocator",
            counted => counted.many(),
        }
    }

    /// Returns which mappings it counts. `None` if it counts none.
    pub fn counts(self) -> Option<Counts> {
        match self {
            Resource::Threads | Resource::Descriptors => None,
            Resource::Mappings => Some(Counts::File),
            Resource::Outside => Some(Counts::Memory),
        }
    }

    /// Returns how many of it are so many that a service is in trouble.
    pub(crate) fn a_lot(self) -> u64 {
        match self {
            Resource::Threads => 1_000,
            // The usual limit of open files.
            Resource::Descriptors => 1_024,
            // The usual limit of mappings, `vm.max_map_count`.
            Resource::Mappings => 65_530,
            Resource::Outside => 1 << 30,
        }
    }
}
