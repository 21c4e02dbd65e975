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
    pub overhead: u64,
    /// The rest: code and data of the program, stacks, and other memory outside the allocator.
    pub outside: u64,
}

/// What an object of an exact profile takes: jemalloc gives each a page of its own, of which only
/// the first bytes are touched.
const PAGE: u64 = 4_096;

impl Report {
    /// Returns what the resident memory is made of at a rung. `None` if that is not known.
    ///
    /// In an exact profile, what is left of an object's page counts for the profile. jemalloc's
    /// `stats.allocated` leaves out small objects that are profiled. Pages of the allocator that
    /// were never touched are not resident, and nobody counts them. So the parts may be larger than
    /// all of it. Then they are cut, the last one first.
    pub fn resident_parts(&self, rung: &Rung) -> Option<Resident> {
        resident_parts(rung, !self.is_sampled())
    }

    /// Returns what the resident memory was made of at the last rung:
    ///
    /// ```text
    /// 120 MiB resident: 60 MiB live, 40 MiB in pages that jemalloc keeps, 12 MiB for the profile
    /// and jemalloc itself, 8 MiB outside of jemalloc
    /// ```
    pub fn resident(&self) -> Option<String> {
        let of = self.resident_parts(self.rungs.last()?)?;
        let profile = match self.is_sampled() {
            true => "the profile",
            false => "the profile, which gives each object a page,",
        };
        Some(format!(
            "{} resident: {} live, {} in pages that jemalloc keeps, {} for {profile} and jemalloc \
             itself, {} outside of jemalloc",
            size(of.all),
            size(of.live),
            size(of.kept),
            size(of.overhead),
            size(of.outside),
        ))
    }
}

fn resident_parts(rung: &Rung, is_exact: bool) -> Option<Resident> {
    let memory = rung.memory?;
    let live = rung.live.bytes.max(rung.allocated.unwrap_or(0));
    let pages = rung.live.objects.saturating_mul(PAGE);
    let (held, of_profile) = match is_exact {
        true => (
            memory.active.max(live),
            pages.saturating_sub(rung.live.bytes),
        ),
        false => (live, 0),
    };
    let of_profile = of_profile.min(held - live);
    let kept = memory
        .resident
        .saturating_sub(held.saturating_add(memory.metadata));
    let mut left = rung.resident;
    let mut part = |bytes: u64| {
        let bytes = bytes.min(left);
        left -= bytes;
        bytes
    };
    Some(Resident {
        all: rung.resident,
        live: part(live),
        overhead: part(memory.metadata.saturating_add(of_profile)),
        kept: part(kept),
        outside: left,
    })
}

impl Finding {
    /// Returns which mappings became more: `4 MiB more, 1,024 mappings were added: `rw-s` of `ring`,
    /// 4 KiB each`. `None` if that is not known.
    pub fn grown_mappings(&self) -> Option<String> {
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
        .map_or(String::new(), |bytes| format!(", {} each", size(bytes)));
    let added = || plural(mappings, "mapping was added", "mappings were added");
    match (unit, mappings) {
        (Unit::Objects, _) => format!("{}: {kind}{sizes}", added()),
        (Unit::Bytes, 0) => format!("{} more in mappings: {kind}", size(bytes)),
        (Unit::Bytes, _) => format!("{} more, {}: {kind}{sizes}", size(bytes), added()),
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
        let parts = |rung: Rung, is_exact| {
            let of = resident_parts(&rung, is_exact).unwrap();
            assert_eq!(of.live + of.kept + of.overhead + of.outside, of.all);
            [of.live, of.kept, of.overhead, of.outside]
        };
        let sampled = |rung| parts(rung, false);
        assert_eq!(sampled(rung(120, 60, [12, 112])), [60, 40, 12, 8]);
        // Not all of it was touched.
        assert_eq!(sampled(rung(100, 60, [12, 112])), [60, 28, 12, 0]);
        assert_eq!(sampled(rung(50, 60, [12, 112])), [50, 0, 0, 0]);
        assert_eq!(sampled(rung(50, 20, [u64::MAX, u64::MAX])), [20, 0, 30, 0]);
        let unknown = Rung {
            memory: None,
            ..rung(1, 1, [1, 1])
        };
        assert_eq!(resident_parts(&unknown, true), None);
        // As it was measured: each object has two pages, of which one is touched.
        let mut exact = rung(1_993_093_120, 2_100_192, [71_525_424, 3_907_092_480]);
        exact.live = Tally {
            objects: 467_740,
            bytes: 171_743_520,
        };
        exact.memory.as_mut().unwrap().active = 3_834_724_352;
        let expected = [171_743_520, 842_704, 1_815_644_944, 4_861_952];
        assert_eq!(parts(exact, true), expected);
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
                "64 KiB more in mappings: `rw-p` without a name",
            ),
            (
                of("[heap]", Some(65_536), [2, 131_072]),
                Unit::Bytes,
                "128 KiB more, 2 mappings were added: `rw-p` of `[heap]`, 64 KiB each",
            ),
            (
                of("a`b<c>", Some(4_096), [1, 4_096]),
                Unit::Objects,
                "1 mapping was added: `rw-p` of `a?b?c?`, 4 KiB each",
            ),
        ] {
            assert_eq!(said(&mappings, unit), expected);
        }
    }
}
