//! Measures revisions, one after the other, in one worktree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_core::report::{Report, json};

use crate::args::WhenToOverlay;
use crate::cache::{Cache, Kept};
use crate::decide::{Answer, Climb, Question};
use crate::measure::{Built, Kind, Lockfile, Subject, Tools, Unusable, usable};
use crate::overlay::Overlay;
use crate::revision::Revision;
use crate::worktree::Worktree;
use plimsoll_desk::git::Commit;
use plimsoll_desk::progress::Progress;
use plimsoll_desk::project::{Project, shown};

/// A ladder is tried at so many iterations, and at four times as many, …
const SHORTEST: u64 = 256;
const LONGER: u64 = 4;
/// What looks bad is looked at again, so many times as long.
const AGAIN: u64 = 8;
/// A climb without an answer is repeated with so many times the budget.
const PATIENCE: u32 = 4;

/// How long a climb is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// To that rung.
    To(u64),
    /// As far as the budget reaches.
    Full,
    /// As far as several budgets reach.
    Patient,
}

impl Length {
    fn word(self) -> String {
        match self {
            Length::To(iterations) => iterations.to_string(),
            Length::Full => "full".to_owned(),
            Length::Patient => "patient".to_owned(),
        }
    }
}

/// What was found of a revision.
#[derive(Clone, Debug)]
pub(crate) struct Tested {
    pub answer: Result<Answer, Unusable>,
    /// Of the last climb.
    pub report: Option<Report>,
    /// Whether all of it was known from an earlier run.
    pub cached: bool,
}

/// A dependency whose releases are measured.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// As cargo takes it for this package and no other.
    pub spec: String,
    /// Cargo.lock, from which every release begins.
    pub lockfile: String,
    /// Versions that were taken back.
    pub yanked: BTreeSet<String>,
}

pub(crate) struct Bench<'a> {
    pub tools: Tools,
    pub worktree: &'a Worktree,
    pub subject: Subject,
    pub overlay: Option<Overlay>,
    pub when: WhenToOverlay,
    /// Whose releases are measured, if any's are.
    pub dependency: Option<Dependency>,
    /// The folder of the workspace in the repository.
    pub prefix: PathBuf,
    /// The working tree's lockfile, for revisions that have none.
    pub lockfile: PathBuf,
    pub cache: Cache,
    pub progress: Progress,
    /// Tests that have been built in this run.
    pub built: BTreeMap<Revision, Result<Built, Unusable>>,
    /// Revisions that were built, or tried to.
    pub builds: BTreeSet<Revision>,
    /// Revisions of which not all was known from an earlier run.
    pub looked_at: BTreeSet<Revision>,
    /// What it took to build and to climb, for the estimate.
    pub spent: Vec<Duration>,
}

