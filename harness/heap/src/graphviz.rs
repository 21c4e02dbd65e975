//! Draws call graphs with Graphviz, if it is installed.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::Context;

/// Draws a graph in Graphviz's language.
pub(crate) fn draw(dot: &str, format: &str) -> anyhow::Result<Vec<u8>> {
    let mut child = Command::new("dot")
        .arg(format!("-T{format}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context(
            "Graphviz's `dot` cannot be started\n  hint: install graphviz, or use --dot or \
             --flamegraph, which do not need it",
        )?;
    let mut stdin = child.stdin.take().context("`dot` has no input")?;
    let text = dot.to_owned();
    // Graphviz may write before it has read all its input, so a thread writes it.
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let drawn = child.wait_with_output().context("`dot` was lost")?;
    let written = writer.join().is_ok_and(|written| written.is_ok());
    if !drawn.status.success() || !written {
        let said = String::from_utf8_lossy(&drawn.stderr);
        let said = plimsoll_desk::out::safe_line(said.trim());
        anyhow::bail!("Graphviz's `dot` failed: {said}");
    }
    Ok(drawn.stdout)
}
