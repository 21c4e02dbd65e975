//! The subject of plimsoll: the process that is measured. It runs one workload, and dumps its
//! heap when the front tells it to.
//!
//! A program with this crate in it has jemalloc as its allocator, because jemalloc takes the place
//! of the C library's `malloc`. A *front* starts the program, and talks to it over a socket; the
//! protocol is described in `docs/protocol.md`. Two fronts exist: the one that is linked into every
//! test that uses the crate `plimsoll`, and the one in the tool, `plimsoll run PROGRAM`.
//!
//! ```no_run
//! use plimsoll_subject::{Asked, Listed};
//!
//! match plimsoll_subject::asked() {
//!     Some(Asked::List(mut list)) => {
//!         list.add(&Listed::named("pushes"));
//!         list.end()
//!     }
//!     Some(Asked::Measure(mut measure)) => {
//!         let mut kept = measure.set_up(Vec::new);
//!         measure.climb(|i| {
//!             kept.push(i);
//!             Ok(())
//!         });
//!         measure.end_with(|| drop(kept))
//!     }
//!     None => eprintln!("to be started by a front: plimsoll run PROGRAM"),
//! }
//! ```
//!
//! Between two dumps the subject runs only the workload and a counter. It reads commands into a
//! buffer on the stack, and writes answers from one.
//!
//! plimsoll measures on Linux with glibc, on x86_64 and aarch64. On other platforms the crate
//! compiles, and nothing is ever asked for.

#[cfg(plimsoll_supported)]
mod asked;
#[cfg(plimsoll_supported)]
mod canary;
#[cfg(plimsoll_supported)]
mod channel;
#[cfg(plimsoll_supported)]
mod jemalloc;
#[cfg(plimsoll_supported)]
mod ladder;
#[cfg(plimsoll_supported)]
mod messages;
#[cfg(plimsoll_supported)]
mod objects;
#[cfg(plimsoll_supported)]
mod stop;
#[cfg(plimsoll_supported)]
mod sys;
#[cfg(plimsoll_supported)]
mod threads;
#[cfg(not(plimsoll_supported))]
mod unsupported;
#[cfg(plimsoll_supported)]
mod unwind;

use std::hint::black_box;

#[cfg(plimsoll_supported)]
pub use asked::{Asked, List, Measure, asked, walk_as_measured};
#[cfg(not(plimsoll_supported))]
pub use unsupported::{Asked, List, Measure, asked, walk_as_measured};

#[cfg(not(plimsoll_supported))]
pub use std::alloc::System as Allocator;
/// The allocator of a measured program: jemalloc.
#[cfg(plimsoll_supported)]
pub use tikv_jemallocator::Jemalloc as Allocator;

/// The version of the protocol that this crate speaks.
///
/// It is higher by one in every release whose subject an older front would misunderstand.
pub const PROTOCOL: u32 = 1;

/// Whether programs can be measured on this platform. If not, [`asked`] returns `None`.
pub const IS_SUPPORTED: bool = cfg!(plimsoll_supported);

/// A scenario as the front lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// The name. It has up to 100 of the characters `A-Z a-z 0-9 _ . : -`, does not begin with a
    /// dot or a dash, and is unique in the program.
    pub name: &'a str,
    /// What people call the scenario, if that is not its name.
    pub title: &'a str,
    /// Why the scenario is ignored, if it is.
    pub ignored: Option<&'a str>,
    /// The settings that the program makes for the scenario, as `plimsoll.toml` has them.
    pub settings: &'a [(&'a str, String)],
}

impl<'a> Listed<'a> {
    /// Returns a scenario whose title is its name.
    pub fn named(name: &'a str) -> Listed<'a> {
        Listed {
            name,
            title: name,
            ignored: None,
            settings: &[],
        }
    }
}

/// Sets a workload up.
///
/// Reports find this function's name on a stack and remove the frames of the harness there. So it
/// is never inlined, and `black_box` keeps its call of `setup` from becoming a tail call.
#[inline(never)]
pub fn workload_setup<W>(setup: impl FnOnce() -> W) -> W {
    black_box(setup())
}

/// Runs one iteration. Like [`workload_setup`], this function is a marker on the stack.
#[inline(never)]
pub fn workload_iteration<R>(iteration: impl FnOnce() -> R) -> R {
    black_box(iteration())
}
