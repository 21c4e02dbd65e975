//! `plimsoll bisect-run`: decides on one commit, as `git bisect run` expects it.
//!
//! | result | status |
//! |---|---|
//! | the stack grows no faster than at the good end | 0 |
//! | the stack grows faster than that | 1 |
//! | with git's terms old and new: as at the old end, as at the new end | 0, 1 |
//! | the commit cannot be measured, or not clearly | 125: skip |
//! | invalid arguments, or a wrong state of the bisection | 128: stop |
//! | an end cannot be measured, or plimsoll's own failure | 129: stop |
//!
//! `cargo test` in its place exits with 101 for a failed test and for a failed build, and git
//! counts both as bad.

use anyhow::Context;

use crate::args::BisectRunArgs;
use crate::bench::{Bench, Length};
use crate::decide::{Change, Climb, NoQuestion, Question};
use crate::measure::{self, Unusable, settled};
use crate::revision::Revision;
use crate::session::{STOPPED, Session, Subject};
use crate::setup::{Home, bench, home, interruptible, overlay, subject, working_tree, worktree};
use crate::show;
use crate::worktree::Worktree;
use plimsoll_desk::git::{Commit, Git};
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::status::{ExitStatus, Refused};

pub fn run(args: &BisectRunArgs, out: &mut Out) -> anyhow::Result<()> {
    let done = interruptible(STOPPED, |interrupt| decide(args, interrupt, out));
    // `git bisect run` would take 2 for the answer that the commit is bad.
    done.map_err(|err| {
        let status = match err.downcast_ref::<Refused>().map(Refused::status) {
            Some(ExitStatus::Usage) => ExitStatus::StopUsage,
            Some(status @ (ExitStatus::Regressed | ExitStatus::Skip | ExitStatus::Interrupted)) => {
                status
            }
            _ => ExitStatus::Stop,
        };
        Refused::with_status(status, format!("{err:#}"))
    })
}

/// The two ends of the `git bisect` that is in progress.
struct Ends {
    good: Commit,
    bad: Commit,
    /// git's terms for the good and the bad end.
    terms: [String; 2],
}

impl Ends {
    fn find(git: &Git) -> anyhow::Result<Ends> {
        let none = || {
            Refused::usage(
                "no git bisection with a good and a bad commit is in progress here\n  \
                 hint: git bisect start BAD GOOD, then git bisect run plimsoll bisect-run",
            )
        };
        // The refs move during the search, and the log keeps the first ones.
        let log = git.try_ask(&["bisect", "log"])?.ok_or_else(none)?;
        let first = |word: &str| {
            let start = format!("# {word}: [");
            let line = log.lines().find_map(|line| line.strip_prefix(&start))?;
            line.split(']').next().map(str::to_owned)
        };
        let term = |which| git.try_ask(&["bisect", "terms", which]);
        let (Some(old), Some(new)) = (term("--term-good")?, term("--term-bad")?) else {
            return Err(none());
        };
        let (Some(good), Some(bad)) = (first(&old), first(&new)) else {
            return Err(none());
        };
        let commit = |id: &str| git.commit(id)?.ok_or_else(none);
        Ok(Ends {
            good: commit(&good)?,
            bad: commit(&bad)?,
            terms: [old, new],
        })
    }
}

fn decide(args: &BisectRunArgs, interrupt: &Interrupt, out: &mut Out) -> anyhow::Result<()> {
    let home = match home(args.bench.manifest_path.as_deref()) {
        Ok(home) => home,
        Err(why) if why.is::<Refused>() => return no_project(why, out),
        Err(why) => return Err(why),
    };
    let git = &home.git;
    let ends = Ends::find(git)?;
    let here = git.commit("HEAD")?.context("nothing is checked out")?;
    let session = Session {
        bad: Some(ends.bad.as_str().to_owned()),
        scenario: args.scenario.clone(),
        stack: args.stack.stack.clone(),
        ..Session::of(&args.bench, ends.good.as_str().to_owned())?
    };
    if session.scenario.is_none() {
        return Err(Refused::usage("name the scenario, with --scenario"));
    }
    let worktree = worktree(git, &ends.bad, true)?;
    // The checkout is the revision that is judged, and may be older than the test. So the test
    // comes from the bad end.
    let bad_end = at_bad_end(&worktree, &home)?;
    let subject = asked(&session, bad_end.as_ref().unwrap_or(&home))
        .or_else(|why| asked(&session, &home).map_err(|_| why))?;
    let of_test = |there: &&Home| {
        let file = there
            .project
            .target_file(&subject.package, session.kind(), &subject.target);
        file.is_some()
    };
    let laid_over = match bad_end.as_ref().filter(of_test) {
        Some(there) => overlay(there, &subject, &session)?,
        None => None,
    };
    let mut bench = bench(&home, &session, &subject, laid_over, worktree, interrupt)?;
    let (question, change) = question(&mut bench, &ends, &session)?;
    let changed = !git
        .ask(&["status", "--porcelain", "--untracked-files=no"])?
        .is_empty();
    let revision = match changed {
        // Whoever runs the bisection has patched the checkout.
        true => working_tree(&home, &session)?,
        false => Revision::from(&here),
    };
    let tested = bench.test(&revision, &question)?.answer;
    bench.tools.progress.clear();
    let name = revision.name();
    let is_end = here == ends.good || here == ends.bad;
    match &tested {
        Ok(answer) => {
            let is_last = answer.is_bad == (change == Change::Brought);
            let term = &ends.terms[usize::from(is_last)];
            out.print(&format!("{term:<4}  {name}  {}\n", show::rate(answer.rate)))?;
            match is_last {
                false => Ok(()),
                true => Err(Refused::quiet(ExitStatus::Regressed)),
            }
        }
        Err(why) if is_end => Err(unusable(&here, why)),
        Err(why) => {
            out.print(&format!("skip  {name}  {why}\n"))?;
            Err(Refused::quiet(ExitStatus::Skip))
        }
    }
}

