//! `plimsoll bisect`: the first commit after which a stack grows past the good
//! rate.
//!
//! ```text
//! the two ends ─► bench ─► climbs ─► decide ─► the question: which stack, what is past
//! git's own bisection ─► a commit ─► bench ─► a climb ─► decide ─► good, bad, or skip
//!      ▲                    (checkout, overlay, build, ladder, cache)          │
//!      └──────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! `decide` is pure, `git` and `worktree` know of no test, `measure` and
//! `overlay` of no bisection, and `show` prints nothing.

mod bench;
mod cache;
mod decide;
mod git;
mod interrupt;
mod measure;
mod overlay;
mod progress;
pub(crate) mod script;
mod session;
mod show;
mod worktree;

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, flamegraph};
use plimsoll_core::{FoldedStack, Rate};

use self::bench::{Bench, Length, Tested};
use self::cache::Cache;
pub(crate) use self::decide::Pattern;
use self::decide::{Answer, Climb, NoQuestion, Question, minus};
use self::git::{Bisection, Commit, Git, Step};
use self::interrupt::Interrupt;
use self::measure::{Metadata, Subject, Tools, Unusable};
use self::overlay::Overlay;
use self::progress::{Progress, about};
use self::session::Session;
use self::show::{Outcome, Shown, ShownCommit, ShownTest};
use self::worktree::{Place, Worktree};
use crate::args::{BisectArgs, BisectFormat, WhenToOverlay};
use crate::atomic;
use crate::out::{Out, safe_line};
use crate::project::shown;
use crate::reports::Reports;
use crate::status::{ExitStatus, Refused};

/// Below the target directory: what is built, measured and logged.
const FOLDER: &str = "plimsoll-bisect";
/// In it: what cargo and the tests printed.
const LOGS: &str = "logs";

pub(crate) fn run(args: &BisectArgs, out: &mut Out) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen().context("signals")?;
    match bisect(args, &interrupt, out) {
        // A git that was under way ends with an error of its own.
        Err(_) if interrupt.check().is_err() => {
            Err(Refused::with_status(ExitStatus::Interrupted, STOPPED))
        }
        // Under `git bisect run` as at the desk: this is about no revision.
        Err(err) if !err.is::<Refused>() => {
            Err(Refused::with_status(ExitStatus::Stop, format!("{err:#}")))
        }
        other => other,
    }
}

const STOPPED: &str = "stopped; what was measured is kept\n  \
     hint: `plimsoll bisect --resume` goes on from there";

/// The project, as it is in the working tree.
struct Home {
    git: Git,
    /// The folder of the workspace in the repository.
    prefix: PathBuf,
    metadata: Metadata,
    /// The working tree's target directory.
    target_dir: PathBuf,
}

fn bisect(args: &BisectArgs, interrupt: &Interrupt, out: &mut Out) -> anyhow::Result<()> {
    let started = Instant::now();
    let home = home(args.manifest_path.as_deref())?;
    let folder = home.target_dir.join(FOLDER);
    let session = Session::choose(args, &folder)?;
    let subject = subject(&session, &home)?;
    let git = &home.git;
    let good = known(git, &session.good)?;
    let bad = known(git, session.bad.as_deref().unwrap_or("HEAD"))?;
    check_history(git, &good, &bad, &session)?;
    let overlay = overlay(&home, &subject, session.overlay)?;

    let session = session.with(&subject, &good, &bad);
    check_paths(git, &good, &bad, &session)?;
    let (path, lock) = claim(git, args.remove_stale)?;
    session.keep(&folder)?;
    let worktree = Worktree::add(git, &path, &good, lock)?;
    let mut bench = bench(Setup {
        home: &home,
        session: &session,
        subject: &subject,
        target_dir: args.target_dir.as_deref(),
        folder: &folder,
        worktree: &worktree,
        overlay,
        interrupt,
    })?;
    let mut search = Search {
        git,
        session: &session,
        good,
        bad,
        logs: folder.join(LOGS),
        started,
        tested: Vec::new(),
        reports: BTreeMap::new(),
    };
    let found = search.run(&mut bench)?;
    bench.progress.clear();
    let mut shown = search.shown(&bench, &found)?;
    if let Some(svg) = search.picture(&shown)? {
        let path = args
            .flamegraph
            .clone()
            .unwrap_or_else(|| folder.join("growth.svg"));
        atomic::write_output(&path, &svg)?;
        shown.flamegraph = Some(path);
    }
    if let Some(path) = &args.log {
        atomic::write_output(path, &shown.log)?;
    }
    drop(bench);
    drop(worktree);
    let text = match args.format() {
        BisectFormat::Text => show::text(&shown),
        BisectFormat::Markdown => show::markdown(&shown),
        BisectFormat::Json => show::json(&shown),
    };
    out.print(&text)?;
    Session::forget(&folder);
    match shown.outcome {
        Outcome::Found(_) => Ok(()),
        _ => Err(Refused::quiet(ExitStatus::NoVerdict)),
    }
}

