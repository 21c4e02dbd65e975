//! The files that are written beside a report.

use super::flamegraph::{self, FlamegraphError};
use super::{Report, folded};
use crate::baseline::{self, Acceptance, Baseline};
use crate::layout;
use crate::verdict::Verdict;

/// Returns the name and the text of each file: the growth as folded stacks and as a flame graph,
/// and the baseline after accepting everything, if there is anything to accept. `baseline` is the
/// text of the baseline that there is.
///
/// The report itself is not among them. Write it last: if it exists, all other files exist too.
///
/// # Errors
///
/// If inferno refuses. No report is known for which it does.
pub fn of(
    report: &Report,
    baseline: Option<&str>,
) -> Result<Vec<(&'static str, String)>, FlamegraphError> {
    let mut files = vec![
        (layout::GROWTH_FOLDED, folded::render(report)),
        (layout::GROWTH_SVG, flamegraph::render(report)?),
    ];
    // A baseline that cannot be parsed has made the run *broken* already.
    let agreed = baseline.and_then(|text| Baseline::parse(text.as_bytes()).ok());
    let acceptance = Acceptance::of(report, &agreed.unwrap_or_default());
    if is_trusted(report.verdict) && !acceptance.is_empty() {
        // If the file cannot be updated, `accept` will say so.
        let text = baseline::update(baseline, &acceptance).ok();
        let text = text.filter(|text| baseline != Some(text.as_str()));
        files.extend(text.map(|text| (layout::NEW_BASELINE, text)));
    }
    Ok(files)
}

/// Returns whether the run measured enough to accept its findings.
pub fn is_trusted(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Within | Verdict::Improved | Verdict::Regressed
    )
}
