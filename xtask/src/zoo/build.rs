//! Builds adapters with cargo. They share one target directory, so plimsoll and jemalloc are
//! built only once.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_desk::project;
use serde_json::Value;

use super::adapter::{Adapter, TEST};

/// The most lines of cargo's output that a row keeps of a failed build.
const MAX_ERROR_LINES: usize = 40;

/// A test that was built.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub(super) executable: PathBuf,
    /// The folders with shared libraries that `cargo test` would set.
    pub(super) libraries: Vec<PathBuf>,
    pub(super) took: Duration,
    /// A note for the reader of the table.
    pub(super) note: Option<String>,
}

/// Builds the test. The error is the end of cargo's output.
pub(super) fn build(adapter: &Adapter, target_dir: &Path) -> Result<Built, String> {
    let started = Instant::now();
    let mut note = None;
    let mut messages = test_no_run(adapter, target_dir);
    if let Err(said) = &messages
        && said.contains("failed to select a version")
    {
        // One of plimsoll's dependencies needs a newer version than the case has locked.
        // Without the lock file, the crate under test stays the same, because its version is
        // exact.
        match std::fs::remove_file(adapter.dir.join("Cargo.lock")) {
            Ok(()) => {
                note = Some("its lock file was left out: ours does not go with it".to_owned());
                messages = test_no_run(adapter, target_dir);
            }
            Err(err) => return Err(format!("Cargo.lock: {err}\n{said}")),
        }
    }
    let (executable, mut libraries) = read(&messages?)?;
    // Only folders in the target directory: as in cargo, others are for the linker alone.
    libraries.retain(|library| library.starts_with(target_dir));
    if let Some(dir) = executable.parent() {
        libraries.push(dir.to_owned());
    }
    Ok(Built {
        executable,
        libraries,
        took: started.elapsed(),
        note,
    })
}

fn test_no_run(adapter: &Adapter, target_dir: &Path) -> Result<Vec<u8>, String> {
    let output = project::cargo()
        .args(["test", "--no-run", "--release", "--test", TEST])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(&adapter.dir)
        .env("CARGO_TARGET_DIR", target_dir)
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .output()
        .map_err(|err| format!("cargo did not start: {err}"))?;
    if !output.status.success() {
        return Err(tail(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(output.stdout)
}

/// Returns the test's executable, and the folders of libraries that build scripts print.
fn read(messages: &[u8]) -> Result<(PathBuf, Vec<PathBuf>), String> {
    let mut executable = None;
    let mut libraries = Vec::new();
    let lines = messages.split(|byte| *byte == b'\n');
    for message in lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        match message["reason"].as_str() {
            Some("compiler-artifact") if message["target"]["name"] == TEST => {
                let found = message["executable"].as_str().map(PathBuf::from);
                executable = found.or(executable);
            }
            Some("build-script-executed") => {
                let paths = message["linked_paths"].as_array().into_iter().flatten();
                for path in paths.filter_map(Value::as_str) {
                    // `native=/folder`, or the folder alone.
                    let dir = path.split_once('=').map_or(path, |(_, dir)| dir);
                    libraries.push(PathBuf::from(dir));
                }
            }
            _ => {}
        }
    }
    let executable = executable.ok_or("cargo built no test")?;
    Ok((executable, libraries))
}

/// Returns cargo's output from the first error on, up to [`MAX_ERROR_LINES`].
fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.trim_end().lines().collect();
    let first = lines.iter().position(|line| line.starts_with("error"));
    let mut kept = lines[first.unwrap_or(0)..].to_vec();
    if kept.len() > MAX_ERROR_LINES {
        kept.truncate(MAX_ERROR_LINES);
        kept.push("…");
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn messages_of_cargo() {
        let messages = br#"
{"reason":"compiler-artifact","target":{"name":"case"},"executable":null}
{"reason":"build-script-executed","linked_paths":["native=/t/out","/t/other"]}
not json
{"reason":"compiler-artifact","target":{"name":"leaks"},"executable":"/t/leaks-1"}
{"reason":"build-finished","success":true}
"#;
        let (executable, libraries) = read(messages).unwrap();
        assert_eq!(executable, Path::new("/t/leaks-1"));
        assert_eq!(libraries, [Path::new("/t/out"), Path::new("/t/other")]);
        assert!(read(b"").is_err());
    }

    #[test]
    fn the_error_begins_at_the_first() {
        assert_snapshot!(tail("   Compiling a\nerror[E0425]: no `x`\n --> a.rs\n\nerror: 1\n"), @r"
        error[E0425]: no `x`
         --> a.rs

        error: 1
        ");
        let long = tail(&"error\n".repeat(100));
        assert_eq!(long.lines().count(), MAX_ERROR_LINES + 1);
    }
}
