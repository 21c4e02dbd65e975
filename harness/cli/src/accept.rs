//! `plimsoll accept`: from a report to a baseline.

use std::collections::BTreeSet;
use std::env;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use plimsoll_core::FoldedStack;
use plimsoll_core::baseline::{self, Acceptance, AllowanceSubject, Baseline, Date, Moved};
use plimsoll_core::judge::Verdict;
use plimsoll_core::layout;
use plimsoll_core::report::{Report, Standing};

use crate::args::{AcceptArgs, Expiry};
use crate::joined::{Outcome, Scenario};
use crate::out::{Out, Paint, safe, safe_line};
use crate::project::{Project, shown};
use crate::reports::Reports;
use crate::status::{ExitStatus, Refused};
use crate::{atomic, diff};

/// What is to become of one file.
struct Change {
    scenario: String,
    path: PathBuf,
    existing: Option<String>,
    updated: String,
    allowances: usize,
    moved: Vec<Moved>,
    removed: Vec<AllowanceSubject>,
}

pub(crate) fn run(args: &AcceptArgs, name: &str, out: &mut Out) -> anyhow::Result<()> {
    refuse_under_ci(args, name)?;
    refuse_the_past(args)?;
    let project = Project::find(&args.project)?;
    let dir = args.dir.clone().unwrap_or_else(|| project.reports_dir());
    if !dir.is_dir() {
        bail!(
            "no reports in {}: there is no such folder\n  \
             hint: measure first, with `cargo test --test leaks`",
            shown(&dir)
        );
    }
    let reports = Reports::collect(&dir)?;
    // All is decided before anything is written.
    let chosen = choose(args, &reports)?;
    for problem in reports.problems() {
        out.warning(&problem);
    }
    for scenario in &chosen {
        refuse_untrustworthy(scenario)?;
    }
    let mut changes = Vec::new();
    for report in &chosen {
        let acceptance = acceptance(report, args)?;
        if acceptance.is_empty() {
            let name = safe_line(&report.scenario);
            out.print(&format!(
                "{name}: nothing to accept, it is {}\n",
                report.verdict
            ))?;
            continue;
        }
        changes.push(change(report, &acceptance, &project)?);
    }
    for change in &changes {
        make(change, args.dry_run, out)?;
    }
    Ok(())
}

fn refuse_under_ci(args: &AcceptArgs, name: &str) -> anyhow::Result<()> {
    let ci = env::var_os("CI").unwrap_or_default();
    let under_ci = !(ci.is_empty() || ci == "false" || ci == "0");
    if !under_ci || args.dry_run {
        return Ok(());
    }
    let scenarios = if args.all {
        "--all".to_owned()
    } else {
        args.scenarios.join(" ")
    };
    Err(Refused::usage(format!(
        "this is a CI (the variable CI is set): a baseline is agreed to by a person\n  \
         hint: run `cargo test --test leaks` and `{name} accept {scenarios}` where you work, \
         and commit what changes"
    )))
}

fn refuse_the_past(args: &AcceptArgs) -> anyhow::Result<()> {
    let Some(Expiry::On(date)) = args.expires else {
        return Ok(());
    };
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    match Date::from_unix_seconds(now.as_secs()) {
        Some(today) if date < today => Err(Refused::usage(format!(
            "--expires {date} is over: expected {today} or later, or `never`"
        ))),
        _ => Ok(()),
    }
}

/// The reports that are meant.
fn choose(args: &AcceptArgs, reports: &Reports) -> anyhow::Result<Vec<Report>> {
    let mut scenarios = reports.run_of_each_target(args.run.as_deref())?;
    scenarios.retain(|scenario| {
        args.package
            .as_ref()
            .is_none_or(|package| *package == scenario.package)
            && args
                .test
                .as_ref()
                .is_none_or(|test| *test == scenario.target)
    });
    let names: Vec<String> = if args.all {
        let with_report = scenarios
            .iter()
            .filter(|scenario| matches!(scenario.outcome, Outcome::Report(_)));
        let mut names: Vec<String> = with_report.map(|scenario| scenario.name.clone()).collect();
        let mut seen = BTreeSet::new();
        names.retain(|name| layout::valid_scenario_name(name) && seen.insert(name.clone()));
        names
    } else {
        args.scenarios.clone()
    };
    let mut chosen = Vec::new();
    let mut seen = BTreeSet::new();
    for name in names.iter().filter(|name| seen.insert(name.as_str())) {
        chosen.push(report_of(name, &scenarios, reports)?);
    }
    if chosen.is_empty() {
        bail!("no report of the package or test target that was named");
    }
    Ok(chosen)
}

