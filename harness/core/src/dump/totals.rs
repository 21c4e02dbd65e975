//! Checks that the counts of the process in a dump match its stacks.

use super::interval::{Estimate, SampleInterval};
use crate::{Counts, Tally, to_f64};

/// The counts of the process, and what the stacks add up to so far. The page of [`crate::dump`]
/// says what jemalloc guarantees of them.
#[derive(Debug)]
pub(super) struct Totals {
    interval: SampleInterval,
    pub(super) printed: Counts,
    inuse: Sum,
    alloc: Sum,
}

/// What the stacks add up to, and what they may.
#[derive(Debug, Default)]
struct Sum {
    sum: Tally,
    range: Range,
    total: Range,
}

impl Totals {
    pub(super) fn new(interval: SampleInterval, printed: Counts) -> Totals {
        let sum = |printed| Sum {
            total: Range::of(interval, printed),
            ..Sum::default()
        };
        Totals {
            interval,
            printed,
            inuse: sum(printed.inuse),
            alloc: sum(printed.alloc),
        }
    }

    /// Adds the counts of a stack.
    ///
    /// # Errors
    ///
    /// If the totals cannot agree any more, because counts only add up. The error is the sum.
    pub(super) fn add(&mut self, counts: Counts) -> Result<(), Tally> {
        self.inuse.add(self.interval, counts.inuse);
        self.alloc.add(self.interval, counts.alloc);
        self.inuse.check_most(self.printed.inuse)?;
        self.alloc.check_most(self.printed.alloc)
    }

    /// Checks the counts of the process against all stacks.
    ///
    /// # Errors
    ///
    /// The error is what the stacks add up to, in the part that does not agree.
    pub(super) fn check(&self) -> Result<(), Tally> {
        self.inuse.check(self.printed.inuse)?;
        self.alloc.check(self.printed.alloc)
    }
}

impl Sum {
    fn add(&mut self, interval: SampleInterval, stack: Tally) {
        self.sum = self.sum.saturating_add(stack);
        self.range.add(Range::of(interval, stack));
    }

    fn check_most(&self, printed: Tally) -> Result<(), Tally> {
        let more = self.sum.objects > printed.objects || self.sum.bytes > printed.bytes;
        match more && self.range.is_above(self.total) {
            true => Err(self.sum),
            false => Ok(()),
        }
    }

    fn check(&self, printed: Tally) -> Result<(), Tally> {
        match self.sum == printed || self.range.meets(self.total) {
            true => Ok(()),
            false => Err(self.sum),
        }
    }
}

/// The estimates that jemalloc may have had for two integers that it printed.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    low: Estimate,
    high: Estimate,
}

/// The ratio Z/R from which 1 − exp(−Z/R) is 1 for every possible count, so that the printed
/// integers are the counts.
const CERTAIN: f64 = 50.0;

impl Range {
    /// Each integer is rounded, so it may be off by a half. The estimate of the bytes rises
    /// with both integers. The estimate of the objects rises with the objects and falls with
    /// the bytes.
    fn of(interval: SampleInterval, printed: Tally) -> Range {
        let (objects, bytes) = (to_f64(printed.objects), to_f64(printed.bytes));
        if printed.objects == 0 && printed.bytes == 0 {
            return Range::default();
        }
        if interval.is_exact() {
            return Range::of_exact(objects, bytes);
        }
        let bytes_at = |by: f64| interval.estimate(objects + by, bytes + by).bytes;
        let objects_at = |by: f64| interval.estimate(objects + by, bytes - by).objects;
        Range {
            low: Estimate {
                objects: objects_at(-0.5),
                bytes: bytes_at(-0.5),
            },
            high: Estimate {
                objects: objects_at(0.5),
                bytes: bytes_at(0.5),
            },
        }
    }

    /// At an interval of 1, jemalloc's sums are whole numbers. So rounding loses nothing,
    /// except where 1 − exp(−Z) differs from 1, which is for objects of 8 bytes.
    fn of_exact(objects: f64, bytes: f64) -> Range {
        let mean = match objects > 0.0 {
            true => bytes / objects,
            false => bytes,
        };
        let missing = bytes * (-mean).exp();
        // Otherwise a half for the rounding of the printed integers, and a little for the mean
        // from which the scale is computed.
        let (scale, off) = match mean >= CERTAIN || missing < 0.25 {
            true => (1.0, 0.0),
            false => (1.0 / (1.0 - (-mean).exp()), 0.6),
        };
        // No estimate is negative, so the sums of them never fall.
        let at = |by: f64| Estimate {
            objects: (objects * scale + by).max(0.0),
            bytes: (bytes * scale + by).max(0.0),
        };
        Range {
            low: at(-off),
            high: at(off),
        }
    }

    fn add(&mut self, other: Range) {
        self.low += other.low;
        self.high += other.high;
    }

    fn meets(self, other: Range) -> bool {
        !self.is_above(other) && !other.is_above(self)
    }

    /// Tells whether the lowest estimates, of objects or of bytes, are above the other's highest.
    fn is_above(self, other: Range) -> bool {
        let above = |of: fn(Estimate) -> f64| {
            // The slack is for the rounding of the sums, which are doubles.
            let slack = 1e-9 * of(self.high).max(of(other.high));
            of(self.low) > of(other.high) + slack
        };
        above(|estimate| estimate.objects) || above(|estimate| estimate.bytes)
    }
}
