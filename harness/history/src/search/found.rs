//! Prepares the result of a search for output.

use anyhow::Context;
use plimsoll_core::report::flamegraph;
use plimsoll_core::{FoldedStack, Frame};

use super::{Found, Search};
use crate::bench::Bench;
use crate::decide::{Climb, Gain, Question};
use crate::differences;
use crate::revision::Revision;
use crate::show::{Outcome, Shown, ShownCommit, ShownRelease};
use plimsoll_desk::git::Commit;

impl Search<'_> {
    /// Returns everything that is shown at the end.
    pub(crate) fn shown(&self, bench: &Bench, found: &Found) -> anyhow::Result<Shown> {
        let question = self.question.as_ref();
        let rate_at = |revision: &Revision| self.rate_at(revision, question?);
        let good_rate = question.map(|question| question.good);
        let bad_rate = question.map(|question| question.bad);
        let outcome = match found {
            Found::NoDifference(why) => Outcome::NoDifference(*why),
            Found::OneOf(revisions) => {
                let named = |one: &Revision| Ok((one.clone(), self.subject_of(one)?));
                let all: anyhow::Result<_> = revisions.iter().map(named).collect();
                Outcome::OneOf(all?)
            }
            Found::BadMergeBase(commit) => {
                let rate = rate_at(&Revision::from(commit));
                Outcome::BadMergeBase(Box::new(self.commit(commit, None, rate)?))
            }
            Found::First(first) => {
                let before = self.before(first)?;
                let rate = before.as_ref().and_then(rate_at);
                match (first, before) {
                    (Revision::Commit(commit) | Revision::WorkingTree(commit), _) => {
                        let of_first = match self.is_fixed() {
                            true => bad_rate,
                            false => good_rate,
                        };
                        let mut shown = self.commit(commit, rate.or(of_first), rate_at(first))?;
                        shown.in_stack = self.in_stack(first, &shown.about.files, bench);
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
            per: bench.per.clone().unwrap_or_default(),
            stack: question.map(|question| question.stack.clone()),
            holder: question.and_then(|question| {
                let climb = Climb::of(self.reports.get(&self.bad)?);
                climb.holder(&question.stack).map(str::to_owned)
            }),
            others: question.map_or_else(Vec::new, |question| question.others.clone()),
            replacements: question.map_or_else(Vec::new, |one| one.replacements.clone()),
            good: (self.good.clone(), good_rate),
            bad: (self.bad.clone(), bad_rate),
            change: self.change,
            trend: self.trend()?,
            tests: self.tested.clone(),
            builds: bench.builds.len(),
            took: self.started.elapsed(),
            log: self.log.clone(),
            flamegraph: None,
        })
    }

    /// Returns the rate by which a revision was judged. If the function had another name
    /// there, it is the rate of that function.
    fn rate_at(&self, revision: &Revision, question: &Question) -> Option<Gain> {
        if let Some((rate, _)) = self.moved(revision) {
            return Some(rate);
        }
        let climb = Climb::of(self.reports.get(revision)?);
        Some(question.rate(&climb))
    }

    /// Returns the rate and the stack of a revision at which the function had another name.
    fn moved(&self, revision: &Revision) -> Option<(Gain, &FoldedStack)> {
        let test = self.tested.iter().find(|test| test.revision == *revision)?;
        let answer = test.tested.answer.as_ref().ok()?;
        Some((answer.rate, answer.moved.as_ref()?))
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

    /// Returns the nearest measured revision before a revision. Usually it is a parent, or the
    /// previous release.
    fn before(&self, revision: &Revision) -> anyhow::Result<Option<Revision>> {
        let Revision::Commit(commit) = revision else {
            let releases = self.releases.iter().rev();
            let earlier = releases.skip_while(|one| *one != revision);
            let mut measured = earlier.skip(1).filter(|one| self.reports.contains_key(one));
            return Ok(measured.next().cloned());
        };
        let args = ["rev-list", "--topo-order", commit.as_str()];
        let text = self.git.ask(&args)?;
        let mut ids = text.lines().skip(1);
        Ok(ids.find_map(|id| self.measured(id)).cloned())
    }

    /// Returns the measured revision of a commit.
    fn measured(&self, id: &str) -> Option<&Revision> {
        let mut measured = self.reports.keys();
        measured.find(|known| known.commit().as_str() == id)
    }

    /// Returns the frames of the stack whose files the commit changes.
    fn in_stack(
        &self,
        revision: &Revision,
        files: &[String],
        bench: &Bench,
    ) -> Vec<(String, String)> {
        let holds = |stack| {
            let question = self.question.as_ref();
            question.is_some_and(|question| question.holds(stack))
        };
        let moved = self.moved(revision).map(|(_, stack)| stack);
        // A short climb may have no findings yet. Then the stack of the bad end is used.
        for measured in [revision, &self.bad] {
            let Some(report) = self.reports.get(measured) else {
                continue;
            };
            let of_stack = report.findings.iter().filter(|finding| {
                let is_of_it = |stack| holds(stack) || moved == Some(stack);
                finding.subject.stack().is_some_and(is_of_it)
            });
            let of_stack: Vec<&Frame> = of_stack.flat_map(|finding| &finding.frames).collect();
            if of_stack.is_empty() {
                continue;
            }
            let worktree = bench.worktree.path_of().file_name().unwrap_or_default();
            let within = format!("{}/", worktree.to_string_lossy());
            let mut found = Vec::new();
            for frame in of_stack {
                let Some(file) = &frame.file else { continue };
                // If the worktree is inside another project's folder, the path begins in that
                // folder.
                let inner = file.rsplit_once(&within).map(|(_, inner)| inner.to_owned());
                let path = match &inner {
                    Some(inner) => inner.clone(),
                    None => bench.prefix.join(file).to_string_lossy().into_owned(),
                };
                let file = inner.as_ref().unwrap_or(file);
                // Line numbers of another revision are not valid here.
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

    /// Returns the rates of the measured revisions, from the earlier end to the later.
    fn trend(&self) -> anyhow::Result<Vec<Gain>> {
        let Some(question) = &self.question else {
            return Ok(Vec::new());
        };
        let rate = |revision: &Revision| self.rate_at(revision, question);
        if !self.releases.is_empty() {
            return Ok(self.releases.iter().filter_map(rate).collect());
        }
        let (first, last) = self.ends();
        let first = first.commit().as_str();
        let range = format!("{first}..{}", last.commit());
        let args = ["rev-list", "--topo-order", "--reverse", &range];
        let text = self.git.ask(&args)?;
        let ids = std::iter::once(first).chain(text.lines());
        let measured = ids.filter_map(|id| self.measured(id));
        Ok(measured.filter_map(rate).collect())
    }

    /// Draws the growth that the commit or the release brought: its growth minus that of the
    /// revision before it.
    pub(crate) fn picture(&self, shown: &Shown) -> anyhow::Result<Option<String>> {
        let (first, before) = match &shown.outcome {
            Outcome::Found(first) => {
                let first = Revision::from(&first.about.commit);
                let before = self.before(&first)?;
                (first, before.unwrap_or_else(|| self.ends().0.clone()))
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
