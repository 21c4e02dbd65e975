//! The flame graph as a file that a comment shows.

use plimsoll_core::report::Report;
use plimsoll_core::report::flamegraph;
pub use plimsoll_core::report::flamegraph::Theme;

/// Draws a scenario's growth for a page of that theme: 800 pixels wide, at most
/// 1 MiB, without scripts. Absent where nothing grew or shrank, or where the
/// names in it are too long for a picture.
pub fn svg(report: &Report, theme: Theme) -> Option<String> {
    flamegraph::render_image(report, theme).ok().flatten()
}

#[cfg(test)]
mod tests;
