//! Programs as strangers write them for criterion, and what a front sees of each.
//!
//! This binary is both: it runs its tests, and [`front`] starts it again as one of the programs.
//! Where plimsoll does not measure, there are no tests.

#[cfg(target_os = "linux")]
#[macro_use]
extern crate criterion;

/// Tests with their names.
type Tests = &'static [(&'static str, fn())];

/// Makes the table of a module's tests.
#[cfg(target_os = "linux")]
macro_rules! tests {
    ($($test:ident),+ $(,)?) => {
        pub(crate) const TESTS: crate::Tests = &[$((stringify!($test), $test)),+];
    };
}

/// Sets what every version of criterion lets a benchmark set, and plimsoll has no use for.
#[cfg(target_os = "linux")]
macro_rules! with_statistics {
    ($of:expr) => {
        $of.sample_size(1)
            .warm_up_time(std::time::Duration::ZERO)
            .measurement_time(std::time::Duration::ZERO)
            .nresamples(0)
            .noise_threshold(-1.0)
            .confidence_level(2.0)
            .significance_level(2.0)
    };
}

#[cfg(target_os = "linux")]
mod captures;
#[cfg(target_os = "linux")]
mod executors;
#[cfg(target_os = "linux")]
mod front;
#[cfg(target_os = "linux")]
mod interface_03;
#[cfg(target_os = "linux")]
mod interface_04_05;
#[cfg(target_os = "linux")]
mod interface_06_08;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod without_summary;

use std::io::Write;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Makes the table of the modules that have a program and tests.
#[cfg(target_os = "linux")]
macro_rules! programs {
    ($($module:ident),+ $(,)?) => {
        &[$((stringify!($module), $module::program, $module::TESTS)),+]
    };
}

/// The programs with their names, and the tests of each.
#[cfg(target_os = "linux")]
const PROGRAMS: &[(&str, fn(), Tests)] = programs!(
    captures,
    executors,
    interface_03,
    interface_04_05,
    interface_06_08,
    session,
    without_summary,
);
#[cfg(not(target_os = "linux"))]
const PROGRAMS: &[(&str, fn(), Tests)] = &[];

/// The variable that makes this process one of the programs.
const PROGRAM: &str = "PLIMSOLL_TEST_PROGRAM";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(PROGRAM) {
        let program = PROGRAMS.iter().find(|(named, ..)| *named == name);
        let (_, program, _) = program.expect("a program of this name");
        program();
        return ExitCode::SUCCESS;
    }
    let mut trials = Vec::new();
    if plimsoll_subject::IS_SUPPORTED {
        for (program, _, tests) in PROGRAMS {
            trials.extend(tests.iter().map(|&(name, test)| {
                Trial::test(format!("{program}::{name}"), move || {
                    test();
                    Ok(())
                })
            }));
        }
    } else {
        // If nobody can read the message, the number of tests still tells.
        let _ = writeln!(
            std::io::stderr(),
            "no tests: plimsoll does not measure on this platform"
        );
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
