//! The function that `plimsoll::main!` calls, on every platform.

use std::process::ExitCode;

use plimsoll_subject::{Asked, Listed};

use crate::{Scenario, Target};

/// Runs this process as the front, a subject or the guardian, as the command line says.
pub fn main(target: &Target, scenarios: impl FnOnce() -> Vec<Scenario>) -> ExitCode {
    #[cfg(target_os = "linux")]
    if plimsoll_front::run_guardian_if_asked() {
        return ExitCode::SUCCESS;
    }
    match plimsoll_subject::asked() {
        Some(Asked::Measure(mut measure)) => {
            let mut scenarios = scenarios().into_iter();
            let Some(scenario) = scenarios.find(|one| one.name == measure.scenario()) else {
                measure.fail(format_args!("the program has no scenario of this name"));
            };
            let mut workload = measure.set_up(scenario.setup);
            measure.climb(&mut workload);
            measure.end_with(move || drop(workload))
        }
        Some(Asked::List(mut list)) => {
            for scenario in scenarios() {
                list.add(&Listed {
                    ignored: scenario.options.ignored,
                    settings: &scenario.options.settings.of_builder(),
                    ..Listed::named(scenario.name)
                });
            }
            list.end()
        }
        None => front(target, scenarios()),
    }
}

#[cfg(target_os = "linux")]
fn front(target: &Target, scenarios: Vec<Scenario>) -> ExitCode {
    if !plimsoll_subject::IS_SUPPORTED {
        return unsupported::run(scenarios);
    }
    let program =
        plimsoll_front::Program::of_this_process(target.package, target.name, target.manifest_dir);
    let listed = scenarios.iter().map(|scenario| plimsoll_front::Scenario {
        name: scenario.name.to_owned(),
        title: None,
        settings: scenario.options.settings.clone(),
        ignored: scenario.options.ignored.map(str::to_owned),
    });
    let listed = listed.collect();
    let words = std::env::args().skip(1);
    let ran = plimsoll_front::Tests::new(program, listed).run(words, |asked| {
        let mut scenarios = scenarios.into_iter();
        match scenarios.find(|scenario| scenario.name == asked.scenario) {
            Some(scenario) => crate::isolation::run(scenario, &asked),
            None => crate::isolation::FAILED,
        }
    });
    ExitCode::from(ran.status)
}

#[cfg(not(target_os = "linux"))]
fn front(_: &Target, scenarios: Vec<Scenario>) -> ExitCode {
    unsupported::run(scenarios)
}

/// Where nothing can be measured.
mod unsupported {
    use std::process::ExitCode;

    use libtest_mimic::{Arguments, Completion, Trial};
    use plimsoll_core::layout::check_scenario_names;

    use crate::Scenario;

    const WHY: &str = "plimsoll measures on Linux, on x86_64 and aarch64, in programs linked to glibc dynamically";

    /// Reports every scenario as ignored, with the reason.
    pub(super) fn run(scenarios: Vec<Scenario>) -> ExitCode {
        let names = scenarios.iter().map(|scenario| scenario.name);
        let names = check_scenario_names(names);
        let ignored = |scenario: Scenario| {
            let ignored = || Ok(Completion::ignored_with(WHY));
            Trial::ignorable_test(scenario.name, ignored)
                .with_ignored_flag(scenario.options.ignored.is_some())
        };
        let trials = match names {
            Ok(()) => scenarios.into_iter().map(ignored).collect(),
            Err(message) => vec![Trial::test("scenarios", move || Err(message.into()))],
        };
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    }
}
