//! A server as a scenario: the report of a watch, as a test writes it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_core::baseline::Baseline;
use plimsoll_core::blame::Packages;
use plimsoll_core::fold::Normalization;
use plimsoll_core::growth::{GoesOn, Trend, Unit};
use plimsoll_core::judge::{Assessment, Policy, Verdict, judge};
use plimsoll_core::report::units::signed_bytes;
use plimsoll_core::report::{
    BASELINE, Check, CheckOutcome, Compared, Failure, Finding, LOAD, LadderEnd, Measured, Report,
    Run, Runner, StackGrowth, files, json, text,
};
use plimsoll_core::settings::Settings;
use plimsoll_core::{Per, Tally, layout};

use crate::args::{ScenarioArgs, SymbolArgs};
use crate::dumps::Files;
use crate::observed::{self, Seen};
use plimsoll_desk::file;
use plimsoll_desk::git::Git;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::project::{Project, shown};
use plimsoll_desk::settings;
use plimsoll_desk::status::{ExitStatus, Refused};

/// What the server prints is in [`layout::OUTPUT`], and what its load prints is beside it.
const LOAD_OUTPUT: &str = "load.txt";
/// How much of what was printed is in a report, in bytes.
const TAIL: usize = 16 << 10;
/// How many lines of it an error has.
const LINES: usize = 10;
/// The name of a report that is being written.
const PENDING: &str = "report.json.part";

/// Where a scenario's files are, and what it may grow.
pub(crate) struct Scenario {
    name: String,
    per: Per,
    run: Run,
    folder: PathBuf,
    root: PathBuf,
    baseline: Baseline,
    /// The text of the baseline's file, if there is one.
    text: Option<String>,
    settings: Settings,
    /// Why the baseline cannot be used.
    problem: Option<String>,
}

/// How a watch came to its end, if not by its time.
#[derive(Debug)]
pub(crate) enum Broke {
    /// The server failed, in these words.
    Server(String),
    /// The load did.
    Load(String),
    /// The baseline cannot be used.
    Baseline(String),
}

