//! A test that runs its own program as the leak test, and reads the reports.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Makes this program the leak test.
const PROGRAM: &str = "PLIMSOLL_TEST_PROGRAM";

/// Whether this process is the leak test, or one of its subjects.
pub(crate) fn is_leak_test() -> bool {
    let first = std::env::args().nth(1).unwrap_or_default();
    first.starts_with("--plimsoll-") || std::env::var_os(PROGRAM).is_some()
}

/// Runs this program as the leak test, with variables. Returns what it says.
pub(crate) fn leak_test(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).env(PROGRAM, "1");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What the leak test has written of a scenario.
pub(crate) fn report(scenario: &str) -> Value {
    let test = env!("CARGO_CRATE_NAME");
    let path = format!("plimsoll/plimsoll-scenarios/{test}/{scenario}/report.json");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(path);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
