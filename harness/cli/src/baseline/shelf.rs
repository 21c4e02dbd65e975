//! Every baseline of a workspace, with its age from git and its needs from the newest reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use plimsoll_core::Rate;
use plimsoll_core::accept::needs;
use plimsoll_core::baseline::{
    self, Allowance, AllowanceLines, AllowanceSubject, Baseline, Date, MeasuredWith, Need,
};
use plimsoll_core::growth::Unit;
use plimsoll_core::judge::Verdict;
use plimsoll_core::layout;
use plimsoll_core::report::Report;
use plimsoll_core::report::files::is_trusted;
use plimsoll_core::report::units::{bytes, objects};

use super::age::Ages;
use crate::config;
use plimsoll_desk::file;
use plimsoll_desk::out::safe_line;
use plimsoll_desk::project::{Project, shown};
use plimsoll_desk::settings;
use plimsoll_report::joined::Scenario;
use plimsoll_report::reports::Reports;

/// The most files in one folder.
const MAX_FILES: usize = 10_000;

/// All baselines of a workspace.
pub(super) struct Shelf {
    pub(super) today: Date,
    pub(super) folders: Vec<Folder>,
    /// The scenarios of the newest run of each test target, also of packages without a folder
    /// of baselines.
    pub(super) scenarios: BTreeSet<String>,
    /// Problems of the reports.
    pub(super) warnings: Vec<String>,
}

/// An existing folder of baselines.
pub(super) struct Folder {
    /// Sorted by name.
    pub(super) files: Vec<Filed>,
    pub(super) require_reason: bool,
    /// The scenarios of the newest run of each test target, with their test targets.
    pub(super) scenarios: BTreeMap<String, BTreeSet<String>>,
    /// Test targets without a report, which may have more scenarios.
    pub(super) unmeasured: Vec<String>,
}

/// One file in a folder of baselines.
pub(super) struct Filed {
    pub(super) path: PathBuf,
    /// The path from the workspace's root.
    pub(super) relative: String,
    pub(super) scenario: String,
    pub(super) content: Result<Content, Problem>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Error,
    Warning,
}

impl Level {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }
}

/// A problem of one file or allowance.
#[derive(Clone)]
pub(super) struct Problem {
    pub(super) level: Level,
    /// The name of the rule, for programs.
    pub(super) rule: &'static str,
    /// The path from the workspace's root.
    pub(super) file: String,
    pub(super) line: Option<usize>,
    /// Several lines: where and what, what was found, what to do.
    pub(super) message: String,
}

pub(super) struct Content {
    pub(super) measured: Option<MeasuredWith>,
    pub(super) entries: Vec<Entry>,
    /// The worst verdict of the scenario in the newest runs of its test targets.
    pub(super) verdict: Option<Verdict>,
}

/// One allowance.
pub(super) struct Entry {
    pub(super) allowance: Allowance,
    pub(super) lines: AllowanceLines,
    /// The day of the commit that last changed it.
    pub(super) changed: Option<Date>,
    /// The growth that the newest run needed it for.
    pub(super) need: Option<Need>,
}

impl Entry {
    /// Returns the leaf of the stack, or the resource.
    pub(super) fn subject(&self) -> String {
        match &self.allowance.subject {
            AllowanceSubject::Stack(pattern) => safe_line(pattern.shown().leaf()),
            AllowanceSubject::Resource(resource) => resource.many().to_owned(),
        }
    }

    /// Returns a rate of the subject in words, such as `96 B, 1.00 objects`.
    pub(super) fn said(&self, rate: Rate) -> String {
        let resource = self.allowance.subject.resource();
        match resource.map(|resource| (resource, resource.unit())) {
            Some((word, Unit::Objects)) => format!("{} {word}", objects(rate.objects)),
            Some((word, Unit::Bytes)) => format!("{} {word}", bytes(rate.bytes)),
            None => format!("{}, {} objects", bytes(rate.bytes), objects(rate.objects)),
        }
    }

    pub(super) fn line(&self) -> usize {
        self.lines.first().map_or(1, |lines| *lines.start())
    }

    /// Returns the days until the allowance expires; negative after its last day.
    pub(super) fn days_left(&self, today: Date) -> Option<i64> {
        self.allowance.expires.map(|last| today.days_until(last))
    }
}

