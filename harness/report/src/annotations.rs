//! Annotations at the lines to blame, for the check run and for the log of GitHub's runner.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, units};
use serde_json::{Value, json};

use crate::joined::{Joined, NO_RESULT, Outcome};
use crate::render::plain::{self, Place};
use plimsoll_text::sink;

/// The runner shows this many annotations of each level, and drops the rest.
const MAX_COMMANDS_OF_A_LEVEL: usize = 10;
/// GitHub accepts 64 KB, but people read a line or two.
const MAX_MESSAGE: usize = 2_000;
const MAX_TITLE: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    Warning,
}

/// One annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    pub level: Level,
    /// `None` if no line of the change is to blame.
    pub place: Option<Place>,
    pub title: String,
    pub message: String,
}

/// The files that an annotation may point to.
#[derive(Debug)]
pub enum Files<'a> {
    /// The files that the pull request changes, as the API lists them.
    Changed(&'a BTreeSet<String>),
    /// The files of the checkout, if the API could not be asked.
    CheckedOut(&'a Path),
    None,
}

impl Files<'_> {
    fn have(&self, path: &str) -> bool {
        match self {
            Files::Changed(files) => files.contains(path),
            Files::CheckedOut(root) => root.join(path).is_file(),
            Files::None => false,
        }
    }
}

/// Returns the annotations, worst scenario first.
///
/// The first annotation of every scenario comes before the second of any, because only the
/// first few are shown.
pub fn of(joined: &Joined, prefix: &str, files: &Files<'_>) -> Vec<Annotation> {
    let titles = joined.titles();
    let mut order: Vec<usize> = (0..joined.scenarios.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(joined.scenarios[index].verdict()));
    let of_scenario = |index: usize| {
        let title = &titles[index];
        match &joined.scenarios[index].outcome {
            Outcome::NoResult(why) => vec![Annotation {
                level: Level::Warning,
                place: None,
                title: format!("{title}: {NO_RESULT}"),
                message: why.clone(),
            }],
            Outcome::Report(report) if report.verdict > Verdict::Improved => {
                of_report(title, report, prefix, files)
            }
            Outcome::Report(_) => Vec::new(),
        }
    };
    let of_scenarios = order.into_iter().map(of_scenario);
    let numbered = of_scenarios.flat_map(|annotations| annotations.into_iter().enumerate());
    let mut numbered: Vec<(usize, Annotation)> = numbered.collect();
    numbered.sort_by_key(|(number, _)| *number);
    let annotations = numbered.into_iter().map(|(_, annotation)| annotation);
    annotations.collect()
}

fn of_report(title: &str, report: &Report, prefix: &str, files: &Files<'_>) -> Vec<Annotation> {
    let level = match report.verdict {
        Verdict::Within | Verdict::Improved | Verdict::Inconclusive => Level::Warning,
        Verdict::Regressed | Verdict::Failed | Verdict::Broken => Level::Error,
    };
    let growing = report.of(|finding| finding.verdict == Verdict::Regressed);
    let annotations = growing.into_iter().map(|finding| Annotation {
        level,
        place: place(finding, prefix, files),
        title: format!("{title} keeps growing"),
        message: message(title, report, finding),
    });
    let mut annotations: Vec<Annotation> = annotations.collect();
    if annotations.is_empty() {
        let message = match &report.failure {
            Some(failure) => failure.what.clone(),
            None => plimsoll_core::report::text::one_line(report),
        };
        annotations.push(Annotation {
            level,
            place: None,
            title: format!("{title}: {}", report.verdict),
            message,
        });
    }
    annotations
}

fn message(title: &str, report: &Report, finding: &Finding) -> String {
    let iterations = units::plural(report.iterations(), "iteration", "iterations");
    let mut text = format!("{}, over {iterations}.", report.sentence(finding).plain());
    let callers = finding.frames.iter().skip(1).take(6);
    for frame in callers {
        text.push_str(&format!("\n  called by {}", frame.function));
    }
    if let Some(step) = report.accept("").filter(|_| title == report.scenario) {
        text.push_str(&format!("\n{}: {}", step.to, step.command));
    }
    text
}

/// Returns the place of the frame nearest to the leaf that is in one of the files.
fn place(finding: &Finding, prefix: &str, files: &Files<'_>) -> Option<Place> {
    let mut places = finding.frames.iter();
    places.find_map(|frame| plain::place(frame, prefix).filter(|place| files.have(&place.path)))
}

impl Annotation {
    /// Returns the annotation as the API for check runs expects it. The API accepts only
    /// annotations with a place.
    pub fn as_json(&self) -> Value {
        let place = self.place.as_ref();
        json!({
            "path": place.map_or("", |place| &place.path),
            "start_line": place.map_or(1, |place| place.line),
            "end_line": place.map_or(1, |place| place.line),
            "annotation_level": match self.level {
                Level::Error => "failure",
                Level::Warning => "warning",
            },
            "title": sink::plain_line(&self.title, MAX_TITLE),
            "message": sink::plain_text(&self.message, MAX_MESSAGE),
        })
    }

    /// Returns the annotation as a command that the runner reads on standard output.
    fn as_command(&self) -> String {
        let word = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let mut properties = Vec::new();
        if let Some(Place { path, line }) = &self.place {
            let path = sink::workflow_command_property(path, 1_000);
            properties.push(format!("file={path}"));
            properties.push(format!("line={line}"));
        }
        let title = sink::workflow_command_property(&self.title, MAX_TITLE);
        properties.push(format!("title={title}"));
        let message = sink::workflow_command_data(&self.message, MAX_MESSAGE);
        format!("::{word} {}::{message}", properties.join(","))
    }
}

/// Returns lines for the runner: of each level as many as the runner shows.
pub fn commands<'a>(annotations: impl Iterator<Item = &'a Annotation>) -> Vec<String> {
    let (errors, warnings): (Vec<&Annotation>, Vec<&Annotation>) =
        annotations.partition(|one| one.level == Level::Error);
    let of_level = |level: Vec<&Annotation>| {
        let shown = level.into_iter().take(MAX_COMMANDS_OF_A_LEVEL);
        shown.map(Annotation::as_command).collect::<Vec<_>>()
    };
    [of_level(errors), of_level(warnings)].concat()
}
