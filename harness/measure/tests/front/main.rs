//! The front and its subjects, as a user sees them: this program runs itself as
//! a leak test and looks at what comes of it.
#![cfg_attr(
    plimsoll_supported,
    expect(
        clippy::print_stdout,
        clippy::print_stderr,
        reason = "workloads print, to be captured"
    )
)]

#[cfg(plimsoll_supported)]
mod cases;
#[cfg(plimsoll_supported)]
mod program;
#[cfg(not(plimsoll_supported))]
mod unsupported;

use std::process::ExitCode;

#[cfg(plimsoll_supported)]
use libtest_mimic::{Arguments, Trial};

/// Makes this program the leak test.
const PROGRAM: &str = "PLIMSOLL_TEST_PROGRAM";

#[cfg(not(plimsoll_supported))]
fn main() -> ExitCode {
    unsupported::main()
}

#[cfg(plimsoll_supported)]
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
