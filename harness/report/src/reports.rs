//! Finds reports in a folder, and joins those of one run.
//!
//! The files may have come with a pull request. So no symbolic link is followed, and depth,
//! number and size have limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use plimsoll_core::layout;
use plimsoll_core::report::{self, Report, json};

use crate::joined::{Joined, Outcome, Scenario};
use plimsoll_desk::out::safe_line;
use plimsoll_desk::project::shown;

/// `<package>/<target>/<scenario>/report.json` needs four levels. A download of many shards
/// adds a few folders around that.
const MAX_DEPTH: usize = 10;
/// The most files and folders that are visited.
const MAX_ENTRIES: usize = 200_000;
/// The most bytes of reports that are read in total.
const MAX_TOTAL_BYTES: u64 = 1 << 30;

/// A report, and the path of its file.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    pub report: Report,
    modified: SystemTime,
}

/// A `report.json` that cannot be read as a report.
#[derive(Debug)]
struct Unreadable {
    path: PathBuf,
    problem: String,
    modified: SystemTime,
}

/// All reports in a folder, of every run.
#[derive(Debug)]
pub struct Reports {
    dir: PathBuf,
    found: Vec<Found>,
    unreadable: Vec<Unreadable>,
}

/// The reports of one run.
#[derive(Debug)]
pub struct Run {
    pub joined: Joined,
    /// The number of reports in the folder that belong to other runs.
    pub left_out: usize,
}

impl Reports {
    /// Reads every report in a folder and in the folders below it.
    pub fn collect(dir: &Path) -> anyhow::Result<Reports> {
        let mut reports = Reports {
            dir: dir.to_owned(),
            found: Vec::new(),
            unreadable: Vec::new(),
        };
        let mut entries = 0;
        let mut bytes = 0;
        let mut folders = vec![(dir.to_owned(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let failed = || format!("cannot list {}", shown(&folder));
            let mut names = BTreeMap::new();
            for entry in fs::read_dir(&folder).with_context(failed)? {
                let entry = entry.with_context(failed)?;
                // The type of the entry itself, not of a symbolic link's target.
                names.insert(entry.path(), entry.file_type().with_context(failed)?);
                entries += 1;
                if entries > MAX_ENTRIES {
                    bail!("more than {MAX_ENTRIES} files in {}", shown(dir));
                }
            }
            for (path, kind) in names {
                let name = path.file_name().unwrap_or_default();
                if kind.is_dir() && depth < MAX_DEPTH && name != layout::RUNGS {
                    folders.push((path, depth + 1));
                } else if kind.is_file() && name == layout::REPORT {
                    bytes += reports.add(path)?;
                    if bytes > MAX_TOTAL_BYTES {
                        bail!(
                            "more than {MAX_TOTAL_BYTES} bytes of reports in {}",
                            shown(dir)
                        );
                    }
                }
            }
        }
        // Sorted, so that the result does not depend on the order of a directory listing.
        reports.found.sort_by(|one, two| one.path.cmp(&two.path));
        let unreadable = &mut reports.unreadable;
        unreadable.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(reports)
    }

    fn add(&mut self, path: PathBuf) -> anyhow::Result<u64> {
        let failed = || format!("cannot read {}", shown(&path));
        let file = File::open(&path).with_context(failed)?;
        let modified = file.metadata().and_then(|data| data.modified());
        let modified = modified.with_context(failed)?;
        let mut bytes = Vec::new();
        // One byte more than is allowed, so that the parser refuses a longer file.
        let mut file = file.take(json::MAX_BYTES as u64 + 1);
        let read = file.read_to_end(&mut bytes).with_context(failed)?;
        match json::parse(&bytes) {
            Ok(report) => self.found.push(Found {
                path,
                report,
                modified,
            }),
            Err(err) => self.unreadable.push(Unreadable {
                path,
                problem: safe_line(&err.to_string()),
                modified,
            }),
        }
        Ok(read as u64)
    }

    /// Returns whether the folder has no `report.json`, readable or not.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.unreadable.is_empty()
    }

    /// Returns one line for each `report.json` that cannot be read.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.unreadable
            .iter()
            .map(|file| format!("{}: {}", shown(&file.path), file.problem))
    }

