//! Every scenario with both unwinders at once: each stack of each allocation is
//! walked by plimsoll's and by libgcc's, and has to be the same.
#![expect(clippy::print_stdout, reason = "how many they were is worth a line")]

#[path = "leaks.rs"]
mod leaks;
mod program;

use std::process::{ExitCode, Output};

use libtest_mimic::{Arguments, Failed, Trial};

/// Enough to come by every path of a workload, and not for a verdict.
const ITERATIONS: &str = "1024";

fn main() -> ExitCode {
    if program::is_leak_test() {
        return leaks::main();
    }
    let trials = vec![Trial::test("both_find_every_stack", both_find_every_stack)];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn run(arguments: &[&str]) -> Result<Output, Failed> {
    Ok(program::leak_test(arguments)?
        .env("PLIMSOLL_UNWINDER", "compare")
        .env("PLIMSOLL_MAX_ITERATIONS", ITERATIONS)
        .env("PLIMSOLL_INCONCLUSIVE", "warn")
        .output()?)
}

fn listed() -> Result<Vec<String>, Failed> {
    let output = run(&["--list", "--format", "terse"])?;
    let text = String::from_utf8(output.stdout)?;
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

fn both_find_every_stack() -> Result<(), Failed> {
    let output = run(&[])?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut problems = Vec::new();
    let mut stacks = 0;
    for name in listed()? {
        let report = program::report(&name)?;
        let checks = report["checks"].as_array().cloned().unwrap_or_default();
        let check = checks.iter().find(|check| check["name"] == "unwinder");
        match check {
            Some(check) if check["outcome"] == "passed" => {
                let detail = check["detail"].as_str().unwrap_or_default();
                let compared = detail.split(' ').nth(2).and_then(|n| n.parse::<u64>().ok());
                stacks += compared.unwrap_or(0);
            }
            _ => problems.push(format!("{name}: {}: {checks:?}", report["verdict"])),
        }
    }
    if !problems.is_empty() {
        return Err(format!("{}\n{said}", problems.join("\n")).into());
    }
    // An empty comparison would find no difference either.
    if stacks < 100_000 {
        return Err(format!("expected 100,000 stacks and more, found {stacks}").into());
    }
    println!("{stacks} stacks were the same");
    Ok(())
}
