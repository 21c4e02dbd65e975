//! Runs one scenario in this process, for a debugger.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use plimsoll_core::settings::Unwinder;

use super::arguments::Arguments;
use super::settings::Effective;
use super::{FAILED, complain, say};
use crate::jemalloc;
use crate::scenario::Scenario;
use crate::subject::unwind;

/// Runs the one selected scenario until its budget or its iterations end. Measures nothing.
pub(crate) fn run(
    arguments: &Arguments,
    scenarios: Vec<Scenario>,
    effective: &BTreeMap<&'static str, Effective>,
) -> ExitCode {
    if let Some(runner) = ["NEXTEST", "CI"].into_iter().find(|name| is_set(name)) {
        complain(&format!(
            "error: PLIMSOLL_ISOLATION=off measures nothing, and {runner} is set\n  \
             hint: it is for a debugger; unset it where a verdict is wanted"
        ));
        return ExitCode::from(FAILED);
    }
    let mut chosen = scenarios;
    chosen.retain(|scenario| arguments.selects(scenario.name));
    let (Some(scenario), true) = (chosen.pop(), chosen.is_empty()) else {
        complain(
            "error: PLIMSOLL_ISOLATION=off runs one scenario in this process\n  \
             expected a filter that chooses one, found none or several\n  \
             hint: add `-- --exact NAME`",
        );
        return ExitCode::from(FAILED);
    };
    let name = scenario.name;
    let settings = &effective[name];
    complain(&format!("{name}: in this process, nothing is measured"));
    // If `MALLOC_CONF` switches the profiler on, stacks are walked as in a measurement.
    if jemalloc::opt_prof().unwrap_or(false)
        && settings.unwinder == Unwinder::Plimsoll
        && let Err(problem) = unwind::install()
    {
        complain(&format!("{name}: libgcc walks the stacks: {problem}"));
    }
    unwind::end_stacks_here!();
    let mut workload = (scenario.setup)();
    let started = Instant::now();
    let mut done = 0;
    while done < settings.max_iterations && started.elapsed() < settings.budget {
        if let Err(message) = workload(done) {
            complain(&format!("{name}: iteration {done} failed: {message}"));
            return ExitCode::from(FAILED);
        }
        done += 1;
    }
    say(&format!(
        "{name}: {done} iterations ran, and nothing was measured"
    ));
    ExitCode::SUCCESS
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| !["", "0", "false"].contains(&&*value))
}
