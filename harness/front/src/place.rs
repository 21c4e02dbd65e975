//! Finds where a run's files are, with the rules of `plimsoll_core::layout`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use plimsoll_core::blame::Packages;
use plimsoll_core::layout;
use plimsoll_core::report::Run;

use crate::{Program, order};

/// The folders and names of one run.
#[derive(Debug)]
pub(crate) struct Place {
    /// The run, without what is of one scenario.
    run: Run,
    reports: PathBuf,
    pub(crate) baselines: PathBuf,
    /// The settings files that exist; the first one has precedence.
    pub(crate) settings: Vec<PathBuf>,
    pub(crate) workspace: PathBuf,
    /// The profile that cargo built this program with, by the name of its folder.
    pub(crate) profile: String,
}

impl Place {
    pub(crate) fn find(tested: &Program) -> Place {
        let manifest = &tested.manifest_dir;
        let baselines = layout::baselines_dir(manifest, Path::exists);
        let workspace = layout::workspace_root(manifest, |dir| {
            std::fs::read_to_string(dir.join("Cargo.toml")).ok()
        });
        let settings = layout::settings_files(manifest, &workspace, Path::exists);
        let program = std::fs::canonicalize(&tested.path).ok();
        let of_program = || target_dir_of(program.as_deref()?, Path::exists);
        let target_dir = tested.target_dir.clone().or_else(of_program);
        let target_dir = target_dir.unwrap_or_else(|| workspace.join("target"));
        let run = std::env::var("NEXTEST_RUN_ID").ok();
        Place {
            run: Run {
                id: run.or_else(cargo_run_id).unwrap_or_else(own_run_id),
                commit: commit(&workspace),
                package: tested.package.clone(),
                target: tested.target.clone(),
                scenarios: Vec::new(),
                selected: None,
                built_with: profile_variables(),
                benchmark: None,
                runner: tested.runner,
                plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
                files: String::new(),
                baseline: String::new(),
            },
            reports: layout::reports_dir(&target_dir),
            settings,
            baselines,
            workspace,
            profile: program.as_deref().and_then(profile_of).unwrap_or_else(|| {
                match cfg!(debug_assertions) {
                    true => "debug".to_owned(),
                    false => "release".to_owned(),
                }
            }),
        }
    }

    /// Returns whether the program was stripped, as far as the manifest and cargo's variables
    /// tell.
    pub(crate) fn strips(&self) -> bool {
        let profile = if self.profile == "debug" {
            "dev"
        } else {
            &self.profile
        };
        let profile = profile.to_ascii_uppercase().replace('-', "_");
        match std::env::var(format!("CARGO_PROFILE_{profile}_STRIP")) {
            Ok(set) => !matches!(set.as_str(), "none" | "false"),
            Err(_) => {
                let manifest = std::fs::read_to_string(self.workspace.join("Cargo.toml"));
                layout::strips(&manifest.unwrap_or_default(), &self.profile)
            }
        }
    }

    /// Reads the packages of the workspace's `Cargo.lock`. Without this file, only the test
    /// target is known.
    pub(crate) fn packages(&self) -> Packages {
        let text = std::fs::read_to_string(self.workspace.join("Cargo.lock"));
        Packages::of_lockfile(&text.unwrap_or_default()).with_own(&self.run.target)
    }

    /// Returns the folder of a scenario's files.
    pub(crate) fn scenario(&self, name: &str) -> PathBuf {
        layout::scenario_dir(&self.reports, &self.run.package, &self.run.target, name)
    }

    /// Returns the folder for files while the program lists its scenarios.
    pub(crate) fn listing(&self) -> PathBuf {
        self.reports.join(self.run.test()).join(layout::LISTING)
    }

    /// Returns a path as it is shown to people: relative to the workspace root, if it is below
    /// it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.workspace).unwrap_or(path);
        path.display().to_string()
    }

    /// Returns the run that a scenario's report belongs to.
    pub(crate) fn run(&self, scenario: &str) -> Run {
        let baseline = layout::baseline_file(&self.baselines, scenario);
        Run {
            files: self.relative(&self.scenario(scenario)),
            baseline: self.relative(&baseline),
            ..self.run.clone()
        }
    }
}

/// Returns cargo's variables for profiles. Whoever runs the test has built it with them.
fn profile_variables() -> Vec<String> {
    let all = std::env::vars_os();
    let all =
        all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let of_profile = all.filter(|(name, _)| name.starts_with("CARGO_PROFILE_"));
    let mut set: Vec<String> = of_profile
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    set.sort_unstable();
    set
}

/// Reads a file that people write, following links.
///
/// # Errors
///
/// If the path is not a regular file, or cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would block until somebody writes to it.
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() {
        let found = match kind.is_dir() {
            true => "a folder",
            false => "a pipe, a socket or a device",
        };
        return Err(io::Error::other(format!("expected a file, found {found}")));
    }
    std::fs::read(path)
}

