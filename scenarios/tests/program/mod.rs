//! A test that runs its own program as the leak test, and reads the reports.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;

/// Makes this program the leak test.
const PROGRAM: &str = "PLIMSOLL_TEST_PROGRAM";

/// Whether this process is the leak test, or one of its subjects.
pub(crate) fn is_leak_test() -> bool {
    let first = std::env::args().nth(1).unwrap_or_default();
    first.starts_with("--plimsoll-") || std::env::var_os(PROGRAM).is_some()
}

/// This program as the leak test.
pub(crate) fn leak_test(arguments: &[&str]) -> Result<Command, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).env(PROGRAM, "1");
    Ok(command)
}

/// What the leak test has written of a scenario.
pub(crate) fn report(scenario: &str) -> Result<serde_json::Value, Failed> {
    let test = env!("CARGO_CRATE_NAME");
    let path = format!("plimsoll/plimsoll-scenarios/{test}/{scenario}/report.json");
    let text = std::fs::read(Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(path))?;
    Ok(serde_json::from_slice(&text)?)
}
