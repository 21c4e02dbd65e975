//! Searches for the first revision after which a stack grows faster than the good rate.
//!
//! ```text
//! the two ends (`ends`) ─► climbs ─► decide ─► the question: which stack, what is past
//! git's own bisection, or `narrow` ─► a revision ─► bench ─► good, bad, or skip
//!                                     what is said of it at the end (`found`)
//! ```

mod ends;
mod found;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use plimsoll_core::report::Report;
use plimsoll_core::report::units::plural;

use crate::bench::{Bench, word};
use crate::decide::{Change, Climb, NoQuestion, Question};
use crate::narrow::{Narrow, Next};
use crate::revision::Revision;
use crate::session::Session;
use crate::show::{self, ShownTest};
use plimsoll_desk::git::{Commit, Git, Step};
use plimsoll_desk::out::safe_line;
use plimsoll_desk::progress::about;

/// The result of a search.
pub(crate) enum Found {
    NoDifference(NoQuestion),
    /// The first bad commit, or the first commit that fixed the growth. Of releases, the first
    /// that answers as the last one does.
    First(Revision),
    OneOf(Vec<Revision>),
    BadMergeBase(Commit),
}

/// A search between two ends: the question, and the answers so far.
pub(crate) struct Search<'a> {
    /// The question, once it is answered.
    pub(crate) question: Option<Question>,
    /// The log of git's bisection. Empty in a search of releases.
    pub(crate) log: String,
    pub(crate) git: &'a Git,
    pub(crate) session: &'a Session,
    pub(crate) good: Revision,
    pub(crate) bad: Revision,
    /// The releases that are searched, lowest first. Empty in a search of commits.
    pub(crate) releases: Vec<Revision>,
    /// Which of the ends is the bad one, once it is known.
    pub(crate) change: Option<Change>,
    pub(crate) logs: PathBuf,
    pub(crate) started: Instant,
    pub(crate) tested: Vec<ShownTest>,
    pub(crate) reports: BTreeMap<Revision, Report>,
}