fn report_of(name: &str, scenarios: &[Scenario], reports: &Reports) -> anyhow::Result<Report> {
    let named: Vec<&Scenario> = scenarios
        .iter()
        .filter(|scenario| scenario.name == name)
        .collect();
    let scenario = match named.as_slice() {
        [] => return Err(unknown(name, scenarios)),
        [one] => *one,
        [one, others @ ..] => {
            let flag = if others.iter().any(|other| other.package != one.package) {
                "--package"
            } else {
                "--test"
            };
            let places = named.iter().map(|scenario| {
                let (package, target) = (&scenario.package, &scenario.target);
                format!("{} (test target {})", safe_line(package), safe_line(target))
            });
            let places = places.collect::<Vec<_>>().join("\n    ");
            return Err(Refused::usage(format!(
                "{name} is the name of several scenarios\n    {places}\n  \
                 hint: say which one is meant with {flag}"
            )));
        }
    };
    match &scenario.outcome {
        Outcome::Report(report) => Ok(Report::clone(report)),
        Outcome::NoResult(why) => {
            let runs = reports.runs_with(name);
            let earlier = runs.last().map_or_else(String::new, |run| {
                format!(", or take an earlier run's with `--run {}`", safe_line(run))
            });
            bail!(
                "{name} has no result: {}\n  \
                 hint: measure it with `cargo test --test {} -- {name}`{earlier}",
                safe_line(why),
                safe_line(&scenario.target)
            )
        }
    }
}

fn unknown(name: &str, scenarios: &[Scenario]) -> anyhow::Error {
    let names: BTreeSet<String> = scenarios
        .iter()
        .map(|scenario| safe_line(&scenario.name))
        .collect();
    let shown: Vec<String> = names.iter().take(20).cloned().collect();
    let more = if names.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    Refused::usage(format!(
        "no scenario {name} in the last run\n  expected one of: {}{more}",
        shown.join(", ")
    ))
}

fn refuse_untrustworthy(report: &Report) -> anyhow::Result<()> {
    let name = safe_line(&report.scenario);
    let (why, hint) = match report.verdict {
        Verdict::Within | Verdict::Improved | Verdict::Regressed => return Ok(()),
        Verdict::Inconclusive => (
            "its run was inconclusive: what it would take to pass is not known",
            "give the scenario a larger budget, and measure again",
        ),
        Verdict::Failed => (
            "its workload failed, and what grew until then says little",
            "mend the workload, and measure again",
        ),
        Verdict::Broken => (
            "its measurement cannot be trusted",
            "`plimsoll report` says what was wrong; mend that, and measure again",
        ),
    };
    Err(Refused::with_status(
        ExitStatus::from(report.verdict),
        format!("{name}: nothing was accepted: {why}\n  hint: {hint}"),
    ))
}

fn acceptance(report: &Report, args: &AcceptArgs) -> anyhow::Result<Acceptance> {
    let mut acceptance = Acceptance::of(report);
    for accepted in &mut acceptance.allowances {
        accepted.allowance.reason.clone_from(&args.reason);
        accepted.allowance.issue.clone_from(&args.issue);
        match args.expires {
            Some(Expiry::On(date)) => accepted.allowance.expires = Some(date),
            Some(Expiry::Never) => accepted.expired = true,
            None => {}
        }
    }
    // Somebody once agreed to this until a day. For how long from now on is
    // theirs to say again, and not to be lost in passing.
    let lapsed = report
        .findings
        .iter()
        .find(|finding| finding.standing == Standing::Expired && !finding.is_unused());
    if let (Some(finding), None) = (lapsed, args.expires) {
        let reason = finding
            .reason
            .as_deref()
            .map_or_else(String::new, |reason| {
                format!("\n  its reason: {}", safe_line(reason))
            });
        return Err(Refused::usage(format!(
            "{}: an allowance has expired{reason}\n  \
             hint: say until when it holds, with `--expires YYYY-MM-DD` or `--expires never`",
            safe_line(&report.scenario)
        )));
    }
    Ok(acceptance)
}

