//! The function that `plimsoll::main!` calls, on every platform.

use std::process::ExitCode;

use crate::{Scenario, Target};

/// Runs this process as the front, a subject or the guardian, as the command line says.
#[cfg(plimsoll_supported)]
pub fn main(target: &Target, scenarios: impl FnOnce() -> Vec<Scenario>) -> ExitCode {
    use crate::{front, subject};

    let words = || std::env::args().skip(1);
    if words().next().as_deref() == Some(front::guardian::FLAG) {
        return front::guardian::run();
    }
    match subject::Arguments::parse(words()) {
        Some(arguments) => subject::run(&arguments, |name| {
            let mut scenarios = scenarios().into_iter();
            let scenario = scenarios.find(|scenario| scenario.name == name)?;
            Some(scenario.setup)
        }),
        None => front::run(target, scenarios()),
    }
}

/// Reports every scenario as ignored, with the reason.
#[cfg(not(plimsoll_supported))]
pub fn main(target: &Target, scenarios: impl FnOnce() -> Vec<Scenario>) -> ExitCode {
    use crate::order::{clock_seed, seconds_now, shuffle};
    use crate::scenario::check_names;

    const WHY: &str = "plimsoll measures on Linux, on x86_64 and aarch64, in programs linked to glibc dynamically";
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