impl Shelf {
    /// Reads the files of every folder, or only those of one scenario.
    pub(super) fn read(project: &Project, scenario: Option<&str>) -> anyhow::Result<Shelf> {
        let mut shelf = Shelf {
            today: settings::today()?,
            folders: Vec::new(),
            scenarios: BTreeSet::new(),
            warnings: Vec::new(),
        };
        // A problem of the reports becomes a warning, so the baselines are shown nevertheless.
        let measured = Reports::newest_in(&project.reports_dir()).unwrap_or_else(|err| {
            shelf.warnings.push(format!("{err:#}"));
            Vec::new()
        });
        shelf.scenarios = measured.iter().map(|one| one.name.clone()).collect();
        for (dir, packages) in project.baselines_dirs() {
            let Some(mut paths) = list(&dir)? else {
                continue;
            };
            paths.retain(|path| scenario.is_none_or(|wanted| scenario_of(path) == wanted));
            let of_folder = |one: &&Scenario| packages.contains(&one.package);
            let measured: Vec<&Scenario> = measured.iter().filter(of_folder).collect();
            let files = paths.into_iter().map(|path| Filed {
                relative: project.relative(&path),
                scenario: scenario_of(&path),
                content: read(&path, project, &measured),
                path,
            });
            shelf.folders.push(Folder {
                require_reason: config::require_reason(&dir, project)?,
                scenarios: tests_by_name(&measured),
                unmeasured: unmeasured(project, &packages, &measured),
                files: files.collect(),
            });
        }
        Ok(shelf)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Filed> {
        self.folders.iter().flat_map(|folder| &folder.files)
    }

    /// Returns whether there are baselines, but no report of any of their packages.
    pub(super) fn is_unmeasured(&self) -> bool {
        let folders = self.folders.iter();
        let filled = folders.filter(|folder| !folder.files.is_empty());
        let mut filled = filled.peekable();
        filled.peek().is_some() && filled.all(|folder| folder.scenarios.is_empty())
    }
}

/// Returns the files of a folder that have a baseline's name; `None` if there is no folder.
fn list(dir: &Path) -> anyhow::Result<Option<Vec<PathBuf>>> {
    let failed = || format!("cannot list {}", shown(dir));
    let Some(entries) = file::if_there(fs::read_dir(dir)).with_context(failed)? else {
        return Ok(None);
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.with_context(failed)?.path();
        if layout::scenario_of_baseline(&path).is_some() {
            paths.push(path);
        }
        if paths.len() > MAX_FILES {
            bail!("more than {MAX_FILES} baselines in {}", shown(dir));
        }
    }
    paths.sort();
    Ok(Some(paths))
}

/// Returns the scenario of a file. If the file's name is not a baseline's, returns an empty
/// name, which no scenario can have.
fn scenario_of(path: &Path) -> String {
    layout::scenario_of_baseline(path).unwrap_or_default()
}

fn tests_by_name(scenarios: &[&Scenario]) -> BTreeMap<String, BTreeSet<String>> {
    let mut by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for scenario in scenarios {
        let test = test_name(&scenario.package, &scenario.target);
        by_name
            .entry(scenario.name.clone())
            .or_default()
            .insert(test);
    }
    by_name
}

fn test_name(package: &str, target: &str) -> String {
    format!("{package} (test target {target})")
}

fn unmeasured(project: &Project, packages: &[String], measured: &[&Scenario]) -> Vec<String> {
    let measured = measured
        .iter()
        .map(|one| test_name(&one.package, &one.target));
    let measured: BTreeSet<String> = measured.collect();
    let tests = packages.iter().flat_map(|package| {
        let tests = project.leak_tests(package).into_iter();
        tests.map(|test| test_name(package, &test))
    });
    tests.filter(|test| !measured.contains(test)).collect()
}

fn read(path: &Path, project: &Project, measured: &[&Scenario]) -> Result<Content, Problem> {
    let scenario = scenario_of(path);
    let problem = |rule, line, message| Problem {
        level: Level::Error,
        rule,
        file: project.relative(path),
        line,
        message,
    };
    let unreadable = |why| problem("unreadable", None, format!("{}: {why}", shown(path)));
    if !layout::valid_scenario_name(&scenario) {
        let name = safe_line(&scenario);
        return Err(unreadable(format!(
            "no scenario can be called `{name}`\n  hint: remove or rename the file"
        )));
    }
    let bytes = file::read(path, baseline::MAX_BYTES).map_err(|err| unreadable(err.to_string()))?;
    let (baseline, lines) = Baseline::placed(&bytes).map_err(|err| {
        let rule = match err.is_newer() {
            true => "newer-format",
            false => "unreadable",
        };
        problem(rule, err.line(), err.explain(&shown(path), &scenario))
    })?;
    let own = measured.iter().filter(|one| one.name == scenario);
    let reports: Vec<&Report> = own.filter_map(|one| one.report()).collect();
    let mut needs = needed(&baseline, &reports).into_iter();
    let ages = match baseline.allowances.is_empty() {
        true => Ages::default(),
        false => Ages::of(path),
    };
    let placed = baseline.allowances.into_iter().zip(lines);
    let entries = placed.map(|(allowance, lines)| Entry {
        changed: ages.newest(&lines),
        need: needs.next().flatten(),
        allowance,
        lines,
    });
    Ok(Content {
        measured: baseline.measured,
        entries: entries.collect(),
        verdict: reports.iter().map(|report| report.verdict).max(),
    })
}

/// Returns the growth that the scenario needs of each allowance in all test targets together.
fn needed(baseline: &Baseline, reports: &[&Report]) -> Vec<Option<Need>> {
    let is_trusted = |report: &&&Report| is_trusted(report.verdict);
    let mut together = vec![None; baseline.allowances.len()];
    for (place, report) in reports.iter().filter(is_trusted).enumerate() {
        for (sum, need) in together.iter_mut().zip(needs(baseline, report)) {
            *sum = match (place, *sum, need) {
                (0, _, need) => need,
                (_, Some(one), Some(other)) => Some(Need::max(one, other)),
                // One of the targets does not say, and may need all of it.
                _ => None,
            };
        }
    }
    together
}
