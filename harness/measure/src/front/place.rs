//! Where a run's files are: the rule of `plimsoll_core::layout`, applied.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_core::layout;
use plimsoll_core::report::Run;

use crate::Target;

/// The places and names of one run.
#[derive(Debug)]
pub(crate) struct Place {
    package: String,
    target: String,
    reports: PathBuf,
    pub(crate) baselines: PathBuf,
    /// Those that there are, the one that goes first first.
    pub(crate) settings: Vec<PathBuf>,
    pub(crate) workspace: PathBuf,
    run: String,
    commit: Option<String>,
}

impl Place {
    pub(crate) fn find(target: &Target) -> Place {
        // Cargo and nextest say where the package is now; where it was built
        // may be another machine.
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(target.manifest_dir), PathBuf::from);
        let baselines = layout::baselines_dir(&manifest, Path::exists);
        let workspace = layout::workspace_root(&manifest, |dir| {
            std::fs::read_to_string(dir.join("Cargo.toml")).ok()
        });
        let settings = layout::settings_files(&manifest, &workspace, Path::exists);
        let target_dir = target_dir().unwrap_or_else(|| workspace.join("target"));
        Place {
            package: target.package.to_owned(),
            target: target.name.to_owned(),
            reports: layout::reports_dir(&target_dir),
            settings,
            run: std::env::var("NEXTEST_RUN_ID")
                .ok()
                .or_else(cargo_run_id)
                .unwrap_or_else(own_run_id),
            commit: commit(&workspace),
            baselines,
            workspace,
        }
    }

    /// The folder of a scenario's files.
    pub(crate) fn scenario(&self, name: &str) -> PathBuf {
        layout::scenario_dir(&self.reports, &self.package, &self.target, name)
    }

    /// A path as people see it: from the workspace root, where it is below it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// The command that runs one scenario where a debugger can be.
    pub(crate) fn command(&self, scenario: &str) -> String {
        // The compiler has `_` where the target's name may have `-`, and cargo
        // takes a pattern.
        let target = match self.target.contains('_') {
            true => format!("'{}'", self.target.replace('_', "?")),
            false => self.target.clone(),
        };
        let release = if cfg!(debug_assertions) {
            ""
        } else {
            " --release"
        };
        format!(
            "PLIMSOLL_ISOLATION=off cargo test{release} -p {} --test {target} -- --exact {scenario}",
            self.package
        )
    }

    pub(crate) fn run(&self, scenario: &str, scenarios: &[String]) -> Run {
        let baseline = layout::baseline_file(&self.baselines, scenario);
        Run {
            id: self.run.clone(),
            commit: self.commit.clone(),
            package: self.package.clone(),
            target: self.target.clone(),
            scenarios: scenarios.to_vec(),
            plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
            files: self.relative(&self.scenario(scenario)),
            baseline: self.relative(&baseline),
        }
    }
}

/// A file that people write, also behind a link.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for whoever writes to it.
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

/// The target directory that this program was built into.
fn target_dir() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    target_dir_of(&program, env!("PLIMSOLL_TARGET"), Path::exists)
}

/// Where cargo builds it is in `PROFILE/deps`, with `--target` in a folder of that name. It marks
/// the target directory only where it makes it, so a mark counts for what stands elsewhere alone.
fn target_dir_of(program: &Path, triple: &str, exists: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let folder = program.parent()?;
    if folder.ends_with("deps") {
        let above = folder.parent()?.parent()?;
        let target = match above.ends_with(triple) {
            true => above.parent()?,
            false => above,
        };
        return Some(target.to_owned());
    }
    let marked = |folder: &&Path| exists(&folder.join("CACHEDIR.TAG"));
    folder.ancestors().find(marked).map(Path::to_owned)
}

/// Of the cargo that started this: all test targets that one `cargo test` runs are one
/// run. None where nobody did, or the system does not say.
fn cargo_run_id() -> Option<String> {
    let cargo = std::os::unix::process::parent_id();
    let told = |file: &str| std::fs::read_to_string(format!("/proc/{file}")).ok();
    let since = started_as(&told(&format!("{cargo}/stat"))?, "cargo")?;
    // The time is since the machine was started.
    let boot = told("sys/kernel/random/boot_id")?;
    let boot = boot.split('-').next()?;
    Some(format!("{since:x}-{cargo:x}-{boot}"))
}

/// When a process of that name was started, of its line in `/proc/PID/stat` (proc(5)): in
/// clock ticks since the machine was.
fn started_as(stat: &str, name: &str) -> Option<u64> {
    let (start, rest) = stat.rsplit_once(')')?;
    let (_, found) = start.split_once('(')?;
    // The second of the fields is the name, the twenty-second the time.
    let started = rest.split_whitespace().nth(19)?;
    (found == name).then(|| started.parse().ok())?
}

/// Of the time and the process: two runs that differ in neither are one.
fn own_run_id() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    format!("{now:x}-{:x}", std::process::id())
}

/// The commit that is checked out, where there is a repository and a git.
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
            // A volume that was there before, in a cache that somebody else marked.
            (
                "/cache/volume/release/deps/leaks-1",
                "/cache",
                "/cache/volume",
            ),
            (
                "/w/target/x86_64-unknown-linux-gnu/debug/deps/leaks-1",
                "/w/target",
                "/w/target",
            ),
            ("/w/target/elsewhere/leaks-1", "/w/target", "/w/target"),
        ] {
            let exists = |path: &Path| path == Path::new(marked).join("CACHEDIR.TAG");
            let found = target_dir_of(Path::new(program), TRIPLE, exists);
            assert_eq!(found.as_deref(), Some(Path::new(expected)), "{program}");
        }
        assert_eq!(
            target_dir_of(Path::new("/w/leaks"), TRIPLE, |_| false),
            None
        );
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
