//! Walks call stacks inside an allocator, in place of libgcc.
//!
//! If many allocations are sampled, walking takes most of the time of heap profiling. jemalloc
//! lets a program replace its unwinder (`experimental.hooks.prof_backtrace`). This unwinder uses
//! the same unwind information as libgcc, and caches what that says about each address. With a
//! warm cache a frame costs two loads and a comparison.
//!
//! ```text
//! walk ─► cache::get ──────────────────► Rule::apply ─► caller …
//!           └ not there: involved::rule      │             └ as in this thread's
//!               (modules::find, cfi)         │                last walk: recent
//!                                            └ Involved: Registers::step
//!                                                (all registers, cfi, expression)
//! ```
//!
//! [`walk`] does not allocate and does not lock. It uses no thread-local that would be created at
//! its first use. This crate installs nothing: the caller has the hook, and [`capture!`] in it
//! says where a walk starts.
//!
//! ```
//! # #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))] {
//! use plimsoll_unwind::{Files, agrees_with_libgcc, capture, prepare, walk};
//!
//! prepare(Files::Linked).and_then(|()| agrees_with_libgcc()).unwrap();
//! let mut frames = [std::ptr::null_mut(); 64];
//! let (walked, end) = walk(&capture!(), &mut frames);
//! println!("{:?}, {end:?}", &frames[..walked]);
//! # }
//! ```
//!
//! Code without unwind information ends the walk, as it ends libgcc's: the frame pointer
//! register may hold something else there. Wrong unwind information ends the walk too: no word
//! of a stack is read before the kernel has confirmed that its page is readable.
//!
//! Unlike libgcc, this unwinder does not know code that registers its unwind information while
//! the program runs (`__register_frame`, as some just-in-time compilers do), because a lookup
//! would need a lock. Such code ends a walk like code without unwind information.
//!
//! The crate is empty on other targets than Linux on `x86_64` and `aarch64`.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

/// Tests count what a thread allocates.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod cache;
mod cfi;
mod check;
mod cursor;
mod expression;
mod headers;
mod involved;
mod machine;
mod memory;
mod modules;
mod quick;
mod recent;
mod rule;
mod system;

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::check::{has_tables, walk_with_both};
use self::involved::Registers;
pub use self::machine::Captured;
use self::machine::Frame;
pub use self::modules::has_missed as wants_refresh;
use self::quick::Stop;
use self::recent::Walk;
use self::rule::{Rule, Step};

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a thread's first function.
    Root,
    /// The array for the frames was full.
    Full,
    /// At code without unwind information, or in a file that [`prepare`] has left out.
    NoInformation,
    /// At unwind information that led nowhere.
    Astray,
}

/// The files whose unwind information is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// All files that are loaded. After libraries were loaded or unloaded, [`refresh`] is to be
    /// called: until then, walks through them may find wrong frames.
    Loaded,
    /// The program, and the libraries that it is linked to. These are never unloaded, so nothing
    /// is ever out of date. A walk ends at code of any other library.
    Linked,
}

static FILES: OnceLock<Files> = OnceLock::new();

/// Finds the unwind information. Walks that begin before end at once.
///
/// # Errors
///
/// If the program has called it before: there is only one set of files.
pub fn prepare(files: Files) -> Result<(), String> {
    FILES
        .set(files)
        .map_err(|_| "it is in use by another part of this program".to_owned())?;
    modules::prepare(files);
    Ok(())
}

/// Compares this unwinder with libgcc's: on stacks of several depths, through C, and on a second
/// thread, which has ended when this function returns. With [`Files::Loaded`], also through a
/// library that is loaded for it.
///
/// # Errors
///
/// Where they differ, or that [`prepare`] was not called.
pub fn agrees_with_libgcc() -> Result<(), String> {
    match FILES.get() {
        Some(files) => check::agrees_with_libgcc(*files),
        None => Err("it was not prepared".to_owned()),
    }
}

/// Updates the files if libraries were loaded or unloaded. To be called by one thread, and never
/// from a hook of the allocator. Without [`Files::Loaded`] it does nothing.
pub fn refresh() {
    if FILES.get() == Some(&Files::Loaded) {
        refresh_loaded();
    }
}

/// Returns the address and the bytes of what is kept of the last walks of each thread. It has the
/// contents of registers, which are no references of the program's.
pub fn last_walks() -> (u64, u64) {
    recent::place()
}

fn refresh_loaded() {
    if modules::refresh(false) {
        cache::clear();
        recent::forget();
    }
}

/// A lower bound for the stack pointers of a test harness's frames, on the thread that runs the
/// iterations.
static HARNESS: AtomicU64 = AtomicU64::new(u64::MAX);

/// More bytes than the frames of `main` and the harness take, up to the workload.
const HARNESS_EXTENT: u64 = 1 << 20;

/// Makes walks end at the function in which the registers were captured. For a test harness,
/// whose frames are the same for every allocation: comparing them takes time.
pub fn end_stacks_at(captured: &Captured) {
    let bound = captured.stack_pointer.saturating_add(1);
    HARNESS.store(bound, Ordering::Relaxed);
}

/// Writes the return addresses of the callers of the function in which the registers were
/// captured, leaf first. Returns their number, and why the walk ended.
///
/// Any thread may call it, also in a signal handler.
pub fn walk(captured: &Captured, frames: &mut [*mut c_void]) -> (usize, End) {
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

/// For the tests of plimsoll's crates: no part of the interface.
#[doc(hidden)]
pub mod testing {
    pub use crate::check::library::{Library, load};
}