impl Scenario {
    /// Reads the baseline and the settings, and makes an empty folder for the files of this run.
    pub(crate) fn prepare(args: &ScenarioArgs, per: Per) -> anyhow::Result<Scenario> {
        let name = args.scenario.clone().unwrap_or_default();
        if !layout::valid_scenario_name(&name) {
            return Err(Refused::usage(format!(
                "--scenario {}: expected letters, digits, `_`, `-`, `.` and `::`",
                safe_line(&name)
            )));
        }
        let project = Project::find(None).map_err(|err| {
            err.context("--scenario: baselines and reports belong to a cargo project")
        })?;
        let package = project.package_meant(args.package.as_deref())?;
        let root = project.workspace_root().to_owned();
        let baselines = project.baselines_dir(&package).context("no such package")?;
        let path = layout::baseline_file(&baselines, &name);
        let dir = project.package_dir(&package).unwrap_or(&root);
        let settings = settings::of(dir, &root)?;
        let mut agreed = read(&path, &name, &per, &settings)?;
        let is_optional = std::env::var_os("PLIMSOLL_BASELINES").is_some_and(|it| it == "optional");
        if is_optional && agreed.is_err() {
            // An empty baseline allows no growth, which is stricter than any other.
            agreed = Ok((Baseline::default(), None));
        }
        let problem = agreed.as_ref().err().cloned();
        let (baseline, text) = agreed.unwrap_or_default();
        let folder = layout::scenario_dir(&project.reports_dir(), &package, layout::WATCH, &name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| shown(&folder))?;
        }
        fs::create_dir_all(&folder).with_context(|| shown(&folder))?;
        let commit = Git::in_dir(&root).commit("HEAD").ok().flatten();
        let run = Run {
            id: run_id(),
            commit: commit.map(|commit| commit.as_str().to_owned()),
            package,
            target: layout::WATCH.to_owned(),
            scenarios: vec![name.clone()],
            selected: None,
            built_with: Vec::new(),
            benchmark: None,
            runner: Runner::Test,
            plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
            files: project.relative(&folder),
            baseline: project.relative(&path),
        };
        Ok(Scenario {
            name,
            per,
            run,
            folder,
            root,
            baseline,
            text,
            settings,
            problem,
        })
    }

    /// Returns why nothing can be measured, if the baseline cannot be used.
    pub(crate) fn problem(&self) -> Option<Broke> {
        self.problem.clone().map(Broke::Baseline)
    }

    /// Returns the files for what the server and its load print.
    pub(crate) fn outputs(&self) -> [PathBuf; 2] {
        [layout::OUTPUT, LOAD_OUTPUT].map(|name| self.folder.join(name))
    }

    /// Judges the dumps of a watch, writes the files, and prints the verdict. `notes` were
    /// printed during the watch.
    pub(crate) fn conclude(
        &self,
        files: &Files,
        symbols: &SymbolArgs,
        broke: Option<&Broke>,
        notes: Vec<String>,
        out: &mut Out,
    ) -> anyhow::Result<()> {
        let (files, positions) = at_positions(files, &self.per);
        let seen = match positions.is_empty() {
            true => None,
            false => {
                let normalization = Normalization {
                    workspace_root: self.root.to_str().map(str::to_owned),
                    own: None,
                };
                Some(observed::observe(
                    &files,
                    positions,
                    symbols,
                    &normalization,
                )?)
            }
        };
        let mut report = self.report(seen.as_ref())?;
        report.notes.splice(0..0, notes);
        match broke {
            None => {}
            Some(Broke::Server(what)) => {
                report.verdict = Verdict::Failed;
                report.failure = Some(Failure {
                    what: what.clone(),
                    iteration: report.rungs.last().map(|rung| rung.iterations),
                    output: tail(&self.outputs()[0]),
                });
            }
            Some(Broke::Load(what)) => {
                let printed = last_lines(&self.outputs()[1]);
                fail(&mut report, LOAD, format!("{what}\n{printed}"));
            }
            Some(Broke::Baseline(why)) => fail(&mut report, BASELINE, why.clone()),
        }
        if matches!(report.verdict, Verdict::Failed | Verdict::Broken) {
            report.end = LadderEnd::Failure;
            (report.visible, report.rarest) = (None, None);
        }
        self.write(&report, &files)?;
        self.print(&report, out)
    }

    fn report(&self, seen: Option<&Seen>) -> anyhow::Result<Report> {
        let policy = Policy {
            threshold: self.settings.threshold,
            today: Some(settings::today()?),
            ..Policy::TOP
        };
        let mut report = Report {
            per: self.per.clone(),
            end: LadderEnd::Settled,
            ..Report::unmeasured(self.run.clone(), &self.name, self.settings.threshold)
        };
        let Some(seen) = seen else {
            return Ok(report);
        };
        let observed = &seen.observed;
        let Assessment {
            verdict,
            mut findings,
            threshold,
            visible,
            ..
        } = judge(observed, &self.baseline, &policy);
        let lock = fs::read_to_string(self.root.join("Cargo.lock"));
        let packages = Packages::of_lockfile(&lock.unwrap_or_default());
        for finding in &mut findings {
            finding.locate(&seen.traces, &self.name, &packages, &seen.files);
        }
        if !findings.is_empty() {
            let traces = seen.traces.values();
            report.own = packages.own_among(traces.flat_map(|trace| &trace.frames));
        }
        if findings.iter().any(Finding::has_unexplained_frames) {
            report.notes.extend(seen.notes.iter().cloned());
        }
        // Who allocates, and who built the server, is not known.
        report.measured = Some(Measured {
            sample_interval: observed.interval.bytes(),
            ..Measured::default()
        });
        (report.verdict, report.threshold, report.visible) = (verdict, threshold, visible);
        if seen.rungs.iter().all(|rung| rung.live == Tally::default()) {
            report.verdict = Verdict::Inconclusive;
            report.visible = None;
            let note = "the dumps have no live objects: nothing was measured";
            report.notes.push(note.to_owned());
        }
        if let Some(rate) = self.spread(seen).filter(|_| verdict <= Verdict::Improved) {
            report.verdict = Verdict::Inconclusive;
            report.visible = None;
            report.notes.push(format!(
                "all stacks together keep growing, by {} per {}, and none of them alone does",
                signed_bytes(rate),
                self.per.one()
            ));
        }
        report.growth = StackGrowth::of(observed, 0);
        let ends = observed.iterations.first().zip(observed.iterations.last());
        report.compared = ends.map(|(before, after)| Compared {
            before: *before,
            after: *after,
        });
        report.findings = findings;
        report.rungs.clone_from(&seen.rungs);
        report.completeness = seen.completeness;
        Ok(report)
    }

    /// Returns the growth of all stacks together, if it goes on beyond everything that is
    /// allowed. A leak may be spread over so many stacks that none of them grows visibly.
    fn spread(&self, seen: &Seen) -> Option<f64> {
        let trend = Trend::of(&seen.observed.iterations, &seen.total, Unit::Bytes)?;
        let allowances = self.baseline.allowances.iter();
        let allowed: f64 = allowances.map(|allowance| allowance.rate.bytes).sum();
        let is_past = trend.goes_on == GoesOn::Yes && trend.rate - trend.error > allowed;
        is_past.then_some(trend.rate)
    }

    fn write(&self, report: &Report, dumps: &Files) -> anyhow::Result<()> {
        let at = |name: &str| self.folder.join(name);
        let failed = |name: &str| shown(&at(name));
        for (name, text) in files::of(report, self.text.as_deref())? {
            fs::write(at(name), text).with_context(|| failed(name))?;
        }
        if let [first, .., last] = dumps.paths.as_slice() {
            for (name, dump) in [(layout::BEFORE, first), (layout::AFTER, last)] {
                fs::copy(dump, at(name)).with_context(|| failed(name))?;
            }
        }
        // If the report exists, so does everything else.
        fs::write(at(PENDING), json::to_string(report)).with_context(|| failed(PENDING))?;
        fs::rename(at(PENDING), at(layout::REPORT)).with_context(|| failed(layout::REPORT))
    }

    fn print(&self, report: &Report, out: &mut Out) -> anyhow::Result<()> {
        let is_remarkable = report.findings.iter().any(Finding::is_remarkable);
        let page = match report.verdict == Verdict::Within && !is_remarkable {
            true => text::one_line(report) + "\n",
            false => text::render(report, &text::Style::of(out.columns(), out.color())),
        };
        out.print(&page)?;
        let stale = self.settings.stale.unwrap_or_default();
        let inconclusive = self.settings.inconclusive.unwrap_or_default();
        match (report.verdict.passes(stale, inconclusive), report.verdict) {
            (true, _) => Ok(()),
            (false, Verdict::Improved) => Err(Refused::quiet(ExitStatus::Regressed)),
            (false, verdict) => Err(Refused::quiet(ExitStatus::from(verdict))),
        }
    }
}

