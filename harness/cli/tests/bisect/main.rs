//! `plimsoll bisect`, on histories that are made for it.

mod fake;
mod faults;
#[path = "../project/mod.rs"]
mod project;
// Where the harness can measure.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod proof;
