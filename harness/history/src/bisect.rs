//! `plimsoll bisect`: finds the first commit with which a stack grows faster than the good
//! rate.
//!
//! Sets up the two ends, the project and a bench, runs a search, and shows its result. With
//! `--dep`, the revisions are releases of a dependency.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::args::{BisectArgs, BisectFormat};
use crate::releases::Asked;
use crate::revision::Revision;
use crate::search::Search;
use crate::session::{STOPPED, Session};
use crate::setup::{LOGS, bench, home, interruptible, known, overlay, subject, worktree};
use crate::show::Outcome;
use crate::{dependency, show};
use plimsoll_desk::atomic;
use plimsoll_desk::git::{Commit, Git};
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::status::{ExitStatus, Refused};

pub fn run(args: &BisectArgs, out: &mut Out) -> anyhow::Result<()> {
    let done = interruptible(STOPPED, |interrupt| bisect(args, interrupt, out));
    // The status must not be an answer if `git bisect run` called this: the error says nothing
    // about the revision.
    done.map_err(|err| match err.is::<Refused>() {
        true => err,
        false => Refused::with_status(ExitStatus::Stop, format!("{err:#}")),
    })
}

fn bisect(args: &BisectArgs, interrupt: &Interrupt, out: &mut Out) -> anyhow::Result<()> {
    let started = Instant::now();
    let home = home(args.bench.manifest_path.as_deref())?;
    let folder = home.folder();
    let session = Session::choose(args, &folder)?;
    let subject = subject(&session, &home)?;
    let git = &home.git;
    let bad = known(git, session.bad.as_deref().unwrap_or("HEAD"))?;
    let (good, releases) = match &session.dep {
        Some(dep) => {
            let asked: Result<Asked, String> = session.good.parse();
            let asked = asked.map_err(|why| Refused::usage(format!("--dep: {why}")))?;
            (bad.clone(), Some((dep.clone(), asked)))
        }
        None => {
            let good = known(git, &session.good)?;
            check_history(git, &good, &bad, &session)?;
            (good, None)
        }
    };
    let overlay = overlay(&home, &subject, &session)?;

    let session = session.with(&subject, &good, &bad);
    check_paths(git, &good, &bad, &session)?;
    let worktree = worktree(git, &good, args.remove_stale)?;
    session.keep(&folder)?;
    let mut bench = bench(&home, &session, &subject, overlay, worktree, interrupt)?;
    let releases = match releases {
        Some((dep, asked)) => dependency::prepare(&mut bench, &dep, &asked, &bad)?,
        None => Vec::new(),
    };
    let (good, bad) = match releases.as_slice() {
        [first, .., last] => (first.clone(), last.clone()),
        _ => (Revision::Commit(good), Revision::Commit(bad)),
    };
    let mut search = Search {
        git,
        session: &session,
        good,
        bad,
        releases,
        question: None,
        log: String::new(),
        change: None,
        logs: folder.join(LOGS),
        started,
        tested: Vec::new(),
        reports: BTreeMap::new(),
    };
    let found = search.run(&mut bench)?;
    bench.tools.progress.clear();
    let mut shown = search.shown(&bench, &found)?;
    // The result is printed even if a file cannot be written.
    let mut written = Ok(());
    if let Some(svg) = search.picture(&shown)? {
        let path = args.flamegraph.clone();
        let path = path.unwrap_or_else(|| folder.join("growth.svg"));
        written = atomic::write_output(&path, &svg);
        shown.flamegraph = written.is_ok().then_some(path);
    }
    if let Some(path) = &args.log {
        written = written.and(atomic::write_output(path, &shown.log));
    }
    drop(bench);
    let text = match args.format() {
        BisectFormat::Text => show::text(&shown),
        BisectFormat::Markdown => show::markdown(&shown),
        BisectFormat::Json => show::json(&shown),
    };
    out.print(&text)?;
    Session::forget(&folder);
    written?;
    match shown.outcome {
        Outcome::Found(_) | Outcome::Release(_) => Ok(()),
        _ => Err(Refused::quiet(ExitStatus::NoVerdict)),
    }
}

/// Checks that there is something to search: the ends differ, the bad one is not an ancestor
/// of the good one, and both have a common ancestor. With `--first-parent`, the good end must
/// be an ancestor of the bad one.
fn check_history(git: &Git, good: &Commit, bad: &Commit, session: &Session) -> anyhow::Result<()> {
    let bases = git.merge_bases(good, bad)?;
    let is_before = bases.contains(bad);
    let is_ancestor = bases == [good.clone()];
    let is_same = good == bad;
    let (good, bad) = (good.short(), bad.short());
    if is_same {
        let text = format!("both ends are {good}: there is nothing between them");
        return Err(Refused::usage(text));
    }
    if is_before {
        return Err(Refused::usage(format!(
            "the good end, {good}, comes after the bad one, {bad}\n  \
             hint: name the earlier one first; if it grows only at the earlier one, the commit \
             that fixed it is searched for"
        )));
    }
    if bases.is_empty() {
        let mut text = format!("{good} and {bad} have no commit in common");
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
    if session.first_parent && !is_ancestor {
        let text = format!("--first-parent: the good end, {good}, is no ancestor of the bad one");
        return Err(Refused::usage(text));
    }
    Ok(())
}

/// Checks that some commit between the ends changes the given paths.
fn check_paths(git: &Git, good: &Commit, bad: &Commit, session: &Session) -> anyhow::Result<()> {
    if session.paths.is_empty() {
        return Ok(());
    }
    let range = format!("{good}..{bad}");
    let mut args = vec!["rev-list", "--max-count=1", &range, "--"];
    args.extend(session.paths.iter().map(String::as_str));
    if git.ask(&args)?.is_empty() {
        let (good, bad) = (good.short(), bad.short());
        let paths = safe_line(&session.paths.join(", "));
        let text = format!("no commit between {good} and {bad} changes {paths}");
        return Err(Refused::usage(text));
    }
    Ok(())
}
