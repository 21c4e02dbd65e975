//! Where births are recorded, what they say; elsewhere, that nothing is recorded and it is said.
#![cfg_attr(
    plimsoll_supported,
    expect(
        clippy::print_stdout,
        reason = "the programs say what came of the installation"
    )
)]

#[cfg(plimsoll_supported)]
mod births;
#[cfg(plimsoll_supported)]
mod program;

use std::process::ExitCode;

#[cfg(plimsoll_supported)]
fn main() -> ExitCode {
    births::main()
}

#[cfg(not(plimsoll_supported))]
fn main() -> ExitCode {
    use libtest_mimic::{Arguments, Trial};
    use plimsoll_ages::{Outcome, install};

    let trial = Trial::test("it_says_that_it_is_unsupported", || {
        for _ in 0..2 {
            assert!(matches!(install(), Outcome::UnsupportedTarget));
        }
        assert!(install().to_string().contains("supports Linux on x86_64"));
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}
