//! Chooses the reports that a command accepts from.

use std::collections::BTreeSet;

use anyhow::bail;
use plimsoll_core::accept::needs;
use plimsoll_core::baseline::{Acceptance, AllowanceSubject, Baseline, StackPattern};
use plimsoll_core::judge::Verdict;
use plimsoll_core::layout;
use plimsoll_core::report::{Report, Run};

use super::change::leaf_of;
use crate::args::ChosenArgs;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::project::{Project, shown};
use plimsoll_desk::status::{ExitStatus, Refused};
use plimsoll_report::joined::{Outcome, Scenario};
use plimsoll_report::reports::Reports;

/// How scenarios are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The named scenarios, or without a name all with something to accept.
    Named,
    /// The named scenarios, or without a name all whose results can be trusted.
    Trusted,
    /// Every scenario that has a report.
    All,
}

/// A report, and the other tests that use its baseline file.
pub(crate) struct Chosen {
    pub(crate) report: Report,
    /// The results of other tests' scenarios that have the same name and the same baseline.
    pub(crate) others: Vec<Scenario>,
}

/// Returns the reports of the chosen scenarios.
///
/// A report that cannot be trusted is an error if its scenario was named, or with
/// [`Which::All`]. Otherwise it is left out with a warning.
pub(crate) fn choose(
    args: &ChosenArgs,
    which: Which,
    project: &Project,
    out: &Out,
) -> anyhow::Result<Vec<Chosen>> {
    let dir = args.dir.clone().unwrap_or_else(|| project.reports_dir());
    if !dir.is_dir() {
        let dir = shown(&dir);
        bail!(
            "no reports in {dir}: there is no such folder\n  \
             hint: measure first, with `cargo test --test leaks`"
        );
    }
    let reports = Reports::collect(&dir)?;
    let mut scenarios = reports.run_of_each_target(args.run.as_deref())?;
    // The scenarios of every test, whichever were chosen.
    let all = match args.run {
        None => Err(()),
        // A run may also be named because the newest one cannot be determined.
        Some(_) => reports.run_of_each_target(None).map_err(drop),
    };
    let all = all.unwrap_or_else(|()| scenarios.clone());
    // Workspaces may share a target directory. Reports of another workspace are ignored.
    let is_ours = |one: &Scenario| project.package_dir(&one.package).is_some();
    if args.dir.is_none() && args.package.is_none() && scenarios.iter().any(is_ours) {
        scenarios.retain(is_ours);
    }
    let is =
        |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|name| name == found);
    scenarios.retain(|one| is(&args.package, &one.package) && is(&args.test, &one.target));
    if scenarios.is_empty() {
        return Err(of_none(args, &all));
    }
    let is_unnamed = which != Which::All && args.scenarios.is_empty();
    if is_unnamed {
        scenarios.retain(|scenario| has_something(scenario, which, out));
    }
    let mut chosen = Vec::new();
    if args.scenarios.is_empty() {
        let mut files = BTreeSet::new();
        for report in scenarios.iter().filter_map(Scenario::report) {
            let name = &report.scenario;
            if !layout::valid_scenario_name(name) {
                continue;
            }
            // Growth of two scenarios must not be accepted into one file, so `report_of` asks
            // which of them is meant.
            let is_new = files.insert((project.baselines_dir(&report.run.package), name));
            chosen.push(match is_new {
                true => report.clone(),
                false => report_of(name, &scenarios, &reports)?,
            });
        }
    }
    let mut seen = BTreeSet::new();
    for name in args.scenarios.iter().filter(|name| seen.insert(*name)) {
        chosen.push(report_of(name, &scenarios, &reports)?);
    }
    if chosen.is_empty() && !is_unnamed {
        bail!("no scenario of the last run has a report");
    }
    for problem in reports.problems() {
        out.warning(&problem);
    }
    for report in &chosen {
        refuse_untrustworthy(report)?;
    }
    let chosen = chosen.into_iter().map(|report| Chosen {
        others: others(&report, &all, project),
        report,
    });
    Ok(chosen.collect())
}

fn others(report: &Report, all: &[Scenario], project: &Project) -> Vec<Scenario> {
    let Run {
        package, target, ..
    } = &report.run;
    let dir = project.baselines_dir(package);
    let is_other = |other: &&Scenario| {
        other.name == report.scenario
            && (&other.package, &other.target) != (package, target)
            && project.baselines_dir(&other.package) == dir
    };
    all.iter().filter(is_other).cloned().collect()
}