    /// Returns the run with this id, or the newest run.
    ///
    /// # Errors
    ///
    /// If no readable report belongs to the run. Without an id, also if an unreadable file may
    /// belong to a newer run.
    pub fn run(&self, id: Option<&str>) -> anyhow::Result<Run> {
        let newest = match id {
            Some(id) => id,
            None => self.newest(|_| true)?,
        };
        let run = self.join(newest);
        if run.joined.scenarios.is_empty() {
            let ids = self.runs().map(|run| safe_line(&run.id));
            let ids = Vec::from_iter(ids.collect::<BTreeSet<String>>());
            let there = match ids.as_slice() {
                [] => "none".to_owned(),
                ids => ids.join(", "),
            };
            bail!(
                "{}: no report of run {}\n  runs that left reports: {there}",
                shown(&self.dir),
                safe_line(newest)
            );
        }
        Ok(run)
    }

    /// Returns the newest run of each test target, or all scenarios of the run with this id.
    ///
    /// One `cargo test` is one run of all its targets if the system tells which process
    /// started them. A target that is started by itself is a run of its own.
    pub fn run_of_each_target(&self, id: Option<&str>) -> anyhow::Result<Vec<Scenario>> {
        if let Some(id) = id {
            return Ok(self.run(Some(id))?.joined.scenarios);
        }
        let mut scenarios = Vec::new();
        // If there is no report at all, this error says what to do.
        self.newest(|_| true)?;
        for (package, target) in self.targets(|_| true) {
            let of_target = |found: &Found| {
                found.report.run.package == package && found.report.run.target == target
            };
            let run = self.join(self.newest(of_target)?);
            let of_target =
                |scenario: &Scenario| scenario.package == package && scenario.target == target;
            scenarios.extend(run.joined.scenarios.into_iter().filter(of_target));
        }
        Ok(scenarios)
    }

    /// Returns the newest run of each test target that left reports in a folder. Returns an
    /// empty list if the folder does not exist or has no reports.
    pub fn newest_in(dir: &Path) -> anyhow::Result<Vec<Scenario>> {
        if !dir.is_dir() {
            return Ok(Vec::new());
        }
        let reports = Reports::collect(dir)?;
        match reports.is_empty() {
            true => Ok(Vec::new()),
            false => reports.run_of_each_target(None),
        }
    }

    /// Returns the ids of the runs that left a report of this scenario.
    pub fn runs_with(&self, scenario: &str) -> BTreeSet<&str> {
        let reports = self.found.iter().map(|found| &found.report);
        let with = reports.filter(|report| report.scenario == scenario);
        with.map(|report| report.run.id.as_str()).collect()
    }

    /// Returns the id of the run whose report was written last; of several, the greatest id.
    fn newest(&self, of: impl Fn(&Found) -> bool) -> anyhow::Result<&str> {
        let among = self.found.iter().filter(|found| of(found));
        let newest = among
            .map(|found| (found.modified, found.report.run.id.as_str()))
            .max();
        let Some((modified, id)) = newest else {
            return Err(self.nothing());
        };
        // An unreadable file could belong to an even newer run. The older run, shown in its
        // place, could be green.
        let unreadable = self.unreadable.iter();
        let mut newer = unreadable
            .filter(|file| file.modified > modified)
            .peekable();
        let own = newer.peek().map(|_| self.places(id)).unwrap_or_default();
        let newer = newer.find(|file| !own.contains(&place(&file.path)));
        if let Some(Unreadable { path, problem, .. }) = newer {
            bail!(
                "{}: {problem}\n  it is newer than every report that can be read\n  \
                 hint: measure again with `cargo test --test leaks`, or name a run with `--run {}`",
                shown(path),
                safe_line(id)
            );
        }
        Ok(id)
    }

    fn nothing(&self) -> anyhow::Error {
        let dir = shown(&self.dir);
        match self.unreadable.first() {
            Some(Unreadable { path, problem, .. }) => {
                anyhow::anyhow!(
                    "no report in {dir} can be read\n  {}: {problem}",
                    shown(path)
                )
            }
            None => anyhow::anyhow!(
                "no reports in {dir}\n  hint: measure first, with `cargo test --test leaks`"
            ),
        }
    }

    fn targets(&self, of: impl Fn(&Found) -> bool) -> BTreeSet<(String, String)> {
        let found = self.found.iter().filter(|found| of(found));
        let runs = found.map(|found| &found.report.run);
        runs.map(|run| (run.package.clone(), run.target.clone()))
            .collect()
    }

    fn runs(&self) -> impl Iterator<Item = &report::Run> {
        self.found.iter().map(|found| &found.report.run)
    }

