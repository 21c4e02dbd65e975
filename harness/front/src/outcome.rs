//! Makes the report of a climb, and writes the files of a scenario.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use plimsoll_core::blame::{Packages, SourceFiles};
use plimsoll_core::dump::HeapDump;
use plimsoll_core::growth::{Unit, View};
use plimsoll_core::judge::{self, Assessment, Verdict, judge};
use plimsoll_core::report::files::is_trusted;
use plimsoll_core::report::{
    BASELINE, Check, CheckOutcome, Compared, Finding, LadderEnd, Measured, Report, Run,
    StackGrowth, Subject, Threshold, explain, files, json, text, units,
};
use plimsoll_core::{Lacks, Rate, layout};

use crate::climb::{Climb, Route, before_and_after};
use crate::enough::enough;
use crate::experiment::Corrected;
use crate::plan::Plan;
use crate::policy::check;
use crate::protocol::{Greeting, Walks};
use crate::settings::Effective;

/// A climb's report, and what is not part of it.
pub(crate) struct Judged {
    pub(crate) report: Report,
    /// The stacks that somebody wants explained, with what decided on each.
    pub(crate) explained: Vec<(Finding, Vec<View>)>,
}

/// Judges a climb. Every stack, site and resource whose name contains `part` is to be explained.
///
/// `why` says why the climb was not profiled in the usual way.
pub(crate) fn report(
    mut climb: Climb,
    route: &Route<'_>,
    run: Run,
    scenario: &str,
    why: Vec<String>,
    part: Option<&str>,
) -> Judged {
    let (observed, sources) = climb.profile.observe(route.normalization);
    let policy = route.policy(climb.end, climb.accused_at);
    let Assessment {
        mut verdict,
        mut findings,
        threshold,
        visible,
        rarest,
        short_by,
    } = judge(&observed, route.baseline, &policy);
    // Nothing is read for a run in which nothing is to be named.
    let (packages, files) = &match findings.is_empty() && part.is_none() {
        true => (Packages::default(), SourceFiles::default()),
        false => (
            route.place.packages(),
            climb.profile.source_files(route.normalization),
        ),
    };
    for finding in &mut findings {
        finding.locate(&sources.traces, scenario, packages, files);
        if let Subject::Resource(resource) = finding.subject {
            finding.mappings = climb.profile.grown_mappings(resource);
        }
        if finding.lacks == Some(Lacks::DebugInfo) && route.place.strips() {
            finding.lacks = Some(Lacks::Stripped);
        }
    }
    let checks = checks(&climb);
    if climb.failure.is_some() {
        verdict = Verdict::Failed;
    }
    let has_failed = |check: &Check| check.outcome == CheckOutcome::Failed;
    if checks.iter().any(has_failed) {
        verdict = Verdict::Broken;
    }
    let before = climb.profile.before().unwrap_or(0);
    let corrected = match &climb.experiment {
        Some(experiment) => experiment.correct(&mut findings),
        None => Corrected::default(),
    };
    if verdict == Verdict::Regressed {
        let least = match visible {
            Some(_) => Verdict::Within,
            None => Verdict::Inconclusive,
        };
        let verdicts = findings.iter().map(|finding| finding.verdict);
        verdict = verdicts.fold(least, Verdict::max);
    }
    let larger = more_than_needed(verdict, &findings, &run.baseline);
    let settings = route.terms.settings;
    let late = overtime(verdict, &climb, settings);
    let mut report = Report {
        verdict,
        measured: measured(&climb.greeting, route.terms.plan, &route.place.profile),
        builder: settings.builder.clone(),
        compared: climb.profile.rungs.last().map(|last| Compared {
            before: climb.profile.rungs[before].iterations,
            after: last.iterations,
        }),
        end: climb.end,
        threshold: Threshold {
            coarsened: threshold.coarsened && !climb.profile.rungs.is_empty(),
            ..threshold
        },
        visible: visible.filter(|_| is_trusted(verdict)),
        rarest: rarest.filter(|_| is_trusted(verdict)),
        checks,
        completeness: climb.profile.completeness,
        failure: climb.failure.take(),
        notes: notes(&findings, &sources.notes)
            .into_iter()
            .chain(unwinding(&climb.greeting, climb.profile.walks))
            .chain(why)
            .chain(corrected.notes)
            .chain(larger)
            .chain(timeout_within_budget(verdict, climb.end, settings))
            .chain(late)
            .collect(),
        own: match findings.is_empty() {
            true => Vec::new(),
            false => {
                let traces = sources.traces.values();
                packages.own_among(traces.flat_map(|trace| &trace.frames))
            }
        },
        findings,
        growth: StackGrowth::of(&observed, before),
        rungs: std::mem::take(&mut climb.profile.rungs),
        ..Report::unmeasured(run, scenario, None)
    };
    let (enough, why) = enough(&report, &climb, &route.terms, short_by, corrected.enough);
    report.enough = enough;
    report.notes.extend(why);
    let mut explained = match part {
        Some(_) => judge::explain(&observed, route.baseline, &policy),
        None => Vec::new(),
    };
    for (finding, _) in &mut explained {
        finding.locate(&sources.traces, scenario, packages, files);
    }
    explained.retain(|(finding, _)| part.is_some_and(|part| finding.mentions(part)));
    Judged { report, explained }
}

