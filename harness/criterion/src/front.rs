//! The front, in a test that `cargo test` runs.

use std::env;
use std::io::{self, Write};
use std::process;

use plimsoll_front::{Program, Tests};

/// libtest's exit status of a run that failed.
const FAILED: i32 = 101;

/// Measures the benchmarks of this program, and ends the process.
pub(crate) fn run() -> ! {
    let program = Program::of_benchmarks();
    let scenarios = plimsoll_front::scenarios(&program).unwrap_or_else(|why| fail(&why));
    let tests = Tests::new(program, scenarios).as_benchmarks();
    let ran = tests.run(env::args().skip(1), |_| {
        fail("PLIMSOLL_ISOLATION=off: criterion itself runs a benchmark in a debugger")
    });
    process::exit(ran.status.into())
}

/// Ends this process, if it is the guardian of a run that is over.
pub(crate) fn guard() {
    if plimsoll_front::run_guardian_if_asked() {
        process::exit(0);
    }
}

fn fail(why: &str) -> ! {
    // If nobody can read the message, the status still tells.
    let _ = writeln!(io::stderr(), "error: {why}");
    process::exit(FAILED)
}
