//! Chooses the scenario that runs in the process of the test itself, for a debugger.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_core::settings::Unwinder;

use crate::print::{FAILED, complain};
use crate::settings::Effective;

/// A scenario that is to run in this process. Nothing is measured.
#[derive(Clone, Debug)]
pub struct InProcess {
    /// Its name.
    pub scenario: String,
    /// The time after which no further iteration begins.
    pub budget: Duration,
    /// The most iterations.
    pub max_iterations: u64,
    /// Whether plimsoll's unwinder walks the stacks, if the profiler is on.
    pub walks: bool,
}

/// Returns the one scenario that is selected.
///
/// # Errors
///
/// The exit status, if nothing can be run; the reason is printed.
pub(crate) fn chosen(
    selected: &[String],
    effective: &BTreeMap<String, Effective>,
) -> Result<InProcess, u8> {
    if let Some(runner) = ["NEXTEST", "CI"].into_iter().find(|name| is_set(name)) {
        complain(&format!(
            "error: PLIMSOLL_ISOLATION=off measures nothing, and {runner} is set\n  \
             hint: it is for a debugger; unset it where a verdict is wanted"
        ));
        return Err(FAILED);
    }
    let ([name], Some(settings)) = (
        selected,
        selected.first().and_then(|one| effective.get(one)),
    ) else {
        complain(
            "error: PLIMSOLL_ISOLATION=off runs one scenario in this process\n  \
             expected a filter that chooses one, found none or several\n  \
             hint: add `-- --exact NAME`",
        );
        return Err(FAILED);
    };
    complain(&format!("{name}: in this process, nothing is measured"));
    Ok(InProcess {
        scenario: name.clone(),
        budget: settings.budget,
        max_iterations: settings.max_iterations,
        walks: settings.unwinder == Unwinder::Plimsoll,
    })
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| !["", "0", "false"].contains(&&*value))
}
