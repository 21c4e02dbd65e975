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

use serde::Serialize;

use crate::SmallMap;
use crate::Tally;
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

/// The most kinds of mappings that a finding names.
pub const MOST_KINDS: usize = 8;

/// The mappings of a process, added up by what they are: their permissions and their name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(SmallMap<(String, String), Share>);

/// The mappings of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Share {
    counts: Counts,
    total: Tally,
    /// How many mappings have each size.
    sizes: SmallMap<u64, u64>,
}

/// A kind of mappings of which there are more than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct GrownMappings {
    /// Their permissions, as the kernel writes them: `rw-p`.
    pub permissions: String,
    /// The name of the file, without its folders, or the kernel's name for the memory. Empty for
    /// memory without a name.
    pub name: String,
    /// The size that most of the new mappings have, in bytes. `None` if there are not several new
    /// ones of one size: the kernel makes one of neighbours that are alike.
    #[serde(deserialize_with = "crate::required::required")]
    pub size: Option<u64>,
    /// The number of mappings and their bytes at the rung *before*. The allocator's memory is
    /// not among them.
    pub before: Tally,
    /// The same at the last rung.
    pub after: Tally,
}

impl Kinds {
    /// Adds up the mappings of a dump. `allocator` is as for [`Mapped::outside`], and is taken off
    /// private memory without a name.
    pub fn of(maps: &Maps, allocator: u64) -> Kinds {
        let mut kinds = Kinds::default();
        for mapping in &maps.mappings {
            let counts = Counts::of(mapping);
            if counts == Counts::Nothing {
                continue;
            }
            let name = mapping.path.strip_suffix(" (deleted)");
            let name = name.unwrap_or(&mapping.path);
            let name = match name.starts_with('/') {
                true => name.rsplit('/').next().unwrap_or_default(),
                false => name,
            };
            let key = (mapping.permissions.to_string(), name.to_owned());
            let none = Share {
                counts,
                total: Tally::default(),
                sizes: SmallMap::default(),
            };
            let share = kinds.0.or_insert(key, none);
            let bytes = mapping.end - mapping.start;
            share.total += Tally { objects: 1, bytes };
            *share.sizes.or_default(bytes) += 1;
        }
        if let Some(share) = kinds.0.get_mut(&("rw-p".to_owned(), String::new())) {
            share.total.bytes = share.total.bytes.saturating_sub(allocator);
        }
        kinds
    }

