//! Leak-regression tests for Rust.
//!
//! A scenario runs a workload under jemalloc's heap profiler, dumps the heap at
//! a ladder of iteration counts, and fails if a call stack keeps growing past what
//! the project has accepted.
//!
//! ```no_run
//! // tests/leaks.rs, with `harness = false`
//! use std::collections::VecDeque;
//! use plimsoll::Scenario;
//!
//! fn recent_churn() -> Scenario {
//!     // The first closure sets up what lives for the whole run. The second closure is
//!     // one iteration; `i` is its number.
//!     Scenario::with_state("recent_churn", VecDeque::new, |recent, i| {
//!         recent.push_back(vec![0_u8; 64]);
//!         if i >= 1_000 {
//!             recent.pop_front();
//!         }
//!     })
//! }
//!
//! plimsoll::main!(recent_churn());
//! ```
//!
//! `cargo test --test leaks` starts the *front*. The front starts this same program again for
//! every scenario, as the *subject*. A subject runs one workload, and dumps its heap when the
//! front tells it to. The front parses and compares the dumps and decides. So between two dumps
//! the subject runs only the workload, and a crash or a hang fails only one test.
//!
//! plimsoll measures on Linux with glibc, on x86_64 and aarch64. On other platforms it compiles,
//! and reports every scenario as ignored.

mod entry;
#[cfg(target_os = "linux")]
mod isolation;
mod scenario;
mod workload;

#[doc(inline)]
pub use plimsoll_core::settings::Inconclusive;
pub use scenario::Scenario;
pub use workload::Iteration;

/// Names of the test target and its package. [`main!`] knows them; a library cannot.
#[doc(hidden)]
#[derive(Debug)]
pub struct Target {
    pub package: &'static str,
    pub name: &'static str,
    pub manifest_dir: &'static str,
}

/// Items that [`main!`] expands to; not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use crate::Target;
    pub use crate::entry::main;
    pub use crate::scenario::Scenarios;
    pub use plimsoll_subject::{Allocator, IS_SUPPORTED};
    pub use std::process::ExitCode;
}

/// Defines the `main` of a test target with `harness = false`. It takes scenarios, and lists of
/// them (`Vec<Scenario>`, `[Scenario; N]`), and reports them in this order.
///
/// The macro declares jemalloc as the program's allocator. If a project declares an allocator
/// itself, it writes `plimsoll::main!(allocator = existing; a(), b());`. A run is then
/// *broken*, never green, unless that allocator is jemalloc with profiling.
///
/// ```
/// # use plimsoll::Scenario;
/// fn nothing() -> Scenario {
///     Scenario::new("nothing", || |_i: u64| {})
/// }
/// fn of_a_module() -> Vec<Scenario> {
///     vec![Scenario::new("nothing_else", || |_i: u64| {})]
/// }
/// # mod target { use super::{nothing, of_a_module};
/// plimsoll::main!(nothing(), of_a_module());
/// # }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! main {
    (allocator = existing; $($scenario:expr),* $(,)?) => {
        pub(crate) fn main() -> $crate::__private::ExitCode {
            $crate::__private::main(
                &$crate::__private::Target {
                    package: ::std::env!("CARGO_PKG_NAME"),
                    name: ::std::env!("CARGO_CRATE_NAME"),
                    manifest_dir: ::std::env!("CARGO_MANIFEST_DIR"),
                },
                || {
                    let mut all = ::std::vec::Vec::new();
                    $($crate::__private::Scenarios::add_to($scenario, &mut all);)*
                    all
                },
            )
        }

        /// Only libtest has this test, in place of `main`.
        #[test]
        fn the_test_target_needs_harness_false() {
            ::std::panic!(
                "no scenario was run: add `harness = false` to this `[[test]]` in Cargo.toml"
            );
        }
    };
    ($($scenario:expr),* $(,)?) => {
        #[global_allocator]
        static PLIMSOLL_ALLOCATOR: $crate::__private::Allocator = $crate::__private::Allocator;
        $crate::main!(allocator = existing; $($scenario),*);
    };
}
