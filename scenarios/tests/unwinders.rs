//! Every scenario with both unwinders at once: each stack of each allocation is
//! walked by plimsoll's and by libgcc's, and has to be the same.
#![expect(clippy::print_stdout, reason = "how many they were is worth a line")]

use std::path::Path;
use std::process::{Command, ExitCode};

use plimsoll_scenarios::*;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The scenarios of `leaks.rs`.
fn scenarios() -> ExitCode {
    plimsoll::main!(
        allocator = existing;
        lru_churn(),
        moka_churn(),
        hashbrown_occupancy(),
        dashmap_sessions(),
        tokio_pipeline(),
        tokio_tasks(),
        http_keep_alive(),
        http_new_connections(),
        rayon_sort(),
        regex_threads(),
        thread_locals(),
        connection_pool(),
        json_round_trip(),
        rusqlite_statements(),
        tracing_spans(),
        metrics_recorder(),
        plimsoll_dump(),
        prometheus_customers(),
        lasso_paths(),
    );
    main()
}

/// Makes this program the leak test.
const PROGRAM: &str = "PLIMSOLL_TEST_PROGRAM";

/// Enough to come by every path of a workload, and not for a verdict.
const ITERATIONS: &str = "1024";

fn main() -> ExitCode {
    let is_subject = std::env::args()
        .nth(1)
        .is_some_and(|word| word.starts_with("--plimsoll-"));
    if is_subject || std::env::var_os(PROGRAM).is_some() {
        return scenarios();
    }
    let trials = vec![
        libtest_mimic::Trial::test("every_scenario_is_here", every_scenario_is_here),
        libtest_mimic::Trial::test("both_find_every_stack", both_find_every_stack),
    ];
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit_code()
}

fn run(arguments: &[&str]) -> Result<std::process::Output, libtest_mimic::Failed> {
    Ok(Command::new(std::env::current_exe()?)
        .args(arguments)
        .env(PROGRAM, "1")
        .env("PLIMSOLL_UNWINDER", "compare")
        .env("PLIMSOLL_MAX_ITERATIONS", ITERATIONS)
        .env("PLIMSOLL_INCONCLUSIVE", "warn")
        .output()?)
}

fn listed() -> Result<Vec<String>, libtest_mimic::Failed> {
    let output = run(&["--list", "--format", "terse"])?;
    let text = String::from_utf8(output.stdout)?;
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

fn every_scenario_is_here() -> Result<(), libtest_mimic::Failed> {
    let leaks = include_str!("leaks.rs");
    let in_leaks: Vec<&str> = leaks
        .lines()
        .filter_map(|line| line.trim().strip_suffix("(),"))
        .collect();
    let here = listed()?;
    if in_leaks.is_empty() || in_leaks != here {
        return Err(format!("expected {in_leaks:?} as in leaks.rs, found {here:?}").into());
    }
    Ok(())
}

fn both_find_every_stack() -> Result<(), libtest_mimic::Failed> {
    let output = run(&[])?;
    let said = String::from_utf8_lossy(&output.stdout);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let reports = target
        .parent()
        .unwrap_or(target)
        .join("plimsoll/plimsoll-scenarios/unwinders");
    let mut problems = Vec::new();
    let mut stacks = 0;
    for name in listed()? {
        let text = std::fs::read_to_string(reports.join(&name).join("report.json"))?;
        let report: serde_json::Value = serde_json::from_str(&text)?;
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
