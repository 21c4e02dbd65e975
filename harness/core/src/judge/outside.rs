//! How growth of memory outside the allocator is judged.
//!
//! Such memory comes in pages and larger pieces, for reasons of its own: the C library grows its
//! heap by 132 KiB, a thread brings a stack of megabytes, and stacks of threads that have ended
//! wait to be used again. So it is counted in pieces of [`PIECE`] bytes, and has a threshold of
//! its own, in bytes per iteration.
//!
//! Unless a threshold is set, such memory leaves nothing open if it does not grow as a leak does:
//! it is within. A ladder that could end early goes on while it has just grown.

use super::{OBJECTS_AT_TOP, Policy};
use crate::growth::{Growth, Quantity};
use crate::rate::to_f64;
use crate::{Law, Rate, Series, Tally};

/// Bytes that count as one object. With fewer, one step of the C library's heap would be many
/// objects at once; with more, a leak of 100 bytes would need a longer ladder.
const PIECE: u64 = 64 << 10;

/// The threshold if none is set, in bytes per iteration: a piece in about as many iterations as
/// the heap's threshold has for an object.
pub const DEFAULT_OUTSIDE: u64 = 64;

/// What each thread may explain: a stack of the usual 8 MiB with what belongs to it, and the
/// beginning of an arena of the C library.
const BY_THREAD: u64 = 9 << 20;

/// What must be known of growth that is within.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// That growth at twice the threshold would have been found: the threshold was set. Nothing
    /// is known if the ladder is too short for it.
    Findable { is_reached: bool },
    /// That it has not just grown: the ladder may go on.
    AtRest,
    /// No more than that it does not grow as a leak does.
    Nothing,
}

/// The terms on which memory outside the allocator is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outside {
    /// The threshold, in bytes per iteration.
    pub(super) threshold: u64,
    /// What must be known of growth that is within.
    known: Known,
    /// Bytes per iteration that new threads explain.
    by_threads: f64,
}

/// Returns levels in bytes with the number of pieces as objects.
pub(super) fn in_pieces(levels: &Series) -> Series {
    let pieces = |level: &Tally| Tally {
        objects: level.bytes / PIECE,
        bytes: level.bytes,
    };
    Series::new(levels.levels().iter().map(pieces).collect())
}

impl Outside {
    /// Returns the terms after so many iterations. `threads` is the growth of the threads.
    ///
    /// A threshold that was not set is as fine as the ladder is long: by the last rung, growth at
    /// the threshold makes [`OBJECTS_AT_TOP`] pieces.
    pub(super) fn of(iterations: u64, policy: &Policy, threads: Option<&Growth>) -> Outside {
        let finest = (OBJECTS_AT_TOP * PIECE).div_ceil(iterations.max(1));
        let threads = threads.map_or(0.0, |threads| threads.objects.rate.max(0.0));
        Outside {
            threshold: policy.outside.unwrap_or(DEFAULT_OUTSIDE.max(finest)),
            known: match policy.outside {
                Some(set) => Known::Findable {
                    is_reached: set >= finest,
                },
                None if policy.at_top => Known::Nothing,
                None => Known::AtRest,
            },
            by_threads: threads * to_f64(BY_THREAD),
        }
    }

    /// Returns growth whose bytes rise if its pieces do, or if its bytes double.
    pub(super) fn growth(growth: Growth) -> Growth {
        let bytes = match growth.bytes.rising {
            true => growth.bytes,
            false => Quantity {
                rising: growth.objects.rising,
                is_anew: growth.objects.is_anew,
                ..growth.bytes
            },
        };
        Growth { bytes, ..growth }
    }

    /// Returns the rate, in bytes, above which growth exceeds what is allowed.
    fn cut(&self, allowed: Rate) -> f64 {
        allowed.bytes + self.by_threads + 0.5 * to_f64(self.threshold)
    }

    /// Returns whether the growth rises past what is allowed, by more than its error.
    pub(super) fn exceeds(&self, growth: &Growth, allowed: Rate, may_be_anew: bool) -> bool {
        let bytes = &growth.bytes;
        let counts = bytes.rising && (may_be_anew || !bytes.is_anew);
        counts && bytes.rate - bytes.error > self.cut(allowed)
    }

    /// Returns whether nothing is left open: it does not rise past what is allowed, and as much is
    /// known as must be.
    pub(super) fn stays_within(&self, growth: &Growth, allowed: Rate) -> bool {
        let is_bounded = growth.bytes.bound < self.cut(allowed);
        let is_known = match self.known {
            Known::Findable { is_reached } => {
                let findable = to_f64(PIECE) * growth.objects.findable;
                let twice = 2.0 * to_f64(self.threshold);
                is_reached && is_bounded && findable <= twice
            }
            Known::AtRest => is_bounded || growth.bytes.law == Law::Fluctuating,
            Known::Nothing => true,
        };
        is_known && !self.exceeds(growth, allowed, true)
    }

    /// Returns what is left open, as a multiple of what would be within.
    pub(super) fn short_by(&self, growth: &Growth, allowed: Rate) -> f64 {
        match self.stays_within(growth, allowed) {
            true => 0.0,
            false => growth.bytes.bound / self.cut(allowed),
        }
    }
}
