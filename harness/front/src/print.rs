//! What is printed beside libtest-mimic's lines.

use std::io::Write;

/// libtest's exit status, for a failed run and for invalid arguments.
pub(crate) const FAILED: u8 = 101;

/// Prints to stdout.
pub(crate) fn say(text: &str) {
    // An error means that the reader has closed our output: there is nobody to tell.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints to stderr.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
