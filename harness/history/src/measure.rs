//! Builds the test of a revision, and takes one of its scenarios up the ladder.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use cargo_metadata::{Metadata, TargetKind};
use plimsoll_core::report::{CheckOutcome, Report, json};
use plimsoll_core::{Tally, fold, layout};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::session::{Session, Subject, Watch};
use plimsoll_desk::interrupt::{Ended, Interrupt};
use plimsoll_desk::out::{safe, safe_line};
use plimsoll_desk::progress::Progress;
use plimsoll_desk::project::{self, Project, shown};

/// Text by which the system reports a full disk.
const FULL: &str = "No space left on device";
/// Text by which cargo reports that the compiler was killed.
const KILLED: &str = "(signal: 9, SIGKILL: kill)";

/// Why a revision cannot be measured. No reason says anything about its growth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    pub cause: Cause,
    /// The explanation, on one line.
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Cause {
    /// There is no project, or no package or test with this name.
    #[serde(rename = "no test")]
    NoTest,
    /// The dependencies cannot be resolved or fetched.
    #[serde(rename = "dependencies not resolved")]
    Lockfile,
    #[serde(rename = "no submodules")]
    Submodules,
    #[serde(rename = "does not build")]
    DoesNotBuild,
    #[serde(rename = "not built in time")]
    BuildTimedOut,
    /// The system killed the build, for example because memory ran out.
    #[serde(rename = "build killed")]
    Killed,
    /// The revision's test does not have the scenario, and the scenario cannot be copied into
    /// it.
    #[serde(rename = "no scenario")]
    NoScenario,
    /// The test gave no answer in time.
    #[serde(rename = "hangs")]
    Hangs,
    /// The workload failed.
    #[serde(rename = "workload failed")]
    Failed,
    /// The command that watches a server left no report.
    #[serde(rename = "not measured")]
    NotMeasured,
    /// The test left no report, or one in another format or of another way of measuring.
    #[serde(rename = "other harness")]
    OtherHarness,
    /// The measurement cannot be trusted.
    #[serde(rename = "broken measurement")]
    Broken,
    /// The rate is not clear, even after the longest measurement.
    #[serde(rename = "not clear")]
    Unclear,
}

impl Cause {
    /// Tells whether the revision's own files are the reason that there is no test to run.
    pub(crate) fn is_of_code(self) -> bool {
        use Cause::{DoesNotBuild, Lockfile, NoScenario, NoTest};
        matches!(self, NoTest | Lockfile | DoesNotBuild | NoScenario)
    }

    /// Tells whether another attempt on the same commit would give the same result.
    pub(crate) fn lasts(self) -> bool {
        !matches!(
            self,
            Cause::Lockfile
                | Cause::Submodules
                | Cause::BuildTimedOut
                | Cause::Killed
                | Cause::NotMeasured
                | Cause::Unclear
        )
    }
}

impl Unusable {
    pub(crate) fn new(cause: Cause, why: impl Into<String>) -> Unusable {
        let why = why.into();
        Unusable { cause, why }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause, self.why)
    }
}

impl std::error::Error for Unusable {}

/// Tells a revision that cannot be measured from a failure of the command itself.
pub(crate) fn settled<T>(done: anyhow::Result<T>) -> anyhow::Result<Result<T, Unusable>> {
    match done {
        Ok(done) => Ok(Ok(done)),
        Err(err) => err.downcast().map(Err),
    }
}

/// The first line of this file (<https://bford.info/cachedir/>).
const CACHEDIR_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n";

/// How revisions are built and run.
#[derive(Debug)]
pub(crate) struct Tools {
    /// The target folder of cargo, for all revisions.
    pub target_dir: PathBuf,
    /// The folder for the output of cargo and the tests.
    pub logs: PathBuf,
    pub session: Session,
    pub interrupt: Interrupt,
    pub progress: Progress,
}

/// A test that was built.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    executable: PathBuf,
    manifest_dir: PathBuf,
    /// How this tool's front runs it, if it has none of its own.
    bench: Option<BuiltBench>,
    pub scenarios: BTreeSet<String>,
    /// Whether the test was copied over the revision's own files.
    pub laid_over: bool,
}

