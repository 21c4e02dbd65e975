//! Every scenario with both unwinders at once: each stack of each allocation is
//! walked by plimsoll's and by libgcc's, and has to be the same.
#![expect(clippy::print_stdout, reason = "how many they were is worth a line")]

#[path = "leaks.rs"]
mod leaks;
mod program;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if program::is_leak_test() {
        return leaks::main();
    }
    let trial = Trial::test("both_find_every_stack", || {
        both_find_every_stack();
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

fn both_find_every_stack() {
    let listed = program::leak_test(&["--list", "--format", "terse"], &[]);
    let variables = [
        ("PLIMSOLL_UNWINDER", "compare"),
        // Enough to come by every path of a workload, and not for a verdict.
        ("PLIMSOLL_MAX_ITERATIONS", "1024"),
        ("PLIMSOLL_INCONCLUSIVE", "warn"),
    ];
    let said = program::leak_test(&[], &variables);
    let mut stacks = 0;
    for name in listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
    {
        let report = program::report(name);
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "unwinder");
        let check = check.filter(|check| check["outcome"] == "passed");
        let check = check.unwrap_or_else(|| panic!("{name}: {checks:?}\n{said}"));
        let compared = check["detail"].as_str().unwrap().split(' ').nth(2);
        stacks += compared.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    }
    // An empty comparison would find no difference either.
    assert!(stacks >= 100_000, "{stacks} stacks");
    println!("{stacks} stacks were the same");
}
