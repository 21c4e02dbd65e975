//! Measures revisions one after the other, in one worktree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_core::Per;
use plimsoll_core::report::{Report, json};

use crate::args::WhenToOverlay;
use crate::cache::Cache;
use crate::decide::{Answer, Climb, Question};
use crate::measure::{Built, Cause, Tools, Unusable, settled, usable};
use crate::overlay::Overlay;
use crate::revision::Revision;
use crate::session::{Subject, Watch};
use crate::worktree::Worktree;
use plimsoll_desk::git::Commit;
use plimsoll_desk::out::safe_line;
use plimsoll_desk::project::{Project, shown};

/// The iterations of the shortest climb that is tried, and the factor to the next longer one.
const SHORTEST: u64 = 256;
const LONGER: u64 = 4;
/// A revision that looks bad after a short climb is measured again, with this many times as
/// many iterations.
const AGAIN: u64 = 8;
/// The factor on the budget when a climb without a clear answer is repeated.
const PATIENCE: u32 = 4;

/// How long a climb is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Up to the rung with this many iterations.
    To(u64),
    /// As far as the budget allows.
    Full,
    /// As far as [`PATIENCE`] budgets allow.
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

/// The result for one revision.
#[derive(Clone, Debug)]
pub(crate) struct Tested {
    pub answer: Result<Answer, Unusable>,
    /// The report of the last climb.
    pub report: Option<Report>,
    /// Whether every measurement came from the cache.
    pub cached: bool,
}

/// A dependency whose releases are measured.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// cargo's package ID specification, which matches this package only.
    pub spec: String,
    /// The content of Cargo.lock with which the measurement of every release begins.
    pub lockfile: String,
    /// The versions that were yanked.
    pub yanked: BTreeSet<String>,
}

pub(crate) struct Bench {
    pub tools: Tools,
    pub worktree: Worktree,
    pub subject: Subject,
    pub overlay: Option<Overlay>,
    pub when: WhenToOverlay,
    /// The dependency whose releases are measured, if there is one.
    pub dependency: Option<Dependency>,
    /// The folder of the workspace in the repository.
    pub prefix: PathBuf,
    /// The working tree's lockfile, for revisions that have none.
    pub lockfile: PathBuf,
    pub cache: Cache,
    /// The tests that were built in this run.
    pub built: BTreeMap<Revision, Result<Built, Unusable>>,
    /// The revisions that were built, or whose build was tried.
    pub builds: BTreeSet<Revision>,
    /// The revisions for which the cache was not enough.
    pub looked_at: BTreeSet<Revision>,
    /// What the rates are per, once one is measured.
    pub per: Option<Per>,
    /// How long each revision took to build and measure, for the estimate of the time left.
    pub spent: Vec<Duration>,
}

impl Tested {
    /// Returns whether the revision is bad, or `None` if that is not known.
    pub(crate) fn is_bad(&self) -> Option<bool> {
        Some(self.answer.as_ref().ok()?.is_bad)
    }

    /// Returns the answer as git has it.
    pub(crate) fn word(&self) -> &'static str {
        word(self.is_bad())
    }
}

/// Returns git's word for a revision that is bad, or not, or of which that is not known.
pub(crate) fn word(is_bad: Option<bool>) -> &'static str {
    match is_bad {
        Some(false) => "good",
        Some(true) => "bad",
        None => "skip",
    }
}

impl Bench {
    /// Takes a revision up the ladder, or returns the report from the cache.
    pub(crate) fn climb(
        &mut self,
        revision: &Revision,
        length: Length,
    ) -> anyhow::Result<Result<Report, Unusable>> {
        let climbed = self.climb_or_remember(revision, length)?;
        Ok(climbed.and_then(|report| self.agree(report)))
    }