/// What cargo would run a bench with.
#[derive(Clone, Debug)]
struct BuiltBench {
    package: String,
    target: String,
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

impl Built {
    pub(crate) fn has(&self, scenario: &str) -> Result<(), Unusable> {
        if self.scenarios.contains(scenario) {
            return Ok(());
        }
        let there: Vec<&str> = self.scenarios.iter().map(String::as_str).take(20).collect();
        let why = match there.as_slice() {
            [] => "its test has no scenarios".to_owned(),
            names => {
                let names = safe_line(&names.join(", "));
                format!("its test has no `{scenario}`, but {names}")
            }
        };
        Err(Unusable::new(Cause::NoScenario, why))
    }

    /// Removes the kept executable. It can be built again.
    pub(crate) fn remove(self) {
        let _ = fs::remove_file(&self.executable);
        if let Some(dir) = self.executable.parent() {
            let _ = fs::remove_dir(dir);
        }
    }
}

/// Asks cargo about the project in a folder, without changes to cargo's environment.
pub(crate) fn working_tree(dir: &Path) -> anyhow::Result<Project> {
    ask(project::cargo().current_dir(dir))
}

/// Asks cargo about a project and its dependencies. Returns `None` if cargo cannot resolve
/// them without a change to the lockfile.
pub(crate) fn resolved(dir: &Path) -> anyhow::Result<Option<Metadata>> {
    let args = ["--locked".as_ref()];
    Ok(project::metadata(project::cargo().current_dir(dir), &args)?.ok())
}

fn ask(cargo: &mut Command) -> anyhow::Result<Project> {
    let found = Project::ask(cargo)?.map_err(|said| {
        let why = format!("cargo cannot read the project: {}", first_error(&said));
        Unusable::new(Cause::NoTest, why)
    });
    Ok(found?)
}

/// Returns the argument of `cargo test` for a profile.
pub(crate) fn profile(release: bool) -> Option<&'static str> {
    release.then_some("--release")
}

impl Tools {
    fn cargo(&self, dir: &Path) -> Command {
        let mut command = project::cargo();
        self.prepare(&mut command, dir);
        command
    }

    /// Lets a command run in a folder of the revision, and cargo in it build where all revisions
    /// are built.
    fn prepare(&self, command: &mut Command, dir: &Path) {
        project::without_package(command)
            .current_dir(dir)
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_PROGRESS_WHEN", "never")
            .env("CARGO_TARGET_DIR", &self.target_dir)
            .env_remove("CARGO_BUILD_TARGET_DIR");
    }

    /// Asks cargo about the project in a folder.
    pub(crate) fn project(&self, dir: &Path) -> anyhow::Result<Project> {
        ask(&mut self.cargo(dir))
    }

    /// Runs a cargo command that is not a build. Returns its output, or the error on one line.
    /// `name` and the command's make the name of the log.
    pub(crate) fn cargo_run(
        &mut self,
        dir: &Path,
        args: &[&str],
        name: &str,
    ) -> anyhow::Result<Result<String, String>> {
        let mut command = self.cargo(dir);
        command.args(args);
        let timeout = self.session.timeout;
        let done = self.output(&mut command, &format!("{name}.{}", args[0]), timeout)?;
        Ok(done.map_err(|failed| match failed {
            Some((_, said)) => first_error(&said),
            None => format!("no answer within {} s", timeout.as_secs()),
        }))
    }

