//! What memory is made of, and which mappings became more.

use crate::Tally;
use crate::growth::Unit;
use crate::outside::GrownMappings;
use crate::report::units::{plural, size};
use crate::report::{Finding, Report, Rung};

/// Kinds of mappings that a sentence names.
const NAMED: usize = 3;

/// The longest name of a mapping that is shown.
const NAME: usize = 40;

/// What the resident memory of a process is made of, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// All of it.
    pub all: u64,
    /// Live objects of the heap.
    pub live: u64,
    /// Pages that the allocator holds beyond live objects: parts of pages, and pages that it has
    /// not yet given back.
    pub kept: u64,
    /// What the allocator needs for itself, and for the profile.
    pub metadata: u64,
    /// The rest: code and data of the program, stacks, and other memory outside the allocator.
    pub outside: u64,
}

impl Rung {
    /// Returns what the resident memory is made of. `None` if that is not known.
    ///
    /// Pages of the allocator that were never touched are not resident, and nobody counts them.
    /// So its parts may be larger than all of it. Then they are cut, the last one first.
    pub fn resident_parts(&self) -> Option<Resident> {
        let memory = self.memory?;
        let mut left = self.resident;
        let mut part = |bytes: u64| {
            let bytes = bytes.min(left);
            left -= bytes;
            bytes
        };
        let live = self.allocated.unwrap_or(self.live.bytes);
        let (live, metadata) = (part(live), part(memory.metadata));
        let kept = part(
            memory
                .resident
                .saturating_sub(live.saturating_add(metadata)),
        );
        Some(Resident {
            all: self.resident,
            live,
            kept,
            metadata,
            outside: left,
        })
    }
}

impl Report {
    /// Returns what the resident memory was made of at the last rung:
    ///
    /// ```text
    /// 120 MiB resident: 60 MiB live, 40 MiB in pages that jemalloc keeps, 12 MiB for the profile
    /// and jemalloc itself, 8 MiB outside of jemalloc
    /// ```
    pub fn resident(&self) -> Option<String> {
        let of = self.rungs.last()?.resident_parts()?;
        Some(format!(
            "{} resident: {} live, {} in pages that jemalloc keeps, {} for the profile and jemalloc \
             itself, {} outside of jemalloc",
            size(of.all),
            size(of.live),
            size(of.kept),
            size(of.metadata),
            size(of.outside),
        ))
    }
}

impl Finding {
    /// Returns which mappings became more: `4 MiB more in 1,024 more mappings `rw-s` of `ring`, of
    /// 4 KiB`. `None` if that is not known.
    pub(super) fn grown_mappings(&self) -> Option<String> {
        let unit = self.subject.unit()?;
        let named = self.mappings.iter().take(NAMED);
        let named: Vec<String> = named.map(|one| said(one, unit)).collect();
        let others = self.mappings.len().saturating_sub(NAMED) as u64;
        let others = match others {
            0 => String::new(),
            _ => format!("; and {}", plural(others, "other kind", "other kinds")),
        };
        (!named.is_empty()).then(|| named.join("; ") + &others)
    }
}

/// Describes mappings that became more.
fn said(of: &GrownMappings, unit: Unit) -> String {
    let gained = |part: fn(&Tally) -> u64| part(&of.after).saturating_sub(part(&of.before));
    let (mappings, bytes) = (gained(|tally| tally.objects), gained(|tally| tally.bytes));
    let what = match of.name.as_str() {
        "" => "without a name".to_owned(),
        name => format!("of `{}`", shown(name)),
    };
    let kind = format!("`{}` {what}", shown(&of.permissions));
    let sizes = of
        .size
        .map_or(String::new(), |bytes| format!(", of {}", size(bytes)));
    let more = || plural(mappings, "more mapping", "more mappings");
    match (unit, mappings) {
        (Unit::Objects, _) => format!("{} {kind}{sizes}", more()),
        (Unit::Bytes, 0) => format!("{} more in mappings {kind}", size(bytes)),
        (Unit::Bytes, _) => format!("{} more in {} {kind}{sizes}", size(bytes), more()),
    }
}

/// Returns a name without what an output could take for markup.
fn shown(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-:+ []".contains(*c);
    let shown = name.chars().take(NAME);
    shown.map(|c| if is_plain(&c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Memory;

    fn rung(resident: u64, allocated: u64, memory: [u64; 2]) -> Rung {
        let [metadata, of_allocator] = memory;
        Rung {
            iterations: 1,
            live: Tally::default(),
            allocated: Some(allocated),
            threads: 1,
            descriptors: 3,
            resident,
            mappings: Some(20),
            memory: Some(Memory {
                active: allocated,
                metadata,
                resident: of_allocator,
                outside: Some(0),
            }),
        }
    }

    #[test]
    fn the_parts_are_the_whole() {
        let parts = |rung: Rung| {
            let of = rung.resident_parts().unwrap();
            assert_eq!(of.live + of.kept + of.metadata + of.outside, of.all);
            [of.live, of.kept, of.metadata, of.outside]
        };
        assert_eq!(parts(rung(120, 60, [12, 112])), [60, 40, 12, 8]);
        // Not all of it was touched.
        assert_eq!(parts(rung(100, 60, [12, 112])), [60, 28, 12, 0]);
        assert_eq!(parts(rung(50, 60, [12, 112])), [50, 0, 0, 0]);
        assert_eq!(parts(rung(50, 20, [u64::MAX, u64::MAX])), [20, 0, 30, 0]);
        let unknown = Rung {
            memory: None,
            ..rung(1, 1, [1, 1])
        };
        assert_eq!(unknown.resident_parts(), None);
    }

    #[test]
    fn mappings_are_said_in_words() {
        let of = |name: &str, size, [n, bytes]: [u64; 2]| GrownMappings {
            permissions: "rw-p".to_owned(),
            name: name.to_owned(),
            size,
            before: Tally {
                objects: 1,
                bytes: 4_096,
            },
            after: Tally {
                objects: 1 + n,
                bytes: 4_096 + bytes,
            },
        };
        for (mappings, unit, expected) in [
            (
                of("", None, [0, 65_536]),
                Unit::Bytes,
                "64 KiB more in mappings `rw-p` without a name",
            ),
            (
                of("[heap]", Some(65_536), [2, 131_072]),
                Unit::Bytes,
                "128 KiB more in 2 more mappings `rw-p` of `[heap]`, of 64 KiB",
            ),
            (
                of("a`b<c>", Some(4_096), [1, 4_096]),
                Unit::Objects,
                "1 more mapping `rw-p` of `a?b?c?`, of 4 KiB",
            ),
        ] {
            assert_eq!(said(&mappings, unit), expected);
        }
    }
}
