//! `plimsoll report`: shows the reports of one run together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::view::{Cause, Sum};
use plimsoll_core::report::{Finding, Report, text};

use crate::accept::unknown;
use crate::args::{Format, ReportArgs};
use crate::base;
use plimsoll_bot::environment::Environment;
use plimsoll_bot::event;
use plimsoll_bot::target::{self, Known, Named};
use plimsoll_core::layout;
use plimsoll_core::text::escape::{columns, cut_middle};
use plimsoll_desk::atomic;
use plimsoll_desk::out::{Out, Paint, safe_line};
use plimsoll_desk::project::{self, Project, shown};
use plimsoll_report::input::{self, Reader};
use plimsoll_report::joined::{self, Joined, NO_RESULT, Scenario, Source, word};
use plimsoll_report::render::base::Base;
use plimsoll_report::render::entries::{Entry, Member, entries, worst_first};
use plimsoll_report::render::{self, Context};

mod explain;

pub(crate) fn run(args: &ReportArgs, out: &mut Out) -> anyhow::Result<()> {
    let mut joined = read(args, out)?;
    if joined.source.is_none() {
        joined.source = source();
    }
    let terminal = args.output.is_none();
    let columns = out.columns().filter(|_| terminal);
    let style = text::Style {
        all: args.all,
        ..text::Style::of(columns, out.color() && terminal)
    };
    let of_base = args.base_report.as_ref();
    let context = Context {
        main: of_base
            .map(|path| base::read(path, Reader::Desk, out))
            .transpose()?,
        ..Context::default()
    };
    let text = match args.format {
        Format::Text if args.explain.is_some() => {
            explain::explain(&joined, args.explain.as_deref().unwrap_or_default(), &style)?
        }
        Format::Text => as_text(&joined, context.main.as_ref(), &style, out),
        Format::Markdown => render::markdown::comment(&joined, &context),
        Format::Summary => render::markdown::summary(&joined, &context),
        Format::Json => joined::json::to_string(&joined),
        Format::Html => render::html::render(&joined, &context),
        Format::Sarif => render::sarif::render(&joined),
        Format::Junit => render::junit::render(&joined),
    };
    match &args.output {
        Some(path) => atomic::write_output(path, &text),
        None => Ok(out.print(&text)?),
    }
}

/// Reads the folders and files that were named, by default those of the last run. If scenarios
/// were named as well, the rest is left out.
fn read(args: &ReportArgs, out: &Out) -> anyhow::Result<Joined> {
    let dir = default_dir(args);
    let is_there = |given: &PathBuf| given.exists();
    let has_reports = dir.as_ref().is_ok_and(is_there) || args.reports.iter().any(is_there);
    let is_name = |given: &PathBuf| {
        let name = given.to_str().filter(|_| has_reports);
        let name = name.filter(|name| layout::valid_scenario_name(name));
        // A folder of the project may have the name of a scenario, which a test tells people to type.
        name.is_some_and(|name| {
            !is_there(given) || dir.as_ref().is_ok_and(|dir| has_scenario(dir, name))
        })
    };
    let (names, mut paths): (Vec<_>, Vec<_>) = args.reports.iter().cloned().partition(is_name);
    if paths.is_empty() {
        paths.push(dir?);
    }
    let mut joined = input::read(&paths, args.run.as_deref(), Reader::Desk, out)?;
    let is = |one: &Scenario, name: &PathBuf| name.as_os_str() == one.name.as_str();
    for name in &names {
        if !joined.scenarios.iter().any(|one| is(one, name)) {
            let problem = format!(
                "no scenario {} in the last run, and no such file or folder",
                shown(name)
            );
            return Err(unknown(&problem, &joined.scenarios));
        }
    }
    let is_wanted = |one: &Scenario| names.is_empty() || names.iter().any(|name| is(one, name));
    joined.scenarios.retain(is_wanted);
    Ok(joined)
}

/// Returns whether a scenario of that name has left files in a folder of reports.
fn has_scenario(reports: &Path, name: &str) -> bool {
    let inside = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
    let packages = inside(reports.to_owned());
    let mut targets = packages.flat_map(|package| inside(package.path()));
    targets.any(|target| {
        target
            .path()
            .join(layout::scenario_file_name(name))
            .is_dir()
    })
}

/// Returns the change that was measured, if the event of a workflow names it.
fn source() -> Option<Source> {
    let environment = Environment::of_this_process();
    if !environment.actions {
        return None;
    }
    let event = event::read(&environment).ok()??;
    match target::known(&Named::default(), &environment, Some(&event)).ok()? {
        Known::Target(target) => Some(crate::comment::source(
            &target,
            project::prefix_in_repository(),
        )),
        Known::PullRequest { .. } => None,
    }
}

fn default_dir(args: &ReportArgs) -> anyhow::Result<PathBuf> {
    match Project::find(args.project.manifest_path.as_deref()) {
        Ok(project) => Ok(project.reports_dir()),
        // Reports may be in a folder without a project, for example copied from elsewhere.
        // They are found there unless a project was named.
        Err(err) if args.project.manifest_path.is_some() => Err(err),
        Err(err) => {
            let dir = PathBuf::from("target").join(layout::REPORTS);
            if dir.is_dir() { Ok(dir) } else { Err(err) }
        }
    }
}

