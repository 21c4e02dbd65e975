//! A leak of a known size on a known stack, at every rung.
//!
//! A run that does not find it in its dumps, in the right amount, has measured
//! nothing, whatever else the dumps say. Three functions call each other, so
//! that an unwinder which stops after one frame is found out as well. The
//! front knows them by their addresses: a stripped program has no names.

use std::hint::black_box;

/// Bytes of the object that `calibrate` and an exact canary are made of: a size class
/// of its own, so none is rounded.
pub(crate) const BYTES: usize = 48;

/// How far behind its start a return address into one of the functions may lie.
pub(crate) const EXTENT: u64 = 256;

/// What is leaked at one rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Canary {
    pub(crate) objects: u64,
    /// Of each; a size class of its own.
    pub(crate) bytes: usize,
}

impl Canary {
    /// At a sample interval of 2^`lg_interval` bytes: one object where all are
    /// sampled; else several so large that most of them are.
    pub(crate) fn at(lg_interval: usize) -> Canary {
        match lg_interval {
            0 => Canary {
                objects: 1,
                bytes: BYTES,
            },
            lg => Canary {
                objects: 8,
                bytes: BYTES.max(1 << lg.min(30)),
            },
        }
    }
}

/// Where the functions begin, leaf first.
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
    // Never touched: a large one takes no memory but addresses.
    black_box(Vec::<u8>::with_capacity(black_box(bytes)).leak());
    black_box(());
}
