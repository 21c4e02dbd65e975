//! The front and its subjects, as a user sees them: this program runs itself as
//! a leak test and looks at what comes of it.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(
        clippy::print_stdout,
        clippy::print_stderr,
        reason = "workloads print, to be captured"
    )
)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod cases;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod program;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod unsupported;

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use libtest_mimic::{Arguments, Trial};

/// Makes this program the leak test.
const PROGRAM: &str = "PLIMSOLL_TEST_PROGRAM";

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() -> ExitCode {
    unsupported::main()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn main() -> ExitCode {
    let is_subject = std::env::args()
        .nth(1)
        .is_some_and(|word| word.starts_with("--plimsoll-"));
    if is_subject || std::env::var_os(PROGRAM).is_some() {
        return program::run();
    }
    let trials = cases::ALL
        .iter()
        .map(|(name, case)| {
            Trial::test(*name, move || {
                case();
                Ok(())
            })
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