    /// Returns the kinds that count like this and of which there is more than `before`, those that
    /// grew most first: memory by bytes, and files by number. At most [`MOST_KINDS`].
    pub fn grown_since(&self, before: &Kinds, counts: Counts) -> Vec<GrownMappings> {
        let of = |tally: &Tally| match counts {
            Counts::File => tally.objects,
            Counts::Memory | Counts::Nothing => tally.bytes,
        };
        let mut grown = Vec::new();
        for (key, share) in self.0.iter() {
            let old = before.0.get(key);
            let was = old.map_or(Tally::default(), |old| old.total);
            if share.counts != counts || of(&share.total) <= of(&was) {
                continue;
            }
            let gained = share.sizes.iter().filter_map(|(size, n)| {
                let had = old.and_then(|old| old.sizes.get(size)).copied();
                Some((n.checked_sub(had.unwrap_or(0))?, *size))
            });
            let most = gained.max();
            let new = share.total.objects.saturating_sub(was.objects);
            let (permissions, name) = key.clone();
            grown.push(GrownMappings {
                permissions,
                name,
                size: most.and_then(|(n, size)| (2 * n > new && new > 1).then_some(size)),
                before: was,
                after: share.total,
            });
        }
        // Stable: equal ones stay in the order of their names.
        grown.sort_by_key(|one| std::cmp::Reverse(of(&one.after) - of(&one.before)));
        grown.truncate(MOST_KINDS);
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::HeapDump;

    #[track_caller]
    fn maps(maps: &str) -> Maps {
        let dump = format!("heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n{maps}");
        let dump = HeapDump::parse(dump.as_bytes()).unwrap();
        dump.maps().unwrap().clone()
    }

    fn mapped(text: &str) -> Mapped {
        Mapped::of(&maps(text))
    }

    #[test]
    fn memory_counts_by_bytes_and_files_by_number() {
        for (line, memory, files) in [
            ("rw-p 0 00:00 0", 0x2000, 0),
            ("r--p 0 00:00 0", 0x2000, 0),
            ("---p 0 00:00 0", 0, 0),
            ("rw-p 0 00:00 0 [heap]", 0x2000, 0),
            ("rw-p 0 00:00 0 [anon:jit code]", 0x2000, 0),
            ("rw-s 0 00:01 9 [anon_shmem:ring]", 0x2000, 0),
            ("rw-s 0 00:01 9 /dev/zero (deleted)", 0x2000, 0),
            ("rw-s 0 00:01 9 /SYSV00000000 (deleted)", 0x2000, 0),
            ("rw-s 0 00:0e 9 anon_inode:[io_uring]", 0x2000, 0),
            ("rw-s 0 00:01 9 /memfd:a b (deleted)", 0, 1),
            ("r-xp 0 fe:00 9 /usr/lib/libc.so.6", 0, 1),
            ("---p 0 fe:00 9 /usr/lib/libc.so.6", 0, 0),
            ("rw-p 0 00:00 0 [stack]", 0, 0),
            ("r-xp 0 00:00 0 [vdso]", 0, 0),
        ] {
            let expected = Mapped {
                all: 1,
                files,
                memory,
            };
            assert_eq!(mapped(&format!("1000-3000 {line}\n")), expected, "{line}");
        }
        let two = mapped("1000-3000 rw-p 0 00:00 0\n3000-4000 rw-p 0 00:00 0\n");
        assert_eq!(
            (two.all, two.outside(0x2000), two.outside(0x9000)),
            (2, 0x1000, 0)
        );
    }

    #[test]
    fn what_grew_is_named_by_permissions_size_and_file() {
        let before = "1000-9000 rw-p 0 00:00 0\n\
                      a000-b000 rw-s 0 00:01 7 /memfd:ring (deleted)\n\
                      c000-d000 rw-p 0 00:00 0 [heap]\n";
        let after = "1000-b000 rw-p 0 00:00 0\n\
                     c000-f000 rw-p 0 00:00 0 [heap]\n\
                     10000-11000 rw-s 0 00:01 7 /memfd:ring (deleted)\n\
                     11000-12000 rw-s 0 00:01 8 /memfd:ring (deleted)\n\
                     12000-14000 rw-s 0 00:01 9 /memfd:ring (deleted)\n\
                     14000-15000 rw-s 0 00:01 9 /memfd:ring (deleted)\n\
                     15000-16000 r--p 0 fe:00 9 /home/me/data.bin\n";
        let of = |text: &str, allocator| Kinds::of(&maps(text), allocator);
        let (before, after) = (of(before, 0x7000), of(after, 0x8000));
        let shown = |counts| {
            let grown = after.grown_since(&before, counts).into_iter();
            let shown = grown.map(|one| {
                let GrownMappings {
                    permissions,
                    name,
                    size,
                    before,
                    after,
                } = one;
                let ends = [before.objects, before.bytes, after.objects, after.bytes];
                format!("{permissions} {name:?} {size:x?} {ends:x?}")
            });
            shown.collect::<Vec<_>>()
        };
        let memory = [
            "rw-p \"[heap]\" None [1, 1000, 1, 3000]",
            "rw-p \"\" None [1, 1000, 1, 2000]",
        ];
        assert_eq!(shown(Counts::Memory), memory);
        let files = [
            "rw-s \"memfd:ring\" Some(1000) [1, 1000, 4, 5000]",
            "r--p \"data.bin\" None [0, 0, 1, 1000]",
        ];
        assert_eq!(shown(Counts::File), files);
    }
}
