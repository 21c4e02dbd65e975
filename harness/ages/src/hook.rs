//! The hook that jemalloc calls for each sampled allocation.
//!
//! It runs inside `malloc`, on any thread and on whatever stack the program uses, even that of a
//! small coroutine. So it must not allocate, lock, panic or need much stack.

use std::cell::Cell;
use std::ffi::{c_uint, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::jemalloc::{self, BacktraceHook, OF_WALKER};
use crate::number::number;
#[cfg(feature = "unwinder")]
use crate::unwinder;
use crate::{Outcome, time_of_birth};

/// The hook that was there before.
static WALKER: OnceLock<BacktraceHook> = OnceLock::new();

/// When `install` was called, on the clock of [`now`].
static START: AtomicI64 = AtomicI64::new(0);

/// See [`crate::install`]. To be called once.
pub(crate) fn install() -> Outcome {
    let on_heap = Box::new(0_u8);
    if !jemalloc::has_allocated((&raw const *on_heap).cast()) {
        return Outcome::OtherAllocator;
    }
    if !jemalloc::has_profiler() {
        return Outcome::WithoutProfiler;
    }
    if !jemalloc::is_profiled() {
        return Outcome::NotProfiled;
    }
    let Some(walker) = jemalloc::backtrace_hook() else {
        return Outcome::WithoutHook;
    };
    let Some(now) = now() else {
        return Outcome::WithoutClock;
    };
    START.store(now, Ordering::Relaxed);
    #[cfg(feature = "unwinder")]
    let outcome = match unwinder::install(walker) {
        true => Outcome::Installed,
        false => Outcome::OtherUnwinder,
    };
    #[cfg(not(feature = "unwinder"))]
    let outcome = Outcome::Installed;
    if WALKER.set(walker).is_ok() && jemalloc::set_backtrace_hook(hook) {
        outcome
    } else {
        Outcome::WithoutHook
    }
}

pub(crate) fn advance_clock(milliseconds: i64) {
    START.fetch_sub(milliseconds, Ordering::Relaxed);
}

/// Returns the milliseconds of a clock that the kernel sets at each tick (1 to 10 ms). libc reads
/// it without a system call, from memory that the kernel shares (vdso(7)).
fn now() -> Option<i64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: clock_gettime(2) writes to the structure, which lives across the call.
    if unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, time.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: clock_gettime(2): after 0 was returned, the structure has the time.
    let time = unsafe { time.assume_init() };
    Some(
        time.tv_sec
            .wrapping_mul(1_000)
            .wrapping_add(time.tv_nsec / 1_000_000),
    )
}

/// The bytes of [`time_of_birth`]. Its address is a multiple of them.
pub(crate) const ROOM: u64 = 1_024;

/// The offset of birth 0. Tools that look callers up subtract one from a return address, and
/// must still find this function.
const FIRST: u64 = 16;

/// An instruction that stops the program, and its bytes.
pub(crate) const TRAP: (u32, u64) = if cfg!(target_arch = "x86_64") {
    (0xcc, 1) // int3
} else {
    (0xd420_0000, 4) // brk #0
};

/// Returns the word for a birth that is now.
fn word() -> Option<*mut c_void> {
    let uptime = now()?.wrapping_sub(START.load(Ordering::Relaxed));
    let number = number(uptime.max(0).cast_unsigned());
    // If a linker script has moved the function, its traps are still aligned.
    let start = (time_of_birth as *const () as u64).next_multiple_of(ROOM);
    Some((start + FIRST + number) as *mut c_void)
}

/// The most bytes from the start of [`hook`] to the return address of its call; a debug build
/// has about 100.
const EXTENT: usize = 1_024;

/// Addresses below are no code: Linux keeps the first 64 KiB free (`vm.mmap_min_addr`). The
/// harness of `plimsoll` writes births of its own there.
const LOWEST: usize = 0x1_0000;

/// Walks the stack, and writes a birth behind the frames.
#[inline(never)]
unsafe extern "C" fn hook(frames: *mut *mut c_void, length: *mut c_uint, capacity: c_uint) {
    #[cfg(feature = "unwinder")]
    {
        let captured = plimsoll_unwind::capture!();
        // SAFETY: prof_hook.h and the hook's only caller, `prof_backtrace` in prof_sys.c: `frames`
        // is an array of `capacity` pointers, and nobody else has a reference to it.
        let frames = unsafe { std::slice::from_raw_parts_mut(frames, capacity as usize) };
        if let Some(walked) = unwinder::walk(&captured, frames) {
            // SAFETY: as above; `length` is an output.
            unsafe { *length = add_birth(frames, walked) };
            return;
        }
    }
    if let Some(walker) = WALKER.get() {
        // SAFETY: prof_hook.h: these are the arguments with which jemalloc would call it.
        unsafe { walker(frames, length, capacity) };
    }
    // SAFETY: prof_hook.h and the hook's only caller, `prof_backtrace` in prof_sys.c: `length`
    // is the number of frames, which `bt_init` has set to 0, and nobody else has a reference to
    // it.
    let length = unsafe { &mut *length };
    // SAFETY: likewise, `frames` is an array of `capacity` pointers, whose first `length` the
    // wrapped hook has written.
    let frames = unsafe { std::slice::from_raw_parts_mut(frames, capacity as usize) };
    let walked = without_frame_of(hook as BacktraceHook as usize, frames, *length as usize);
    *length = add_birth(frames, walked);
}

/// Adds the birth. Returns the new length. A stack that fills the array loses its root for it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "jemalloc's array has few places"
)]
fn add_birth(frames: &mut [*mut c_void], walked: usize) -> c_uint {
    let last = frames.get(..walked).and_then(<[_]>::last);
    let is_born = last.is_some_and(|last| (*last as usize) < LOWEST);
    if is_born || frames.len() < 2 {
        return walked as c_uint;
    }
    let walked = walked.min(frames.len() - 1);
    if let Some(place) = frames.get_mut(walked)
        && let Some(word) = word()
    {
        *place = word;
        return walked as c_uint + 1;
    }
    walked as c_uint
}

/// Removes the frame of a function between jemalloc and its unwinder, which would look as if it
/// allocated. Returns the new length.
fn without_frame_of(function: usize, frames: &mut [*mut c_void], walked: usize) -> usize {
    let frames = Cell::from_mut(frames).as_slice_of_cells();
    let frames = frames.get(..walked).unwrap_or(frames);
    // Of the frames that can be in the function, the one that is nearest to its start is: others
    // are in functions behind it.
    let offset = |frame: &Cell<*mut c_void>| (frame.get() as usize).wrapping_sub(function);
    let firsts = frames.iter().take(OF_WALKER).map(offset).enumerate();
    match firsts.min_by_key(|(_, offset)| *offset) {
        Some((place, offset)) if offset < EXTENT => {
            let behind = frames.iter().skip(place + 1);
            for (to, from) in frames.iter().skip(place).zip(behind) {
                to.set(from.get());
            }
            frames.len() - 1
        }
        _ => frames.len(),
    }
}
