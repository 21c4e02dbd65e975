//! `plimsoll baseline`: the growth that a project has accepted.
//!
//! ```text
//! baselines/*.toml, git, newest reports ──► shelf ─┬─► text, json    list, show
//!                                                  └─► rules ──►     check
//! ```

mod age;
pub(crate) mod args;
mod json;
mod rules;
mod shelf;
mod text;

use args::{AllArgs, BaselineArgs, BaselineCommand, ShowArgs};
use shelf::{Level, Shelf};

use crate::args::ProjectArgs;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::project::Project;
use plimsoll_desk::status::{ExitStatus, Refused};

pub(crate) fn run(args: &BaselineArgs, name: &str, out: &mut Out) -> anyhow::Result<()> {
    match &args.command {
        BaselineCommand::List(args) => list(args, out),
        BaselineCommand::Show(args) => show(args, out),
        BaselineCommand::Check(args) => check(args, name, out),
    }
}

fn list(args: &AllArgs, out: &mut Out) -> anyhow::Result<()> {
    let shelf = read(&args.project, None, out)?;
    out.print(&match args.json {
        true => json::list(&shelf),
        false => text::list(&shelf, out),
    })?;
    refuse_unreadable(&shelf, out)
}

fn show(args: &ShowArgs, out: &mut Out) -> anyhow::Result<()> {
    let scenario = &args.scenario;
    let shelf = read(&args.project, Some(scenario), out)?;
    if shelf.files().next().is_none() {
        out.print(&format!(
            "{}: no baseline, nothing may grow\n",
            safe_line(scenario)
        ))?;
        warn_of_no_scenario(&shelf, scenario, out);
    }
    out.print(&text::show(&shelf, out))?;
    refuse_unreadable(&shelf, out)
}

/// Warns if no measured test has this scenario: a misspelt name has no baseline either.
fn warn_of_no_scenario(shelf: &Shelf, scenario: &str, out: &Out) {
    let known = &shelf.scenarios;
    if !known.is_empty() && !known.contains(scenario) {
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        out.warning(&format!(
            "no measured test has a scenario `{}`\n  expected one of {}",
            safe_line(scenario),
            safe_line(&names.join(", "))
        ));
    }
}

fn read(args: &ProjectArgs, scenario: Option<&str>, out: &Out) -> anyhow::Result<Shelf> {
    let shelf = Shelf::read(&Project::find(args.manifest_path.as_deref())?, scenario)?;
    for warning in &shelf.warnings {
        out.warning(warning);
    }
    if shelf.is_unmeasured() {
        out.note(
            "nothing was measured here, so neither the scenarios nor their needs are known\n  \
             hint: measure with `cargo test`",
        );
    }
    Ok(shelf)
}

fn refuse_unreadable(shelf: &Shelf, out: &Out) -> anyhow::Result<()> {
    let mut done = Ok(());
    for file in shelf.files().filter_map(|file| file.content.as_ref().err()) {
        out.error(&file.message);
        done = Err(Refused::quiet(ExitStatus::OwnFailure));
    }
    done
}

fn check(args: &AllArgs, name: &str, out: &mut Out) -> anyhow::Result<()> {
    let shelf = read(&args.project, None, out)?;
    let problems = rules::check(&shelf, name);
    if args.json {
        out.print(&json::check(&shelf, &problems))?;
    } else {
        for problem in &problems {
            match problem.level {
                Level::Error => out.error(&problem.message),
                Level::Warning => out.warning(&problem.message),
            }
        }
        out.print(&text::summary(&shelf, &problems))?;
    }
    match problems.iter().any(|problem| problem.level == Level::Error) {
        true => Err(Refused::quiet(ExitStatus::Regressed)),
        false => Ok(()),
    }
}