fn change(report: &Report, acceptance: &Acceptance, project: &Project) -> anyhow::Result<Change> {
    let (scenario, package) = (&report.scenario, &report.run.package);
    if !layout::valid_scenario_name(scenario) {
        bail!("{}: no scenario can have that name", safe_line(scenario));
    }
    let dir = project.baselines_dir(package).ok_or_else(|| {
        Refused::usage(format!(
            "{scenario} is a scenario of the package {}, which is not in this workspace\n  \
             hint: say where it is with --manifest-path",
            safe_line(package)
        ))
    })?;
    let path = layout::baseline_file(&dir, scenario);
    let explain =
        |err: baseline::BaselineError| anyhow::anyhow!("{}", err.explain(&shown(&path), scenario));
    let (before, existing) = match read(&path)? {
        None => (Baseline::default(), None),
        // Checked first, and not as text, for the sake of the error.
        Some(bytes) => {
            let before = Baseline::parse(&bytes).map_err(explain)?;
            (before, Some(String::from_utf8(bytes)?))
        }
    };
    let updated = if existing.is_none() && acceptance.allowances.is_empty() {
        // No file for what no longer is in any.
        String::new()
    } else {
        baseline::update(existing.as_deref(), acceptance).map_err(explain)?
    };
    let after = match updated.as_str() {
        "" => Baseline::default(),
        text => Baseline::parse(text.as_bytes()).map_err(explain)?,
    };
    // The file may have changed since the run, so not all need be in it.
    let went =
        |subject: &AllowanceSubject| before.get(subject).is_some() && after.get(subject).is_none();
    let mut moved = acceptance.moved.clone();
    moved.retain(|moved| went(&exact(&moved.from)) && after.get(&exact(&moved.to)).is_some());
    let mut removed = acceptance.removed.clone();
    removed.retain(went);
    Ok(Change {
        scenario: scenario.clone(),
        path,
        existing,
        updated,
        allowances: acceptance.allowances.len(),
        moved,
        removed,
    })
}

fn exact(stack: &FoldedStack) -> AllowanceSubject {
    AllowanceSubject::Stack(baseline::StackPattern::exact(stack))
}

fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    let failed = || format!("cannot read {}", shown(path));
    let file = match File::open(path) {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.with_context(failed)?,
    };
    let mut bytes = Vec::new();
    // One more than is allowed, for the parser to refuse.
    let most = baseline::MAX_BYTES as u64 + 1;
    file.take(most)
        .read_to_end(&mut bytes)
        .with_context(failed)?;
    Ok(Some(bytes))
}

fn make(change: &Change, dry_run: bool, out: &mut Out) -> anyhow::Result<()> {
    let Change {
        scenario,
        path,
        existing,
        updated,
        ..
    } = change;
    let path_shown = shown(path);
    if existing.as_deref().unwrap_or_default() == updated {
        let has = match change.allowances {
            0 => "has none of it any more",
            _ => "has it all",
        };
        out.print(&format!("{path_shown}: {has}, nothing changes\n"))?;
        return Ok(());
    }
    let new = if existing.is_none() { " (new)" } else { "" };
    let head = out.paint(Paint::Bold, &format!("{path_shown}{new}"));
    let lines = diff::render(existing.as_deref().unwrap_or_default(), updated, out);
    if !dry_run {
        atomic::write(path, updated)?;
    }
    let then = if dry_run { "" } else { "; commit the file" };
    let end = format!("{}: {}{then}\n", safe(scenario), done(change, dry_run));
    let told = told(change, dry_run);
    out.print(&format!("{head}\n{lines}{told}{end}"))?;
    Ok(())
}

/// What becomes of allowances that there were, a line each.
fn told(change: &Change, dry_run: bool) -> String {
    let name = safe(&change.scenario);
    let (moved, removed) = match dry_run {
        true => ("would move", "would remove"),
        false => ("moved", "removed"),
    };
    let mut told = String::new();
    for Moved { from, to } in &change.moved {
        let none = "no caller";
        let line = format!(
            "{moved} {} from {} to {}",
            leaf(to),
            from.caller_apart_from(to).unwrap_or(none),
            to.caller_apart_from(from).unwrap_or(none)
        );
        told += &format!("{name}: {}\n", safe_line(&line));
    }
    for subject in &change.removed {
        let what = match subject {
            AllowanceSubject::Stack(pattern) => leaf(&pattern.shown()).to_owned(),
            AllowanceSubject::Threads | AllowanceSubject::Descriptors => subject.to_string(),
        };
        let line = format!("{removed} {what}, which no longer grows");
        told += &format!("{name}: {}\n", safe_line(&line));
    }
    told
}

/// The frames are in the diff; by the last of them a reader finds it there.
fn leaf(stack: &FoldedStack) -> &str {
    stack.frames().last().map_or("", String::as_str)
}

/// `accepted 1 allowance, moved 2, removed 1`
fn done(change: &Change, dry_run: bool) -> String {
    let words = match dry_run {
        true => ["accept", "move", "remove"],
        false => ["accepted", "moved", "removed"],
    };
    let counts = [change.allowances, change.moved.len(), change.removed.len()];
    let mut parts: Vec<String> = Vec::new();
    for (word, count) in words.into_iter().zip(counts) {
        let noun = match (parts.is_empty(), count) {
            (_, 0) => continue,
            (false, _) => "",
            (true, 1) => " allowance",
            (true, _) => " allowances",
        };
        parts.push(format!("{word} {count}{noun}"));
    }
    let would = if dry_run { "would " } else { "" };
    format!("{would}{}", parts.join(", "))
}
