//! `plimsoll check`: tells whether the working tree grows faster than another revision.
//!
//! It tells whether a branch caused a growth, for projects that do not want to commit
//! baselines.
//!
//! ```text
//! the revision ─► worktree ─► climb ─┐ differences: pure ─► grew? once more, in turns,
//! the working tree ─────────► climb ─┘                      and for longer ─► text, JSON
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_core::report::units::count;
use plimsoll_core::report::{Report, flamegraph};
use plimsoll_core::{Per, layout};
use serde_json::{Value, json};

use crate::args::{CheckArgs, WhenToOverlay};
use crate::bench::Bench;
use crate::differences::{self, Difference, Kind};
use crate::measure::Cause;
use crate::revision::Revision;
use crate::session::{STOPPED_HERE, Session, Subject};
use crate::setup::{
    bench, cache, expect_test, home, interruptible, known, overlay, test, working_tree, worktree,
};
use crate::show;
use crate::sides::{self, Side};
use plimsoll_desk::atomic;
use plimsoll_desk::git::{Commit, Git};
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::{Out, Paint, safe_line};
use plimsoll_desk::project::shown;
use plimsoll_desk::status::{ExitStatus, Refused};
use plimsoll_report::joined::{self, Joined, Scenario};

const VERSION: u64 = 1;

pub fn run(args: &CheckArgs, out: &mut Out) -> anyhow::Result<()> {
    interruptible(STOPPED_HERE, |interrupt| check(args, interrupt, out))
}

/// The result for one scenario.
struct Checked {
    scenario: String,
    came: Result<Vec<Difference>, Not>,
    /// What its rates are per.
    per: Per,
    flamegraph: Option<PathBuf>,
}

/// Why a scenario was not compared.
enum Not {
    /// The revision does not have the scenario, and it cannot be copied there.
    New,
    /// One of the two revisions could not be measured.
    Measured(String),
}

impl Checked {
    fn is_worse(&self) -> bool {
        is_worse(self.came.as_deref().unwrap_or_default())
    }
}

fn check(args: &CheckArgs, interrupt: &Interrupt, out: &mut Out) -> anyhow::Result<()> {
    let home = home(args.comparison.bench.manifest_path.as_deref())?;
    let git = &home.git;
    let (name, base) = match &args.baseline_rev {
        Some(name) => (name.clone(), known(git, name)?),
        None => main_branch(git)?,
    };
    let session = Session::of(&args.comparison.bench, base.as_str().to_owned())?;
    let here = working_tree(&home, &session)?;
    if here == Revision::from(&base) {
        return Err(Refused::usage(format!(
            "{} is the commit that is checked out: there is nothing to compare\n  \
             hint: name another revision, with --baseline-rev",
            safe_line(&name)
        )));
    }
    for name in &args.scenarios {
        expect_test(&session, &home, name)?;
    }
    if let (Some(_), n @ (0 | 2..)) = (&session.watch, args.scenarios.len()) {
        return Err(Refused::usage(format!(
            "--watch: expected one scenario, the one that the command measures, found {n}"
        )));
    }
    let (package, target) = test(&session, &home)?;
    let subject = Subject {
        package,
        target,
        scenario: String::new(),
    };
    let laid_over = overlay(&home, &subject, &session)?;
    let worktree = worktree(git, &base, args.comparison.remove_stale)?;
    let mut bench = bench(&home, &session, &subject, laid_over, worktree, interrupt)?;
    let logs = bench.tools.logs.clone();
    let scenarios = scenarios(args, &mut bench, &here)?;
    let folder = layout::reports_dir(&home.target_dir).join("check");
    let (mut all, mut of_base) = (Vec::new(), Vec::new());
    for scenario in scenarios {
        bench.change_scenario(&scenario);
        bench.cache = cache(&home, &session, &bench.subject, bench.overlay.as_ref())?;
        let (mut flamegraph, mut per) = (None, Per::default());
        let came = match compare(&mut bench, &base, &here)? {
            Err(not) => Err(not),
            Ok(sides) => {
                let differences = differences(&sides);
                if !differences.is_empty() {
                    flamegraph = Some(picture(&folder, &scenario, &sides)?);
                }
                per.clone_from(&sides[1].report.per);
                let [before, _] = sides;
                of_base.push(before.report);
                Ok(differences)
            }
        };
        all.push(Checked {
            scenario,
            came,
            per,
            flamegraph,
        });
    }
    bench.tools.progress.clear();
    drop(bench);
    let kept = (!of_base.is_empty()).then(|| keep(&folder, &base, of_base));
    let kept = kept.transpose()?;
    let base = format!("{} ({})", safe_line(&name), base.short());
    let text = match args.comparison.json {
        true => format!("{:#}\n", as_json(&base, &all)),
        false => {
            let kept = kept.map_or(String::new(), |path| {
                let path = shown(&path);
                format!("for `plimsoll report --base-report`: {path}\n")
            });
            as_text(&base, &all, &logs, out) + &kept
        }
    };
    out.print(&text)?;
    if all.iter().any(Checked::is_worse) {
        return Err(Refused::quiet(ExitStatus::Regressed));
    }
    let is_unknown = |checked: &Checked| match &checked.came {
        Err(not) => matches!(not, Not::Measured(_)),
        Ok(differences) => is_unsure(differences),
    };
    match all.iter().any(is_unknown) {
        true => Err(Refused::quiet(ExitStatus::NoVerdict)),
        false => Ok(()),
    }
}

