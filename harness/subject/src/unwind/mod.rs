//! The profiler's hook: walks the stack with `plimsoll_unwind`, and adds a birth.
//!
//! If every allocation is sampled, walking takes most of the time of profiling, so jemalloc's own
//! unwinder is replaced (`experimental.hooks.prof_backtrace`). The hook does not allocate and does
//! not lock.

pub(crate) mod birth;

use std::ffi::{c_uint, c_void};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_unwind::{End, Files, walk, walk_with_both};
pub(super) use plimsoll_unwind::{has_tables, refresh, wants_refresh};

use crate::jemalloc;

static WITHOUT_INFORMATION: AtomicU64 = AtomicU64::new(0);
static ASTRAY: AtomicU64 = AtomicU64::new(0);
static COMPARED: AtomicU64 = AtomicU64::new(0);
static DIFFERENT: AtomicU64 = AtomicU64::new(0);

/// Counts of walks since the start: those that ended early, and those that were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walks {
    /// Walks that ended at code without unwind information.
    pub(crate) without_information: u64,
    /// Walks that ended at unwind information that led nowhere.
    pub(crate) astray: u64,
    /// Walks that were compared with libgcc's.
    pub(crate) compared: u64,
    /// Compared walks with a different result.
    pub(crate) different: u64,
}

/// The form in which the subject sends it to the front.
impl fmt::Display for Walks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Walks {
            without_information,
            astray,
            compared,
            different,
        } = self;
        write!(f, "{without_information} {astray} {compared} {different}")
    }
}

/// Returns the counts so far.
pub(super) fn walks() -> Walks {
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Walks {
        without_information: load(&WITHOUT_INFORMATION),
        astray: load(&ASTRAY),
        compared: load(&COMPARED),
        different: load(&DIFFERENT),
    }
}

/// The unwinders that can walk stacks for the profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwinder {
    Plimsoll,
    Libgcc,
    /// Both walk every stack, and differences are counted; for tests.
    Compare,
}

impl Unwinder {
    const WORDS: [(&'static str, Unwinder); 3] = [
        ("plimsoll", Unwinder::Plimsoll),
        ("libgcc", Unwinder::Libgcc),
        ("compare", Unwinder::Compare),
    ];

    pub(crate) fn from_word(word: &str) -> Option<Unwinder> {
        let found = Self::WORDS.into_iter().find(|(known, _)| *known == word);
        found.map(|(_, unwinder)| unwinder)
    }

    /// Makes this unwinder walk the stacks. Plimsoll's does so only if it finds the same as
    /// libgcc's.
    ///
    /// # Errors
    ///
    /// Why jemalloc keeps its own unwinder; empty if that was asked for.
    pub(crate) fn install(self) -> Result<(), String> {
        let hook = match self {
            Unwinder::Plimsoll => hook,
            Unwinder::Libgcc => return Err(String::new()),
            Unwinder::Compare => comparing_hook,
        };
        plimsoll_unwind::prepare(Files::Loaded)?;
        if self == Unwinder::Plimsoll {
            plimsoll_unwind::agrees_with_libgcc()?;
        }
        jemalloc::set_prof_backtrace_hook(hook)
            .map_err(|error| format!("this jemalloc takes no other: {error}"))
    }
}

/// The word by which the front and the greeting call it.
impl fmt::Display for Unwinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Self::WORDS.into_iter();
        let word = words.find(|(_, unwinder)| unwinder == self);
        f.write_str(word.map_or("", |(word, _)| word))
    }
}

/// Makes walks end at the function that contains this macro. Its callers are the harness: they
/// are the same for every allocation, and comparing them takes time.
macro_rules! end_stacks_here {
    () => {
        plimsoll_unwind::end_stacks_at(&plimsoll_unwind::capture!())
    };
}
pub(crate) use end_stacks_here;

/// The hook that jemalloc calls for every sampled allocation (`prof_backtrace_hook_t`).
///
/// Fills `frames` with at most `capacity` words: the return addresses, leaf first, and behind
/// them the birth of the stack.
#[inline(never)]
unsafe extern "C" fn hook(frames: *mut *mut c_void, length: *mut c_uint, capacity: c_uint) {
    let captured = plimsoll_unwind::capture!();
    // SAFETY: prof_hook.h and the hook's only caller, `prof_backtrace` in prof_sys.c: `frames`
    // is an array of `capacity` pointers, and nobody else has a reference to it yet.
    let frames = unsafe { std::slice::from_raw_parts_mut(frames, capacity as usize) };
    let (walked, end) = walk(&captured, birth::without_word(frames));
    count(end);
    // SAFETY: as above; `length` is an output.
    unsafe { *length = birth::note(frames, walked) };
}

/// Does the same with both unwinders, and keeps the stack that plimsoll's finds.
#[inline(never)]
unsafe extern "C" fn comparing_hook(
    frames: *mut *mut c_void,
    length: *mut c_uint,
    capacity: c_uint,
) {
    let captured = plimsoll_unwind::capture!();
    // SAFETY: as in `hook`.
    let frames = unsafe { std::slice::from_raw_parts_mut(frames, capacity as usize) };
    let (walked, end, is_same) = walk_with_both(&captured, birth::without_word(frames));
    count(end);
    COMPARED.fetch_add(1, Ordering::Relaxed);
    DIFFERENT.fetch_add(u64::from(!is_same), Ordering::Relaxed);
    // SAFETY: as in `hook`.
    unsafe { *length = birth::note(frames, walked) };
}

fn count(end: End) {
    match end {
        End::Root | End::Full => {}
        End::NoInformation => _ = WITHOUT_INFORMATION.fetch_add(1, Ordering::Relaxed),
        End::Astray => _ = ASTRAY.fetch_add(1, Ordering::Relaxed),
    }
}