    fn climb_or_remember(
        &mut self,
        revision: &Revision,
        length: Length,
    ) -> anyhow::Result<Result<Report, Unusable>> {
        match self.cache.get(revision, &length.word()) {
            Some(Ok(bytes)) => {
                // A cached report in another format is ignored.
                if let Ok(report) = usable(&bytes) {
                    return Ok(Ok(report));
                }
            }
            Some(Err(why)) => return Ok(Err(why)),
            None => {}
        }
        self.looked_at.insert(revision.clone());
        let done = settled(self.climb_anew(revision, length))?;
        // Ctrl-C may have ended the test. Then its result says nothing about the commit.
        self.tools.interrupt.check()?;
        match &done {
            Ok(report) => self
                .cache
                .put(revision, &length.word(), &json::to_string(report))?,
            // A server may have failed for want of another server, or of a free port.
            Err(_) if self.tools.session.watch.is_some() => {}
            Err(why) => self.cache.put_unusable(revision, why)?,
        }
        Ok(done)
    }

    fn climb_anew(&mut self, revision: &Revision, length: Length) -> anyhow::Result<Report> {
        if let Some(watch) = self.tools.session.watch.clone() {
            return self.watch(revision, &watch);
        }
        let built = self.ready(revision)??;
        let (what, iterations, budgets) = match length {
            Length::To(n) => (format!("{n} iterations"), Some(n), 1),
            Length::Full => ("the whole ladder".to_owned(), None, 1),
            Length::Patient => ("the whole ladder".to_owned(), None, PATIENCE),
        };
        self.doing(revision, &what);
        self.back_to(revision.commit(), &built)?;
        let (subject, name) = (&self.subject, revision.file_name());
        self.tools
            .climb(&built, subject, iterations, budgets, &name)
    }

    fn doing(&mut self, revision: &Revision, what: &str) {
        let what = format!("{}: {what}", revision.name());
        self.tools.progress.doing(&what);
    }

    /// Builds and watches a revision's server. How long it takes is for the command to say.
    fn watch(&mut self, revision: &Revision, watch: &Watch) -> anyhow::Result<Report> {
        let folder = self.folder_to_watch_in(revision, watch)?;
        self.builds.insert(revision.clone());
        self.doing(revision, "watching its server");
        let (subject, name) = (&self.subject, revision.file_name());
        self.tools.watch(watch, &folder, subject, &name)
    }

