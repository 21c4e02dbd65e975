//! What a process has mapped besides the memory of its allocator, by the mappings that a dump
//! lists.
//!
//! ```text
//! 7f20-7f40 rw-p … 00:00 0                     memory: private and anonymous
//! 5580-55a1 rw-p … 00:00 0  [heap]             memory: from brk, as glibc's malloc has it
//! 7f40-7f60 rw-s … 00:01 9  /dev/zero (deleted)    memory: shared and anonymous
//! 7f60-7f70 rw-s … 00:0e 7  anon_inode:[io_uring]  memory
//! 7f70-7f80 ---p … 00:00 0                     reserved, not memory
//! 7f80-7f90 r-xp … fe:00 4  /usr/lib/libc.so.6     a file
//! 7f90-7fa0 rw-s … 00:01 5  /memfd:ring (deleted)  a file
//! 7ffc-7ffd rw-p … 00:00 0  [stack]            neither: the kernel's
//! ```
//!
//! Memory counts by its bytes, and a file by its number of mappings: the bytes of a file are on
//! a disk, or in the page cache, where other processes share them.
//!
//! jemalloc's memory is private and anonymous too. jemalloc's `stats.mapped` and
//! `stats.retained` together are exactly that memory; both include what `stats.metadata` counts.
//! So what is left is [outside](Mapped::outside) of the allocator. This holds as long as
//! jemalloc maps all memory accessible, which it does unless the kernel never overcommits
//! memory (`vm.overcommit_memory=2`).

use crate::dump::{Mapping, Maps};

/// The mappings of a process, as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// All mappings, of which the kernel allows only so many (`vm.max_map_count`).
    pub all: u64,
    /// Mappings of files.
    pub files: u64,
    /// Memory without a file, in bytes. The allocator's memory is part of it.
    pub memory: u64,
}

/// What a mapping counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Its bytes count, as memory.
    Memory,
    /// It counts as one mapping of a file.
    File,
    /// It does not count: it is reserved, or the kernel's.
    Nothing,
}

/// Files of the kernel that are memory: shared anonymous memory, System V's shared memory, and
/// huge pages.
const MEMORY: [&str; 3] = ["/dev/zero", "/SYSV", "/anon_hugepage"];

impl Counts {
    /// Returns what a mapping counts as.
    pub fn of(mapping: &Mapping) -> Counts {
        let permissions = mapping.permissions;
        let is_accessible = permissions.read || permissions.write || permissions.execute;
        let path = mapping.path.as_str();
        match path {
            _ if !is_accessible => Counts::Nothing,
            _ if MEMORY.iter().any(|kind| path.starts_with(kind)) => Counts::Memory,
            _ if path.starts_with('/') => Counts::File,
            "[heap]" => Counts::Memory,
            _ if path.starts_with("[anon") => Counts::Memory,
            // `[stack]`, which grows by itself, `[vdso]`, `[vvar]`, `[uprobes]`.
            _ if path.starts_with('[') => Counts::Nothing,
            _ => Counts::Memory,
        }
    }
}

impl Mapped {
    /// Adds up the mappings of a dump.
    pub fn of(maps: &Maps) -> Mapped {
        let mut mapped = Mapped {
            all: (maps.mappings.len() + maps.unreadable.len()) as u64,
            ..Mapped::default()
        };
        for mapping in &maps.mappings {
            match Counts::of(mapping) {
                Counts::Memory => {
                    let bytes = mapping.end - mapping.start;
                    mapped.memory = mapped.memory.saturating_add(bytes);
                }
                Counts::File => mapped.files += 1,
                Counts::Nothing => {}
            }
        }
        mapped
    }

    /// Returns the bytes of memory that the allocator does not manage. `allocator` is
    /// jemalloc's `stats.mapped` and `stats.retained` together.
    pub fn outside(&self, allocator: u64) -> u64 {
        self.memory.saturating_sub(allocator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::HeapDump;

    #[track_caller]
    fn mapped(maps: &str) -> Mapped {
        let dump = format!("heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n{maps}");
        let dump = HeapDump::parse(dump.as_bytes()).unwrap();
        Mapped::of(dump.maps().unwrap())
    }

    #[test]
    fn memory_counts_by_bytes_and_files_by_number() {
        for (line, memory, files) in [
            ("1000-3000 rw-p 00000000 00:00 0", 0x2000, 0),
            ("1000-3000 r--p 00000000 00:00 0", 0x2000, 0),
            ("1000-3000 ---p 00000000 00:00 0", 0, 0),
            ("1000-3000 rw-p 00000000 00:00 0 [heap]", 0x2000, 0),
            ("1000-3000 rw-p 00000000 00:00 0 [anon:jit code]", 0x2000, 0),
            (
                "1000-3000 rw-s 00000000 00:01 9 [anon_shmem:ring]",
                0x2000,
                0,
            ),
            (
                "1000-3000 rw-s 00000000 00:01 9 /dev/zero (deleted)",
                0x2000,
                0,
            ),
            (
                "1000-3000 rw-s 00000000 00:01 9 /SYSV00000000 (deleted)",
                0x2000,
                0,
            ),
            (
                "1000-3000 rw-s 00000000 00:0e 9 anon_inode:[io_uring]",
                0x2000,
                0,
            ),
            ("1000-3000 rw-s 00000000 00:01 9 /memfd:a b (deleted)", 0, 1),
            ("1000-3000 r-xp 00000000 fe:00 9 /usr/lib/libc.so.6", 0, 1),
            ("1000-3000 ---p 00000000 fe:00 9 /usr/lib/libc.so.6", 0, 0),
            ("1000-3000 rw-p 00000000 00:00 0 [stack]", 0, 0),
            ("1000-3000 r-xp 00000000 00:00 0 [vdso]", 0, 0),
        ] {
            let expected = Mapped {
                all: 1,
                files,
                memory,
            };
            assert_eq!(mapped(&format!("{line}\n")), expected, "{line}");
        }
        let two = mapped("1000-3000 rw-p 0 00:00 0\n3000-4000 rw-p 0 00:00 0\n");
        assert_eq!(
            (two.all, two.outside(0x2000), two.outside(0x9000)),
            (2, 0x1000, 0)
        );
    }
}
