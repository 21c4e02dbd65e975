//! Walks the stack for the profiler, in place of libgcc.
//!
//! Where every allocation is sampled, the walk is most of what profiling costs.
//! jemalloc lets a program bring its own (`experimental.hooks.prof_backtrace`).
//! This one goes by the same unwind information as libgcc, and remembers what that
//! says of an address: after a while a frame costs two loads and a comparison.
//!
//! ```text
//! hook ─► walk ─► cache::get ──────────────────► Rule::apply ─► caller …
//!                   └ not there: involved::rule      │             └ as in this thread's
//!                       (modules::find, cfi)         │                last walk: recent
//!                                                    └ Involved: Registers::step
//!                                                        (all registers, cfi, expression)
//! ```
//!
//! In the hook nothing allocates, nothing locks, and no thread-local is touched that
//! would be made when it is first used.
//! Code without unwind information ends the walk, as it ends libgcc's: a frame
//! pointer is not trusted to be one.
//! Wrong unwind information ends it too: no word of a stack is read before the kernel
//! has said of its page that it can be.
//!
//! What libgcc knows and this does not: code that registers its unwind information
//! while the program runs (`__register_frame`, as some just-in-time compilers do), which
//! takes a lock to find. It ends a walk as if nothing were known of it.

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

use self::involved::Registers;
use self::machine::{Captured, Frame};
use self::quick::Stop;
use self::recent::Walk;
use self::rule::{Rule, Step};
use crate::jemalloc;

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// At a thread's first function.
    Root,
    /// There was no room for more.
    Full,
    /// At code of which nothing is known.
    NoInformation,
    /// Where its unwind information led nowhere.
    Astray,
}

static WITHOUT_INFORMATION: AtomicU64 = AtomicU64::new(0);
static ASTRAY: AtomicU64 = AtomicU64::new(0);

/// What became of walks since the start, where it is worth a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walks {
    /// Ended at code of which nothing is known.
    pub(crate) without_information: u64,
    /// Ended where unwind information led nowhere.
    pub(crate) astray: u64,
    /// Compared with libgcc's.
    pub(crate) compared: u64,
    /// Of them, those that found something else.
    pub(crate) different: u64,
}

/// As front and subject exchange it.
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
    /// From four numbers; those that are missing are zero.
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

/// Whether a function of this program has unwind information; with `panic=abort` and
/// `-C force-unwind-tables=no` none has.
pub(crate) fn has_tables(function: usize) -> bool {
    check::has_tables(function)
}

/// What became of walks so far.
pub(super) fn walks() -> Walks {
    let (compared, different) = check::compared();
    Walks {
        without_information: WITHOUT_INFORMATION.load(Ordering::Relaxed),
        astray: ASTRAY.load(Ordering::Relaxed),
        compared,
        different,
    }
}

/// Puts this unwinder in the place of libgcc's, if it finds what that finds.
///
/// # Errors
///
/// Why jemalloc keeps its own.
pub(crate) fn install() -> Result<(), String> {
    modules::prepare();
    check::agrees_with_libgcc()?;
    use_hook(hook)
}

/// Walks every stack in both ways, and counts where they differ: for tests.
///
/// # Errors
///
/// As for [`install`].
pub(super) fn install_comparison() -> Result<(), String> {
    modules::prepare();
    use_hook(check::hook)
}

fn use_hook(hook: jemalloc::BacktraceHook) -> Result<(), String> {
    jemalloc::set_prof_backtrace_hook(hook)
        .map_err(|error| format!("this jemalloc takes no other: {error}"))
}

/// Takes notice of libraries that were loaded or unloaded. To be called between
/// iterations, and never from the hook.
pub(super) fn refresh() {
    if modules::refresh(false) {
        cache::clear();
        recent::forget();
    }
}

/// Whether it is worth while to [`refresh`] before the next rung.
#[inline]
pub(super) fn wants_refresh() -> bool {
    modules::has_missed()
}

/// Where the harness's frames begin on the stack of the thread that iterates.
static HARNESS: AtomicU64 = AtomicU64::new(u64::MAX);

/// More than the frames of `main` and of what it calls take, up to the workload.
const HARNESS_EXTENT: u64 = 1 << 20;

/// Lets stacks end at the function that this stands in: what called it is the
/// harness, the same for every allocation, and dear to compare.
macro_rules! end_stacks_here {
    () => {
        $crate::subject::unwind::end_stacks_at(
            $crate::subject::unwind::machine::capture!().stack_pointer,
        )
    };
}
pub(crate) use end_stacks_here;

/// See [`end_stacks_here`].
pub(crate) fn end_stacks_at(stack_pointer: u64) {
    HARNESS.store(stack_pointer.saturating_add(1), Ordering::Relaxed);
}

/// What jemalloc calls for every sampled allocation (`prof_backtrace_hook_t`):
/// fills `frames` with at most `capacity` words: return addresses, leaf first, and behind
/// them when that was.
#[inline(never)]
unsafe extern "C" fn hook(frames: *mut *mut c_void, length: *mut c_uint, capacity: c_uint) {
    let captured = machine::capture!();
    // SAFETY: prof_hook.h and its only caller, `prof_backtrace` in prof_sys.c: an
    // array of `capacity` pointers of which nobody else knows yet.
    let frames = unsafe { std::slice::from_raw_parts_mut(frames, capacity as usize) };
    let (walked, end) = walk(&captured, birth::without_word(frames));
    count(end);
    let noted = birth::note(frames, walked);
    // SAFETY: as above; the length is an output.
    #[expect(clippy::cast_possible_truncation, reason = "at most `capacity`")]
    unsafe {
        *length = noted as c_uint;
    }
}

fn count(end: End) {
    match end {
        End::Root | End::Full => {}
        End::NoInformation => _ = WITHOUT_INFORMATION.fetch_add(1, Ordering::Relaxed),
        End::Astray => _ = ASTRAY.fetch_add(1, Ordering::Relaxed),
    }
}

/// Writes the return addresses of the callers of the function where the registers
/// were captured, leaf first.
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

/// The rule of the code that a frame is in, found out where it is not known. Apart, so
/// that finding it out has less below it on the stack.
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

/// The same with every register that a call preserves, for frames that are found
/// through one of those: from the start, since nobody kept them on the way.
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