/// Returns the merge base with the main branch, and a name for it.
fn main_branch(git: &Git) -> anyhow::Result<(String, Commit)> {
    let none = || {
        Refused::usage(
            "found no main branch that shares history with this commit\n  \
             hint: name a revision with --baseline-rev; a shallow clone lacks most of the history",
        )
    };
    let of_origin = git.try_ask(&["symbolic-ref", "--short", "refs/remotes/origin/HEAD"])?;
    let usual = ["origin/main", "origin/master", "main", "master"].map(str::to_owned);
    let head = git.commit("HEAD")?.ok_or_else(none)?;
    for name in of_origin.into_iter().chain(usual) {
        let Some(tip) = git.commit(&name)? else {
            continue;
        };
        let mut bases = git.merge_bases(&head, &tip)?;
        return match bases.is_empty() {
            true => Err(none()),
            false => Ok((format!("the base on {name}"), bases.swap_remove(0))),
        };
    }
    Err(none())
}

/// Returns the scenarios that were named, or all of the working tree's test. The command that
/// watches a server measures one.
fn scenarios(
    args: &CheckArgs,
    bench: &mut Bench,
    here: &Revision,
) -> anyhow::Result<BTreeSet<String>> {
    let named = args.scenarios.iter().cloned().collect();
    if bench.tools.session.watch.is_some() {
        return Ok(named);
    }
    // The test of the working tree says which scenarios exist, so nothing is copied over it.
    let when = std::mem::replace(&mut bench.when, WhenToOverlay::Never);
    let built = bench.ready(here)?;
    bench.when = when;
    let built = built.map_err(|why| {
        let logs = shown(&bench.tools.logs);
        let text = format!("the working tree cannot be measured: {why}\n  logs: {logs}");
        Refused::with_status(ExitStatus::NoVerdict, text)
    })?;
    if built.scenarios.is_empty() {
        let text = "the working tree's test has no scenarios: there is nothing to compare";
        return Err(Refused::with_status(ExitStatus::NoVerdict, text));
    }
    if named.is_empty() {
        return Ok(built.scenarios);
    }
    match named.difference(&built.scenarios).next() {
        None => Ok(named),
        Some(name) => {
            let names: Vec<String> = built.scenarios.iter().map(|name| safe_line(name)).collect();
            Err(Refused::usage(format!(
                "the test has no scenario {}\n  expected some of: {}",
                safe_line(name),
                names.join(", ")
            )))
        }
    }
}

/// Measures a scenario at both revisions. A stack that grows faster must do so again in a
/// longer measurement.
fn compare(
    bench: &mut Bench,
    base: &Commit,
    here: &Revision,
) -> anyhow::Result<Result<[Side; 2], Not>> {
    let at_base = Revision::from(base);
    let sides = [
        (format!("at {}", base.short()), &at_base),
        ("in the working tree".to_owned(), here),
    ];
    let names = sides.clone().map(|(name, _)| name);
    let is_enough = |sides: &[Side; 2]| {
        let differences = differences(sides);
        !is_worse(&differences) && !is_unsure(&differences)
    };
    let (place, why) = match sides::in_turns(bench, sides, is_enough)? {
        Ok(sides) => return Ok(Ok(sides)),
        Err(unmeasured) => unmeasured,
    };
    let is_new = match why.cause {
        _ if place == 1 => false,
        Cause::NoScenario => true,
        // The scenario may be new: it was copied into a revision that lacks the code that it
        // tests.
        Cause::NoTest | Cause::DoesNotBuild => bench.lacks_the_scenario(base)?,
        _ => false,
    };
    Ok(Err(match is_new {
        true => Not::New,
        false => Not::Measured(format!("{}: {why}", names[place])),
    }))
}

