//! `plimsoll report --explain`: explains the verdict on each finding, with the numbers in its
//! report.

use anyhow::bail;
use plimsoll_core::report::explain;
use plimsoll_core::report::text::Style;

use plimsoll_desk::out::safe_line;
use plimsoll_report::joined::Joined;

/// Explains every finding, or those whose stack contains `part`.
///
/// # Errors
///
/// If no finding has such a stack.
pub(super) fn explain(run: &Joined, part: &str, style: &Style) -> anyhow::Result<String> {
    let mut page = String::new();
    let mut names = Vec::new();
    for (scenario, title) in run.scenarios.iter().zip(run.titles()) {
        let Some(report) = scenario.report() else {
            continue;
        };
        for finding in &report.findings {
            let name = finding.subject.name();
            if finding.mentions(part) {
                let explained = explain::explain(report, finding, &[], style);
                page += &format!("{}\n\n{explained}\n", safe_line(&title));
            }
            names.push(format!("  {}: {}\n", safe_line(&title), safe_line(&name)));
        }
    }
    names.sort();
    names.dedup();
    match (page.is_empty(), part.is_empty(), names.is_empty()) {
        (false, ..) => Ok(page),
        (true, true, _) => {
            Ok("no scenario has a finding: there is nothing to explain\n".to_owned())
        }
        (true, false, true) => bail!("no scenario has a finding{PASSED}"),
        (true, false, false) => bail!(
            "no finding has a stack that contains `{}`\n  expected a part of one of:\n{}{PASSED}",
            safe_line(part),
            names.concat().trim_end()
        ),
    }
}

/// A report says nothing of stacks that passed.
const PASSED: &str =
    "\n  hint: `PLIMSOLL_EXPLAIN=PART` around `cargo test` explains what passed, too";
