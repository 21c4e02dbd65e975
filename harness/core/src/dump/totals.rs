//! Checks that the counts of the process in a dump match its stacks.

use super::interval::{Estimate, SampleInterval, count};
use crate::{Counts, Tally};

/// Checks the process's counts against the stacks. The page of [`crate::dump`] says what jemalloc
/// guarantees.
///
/// # Errors
///
/// The error is what the stacks add up to, in the part that does not agree.
pub(super) fn check(
    interval: SampleInterval,
    totals: Counts,
    stacks: impl Iterator<Item = Counts> + Clone,
) -> Result<(), Tally> {
    let inuse = stacks.clone().map(|counts| counts.inuse);
    check_part(interval, totals.inuse, inuse)?;
    check_part(interval, totals.alloc, stacks.map(|counts| counts.alloc))
}

fn check_part(
    interval: SampleInterval,
    total: Tally,
    stacks: impl Iterator<Item = Tally> + Clone,
) -> Result<(), Tally> {
    let sum = stacks.clone().fold(Tally::default(), Tally::saturating_add);
    if sum == total {
        return Ok(());
    }
    let mut range = Range::default();
    for stack in stacks {
        range.add(Range::of(interval, stack));
    }
    match range.meets(Range::of(interval, total)) {
        true => Ok(()),
        false => Err(sum),
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
        let (objects, bytes) = (count(printed.objects), count(printed.bytes));
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
        let at = |by: f64| Estimate {
            objects: objects * scale + by,
            bytes: bytes * scale + by,
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
        let meet = |of: fn(Estimate) -> f64| {
            // The slack is for the rounding of the sums, which are doubles.
            let slack = 1e-9 * of(self.high).max(of(other.high));
            of(self.low) <= of(other.high) + slack && of(other.low) <= of(self.high) + slack
        };
        meet(|estimate| estimate.objects) && meet(|estimate| estimate.bytes)
    }
}
