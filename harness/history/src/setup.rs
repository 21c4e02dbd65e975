//! Prepares everything that a measurement needs: the project, the test, a worktree, a bench.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cargo_metadata::TargetKind;
use plimsoll_core::baseline::{Baseline, MAX_BYTES};
use plimsoll_core::judge::Verdict;
use plimsoll_core::layout;

use crate::args::WhenToOverlay;
use crate::bench::Bench;
use crate::cache::Cache;
use crate::measure::{self, Tools, settled};
use crate::overlay::Overlay;
use crate::revision::Revision;
use crate::session::{Session, Subject};
use crate::worktree::Worktree;
use plimsoll_desk::file;
use plimsoll_desk::git::{Commit, Git};
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::{is_yes, safe, safe_line};
use plimsoll_desk::progress::Progress;
use plimsoll_desk::project::{Project, shown};
use plimsoll_desk::status::{ExitStatus, Refused};
use plimsoll_report::joined::Scenario;
use plimsoll_report::reports::Reports;

/// The folder, in the target directory, for builds, measurements and logs.
pub(super) const FOLDER: &str = "plimsoll-bisect";
/// The folder in it for the output of cargo and the tests.
pub(super) const LOGS: &str = "logs";

/// The project in the working tree.
pub(super) struct Home {
    pub(super) git: Git,
    /// The folder of the workspace in the repository.
    pub(super) prefix: PathBuf,
    pub(super) project: Project,
    /// The target directory of the working tree.
    pub(super) target_dir: PathBuf,
}

impl Home {
    /// Returns the folder in which revisions are built, measured and logged.
    pub(super) fn folder(&self) -> PathBuf {
        self.target_dir.join(FOLDER)
    }
}

/// Runs a command that Ctrl-C may stop. After Ctrl-C, any error counts as a consequence of it,
/// such as that of a git process that was stopped as well.
pub(super) fn interruptible<T>(
    stopped: &str,
    command: impl FnOnce(&Interrupt) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let interrupt = Interrupt::listen().context("signals")?;
    command(&interrupt).map_err(|err| match interrupt.check() {
        Err(_) => Refused::with_status(ExitStatus::Interrupted, stopped),
        Ok(()) => err,
    })
}

pub(super) fn bench(
    home: &Home,
    session: &Session,
    subject: &Subject,
    overlay: Option<Overlay>,
    worktree: Worktree,
    interrupt: &Interrupt,
) -> anyhow::Result<Bench> {
    let folder = home.folder();
    let target_dir = match &session.target_dir {
        Some(dir) => std::path::absolute(dir).context("--target-dir")?,
        None => folder.join("target"),
    };
    let logs = folder.join(LOGS);
    std::fs::create_dir_all(&logs).with_context(|| format!("cannot use {}", shown(&logs)))?;
    Ok(Bench {
        tools: Tools {
            target_dir,
            logs,
            session: session.clone(),
            interrupt: interrupt.clone(),
            progress: Progress::new(),
        },
        subject: subject.clone(),
        when: match (session.overlay, &session.dep) {
            // There is only one commit, so the test is always that of the working tree.
            (WhenToOverlay::Auto, Some(_)) => WhenToOverlay::Always,
            (when, _) => when,
        },
        dependency: None,
        prefix: home.prefix.clone(),
        lockfile: home.project.workspace_root().join("Cargo.lock"),
        cache: cache(home, session, subject, overlay.as_ref())?,
        overlay,
        built: BTreeMap::new(),
        builds: Default::default(),
        looked_at: Default::default(),
        per: None,
        spent: Vec::new(),
        worktree,
    })
}

