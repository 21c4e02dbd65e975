//! Adds to jemalloc's heap profiles when each object was allocated.
//!
//! In a heap profile of a server, a leak and a full cache look the same. They differ in the ages
//! of their objects: a cache has replaced what it held hours ago, a leak has not. With this
//! crate, one dump tells them apart.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
//!
//! fn main() {
//!     plimsoll_ages::install();
//!     // … the server
//! }
//! ```
//!
//! # How it works
//!
//! jemalloc's profiler calls a hook for each allocation that it samples, to walk the stack.
//! [`install`] wraps that hook. The wrapper calls the hook that was there before, and adds one
//! frame behind the root of the stack: an address in the function `plimsoll_ages::time_of_birth`.
//! The address tells when the object was allocated, its *birth*. There are four births in each
//! doubling of the uptime, so a day has 70 of them.
//!
//! ```text
//! @ 0x55d0c0de 0x55d0beef 0x55d01a40      time_of_birth + 64: 3,072 to 3,584 seconds after install
//!   t*: 41: 5248 [0: 0]
//! @ 0x55d0c0de 0x55d0beef 0x55d01a41      the next birth
//!   t*: 43: 5504 [0: 0]
//! ```
//!
//! jemalloc keeps different stacks apart, so a dump counts the live objects of each stack by
//! birth. `plimsoll show --ages DUMP` reads them. Other tools (jeprof, pprof, flame graphs) show
//! one more root frame.
//!
//! # What it costs
//!
//! Allocations that are not sampled cost nothing more. The hook reads a coarse clock from memory
//! that the kernel shares, and writes one word. It starts no thread, allocates nothing, takes no
//! lock and makes no system call.
//!
//! The environment variable `PLIMSOLL_AGES=off` turns it off.
//!
//! # The feature `unwinder`
//!
//! Walking the stack is most of the cost of a sample. With the feature `unwinder`, plimsoll's own
//! unwinder does it, which is faster than libgcc's. So a server can sample more. [`install`] first
//! compares both on a few stacks.
//!
//! The unwinder knows the program and the libraries that it is linked to. The hook may not lock,
//! so it cannot ask which other libraries are loaded. If a stack contains code of a library that
//! was loaded later (`dlopen`), or code without unwind information, the unwinder that was there
//! walks that stack. So no stack is cut short, and loading and unloading libraries needs no call.

#[cfg(plimsoll_supported)]
mod hook;
#[cfg(plimsoll_supported)]
mod jemalloc;
#[cfg(plimsoll_supported)]
mod number;
#[cfg(all(plimsoll_supported, feature = "unwinder"))]
mod unwinder;

use std::fmt;
use std::sync::OnceLock;

/// What [`install`] did. Printed, it says what to do if births are not recorded.
///
/// This is no `Result`, so that nobody ends a server over it with `?` or `unwrap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Stacks have births from now on.
    Installed,
    /// Stacks have births from now on. The unwinder that was there stays: that of the feature
    /// `unwinder` finds other stacks, or the harness of `plimsoll` uses it in this process.
    OtherUnwinder,
    /// An earlier call has installed the hook.
    AlreadyInstalled,
    /// `PLIMSOLL_AGES=off` is set.
    TurnedOff,
    /// The program does not allocate with the jemalloc that this crate is linked to.
    OtherAllocator,
    /// jemalloc was built without its profiler.
    WithoutProfiler,
    /// jemalloc's profiler was not enabled when the program started.
    NotProfiled,
    /// jemalloc does not let a program replace the hook, as before version 5.3.0.
    WithoutHook,
    /// The system has no coarse clock.
    WithoutClock,
    /// The target is not Linux on `x86_64` or `aarch64`.
    UnsupportedTarget,
}