fn as_text(run: &Joined, main: Option<&Base>, style: &text::Style, out: &Out) -> String {
    let titles = run.titles();
    let shown = match style.all {
        true => BTreeMap::new(),
        false => shown_elsewhere(run, &titles),
    };
    let mut page = String::new();
    let mut after_block = false;
    for (place, (scenario, title)) in run.scenarios.iter().zip(&titles).enumerate() {
        let older = scenario.older.as_deref();
        let of_run = older.map_or(String::new(), |older| {
            format!("(run {}, older than this run)", safe_line(&older.run.id))
        });
        let (block, lines) = match (scenario.report(), older, shown.get(&place)) {
            (Some(report), ..) if is_quiet(report) => (false, text::one_line(report) + "\n"),
            (Some(report), _, Some(other)) => {
                let sum = Sum::of(report, &report.growing()).short();
                let (name, other) = (safe_line(title), safe_line(other));
                let grows = out.paint(Paint::Red, "keeps growing");
                let why = format!(
                    "{sum} per {}, for the same reason as {other}",
                    report.per.one()
                );
                (false, format!("{name}: {grows} by {why}\n"))
            }
            (Some(report), ..) => (true, text::render(report, style)),
            (None, Some(older), _) if !style.all || is_quiet(older) => {
                (false, format!("{} {of_run}\n", text::one_line(older)))
            }
            (None, Some(older), _) => (true, format!("{of_run}\n{}", text::render(older, style))),
            (None, None, _) => continue,
        };
        if (block && !page.is_empty()) || after_block {
            page.push('\n');
        }
        page.push_str(&lines);
        after_block = block;
    }
    let entries = entries(run);
    // The older report of a scenario that was not selected stands above.
    let is_shown = |member: &&Member<'_>| member.scenario.older.is_none();
    for (why, members) in entries.iter().flat_map(Entry::reasons) {
        let members = members.into_iter().filter(is_shown);
        let names: Vec<String> = members.map(|one| safe_line(&titles[one.place])).collect();
        if names.is_empty() {
            continue;
        }
        if after_block {
            page.push('\n');
            after_block = false;
        }
        let word = out.paint(Paint::Red, NO_RESULT);
        page += &format!("{}: {word}, {}\n", names.join(", "), safe_line(why));
    }
    page.push('\n');
    page.push_str(&summary(run, out));
    if let Some(main) = main {
        page.push_str(&compared(&entries, main, &titles, style.width));
    }
    page
}

/// Returns a line that names the base, and one for each cause: how it compares with the base.
fn compared(entries: &[Entry<'_>], main: &Base, titles: &[String], width: usize) -> String {
    let mut lines = format!("{}\n", safe_line(&main.named().plain()));
    for entry in entries {
        let Some(since) = main.since(entry) else {
            continue;
        };
        let since = safe_line(&since.plain());
        let mut what = entry.scenarios(titles);
        if let Some(place) = entry.cause().and_then(Cause::place) {
            what = what.say(", in ").join(place);
        }
        let room = width.saturating_sub(columns(&since) + "  : ".len());
        let what = cut_middle(&safe_line(&what.plain()), room.max(20));
        lines += &format!("  {what}: {since}\n");
    }
    lines
}

/// Returns the scenarios that grow only for reasons which a worse scenario has as well, each
/// with the title of that scenario, which is printed in full.
fn shown_elsewhere<'a>(run: &Joined, titles: &'a [String]) -> BTreeMap<usize, &'a str> {
    let mut seen: BTreeMap<_, usize> = BTreeMap::new();
    let mut elsewhere = BTreeMap::new();
    for place in worst_first(run) {
        let report = run.scenarios[place].report();
        let Some(report) = report.filter(|report| report.verdict == Verdict::Regressed) else {
            continue;
        };
        let past = report.past();
        let keys: Vec<_> = past.iter().map(|finding| finding.cause()).collect();
        match keys.first().and_then(|key| seen.get(key)) {
            Some(other) if keys.iter().all(|key| seen.contains_key(key)) => {
                elsewhere.insert(place, titles[*other].as_str());
            }
            _ => {
                for key in keys {
                    seen.entry(key).or_insert(place);
                }
            }
        }
    }
    elsewhere
}

/// Returns whether the report needs nobody's attention.
fn is_quiet(report: &Report) -> bool {
    report.verdict == Verdict::Within && !report.findings.iter().any(Finding::is_remarkable)
}

/// Returns a summary such as `3 scenarios: 1 within, 1 regressed, 1 no result`. Results of older
/// runs are counted apart, whatever they are.
fn summary(run: &Joined, out: &Out) -> String {
    let older = run
        .scenarios
        .iter()
        .filter(|scenario| scenario.older.is_some());
    let older = older.count();
    let counts = run
        .counts()
        .into_iter()
        .map(|(verdict, count)| match verdict {
            None => (verdict, count - older),
            Some(_) => (verdict, count),
        });
    let counts = counts
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| {
            let text = format!("{count} {}", word(verdict));
            out.paint(paint(verdict), &text)
        });
    let mut counts: Vec<String> = counts.collect();
    if older > 0 {
        let text = format!("{older} of older runs");
        counts.push(out.paint(Paint::Yellow, &text));
    }
    let s = |number| if number == 1 { "" } else { "s" };
    let n = run.scenarios.len();
    let runs: Vec<String> = run.runs.iter().map(|id| safe_line(id)).collect();
    format!(
        "{n} scenario{}: {} (run{} {})\n",
        s(n),
        counts.join(", "),
        s(runs.len()),
        runs.join(", ")
    )
}

fn paint(verdict: Option<Verdict>) -> Paint {
    match verdict {
        Some(Verdict::Within | Verdict::Improved) => Paint::Green,
        Some(Verdict::Inconclusive) => Paint::Yellow,
        Some(Verdict::Regressed | Verdict::Failed | Verdict::Broken) | None => Paint::Red,
    }
}
