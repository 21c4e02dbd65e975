//! Draws call graphs with Graphviz, if it is installed.

use std::io::{Seek, Write};
use std::process::Command;

use anyhow::Context;

/// Draws a graph in Graphviz's language.
pub(crate) fn draw(dot: &str, format: &str) -> anyhow::Result<Vec<u8>> {
    // From a file, because Graphviz may write before it has read all of its input.
    let mut input = tempfile::tempfile().context("no temporary file")?;
    input
        .write_all(dot.as_bytes())
        .context("a temporary file")?;
    input.rewind().context("a temporary file")?;
    let drawn = Command::new("dot")
        .arg(format!("-T{format}"))
        .stdin(input)
        .output();
    let drawn = drawn.context(
        "Graphviz's `dot` cannot be started\n  hint: install graphviz, or use --dot or \
         --flamegraph, which do not need it",
    )?;
    if !drawn.status.success() {
        let said = String::from_utf8_lossy(&drawn.stderr);
        let said = plimsoll_desk::out::safe_line(said.trim());
        anyhow::bail!("Graphviz's `dot` failed: {said}");
    }
    Ok(drawn.stdout)
}