/// What a bench is made of.
struct Setup<'a> {
    home: &'a Home,
    session: &'a Session,
    subject: &'a Subject,
    target_dir: Option<&'a Path>,
    folder: &'a Path,
    worktree: &'a Worktree,
    overlay: Option<Overlay>,
    interrupt: &'a Interrupt,
}

fn bench<'a>(setup: Setup<'a>) -> anyhow::Result<Bench<'a>> {
    let Setup {
        home,
        session,
        subject,
        folder,
        worktree,
        overlay,
        interrupt,
        target_dir,
    } = setup;
    let target_dir = match target_dir {
        Some(dir) => std::path::absolute(dir).context("--target-dir")?,
        None => folder.join("target"),
    };
    let logs = folder.join(LOGS);
    std::fs::create_dir_all(&logs).with_context(|| format!("cannot use {}", shown(&logs)))?;
    let cargo_args: Vec<String> = match session.release {
        true => vec!["--release".to_owned()],
        false => Vec::new(),
    };
    let digest = overlay.as_ref().map_or(0, Overlay::digest);
    let cache = Cache::new(
        folder.join("measured"),
        &[
            &toolchain()?,
            &subject.package,
            &subject.target,
            &subject.scenario,
            &cargo_args.join(" "),
            &format!("{:?} {digest:016x}", session.overlay),
            &format!("{:?}", session.budget),
            &env::var("RUSTFLAGS").unwrap_or_default(),
        ],
    );
    Ok(Bench {
        tools: Tools {
            target_dir,
            logs,
            cargo_args,
            timeout: session.timeout,
            budget: session.budget,
            interrupt: interrupt.clone(),
        },
        worktree,
        subject: subject.clone(),
        overlay,
        when: session.overlay,
        prefix: home.prefix.clone(),
        lockfile: home.metadata.workspace_root().join("Cargo.lock"),
        cache,
        progress: Progress::new(),
        built: BTreeMap::new(),
        builds: Default::default(),
        spent: Vec::new(),
    })
}

/// The place for the worktree, and the lock that makes it ours.
fn claim(git: &Git, remove_stale: bool) -> anyhow::Result<(PathBuf, File)> {
    let path = Worktree::path(git);
    let lock = match Worktree::claim(git, &path)? {
        Place::Free(lock) => lock,
        Place::Stale(lock) => {
            offer_removal(&path, remove_stale)?;
            Worktree::remove_stale(git, &path)?;
            lock
        }
    };
    Ok((path, lock))
}

fn home(manifest_path: Option<&Path>) -> anyhow::Result<Home> {
    let here = match manifest_path {
        Some(path) => path
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
            .to_owned(),
        None => PathBuf::from("."),
    };
    let metadata = measure::working_tree(&here)?.map_err(|why| Refused::usage(why.why))?;
    let root = metadata.workspace_root();
    let git = Git::in_dir(&root);
    let top = git
        .try_ask(&["rev-parse", "--path-format=absolute", "--show-toplevel"])?
        .map(PathBuf::from)
        .ok_or_else(|| {
            Refused::usage(format!(
                "{} is in no git repository: there is no history to bisect",
                shown(&root)
            ))
        })?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let prefix = real(&root)
        .strip_prefix(real(&top))
        .map(Path::to_owned)
        .unwrap_or_default();
    Ok(Home {
        git: Git::in_dir(real(&top)),
        prefix,
        target_dir: metadata.target_dir(),
        metadata,
    })
}