    /// Runs a cargo command that answers at once. Returns its output, or its whole error
    /// message.
    pub(crate) fn cargo_ask(
        &self,
        dir: &Path,
        args: &[&str],
    ) -> anyhow::Result<Result<String, String>> {
        let output = self.cargo(dir).args(args).output();
        let output = output.with_context(|| format!("`cargo {}` did not start", args[0]))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stderr)),
        })
    }

    /// Builds a test, and asks it for its scenarios. If the lockfile is `exact`, cargo must not
    /// change it.
    pub(crate) fn build(
        &mut self,
        project: &Project,
        subject: &Subject,
        exact: bool,
        name: &str,
    ) -> anyhow::Result<Built> {
        let (package, target) = (&subject.package, &subject.target);
        let Some(manifest_dir) = project.package_dir(package) else {
            let why = format!("there is no package `{package}`");
            return Err(Unusable::new(Cause::NoTest, why).into());
        };
        if self.session.bench {
            return self.build_bench(project, subject, name);
        }
        if project
            .target_file(package, &TargetKind::Test, target)
            .is_none()
        {
            let why = format!("`{package}` has no test `{target}`");
            return Err(Unusable::new(Cause::NoTest, why).into());
        }
        let locked: &[&str] = if exact { &["--locked"] } else { &[] };
        // The dependencies are fetched apart from the build, because a failure to fetch says
        // nothing about the code.
        let root = project.workspace_root();
        let fetched = self.cargo_run(root, &[&["fetch"], locked].concat(), name)?;
        fetched.map_err(|why| Unusable::new(Cause::Lockfile, why))?;
        let mut build = self.cargo(root);
        let id = project.package_id(package).unwrap_or(package);
        build
            .args(["test", "--no-run"])
            .args(["--message-format", "json-render-diagnostics"])
            .args(["--package", id, "--test", target])
            .args(locked)
            .args(profile(self.session.release));
        let timeout = self.session.timeout;
        let messages = self.output(&mut build, &format!("{name}.build"), timeout)?;
        let messages = messages.map_err(|failed| match failed {
            Some((status, said)) if status.code().is_none() || said.contains(KILLED) => {
                Unusable::new(Cause::Killed, first_error(&said))
            }
            Some((_, said)) => Unusable::new(Cause::DoesNotBuild, first_error(&said)),
            None => {
                let why = format!("not within {} s", timeout.as_secs());
                Unusable::new(Cause::BuildTimedOut, why)
            }
        })?;
        let executable = messages.lines().rev().find_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            let is_it =
                message["target"]["name"] == target.as_str() && message["profile"]["test"] == true;
            let path = message["executable"].as_str().filter(|_| is_it)?;
            Some(PathBuf::from(path))
        });
        let built = executable.context("cargo built the test and does not say where it is")?;
        let mut built = Built {
            executable: self.keep(&built, name)?,
            manifest_dir: manifest_dir.to_owned(),
            bench: None,
            scenarios: BTreeSet::new(),
            laid_over: false,
        };
        let mut list = self.test(&built);
        list.args(["--list", "--format", "terse"]);
        let listed = self.output(&mut list, &format!("{name}.list"), Duration::from_secs(60))?;
        let listed = listed.map_err(|failed| match failed {
            Some((_, said)) => {
                let why = format!("it does not list its scenarios: {}", first_error(&said));
                Unusable::new(Cause::OtherHarness, why)
            }
            None => Unusable::new(Cause::Hangs, "it lists no scenarios"),
        })?;
        let names = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        built.scenarios = names.map(str::to_owned).collect();
        Ok(built)
    }

    /// The folder of the executables that are kept, and of their reports.
    fn kept_dir(&self) -> PathBuf {
        self.target_dir.join("bisect")
    }

    /// Keeps an executable, because the build of the next revision overwrites it. Returns where.
    fn keep(&self, built: &Path, name: &str) -> anyhow::Result<PathBuf> {
        let kept = self.kept_dir().join(name);
        fs::create_dir_all(&kept).context("a folder for the test")?;
        // A test that is not where cargo builds it reports into the nearest folder with this file.
        fs::write(self.kept_dir().join("CACHEDIR.TAG"), CACHEDIR_TAG)
            .context("a folder for the test")?;
        let executable = kept.join(built.file_name().unwrap_or_default());
        let _ = fs::remove_file(&executable);
        fs::hard_link(built, &executable)
            .or_else(|_| fs::copy(built, &executable).map(|_| ()))
            .with_context(|| format!("cannot keep {}", built.display()))?;
        Ok(executable)
    }

    /// Builds a bench with the drop-in in criterion's place, and asks it for its scenarios.
    #[cfg(target_os = "linux")]
    fn build_bench(
        &mut self,
        project: &Project,
        subject: &Subject,
        name: &str,
    ) -> anyhow::Result<Built> {
        let log = self.logs.join(format!("{name}.build.log"));
        // All commands of this build are added to it.
        File::create(&log).context("the build's log")?;
        let build = plimsoll_dropin::Build {
            folder: Some(project.workspace_root().to_owned()),
            packages: vec![subject.package.clone()],
            benches: vec![subject.target.clone()],
            target_dir: Some(self.target_dir.clone()),
            log: Some(log),
            timeout: Some(self.session.timeout),
            ..plimsoll_dropin::Build::default()
        };
        let no_test = |err: anyhow::Error| {
            let why = err.to_string();
            Unusable::new(Cause::NoTest, why.lines().next().unwrap_or_default())
        };
        let found = plimsoll_dropin::find(&build).map_err(no_test)?;
        self.progress.tick();
        let built = plimsoll_dropin::build(&build, &found, &self.interrupt);
        self.interrupt.check()?;
        let built = built.map_err(|err| match err.is::<plimsoll_dropin::TimedOut>() {
            true => Unusable::new(Cause::BuildTimedOut, err.to_string()),
            // A bench that does not build is no error.
            false => Unusable::new(Cause::Lockfile, safe_line(&format!("{err:#}"))),
        })?;
        let Some(one) = built.programs.first() else {
            let said = self.stop_if_full(&format!("{name}.build"))?;
            return Err(match built.unbuilt.first() {
                Some(_) if said.contains(KILLED) => {
                    Unusable::new(Cause::Killed, first_error(&said))
                }
                Some(unbuilt) if unbuilt.is_built => {
                    Unusable::new(Cause::NoTest, unbuilt.why.clone())
                }
                Some(_) => Unusable::new(Cause::DoesNotBuild, first_error(&said)),
                None => Unusable::new(Cause::NoTest, "it has no benchmark of criterion"),
            }
            .into());
        };
        let mut program = one.program.clone();
        program.path = self.keep(&program.path, name)?;
        self.progress.tick();
        let scenarios = plimsoll_front::scenarios(&program);
        let scenarios = scenarios.map_err(|why| {
            let line = safe_line(why.lines().next().unwrap_or_default());
            Unusable::new(Cause::OtherHarness, line)
        })?;
        Ok(Built {
            executable: program.path,
            manifest_dir: program.manifest_dir.clone(),
            scenarios: scenarios
                .into_iter()
                .map(|scenario| scenario.name)
                .collect(),
            bench: Some(BuiltBench {
                package: program.package,
                target: program.target,
                folder: program.directory.unwrap_or(program.manifest_dir),
                variables: program.variables,
            }),
            laid_over: false,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn build_bench(&mut self, _: &Project, _: &Subject, _: &str) -> anyhow::Result<Built> {
        anyhow::bail!("plimsoll measures on Linux, on x86_64 and aarch64")
    }

    fn test(&self, built: &Built) -> Command {
        let mut command = match &built.bench {
            None => {
                let mut command = Command::new(&built.executable);
                command.current_dir(&built.manifest_dir);
                command
            }
            // A bench has no front of its own.
            Some(bench) => {
                // A build in the meantime may have replaced the file.
                let own = "/proc/self/exe";
                let mut command = Command::new(own);
                command
                    .arg("run")
                    .arg(&built.executable)
                    .args(["--benchmarks", "--package", &bench.package])
                    .args(["--target", &bench.target])
                    .arg("--manifest-path")
                    .arg(built.manifest_dir.join("Cargo.toml"))
                    .arg("--target-dir")
                    .arg(self.kept_dir())
                    .envs(bench.variables.iter().map(|(name, value)| (name, value)))
                    .current_dir(&bench.folder);
                command
            }
        };
        command
            .env("CARGO_MANIFEST_DIR", &built.manifest_dir)
            .stdin(Stdio::null());
        for name in ["NEXTEST", "NEXTEST_RUN_ID", "RUST_TEST_THREADS"] {
            command.env_remove(name);
        }
        command
    }

    /// Takes the scenario up the ladder, for at most this many iterations.
    pub(crate) fn climb(
        &mut self,
        built: &Built,
        subject: &Subject,
        iterations: Option<u64>,
        budgets: u32,
        name: &str,
    ) -> anyhow::Result<Report> {
        built.has(&subject.scenario)?;
        let budget = self.session.budget * budgets;
        let mut test = self.test(built);
        test.args([subject.scenario.as_str(), "--exact", "--include-ignored"])
            .env("PLIMSOLL_BUDGET", format!("{}ms", budget.as_millis()))
            .env("PLIMSOLL_KEEP_RUNGS", "false")
            // The rate is needed, whatever the verdict.
            .env("PLIMSOLL_SPEND_BUDGET", "true")
            // It also does not matter whether the revision's baseline can be used here.
            .env("PLIMSOLL_BASELINES", "optional")
            .env_remove("PLIMSOLL_ISOLATION");
        if let Some(iterations) = iterations {
            test.env("PLIMSOLL_MAX_ITERATIONS", iterations.to_string())
                // Who holds what grows decides nothing, and takes a second run.
                .env("PLIMSOLL_HOLDERS", "off");
        }
        // The exit status is ignored: it is 101 for a failed test, for a panic of the harness,
        // and for a settings file that the harness refuses. The harness has a timeout of its
        // own, and says more when it is reached.
        let target_dir = self.kept_dir();
        self.reported(&mut test, &target_dir, subject, &format!("{name}.test"))
    }

    /// Runs the command that builds a server and watches it, in a folder of the revision.
    pub(crate) fn watch(
        &mut self,
        watch: &Watch,
        folder: &Path,
        subject: &Subject,
        name: &str,
    ) -> anyhow::Result<Report> {
        let mut command = Command::new("sh");
        self.prepare(&mut command, folder);
        command
            .args(["-c", &watch.command])
            .env("PLIMSOLL_BASELINES", "optional")
            .stdin(Stdio::null());
        let target_dir = self.target_dir.clone();
        self.reported(&mut command, &target_dir, subject, &format!("{name}.watch"))
    }

    /// Runs a command that leaves a report in a target directory, and reads it. `log` is the name
    /// of its logs.
    fn reported(
        &mut self,
        command: &mut Command,
        target_dir: &Path,
        subject: &Subject,
        log: &str,
    ) -> anyhow::Result<Report> {
        let reports = layout::reports_dir(target_dir);
        let (package, target) = (&subject.package, &subject.target);
        let dir = layout::scenario_dir(&reports, package, target, &subject.scenario);
        let report = dir.join(layout::REPORT);
        // The report of another revision must not be taken for this one's.
        if report.exists() {
            fs::remove_file(&report)
                .with_context(|| format!("cannot remove {}", report.display()))?;
        }
        let timeout = self.session.timeout;
        if let Ended::TimedOut = self.logged(command, log, timeout)? {
            let why = format!("no report within {} s", timeout.as_secs());
            return Err(Unusable::new(Cause::Hangs, why).into());
        }
        let Ok(bytes) = fs::read(&report) else {
            let said = self.stop_if_full(log)?;
            let (cause, what) = match self.session.watch {
                Some(_) => (Cause::NotMeasured, format!("no report of {package}")),
                None => (Cause::OtherHarness, "no report".to_owned()),
            };
            let why = format!("it left {what}: {}", first_error(&said));
            return Err(Unusable::new(cause, why).into());
        };
        Ok(usable(&bytes)?)
    }

    /// Returns the log of a command. Fails if the disk was full, which says nothing about the
    /// revision.
    fn stop_if_full(&self, log: &str) -> anyhow::Result<String> {
        let said = fs::read(self.logs.join(format!("{log}.log"))).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        if said.contains(FULL) {
            anyhow::bail!(
                "the disk is full\n  built in: {}\n  hint: --target-dir names another folder; \
                 --resume goes on",
                shown(&self.target_dir)
            );
        }
        Ok(said)
    }

    /// Runs a command. Returns its output; or how it failed and its messages, or `None` if it took
    /// too long.
    fn output(
        &mut self,
        command: &mut Command,
        log: &str,
        timeout: Duration,
    ) -> anyhow::Result<Result<String, Option<(ExitStatus, String)>>> {
        Ok(match self.logged(command, log, timeout)? {
            Ended::Exited(status) if status.success() => {
                let printed = self.logs.join(format!("{log}.out"));
                Ok(fs::read_to_string(printed).context("a log")?)
            }
            Ended::Exited(status) => Err(Some((status, self.stop_if_full(log)?))),
            Ended::TimedOut => Err(None),
        })
    }

    /// Runs a command whose output and messages become logs with this name.
    fn logged(
        &mut self,
        command: &mut Command,
        log: &str,
        timeout: Duration,
    ) -> anyhow::Result<Ended> {
        let create = |end: &str| {
            let path = self.logs.join(format!("{log}.{end}"));
            File::create(&path).with_context(|| format!("cannot write {}", path.display()))
        };
        command.stdout(create("out")?).stderr(create("log")?);
        let progress = &mut self.progress;
        self.interrupt.run(command, timeout, || progress.tick())
    }
}

/// Parses a report, and checks that it can be compared.
pub(crate) fn usable(bytes: &[u8]) -> Result<Report, Unusable> {
    let report = json::parse(bytes).map_err(|err| {
        let why = format!("its report cannot be read: {err}");
        Unusable::new(Cause::OtherHarness, why)
    })?;
    unusable(&report).map_or(Ok(report), Err)
}

/// Returns why a report cannot be compared, or `None` if it can.
pub(crate) fn unusable(report: &Report) -> Option<Unusable> {
    if let Some(failure) = &report.failure {
        let at = failure.iteration;
        let at = at.map_or_else(String::new, |at| format!(", in iteration {at}"));
        let what = format!("{}{at}", safe_line(&failure.what));
        let cause = match what.starts_with("hung") {
            true => Cause::Hangs,
            false => Cause::Failed,
        };
        return Some(Unusable::new(cause, what));
    }
    let failed = |check: &&plimsoll_core::report::Check| check.outcome == CheckOutcome::Failed;
    if let Some(check) = report.checks.iter().find(failed) {
        let line = check.detail.lines().next().unwrap_or_default();
        let why = safe_line(&format!("{}: {line}", check.name));
        return Some(Unusable::new(Cause::Broken, why));
    }
    let is_test = report.per.is_iteration();
    let nothing = match report.compared {
        None if is_test => "it reached no rung",
        None => "it has too few dumps",
        // Nothing grows in a server that does not count what it allocates.
        Some(_)
            if !is_test
                && report
                    .rungs
                    .iter()
                    .all(|rung| rung.live == Tally::default()) =>
        {
            "its dumps have no live objects"
        }
        Some(_) => return None,
    };
    Some(Unusable::new(Cause::Broken, nothing))
}

/// What rustc writes before a place in a file.
const PLACE: &str = "--> ";

/// The longest error message, in characters.
const MOST: usize = 400;

/// Returns the first error in the output of cargo or rustc, with its causes, on one line.
/// Returns the last line of the output if there is no error.
fn first_error(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let parts = match lines.iter().position(|line| line.starts_with("error")) {
        Some(at) => error_at(&lines[at..]),
        None => {
            let last = lines.iter().rfind(|line| !line.trim().is_empty());
            vec![
                last.map_or("it said nothing", |line| line.trim())
                    .to_owned(),
            ]
        }
    };
    let line = parts.join("; ").replace(":; ", ": ");
    safe(&match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}

/// Returns the parts of the error that begins with the first line.
///
/// ```text
/// error: failed to run custom build command for `openssl-sys v0.9.1`
///
/// Caused by:
///   process didn't exit successfully: `…/build-script-build` (exit status: 101)
///   --- stderr
///   could not find openssl
/// ```
fn error_at(lines: &[&str]) -> Vec<String> {
    let is_next = |line: &&&str| line.starts_with("error") || line.starts_with("warning");
    let end = lines.iter().skip(1).position(|line| is_next(&line));
    let lines = &lines[..end.map_or(lines.len(), |end| end + 1)];
    // Below the first line, rustc shows the source, and cargo explains the error.
    let is_source = |line: &&str| {
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        line.starts_with(['|', '=']) || line.starts_with("...")
    };
    let is_place = |line: &&str| line.trim_start().starts_with(PLACE);
    let head = lines.iter().take_while(|line| !line.is_empty());
    let mut parts: Vec<&str> = head.copied().filter(|line| !is_source(line)).collect();
    // What follows the place is said of other places.
    if let Some(place) = parts.iter().position(is_place) {
        parts.truncate(place + 1);
    }
    for at in (0..lines.len()).filter(|at| lines[*at] == "Caused by:") {
        let below = lines[at + 1..].iter().copied();
        let cause: Vec<&str> = below.take_while(|line| *line != "Caused by:").collect();
        parts.extend(
            match cause.iter().position(|line| line.trim() == "--- stderr") {
                Some(stderr) => complaint(&cause[stderr + 1..]),
                None => cause.first().copied(),
            },
        );
    }
    let parts = parts.into_iter().map(str::trim_start);
    let parts = parts.map(|part| match part.strip_prefix(PLACE) {
        Some(place) => fold::shortened(place, None),
        None => part.to_owned(),
    });
    parts.filter(|part| !part.starts_with("note: ")).collect()
}

/// Returns the line that explains why a program failed: its error, its panic message, or its
/// last line.
fn complaint<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let error = lines.iter().find(|line| line.trim().starts_with("error"));
    let panic = lines.iter().position(|line| line.contains(" panicked at "));
    let panic = panic.and_then(|at| lines.get(at + 1));
    let last = lines.iter().rfind(|line| !line.trim().is_empty());
    error.or(panic).or(last).copied()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use plimsoll_core::judge::Verdict;
    use plimsoll_core::report::Check;

    use super::*;
    use crate::sample;

    #[test]
    fn what_a_report_says_steers_no_terminal() {
        let mut report = sample::report("r1", "a", Verdict::Broken);
        let evil = "can\u{1b}[2Jary\u{202e}";
        report.checks = vec![Check {
            name: evil.to_owned(),
            outcome: CheckOutcome::Failed,
            detail: evil.to_owned(),
        }];
        let shown = unusable(&report).unwrap().to_string();
        assert_eq!(shown, safe_line(&shown), "{shown:?}");
    }

    #[test]
    fn an_error_comes_with_its_cause() {
        let rustc = "   Compiling a v0.1.0 (/a)\nerror[E0432]: unresolved import `foo`\n \
                     --> src/lib.rs:2:5\n  |\n2 | use foo::Bar;\n  |     ^^^\n\n\
                     error[E0554]: other\n";
        assert_snapshot!(first_error(rustc), @"error[E0432]: unresolved import `foo`; src/lib.rs:2:5");
        let in_dependency = rustc
            .replace("src/lib", "/c/registry/src/index-1/b-0.2.0/src/lib")
            .replace(
                "\n\nerror",
                "\nhelp: use `bar`\n   --> src/main.rs:1:1\n\nerror",
            );
        assert_snapshot!(first_error(&in_dependency), @"error[E0432]: unresolved import `foo`; b-0.2.0/src/lib.rs:2:5");
        let requirement = "    Updating crates.io index\n\
                           error: failed to select a version for the requirement `lru = \"^0.12\"`\n\
                           candidate versions found which didn't match: 0.1.0\n\
                           location searched: crates.io index\n\
                           required by package `demo v0.1.0 (/demo)`\n";
        assert_snapshot!(first_error(requirement), @r#"error: failed to select a version for the requirement `lru = "^0.12"`; candidate versions found which didn't match: 0.1.0; location searched: crates.io index; required by package `demo v0.1.0 (/demo)`"#);
        let script = "error: failed to run custom build command for `c v0.1.0`\n\
                      note: To improve backtraces, set a variable\n\n\
                      Caused by:\n  process didn't exit successfully: `b` (exit status: 101)\n  \
                      --- stdout\n  cargo:rerun-if-env-changed=CC\n  --- stderr\n\n  \
                      thread 'main' (12) panicked at build.rs:1:12:\n  could not find openssl\n  \
                      stack backtrace:\n     0: begin\n";
        assert_snapshot!(first_error(script), @"error: failed to run custom build command for `c v0.1.0`; could not find openssl");
        let manifest = "error: failed to load manifest for dependency `other`\n\n\
                        Caused by:\n  failed to read `/other/Cargo.toml`\n\n\
                        Caused by:\n  No such file or directory (os error 2)\n";
        assert_snapshot!(first_error(manifest), @"error: failed to load manifest for dependency `other`; failed to read `/other/Cargo.toml`; No such file or directory (os error 2)");
        let old = "error: rustc 1.95.0 is not supported by the following package:\n  \
                   f@0.1.0 requires rustc 1.200\n\n";
        assert_snapshot!(first_error(old), @"error: rustc 1.95.0 is not supported by the following package: f@0.1.0 requires rustc 1.200");
        assert_snapshot!(first_error("Segmentation fault\n\n"), @"Segmentation fault");
        assert_snapshot!(first_error(""), @"it said nothing");
        let long = first_error(&format!("error: {}", "ü".repeat(1_000)));
        assert_eq!((long.chars().count(), long.ends_with('…')), (401, true));
    }
}
