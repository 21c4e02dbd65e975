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
//! With `--dep` the revisions are releases of a dependency, and `narrow` is what
//! git's bisection is for commits.
//!
//! `decide` and `narrow` are pure, `git` and `worktree` know of no test, `measure` and
//! `overlay` of no bisection, and `show` prints nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_core::Frame;
use plimsoll_core::report::units::plural;
use plimsoll_core::report::{self, Report, flamegraph};

use crate::args::{BisectArgs, BisectFormat};
use crate::bench::{Bench, Length, Tested};
use crate::decide::{Answer, Change, Climb, Gain, NoQuestion, Question};
use crate::measure::{Kind, Unusable};
use crate::narrow::{Narrow, Next, Says};
use crate::releases::Asked;
use crate::revision::Revision;
use crate::session::{STOPPED, Session};
use crate::setup::{LOGS, Setup, bench, home, known, overlay, subject, worktree};
use crate::show::{Outcome, Shown, ShownCommit, ShownRelease, ShownTest};
use crate::{dependency, differences, narrow, show};
use plimsoll_desk::atomic;
use plimsoll_desk::git::{Bisection, Commit, Git, Step};
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::progress::about;
use plimsoll_desk::project::shown;
use plimsoll_desk::status::{ExitStatus, Refused};

pub fn run(args: &BisectArgs, out: &mut Out) -> anyhow::Result<()> {
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

fn bisect(args: &BisectArgs, interrupt: &Interrupt, out: &mut Out) -> anyhow::Result<()> {
    let started = Instant::now();
    let home = home(args.bench.manifest_path.as_deref())?;
    let folder = home.folder();
    let session = Session::choose(args, &folder)?;
    let subject = subject(&session, &home)?;
    let git = &home.git;
    let bad = known(git, session.bad.as_deref().unwrap_or("HEAD"))?;
    let (good, releases) = match &session.dep {
        Some(_) => (bad.clone(), Some(asked(&session)?)),
        None => {
            let good = known(git, &session.good)?;
            check_history(git, &good, &bad, &session)?;
            (good, None)
        }
    };
    let overlay = overlay(&home, &subject, session.overlay)?;

    let session = session.with(&subject, &good, &bad);
    check_paths(git, &good, &bad, &session)?;
    let worktree = worktree(git, &good, args.remove_stale)?;
    session.keep(&folder)?;
    let mut bench = bench(Setup {
        home: &home,
        session: &session,
        subject: &subject,
        target_dir: args.bench.target_dir.as_deref(),
        worktree: &worktree,
        overlay,
        interrupt,
    })?;
    let releases = match (&session.dep, releases) {
        (Some(dep), Some(asked)) => dependency::prepare(&mut bench, dep, &asked, &bad)?,
        _ => Vec::new(),
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
        change: None,
        logs: folder.join(LOGS),
        started,
        tested: Vec::new(),
        reports: BTreeMap::new(),
    };
    let found = search.run(&mut bench)?;
    bench.progress.clear();
    let mut shown = search.shown(&bench, &found)?;
    // The answer is said all the same where a file cannot be written.
    let mut written = Ok(());
    if let Some(svg) = search.picture(&shown)? {
        let path = args
            .flamegraph
            .clone()
            .unwrap_or_else(|| folder.join("growth.svg"));
        written = atomic::write_output(&path, &svg);
        shown.flamegraph = written.is_ok().then_some(path);
    }
    if let Some(path) = &args.log {
        written = written.and(atomic::write_output(path, &shown.log));
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
    written?;
    match shown.outcome {
        Outcome::Found(_) | Outcome::Release(_) => Ok(()),
        _ => Err(Refused::quiet(ExitStatus::NoVerdict)),
    }
}

/// The releases of a dependency that are asked for.
fn asked(session: &Session) -> anyhow::Result<Asked> {
    let asked: Result<Asked, String> = session.good.parse();
    asked.map_err(|why| Refused::usage(format!("--dep: {why}")))
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
             hint: name the earlier one first; if it grows only at the earlier one, the commit \
             that fixed it is searched for",
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

/// What the search came to.
enum Found {
    NoDifference(NoQuestion),
    /// The first commit that is bad; of releases, the first that is as the last.
    First(Revision, Box<Question>, String),
    OneOf(Vec<Revision>, Box<Question>, String),
    BadMergeBase(Commit, Box<Question>, String),
}

struct Search<'a> {
    git: &'a Git,
    session: &'a Session,
    good: Revision,
    bad: Revision,
    /// The releases that are searched, least first; none where it is commits.
    releases: Vec<Revision>,
    /// Which of the ends is the bad one, once it is known.
    change: Option<Change>,
    logs: PathBuf,
    started: Instant,
    tested: Vec<(Revision, Tested)>,
    reports: BTreeMap<Revision, Report>,
}

impl Search<'_> {
    fn run(&mut self, bench: &mut Bench<'_>) -> anyhow::Result<Found> {
        let (good, bad) = (self.good.clone(), self.bad.clone());
        // Before the one is built for nothing.
        for (end, name) in [(&good, "good"), (&bad, "bad")] {
            if let Err(why) = bench.can_be_chosen(end)? {
                return Err(self.unusable_end(bench, end, name, &why)?);
            }
        }
        let good_report = self.end(bench, &good, "good")?;
        let bad_report = self.end(bench, &bad, "bad")?;
        let (at_good, at_bad) = (Climb::of(&good_report), Climb::of(&bad_report));
        let most = at_good.iterations.min(at_bad.iterations) / 2;
        self.reports.insert(good, good_report);
        self.reports.insert(bad, bad_report);
        let question = match self.question(&at_good, &at_bad) {
            Ok(question) => question,
            Err(none) => return Ok(Found::NoDifference(none)),
        };
        let (good, bad) = (self.good.clone(), self.bad.clone());
        bench.progress.note(&format!(
            "good  {}  {}\nbad   {}  {}  {}",
            good.name(),
            show::rate(question.good),
            bad.name(),
            show::rate(question.bad),
            show::leaf(&question.stack),
        ));
        let enough = bench.enough(&good, &bad, &question, most)?;
        // Their tests are kept no longer than they are needed.
        bench.forget(&good);
        bench.forget(&bad);
        match self.releases.is_empty() {
            true => self.over_commits(bench, question, enough),
            false => self.over_releases(bench, question, enough),
        }
    }

    /// Which of the ends is the bad one, they say themselves. Of commits it is the later one,
    /// unless nothing grows there: then something mended what grows at the earlier.
    fn question(&mut self, first: &Climb, last: &Climb) -> Result<Question, NoQuestion> {
        let stack = self.session.stack.as_ref();
        let (question, change) = match self.releases.is_empty() {
            true => match Question::between(first, last, stack) {
                Err(NoQuestion::NothingGrows) => {
                    let fixed = Question::between(last, first, stack);
                    (fixed.map_err(|_| NoQuestion::NothingGrows)?, Change::Fixed)
                }
                brought => (brought?, Change::Brought),
            },
            false => Question::of_either(first, last, stack)?,
        };
        self.change = Some(change);
        if self.is_fixed() {
            std::mem::swap(&mut self.good, &mut self.bad);
        }
        Ok(question)
    }

    fn is_fixed(&self) -> bool {
        self.change == Some(Change::Fixed)
    }

    /// The two ends in the order of their history.
    fn ends(&self) -> (&Revision, &Revision) {
        match self.is_fixed() {
            true => (&self.bad, &self.good),
            false => (&self.good, &self.bad),
        }
    }

    fn over_commits(
        &mut self,
        bench: &mut Bench<'_>,
        question: Question,
        enough: Option<u64>,
    ) -> anyhow::Result<Found> {
        let paths = &self.session.paths;
        let first_parent = self.session.first_parent;
        // To git, whatever is as the earlier end is good.
        let (first, last) = self.ends();
        let (first, last) = (first.commit(), last.commit());
        let (bisection, mut step) =
            Bisection::start(bench.worktree.git(), first, last, first_parent, paths)?;
        let question = Box::new(question);
        loop {
            let (commit, left, steps) = match step {
                Step::Test {
                    commit,
                    left,
                    steps,
                } => (commit, left, steps),
                Step::Found(commit) => {
                    let first = Revision::Commit(commit);
                    return Ok(Found::First(first, question, bisection.log()?));
                }
                Step::OneOf(commits) => {
                    let commits = commits.into_iter().map(Revision::Commit).collect();
                    return Ok(Found::OneOf(commits, question, bisection.log()?));
                }
                Step::BadMergeBase(commit) => {
                    return Ok(Found::BadMergeBase(commit, question, bisection.log()?));
                }
            };
            bench.progress.note(&left_to_do(bench, left, steps));
            let revision = Revision::Commit(commit.clone());
            let is_bad = self.is_bad(bench, revision, &question, enough)?;
            step = match is_bad.map(|is_bad| is_bad == self.is_fixed()) {
                Some(true) => bisection.good(&commit)?,
                Some(false) => bisection.bad(&commit)?,
                None => bisection.skip(&commit)?,
            };
        }
    }

    fn over_releases(
        &mut self,
        bench: &mut Bench<'_>,
        question: Question,
        enough: Option<u64>,
    ) -> anyhow::Result<Found> {
        let mut narrow = Narrow::new(self.releases.len());
        let question = Box::new(question);
        loop {
            let at = match narrow.next() {
                Next::Ask(at) => at,
                Next::Found(at) => {
                    let first = self.releases[at].clone();
                    return Ok(Found::First(first, question, String::new()));
                }
                Next::OneOf(range) => {
                    let these = self.releases[range].to_vec();
                    return Ok(Found::OneOf(these, question, String::new()));
                }
            };
            let (left, steps) = narrow.left();
            let after = (left.saturating_sub(1), steps.saturating_sub(1));
            bench.progress.note(&left_to_do(bench, after.0, after.1));
            let revision = self.releases[at].clone();
            let is_bad = self.is_bad(bench, revision, &question, enough)?;
            let last_is_bad = !self.is_fixed();
            let says = match is_bad {
                None => Says::Nothing,
                Some(is_bad) if is_bad == last_is_bad => Says::AsLast,
                Some(_) => Says::AsFirst,
            };
            narrow.tell(at, says);
        }
    }

    /// Measures a revision between the ends; whether it is bad, if that is clear.
    fn is_bad(
        &mut self,
        bench: &mut Bench<'_>,
        revision: Revision,
        question: &Question,
        enough: Option<u64>,
    ) -> anyhow::Result<Option<bool>> {
        let tested = bench.test(&revision, question, enough)?;
        bench.forget(&revision);
        bench.progress.note(&self.line(&revision, &tested)?);
        if let Some(report) = &tested.report {
            self.reports.insert(revision.clone(), report.clone());
        }
        let is_bad = match &tested.answer {
            Ok(Answer::Good(_)) => Some(false),
            Ok(Answer::Bad(_) | Answer::Moved(..)) => Some(true),
            Ok(Answer::Unclear(_)) | Err(_) => None,
        };
        self.tested.push((revision, tested));
        Ok(is_bad)
    }

    /// One of the two ends, over the whole ladder: without it there is nothing to
    /// search by.
    fn end(
        &mut self,
        bench: &mut Bench<'_>,
        revision: &Revision,
        name: &str,
    ) -> anyhow::Result<Report> {
        // What was wrong with it may have been mended.
        bench.cache.forget_unusable(revision);
        match bench.climb(revision, Length::Full)? {
            Ok(report) => Ok(report),
            Err(why) => Err(self.unusable_end(bench, revision, name, &why)?),
        }
    }

    /// What is said of an end that cannot be measured.
    fn unusable_end(
        &self,
        bench: &mut Bench<'_>,
        end: &Revision,
        name: &str,
        why: &Unusable,
    ) -> anyhow::Result<anyhow::Error> {
        let (what, mut hint) = match end {
            Revision::Commit(_) | Revision::WorkingTree(_) => (
                format!("the {name} end, {},", end.name()),
                "name another commit for it".to_owned(),
            ),
            Revision::Release { .. } => (
                format!("one of the ends, {},", end.name()),
                match why.kind {
                    Kind::Lockfile => {
                        "name another release for it; the requirement in Cargo.toml, as it was \
                         committed, has to admit it"
                    }
                    _ => "name another release for it",
                }
                .to_owned(),
            ),
        };
        if why.kind.is_of_code() {
            bench.progress.note(&format!(
                "{what} cannot be measured; looking for the nearest that can be built"
            ));
            let (tried, nearest) = self.nearest(bench, end)?;
            hint += &match nearest {
                Some(nearest) => {
                    format!(
                        "\n  the nearest to it that can be built: {}",
                        nearest.short()
                    )
                }
                None if tried == 0 => String::new(),
                None => format!(
                    "\n  of {} that were tried, up to the other end, none can be built",
                    plural(tried as u64, "other", "others")
                ),
            };
        }
        Ok(Refused::with_status(
            ExitStatus::Stop,
            format!(
                "{what} cannot be measured: {why}\n  logs: {}\n  hint: {hint}",
                shown(&self.logs)
            ),
        ))
    }

    /// The revision nearest to an end that can be built, and how many were tried.
    fn nearest(
        &self,
        bench: &mut Bench<'_>,
        end: &Revision,
    ) -> anyhow::Result<(usize, Option<Revision>)> {
        let inwards = self.inwards(end)?;
        let mut tried = 0;
        let found = narrow::first_that(inwards.len(), |at| {
            let revision = &inwards[at];
            tried += 1;
            let can = bench.can_be_built(revision)?;
            bench.forget(revision);
            let said = match &can {
                Ok(()) => "can be built".to_owned(),
                Err(why) => why.to_string(),
            };
            bench
                .progress
                .note(&format!("      {}  {said}", revision.name()));
            anyhow::Ok(can.is_ok())
        })?;
        Ok((tried, found.map(|at| inwards[at].clone())))
    }

    /// What lies between an end and the other one, with that.
    fn inwards(&self, end: &Revision) -> anyhow::Result<Vec<Revision>> {
        let mut row = self.releases.clone();
        if row.is_empty() {
            let (first, last) = (self.good.commit(), self.bad.commit());
            let after = self.git.after(first, last, self.session.first_parent)?;
            row.push(self.good.clone());
            row.extend(after.into_iter().map(Revision::Commit));
        }
        if row.first() != Some(end) {
            row.reverse();
        }
        Ok(row.split_off(1))
    }

    fn line(&self, revision: &Revision, tested: &Tested) -> anyhow::Result<String> {
        let name = revision.name();
        let said = match &tested.answer {
            Ok(Answer::Good(gain)) => format!("good  {name}  {}", show::rate(*gain)),
            Ok(Answer::Bad(rate)) => format!("bad   {name}  {}", show::rate(*rate)),
            Ok(Answer::Moved(rate, stack)) => format!(
                "bad   {name}  {}, as {}",
                show::rate(*rate),
                show::leaf(stack)
            ),
            Ok(Answer::Unclear(rate)) => {
                format!("skip  {name}  {}, not clear", show::rate(*rate))
            }
            Err(why) => format!("skip  {name}  {why}"),
        };
        let cached = if tested.cached {
            " (measured before)"
        } else {
            ""
        };
        Ok(match revision {
            Revision::Commit(_) | Revision::WorkingTree(_) => {
                format!("{said}{cached}  {}", safe_line(&self.subject_of(revision)?))
            }
            Revision::Release { .. } => format!("{said}{cached}"),
        })
    }

    /// What it is about, in a few words.
    fn subject_of(&self, revision: &Revision) -> anyhow::Result<String> {
        Ok(match revision {
            Revision::Commit(commit) | Revision::WorkingTree(commit) => {
                self.git.about(commit)?.subject
            }
            Revision::Release { .. } => revision.name(),
        })
    }

    /// Everything that is said at the end.
    fn shown(&self, bench: &Bench<'_>, found: &Found) -> anyhow::Result<Shown> {
        let question = match found {
            Found::NoDifference(_) => None,
            Found::First(_, question, _)
            | Found::OneOf(_, question, _)
            | Found::BadMergeBase(_, question, _) => Some(question.as_ref()),
        };
        let rate_at = |revision: &Revision| self.rate_at(revision, question?);
        let mut tests = Vec::new();
        for (revision, tested) in &self.tested {
            let (answer, rate) = match &tested.answer {
                Ok(Answer::Good(rate)) => ("good", Some(*rate)),
                Ok(Answer::Bad(rate) | Answer::Moved(rate, _)) => ("bad", Some(*rate)),
                Ok(Answer::Unclear(rate)) => ("skip", Some(*rate)),
                Err(_) => ("skip", None),
            };
            tests.push(ShownTest {
                revision: revision.clone(),
                subject: self.subject_of(revision)?,
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
            Found::OneOf(revisions, ..) if self.releases.is_empty() => {
                let commits = revisions
                    .iter()
                    .map(|one| self.commit(one.commit(), None, None));
                Outcome::OneOf(commits.collect::<anyhow::Result<_>>()?)
            }
            Found::OneOf(revisions, ..) => Outcome::OneOfReleases(revisions.clone()),
            Found::BadMergeBase(commit, ..) => {
                let rate = rate_at(&Revision::from(commit));
                Outcome::BadMergeBase(Box::new(self.commit(commit, None, rate)?))
            }
            Found::First(first, question, _) => {
                let before = self.before(first)?;
                let rate = before.as_ref().and_then(rate_at);
                match (first, before) {
                    (Revision::Commit(commit) | Revision::WorkingTree(commit), _) => {
                        let of_first = match self.is_fixed() {
                            true => bad_rate,
                            false => good_rate,
                        };
                        let mut shown = self.commit(commit, rate.or(of_first), rate_at(first))?;
                        shown.in_stack = self.in_stack(first, question, &shown.about.files, bench);
                        Outcome::Found(Box::new(shown))
                    }
                    (Revision::Release { .. }, before) => {
                        Outcome::Release(Box::new(ShownRelease {
                            release: first.clone(),
                            before: before.context("the release before it")?,
                            rate_before: rate,
                            rate: rate_at(first),
                        }))
                    }
                }
            }
        };
        Ok(Shown {
            outcome,
            subject: bench.subject.clone(),
            stack,
            others,
            good: (self.good.clone(), good_rate),
            bad: (self.bad.clone(), bad_rate),
            change: self.change,
            trend: self.trend(question)?,
            tests,
            builds: bench.builds.len(),
            took: self.started.elapsed(),
            log,
            flamegraph: None,
        })
    }

    /// What it was judged by: where functions had other names, under those.
    fn rate_at(&self, revision: &Revision, question: &Question) -> Option<Gain> {
        let tested = self.tested.iter().find(|(one, _)| one == revision);
        if let Some((_, tested)) = tested
            && let Ok(Answer::Moved(rate, _)) = &tested.answer
        {
            return Some(*rate);
        }
        let climb = Climb::of(self.reports.get(revision)?);
        Some(question.rate(&climb))
    }

    fn commit(
        &self,
        commit: &Commit,
        before: Option<Gain>,
        after: Option<Gain>,
    ) -> anyhow::Result<ShownCommit> {
        Ok(ShownCommit {
            about: self.git.about(commit)?,
            before,
            after,
            in_stack: Vec::new(),
        })
    }

    /// The nearest one before it that was measured: a parent, or the release
    /// before it, as a rule.
    fn before(&self, revision: &Revision) -> anyhow::Result<Option<Revision>> {
        let Revision::Commit(commit) = revision else {
            let earlier = self
                .releases
                .iter()
                .rev()
                .skip_while(|one| *one != revision);
            let mut measured = earlier.skip(1).filter(|one| self.reports.contains_key(one));
            return Ok(measured.next().cloned());
        };
        let text = self
            .git
            .ask(&["rev-list", "--topo-order", commit.as_str()])?;
        let before = text.lines().skip(1).find_map(|id| {
            let known = self
                .reports
                .keys()
                .find(|known| known.commit().as_str() == id)?;
            Some(known.clone())
        });
        Ok(before)
    }

    /// The frames of the stack that lie in files which the commit touches.
    fn in_stack(
        &self,
        revision: &Revision,
        question: &Question,
        files: &[String],
        bench: &Bench<'_>,
    ) -> Vec<(String, String)> {
        let moved = self
            .tested
            .iter()
            .find_map(|(one, tested)| match &tested.answer {
                Ok(Answer::Moved(_, stack)) if one == revision => Some(stack),
                _ => None,
            });
        // A short climb may have no findings yet; the stack is that of the bad end.
        for measured in [revision, &self.bad] {
            let Some(report) = self.reports.get(measured) else {
                continue;
            };
            let of_stack: Vec<&Frame> = report
                .findings
                .iter()
                .filter(|finding| match &finding.subject {
                    report::Subject::Stack(stack) | report::Subject::Site { frames: stack, .. } => {
                        question.holds(stack) || moved == Some(stack)
                    }
                    _ => false,
                })
                .flat_map(|finding| &finding.frames)
                .collect();
            if of_stack.is_empty() {
                continue;
            }
            let worktree = bench.worktree.path_of().file_name().unwrap_or_default();
            let within = format!("{}/", worktree.to_string_lossy());
            let mut found = Vec::new();
            for frame in of_stack {
                let Some(file) = &frame.file else { continue };
                // Below another project, that one's folder is what it begins with.
                let inner = file.rsplit_once(&within).map(|(_, inner)| inner.to_owned());
                let path = match &inner {
                    Some(inner) => inner.clone(),
                    None => bench.prefix.join(file).to_string_lossy().into_owned(),
                };
                let file = inner.as_ref().unwrap_or(file);
                // Of another revision, lines say nothing.
                let line = frame.line.filter(|_| measured == revision);
                let line = line.map_or_else(String::new, |line| format!(":{line}"));
                let entry = (frame.function.clone(), format!("{file}{line}"));
                if files.contains(&path) && !found.contains(&entry) {
                    found.push(entry);
                }
            }
            return found;
        }
        Vec::new()
    }

    /// The rates of what was measured, from the earlier end to the later.
    fn trend(&self, question: Option<&Question>) -> anyhow::Result<Vec<Gain>> {
        let Some(question) = question else {
            return Ok(Vec::new());
        };
        let rate = |revision: &Revision| self.rate_at(revision, question);
        if !self.releases.is_empty() {
            return Ok(self.releases.iter().filter_map(rate).collect());
        }
        let (first, last) = self.ends();
        let first = first.commit().as_str();
        let range = format!("{first}..{}", last.commit());
        let text = self
            .git
            .ask(&["rev-list", "--topo-order", "--reverse", &range])?;
        let ids = std::iter::once(first).chain(text.lines());
        let known = |id: &str| {
            let mut known = self.reports.keys();
            known.find(|known| known.commit().as_str() == id)
        };
        Ok(ids.filter_map(known).filter_map(rate).collect())
    }

    /// What the commit or the release brought: its growth without that of what
    /// came before.
    fn picture(&self, shown: &Shown) -> anyhow::Result<Option<String>> {
        let (first, before) = match &shown.outcome {
            Outcome::Found(first) => {
                let first = Revision::from(&first.about.commit);
                let before = self
                    .before(&first)?
                    .unwrap_or_else(|| self.ends().0.clone());
                (first, before)
            }
            Outcome::Release(first) => (first.release.clone(), first.before.clone()),
            _ => return Ok(None),
        };
        let (Some(after), Some(before)) = (self.reports.get(&first), self.reports.get(&before))
        else {
            return Ok(None);
        };
        let report = differences::report(before, after);
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
    let estimate = estimate.unwrap_or_default();
    if left == 0 {
        return format!("none left after this{estimate}");
    }
    format!(
        "{} left after this, about {}{estimate}",
        plural(left as u64, "revision", "revisions"),
        plural(steps as u64, "step", "steps"),
    )
}