/// Skips a commit that has no project, because the next one may have it.
fn no_project(why: anyhow::Error, out: &mut Out) -> anyhow::Result<()> {
    let git = Git::in_dir(".");
    let (Ok(ends), Some(here)) = (Ends::find(&git), git.commit("HEAD")?) else {
        return Err(why);
    };
    if here == ends.good || here == ends.bad {
        return Err(why);
    }
    let why = format!("{why:#}");
    let first = safe_line(why.lines().next().unwrap_or_default());
    out.print(&format!("skip  {}  {first}\n", here.short()))?;
    Err(Refused::quiet(ExitStatus::Skip))
}

/// Returns the scenario, as found in a checkout. If the checkout does not have the test, the
/// names on the command line are used unchecked.
fn asked(session: &Session, checkout: &Home) -> anyhow::Result<Subject> {
    subject(session, checkout).or_else(|why| {
        // The commit does not have the test, so the names cannot be checked.
        match (&session.package, &session.scenario) {
            (Some(package), Some(scenario)) => Ok(Subject {
                package: package.clone(),
                target: session.test.clone().unwrap_or_else(|| "leaks".to_owned()),
                scenario: scenario.clone(),
            }),
            _ => Err(why),
        }
    })
}

/// Returns the project at the bad end, or `None` if cargo finds none there.
fn at_bad_end(worktree: &Worktree, home: &Home) -> anyhow::Result<Option<Home>> {
    let dir = worktree.path_of().join(&home.prefix);
    let project = settled(measure::working_tree(&dir))?;
    Ok(project.ok().map(|project| Home {
        git: worktree.git().clone(),
        prefix: home.prefix.clone(),
        target_dir: home.target_dir.clone(),
        project,
    }))
}

/// Makes the question from the two ends. The first call measures them, and later calls find
/// the measurements in the cache.
fn question(
    bench: &mut Bench,
    ends: &Ends,
    session: &Session,
) -> anyhow::Result<(Question, Change)> {
    let mut climb = |end: &Commit| {
        let report = bench.climb(&Revision::from(end), Length::Full)?;
        anyhow::Ok(Climb::of(&report.map_err(|why| unusable(end, &why))?))
    };
    let (good, bad) = (climb(&ends.good)?, climb(&ends.bad)?);
    let stack = session.stack.as_ref();
    let (mut question, change) = match Question::between(&good, &bad, stack) {
        Ok(question) => (question, Change::Brought),
        // The terms old and new do not say which end leaks.
        Err(why) => match Question::between(&bad, &good, stack) {
            Ok(question) if ends.terms != ["good", "bad"] => (question, Change::Fixed),
            fixed => {
                return Err(Refused::usage(match (fixed, why) {
                    (Ok(_), _) => {
                        "it grows faster at the good commit than at the bad one\n  \
                         hint: to find the commit that fixed it, use git's other terms: git \
                         bisect start, git bisect old COMMIT, git bisect new COMMIT"
                    }
                    (_, NoQuestion::NothingGrows) => "no stack in question grows at the bad end",
                    (_, NoQuestion::NoDifference) => {
                        "it grows as fast at the good end as at the bad one"
                    }
                }));
            }
        },
    };
    let (good, bad) = match change {
        Change::Brought => (&ends.good, &ends.bad),
        Change::Fixed => (&ends.bad, &ends.good),
    };
    bench.shorten(&good.into(), &bad.into(), &mut question)?;
    Ok((question, change))
}

fn unusable(end: &Commit, why: &Unusable) -> anyhow::Error {
    let text = format!("the end {} cannot be measured: {why}", end.short());
    Refused::with_status(ExitStatus::Stop, text)
}