fn differences([before, after]: &[Side; 2]) -> Vec<Difference> {
    differences::between(&before.climb(), &after.climb())
}

fn is_worse(differences: &[Difference]) -> bool {
    let mut differences = differences.iter();
    differences.any(|difference| difference.kind.is_worse())
}

/// Tells whether nothing is sure to grow faster, and something may.
fn is_unsure(differences: &[Difference]) -> bool {
    let is_perhaps = |difference: &Difference| difference.kind == Kind::Perhaps;
    !is_worse(differences) && differences.iter().any(is_perhaps)
}

/// Draws the difference between the two revisions, stack by stack, and returns the path.
fn picture(folder: &Path, scenario: &str, sides: &[Side; 2]) -> anyhow::Result<PathBuf> {
    let [before, after] = sides;
    let report = differences::report(&before.report, &after.report);
    let svg = flamegraph::render(&report).context("the flame graph")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot use {}", shown(folder)))?;
    let path = folder.join(format!("{}.svg", layout::scenario_file_name(scenario)));
    atomic::write_output(&path, &svg)?;
    Ok(path)
}

/// Writes the measurements of the base as one report, and returns its path. The file is not
/// called `report.json`, because `plimsoll report` would take it for a run of the working tree.
fn keep(folder: &Path, base: &Commit, reports: Vec<Report>) -> anyhow::Result<PathBuf> {
    let joined = Joined::of_run(base.short(), reports.into_iter().map(Scenario::from));
    fs::create_dir_all(folder).with_context(|| format!("cannot use {}", shown(folder)))?;
    let path = folder.join("base.json");
    atomic::write_output(&path, joined::json::to_string(&joined))?;
    Ok(path)
}

fn as_text(base: &str, all: &[Checked], logs: &Path, out: &Out) -> String {
    let mut text = String::new();
    for checked in all {
        let name = safe_line(&checked.scenario);
        let differences = match &checked.came {
            Err(Not::New) => {
                let what = out.paint(Paint::Bold, "new");
                text += &format!("{name}: {what}, there is nothing to compare it with at {base}\n");
                continue;
            }
            Err(Not::Measured(why)) => {
                let what = out.paint(Paint::Yellow, "cannot be compared");
                text += &format!("{name}: {what}, {why}\n  logs: {}\n", shown(logs));
                continue;
            }
            Ok(differences) => differences,
        };
        let worse = differences.iter().filter(|one| one.kind.is_worse()).count();
        let is_unsure = is_unsure(differences);
        let what = match worse {
            0 if is_unsure => out.paint(Paint::Yellow, "unsure whether a stack grows faster"),
            0 => out.paint(Paint::Green, "nothing grows faster"),
            1 => out.paint(Paint::Red, "1 stack grows faster"),
            n => out.paint(
                Paint::Red,
                &format!("{} stacks grow faster", count(n as u64)),
            ),
        };
        text += &format!("{name}: {what} than at {base}\n");
        for difference in differences {
            text += &format!(
                "  {:<7} {}\n          before {}, now {}{}\n",
                difference.kind,
                safe_line(&show::leaf(&difference.stack)),
                show::rate(difference.before),
                show::rate(difference.after),
                show::per(&checked.per)
            );
            if let Some(holder) = &difference.holder {
                text += &format!("          {}\n", safe_line(holder));
            }
        }
        if is_unsure {
            text += match checked.per.is_iteration() {
                true => "  hint: measure for longer, with --budget 60s\n",
                false => "  hint: watch for longer, or send more requests\n",
            };
        }
        if let Some(path) = &checked.flamegraph {
            text += &format!("  flame graph: {}\n", shown(path));
        }
    }
    text
}

fn as_json(base: &str, all: &[Checked]) -> Value {
    let scenario = |checked: &Checked| {
        let (result, problem) = match &checked.came {
            Err(Not::New) => ("new", None),
            Err(Not::Measured(why)) => ("not compared", Some(why)),
            Ok(_) if checked.is_worse() => ("regressed", None),
            Ok(differences) if is_unsure(differences) => ("unsure", None),
            Ok(_) => ("within", None),
        };
        json!({
            "scenario": checked.scenario,
            "result": result,
            "problem": problem,
            "per": checked.per,
            "differences": checked.came.as_deref().unwrap_or_default(),
            "flamegraph": checked.flamegraph,
        })
    };
    json!({
        "version": VERSION,
        "plimsoll": env!("CARGO_PKG_VERSION"),
        "base": base,
        "scenarios": all.iter().map(scenario).collect::<Vec<Value>>(),
    })
}
