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

impl Walks {
    /// Parses four numbers; missing ones are zero.
    pub(crate) fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Walks {
        let mut numbers = words.into_iter().map(|word| word.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        Walks {
            without_information: next(),
            astray: next(),
            compared: next(),
            different: next(),
        }
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

/// Replaces libgcc's unwinder with plimsoll's, if both find the same stacks.
///
/// # Errors
///
/// Why jemalloc keeps its own unwinder.
pub(crate) fn install() -> Result<(), String> {
    plimsoll_unwind::prepare(Files::Loaded)?;
    plimsoll_unwind::agrees_with_libgcc()?;
    use_hook(hook)
}

/// Makes the profiler walk every stack with both unwinders, and count differences; for tests.
///
/// # Errors
///
/// If jemalloc does not take the hook.
pub(super) fn install_comparison() -> Result<(), String> {
    plimsoll_unwind::prepare(Files::Loaded)?;
    use_hook(comparing_hook)
}

fn use_hook(hook: jemalloc::BacktraceHook) -> Result<(), String> {
    jemalloc::set_prof_backtrace_hook(hook)
        .map_err(|error| format!("this jemalloc takes no other: {error}"))
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