    /// Checks out a revision, and returns the folder in which its server is watched.
    fn folder_to_watch_in(
        &mut self,
        revision: &Revision,
        watch: &Watch,
    ) -> anyhow::Result<PathBuf> {
        self.check_out(revision)?;
        self.choose(revision)?;
        let project = self.project()?;
        self.lend_lockfile(&project)?;
        // Command lines name the server by the folder that cargo builds in elsewhere.
        #[cfg(unix)]
        {
            let usual = project.workspace_root().join("target");
            let built = &self.tools.target_dir;
            fs::create_dir_all(built).with_context(|| format!("cannot make {}", shown(built)))?;
            if usual.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(built, &usual)
                    .with_context(|| format!("cannot make {}", shown(&usual)))?;
            }
        }
        let folder = self.worktree.path_of().join(&watch.folder);
        if !folder.is_dir() {
            let why = format!("there is no folder {}", shown(&watch.folder));
            return Err(Unusable::new(Cause::NoTest, why).into());
        }
        Ok(folder)
    }

    /// Checks that a report has rates per the same as those before it.
    fn agree(&mut self, report: Report) -> Result<Report, Unusable> {
        let per = self.per.get_or_insert_with(|| report.per.clone());
        if *per == report.per {
            return Ok(report);
        }
        let (one, other) = (report.per.one(), per.one());
        let why = format!("its rates are per {one}, and those before it per {other}");
        Err(Unusable::new(Cause::NotMeasured, why))
    }

    /// Measures a revision until the answer is clear.
    pub(crate) fn test(
        &mut self,
        revision: &Revision,
        question: &Question,
    ) -> anyhow::Result<Tested> {
        let started = Instant::now();
        let mut lengths = Vec::new();
        if let Some(enough) = question.enough {
            lengths.extend([Length::To(enough), Length::To(enough * AGAIN)]);
        }
        lengths.extend([Length::Full, Length::Patient]);
        let mut last = None;
        let mut looks_good = false;
        let tested = |bench: &Bench, answer, report| Tested {
            answer,
            report,
            cached: !bench.looked_at.contains(revision),
        };
        for (index, length) in lengths.into_iter().enumerate() {
            if looks_good && matches!(length, Length::To(_)) {
                continue;
            }
            let report = match self.climb(revision, length)? {
                Ok(report) => report,
                Err(why) => return Ok(tested(self, Err(why), None)),
            };
            let answer = question.answer(&Climb::of(&report));
            looks_good = answer.as_ref().is_some_and(|answer| !answer.is_bad);
            let is_clear = |answer: &Answer| match answer.is_bad {
                // A short climb does not show a growth that begins late, for example once a
                // full cache drops entries. At this revision, the cache may be larger than at
                // the ends.
                false => !matches!(length, Length::To(_)),
                // A cache that fills looks like this for a while.
                true => index > 0 || question.enough.is_none(),
            };
            if let Some(answer) = answer.filter(is_clear) {
                let tested = tested(self, Ok(answer), Some(report));
                if !tested.cached {
                    self.spent.push(started.elapsed());
                }
                return Ok(tested);
            }
            last = Some(report);
        }
        let longer = match self.tools.session.watch {
            Some(_) => "in a second watch".to_owned(),
            None => format!("after {PATIENCE} times the budget"),
        };
        let why = format!("the rate stayed between good and bad, even {longer}");
        let why = Unusable::new(Cause::Unclear, why);
        Ok(tested(self, Err(why), last))
    }

    /// Finds out which climb is enough for the question, and forgets the tests of the ends.
    pub(crate) fn shorten(
        &mut self,
        good: &Revision,
        bad: &Revision,
        question: &mut Question,
    ) -> anyhow::Result<()> {
        let lengths = std::iter::successors(Some(SHORTEST), |n| n.checked_mul(LONGER));
        let lengths: Vec<u64> = match self.tools.session.watch {
            None => lengths.take_while(|n| *n <= question.half).collect(),
            // A watch is as long as its command says.
            Some(_) => Vec::new(),
        };
        // From the longest climb down to the first that does not tell them apart.
        'lengths: for length in lengths.into_iter().rev() {
            for (end, is_bad) in [(bad, true), (good, false)] {
                let Ok(report) = self.climb(end, Length::To(length))? else {
                    break 'lengths;
                };
                let climb = Climb::of(&report);
                let answer = question.answer(&climb);
                let fits = answer.is_some_and(|one| one.is_bad == is_bad && one.moved.is_none());
                if !fits || !question.shows_in(&climb) {
                    break 'lengths;
                }
            }
            question.enough = Some(length);
        }
        self.forget(good);
        self.forget(bad);
        Ok(())
    }

    /// Checks out the commit that a test was built from, because the test reads its files and
    /// settings. Does nothing if it is checked out already.
    fn back_to(&self, commit: &Commit, built: &Built) -> anyhow::Result<()> {
        if self.worktree.has(commit) {
            return Ok(());
        }
        self.worktree.check_out(commit)?;
        if let Err(why) = self.worktree.submodules()? {
            anyhow::bail!("checking out the submodules of {}: {why}", commit.short());
        }
        if let (true, Some(overlay)) = (built.laid_over, &self.overlay) {
            let laid = settled(overlay.lay(self.worktree.path_of()))?;
            laid.map_err(|why| anyhow::anyhow!("{}: {}", commit.short(), why.why))?;
        }
        Ok(())
    }

    /// Tells whether a revision's test can be built and has the scenario. Of a server, only
    /// the command could say that: tells whether it can be started.
    pub(crate) fn can_be_built(
        &mut self,
        revision: &Revision,
    ) -> anyhow::Result<Result<(), Unusable>> {
        if let Some(known) = self.cache.get(revision, &Length::Full.word()) {
            return Ok(known.map(drop));
        }
        if let Some(watch) = self.tools.session.watch.clone() {
            let folder = settled(self.folder_to_watch_in(revision, &watch))?;
            return Ok(folder.map(drop));
        }
        let built = self.ready(revision)?;
        let done = built.and_then(|built| built.has(&self.subject.scenario));
        self.tools.interrupt.check()?;
        if let Err(why) = &done {
            self.cache.put_unusable(revision, why)?;
        }
        Ok(done)
    }

    /// Tells whether cargo can select a release, unless it was measured before. This needs no
    /// build.
    pub(crate) fn can_be_chosen(
        &mut self,
        revision: &Revision,
    ) -> anyhow::Result<Result<(), Unusable>> {
        let known = self.cache.get(revision, &Length::Full.word());
        if revision.version().is_none() || matches!(known, Some(Ok(_))) {
            return Ok(Ok(()));
        }
        let checked_out = self.check_out(revision);
        settled(checked_out.and_then(|_| self.choose(revision)))
    }

    /// Returns a revision's test, and builds it if necessary.
    pub(crate) fn ready(&mut self, revision: &Revision) -> anyhow::Result<Result<Built, Unusable>> {
        if let Some(built) = self.built.get(revision) {
            return Ok(built.clone());
        }
        let built = settled(self.build(revision))?;
        self.built.insert(revision.clone(), built.clone());
        Ok(built)
    }

    fn build(&mut self, revision: &Revision) -> anyhow::Result<Built> {
        let laid_over = self.check_out(revision)?;
        self.choose(revision)?;
        let built = self.build_once(revision, laid_over)?;
        let has_scenario = built.scenarios.contains(&self.subject.scenario);
        if has_scenario || laid_over || self.when != WhenToOverlay::Auto {
            return Ok(built);
        }
        self.lay_over()?;
        self.build_once(revision, true)
    }

    /// Checks out a revision's commit, and copies the test over it if wanted. Returns whether
    /// it did.
    pub(crate) fn check_out(&mut self, revision: &Revision) -> anyhow::Result<bool> {
        self.tools.interrupt.check()?;
        self.doing(revision, "checking out");
        self.worktree.check_out(revision.commit())?;
        if let Err(why) = self.worktree.submodules()? {
            return Err(Unusable::new(Cause::Submodules, safe_line(&why)).into());
        }
        let laid_over = match self.when {
            WhenToOverlay::Never => false,
            WhenToOverlay::Always => true,
            WhenToOverlay::Auto => !self.may_have_the_scenario()?,
        };
        if laid_over {
            self.lay_over()?;
        }
        Ok(laid_over)
    }

    /// Selects a revision's version of the dependency. All other dependencies keep their
    /// versions.
    fn choose(&mut self, revision: &Revision) -> anyhow::Result<()> {
        let Some(version) = revision.version().map(ToString::to_string) else {
            return Ok(());
        };
        let dir = self.project()?.workspace_root().to_owned();
        self.doing(revision, "choosing it");
        let Some(dependency) = &self.dependency else {
            return Ok(());
        };
        let lockfile = dir.join("Cargo.lock");
        fs::write(&lockfile, &dependency.lockfile)
            .with_context(|| format!("cannot write {}", shown(&lockfile)))?;
        let (spec, name) = (&dependency.spec, revision.file_name());
        let args = ["update", "--package", spec, "--precise", &version];
        let done = self.tools.cargo_run(&dir, &args, &name)?;
        let is_yanked = dependency.yanked.contains(&version);
        done.map_err(|why| match is_yanked {
            true => Unusable::new(Cause::Lockfile, format!("it was yanked; {why}")),
            false => Unusable::new(Cause::Lockfile, why),
        })?;
        Ok(())
    }

    /// Copies the working tree's lockfile into a workspace that has none. Returns whether it had
    /// one.
    fn lend_lockfile(&self, project: &Project) -> anyhow::Result<bool> {
        let own = project.workspace_root().join("Cargo.lock");
        let has_own = own.exists();
        if !has_own && self.lockfile.exists() {
            // Otherwise every revision would be built with today's newest dependencies.
            fs::copy(&self.lockfile, &own).context("the lockfile")?;
        }
        Ok(has_own)
    }

    fn build_once(&mut self, revision: &Revision, laid_over: bool) -> anyhow::Result<Built> {
        let project = self.project()?;
        let has_own = self.lend_lockfile(&project)?;
        let is_exact = match revision {
            Revision::Commit(_) => !laid_over,
            // The manifest may have changed since the lockfile was written.
            Revision::WorkingTree(_) => false,
            // The lockfile became exact when the release was selected.
            Revision::Release { .. } => true,
        };
        let is_exact = is_exact && has_own;
        self.builds.insert(revision.clone());
        self.doing(revision, "building");
        let (subject, name) = (&self.subject, revision.file_name());
        let mut built = self.tools.build(&project, subject, is_exact, &name)?;
        built.laid_over = laid_over;
        Ok(built)
    }

    /// Returns the workspace that is checked out. It is in the same folder as in the working
    /// tree, or in another one if it has moved since.
    pub(crate) fn project(&self) -> anyhow::Result<Project> {
        let top = self.worktree.path_of();
        let mut first = None;
        for dir in std::iter::once(top.join(&self.prefix)).chain(workspaces(top, 0)) {
            if !dir.join("Cargo.toml").exists() {
                continue;
            }
            let project = settled(self.tools.project(&dir))?;
            // If Ctrl-C ended cargo, no other folder is tried.
            self.tools.interrupt.check()?;
            let has_package = |one: &Project| one.package_dir(&self.subject.package).is_some();
            if project.as_ref().is_ok_and(has_package) {
                return Ok(project?);
            }
            first = first.or(Some(project));
        }
        let none = || Err(Unusable::new(Cause::NoTest, "there is no Cargo.toml"));
        Ok(first.unwrap_or_else(none)?)
    }

    fn lay_over(&mut self) -> anyhow::Result<()> {
        let Some(overlay) = &self.overlay else {
            return Ok(());
        };
        for raised in overlay.lay(self.worktree.path_of())? {
            self.tools
                .progress
                .note(&format!("note: raised for the test: {raised}"));
        }
        Ok(())
    }

    /// Tells whether a commit, as it is, has no test with the scenario.
    pub(crate) fn lacks_the_scenario(&self, commit: &Commit) -> anyhow::Result<bool> {
        self.worktree.check_out(commit)?;
        Ok(!self.may_have_the_scenario()?)
    }

    /// Tells whether the scenario's name occurs in the test's sources, or criterion's in those of
    /// a bench: benchmarks make up their names. Only the test itself can say whether it has the
    /// scenario.
    fn may_have_the_scenario(&self) -> anyhow::Result<bool> {
        let Ok(project) = settled(self.project())? else {
            return Ok(false);
        };
        let (package, target) = (&self.subject.package, &self.subject.target);
        let Some(file) = project.target_file(package, self.tools.session.kind(), target) else {
            return Ok(false);
        };
        let mut folders = vec![file.parent().map(PathBuf::from).unwrap_or_default()];
        // A package that exists for its scenarios may also have them in `src`.
        folders.extend(project.package_dir(package).map(|dir| dir.join("src")));
        let name = match self.tools.session.bench {
            true => "criterion",
            false => &self.subject.scenario,
        };
        Ok(folders.iter().any(|folder| mentions(folder, name, 0)))
    }

    /// Changes the scenario, and keeps the built tests that have it. A test that was copied
    /// over a revision is dropped, because whether it is copied depends on the scenario.
    pub(crate) fn change_scenario(&mut self, scenario: &str) {
        scenario.clone_into(&mut self.subject.scenario);
        let stays = |built: &Built| !built.laid_over && built.scenarios.contains(scenario);
        self.built
            .retain(|_, built| built.as_ref().is_ok_and(stays));
    }

    /// Forgets a built test that is not needed again, and removes its executable.
    pub(crate) fn forget(&mut self, revision: &Revision) {
        if let Some(Ok(built)) = self.built.remove(revision) {
            built.remove();
        }
    }
}

/// Returns the folders with a manifest, those nearest to the top first.
fn workspaces(dir: &Path, depth: usize) -> Vec<PathBuf> {
    let has_manifest = dir.join("Cargo.toml").exists();
    let mut found: Vec<PathBuf> = has_manifest.then(|| dir.to_owned()).into_iter().collect();
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_searched = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".") || name == "target";
        entry.file_type().is_ok_and(|kind| kind.is_dir()) && !hidden
    };
    let below = entries.filter(is_searched).map(|entry| entry.path());
    let mut below: Vec<PathBuf> = below.collect();
    below.sort();
    if depth < 3 {
        found.extend(below.iter().flat_map(|dir| workspaces(dir, depth + 1)));
    }
    found.sort_by_key(|dir| dir.components().count());
    found
}

fn mentions(folder: &Path, name: &str, depth: usize) -> bool {
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
