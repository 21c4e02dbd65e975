//! `plimsoll report`: shows the reports of one run together.

use std::path::PathBuf;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, text};

use crate::args::{Format, ReportArgs};
use plimsoll_bot::environment::Environment;
use plimsoll_bot::event;
use plimsoll_bot::target::{self, Known, Named};
use plimsoll_desk::atomic;
use plimsoll_desk::out::{Out, Paint, safe_line};
use plimsoll_desk::project::{self, Project};
use plimsoll_report::input::{self, Reader};
use plimsoll_report::joined::{self, Joined, NO_RESULT, Outcome, Source, word};
use plimsoll_report::render::{self, Context};

mod explain;

pub(crate) fn run(args: &ReportArgs, out: &mut Out) -> anyhow::Result<()> {
    let paths = match args.reports.as_slice() {
        [] => vec![default_dir(args)?],
        named => named.to_vec(),
    };
    let mut joined = input::read(&paths, args.run.as_deref(), Reader::Desk, out)?;
    if joined.source.is_none() {
        joined.source = source();
    }
    let style = text::Style {
        color: out.color() && args.output.is_none(),
        ..text::Style::plain()
    };
    let text = match args.format {
        Format::Text if args.explain.is_some() => {
            explain::explain(&joined, args.explain.as_deref().unwrap_or_default(), &style)?
        }
        Format::Text => as_text(&joined, out),
        Format::Markdown => render::markdown::comment(&joined, &Context::default()),
        Format::Summary => render::markdown::summary(&joined, &Context::default()),
        Format::Json => joined::json::to_string(&joined),
        Format::Html => render::html::render(&joined),
        Format::Sarif => render::sarif::render(&joined),
        Format::Junit => render::junit::render(&joined),
    };
    match &args.output {
        Some(path) => atomic::write_output(path, &text),
        None => Ok(out.print(&text)?),
    }
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
            let dir = PathBuf::from("target").join(plimsoll_core::layout::REPORTS);
            if dir.is_dir() { Ok(dir) } else { Err(err) }
        }
    }
}

fn as_text(run: &Joined, out: &Out) -> String {
    let style = text::Style {
        color: out.color(),
        ..text::Style::plain()
    };
    let mut page = String::new();
    let mut after_block = false;
    for (scenario, title) in run.scenarios.iter().zip(run.titles()) {
        let (block, lines) = match &scenario.outcome {
            Outcome::Report(report) if is_quiet(report) => (false, text::one_line(report) + "\n"),
            Outcome::Report(report) => (true, text::render(report, &style)),
            Outcome::NoResult(why) => {
                let name = safe_line(&title);
                let word = out.paint(Paint::Red, NO_RESULT);
                (false, format!("{name}: {word}, {}\n", safe_line(why)))
            }
        };
        if (block && !page.is_empty()) || after_block {
            page.push('\n');
        }
        page.push_str(&lines);
        after_block = block;
    }
    page.push('\n');
    page.push_str(&summary(run, out));
    page
}

/// Returns whether the report needs nobody's attention.
fn is_quiet(report: &Report) -> bool {
    report.verdict == Verdict::Within && !report.findings.iter().any(Finding::is_remarkable)
}

/// Returns a summary such as `3 scenarios: 1 within, 1 regressed, 1 no result`.
fn summary(run: &Joined, out: &Out) -> String {
    let counts = run.counts().into_iter().map(|(verdict, count)| {
        let text = format!("{count} {}", word(verdict));
        out.paint(paint(verdict), &text)
    });
    let counts: Vec<String> = counts.collect();
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