    /// Returns the last three folders of every report that the run should have.
    fn places(&self, id: &str) -> BTreeSet<PathBuf> {
        // A set, because each of 1,000 reports may list all 1,000 scenarios.
        let mut names = BTreeSet::new();
        for run in self.runs().filter(|run| run.id == id) {
            let of = (run.package.as_str(), run.target.as_str());
            names.extend(run.scenarios.iter().map(|name| (of, name.as_str())));
        }
        let dir =
            |((package, target), name)| layout::scenario_dir(Path::new(""), package, target, name);
        names.into_iter().map(dir).collect()
    }

    fn join(&self, id: &str) -> Run {
        let of_run = |found: &&Found| found.report.run.id == id;
        let mut scenarios = Vec::new();
        for (package, target) in self.targets(|found| found.report.run.id == id) {
            let mut reports: BTreeMap<&str, &Found> = BTreeMap::new();
            let mut names: Vec<&str> = Vec::new();
            // A set, because each of 1,000 reports may list all 1,000 scenarios.
            let mut known: BTreeSet<&str> = BTreeSet::new();
            let of_target = self.found.iter().filter(of_run).filter(|found| {
                found.report.run.package == package && found.report.run.target == target
            });
            for found in of_target {
                let listed = found.report.run.scenarios.iter().map(String::as_str);
                let own = std::iter::once(found.report.scenario.as_str());
                for name in listed.chain(own) {
                    if known.insert(name) {
                        names.push(name);
                    }
                }
                // Of copies of a report in several folders, the one that was written last
                // counts.
                let report = reports.entry(&found.report.scenario).or_insert(found);
                if found.modified > report.modified {
                    *report = found;
                }
            }
            scenarios.extend(names.into_iter().map(|name| match reports.get(name) {
                Some(found) => Scenario::from(found.report.clone()),
                None => {
                    let unreadable = self.unreadable(&package, &target, name);
                    let why = unreadable
                        .map_or("it left no report in this run".to_owned(), |file| {
                            format!("its report cannot be read: {}", file.problem)
                        });
                    Scenario::without_result(&package, &target, name, why)
                }
            }));
        }
        let left_out = self.found.len() - self.found.iter().filter(of_run).count();
        let joined = Joined::of_run(id, scenarios);
        Run { joined, left_out }
    }

    /// Adds the newest report of each scenario that a filter left out of the run.
    ///
    /// The scenario still has no result in this run: nobody knows what it would be now. If a
    /// report of the run does not say what was selected, nothing is added to its target: a
    /// scenario that was selected and died would be mistaken for one that passed before.
    pub(crate) fn add_older(&self, run: &mut Run) {
        for scenario in &mut run.joined.scenarios {
            let of_target = |report: &&Report| {
                report.run.package == scenario.package && report.run.target == scenario.target
            };
            let of_run = |report: &&Report| run.joined.runs.contains(&report.run.id);
            let reports = || self.found.iter().map(|found| &found.report);
            let mut selections = reports().filter(of_target).filter(of_run);
            let is_left_out = selections.all(|report| {
                let selected = report.run.selected.as_ref();
                selected.is_some_and(|selected| !selected.contains(&scenario.name))
            });
            let unreadable = self.unreadable(&scenario.package, &scenario.target, &scenario.name);
            if scenario.report().is_some() || !is_left_out || unreadable.is_some() {
                continue;
            }
            let mut why = "a filter left it out of this run".to_owned();
            let of_scenario = self.found.iter().filter(|found| {
                of_target(&&found.report) && found.report.scenario == scenario.name
            });
            let newest = of_scenario.max_by_key(|found| (found.modified, &found.report.run.id));
            if let Some(Found { report, .. }) = newest {
                why += &format!(
                    "; in the older run {} it was {}",
                    report.run.id, report.verdict
                );
                scenario.older = Some(Box::new(report.clone()));
                run.left_out = run.left_out.saturating_sub(1);
            }
            scenario.outcome = Outcome::NoResult(why);
        }
    }

    fn unreadable(&self, package: &str, target: &str, scenario: &str) -> Option<&Unreadable> {
        let dir = layout::scenario_dir(Path::new(""), package, target, scenario);
        let mut files = self.unreadable.iter();
        files.find(|file| place(&file.path) == dir)
    }
}

/// Returns `<package>/<target>/<scenario>` from the path of a report.
fn place(report: &Path) -> PathBuf {
    let dir = report.parent().unwrap_or(report);
    let mut names: Vec<_> = dir.components().rev().take(3).collect();
    names.reverse();
    names.into_iter().collect()
}
