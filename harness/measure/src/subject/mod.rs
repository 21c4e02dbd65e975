//! The process that is measured: it runs one workload, and dumps when told to.
//!
//! Between two dumps it runs the workload and nothing of ours but a counter:
//! commands are read into a buffer on the stack, and answers written from one.

#[cfg(plimsoll_supported)]
pub(crate) mod canary;
#[cfg(plimsoll_supported)]
pub(crate) mod channel;
#[cfg(plimsoll_supported)]
mod run;
#[cfg(plimsoll_supported)]
mod threads;
#[cfg(plimsoll_supported)]
pub(crate) mod unwind;

use std::hint::black_box;

use crate::workload::Iteration;

#[cfg(plimsoll_supported)]
pub(crate) use run::{Arguments, CONFIGURATION, run};

/// Sets a workload up. Its name marks where the harness ends on a stack, which
/// `plimsoll_core::fold` cuts there; so it is never inlined, and never the
/// caller in a tail call.
#[inline(never)]
pub(crate) fn workload_setup<W>(setup: impl FnOnce() -> W) -> W {
    black_box(setup())
}

/// Runs one iteration. As with [`workload_setup`], the name is a marker.
#[inline(never)]
pub(crate) fn workload_iteration<R: Iteration>(
    workload: &mut impl FnMut(u64) -> R,
    i: u64,
) -> Result<(), String> {
    black_box(workload(i)).outcome()
}
