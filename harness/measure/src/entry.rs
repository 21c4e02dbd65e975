//! Where `main!` leads, on every platform.

use std::collections::BTreeSet;
use std::process::ExitCode;

use plimsoll_core::layout;

use crate::{Scenario, Target};

/// Runs as what the command line says: front, subject or guardian.
#[cfg(plimsoll_supported)]
pub fn main(target: &Target, scenarios: impl FnOnce() -> Vec<Scenario>) -> ExitCode {
    use crate::{front, subject};

    let words = || std::env::args().skip(1);
    if words().next().as_deref() == Some(front::guardian::FLAG) {
        return front::guardian::run();
    }
    match subject::Arguments::parse(words()) {
        Some(arguments) => subject::run(&arguments, scenarios),
        None => front::run(target, scenarios()),
    }
}

/// Reports every scenario ignored, with the reason.
#[cfg(not(plimsoll_supported))]
pub fn main(target: &Target, scenarios: impl FnOnce() -> Vec<Scenario>) -> ExitCode {
    const WHY: &str = "plimsoll measures on Linux, on x86_64 and aarch64";
    let _ = (target, seconds_now(), clock_seed());
    let scenarios = scenarios();
    if let Err(message) = check_names(&scenarios) {
        return libtest_mimic::run(
            &libtest_mimic::Arguments::from_args(),
            vec![libtest_mimic::Trial::test("scenarios", move || {
                Err(message.into())
            })],
        )
        .exit_code();
    }
    let ignored = |scenario: Scenario| {
        drop(scenario.setup);
        let ignored = || Ok(libtest_mimic::Completion::ignored_with(WHY));
        libtest_mimic::Trial::ignorable_test(scenario.name, ignored)
            .with_ignored_flag(scenario.options.ignored.is_some())
    };
    let mut trials: Vec<libtest_mimic::Trial> = scenarios.into_iter().map(ignored).collect();
    shuffle(&mut trials, 0);
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit_code()
}

/// Refuses names that cannot be a file's, and two scenarios of one name.
pub(crate) fn check_names(scenarios: &[Scenario]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for scenario in scenarios {
        let name = scenario.name;
        if !layout::valid_scenario_name(name) {
            return Err(format!(
                "`{name}` is no name for a scenario\n  expected up to {} of `A-Z a-z 0-9 _ . : -`, \
                 not beginning with `.` or `-`",
                layout::MAX_SCENARIO_NAME
            ));
        }
        if !names.insert(name) {
            return Err(format!(
                "two scenarios are called `{name}`\n  hint: the name is that of the baseline and of \
                 the folder, so give each its own"
            ));
        }
    }
    Ok(())
}

/// Seconds since 1970.
pub(crate) fn seconds_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

/// A seed that differs from run to run.
pub(crate) fn clock_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |since| {
        u64::from(since.subsec_nanos()) ^ since.as_secs().rotate_left(32)
    })
}

/// Puts things in an order that a seed decides (Fisher and Yates, with the
/// SplitMix64 generator).
pub(crate) fn shuffle<T>(things: &mut [T], seed: u64) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    for last in (1..things.len()).rev() {
        let other = usize::try_from(next() % (last as u64 + 1)).unwrap_or(0);
        things.swap(last, other);
    }
}