/// Opens the cache for a scenario. Its key has everything on which the rates depend.
pub(super) fn cache(
    home: &Home,
    session: &Session,
    subject: &Subject,
    overlay: Option<&Overlay>,
) -> anyhow::Result<Cache> {
    let digest = overlay.map_or(0, Overlay::digest);
    let cache = Cache::new(
        home.folder().join("measured"),
        &[
            &toolchain()?,
            &subject.package,
            &subject.target,
            &subject.scenario,
            measure::profile(session.release).unwrap_or_default(),
            &format!("{:?} {digest:016x}", session.overlay),
            &format!("{:?}", session.budget),
            &surroundings(env::vars_os()),
        ],
    );
    Ok(match &session.watch {
        Some(watch) => cache.of(&format!("{}\0{}", watch.folder.display(), watch.command)),
        None => cache,
    })
}

/// Creates the worktree, with a commit checked out.
pub(super) fn worktree(git: &Git, at: &Commit, remove_stale: bool) -> anyhow::Result<Worktree> {
    let path = Worktree::path(git)?;
    let lock = Worktree::claim(git, &path)?;
    // A process that was killed left a worktree there.
    if path.symlink_metadata().is_ok() {
        offer_removal(&path, remove_stale)?;
        Worktree::remove_stale(git, &path)?;
    }
    Worktree::add(git, &path, at, lock)
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

pub(super) fn home(manifest_path: Option<&Path>) -> anyhow::Result<Home> {
    let here = manifest_path.and_then(Path::parent);
    let here = here.filter(|dir| !dir.as_os_str().is_empty());
    let project = settled(measure::working_tree(here.unwrap_or(Path::new("."))))?;
    let project = project.map_err(|unusable| Refused::usage(unusable.why))?;
    let root = project.workspace_root();
    let git = Git::in_dir(root);
    let top = git
        .try_ask(&["rev-parse", "--path-format=absolute", "--show-toplevel"])?
        .map(PathBuf::from)
        .ok_or_else(|| {
            Refused::usage(format!(
                "{} is not in a git repository: there is no commit to measure",
                shown(root)
            ))
        })?;
    let top = real(&top);
    Ok(Home {
        prefix: real(root)
            .strip_prefix(&top)
            .map(Path::to_owned)
            .unwrap_or_default(),
        git: Git::in_dir(top),
        target_dir: project.target_dir().to_owned(),
        project,
    })
}

/// Returns the revision of the working tree: its commit, or a snapshot if it has uncommitted
/// changes.
pub(super) fn working_tree(home: &Home, session: &Session) -> anyhow::Result<Revision> {
    let git = &home.git;
    let changed = git.changed_submodules()?;
    if !changed.is_empty() {
        return Err(Refused::usage(format!(
            "expected submodules without uncommitted changes, found changes in {}\n  \
             hint: commit them there: only commits are measured",
            safe_line(&changed.join(", "))
        )));
    }
    let built = [Some(&home.target_dir), session.target_dir.as_ref()];
    let built: Vec<PathBuf> = built.into_iter().flatten().map(|dir| real(dir)).collect();
    let snapshot = git.snapshot(&built)?;
    Ok(match git.commit("HEAD")? == Some(snapshot.clone()) {
        true => Revision::Commit(snapshot),
        false => Revision::WorkingTree(snapshot),
    })
}

/// Returns the package and the target of the test: those that the session names, or the only
/// ones. A server has the target of its reports.
pub(super) fn test(session: &Session, home: &Home) -> anyhow::Result<(String, String)> {
    if session.watch.is_some() {
        let package = home.project.package_meant(session.package.as_deref())?;
        return Ok((package, layout::WATCH.to_owned()));
    }
    let target = session.test.as_deref().unwrap_or("leaks");
    let is_asked = |package: &str| session.package.as_ref().is_none_or(|name| name == package);
    let kind = session.kind();
    let name = |target: &str| match kind {
        TargetKind::Bench => rustc_name(target),
        _ => target.to_owned(),
    };
    let tests: Vec<(String, String)> = home
        .project
        .targets(kind)
        .filter(|(package, found)| is_asked(package) && name(found) == name(target))
        .map(|(package, found)| (package.to_owned(), name(found)))
        .collect();
    match tests.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let place = match &session.package {
                Some(package) => format!("the package `{package}`"),
                None => "the workspace".to_owned(),
            };
            Err(Refused::usage(safe(&format!(
                "no {kind} of {place} is called `{target}`\n  \
                 hint: name the one with the scenario, with --{kind} and --package",
            ))))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(package, _)| &**package).collect();
            Err(Refused::usage(format!(
                "several packages have that {kind}: {}\n  hint: name one with --package",
                names.join(", ")
            )))
        }
    }
}

