//! Reads the baseline of a scenario: what the scenario may grow.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use plimsoll_core::baseline::Baseline;
use plimsoll_core::report::Run;
use plimsoll_core::{Per, layout};

use crate::place::{self, Place};
use crate::settings::Effective;

/// A scenario's baseline and the text of its file; without a file, an empty baseline and
/// `None`.
pub(crate) type Agreed = (Baseline, Option<String>);

/// Reads a scenario's baseline.
///
/// # Errors
///
/// A message of a few lines: where the problem is, what was expected and found, and what to do.
pub(crate) fn read(place: &Place, name: &str, settings: &Effective) -> Result<Agreed, String> {
    let file = layout::baseline_file(&place.baselines, name);
    let shown = place.relative(&file);
    let bytes = match place::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok((Baseline::default(), None));
        }
        Err(error) => return Err(format!("{shown}: {error}")),
    };
    let (baseline, lines) =
        Baseline::placed(&bytes).map_err(|error| error.explain(&shown, name))?;
    let of_test = baseline.check_per(&Per::Iteration);
    of_test.map_err(|error| error.explain(&shown, name))?;
    let unreasoned = baseline.allowances.iter().zip(lines);
    let mut unreasoned = unreasoned.filter(|(allowance, _)| !allowance.has_reason());
    if let (true, Some((_, lines))) = (settings.require_reason, unreasoned.next()) {
        let line = lines.first().map_or(1, |lines| *lines.start());
        return Err(format!(
            "{shown}:{line}: an allowance has no reason\n  \
             expected one, as `require-reason = true` has it\n  \
             hint: write `reason = \"…\"` below it"
        ));
    }
    // A file that is not UTF-8 was refused above.
    Ok((baseline, String::from_utf8(bytes).ok()))
}

/// Returns the baselines of this test whose scenario no longer exists, because it was renamed
/// or removed. The paths are sorted, and relative to the workspace.
///
/// A baseline that does not name its test is left out: the scenario may belong to another test.
pub(crate) fn orphaned(place: &Place, run: &Run) -> Vec<String> {
    let files = fs::read_dir(&place.baselines).into_iter().flatten();
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let is_orphaned = |file: &PathBuf| {
        let scenario = layout::scenario_of_baseline(file);
        scenario.is_some_and(|scenario| !run.scenarios.contains(&scenario))
            && place::read(file)
                .ok()
                .and_then(|bytes| Baseline::parse(&bytes).ok()?.measured?.test)
                .is_some_and(|test| test == run.test())
    };
    let orphaned = files.filter(is_orphaned);
    let mut orphaned: Vec<String> = orphaned.map(|file| place.relative(&file)).collect();
    orphaned.sort();
    orphaned
}
