//! Walks the stack for the profiler, in place of libgcc.
//!
//! If every allocation is sampled, walking takes most of the time of profiling. jemalloc lets a
//! program replace its unwinder (`experimental.hooks.prof_backtrace`). This unwinder uses the
//! same unwind information as libgcc, and caches what that says about each address. With a warm
//! cache a frame costs two loads and a comparison.
//!
//! ```text
//! hook ─► walk ─► cache::get ──────────────────► Rule::apply ─► caller …
//!                   └ not there: involved::rule      │             └ as in this thread's
//!                       (modules::find, cfi)         │                last walk: recent
//!                                                    └ Involved: Registers::step
//!                                                        (all registers, cfi, expression)
//! ```
//!
//! The hook does not allocate and does not lock. It uses no thread-local that would be created
//! at its first use.
//!
//! Code without unwind information ends the walk, as it ends libgcc's: the frame pointer
//! register may hold something else there. Wrong unwind information ends the walk too: no word
//! of a stack is read before the kernel has confirmed that its page is readable.
//!
//! Unlike libgcc, this unwinder does not know code that registers its unwind information while
//! the program runs (`__register_frame`, as some just-in-time compilers do), because a lookup
//! would need a lock. Such code ends a walk like code without unwind information.

pub(crate) mod birth;
#[cfg(test)]
mod by_gimli;
mod cache;
mod cfi;
mod check;
mod cursor;
mod expression;
mod involved;
pub(crate) mod machine;
mod memory;
mod modules;
mod quick;
mod recent;
mod rule;

use std::ffi::{c_uint, c_void};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) use self::check::has_tables;
use self::involved::Registers;
use self::machine::{Captured, Frame};
pub(super) use self::modules::has_missed as wants_refresh;
use self::quick::Stop;
use self::recent::Walk;
use self::rule::{Rule, Step};
use crate::jemalloc;

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// At a thread's first function.
    Root,
    /// The array for the frames was full.
    Full,
    /// At code without unwind information.
    NoInformation,
    /// At unwind information that led nowhere.
    Astray,
}

static WITHOUT_INFORMATION: AtomicU64 = AtomicU64::new(0);
static ASTRAY: AtomicU64 = AtomicU64::new(0);

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
    let (compared, different) = check::compared();
    Walks {
        without_information: WITHOUT_INFORMATION.load(Ordering::Relaxed),
        astray: ASTRAY.load(Ordering::Relaxed),
        compared,
        different,
    }
}

/// Replaces libgcc's unwinder with this one, if both find the same stacks.
///
/// # Errors
///
/// Why jemalloc keeps its own unwinder.
pub(crate) fn install() -> Result<(), String> {
    modules::prepare();
    check::agrees_with_libgcc()?;
    use_hook(hook)
}

/// Makes the profiler walk every stack with both unwinders, and count differences; for tests.
///
/// # Errors
///
/// If jemalloc does not take the hook.
pub(super) fn install_comparison() -> Result<(), String> {
    modules::prepare();
    use_hook(check::hook)
}

fn use_hook(hook: jemalloc::BacktraceHook) -> Result<(), String> {
    jemalloc::set_prof_backtrace_hook(hook)
        .map_err(|error| format!("this jemalloc takes no other: {error}"))
}

/// Updates the tables if libraries were loaded or unloaded. To be called between iterations,
/// never from the hook.
pub(super) fn refresh() {
    if modules::refresh(false) {
        cache::clear();
        recent::forget();
    }
}

/// A lower bound for the stack pointers of the harness's frames, on the thread that runs the
/// iterations.
static HARNESS: AtomicU64 = AtomicU64::new(u64::MAX);

/// More bytes than the frames of `main` and the harness take, up to the workload.
const HARNESS_EXTENT: u64 = 1 << 20;

/// Makes walks end at the function that contains this macro. Its callers are the harness: they
/// are the same for every allocation, and comparing them takes time.
macro_rules! end_stacks_here {
    () => {
        $crate::subject::unwind::end_stacks_at(
            $crate::subject::unwind::machine::capture!().stack_pointer,
        )
    };
}
pub(crate) use end_stacks_here;

/// Makes walks end at the frame with this stack pointer; see [`end_stacks_here`].
pub(crate) fn end_stacks_at(stack_pointer: u64) {
    HARNESS.store(stack_pointer.saturating_add(1), Ordering::Relaxed);
}