/// Explains why stacks have their verdict, if somebody asked for those whose name contains `part`.
pub(crate) fn explain(judged: &Judged, part: Option<&str>) -> String {
    let Some(part) = part else {
        return String::new();
    };
    let scenario = &judged.report.scenario;
    let mut page = format!("\n---- {scenario}, explained: `{part}` ----\n");
    if judged.explained.is_empty() {
        page += "no stack that moved in the last rungs has that in its name\n";
    }
    for (finding, views) in &judged.explained {
        page += &explain::explain(&judged.report, finding, views, &text::Style::plain());
        page += "\n";
    }
    page
}

/// Makes the report of a scenario that was not run, because its baseline cannot be used.
pub(crate) fn without_baseline(
    run: Run,
    scenario: &str,
    settings: &Effective,
    detail: String,
) -> Report {
    let mut report = Report {
        verdict: Verdict::Broken,
        builder: settings.builder.clone(),
        checks: vec![check(BASELINE, CheckOutcome::Failed, detail)],
        ..Report::unmeasured(run, scenario, settings.threshold)
    };
    report.threshold.outside = settings.outside;
    report
}

/// Returns the remarks on how names were found, if a finding needs them.
fn notes(findings: &[Finding], how_names_were_found: &[String]) -> Vec<String> {
    match findings.iter().any(Finding::has_unexplained_frames) {
        true => how_names_were_found.to_vec(),
        false => Vec::new(),
    }
}

/// Returns notes on allowances that are more than twice what is needed. They do not change the
/// verdict, because rates may depend on timing.
fn more_than_needed(verdict: Verdict, findings: &[Finding], baseline: &str) -> Vec<String> {
    let too_large = |finding: &&Finding| is_trusted(verdict) && finding.has_twice_its_need();
    let said = findings.iter().filter(too_large).map(|finding| {
        let (what, unit) = match &finding.subject {
            Subject::Resource(resource) => (resource.many(), Some(resource.unit())),
            Subject::Stack(stack) | Subject::Site { frames: stack, .. } => (stack.leaf(), None),
        };
        let rate = |rate: Rate| match unit {
            None => format!(
                "{} and {} objects",
                units::bytes(rate.bytes),
                units::objects(rate.objects)
            ),
            Some(Unit::Objects) => units::objects(rate.objects),
            Some(Unit::Bytes) => units::bytes(rate.bytes),
        };
        format!(
            "the allowance of {what} is more than twice what it needs: {} per iteration in \
             {baseline}, found {}",
            rate(finding.allowed),
            rate(finding.rate + finding.error)
        )
    });
    said.collect()
}

/// Returns a note to raise the timeout, if the timeout left less time than the budget.
fn timeout_within_budget(verdict: Verdict, end: LadderEnd, settings: &Effective) -> Option<String> {
    let ended_early = verdict == Verdict::Inconclusive
        && end == LadderEnd::Budget
        && settings.timeout < settings.budget;
    ended_early.then(|| {
        format!(
            "the timeout of {:?} leaves less time than the budget of {:?}: raise `timeout`",
            settings.timeout, settings.budget
        )
    })
}

/// Returns a note that the ladder went on past its budget, and why.
fn overtime(verdict: Verdict, climb: &Climb, settings: &Effective) -> Option<String> {
    let took = climb.overtime?.as_secs_f64();
    let budget = settings.budget;
    if climb.accused_at.is_some() && verdict != Verdict::Inconclusive {
        return (verdict <= Verdict::Improved).then(|| {
            format!(
                "something still grew when the budget of {budget:?} was spent; the ladder went on \
                 until {took:.1} s, and by then nothing grew any more"
            )
        });
    }
    let advice = match is_trusted(verdict) {
        true => ": with a larger `budget` a slower machine can tell as well",
        false => "",
    };
    Some(format!(
        "too little could be told within the budget of {budget:?}, so the ladder went on until \
         {took:.1} s{advice}"
    ))
}

/// Returns notes on how stacks were walked.
fn unwinding(greeting: &Greeting, ended: Walks) -> Vec<String> {
    let mut notes = Vec::new();
    let reason = greeting.get("unwinder-reason");
    if !reason.is_empty() {
        notes.push(format!(
            "stacks were walked by libgcc, which is slow: of plimsoll's own unwinder, {reason}"
        ));
    }
    let without_information = "at code without unwind information";
    let astray = "where unwind information led nowhere";
    for (walks, what) in [
        (ended.without_information, without_information),
        (ended.astray, astray),
    ] {
        if walks > 0 {
            notes.push(format!("the stacks of {walks} allocations end {what}"));
        }
    }
    notes
}

