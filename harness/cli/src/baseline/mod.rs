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

use args::{BaselineArgs, BaselineCommand, CheckArgs, ListArgs, ShowArgs};
use rules::Level;
use shelf::Shelf;
pub(crate) use shelf::today;

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

fn list(args: &ListArgs, out: &mut Out) -> anyhow::Result<()> {
    let shelf = Shelf::read(&Project::find(args.project.manifest_path.as_deref())?, None)?;
    warn(&shelf, out);
    match args.json {
        true => out.print(&json::list(&shelf))?,
        false => out.print(&text::list(&shelf, out))?,
    }
    refuse_unreadable(&shelf, out)
}

fn show(args: &ShowArgs, out: &mut Out) -> anyhow::Result<()> {
    let scenario = &args.scenario;
    let shelf = Shelf::read(
        &Project::find(args.project.manifest_path.as_deref())?,
        Some(scenario),
    )?;
    warn(&shelf, out);
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
    let names: Vec<&str> = shelf.scenarios.iter().map(String::as_str).collect();
    if !names.is_empty() && !names.contains(&scenario) {
        out.warning(&format!(
            "no measured test has a scenario `{}`\n  expected one of {}",
            safe_line(scenario),
            safe_line(&names.join(", "))
        ));
    }
}

fn warn(shelf: &Shelf, out: &Out) {
    for warning in &shelf.warnings {
        out.warning(warning);
    }
    if shelf.is_unmeasured() {
        out.note(
            "nothing was measured here, so neither the scenarios nor their needs are known\n  \
             hint: measure with `cargo test`",
        );
    }
}

fn refuse_unreadable(shelf: &Shelf, out: &Out) -> anyhow::Result<()> {
    let mut unreadable = shelf.unreadable().peekable();
    if unreadable.peek().is_none() {
        return Ok(());
    }
    for file in unreadable {
        out.error(&file.why);
    }
    Err(Refused::quiet(ExitStatus::OwnFailure))
}

fn check(args: &CheckArgs, name: &str, out: &mut Out) -> anyhow::Result<()> {
    let shelf = Shelf::read(&Project::find(args.project.manifest_path.as_deref())?, None)?;
    warn(&shelf, out);
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