/// Returns the name by which the compiler, and so a report, knows a target.
fn rustc_name(target: &str) -> String {
    target.replace('-', "_")
}

/// Returns the scenario: the one that the session names, the only one that regressed in the
/// last run, or the only one.
pub(super) fn subject(session: &Session, home: &Home) -> anyhow::Result<Subject> {
    let (package, target) = test(session, home)?;
    let subject = |scenario: &str| Subject {
        package: package.clone(),
        target: target.clone(),
        scenario: scenario.to_owned(),
    };
    if let Some(scenario) = &session.scenario {
        expect_test(session, home, scenario)?;
        return Ok(subject(scenario));
    }
    let dir = layout::reports_dir(&home.target_dir);
    let reports = Reports::collect(&dir);
    let scenarios = reports
        .and_then(|reports| reports.run_of_each_target(None))
        .unwrap_or_default();
    let of_test = |one: &&Scenario| one.package == package && one.target == target;
    let of_test: Vec<&Scenario> = scenarios.iter().filter(of_test).collect();
    let is_regressed = |one: &&&Scenario| one.verdict() == Some(Verdict::Regressed);
    let grows = of_test.iter().filter(is_regressed);
    let grows: Vec<&str> = grows.map(|one| &*one.name).collect();
    let all: Vec<&str> = of_test.iter().map(|one| &*one.name).collect();
    match (grows.as_slice(), all.as_slice()) {
        ([one], _) | ([], [one]) => Ok(subject(one)),
        ([], []) => Err(Refused::usage(
            "which scenario? Name it with --scenario; the last run left no report to tell by",
        )),
        ([], names) | (names, _) => {
            let names: Vec<String> = names.iter().map(|name| safe_line(name)).collect();
            Err(Refused::usage(format!(
                "which scenario? Name it with --scenario: {}",
                names.join(", ")
            )))
        }
    }
}

/// Refuses a scenario that is a server's, as its baseline says, unless the session has the
/// command that watches it.
pub(super) fn expect_test(session: &Session, home: &Home, scenario: &str) -> anyhow::Result<()> {
    let is_of_server = |dir: &PathBuf| {
        let bytes = file::read(&layout::baseline_file(dir, scenario), MAX_BYTES);
        let baseline = bytes.ok().and_then(|bytes| Baseline::parse(&bytes).ok());
        let measured = baseline.and_then(|baseline| baseline.measured);
        measured.is_some_and(|measured| !measured.per.is_iteration())
    };
    let mut folders = home.project.baselines_dirs().into_keys();
    if session.watch.is_some() || !folders.any(|dir| is_of_server(&dir)) {
        return Ok(());
    }
    let name = safe_line(scenario);
    Err(Refused::usage(format!(
        "{name} is a scenario of `plimsoll watch`, and no test\n  hint: --watch 'COMMAND' measures \
         a server; the command builds it, and runs `plimsoll watch … --scenario {name}`"
    )))
}

pub(super) fn known(git: &Git, revision: &str) -> anyhow::Result<Commit> {
    if let Some(commit) = git.commit(revision)? {
        return Ok(commit);
    }
    let mut text = format!("there is no commit `{}`", safe_line(revision));
    if git.is_shallow()? {
        text.push_str(
            "\n  this clone is shallow: what came before was not fetched\n  \
             hint: git fetch --unshallow --tags",
        );
    }
    Err(Refused::usage(text))
}