impl Bench<'_> {
    /// One climb of a revision, from the cache where it is there.
    pub(crate) fn climb(
        &mut self,
        revision: impl Into<Revision>,
        length: Length,
    ) -> anyhow::Result<Result<Report, Unusable>> {
        let revision = &revision.into();
        match self.cache.get(revision, &length.word()) {
            Some(Kept::Report(bytes)) => {
                // Of another format it is none.
                if let Ok(report) = usable(&bytes) {
                    return Ok(Ok(report));
                }
            }
            Some(Kept::Unusable(why)) => return Ok(Err(why)),
            None => {}
        }
        self.looked_at.insert(revision.clone());
        let done = match self.ready(revision)? {
            Err(why) => Err(why),
            Ok(built) => {
                self.progress.doing(&match length {
                    Length::To(n) => format!("{}: {n} iterations", revision.name()),
                    _ => format!("{}: the whole ladder", revision.name()),
                });
                let (iterations, budgets) = match length {
                    Length::To(iterations) => (Some(iterations), 1),
                    Length::Full => (None, 1),
                    Length::Patient => (None, PATIENCE),
                };
                self.back_to(revision.commit(), &built)?;
                let Bench {
                    tools,
                    subject,
                    progress,
                    ..
                } = self;
                let mut meanwhile = || progress.tick();
                tools.climb(
                    &built,
                    subject,
                    iterations,
                    budgets,
                    &revision.file_name(),
                    &mut meanwhile,
                )?
            }
        };
        // What Ctrl-C ended as well says nothing of the commit.
        self.tools.interrupt.check()?;
        match &done {
            Ok(report) => self
                .cache
                .put(revision, &length.word(), &json::to_string(report))?,
            Err(why) => self.cache.put_unusable(revision, why)?,
        }
        Ok(done)
    }

    /// A revision, as long as it takes to answer.
    pub(crate) fn test(
        &mut self,
        revision: impl Into<Revision>,
        question: &Question,
        enough: Option<u64>,
    ) -> anyhow::Result<Tested> {
        let revision = &revision.into();
        let started = Instant::now();
        let mut lengths = Vec::new();
        if let Some(enough) = enough {
            lengths.extend([Length::To(enough), Length::To(enough * AGAIN)]);
        }
        lengths.extend([Length::Full, Length::Patient]);
        let mut last = None;
        let mut looks_good = false;
        for (index, length) in lengths.into_iter().enumerate() {
            if looks_good && matches!(length, Length::To(_)) {
                continue;
            }
            let report = match self.climb(revision, length)? {
                Ok(report) => report,
                Err(why) => {
                    return Ok(Tested {
                        answer: Err(why),
                        report: None,
                        cached: !self.looked_at.contains(revision),
                    });
                }
            };
            let answer = question.answer(&Climb::of(&report));
            let is_clear = match answer {
                // A growth that begins late is not seen from below: what a cache drops
                // once it is full, and was larger then.
                Answer::Good(_) => !matches!(length, Length::To(_)),
                // A cache that fills looks like this, for a while.
                Answer::Bad(_) | Answer::Moved(..) => index > 0 || enough.is_none(),
                Answer::Unclear(_) => false,
            };
            let cached = !self.looked_at.contains(revision);
            if is_clear {
                if !cached {
                    self.spent.push(started.elapsed());
                }
                return Ok(Tested {
                    answer: Ok(answer),
                    report: Some(report),
                    cached,
                });
            }
            looks_good = matches!(answer, Answer::Good(_));
            last = Some(report);
        }
        let why =
            format!("the rate stayed between good and bad, even after {PATIENCE} times the budget");
        Ok(Tested {
            answer: Err(Unusable::new(Kind::Unclear, why)),
            report: last,
            cached: !self.looked_at.contains(revision),
        })
    }

    /// The shortest ladder that tells the ends apart, and from there on every
    /// longer one; absent where only the whole does.
    pub(crate) fn enough(
        &mut self,
        good: impl Into<Revision>,
        bad: impl Into<Revision>,
        question: &Question,
        most: u64,
    ) -> anyhow::Result<Option<u64>> {
        let (good, bad) = (&good.into(), &bad.into());
        let lengths: Vec<u64> = std::iter::successors(Some(SHORTEST), |n| n.checked_mul(LONGER))
            .take_while(|n| *n <= most)
            .collect();
        let mut enough = None;
        // From the longest down, until one does not.
        for length in lengths.into_iter().rev() {
            for (end, is_bad) in [(bad, true), (good, false)] {
                let Ok(report) = self.climb(end, Length::To(length))? else {
                    return Ok(enough);
                };
                let climb = Climb::of(&report);
                let fits = match question.answer(&climb) {
                    Answer::Good(_) => !is_bad,
                    Answer::Bad(_) => is_bad,
                    Answer::Moved(..) | Answer::Unclear(_) => false,
                };
                if !fits || !question.shows_in(&climb) {
                    return Ok(enough);
                }
            }
            enough = Some(length);
        }
        Ok(enough)
    }

    /// Where a test was built its files have to be, too: what it reads, and its
    /// settings.
    fn back_to(&self, commit: &Commit, built: &Built) -> anyhow::Result<()> {
        if self.worktree.git().commit("HEAD")?.as_ref() == Some(commit) {
            return Ok(());
        }
        self.worktree.check_out(commit)?;
        if let Err(why) = self.worktree.submodules()? {
            anyhow::bail!("the submodules of {}: {why}", commit.short());
        }
        if let (true, Some(overlay)) = (built.laid_over, &self.overlay) {
            let laid = overlay.lay(self.worktree.path_of())?;
            laid.map_err(|why| anyhow::anyhow!("{}: {why}", commit.short()))?;
        }
        Ok(())
    }

    /// Whether a revision can be measured, as far as its files say.
    pub(crate) fn can_be_built(
        &mut self,
        revision: &Revision,
    ) -> anyhow::Result<Result<(), Unusable>> {
        match self.cache.get(revision, &Length::Full.word()) {
            Some(Kept::Report(_)) => return Ok(Ok(())),
            Some(Kept::Unusable(why)) => return Ok(Err(why)),
            None => {}
        }
        let built = self.ready(revision)?;
        let done = built.and_then(|built| built.has(&self.subject.scenario));
        self.tools.interrupt.check()?;
        if let Err(why) = &done {
            self.cache.put_unusable(revision, why)?;
        }
        Ok(done)
    }

    /// Whether a release can be chosen, where it was not measured before: that takes no build.
    pub(crate) fn can_be_chosen(
        &mut self,
        revision: &Revision,
    ) -> anyhow::Result<Result<(), Unusable>> {
        let known = self.cache.get(revision, &Length::Full.word());
        if revision.version().is_none() || matches!(known, Some(Kept::Report(_))) {
            return Ok(Ok(()));
        }
        match self.check_out(revision)? {
            Ok(_) => self.choose(revision),
            Err(why) => Ok(Err(why)),
        }
    }

    /// A revision's test, built.
    pub(crate) fn ready(&mut self, revision: &Revision) -> anyhow::Result<Result<Built, Unusable>> {
        if let Some(built) = self.built.get(revision) {
            return Ok(built.clone());
        }
        let built = self.build(revision)?;
        self.built.insert(revision.clone(), built.clone());
        Ok(built)
    }

    fn build(&mut self, revision: &Revision) -> anyhow::Result<Result<Built, Unusable>> {
        let laid_over = match self.check_out(revision)? {
            Ok(laid_over) => laid_over,
            Err(why) => return Ok(Err(why)),
        };
        if let Err(why) = self.choose(revision)? {
            return Ok(Err(why));
        }
        let built = self.build_once(revision, laid_over)?;
        let lacks = |built: &Built| !built.scenarios.contains(&self.subject.scenario);
        match built {
            Ok(built) if lacks(&built) && self.when == WhenToOverlay::Auto && !laid_over => {
                match self.lay_over()? {
                    Ok(()) => self.build_once(revision, true),
                    Err(why) => Ok(Err(why)),
                }
            }
            other => Ok(other),
        }
    }

    /// Brings the worktree to a revision's commit, and lays the test over it where
    /// that is wanted; whether it was.
    pub(crate) fn check_out(
        &mut self,
        revision: &Revision,
    ) -> anyhow::Result<Result<bool, Unusable>> {
        self.tools.interrupt.check()?;
        self.progress
            .doing(&format!("{}: checking out", revision.name()));
        self.worktree.check_out(revision.commit())?;
        if let Err(why) = self.worktree.submodules()? {
            return Ok(Err(Unusable::new(
                Kind::Submodules,
                plimsoll_desk::out::safe_line(&why),
            )));
        }
        let laid_over = match self.when {
            WhenToOverlay::Never => false,
            WhenToOverlay::Always => true,
            WhenToOverlay::Auto => !self.may_have_the_scenario()?,
        };
        if laid_over && let Err(why) = self.lay_over()? {
            return Ok(Err(why));
        }
        Ok(Ok(laid_over))
    }

    /// Brings the dependency to a revision's version, all others being as they
    /// were.
    fn choose(&mut self, revision: &Revision) -> anyhow::Result<Result<(), Unusable>> {
        if revision.version().is_none() {
            return Ok(Ok(()));
        }
        let dir = match self.project()? {
            Ok(project) => project.workspace_root().to_owned(),
            Err(why) => return Ok(Err(why)),
        };
        let Bench {
            tools,
            progress,
            dependency,
            ..
        } = self;
        let (Some(version), Some(dependency)) = (revision.version(), dependency) else {
            return Ok(Ok(()));
        };
        progress.doing(&format!("{}: choosing it", revision.name()));
        let lockfile = dir.join("Cargo.lock");
        fs::write(&lockfile, &dependency.lockfile)
            .with_context(|| format!("cannot write {}", shown(&lockfile)))?;
        let version = version.to_string();
        let args = [
            "update",
            "--package",
            &dependency.spec,
            "--precise",
            &version,
        ];
        let name = revision.file_name();
        let mut meanwhile = || progress.tick();
        let done = tools.cargo_run(&dir, &args, &name, "update", &mut meanwhile)?;
        let is_yanked = dependency.yanked.contains(&version);
        Ok(done.map(drop).map_err(|why| match is_yanked {
            true => Unusable::new(Kind::Lockfile, format!("it was yanked; {why}")),
            false => Unusable::new(Kind::Lockfile, why),
        }))
    }

    fn build_once(
        &mut self,
        revision: &Revision,
        laid_over: bool,
    ) -> anyhow::Result<Result<Built, Unusable>> {
        let project = match self.project()? {
            Ok(project) => project,
            Err(why) => return Ok(Err(why)),
        };
        let own = project.workspace_root().join("Cargo.lock");
        let is_exact = match revision {
            Revision::Commit(_) => !laid_over,
            // Its manifest may have changed since.
            Revision::WorkingTree(_) => false,
            // It was made exact when it was chosen.
            Revision::Release { .. } => true,
        };
        let lockfile = match own.exists() && is_exact {
            true => Lockfile::Held,
            false => Lockfile::Open,
        };
        if !own.exists() && self.lockfile.exists() {
            // Else every revision is built with what is newest today.
            fs::copy(&self.lockfile, &own).context("the lockfile")?;
        }
        self.builds.insert(revision.clone());
        self.progress
            .doing(&format!("{}: building", revision.name()));
        let Bench {
            tools,
            subject,
            progress,
            ..
        } = self;
        let mut meanwhile = || progress.tick();
        let name = revision.file_name();
        let mut built = tools.build(&project, subject, lockfile, &name, &mut meanwhile)?;
        if let Ok(built) = &mut built {
            built.laid_over = laid_over;
        }
        Ok(built)
    }

    /// The workspace that is checked out: where the working tree has it, or where
    /// it was before it moved.
    pub(crate) fn project(&self) -> anyhow::Result<Result<Project, Unusable>> {
        let top = self.worktree.path_of();
        let mut first = None;
        for dir in std::iter::once(top.join(&self.prefix)).chain(workspaces(top, 0)) {
            if !dir.join("Cargo.toml").exists() {
                continue;
            }
            let project = self.tools.project(&dir)?;
            // Where Ctrl-C ended it the next one is not to be asked.
            self.tools.interrupt.check()?;
            let has_package = project
                .as_ref()
                .is_ok_and(|project| project.package_dir(&self.subject.package).is_some());
            if has_package {
                return Ok(project);
            }
            first = first.or(Some(project));
        }
        let none = || Unusable::new(Kind::NoTest, "there is no Cargo.toml");
        Ok(first.unwrap_or_else(|| Err(none())))
    }

    fn lay_over(&mut self) -> anyhow::Result<Result<(), Unusable>> {
        let Some(overlay) = &self.overlay else {
            return Ok(Ok(()));
        };
        match overlay.lay(self.worktree.path_of())? {
            Ok(laid) => {
                for raised in laid.raised {
                    self.progress
                        .note(&format!("note: raised for the test: {raised}"));
                }
                Ok(Ok(()))
            }
            Err(why) => Ok(Err(Unusable::new(Kind::NoScenario, why))),
        }
    }

    /// Whether a commit, as it is, has no test or none with the scenario.
    pub(crate) fn lacks_the_scenario(&self, commit: &Commit) -> anyhow::Result<bool> {
        self.worktree.check_out(commit)?;
        Ok(!self.may_have_the_scenario()?)
    }

    /// Whether the scenario's name stands in the test's sources. Only the test itself says
    /// whether it has the scenario.
    fn may_have_the_scenario(&self) -> anyhow::Result<bool> {
        let Ok(project) = self.project()? else {
            return Ok(false);
        };
        let (package, target) = (&self.subject.package, &self.subject.target);
        let Some(file) = project.test_file(package, target) else {
            return Ok(false);
        };
        let mut folders = vec![file.parent().map(PathBuf::from).unwrap_or_default()];
        // A package that is there for its scenarios has them beside the test, too.
        folders.extend(project.package_dir(package).map(|dir| dir.join("src")));
        Ok(folders
            .iter()
            .any(|folder| mentions(folder, &self.subject.scenario, 0)))
    }

    /// Of what was built, keeps what is the same for another scenario. Whether the test is
    /// laid over a revision depends on the scenario.
    pub(crate) fn change_scenario(&mut self, scenario: &str) {
        scenario.clone_into(&mut self.subject.scenario);
        let stays = |built: &Built| !built.laid_over && built.scenarios.contains(scenario);
        self.built
            .retain(|_, built| built.as_ref().is_ok_and(stays));
    }

    /// What is not needed again: the tests of revisions between the ends.
    pub(crate) fn forget(&mut self, revision: impl Into<Revision>) {
        if let Some(Ok(built)) = self.built.remove(&revision.into()) {
            built.remove();
        }
    }
}

/// Folders with a manifest, those nearest the top first.
fn workspaces(dir: &std::path::Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut below = Vec::new();
    if dir.join("Cargo.toml").exists() {
        found.push(dir.to_owned());
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".") || name == "target";
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !hidden {
            below.push(entry.path());
        }
    }
    below.sort();
    if depth < 3 {
        found.extend(below.iter().flat_map(|dir| workspaces(dir, depth + 1)));
    }
    found.sort_by_key(|dir| dir.components().count());
    found
}

fn mentions(folder: &std::path::Path, name: &str, depth: usize) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => depth < 8 && mentions(&path, name, depth + 1),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "rs") => {
                fs::read_to_string(&path).is_ok_and(|text| text.contains(name))
            }
            _ => false,
        }
    })
}
