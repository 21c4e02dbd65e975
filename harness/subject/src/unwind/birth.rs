//! Adds to every stack when it was walked, in a word that the front reads (`birth` in
//! `plimsoll-core`).
//!
//! The word is the stack's birth. It names a generation: the objects that are allocated between
//! two rungs (dumps).

use std::ffi::{c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::jemalloc::{self, BacktraceHook};

/// The word of generation 0. The word of any other generation is larger by its number. It is no
/// address of code, because Linux keeps the first 64 KiB free.
const WORD: u64 = 0x1000;

/// Number of generations that can be told apart.
const GENERATIONS: u64 = 0x400;

/// The word of the last generation.
const LAST: u64 = WORD + GENERATIONS - 1;

/// The word of the current generation; 0 outside a measurement, where stacks get no word.
///
/// The hook reads it on any thread, without ordering. So an object that is allocated at the
/// time of a dump may count on either side.
static BORN: AtomicU64 = AtomicU64::new(0);

/// Starts the first generation: from here on stacks get a word.
pub(crate) fn begin() {
    BORN.store(WORD, Ordering::Relaxed);
}

/// Starts the next generation. The last one that fits into a word never ends. To be called by
/// one thread only.
pub(crate) fn next_generation() {
    let next = BORN.load(Ordering::Relaxed) + 1;
    BORN.store(next.min(LAST), Ordering::Relaxed);
}

/// Returns the part of jemalloc's array that frames may use. So a stack that is cut keeps its
/// word.
pub(super) fn without_word(frames: &mut [*mut c_void]) -> &mut [*mut c_void] {
    let most = frames.len().saturating_sub(1);
    &mut frames[..most]
}

/// Returns a stack without its word.
pub(crate) fn without(stack: &[u64]) -> &[u64] {
    match stack {
        [frames @ .., WORD..=LAST] => frames,
        stack => stack,
    }
}

/// Writes the word behind the frames that were walked. Returns the new length.
#[expect(
    clippy::cast_possible_truncation,
    reason = "jemalloc's array has few places"
)]
pub(super) fn note(frames: &mut [*mut c_void], walked: usize) -> c_uint {
    let noted = match (BORN.load(Ordering::Relaxed), frames.get_mut(walked)) {
        (0, _) | (_, None) => walked,
        (word, Some(place)) => {
            *place = word as *mut c_void;
            walked + 1
        }
    };
    noted as c_uint
}

/// The unwinder that [`hook`] calls.
static WALKER: OnceLock<BacktraceHook> = OnceLock::new();

/// Wraps jemalloc's own unwinder, so that its stacks get the word too.
///
/// # Errors
///
/// If jemalloc is older than 5.3.0: its unwinder can be neither read nor replaced.
pub(crate) fn wrap() -> Result<(), jemalloc::Error> {
    if let Some(walker) = jemalloc::prof_backtrace_hook()?
        && WALKER.set(walker).is_ok()
    {
        jemalloc::set_prof_backtrace_hook(hook)?;
    }
    Ok(())
}

/// The most bytes from the start of [`hook`] to the return address of its call; a debug build
/// has about 130.
const EXTENT: usize = 1_024;

/// The most frames of jemalloc's unwinder itself; libgcc's has one.
const OF_WALKER: usize = 8;

/// Does the same as `super::hook`, with the frames that another hook finds.
#[inline(never)]
unsafe extern "C" fn hook(frames: *mut *mut c_void, length: *mut c_uint, capacity: c_uint) {
    if let Some(walker) = WALKER.get() {
        // SAFETY: prof_hook.h: these are the arguments with which jemalloc would call it.
        unsafe { walker(frames, length, capacity) };
    }
    // SAFETY: prof_hook.h and the hook's only caller, `prof_backtrace` in prof_sys.c: `length`
    // is the number of frames, which `bt_init` has set to 0, and nobody else has a reference to
    // it yet.
    let length = unsafe { &mut *length };
    // SAFETY: likewise, `frames` is an array of `capacity` pointers.
    let frames = unsafe { std::slice::from_raw_parts_mut(frames, capacity as usize) };
    let walked = without_frame_of(hook as BacktraceHook as usize, frames, *length as usize);
    let most = without_word(frames).len();
    *length = note(frames, walked.min(most));
}

/// Removes the frame of a function between jemalloc and its unwinder, which would look as if it
/// allocated. Returns the new length.
fn without_frame_of(function: usize, frames: &mut [*mut c_void], walked: usize) -> usize {
    let is_of = |frame: &*mut c_void| (*frame as usize).wrapping_sub(function) < EXTENT;
    match frames[..walked.min(OF_WALKER)].iter().position(is_of) {
        Some(place) => {
            frames.copy_within(place + 1..walked, place);
            walked - 1
        }
        None => walked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_frame_is_taken_off() {
        let without = |frames: [usize; 4], walked| {
            let mut frames = frames.map(|frame| frame as *mut c_void);
            let left = without_frame_of(0x5000, &mut frames, walked);
            frames[..left]
                .iter()
                .map(|frame| *frame as usize)
                .collect::<Vec<_>>()
        };
        let frames = [0x9000, 0x5040, 0x8000, 0x5080];
        assert_eq!(without(frames, 4), [0x9000, 0x8000, 0x5080]);
        assert_eq!(without(frames, 2), [0x9000]);
        assert_eq!(without(frames, 1), [0x9000]);
        assert_eq!(without(frames, 0), [0; 0]);
    }

    /// This is one test because all tests share one generation.
    #[test]
    fn a_stack_keeps_its_word_at_the_limit() {
        let nothing = std::ptr::null_mut();
        let noted = |walked: usize| {
            let mut room = [nothing; 3];
            let length = note(&mut room, walked);
            (length, room.map(|word| word as u64))
        };
        assert_eq!(noted(1), (1, [0, 0, 0]));
        begin();
        assert_eq!(without_word(&mut [nothing; 3]).len(), 2);
        assert_eq!(without_word(&mut []).len(), 0);
        assert_eq!(noted(0), (1, [0x1000, 0, 0]));
        next_generation();
        assert_eq!(noted(2), (3, [0, 0, 0x1001]));
        assert_eq!(noted(3), (3, [0, 0, 0]));
        for _ in 0..2 * GENERATIONS {
            next_generation();
        }
        assert_eq!(noted(0), (1, [0x13ff, 0, 0]));
    }
}
