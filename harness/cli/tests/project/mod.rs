//! A cargo project in a temporary folder, with the reports of runs that never were.

#![allow(dead_code, reason = "every test file uses some of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, Run, json};
use plimsoll_core::{Rate, layout};

#[path = "../../../core/tests/report/sample.rs"]
mod sample;

pub(crate) use self::sample::finding;

pub(crate) struct Project {
    dir: tempfile::TempDir,
}

/// What a command left.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// All three in one text.
impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self
            .status
            .map_or("signal".to_owned(), |status| status.to_string());
        write!(f, "{}--- {status}\n{}", self.stdout, self.stderr)
    }
}

impl Project {
    /// Two packages: `demo` at the root of the workspace, `other` below it.
    pub(crate) fn new() -> Self {
        let project = Project {
            dir: tempfile::tempdir().unwrap(),
        };
        let package = |name: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n")
        };
        project.write(
            "Cargo.toml",
            &(package("demo") + "[workspace]\nmembers = [\"other\"]\n"),
        );
        project.write("src/lib.rs", "");
        project.write("other/Cargo.toml", &package("other"));
        project.write("other/src/lib.rs", "");
        project.write("Cargo.lock", "version = 3\n");
        project
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Leaves a report where a run would, so many minutes after the first.
    pub(crate) fn leave(&self, report: &Report, minute: u64) -> PathBuf {
        let Run {
            package, target, ..
        } = &report.run;
        let reports = self.path("target/plimsoll");
        let dir = layout::scenario_dir(&reports, package, target, &report.scenario);
        let path = dir.join(layout::REPORT);
        fs::create_dir_all(dir).unwrap();
        fs::write(&path, json::to_string(report)).unwrap();
        set_time(&path, minute);
        path
    }

    pub(crate) fn plimsoll(&self, args: &[&str]) -> Ran {
        self.run(env!("CARGO_BIN_EXE_plimsoll"), args, &[])
    }

    pub(crate) fn plimsoll_with(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        self.run(env!("CARGO_BIN_EXE_plimsoll"), args, env)
    }

    pub(crate) fn run(&self, program: &str, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.path());
        // What the tests themselves run under is not what they are about.
        for name in [
            "CI",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET_DIR",
            "CLICOLOR_FORCE",
            "NO_COLOR",
        ] {
            command.env_remove(name);
        }
        let output = command.envs(env.iter().copied()).output().unwrap();
        let text = |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            // macOS has its temporary folders behind a link.
            let dir = self.dir.path().canonicalize().unwrap();
            let text = text.replace(&*dir.to_string_lossy(), "DIR");
            text.replace(&*self.dir.path().to_string_lossy(), "DIR")
        };
        Ran {
            status: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

pub(crate) fn set_time(path: &Path, minute: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + 60 * minute);
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

/// A report of a run of `demo`'s test target `leaks`, with two scenarios.
pub(crate) fn report(run: &str, scenario: &str, verdict: Verdict) -> Report {
    let mut report = sample::report(run, scenario, verdict);
    report.run.scenarios = vec!["lru_churn".to_owned(), "http::echo".to_owned()];
    report
}

/// One that found a stack to grow.
pub(crate) fn regressed(run: &str, scenario: &str, stack: &str, rate: Rate) -> Report {
    let mut report = report(run, scenario, Verdict::Regressed);
    report.findings.push(finding(stack, rate));
    report
}
