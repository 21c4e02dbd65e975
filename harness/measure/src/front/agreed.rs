//! What a scenario may grow, or why that cannot be known.

use std::io::ErrorKind;

use plimsoll_core::baseline::Baseline;
use plimsoll_core::layout;

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
            "{shown}:{line}: an allowance without a reason\n  \
             expected one, as `require-reason = true` has it\n  \
             hint: write `reason = \"…\"` below it"
        ));
    }
    // It would have been refused, were it anything but text.
    Ok((baseline, String::from_utf8(bytes).ok()))
}
