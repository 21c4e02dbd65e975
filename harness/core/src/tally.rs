use std::ops::AddAssign;

use serde::Serialize;

/// The allocations of one stack, or of many.
///
/// jemalloc prints the live ones as `curobjs` and `curbytes`; pprof calls them
/// `inuse_objects` and `inuse_space`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// The number of objects.
    pub objects: u64,
    /// Bytes after rounding up to the size class, as jemalloc counts them.
    pub bytes: u64,
}

impl Tally {
    /// Returns the sum. Each part saturates at the largest value.
    pub fn saturating_add(self, other: Tally) -> Tally {
        Tally {
            objects: self.objects.saturating_add(other.objects),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns the difference. Each part is at least zero.
    pub fn saturating_sub(self, other: Tally) -> Tally {
        Tally {
            objects: self.objects.saturating_sub(other.objects),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        *self = self.saturating_add(other);
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.inuse += other.inuse;
        self.alloc += other.alloc;
    }
}

/// The two tallies that a dump prints in one line: `3: 2048 [9: 4096]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// What is live at the dump (`inuse`).
    pub inuse: Tally,
    /// Everything since profiling began (`alloc`); zero unless `prof_accum` is on.
    pub alloc: Tally,
}