impl Outcome {
    /// Returns whether stacks have births.
    pub fn is_installed(self) -> bool {
        matches!(
            self,
            Outcome::Installed | Outcome::OtherUnwinder | Outcome::AlreadyInstalled
        )
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Installed => "heap profiles have times of birth from now on",
            Outcome::OtherUnwinder => {
                "heap profiles have times of birth from now on; stacks are walked as before, \
                 because plimsoll's unwinder finds other stacks in this program"
            }
            Outcome::AlreadyInstalled => "heap profiles have times of birth already",
            Outcome::TurnedOff => {
                "heap profiles have no times of birth: PLIMSOLL_AGES is `off`; to turn them on, \
                 unset it and restart the program"
            }
            Outcome::OtherAllocator => {
                "heap profiles have no times of birth: the program does not allocate with \
                 jemalloc; make `tikv_jemallocator::Jemalloc` its `#[global_allocator]`"
            }
            Outcome::WithoutProfiler => {
                "heap profiles have no times of birth: jemalloc was built without its profiler; \
                 enable the feature `profiling` of `tikv-jemallocator`"
            }
            Outcome::NotProfiled => {
                "heap profiles have no times of birth: jemalloc's profiler was not enabled at \
                 start; start the program with MALLOC_CONF=prof:true, or \
                 _RJEM_MALLOC_CONF=prof:true if jemalloc's functions are prefixed"
            }
            Outcome::WithoutHook => {
                "heap profiles have no times of birth: this jemalloc does not let programs \
                 replace its unwinder; use jemalloc 5.3.0 or newer"
            }
            Outcome::WithoutClock => {
                "heap profiles have no times of birth: CLOCK_MONOTONIC_COARSE cannot be read on \
                 this system"
            }
            Outcome::UnsupportedTarget => {
                "heap profiles have no times of birth: plimsoll-ages supports Linux on x86_64 \
                 and aarch64"
            }
        })
    }
}

/// Adds births to the stacks of jemalloc's heap profiler, and starts their clock.
///
/// To be called early in `main`: objects that were allocated before have no birth. It returns at
/// once, and never panics. If it can do nothing, it changes nothing and the returned
/// [`Outcome`] says why; the program may ignore it or log it:
///
/// ```
/// println!("{}", plimsoll_ages::install());
/// ```
///
/// Any thread may call it. The first call decides; a later call does nothing. The profiler may
/// be switched on (`prof.active`) before or after, but it must have been enabled when the
/// program started (`prof:true`).
///
/// A forked process continues with the clock of its parent. The clock stands still while the
/// machine is suspended.
pub fn install() -> Outcome {
    static OUTCOME: OnceLock<Outcome> = OnceLock::new();
    let mut is_first = false;
    let outcome = *OUTCOME.get_or_init(|| {
        is_first = true;
        match std::env::var_os("PLIMSOLL_AGES") {
            Some(value) if value == "off" => Outcome::TurnedOff,
            #[cfg(plimsoll_supported)]
            _ => hook::install(),
            #[cfg(not(plimsoll_supported))]
            _ => Outcome::UnsupportedTarget,
        }
    });
    match outcome {
        outcome if outcome.is_installed() && !is_first => Outcome::AlreadyInstalled,
        outcome => outcome,
    }
}

/// The function whose addresses are births: that of a birth is `hook::FIRST` and its number from
/// the start. Nothing calls it. It has the name that tools show, so it is at the root of the crate.
///
/// rustc gives each naked function a section of its own, so the alignment inside of it is that
/// of the function.
#[cfg(plimsoll_supported)]
#[unsafe(naked)]
unsafe extern "C" fn time_of_birth() {
    std::arch::naked_asm!(
        ".p2align 10",
        ".fill {count}, {size}, {trap}",
        count = const hook::ROOM / hook::TRAP.1,
        size = const hook::TRAP.1,
        trap = const hook::TRAP.0,
    )
}

/// For the tests of this crate: no part of its interface.
#[cfg(plimsoll_supported)]
#[doc(hidden)]
pub mod testing {
    pub use crate::number::number;

    /// Makes the uptime longer, as if `install` had been called so much earlier.
    pub fn advance_clock(by: std::time::Duration) {
        let milliseconds = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        crate::hook::advance_clock(milliseconds);
    }

    /// Makes `install` do what it does without the feature `unwinder`. A workspace has one set of
    /// features.
    pub fn without_unwinder() {
        #[cfg(feature = "unwinder")]
        crate::unwinder::IS_OFF.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
