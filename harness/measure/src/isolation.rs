//! Runs one scenario in this process, for a debugger.

use std::time::Instant;

use plimsoll_front::InProcess;

use crate::scenario::Scenario;

/// The exit status of a test that failed.
pub(crate) const FAILED: u8 = 101;

/// Runs a scenario until its budget or its iterations end. Measures nothing. Returns the exit status.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this process is a test, and nobody else prints"
)]
pub(crate) fn run(scenario: Scenario, asked: &InProcess) -> u8 {
    let name = scenario.name;
    if asked.walks
        && let Err(problem) = plimsoll_subject::walk_as_measured()
    {
        eprintln!("{name}: libgcc walks the stacks: {problem}");
    }
    let mut workload = (scenario.setup)();
    let started = Instant::now();
    let mut done = 0;
    while done < asked.max_iterations && started.elapsed() < asked.budget {
        if let Err(message) = workload(done) {
            eprintln!("{name}: iteration {done} failed: {message}");
            return FAILED;
        }
        done += 1;
    }
    println!("{name}: {done} iterations ran, and nothing was measured");
    0
}
