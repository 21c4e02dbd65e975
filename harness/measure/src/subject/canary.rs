//! A leak of a known size on a known stack, at every rung.
//!
//! A run that does not find it in its dumps, in the right amount, has measured
//! nothing, whatever else the dumps say. Three functions call each other, so
//! that an unwinder which stops after one frame is found out as well. The
//! front knows them by their addresses: a stripped program has no names.

use std::hint::black_box;

/// Bytes of one canary: a size class of its own, so none is rounded.
pub(crate) const BYTES: usize = 48;

/// How far behind its start a return address into one of the functions may lie.
pub(crate) const EXTENT: u64 = 256;

/// Where the functions begin, leaf first.
pub(crate) fn addresses() -> [usize; 3] {
    [
        leaf as fn() as usize,
        middle as fn() as usize,
        root as fn() as usize,
    ]
}

/// Leaks one canary.
#[inline(never)]
pub(crate) fn root() {
    middle();
    black_box(());
}

#[inline(never)]
fn middle() {
    leaf();
    black_box(());
}

#[inline(never)]
fn leaf() {
    Box::leak(black_box(Box::new([0_u8; BYTES])));
    black_box(());
}
