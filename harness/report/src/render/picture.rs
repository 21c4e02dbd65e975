//! The flame graph as the picture that a comment shows.

use plimsoll_core::report::Report;
use plimsoll_core::report::flamegraph;
pub use plimsoll_core::report::flamegraph::Theme;

/// Draws a scenario's growth for a page of that theme: 800 pixels wide, at most 1 MiB, without
/// scripts. Returns `None` if nothing grew or shrank, or if the names are too long for a
/// picture.
pub fn svg(report: &Report, theme: Theme) -> Option<String> {
    flamegraph::render_image(report, theme).ok().flatten()
}

#[cfg(test)]
mod tests;