/// Which scenario of which test: as it is said, or where there is no choice.
fn subject(session: &Session, home: &Home) -> anyhow::Result<Subject> {
    let tests: Vec<(String, String)> = home
        .metadata
        .tests()
        .filter(|(package, target)| {
            session.package.as_ref().is_none_or(|name| name == package)
                && session
                    .test
                    .as_deref()
                    .map_or(target == "leaks", |name| name == target)
        })
        .collect();
    let (package, target) = match tests.as_slice() {
        [one] => one.clone(),
        [] => {
            return Err(Refused::usage(
                "no test of the workspace is called `leaks`\n  \
                 hint: name the one with the scenario, with --test and --package",
            ));
        }
        several => {
            let names: Vec<&str> = several
                .iter()
                .map(|(package, _)| package.as_str())
                .collect();
            return Err(Refused::usage(format!(
                "several packages have that test: {}\n  hint: name one with --package",
                names.join(", ")
            )));
        }
    };
    if let Some(scenario) = &session.scenario {
        return Ok(Subject {
            package,
            target,
            scenario: scenario.clone(),
        });
    }
    let dir = plimsoll_core::layout::reports_dir(&home.target_dir);
    let reports = Reports::collect(&dir);
    let scenarios = reports
        .and_then(|reports| reports.run_of_each_target(None))
        .unwrap_or_default();
    let of_test: Vec<_> = scenarios
        .iter()
        .filter(|one| one.package == package && one.target == target)
        .collect();
    let grows: Vec<&str> = of_test
        .iter()
        .filter(|one| one.verdict() == Some(Verdict::Regressed))
        .map(|one| one.name.as_str())
        .collect();
    let all: Vec<&str> = of_test.iter().map(|one| one.name.as_str()).collect();
    match (grows.as_slice(), all.as_slice()) {
        ([one], _) | ([], [one]) => Ok(Subject {
            package,
            target,
            scenario: (*one).to_owned(),
        }),
        ([], []) => Err(Refused::usage(
            "which scenario? Name it with --scenario; the last run left no report to tell by",
        )),
        ([], names) | (names, _) => Err(Refused::usage(format!(
            "which scenario? Name it with --scenario: {}",
            names.join(", ")
        ))),
    }
}

fn known(git: &Git, revision: &str) -> anyhow::Result<Commit> {
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

/// Whether there is a way from the one to the other.
fn check_history(git: &Git, good: &Commit, bad: &Commit, session: &Session) -> anyhow::Result<()> {
    if good == bad {
        return Err(Refused::usage(format!(
            "both ends are {}: there is nothing between them",
            good.short()
        )));
    }
    let bases = git.merge_bases(good, bad)?;
    if bases.contains(bad) {
        return Err(Refused::usage(format!(
            "the good end, {}, comes after the bad one, {}\n  \
             hint: to find what mended a growth, look at what changed its scenario's baseline; \
             bisect finds what brought it",
            good.short(),
            bad.short()
        )));
    }
    if bases.is_empty() {
        let mut text = format!(
            "{} and {} have no commit in common",
            good.short(),
            bad.short()
        );
        text.push_str(match git.is_shallow()? {
            true => {
                "\n  this clone is shallow: where they part was not fetched\n  \
                 hint: git fetch --unshallow"
            }
            false => {
                "\n  one of them may have been rewritten\n  \
                 hint: name a good commit of the same history; `git log` shows it"
            }
        });
        return Err(Refused::usage(text));
    }
    if session.first_parent && bases != [good.clone()] {
        return Err(Refused::usage(format!(
            "--first-parent: the good end, {}, is no ancestor of the bad one",
            good.short()
        )));
    }
    Ok(())
}

fn overlay(home: &Home, subject: &Subject, when: WhenToOverlay) -> anyhow::Result<Option<Overlay>> {
    if when == WhenToOverlay::Never {
        return Ok(None);
    }
    let (package, target) = (&subject.package, &subject.target);
    let dir = home
        .metadata
        .package_dir(package)
        .context("the package's folder")?;
    let file = home
        .metadata
        .test_file(package, target)
        .context("the test's file")?;
    let others = home.metadata.has_other_targets(package);
    let top = home.git.dir();
    let root = home.metadata.workspace_root();
    let mut overlay = Overlay::read(top, &root, package, &dir, &file, others)?;
    if let Some(metadata) = measure::resolved(&root)? {
        overlay.learn(&metadata);
    }
    Ok(Some(overlay))
}

/// Whether any commit is left to look at.
fn check_paths(git: &Git, good: &Commit, bad: &Commit, session: &Session) -> anyhow::Result<()> {
    if session.paths.is_empty() {
        return Ok(());
    }
    let range = format!("{good}..{bad}");
    let mut args = vec!["rev-list", "--max-count=1", &range, "--"];
    args.extend(session.paths.iter().map(String::as_str));
    if git.ask(&args)?.is_empty() {
        return Err(Refused::usage(format!(
            "no commit between {} and {} changes {}",
            good.short(),
            bad.short(),
            safe_line(&session.paths.join(", "))
        )));
    }
    Ok(())
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
        if matches!(answer.trim(), "" | "y" | "Y" | "yes") {
            return Ok(());
        }
        return Err(Refused::usage("nothing was done"));
    }
    Err(Refused::usage(format!(
        "{found}\n  hint: --remove-stale removes it; nothing else is in there"
    )))
}