pub(super) fn overlay(
    home: &Home,
    subject: &Subject,
    session: &Session,
) -> anyhow::Result<Option<Overlay>> {
    if session.overlay == WhenToOverlay::Never {
        return Ok(None);
    }
    let (package, target) = (&subject.package, &subject.target);
    let (project, kind) = (&home.project, session.kind());
    let (dir, file) = (
        project.package_dir(package),
        project.target_file(package, kind, target),
    );
    let dir = dir.context("the package's folder")?;
    let file = file.context("the test's file")?;
    let others = project.has_other_targets(package, kind);
    let (top, root) = (home.git.dir(), project.workspace_root());
    let mut overlay = Overlay::read(top, root, package, dir, kind, file, others)?;
    // Without a lockfile, cargo would make one.
    if overlay.has_lockfile()
        && let Some(metadata) = measure::resolved(root)?
    {
        overlay.learn(&metadata);
    }
    Ok(Some(overlay))
}

fn offer_removal(path: &Path, remove: bool) -> anyhow::Result<()> {
    if remove {
        return Ok(());
    }
    let found = format!(
        "a bisection that was killed left its worktree in {}",
        shown(path)
    );
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "{found}. Remove it? [Y/n] ");
        let _ = io::stderr().flush();
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).context("an answer")?;
        if answer.trim().is_empty() || is_yes(&answer) {
            return Ok(());
        }
        return Err(Refused::usage("nothing was done"));
    }
    Err(Refused::usage(format!(
        "{found}\n  hint: --remove-stale removes it; nothing else is in there"
    )))
}

/// Returns the exact version of the compiler.
fn toolchain() -> anyhow::Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(&rustc)
        .arg("-vV")
        .output()
        .with_context(|| format!("`{} -vV` did not start", rustc.to_string_lossy()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the environment variables that change the result of a build or a climb.
fn surroundings(variables: impl Iterator<Item = (OsString, OsString)>) -> String {
    const OURS: [&str; 7] = [
        "PLIMSOLL_BASELINES",
        "PLIMSOLL_BUDGET",
        "PLIMSOLL_HOLDERS",
        "PLIMSOLL_KEEP_RUNGS",
        "PLIMSOLL_SPEND_BUDGET",
        "PLIMSOLL_ISOLATION",
        "PLIMSOLL_VERBOSE",
    ];
    const PLACES: [&str; 3] = [
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET_DIR",
        "CARGO_BUILD_JOBS",
    ];
    const FAMILIES: [&str; 4] = [
        "PLIMSOLL_",
        "CARGO_BUILD_",
        "CARGO_PROFILE_",
        "CARGO_TARGET_",
    ];
    const FLAGS: [&str; 2] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];
    let mut set: Vec<String> = variables
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .filter(|(name, _)| !OURS.contains(&&**name) && !PLACES.contains(&&**name))
        .filter(|(name, _)| {
            FLAGS.contains(&&**name) || FAMILIES.iter().any(|family| name.starts_with(family))
        })
        .map(|(name, value)| format!("{name}={}", value.to_string_lossy()))
        .collect();
    set.sort();
    set.join("\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_a_measurement() {
        for (name, counts) in [
            ("PLIMSOLL_MAX_ITERATIONS", true),
            ("PLIMSOLL_MALLOC_CONF", true),
            ("CARGO_PROFILE_DEV_OPT_LEVEL", true),
            ("CARGO_BUILD_TARGET", true),
            ("CARGO_ENCODED_RUSTFLAGS", true),
            ("PLIMSOLL_VERBOSE", false),
            ("CARGO_BUILD_JOBS", false),
            ("CARGO_HOME", false),
            ("PATH", false),
        ] {
            let key = surroundings([(name.into(), "a".into())].into_iter());
            let expected = format!("{name}=a");
            assert_eq!(key, if counts { &expected } else { "" }, "{name}");
        }
    }
}
