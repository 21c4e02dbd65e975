//! Runs the front of a test as `cargo test` would, and reads the report that it leaves.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_core::layout;
use plimsoll_core::report::{Report, json};
use plimsoll_desk::file;

use super::adapter::{Adapter, TEST};
use super::build::Built;

/// The harness ends a subject after a minute and three budgets. This guard, with six budgets,
/// is for a front that hangs itself.
const GUARD: Duration = Duration::from_secs(180);
/// The budget of a scenario that sets none.
const DEFAULT_BUDGET: Duration = Duration::from_secs(10);

/// The result of one run of a test.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) took: Duration,
    /// The report, or the reason why there is none.
    pub(super) report: Result<Report, String>,
    /// Whether the test passed, according to its exit status.
    pub(super) passed: bool,
    /// The file with the front's output.
    pub(super) output: PathBuf,
}

/// Runs the one scenario of an adapter, with this budget in place of the harness's own.
pub(super) fn run(
    adapter: &Adapter,
    built: &Built,
    target_dir: &Path,
    budget: Option<Duration>,
) -> Run {
    let started = Instant::now();
    let output = adapter.dir.join(layout::OUTPUT);
    let reports = layout::reports_dir(target_dir);
    let dir = layout::scenario_dir(&reports, &adapter.package, TEST, &adapter.scenario);
    // The files of the last run must not count as this run's.
    let ended = file::if_there(fs::remove_dir_all(&dir))
        .and_then(|_| start(adapter, built, &output, budget))
        .and_then(|child| wait(child, GUARD + 6 * budget.unwrap_or(DEFAULT_BUDGET)));
    let took = started.elapsed();
    let (passed, report) = match ended {
        Ok(status) => (status.success(), read(&dir, status)),
        Err(err) => (false, Err(err.to_string())),
    };
    Run {
        took,
        report,
        passed,
        output,
    }
}

fn start(
    adapter: &Adapter,
    built: &Built,
    output: &Path,
    budget: Option<Duration>,
) -> io::Result<Child> {
    // Output goes to a file, because a grandchild that keeps a pipe open would make us hang.
    let out = File::create(output)?;
    let mut command = Command::new(&built.executable);
    command
        .args(["--exact", &adapter.scenario])
        .current_dir(&adapter.dir)
        // This process has inherited the variables of `xtask` from `cargo run`.
        .env("CARGO_MANIFEST_DIR", &adapter.dir)
        .env("CARGO_MANIFEST_PATH", adapter.dir.join("Cargo.toml"))
        .env("CARGO_PKG_NAME", &adapter.package)
        .env("CARGO_PKG_VERSION", "0.0.0")
        .stdin(Stdio::null())
        .stderr(out.try_clone()?)
        .stdout(out);
    if let Some(budget) = budget {
        command.env("PLIMSOLL_BUDGET", format!("{}ms", budget.as_millis()));
    }
    let known = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let libraries = built.libraries.iter().cloned();
    let libraries = libraries.chain(env::split_paths(&known));
    if let Ok(path) = env::join_paths(libraries) {
        command.env("LD_LIBRARY_PATH", path);
    }
    command.spawn()
}

fn wait(mut child: Child, limit: Duration) -> io::Result<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            let message = format!("the test did not end within {} s", limit.as_secs());
            return Err(io::Error::other(message));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn read(dir: &Path, status: ExitStatus) -> Result<Report, String> {
    let path = dir.join(layout::REPORT);
    match fs::read(&path) {
        Ok(bytes) => json::parse(&bytes).map_err(|err| format!("{}: {err}", path.display())),
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            Err(format!("the test left no report ({status})"))
        }
        Err(err) => Err(format!("{}: {err}", path.display())),
    }
}

/// Copies the files of a run, for people to look at later.
pub(super) fn keep(adapter: &Adapter, run: &Run, target_dir: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    fs::copy(&run.output, to.join("front.txt"))?;
    let reports = layout::reports_dir(target_dir);
    let dir = layout::scenario_dir(&reports, &adapter.package, TEST, &adapter.scenario);
    if dir.is_dir() { copy(&dir, to) } else { Ok(()) }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Runs a shell script as the front.
    #[track_caller]
    fn ran(script: &str) -> (Run, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let executable = dir.path().join("front");
        fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();
        let adapter = Adapter {
            dir: dir.path().to_owned(),
            package: "zoo-a-leaky".to_owned(),
            scenario: "a".to_owned(),
        };
        let stale = dir.path().join("plimsoll/zoo-a-leaky/leaks/a");
        fs::create_dir_all(&stale).unwrap();
        fs::write(stale.join("report.json"), "stale").unwrap();
        let built = Built {
            executable,
            libraries: vec![],
            took: Duration::ZERO,
            note: None,
        };
        let budget = Some(Duration::from_secs(2));
        (run(&adapter, &built, dir.path(), budget), dir)
    }

    #[test]
    fn a_front_that_leaves_nothing() {
        let (run, _dir) = ran("echo \"$@ $PLIMSOLL_BUDGET $CARGO_PKG_NAME\"; exit 101");
        assert!(!run.passed);
        assert_eq!(
            run.report.unwrap_err(),
            "the test left no report (exit status: 101)"
        );
        assert_eq!(
            fs::read_to_string(run.output).unwrap(),
            "--exact a 2000ms zoo-a-leaky\n"
        );
    }

    #[test]
    fn a_report_that_is_none() {
        let (run, dir) =
            ran("d=plimsoll/$CARGO_PKG_NAME/leaks/a; mkdir -p $d; echo {} > $d/report.json");
        assert!(run.passed);
        let error = run
            .report
            .unwrap_err()
            .replace(dir.path().to_str().unwrap(), "");
        assert!(
            error.starts_with("/plimsoll/zoo-a-leaky/leaks/a/report.json: line 1"),
            "{error}"
        );
    }
}
