//! Annotations at the lines to blame, for the check run and for the log of GitHub's runner.

use plimsoll_core::report::{CheckOutcome, Finding};
use serde_json::{Value, json};

use crate::joined::{Joined, Outcome, word};
use crate::render::base::Base;
use crate::render::entries::{Entry, Kind, entries};
use crate::render::plain::{self, Place};
use plimsoll_core::text::sink;

/// The runner shows this many annotations of each level, and drops the rest.
const MAX_COMMANDS_OF_A_LEVEL: usize = 10;
/// GitHub accepts 64 KB, but people read a line or two.
const MAX_MESSAGE: usize = 2_000;
const MAX_TITLE: usize = 255;
/// Frames behind the first. More than these are in the report.
const MAX_CALLERS: usize = 6;

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

/// Returns an annotation for each cause, the one that needs a person most first. `main` is a
/// run of the base, if there is one. `has_file` tells which files an annotation may point to.
pub fn of(
    joined: &Joined,
    prefix: &str,
    has_file: &dyn Fn(&str) -> bool,
    main: Option<&Base>,
) -> Vec<Annotation> {
    let titles = joined.titles();
    let entries = entries(joined);
    let annotations = entries.iter().map(|entry| Annotation {
        level: match entry.kind {
            Kind::Broken | Kind::Failed | Kind::Grows | Kind::Expired => Level::Error,
            Kind::Unsure | Kind::NoResult => Level::Warning,
        },
        place: entry.cause().and_then(|cause| {
            let findings = cause.findings.iter();
            let mut places = findings.filter_map(|finding| place(finding, prefix, has_file));
            places.next()
        }),
        title: title(entry, &titles),
        message: message(joined, entry, main),
    });
    annotations.collect()
}

fn title(entry: &Entry<'_>, titles: &[String]) -> String {
    let scenarios = entry.scenarios(titles).plain();
    let one = entry.members.len() == 1;
    match entry.kind {
        Kind::Grows if one => format!("{scenarios} keeps growing"),
        Kind::Grows => format!("{scenarios} keep growing"),
        _ => format!("{scenarios}: {}", word(entry.verdict())),
    }
}

/// Returns the verdict with its number and place, what it means, how it compares with the base,
/// what to do, how to measure it again, and the first callers.
fn message(joined: &Joined, entry: &Entry<'_>, main: Option<&Base>) -> String {
    let worst = entry.worst();
    let mut text = match &worst.scenario.outcome {
        Outcome::NoResult(why) => why.clone(),
        Outcome::Report(_) => entry.title().plain(),
    };
    let Some(report) = worst.report() else {
        return text;
    };
    let check = report.checks(CheckOutcome::Failed).next();
    if let Some(check) = check.filter(|_| entry.kind == Kind::Broken) {
        text += &format!("\n{}", check.detail.lines().next().unwrap_or_default());
    }
    if let Some(cause) = entry.cause() {
        if let Some(place) = cause.place() {
            text += &format!(" in {}", place.plain());
        }
        text += &format!(", {}.", cause.course());
        for held in cause.held() {
            text += &format!("\n{}", held.plain());
        }
        for means in cause.means() {
            text += &format!("\n{means}");
        }
    }
    if let Some(since) = main.and_then(|main| main.since(entry)) {
        text += &format!("\n{}", since.plain());
    }
    if let Some(step) = entry.accept(joined) {
        text += &format!("\n{}: {}", step.to, step.command);
    }
    if let Some(again) = entry.again() {
        text += &format!("\nmeasure it again: {again}");
    }
    let frames = entry.cause().map(|cause| cause.first().frames.as_slice());
    let frames = frames.unwrap_or_default().iter();
    let names: Vec<&str> = frames.map(|frame| frame.function.as_str()).collect();
    let said = report.collapse().said(&names).into_iter();
    for caller in said.skip(1).take(MAX_CALLERS) {
        text += &format!("\n  called by {caller}");
    }
    text
}

/// Returns the best place that is in one of the files.
fn place(finding: &Finding, prefix: &str, has_file: &dyn Fn(&str) -> bool) -> Option<Place> {
    let mut places = plain::blamed_frames(finding);
    places.find_map(|frame| plain::place(frame, prefix).filter(|place| has_file(&place.path)))
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
