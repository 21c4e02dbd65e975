//! What a leak test does where plimsoll does not measure.

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use plimsoll::Scenario;

use crate::PROGRAM;

/// A leak test of two scenarios, neither of which may be set up.
mod program {
    use super::never;

    plimsoll::main!(
        never("first"),
        never("second").ignore("for a reason of its own")
    );

    pub(super) fn run() -> std::process::ExitCode {
        main()
    }
}

fn never(name: &'static str) -> Scenario {
    Scenario::new(name, || -> fn(u64) { panic!("a scenario was set up") })
}

pub(crate) fn main() -> ExitCode {
    if std::env::var_os(PROGRAM).is_some() {
        return program::run();
    }
    let trials = vec![Trial::test(
        "every_scenario_is_ignored_with_the_reason",
        || {
            every_scenario_is_ignored_with_the_reason();
            Ok(())
        },
    )];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn every_scenario_is_ignored_with_the_reason() {
    const WHY: &str = "ignored (plimsoll measures on Linux, on x86_64 and aarch64, in programs linked to glibc dynamically)";
    let run = |arguments: &[&str]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(arguments).env(PROGRAM, "1").output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{text}");
        text
    };
    let said = run(&["--include-ignored"]);
    for name in ["first", "second"] {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("test {name} ")));
        assert!(line.is_some_and(|line| line.ends_with(WHY)), "{said}");
    }
    assert!(said.contains("0 passed; 0 failed; 2 ignored"), "{said}");
    assert!(run(&["first"]).contains("0 passed; 0 failed; 1 ignored"));
}
