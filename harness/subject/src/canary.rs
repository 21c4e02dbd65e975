//! The canary: a leak of a known size on a known stack, at every rung (a dump of the ladder).
//!
//! If a run does not find the canary in its dumps, in the right amount, it has measured
//! nothing, whatever else the dumps say. Three functions call each other, which also detects an
//! unwinder that stops after one frame. The front recognises them by their addresses, because a
//! stripped program has no names.

use std::hint::black_box;

use crate::jemalloc;

/// Bytes of the objects of `calibrate` and of an exact canary. This is a size class of
/// jemalloc, so the size is not rounded up.
pub(crate) const BYTES: usize = 48;

/// The objects that are leaked at one rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Canary {
    pub(crate) objects: u64,
    /// Bytes of each object: one of jemalloc's size classes.
    pub(crate) bytes: usize,
}

impl Canary {
    /// Returns the canary for this process's profile.
    pub(crate) fn of_profile() -> Canary {
        Canary::at(jemalloc::lg_sample().unwrap_or(0))
    }

    /// Returns the canary for a sample interval of 2^`lg_interval` bytes: one object if every
    /// allocation is sampled; if not, eight objects so large that most of them are sampled.
    fn at(lg_interval: usize) -> Canary {
        let (objects, bytes) = match lg_interval {
            0 => (1, BYTES),
            lg => (8, BYTES.max(1 << lg.min(30))),
        };
        Canary { objects, bytes }
    }
}

/// Returns the addresses of the functions, leaf first.
pub(crate) fn addresses() -> [usize; 3] {
    [
        leaf as fn(usize) as usize,
        middle as fn(usize) as usize,
        root as fn(Canary) as usize,
    ]
}

/// Leaks one canary.
#[inline(never)]
pub(crate) fn root(canary: Canary) {
    for _ in 0..canary.objects {
        middle(canary.bytes);
    }
    black_box(());
}

#[inline(never)]
fn middle(bytes: usize) {
    leaf(bytes);
    black_box(());
}

#[inline(never)]
fn leaf(bytes: usize) {
    // The memory is never touched, so a large object takes only address space.
    black_box(Vec::<u8>::with_capacity(black_box(bytes)).leak());
    black_box(());
}