/// The hook that jemalloc calls for every sampled allocation (`prof_backtrace_hook_t`).
///
/// Fills `frames` with at most `capacity` words: the return addresses, leaf first, and behind
/// them the birth of the stack.
#[inline(never)]
unsafe extern "C" fn hook(frames: *mut *mut c_void, length: *mut c_uint, capacity: c_uint) {
    let captured = machine::capture!();
    // SAFETY: prof_hook.h and the hook's only caller, `prof_backtrace` in prof_sys.c: `frames`
    // is an array of `capacity` pointers, and nobody else has a reference to it yet.
    let frames = unsafe { std::slice::from_raw_parts_mut(frames, capacity as usize) };
    let (walked, end) = walk(&captured, birth::without_word(frames));
    count(end);
    // SAFETY: as above; `length` is an output.
    unsafe { *length = birth::note(frames, walked) };
}

fn count(end: End) {
    match end {
        End::Root | End::Full => {}
        End::NoInformation => _ = WITHOUT_INFORMATION.fetch_add(1, Ordering::Relaxed),
        End::Astray => _ = ASTRAY.fetch_add(1, Ordering::Relaxed),
    }
}

/// Writes the return addresses of the callers of the function in which the registers were
/// captured, leaf first. Returns their number, and why the walk ended.
fn walk(captured: &Captured, frames: &mut [*mut c_void]) -> (usize, End) {
    match Walk::with(|recent| walk_beside(Some(recent), captured, frames)) {
        Some(walked) => walked,
        None => walk_beside(None, captured, frames),
    }
}

fn walk_beside(
    mut recent: Option<&mut Walk<'_>>,
    captured: &Captured,
    frames: &mut [*mut c_void],
) -> (usize, End) {
    let mut frame = captured.frame();
    let mut walked = 0;
    let harness = HARNESS.load(Ordering::Relaxed);
    loop {
        let mut is_met = false;
        if let Some(recent) = &mut recent {
            match quick::advance(recent, &mut frame, frames, &mut walked, harness) {
                Stop::Step => {}
                Stop::Met => is_met = true,
                Stop::End(end) => return (walked, end),
            }
        }
        if !is_met {
            let mut step = rule_of(&frame).apply(&frame);
            if step == Step::Involved {
                step = involved::step(&frame);
            }
            match step {
                Step::Caller(caller) => frame = caller,
                Step::Root => return (walked, End::Root),
                Step::NoInformation => return (walked, End::NoInformation),
                Step::Astray => return (walked, End::Astray),
                Step::Involved => {
                    if let Some(recent) = recent {
                        recent.discard();
                    }
                    return walk_with_all_registers(captured, frames);
                }
            }
            if frame.stack_pointer.wrapping_sub(harness) < HARNESS_EXTENT {
                return (walked, End::Root);
            }
            let Some(place) = frames.get_mut(walked) else {
                return (walked, End::Full);
            };
            *place = frame.pc as *mut c_void;
            walked += 1;
            is_met = recent.as_mut().is_some_and(|recent| recent.note(&frame));
        }
        if is_met
            && let Some(recent) = &mut recent
            && let Some((more, outermost)) = recent.join(&mut frames[walked..])
        {
            walked += more;
            frame = outermost;
        }
    }
}

/// Returns the rule for the code of a frame, and caches it if it is new. This is a function of
/// its own, so that less of the stack is in use while a new rule is made.
fn rule_of(frame: &Frame) -> Rule {
    let address = frame.lookup();
    match cache::get(address) {
        Some(rule) => rule,
        None => {
            let rule = involved::rule(frame);
            cache::put(address, rule);
            rule
        }
    }
}

/// Walks like [`walk`], with every register that a call preserves, for frames that are found
/// through one of these registers. It starts again at the leaf, because the other walk does not
/// keep these registers.
#[cold]
#[inline(never)]
fn walk_with_all_registers(captured: &Captured, frames: &mut [*mut c_void]) -> (usize, End) {
    let mut registers = Registers::captured(captured);
    let mut walked = 0;
    let harness = HARNESS.load(Ordering::Relaxed);
    loop {
        match registers.step() {
            Step::Caller(_) => {}
            Step::Root => return (walked, End::Root),
            Step::NoInformation => return (walked, End::NoInformation),
            Step::Astray | Step::Involved => return (walked, End::Astray),
        }
        if registers.frame().stack_pointer.wrapping_sub(harness) < HARNESS_EXTENT {
            return (walked, End::Root);
        }
        let Some(place) = frames.get_mut(walked) else {
            return (walked, End::Full);
        };
        *place = registers.frame().pc as *mut c_void;
        walked += 1;
    }
}
