//! Plimsoll's unwinder, in front of the one that was there before.

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_unwind::{Captured, End, Files, agrees_with_libgcc, prepare};

use crate::jemalloc::{BacktraceHook, OF_WALKER};

static IS_USED: AtomicBool = AtomicBool::new(false);

/// For tests: whether the unwinder that was there stays in any case.
pub(crate) static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Uses the unwinder from now on, if it finds the same stacks as libgcc and as the hook that was
/// there. Returns whether it does.
pub(crate) fn install(walker: BacktraceHook) -> bool {
    if IS_OFF.load(Ordering::Relaxed) {
        return true;
    }
    // The libraries that a program is linked to stay loaded. A server may unload others at any
    // time, and then what the unwinder knows of their code would be wrong.
    let is_same =
        prepare(Files::Linked).is_ok() && agrees_with(walker) && { agrees_with_libgcc().is_ok() };
    IS_USED.store(is_same, Ordering::Relaxed);
    is_same
}

/// Writes the return addresses of the callers of the function in which the registers were
/// captured. Returns their number, or `None` if the stack is for the other unwinder: it has code
/// of a library that was loaded later, or code without unwind information.
///
/// Never inlined, because the hook has to stay short: its frame is found by its extent.
#[inline(never)]
pub(crate) fn walk(captured: &Captured, frames: &mut [*mut c_void]) -> Option<usize> {
    if !IS_USED.load(Ordering::Relaxed) {
        return None;
    }
    let (walked, end) = plimsoll_unwind::walk(captured, frames);
    matches!(end, End::Root | End::Full).then_some(walked)
}

/// The most frames of a stack on which `install` is called.
const MOST: c_uint = 256;

/// Compares this stack with what the hook finds. If the hook adds anything, as the harness of
/// `plimsoll` adds its own births, it must stay.
#[inline(never)]
fn agrees_with(walker: BacktraceHook) -> bool {
    let captured = plimsoll_unwind::capture!();
    let mut ours = [ptr::null_mut(); MOST as usize];
    let (walked, end) = plimsoll_unwind::walk(&captured, &mut ours);
    let mut theirs = [ptr::null_mut(); MOST as usize];
    let mut length: c_uint = 0;
    // SAFETY: prof_hook.h: an array, its length, which is 0 before, and its capacity.
    unsafe { walker(theirs.as_mut_ptr(), &raw mut length, MOST) };
    let (Some(ours), Some(theirs)) = (ours.get(..walked), theirs.get(..length as usize)) else {
        return false;
    };
    // The hook begins with its own frames and with this function, and `walk` with the caller.
    let more = theirs.len().saturating_sub(ours.len());
    end == End::Root && theirs.ends_with(ours) && more <= OF_WALKER
}