impl Chosen {
    /// Takes out of an acceptance what another test may still need: an allowance that would be
    /// removed, moved or lowered. It stays in the acceptance only if every other test has
    /// shown that it needs nothing of the allowance.
    pub(crate) fn leave_to_others(
        &self,
        acceptance: &mut Acceptance,
        baseline: &Baseline,
        out: &Out,
    ) {
        let mut left = Vec::new();
        let mut is_free = |subject: &AllowanceSubject| {
            let mut others = self.others.iter();
            let other = others.find(|other| may_use(other, subject, baseline));
            left.extend(other.map(|other| (subject.clone(), other)));
            other.is_none()
        };
        acceptance.removed.retain(&mut is_free);
        acceptance
            .moved
            .retain(|moved| is_free(&AllowanceSubject::Stack(StackPattern::exact(&moved.from))));
        acceptance.allowances.retain(|accepted| {
            let allowance = &accepted.allowance;
            let before = baseline.get(&allowance.subject);
            let is_lower = before.is_some_and(|before| {
                allowance.rate.objects < before.rate.objects
                    || allowance.rate.bytes < before.rate.bytes
            });
            // Nobody can use an expired allowance any more.
            accepted.expired || !is_lower || is_free(&allowance.subject)
        });
        for (subject, other) in left {
            out.note(&format!(
                "{}: the allowance of {} stays, because the scenario of the same name in {} \
                 (test target {}) uses the same file and may need it\n  \
                 hint: a plimsoll.toml in the package's folder gives it baselines of its own",
                safe_line(&self.report.scenario),
                safe_line(&leaf_of(&subject)),
                safe_line(&other.package),
                safe_line(&other.target)
            ));
        }
    }
}

/// Returns whether a test may use an allowance, according to its newest run.
fn may_use(other: &Scenario, subject: &AllowanceSubject, baseline: &Baseline) -> bool {
    let mut allowances = baseline.allowances.iter();
    let Some(index) = allowances.position(|allowance| allowance.subject == *subject) else {
        return false;
    };
    let trusted = other.report();
    let trusted = trusted.filter(|report| untrustworthy(report.verdict).is_none());
    let need = trusted.and_then(|report| needs(baseline, report)[index]);
    need.is_none_or(|need| !need.is_none())
}

fn has_something(scenario: &Scenario, which: Which, out: &Out) -> bool {
    let Some(report) = scenario.report() else {
        return false;
    };
    match untrustworthy(report.verdict) {
        None => which == Which::Trusted || Acceptance::is_due(report),
        Some((why, _)) => {
            out.warning(&format!("{}: left out: {why}", safe_line(&report.scenario)));
            false
        }
    }
}

fn report_of(name: &str, scenarios: &[Scenario], reports: &Reports) -> anyhow::Result<Report> {
    let named = scenarios.iter().filter(|scenario| scenario.name == name);
    let named: Vec<&Scenario> = named.collect();
    let scenario = match named.as_slice() {
        [] => {
            let problem = format!("no scenario {name} in the last run");
            return Err(unknown(&problem, scenarios));
        }
        [one] => *one,
        [one, others @ ..] => {
            let flag = match others.iter().any(|other| other.package != one.package) {
                true => "--package",
                false => "--test",
            };
            let places = named.iter().map(|scenario| {
                let (package, target) = (&scenario.package, &scenario.target);
                format!("{} (test target {})", safe_line(package), safe_line(target))
            });
            let places = places.collect::<Vec<_>>().join("\n    ");
            return Err(Refused::usage(format!(
                "{name} is the name of more than one scenario\n    {places}\n  \
                 hint: choose one with {flag}"
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

/// Returns the error if a name is of none of the scenarios.
pub(crate) fn unknown(problem: &str, scenarios: &[Scenario]) -> anyhow::Error {
    let names = scenarios.iter().map(|scenario| safe_line(&scenario.name));
    let names: BTreeSet<String> = names.collect();
    let more = if names.len() > 20 { ", …" } else { "" };
    let shown: Vec<String> = names.into_iter().take(20).collect();
    Refused::usage(format!(
        "{problem}\n  expected one of: {}{more}",
        shown.join(", ")
    ))
}

/// Returns the error if no report belongs to the named package or test target.
fn of_none(args: &ChosenArgs, all: &[Scenario]) -> anyhow::Error {
    let package = args.package.iter().map(|name| format!("package {name}"));
    let test = args.test.iter().map(|name| format!("test target {name}"));
    let named: Vec<String> = package.chain(test).collect();
    let of_test = |one: &Scenario| format!("{} (test target {})", one.package, one.target);
    let tests: BTreeSet<String> = all.iter().map(of_test).collect();
    let tests: Vec<String> = tests.into_iter().collect();
    anyhow::anyhow!(
        "no report of the {}\n  expected one of: {}\n  \
         hint: measure it first, with `cargo test --test leaks`",
        safe_line(&named.join(", ")),
        safe_line(&tests.join(", "))
    )
}

fn refuse_untrustworthy(report: &Report) -> anyhow::Result<()> {
    let Some((why, hint)) = untrustworthy(report.verdict) else {
        return Ok(());
    };
    let name = safe_line(&report.scenario);
    Err(Refused::with_status(
        ExitStatus::from(report.verdict),
        format!("{name}: nothing was accepted: {why}\n  hint: {hint}"),
    ))
}

/// Returns why nothing can be accepted with this verdict, and what to do; `None` if the
/// verdict can be trusted.
fn untrustworthy(verdict: Verdict) -> Option<(&'static str, &'static str)> {
    match verdict {
        Verdict::Within | Verdict::Improved | Verdict::Regressed => None,
        Verdict::Inconclusive => Some((
            "its run was inconclusive, so the allowance that it needs is not known",
            "give the scenario a larger budget, and measure again",
        )),
        Verdict::Failed => Some((
            "its workload failed, and growth up to a failure says little",
            "fix the workload, and measure again",
        )),
        Verdict::Broken => Some((
            "its measurement cannot be trusted",
            "`plimsoll report` says what was wrong; fix that, and measure again",
        )),
    }
}