/// What compiles, as exactly as it says itself.
fn toolchain() -> anyhow::Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(&rustc)
        .arg("-vV")
        .output()
        .with_context(|| format!("`{} -vV` did not start", rustc.to_string_lossy()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What the search came to.
enum Found {
    NoDifference(NoQuestion),
    First(Commit, Box<Question>, String),
    OneOf(Vec<Commit>, Box<Question>, String),
    BadMergeBase(Commit, Box<Question>, String),
}

struct Search<'a> {
    git: &'a Git,
    session: &'a Session,
    good: Commit,
    bad: Commit,
    logs: PathBuf,
    started: Instant,
    tested: Vec<(Commit, Tested)>,
    reports: BTreeMap<Commit, Report>,
}

impl Search<'_> {
    fn run(&mut self, bench: &mut Bench<'_>) -> anyhow::Result<Found> {
        let (good, bad) = (self.good.clone(), self.bad.clone());
        let good_report = self.end(bench, &good, "good")?;
        let bad_report = self.end(bench, &bad, "bad")?;
        let (at_good, at_bad) = (Climb::of(&good_report), Climb::of(&bad_report));
        let most = at_good.iterations.min(at_bad.iterations) / 2;
        self.reports.insert(good.clone(), good_report);
        self.reports.insert(bad.clone(), bad_report);
        let question = match Question::between(&at_good, &at_bad, self.session.stack.as_ref()) {
            Ok(question) => question,
            Err(none) => return Ok(Found::NoDifference(none)),
        };
        bench.progress.note(&format!(
            "good  {}  {}\nbad   {}  {}  {}",
            good.short(),
            show::rate(question.good),
            bad.short(),
            show::rate(question.bad),
            show::leaf(&question.stack),
        ));
        let enough = bench.enough(&good, &bad, &question, most)?;
        // Their tests are kept no longer than they are needed.
        bench.forget(&good);
        bench.forget(&bad);
        let paths = &self.session.paths;
        let first_parent = self.session.first_parent;
        let (bisection, mut step) =
            Bisection::start(bench.worktree.git(), &good, &bad, first_parent, paths)?;
        let question = Box::new(question);
        loop {
            let (commit, left, steps) = match step {
                Step::Test {
                    commit,
                    left,
                    steps,
                } => (commit, left, steps),
                Step::Found(commit) => {
                    return Ok(Found::First(commit, question, bisection.log()?));
                }
                Step::OneOf(commits) => {
                    return Ok(Found::OneOf(commits, question, bisection.log()?));
                }
                Step::BadMergeBase(commit) => {
                    return Ok(Found::BadMergeBase(commit, question, bisection.log()?));
                }
            };
            bench.progress.note(&left_to_do(bench, left, steps));
            let tested = bench.test(&commit, &question, enough)?;
            bench.forget(&commit);
            bench.progress.note(&self.line(&commit, &tested)?);
            if let Some(report) = &tested.report {
                self.reports.insert(commit.clone(), report.clone());
            }
            step = match &tested.answer {
                Ok(Answer::Good(_)) => bisection.good(&commit)?,
                Ok(Answer::Bad(_) | Answer::Moved(..)) => bisection.bad(&commit)?,
                Ok(Answer::Unclear(_)) | Err(_) => bisection.skip(&commit)?,
            };
            self.tested.push((commit, tested));
        }
    }

    /// One of the two ends, over the whole ladder: without it there is nothing to
    /// search by.
    fn end(
        &mut self,
        bench: &mut Bench<'_>,
        commit: &Commit,
        name: &str,
    ) -> anyhow::Result<Report> {
        // What was wrong with it may have been mended.
        bench.cache.forget_unusable(commit);
        match bench.climb(commit, Length::Full)? {
            Ok(report) => Ok(report),
            Err(why) => Err(self.unusable_end(commit, name, &why)),
        }
    }

    fn unusable_end(&self, commit: &Commit, name: &str, why: &Unusable) -> anyhow::Error {
        let logs = shown(&self.logs);
        Refused::with_status(
            ExitStatus::Stop,
            format!(
                "the {name} end, {}, cannot be measured: {why}\n  logs: {logs}\n  \
                 hint: name another commit for it",
                commit.short()
            ),
        )
    }

    fn line(&self, commit: &Commit, tested: &Tested) -> anyhow::Result<String> {
        let said = match &tested.answer {
            Ok(Answer::Good(rate)) => format!("good  {}  {}", commit.short(), show::rate(*rate)),
            Ok(Answer::Bad(rate)) => format!("bad   {}  {}", commit.short(), show::rate(*rate)),
            Ok(Answer::Moved(rate, stack)) => format!(
                "bad   {}  {}, as {}",
                commit.short(),
                show::rate(*rate),
                show::leaf(stack)
            ),
            Ok(Answer::Unclear(rate)) => {
                format!("skip  {}  {}, not clear", commit.short(), show::rate(*rate))
            }
            Err(why) => format!("skip  {}  {why}", commit.short()),
        };
        let subject = safe_line(&self.git.about(commit)?.subject);
        let cached = if tested.cached {
            " (measured before)"
        } else {
            ""
        };
        Ok(format!("{said}{cached}  {subject}"))
    }

    /// Everything that is said at the end.
    fn shown(&self, bench: &Bench<'_>, found: &Found) -> anyhow::Result<Shown> {
        let question = match found {
            Found::NoDifference(_) => None,
            Found::First(_, question, _)
            | Found::OneOf(_, question, _)
            | Found::BadMergeBase(_, question, _) => Some(question.as_ref()),
        };
        let rate_at = |commit: &Commit| {
            let question = question?;
            let climb = Climb::of(self.reports.get(commit)?);
            Some(climb.rate(&question.group).0)
        };
        let mut tests = Vec::new();
        for (commit, tested) in &self.tested {
            let (answer, rate) = match &tested.answer {
                Ok(Answer::Good(rate)) => ("good", Some(*rate)),
                Ok(Answer::Bad(rate) | Answer::Moved(rate, _)) => ("bad", Some(*rate)),
                Ok(Answer::Unclear(rate)) => ("skip", Some(*rate)),
                Err(_) => ("skip", None),
            };
            tests.push(ShownTest {
                commit: commit.clone(),
                subject: self.git.about(commit)?.subject,
                answer,
                unusable: tested.answer.as_ref().err().cloned(),
                rate,
                iterations: tested
                    .report
                    .as_ref()
                    .and_then(|report| report.rungs.last())
                    .map(|rung| rung.iterations),
                cached: tested.cached,
            });
        }
        let log = match found {
            Found::NoDifference(_) => String::new(),
            Found::First(_, _, log) | Found::OneOf(_, _, log) | Found::BadMergeBase(_, _, log) => {
                log.clone()
            }
        };
        let stack = question.map(|question| question.stack.clone());
        let others = question
            .map(|question| question.others.clone())
            .unwrap_or_default();
        let (good_rate, bad_rate) = match question {
            Some(question) => (Some(question.good), Some(question.bad)),
            None => (None, None),
        };
        let outcome = match found {
            Found::NoDifference(why) => Outcome::NoDifference(*why),
            Found::OneOf(commits, ..) => Outcome::OneOf(self.commits(commits)?),
            Found::BadMergeBase(commit, ..) => {
                Outcome::BadMergeBase(Box::new(self.commit(commit, None, rate_at(commit))?))
            }
            Found::First(commit, ..) => {
                let before = self.before(commit)?;
                let rate = before.as_ref().and_then(rate_at);
                let mut first = self.commit(commit, rate.or(good_rate), rate_at(commit))?;
                first.in_stack = self.in_stack(commit, question, &first.about.files, bench);
                Outcome::Found(Box::new(first))
            }
        };
        Ok(Shown {
            outcome,
            subject: bench.subject.clone(),
            stack,
            others,
            good: (self.good.clone(), good_rate),
            bad: (self.bad.clone(), bad_rate),
            trend: self.trend(question)?,
            tests,
            builds: bench.builds.len(),
            took: self.started.elapsed(),
            log,
            flamegraph: None,
        })
    }

    fn commits(&self, commits: &[Commit]) -> anyhow::Result<Vec<ShownCommit>> {
        commits
            .iter()
            .map(|commit| self.commit(commit, None, None))
            .collect()
    }

    fn commit(
        &self,
        commit: &Commit,
        before: Option<Rate>,
        after: Option<Rate>,
    ) -> anyhow::Result<ShownCommit> {
        Ok(ShownCommit {
            about: self.git.about(commit)?,
            before,
            after,
            in_stack: Vec::new(),
        })
    }

    /// The nearest commit before it that was measured: a parent, as a rule.
    fn before(&self, commit: &Commit) -> anyhow::Result<Option<Commit>> {
        let text = self
            .git
            .ask(&["rev-list", "--topo-order", commit.as_str()])?;
        let before = text.lines().skip(1).find_map(|id| {
            let known = self.reports.keys().find(|known| known.as_str() == id)?;
            Some(known.clone())
        });
        Ok(before)
    }

    /// The frames of the stack that lie in files which the commit touches.
    fn in_stack(
        &self,
        commit: &Commit,
        question: Option<&Question>,
        files: &[String],
        bench: &Bench<'_>,
    ) -> Vec<(String, String)> {
        let (Some(question), Some(report)) = (question, self.reports.get(commit)) else {
            return Vec::new();
        };
        let of_stack = report
            .findings
            .iter()
            .filter(|finding| match &finding.subject {
                plimsoll_core::report::Subject::Stack(stack) => question.group.holds(stack),
                _ => false,
            });
        let mut found = Vec::new();
        for frame in of_stack.flat_map(|finding| &finding.frames) {
            let Some(file) = &frame.file else { continue };
            let path = bench.prefix.join(file).to_string_lossy().into_owned();
            let line = frame
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            let entry = (frame.function.clone(), format!("{file}{line}"));
            if files.contains(&path) && !found.contains(&entry) {
                found.push(entry);
            }
        }
        found
    }

    /// The rates of what was measured, from the good end to the bad one.
    fn trend(&self, question: Option<&Question>) -> anyhow::Result<Vec<Rate>> {
        let Some(question) = question else {
            return Ok(Vec::new());
        };
        let range = format!("{}..{}", self.good, self.bad);
        let text = self
            .git
            .ask(&["rev-list", "--topo-order", "--reverse", &range])?;
        let ids = std::iter::once(self.good.as_str()).chain(text.lines());
        let mut rates = Vec::new();
        for id in ids {
            if let Some((_, report)) = self.reports.iter().find(|(known, _)| known.as_str() == id) {
                rates.push(Climb::of(report).rate(&question.group).0);
            }
        }
        Ok(rates)
    }

    /// What the commit brought: its growth without that of what came before.
    fn picture(&self, shown: &Shown) -> anyhow::Result<Option<String>> {
        let Outcome::Found(first) = &shown.outcome else {
            return Ok(None);
        };
        let commit = &first.about.commit;
        let before = self.before(commit)?.unwrap_or_else(|| self.good.clone());
        let (Some(after), Some(before)) = (self.reports.get(commit), self.reports.get(&before))
        else {
            return Ok(None);
        };
        let mut report = after.clone();
        let rates: BTreeMap<&FoldedStack, Rate> = before
            .growth
            .iter()
            .map(|growth| (&growth.stack, growth.rate))
            .collect();
        for growth in &mut report.growth {
            let before = rates.get(&growth.stack).copied().unwrap_or_default();
            growth.rate = minus(growth.rate, before);
        }
        let is_there = |stack: &FoldedStack| after.growth.iter().any(|one| one.stack == *stack);
        for growth in before.growth.iter().filter(|one| !is_there(&one.stack)) {
            let mut gone = growth.clone();
            gone.rate = minus(Rate::default(), growth.rate);
            report.growth.push(gone);
        }
        report.growth.sort_by(|one, two| one.stack.cmp(&two.stack));
        let svg = flamegraph::render(&report).context("the flame graph")?;
        Ok(Some(svg))
    }
}

fn left_to_do(bench: &Bench<'_>, left: usize, steps: usize) -> String {
    let total: Duration = bench.spent.iter().sum();
    let known = u32::try_from(bench.spent.len()).unwrap_or(u32::MAX);
    let estimate = total.checked_div(known).map(|one| {
        let steps = u32::try_from(steps + 1).unwrap_or(u32::MAX);
        format!(", about {}", about(one.saturating_mul(steps)))
    });
    let s = if left == 1 { "" } else { "s" };
    let steps_s = if steps == 1 { "" } else { "s" };
    format!(
        "{left} revision{s} left after this, about {steps} step{steps_s}{}",
        estimate.unwrap_or_default()
    )
}