/// Returns the name of cargo's profile for a program in `PROFILE/deps`.
fn profile_of(program: &Path) -> Option<String> {
    let folder = program.parent().filter(|folder| folder.ends_with("deps"))?;
    Some(folder.parent()?.file_name()?.to_str()?.to_owned())
}

/// Returns the target directory of a program.
///
/// cargo builds test programs into `PROFILE/deps` in the target directory, with `--target` into
/// `TRIPLE/PROFILE/deps`. A program elsewhere is in the nearest folder that has cargo's
/// `CACHEDIR.TAG`. cargo writes this file only if it creates the target directory itself, so it
/// does not count for programs in `deps`.
fn target_dir_of(program: &Path, exists: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let folder = program.parent()?;
    if folder.ends_with("deps") {
        let above = folder.parent()?.parent()?;
        let target = match is_triple(above) {
            true => above.parent()?,
            false => above,
        };
        return Some(target.to_owned());
    }
    let marked = |folder: &&Path| exists(&folder.join("CACHEDIR.TAG"));
    folder.ancestors().find(marked).map(Path::to_owned)
}

/// Returns whether a folder has the name of a target that can be measured.
fn is_triple(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let arch = name.strip_suffix("-linux-gnu").unwrap_or_default();
    arch.starts_with("x86_64-") || arch.starts_with("aarch64-")
}

/// Returns an ID of the cargo process that started this one, so all test targets of one `cargo
/// test` belong to one run. Returns `None` if no cargo started this process, or the system does
/// not say.
fn cargo_run_id() -> Option<String> {
    let cargo = std::os::unix::process::parent_id();
    let told = |file: &str| std::fs::read_to_string(format!("/proc/{file}")).ok();
    let since = started_as(&told(&format!("{cargo}/stat"))?, "cargo")?;
    // The start time counts from boot, so the ID needs the boot's ID as well.
    let boot = told("sys/kernel/random/boot_id")?;
    let boot = boot.split('-').next()?;
    Some(format!("{since:x}-{cargo:x}-{boot}"))
}

/// Parses a line of `/proc/PID/stat` (proc(5)). Returns when the process started, in clock
/// ticks since boot, if it has this name.
fn started_as(stat: &str, name: &str) -> Option<u64> {
    let (start, rest) = stat.rsplit_once(')')?;
    let (_, found) = start.split_once('(')?;
    // The name is the second field, the start time the twenty-second.
    let started = rest.split_whitespace().nth(19)?;
    (found == name).then(|| started.parse().ok())?
}

/// Returns an ID made of the time in milliseconds and the process ID: one for all programs that
/// this process measures.
fn own_run_id() -> String {
    static ID: OnceLock<String> = OnceLock::new();
    let made = || format!("{:x}-{:x}", order::now().as_millis(), std::process::id());
    ID.get_or_init(made).clone()
}

/// Returns the commit that is checked out, if there is a repository and git can be run.
fn commit(workspace: &Path) -> Option<String> {
    let output = Command::new("git")
        .args(["rev-parse", "--verify", "HEAD"])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && commit.len() >= 40).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_reports_are() {
        const TRIPLE: &str = "x86_64-unknown-linux-gnu";
        for (program, marked, expected) in [
            ("/w/target/debug/deps/leaks-1", "/w/target", "/w/target"),
            // A target directory that existed before cargo used it, in a cache that another
            // tool tagged.
            (
                "/cache/volume/release/deps/leaks-1",
                "/cache",
                "/cache/volume",
            ),
            (
                &format!("/w/target/{TRIPLE}/debug/deps/leaks-1"),
                "/w/target",
                "/w/target",
            ),
            ("/w/target/elsewhere/leaks-1", "/w/target", "/w/target"),
        ] {
            let exists = |path: &Path| path == Path::new(marked).join("CACHEDIR.TAG");
            let found = target_dir_of(Path::new(program), exists);
            assert_eq!(found.as_deref(), Some(Path::new(expected)), "{program}");
        }
        let found = target_dir_of(Path::new("/w/leaks"), |_| false);
        assert_eq!(found, None);
    }

    #[test]
    fn when_cargo_was_started() {
        let stat = |name: &str| {
            format!(
                "1107 ({name}) S 1 1107 1107 0 -1 4194560 168 0 0 0 0 0 0 0 20 0 1 0 75432 \
                 4354048 232 18446744073709551615"
            )
        };
        assert_eq!(started_as(&stat("cargo"), "cargo"), Some(75_432));
        assert_eq!(started_as(&stat("bash"), "cargo"), None);
        assert_eq!(started_as(&stat("a) S (cargo"), "cargo"), None);
        assert_eq!(started_as("", "cargo"), None);
    }
}