impl Search<'_> {
    pub(crate) fn run(&mut self, bench: &mut Bench) -> anyhow::Result<Found> {
        let (good, bad) = (self.good.clone(), self.bad.clone());
        // Checked first for both ends, so that the good end is not built in vain.
        for (end, name) in [(&good, "good"), (&bad, "bad")] {
            if let Err(why) = bench.can_be_chosen(end)? {
                return Err(self.unusable_end(bench, end, name, &why)?);
            }
        }
        let good_report = self.end(bench, &good, "good")?;
        let bad_report = self.end(bench, &bad, "bad")?;
        let (at_good, at_bad) = (Climb::of(&good_report), Climb::of(&bad_report));
        self.reports.insert(good, good_report);
        self.reports.insert(bad, bad_report);
        let mut question = match self.question(&at_good, &at_bad) {
            Ok(question) => question,
            Err(none) => return Ok(Found::NoDifference(none)),
        };
        let (good, bad) = (self.good.clone(), self.bad.clone());
        bench.tools.progress.note(&format!(
            "good  {}  {}\nbad   {}  {}  {}",
            good.name(),
            show::rate(question.good),
            bad.name(),
            show::rate(question.bad),
            show::leaf(&question.stack),
        ));
        bench.shorten(&good, &bad, &mut question)?;
        let found = match self.releases.is_empty() {
            true => self.over_commits(bench, &question)?,
            false => self.over_releases(bench, &question)?,
        };
        self.question = Some(question);
        Ok(found)
    }

    /// Makes the question. The measurements decide which end is the bad one. Of commits, it is
    /// the later one, unless nothing grows there; then the search is for the commit that fixed
    /// the growth of the earlier one.
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

    /// Returns the two ends in the order of their history.
    fn ends(&self) -> (&Revision, &Revision) {
        match self.is_fixed() {
            true => (&self.bad, &self.good),
            false => (&self.good, &self.bad),
        }
    }

    fn over_commits(&mut self, bench: &mut Bench, question: &Question) -> anyhow::Result<Found> {
        let paths = &self.session.paths;
        let first_parent = self.session.first_parent;
        let (first, last) = self.ends();
        let (first, last) = (first.commit(), last.commit());
        let git = bench.worktree.git().clone();
        let mut step = git.bisect(first, last, first_parent, paths)?;
        let found = loop {
            let (commit, left, steps) = match step {
                Step::Test {
                    commit,
                    left,
                    steps,
                } => (commit, left, steps),
                Step::Found(commit) => break Found::First(Revision::Commit(commit)),
                Step::OneOf(commits) => {
                    break Found::OneOf(commits.into_iter().map(Revision::Commit).collect());
                }
                Step::BadMergeBase(commit) => break Found::BadMergeBase(commit),
            };
            bench.tools.progress.note(&left_to_do(bench, left, steps));
            let revision = Revision::Commit(commit.clone());
            let as_first = self.is_as_first(bench, revision, question)?;
            // git calls every commit good that answers like the earlier end.
            let is_bad = as_first.map(|as_first| !as_first);
            step = git.bisect_mark(&commit, word(is_bad))?;
        };
        self.log = git.bisect_log()?;
        Ok(found)
    }

    fn over_releases(&mut self, bench: &mut Bench, question: &Question) -> anyhow::Result<Found> {
        let mut narrow = Narrow::new(self.releases.len());
        loop {
            let at = match narrow.next() {
                Next::Ask(at) => at,
                Next::Found(at) => return Ok(Found::First(self.releases[at].clone())),
                Next::OneOf(range) => return Ok(Found::OneOf(self.releases[range].to_vec())),
            };
            let (left, steps) = narrow.left();
            let (left, steps) = (left.saturating_sub(1), steps.saturating_sub(1));
            bench.tools.progress.note(&left_to_do(bench, left, steps));
            let revision = self.releases[at].clone();
            narrow.tell(at, self.is_as_first(bench, revision, question)?);
        }
    }

    /// Measures a revision between the ends. Returns whether it answers like the earlier end, or
    /// `None` if that is not known.
    fn is_as_first(
        &mut self,
        bench: &mut Bench,
        revision: Revision,
        question: &Question,
    ) -> anyhow::Result<Option<bool>> {
        let tested = bench.test(&revision, question)?;
        bench.forget(&revision);
        if let Some(report) = &tested.report {
            self.reports.insert(revision.clone(), report.clone());
        }
        let is_bad = tested.is_bad();
        let test = ShownTest {
            subject: self.subject_of(&revision)?,
            revision,
            tested,
        };
        bench.tools.progress.note(&line(&test));
        self.tested.push(test);
        Ok(is_bad.map(|is_bad| is_bad == self.is_fixed()))
    }

    /// Returns the subject of a commit, or the name of a release.
    fn subject_of(&self, revision: &Revision) -> anyhow::Result<String> {
        Ok(match revision {
            Revision::Commit(commit) | Revision::WorkingTree(commit) => self.git.subject(commit)?,
            Revision::Release { .. } => revision.name(),
        })
    }
}

fn line(test: &ShownTest) -> String {
    let (word, name) = (test.tested.word(), test.revision.name());
    let (said, moved) = match &test.tested.answer {
        Ok(answer) => (show::rate(answer.rate), answer.moved.as_ref()),
        Err(why) => (why.to_string(), None),
    };
    let moved = moved.map_or(String::new(), |stack| format!(", as {}", show::leaf(stack)));
    let cached = match test.tested.cached {
        true => " (measured before)",
        false => "",
    };
    let subject = match test.revision.version() {
        None => format!("  {}", safe_line(&test.subject)),
        Some(_) => String::new(),
    };
    format!("{word:<4}  {name}  {said}{moved}{cached}{subject}")
}

fn left_to_do(bench: &Bench, left: usize, steps: usize) -> String {
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
    let left = plural(left as u64, "revision", "revisions");
    let steps = plural(steps as u64, "step", "steps");
    format!("{left} left after this, about {steps}{estimate}")
}
