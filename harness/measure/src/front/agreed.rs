//! What a scenario may grow, or why that cannot be known.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use plimsoll_core::baseline::Baseline;
use plimsoll_core::layout;
use plimsoll_core::report::Run;

use super::place::{self, Place};
use super::settings::Effective;

/// A scenario's baseline, with the file's text, if there is one.
pub(crate) type Agreed = (Baseline, Option<String>);

/// Reads a scenario's baseline.
///
/// # Errors
///
/// What is wrong with it, over a few lines: where, what was expected and what was
/// found, what to do.
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
    // It would have been refused, were it anything but text.
    Ok((baseline, String::from_utf8(bytes).ok()))
}

/// The baselines that say to be of this test, and of a scenario that it does not have: renamed,
/// or taken out. As people see their paths, in order.
///
/// Of a file that does not name its test nothing is known: another test may have the scenario.
pub(crate) fn left_behind(place: &Place, run: &Run) -> Vec<String> {
    let files = fs::read_dir(&place.baselines).into_iter().flatten();
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let is_left = |file: &PathBuf| {
        let scenario = layout::scenario_of_baseline(file);
        scenario.is_some_and(|scenario| !run.scenarios.contains(&scenario))
            && place::read(file)
                .ok()
                .and_then(|bytes| Baseline::parse(&bytes).ok()?.measured?.test)
                .is_some_and(|test| test == run.test())
    };
    let mut left: Vec<String> = files
        .filter(is_left)
        .map(|file| place.relative(&file))
        .collect();
    left.sort();
    left
}
