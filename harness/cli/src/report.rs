//! `plimsoll report`: one run's reports, together.

use std::fmt::Write;
use std::path::PathBuf;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{json, text};

use crate::args::{Format, ReportArgs};
use crate::out::{Out, Paint, safe_line};
use crate::project::Project;
use crate::reports::{NO_RESULT, Outcome, Reports, Run, Scenario};

/// Of the JSON that joins reports; each report in it has its own.
const VERSION: u32 = 1;

pub(crate) fn run(args: &ReportArgs, out: &mut Out) -> anyhow::Result<()> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => default_dir(args)?,
    };
    if !dir.is_dir() {
        anyhow::bail!(
            "no reports in {}: there is no such folder\n  \
             hint: measure first, with `cargo test --test leaks`",
            crate::project::shown(&dir)
        );
    }
    let reports = Reports::collect(&dir)?;
    let run = reports.run(args.run.as_deref())?;
    for problem in reports.problems() {
        out.warning(&problem);
    }
    if run.left_out > 0 {
        let (n, s) = (run.left_out, if run.left_out == 1 { "" } else { "s" });
        out.note(&format!("{n} report{s} of other runs left out"));
    }
    let text = match args.format {
        Format::Text => as_text(&run, out),
        Format::Json => as_json(&run),
    };
    out.print(&text)?;
    Ok(())
}

fn default_dir(args: &ReportArgs) -> anyhow::Result<PathBuf> {
    match Project::find(&args.project) {
        Ok(project) => Ok(project.reports_dir()),
        // Reports outlive the sources: a folder copied from elsewhere will do,
        // unless a project was named.
        Err(err) if args.project.manifest_path.is_some() => Err(err),
        Err(err) => {
            let dir = PathBuf::from("target").join(plimsoll_core::layout::REPORTS);
            if dir.is_dir() { Ok(dir) } else { Err(err) }
        }
    }
}

fn as_text(run: &Run, out: &Out) -> String {
    let style = text::Style {
        color: out.color(),
        ..text::Style::plain()
    };
    let mut page = String::new();
    let mut after_block = false;
    for scenario in &run.scenarios {
        let (block, lines) = match &scenario.outcome {
            Outcome::Report(report) if report.verdict <= Verdict::Improved => {
                (false, text::one_line(report) + "\n")
            }
            Outcome::Report(report) => (true, text::render(report, &style)),
            Outcome::NoResult(why) => {
                let name = safe_line(&scenario.name);
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

/// `3 scenarios: 1 within, 1 regressed, 1 no result`
fn summary(run: &Run, out: &Out) -> String {
    let count = |verdict: Option<Verdict>| {
        run.scenarios
            .iter()
            .filter(|scenario| scenario.verdict() == verdict)
            .count()
    };
    let verdicts = Verdict::ALL.into_iter().map(Some).chain([None]);
    let counts: Vec<String> = verdicts
        .filter(|verdict| count(*verdict) > 0)
        .map(|verdict| {
            let text = format!("{} {}", count(verdict), word(verdict));
            out.paint(paint(verdict), &text)
        })
        .collect();
    let (n, s) = (
        run.scenarios.len(),
        if run.scenarios.len() == 1 { "" } else { "s" },
    );
    format!(
        "{n} scenario{s}: {} (run {})\n",
        counts.join(", "),
        safe_line(&run.id)
    )
}

fn word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or(NO_RESULT, Verdict::as_str)
}

fn paint(verdict: Option<Verdict>) -> Paint {
    match verdict {
        Some(Verdict::Within | Verdict::Improved) => Paint::Green,
        Some(Verdict::Inconclusive) => Paint::Yellow,
        Some(Verdict::Regressed | Verdict::Failed | Verdict::Broken) | None => Paint::Red,
    }
}

/// The run's own verdict: the greatest of its scenarios'. One without a result
/// never makes a run green, and says less than any that is not.
fn overall(scenarios: &[Scenario]) -> Option<Verdict> {
    let greatest = scenarios.iter().filter_map(Scenario::verdict).max()?;
    let complete = scenarios
        .iter()
        .all(|scenario| scenario.verdict().is_some());
    (complete || greatest > Verdict::Improved).then_some(greatest)
}

/// `report` is a report's own file, to the byte but for indentation: what reads
/// one reads the other, and no number is printed twice in two ways.
fn as_json(run: &Run) -> String {
    let mut text = format!(
        "{{\n  \"version\": {VERSION},\n  \"run\": {},\n  \"verdict\": {},\n  \"scenarios\": [",
        string(&run.id),
        string(word(overall(&run.scenarios)))
    );
    for (index, scenario) in run.scenarios.iter().enumerate() {
        let (problem, report) = match &scenario.outcome {
            Outcome::Report(report) => {
                let report = json::to_string(report);
                (
                    "null".to_owned(),
                    report.trim_end().replace('\n', "\n      "),
                )
            }
            Outcome::NoResult(why) => (string(why), "null".to_owned()),
        };
        let comma = if index > 0 { "," } else { "" };
        let fields = [
            ("package", string(&scenario.package)),
            ("target", string(&scenario.target)),
            ("scenario", string(&scenario.name)),
            ("verdict", string(word(scenario.verdict()))),
            ("problem", problem),
            ("report", report),
        ];
        let fields = fields
            .map(|(key, value)| format!("      \"{key}\": {value}"))
            .join(",\n");
        let _ = write!(text, "{comma}\n    {{\n{fields}\n    }}");
    }
    text.push_str("\n  ]\n}\n");
    text
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