fn fail(report: &mut Report, check: &str, detail: String) {
    report.verdict = Verdict::Broken;
    report.checks.push(Check {
        name: check.to_owned(),
        outcome: CheckOutcome::Failed,
        detail,
    });
}

/// Reads the baseline, and its text. The inner error says why it cannot be used.
fn read(
    path: &Path,
    name: &str,
    per: &Per,
    settings: &Settings,
) -> anyhow::Result<Result<(Baseline, Option<String>), String>> {
    if !path.exists() {
        return Ok(Ok((Baseline::default(), None)));
    }
    let most = plimsoll_core::baseline::MAX_BYTES;
    let bytes = file::read(path, most).with_context(|| shown(path))?;
    let parsed = Baseline::parse(&bytes);
    let checked = parsed.and_then(|baseline| baseline.check_per(per).map(|()| baseline));
    let baseline = match checked {
        Ok(baseline) => baseline,
        Err(err) => return Ok(Err(err.explain(&shown(path), name))),
    };
    let mut allowances = baseline.allowances.iter();
    let lacks = allowances.find(|allowance| !allowance.has_reason());
    if let (Some(true), Some(allowance)) = (settings.require_reason, lacks) {
        return Ok(Err(format!(
            "{}: the allowance of {} has no reason\n  expected one, as `require-reason = true` \
             has it\n  hint: write `reason = \"…\"` below it",
            shown(path),
            safe_line(&allowance.subject.to_string())
        )));
    }
    Ok(Ok((baseline, Some(String::from_utf8(bytes)?))))
}

/// Returns an id for this run. All watches of one job of GitHub Actions are one run.
fn run_id() -> String {
    let of_job = ["GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB"];
    let of_job: Option<Vec<String>> = of_job.iter().map(|name| std::env::var(name).ok()).collect();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let own = || {
        format!(
            "{:x}-{:x}",
            now.map_or(0, |now| now.as_millis()),
            std::process::id()
        )
    };
    of_job.map_or_else(own, |parts| format!("watch-{}", parts.join("-")))
}

/// Returns the dumps with positions of their own, and the positions: seconds, or the counter.
fn at_positions(files: &Files, per: &Per) -> (Files, Vec<u64>) {
    let position = |at: &u64| match per {
        Per::Second => (at + 500) / 1_000,
        _ => *at,
    };
    let mut kept = Files {
        per: files.per.clone(),
        server: files.server.clone(),
        ..Files::default()
    };
    let mut positions: Vec<u64> = Vec::new();
    for (path, at) in files.paths.iter().zip(&files.at) {
        let position = position(at);
        if positions.last().is_none_or(|last| *last < position) {
            positions.push(position);
            kept.at.push(*at);
            kept.paths.push(path.clone());
        }
    }
    (kept, positions)
}

/// Returns the end of what was printed.
fn tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let bytes = &bytes[bytes.len().saturating_sub(TAIL)..];
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

/// Returns the last lines of what was printed, or that nothing was.
pub(crate) fn last_lines(path: &Path) -> String {
    let tail = tail(path);
    let lines: Vec<&str> = tail.lines().collect();
    let lines = &lines[lines.len().saturating_sub(LINES)..];
    match lines {
        [] => "it printed nothing".to_owned(),
        lines => lines.join("\n"),
    }
}