fn measured(greeting: &Greeting, plan: Plan, profile: &str) -> Option<Measured> {
    let jemalloc = greeting.get("jemalloc");
    (!jemalloc.is_empty()).then(|| Measured {
        target: greeting.get("target").to_owned(),
        profile: profile.to_owned(),
        toolchain: greeting.get("toolchain").to_owned(),
        // The rest of the version is a commit, which interests nobody.
        jemalloc: jemalloc.split('-').next().unwrap_or(jemalloc).to_owned(),
        sample_interval: plan.interval().bytes(),
        unwinder: greeting.get("unwinder").to_owned(),
    })
}

fn checks(climb: &Climb) -> Vec<Check> {
    let rungs = climb.profile.rungs.len();
    let mut checks = Vec::new();
    if rungs > 0 {
        let found = format!("{rungs} of {rungs} objects found on their stack");
        checks.push(check("canary", CheckOutcome::Passed, found));
        checks.push(climb.profile.coverage());
        checks.extend(climb.profile.outside_is_unknown());
        checks.extend(same_stacks(climb.profile.walks));
    }
    if let Some(failed) = &climb.broken {
        checks.retain(|check| check.name != failed.name);
        checks.push(failed.clone());
    }
    checks
}

/// Returns whether both unwinders found the same stacks, if both were asked.
fn same_stacks(walks: Walks) -> Option<Check> {
    let (compared, different) = (walks.compared, walks.different);
    let outcome = match different {
        0 => CheckOutcome::Passed,
        _ => CheckOutcome::Failed,
    };
    let detail = format!("{different} of {compared} stacks differ from what libgcc finds");
    (compared > 0).then(|| check("unwinder", outcome, detail))
}

/// Creates the folder of a scenario, and removes the files of earlier runs, so that they are
/// never mistaken for those of this run.
///
/// The folder is locked until the returned file is dropped. Another run of the same scenario,
/// from another terminal or with another cargo profile, waits.
pub(crate) fn clear(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let lock = File::create(folder.join(".lock"))?;
    lock.lock()?;
    for name in [
        ".dump",
        ".progress",
        PENDING_REPORT,
        layout::REPORT,
        layout::BEFORE,
        layout::AFTER,
        layout::GROWTH_FOLDED,
        layout::GROWTH_SVG,
        layout::NEW_BASELINE,
        layout::OUTPUT,
    ] {
        absent_is_fine(fs::remove_file(folder.join(name)))?;
    }
    forget_rungs(folder)?;
    Ok(lock)
}

/// Removes the report of an earlier run. If that fails, so does [`clear`].
pub(crate) fn forget_report(folder: &Path) {
    let _ = fs::remove_file(folder.join(layout::REPORT));
}

/// Removes the dumps of an attempt, before the next attempt.
pub(crate) fn forget_rungs(folder: &Path) -> io::Result<()> {
    let rungs = folder.join(layout::RUNGS);
    absent_is_fine(fs::remove_dir_all(&rungs))?;
    fs::create_dir_all(rungs)
}

/// The name of a report that is being written.
const PENDING_REPORT: &str = "report.json.part";

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Keeps the dumps of the verdict's first and last rung, in the form that other tools read.
pub(crate) fn keep_dumps(climb: &Climb, route: &Route<'_>) -> io::Result<()> {
    if let Some((before, after)) = before_and_after(route.folder, &climb.profile) {
        keep_dump(&before, &route.folder.join(layout::BEFORE))?;
        keep_dump(&after, &route.folder.join(layout::AFTER))?;
    }
    if route.terms.settings.keep_rungs {
        for rung in &climb.profile.rungs {
            let kept = layout::rung_file(route.folder, rung.iterations);
            keep_dump(&kept, &kept)?;
        }
        return Ok(());
    }
    absent_is_fine(fs::remove_dir_all(route.folder.join(layout::RUNGS)))
}

/// Copies a dump without its births, which other tools would take for addresses of code.
fn keep_dump(from: &Path, to: &Path) -> io::Result<()> {
    let dump = HeapDump::parse(&fs::read(from)?).map_err(io::Error::other)?;
    let mut file = BufWriter::new(File::create(to)?);
    write!(file, "{}", dump.without_births())?;
    file.flush()
}

/// Writes a report, and the files that are made from it.
///
/// `report.json` is written last and then renamed into place. So if it exists, all other files
/// exist too.
pub(crate) fn write(report: &Report, folder: &Path, baseline: Option<&str>) -> Result<(), String> {
    let said = |name: &str, outcome: io::Result<()>| {
        outcome.map_err(|error| format!("{}: {error}", folder.join(name).display()))
    };
    let write = |name: &str, text: &str| said(name, fs::write(folder.join(name), text));
    let files = files::of(report, baseline).map_err(|error| error.to_string())?;
    for (name, text) in files {
        write(name, &text)?;
    }
    write(PENDING_REPORT, &json::to_string(report))?;
    let renamed = fs::rename(folder.join(PENDING_REPORT), folder.join(layout::REPORT));
    said(layout::REPORT, renamed)
}
