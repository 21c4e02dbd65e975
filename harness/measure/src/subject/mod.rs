//! The subject: the process that is measured. It runs one workload, and dumps its heap when the
//! front tells it to.
//!
//! Between two dumps the subject runs only the workload and a counter. It reads commands into a
//! buffer on the stack, and writes answers from one.

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

/// Sets a workload up.
///
/// Folding (`plimsoll_core::fold`) finds this function's name on a stack and removes the
/// harness's frames there. So it is never inlined, and `black_box` keeps its call of `setup`
/// from becoming a tail call.
#[inline(never)]
pub(crate) fn workload_setup<W>(setup: impl FnOnce() -> W) -> W {
    black_box(setup())
}

/// Runs one iteration. Like [`workload_setup`], this function is a marker on the stack.
#[inline(never)]
pub(crate) fn workload_iteration<R: Iteration>(
    workload: &mut impl FnMut(u64) -> R,
    i: u64,
) -> Result<(), String> {
    black_box(workload(i)).outcome()
}
