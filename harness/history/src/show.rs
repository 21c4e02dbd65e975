//! Writes the result of a bisection, as text, as markdown and as JSON.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_core::report::units::{bytes, count, give_or_take, objects, plural, signed_bytes};
use plimsoll_core::report::view::collapse::{Collapse, Part, frames_of};
use plimsoll_core::{FoldedStack, Per, to_u64};
use serde_json::{Value, json};

use crate::bench::Tested;
use crate::decide::{Change, Gain, NoQuestion};
use crate::revision::Revision;
use crate::session::Subject;
use plimsoll_core::text::sink::{code_span, fenced};
use plimsoll_core::text::spark;
use plimsoll_desk::git::About;
use plimsoll_desk::out::{safe, safe_line};
use plimsoll_desk::progress::about;
use plimsoll_desk::project;

/// The version of the JSON format.
const VERSION: u64 = 1;
/// The most entries of a list that people are shown.
const MOST: usize = 20;
/// The longest name, in columns.
const NAME: usize = 200;

#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub outcome: Outcome,
    pub subject: Subject,
    /// What the rates are per.
    pub per: Per,
    pub stack: Option<FoldedStack>,
    /// Who holds the objects of the stack at the bad end, as a sentence.
    pub holder: Option<String>,
    /// Other stacks that grow at the bad end.
    pub others: Vec<(FoldedStack, Gain)>,
    /// Stacks of the good end that may be the same growth under another name.
    pub replacements: Vec<(FoldedStack, Gain)>,
    pub good: (Revision, Option<Gain>),
    pub bad: (Revision, Option<Gain>),
    /// Which of the ends is the bad one. Absent if there was no question.
    pub change: Option<Change>,
    pub tests: Vec<ShownTest>,
    /// The rates of the measured revisions, in the order of the history or of the releases.
    pub trend: Vec<Gain>,
    pub builds: usize,
    pub took: Duration,
    pub log: String,
    pub flamegraph: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Found(Box<ShownCommit>),
    Release(Box<ShownRelease>),
    /// The candidates, each with its subject or name.
    OneOf(Vec<(Revision, String)>),
    BadMergeBase(Box<ShownCommit>),
    NoDifference(NoQuestion),
}

#[derive(Clone, Debug)]
pub(crate) struct ShownCommit {
    pub about: About,
    pub before: Option<Gain>,
    pub after: Option<Gain>,
    /// The frames of the stack in files that the commit changes: names and places.
    pub in_stack: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct ShownRelease {
    pub release: Revision,
    /// The nearest measured release before it.
    pub before: Revision,
    pub rate_before: Option<Gain>,
    pub rate: Option<Gain>,
}

#[derive(Clone, Debug)]
pub(crate) struct ShownTest {
    pub revision: Revision,
    pub subject: String,
    pub tested: Tested,
}

/// Formats a rate: `+32 B, 1.00 objects`, or if it was sampled,
/// `+32 B ± 3 B, 1.00 ± 0.10 objects`.
pub(crate) fn rate(Gain { rate, error }: Gain) -> String {
    format!(
        "{}{}, {}{} objects",
        signed_bytes(rate.bytes),
        give_or_take(error.map(|error| error.bytes), bytes),
        objects(rate.objects),
        give_or_take(error.map(|error| error.objects), objects),
    )
}

/// Formats what rates are per, after them: ` per http_request`. Those of a test are per iteration,
/// which is not said.
pub(crate) fn per(per: &Per) -> String {
    match per.is_iteration() {
        true => String::new(),
        false => format!(" per {}", per.one()),
    }
}

/// Formats the leaf-most two frames of a stack on one line.
pub(crate) fn leaf(stack: &FoldedStack) -> String {
    let frames = stack.frames();
    let last = frames.iter().skip(frames.len().saturating_sub(2));
    let last: Vec<String> = last.map(|name| safe_line(name)).collect();
    let dots = if frames.len() > 2 { "…;" } else { "" };
    format!("{dots}{}", last.join(";"))
}

/// Returns the frames of a stack, root first. A run of plumbing is one line.
fn listed(stack: &FoldedStack) -> Vec<String> {
    let names = stack.frames().iter().rev();
    let names: Vec<&str> = names.map(String::as_str).collect();
    // Whose crates they are is not known.
    let parts = Collapse::default().parts(&names).into_iter().rev();
    let listed = parts.map(|part| match part {
        Part::Frame(at) => names[at].to_owned(),
        Part::Run(run) => format!("… {}", frames_of(&names[run])),
    });
    listed.collect()
}

impl Shown {
    fn headline(&self) -> String {
        let (scenario, does) = (safe_line(&self.subject.scenario), self.does());
        let (good, bad) = (safe_line(&self.good.0.name()), self.bad.0.short());
        let of_releases = self.is_of_releases();
        match &self.outcome {
            Outcome::Found(first) => {
                let commit = first.about.commit.short();
                format!("{commit} is the first commit with which {scenario} {does}")
            }
            Outcome::Release(first) => {
                let release = safe_line(&first.release.name());
                format!("{release} is the first release with which {scenario} {does}")
            }
            Outcome::OneOf(all) => {
                let first = match of_releases {
                    true => "release",
                    false => "commit",
                };
                let number = all.len();
                format!("the first {first} with which {scenario} {does} is one of these {number}")
            }
            Outcome::BadMergeBase(base) => {
                let commit = base.about.commit.short();
                format!("{scenario} {does} at {commit} already, where the two ends part")
            }
            Outcome::NoDifference(NoQuestion::NothingGrows) => match of_releases {
                true => format!("no stack in question of {scenario} grows with {good} or {bad}"),
                false => format!("no stack in question of {scenario} grows at {bad}"),
            },
            Outcome::NoDifference(NoQuestion::NoDifference) => match of_releases {
                true => format!("{scenario} grows as fast with {good} as with {bad}"),
                false => format!("{scenario} grows as fast at {good} as at {bad}"),
            },
        }
    }

    /// Returns what the scenario does since the revision that was found, and did not before.
    fn does(&self) -> &'static str {
        match self.change {
            Some(Change::Fixed) => "no longer grows past the good rate",
            _ => "grows past the good rate",
        }
    }

    /// Returns what the revision that was found did.
    fn did(&self) -> &'static str {
        match self.change {
            Some(Change::Fixed) => "fixed",
            _ => "brought",
        }
    }

    fn is_of_releases(&self) -> bool {
        self.good.0.version().is_some()
    }

    /// Returns what the user can do next if there is no single answer.
    fn hint(&self) -> Option<&'static str> {
        match &self.outcome {
            Outcome::Found(_) | Outcome::Release(_) => None,
            Outcome::OneOf(_) if self.is_of_releases() => {
                Some("all but the last of them could not be measured; the reasons stand above")
            }
            Outcome::OneOf(_) => {
                Some("the commits between them could not be measured; the reasons stand above")
            }
            Outcome::BadMergeBase(_) if self.change == Some(Change::Fixed) => Some(
                "the growth was fixed before that commit, and is back at the earlier end: name \
                 another commit as the earlier end",
            ),
            Outcome::BadMergeBase(_) => Some(
                "the growth began before that commit, and the good end has a fix for it: name an \
                 older good commit",
            ),
            Outcome::NoDifference(NoQuestion::NothingGrows) => {
                Some(match self.per.is_iteration() {
                    true => "check --scenario and --stack; a longer --budget finds slower growth",
                    false => "check --scenario and --stack; a longer watch finds slower growth",
                })
            }
            Outcome::NoDifference(NoQuestion::NoDifference) if self.is_of_releases() => {
                Some("name a release from before the growth began, or from after its fix")
            }
            Outcome::NoDifference(NoQuestion::NoDifference) => Some(
                "name a good commit from before the growth began; if a function was only renamed, \
                 --stack selects one of its names",
            ),
        }
    }

    fn spark(&self) -> String {
        let by_bytes = self.trend.iter().any(|one| one.rate.bytes.abs() > 0.0);
        let values = self.trend.iter().map(|Gain { rate, .. }| {
            let value = if by_bytes { rate.bytes } else { rate.objects };
            to_u64(value * 1000.0)
        });
        spark::line(&values.collect::<Vec<u64>>(), 40)
    }

    fn skipped(&self) -> usize {
        let tests = self.tests.iter();
        tests.filter(|test| test.tested.answer.is_err()).count()
    }

    /// Returns the measured releases in ascending order. Commits stay in the order in which
    /// they were measured.
    fn in_order(&self) -> Vec<&ShownTest> {
        let mut tests: Vec<&ShownTest> = self.tests.iter().collect();
        tests.sort_by(|one, two| one.revision.version().cmp(&two.revision.version()));
        tests
    }

    fn effort(&self) -> String {
        let (one, several) = match self.is_of_releases() {
            true => ("release", "releases"),
            false => ("commit", "commits"),
        };
        format!(
            "{} measured, {} skipped, {}, {}",
            plural((self.tests.len() + 2) as u64, one, several),
            count(self.skipped() as u64),
            plural(self.builds as u64, "build", "builds"),
            about(self.took)
        )
    }
}

/// Returns the line that counts the entries that are not shown.
fn more(all: usize) -> Option<String> {
    (all > MOST).then(|| format!("and {} more", all - MOST))
}

fn optional(value: Option<Gain>) -> String {
    value.map_or_else(|| "not measured".to_owned(), rate)
}

impl ShownTest {
    /// Formats the result of a revision on one line.
    fn said(&self) -> String {
        let word = self.tested.word();
        match &self.tested.answer {
            Ok(answer) => format!("{word}, {}", rate(answer.rate)),
            Err(why) => format!("{word}, {why}"),
        }
    }
}

/// Formats the result for a terminal.
pub(crate) fn text(shown: &Shown) -> String {
    let mut lines = vec![shown.headline(), String::new()];
    let mut line = |name: &str, value: String| {
        lines.push(format!("  {name:<8}{value}").trim_end().to_owned());
    };
    match &shown.outcome {
        Outcome::Found(first) | Outcome::BadMergeBase(first) => {
            let commit = &first.about;
            line("commit", commit.commit.to_string());
            let author = safe_line(&commit.author);
            line("author", format!("{author}, {}", commit.date));
            line("subject", safe_line(&commit.subject));
            if shown.change == Some(Change::Fixed) {
                line("change", shown.did().to_owned());
            }
            line("before", optional(first.before));
            line("after", optional(first.after));
        }
        Outcome::Release(first) => {
            line("release", safe_line(&first.release.name()));
            line("change", shown.did().to_owned());
            let end =
                |revision: &Revision, value| format!("{}  {}", revision.short(), optional(value));
            line("before", end(&first.before, first.rate_before));
            line("after", end(&first.release, first.rate));
        }
        Outcome::OneOf(all) => {
            for (revision, subject) in all.iter().take(MOST) {
                let subject = safe_line(subject);
                line(
                    "",
                    match revision.version() {
                        Some(_) => subject,
                        None => format!("{}  {subject}", revision.short()),
                    },
                );
            }
            if let Some(more) = more(all.len()) {
                line("", more);
            }
        }
        Outcome::NoDifference(_) => {}
    }
    let (good, bad) = (&shown.good, &shown.bad);
    let end = |(revision, value): &(Revision, Option<Gain>)| match value {
        Some(value) => format!("{}  {}", revision.short(), rate(*value)),
        // The end was measured, but there is no stack that the rate could be of.
        None => revision.short(),
    };
    line("good", end(good));
    line("bad", end(bad));
    if shown.trend.len() > 2 {
        line("trend", shown.spark());
    }
    if !shown.per.is_iteration() {
        line("rates", format!("per {}", shown.per.one()));
    }
    line("effort", shown.effort());
    if let Some(stack) = &shown.stack {
        lines.push(String::new());
        lines.push("  stack, root first".to_owned());
        for frame in listed(stack) {
            lines.push(format!("    {}", safe_line(&frame)));
        }
        let holder = shown.holder.iter().map(|holder| safe_line(holder));
        lines.extend(holder.map(|holder| format!("  {holder}")));
    }
    if shown.is_of_releases() && !shown.tests.is_empty() {
        lines.push(String::new());
        lines.push("  measured between the two ends".to_owned());
        for test in shown.in_order() {
            lines.push(format!("    {}  {}", test.revision.short(), test.said()));
        }
    }
    if let Outcome::Found(first) = &shown.outcome {
        lines.push(String::new());
        lines.push(match first.in_stack.as_slice() {
            [] => "  the commit changes no file with a frame of the stack".to_owned(),
            _ => "  frames of the stack, in files that the commit changes".to_owned(),
        });
        for (name, place) in first.in_stack.iter().take(MOST) {
            lines.push(format!("    {}  {}", safe_line(name), safe_line(place)));
        }
        lines.push("  files that the commit changes".to_owned());
        for file in first.about.files.iter().take(MOST) {
            lines.push(format!("    {}", safe_line(file)));
        }
        lines.extend(more(first.about.files.len()).map(|more| format!("    {more}")));
    }
    let others = "also grows at the bad end (--stack searches for one of these)";
    let replacements = "grows at the good end alone: it may be the same growth under another name";
    for (head, stacks) in [(replacements, &shown.replacements), (others, &shown.others)] {
        if !stacks.is_empty() {
            lines.extend([String::new(), format!("  {head}")]);
        }
        for (stack, value) in stacks.iter().take(MOST) {
            lines.push(format!("    {}  {}", rate(*value), leaf(stack)));
        }
    }
    if let Some(path) = &shown.flamegraph {
        lines.push(String::new());
        let what = match shown.change {
            Some(Change::Fixed) => "took away",
            _ => "brought",
        };
        let path = project::shown(path);
        lines.push(format!("  flame graph of what it {what}: {path}"));
    }
    if let Some(hint) = shown.hint() {
        lines.push(String::new());
        lines.push(format!("  hint: {hint}"));
    }
    lines.join("\n") + "\n"
}

/// Formats the result for an issue or a pull request.
pub(crate) fn markdown(shown: &Shown) -> String {
    let span = |text: &str| code_span(text, NAME);
    let mut lines = vec![format!("### {}\n", headline_as_markdown(shown))];
    let table = |rows: &[(&str, String)]| {
        let row = |(name, value): &(&str, String)| format!("\n| {name} | {value} |");
        let rows: String = rows.iter().map(row).collect();
        format!("| | |\n|:--|:--|{rows}")
    };
    let rates = match shown.per.is_iteration() {
        true => String::new(),
        false => format!(", rates are{}", per(&shown.per)),
    };
    let trend = ("Trend", format!("`{}`{rates}", shown.spark()));
    match &shown.outcome {
        Outcome::Found(first) | Outcome::BadMergeBase(first) => {
            let about = &first.about;
            let mut rows = vec![
                ("Commit", format!("`{}`", about.commit)),
                ("Author", format!("{}, {}", cell(&about.author), about.date)),
                ("Subject", cell(&about.subject)),
            ];
            if shown.change == Some(Change::Fixed) {
                rows.push(("Change", shown.did().to_owned()));
            }
            rows.push(("Before", optional(first.before)));
            rows.push(("After", optional(first.after)));
            rows.push(trend);
            lines.push(table(&rows));
        }
        Outcome::Release(first) => {
            let end =
                |revision: &Revision, value| format!("`{}`: {}", revision.short(), optional(value));
            lines.push(table(&[
                ("Release", cell(&first.release.name())),
                ("Change", shown.did().to_owned()),
                ("Before", end(&first.before, first.rate_before)),
                ("After", end(&first.release, first.rate)),
                trend,
            ]));
        }
        Outcome::OneOf(all) => {
            lines.extend(all.iter().take(MOST).map(
                |(revision, subject)| match revision.version() {
                    Some(_) => format!("- {}", span(subject)),
                    None => format!("- `{}` {}", revision.short(), span(subject)),
                },
            ));
            lines.extend(more(all.len()).map(|more| format!("- {more}")));
        }
        Outcome::NoDifference(_) => {}
    }
    if shown.is_of_releases() && !shown.tests.is_empty() {
        lines.push("\nMeasured between the two ends:\n".to_owned());
        lines.extend(shown.in_order().into_iter().map(|test| {
            let said = span(&test.said());
            format!("- `{}`: {said}", test.revision.short())
        }));
    }
    if let Some(stack) = &shown.stack {
        let frames = fenced(&listed(stack).join("\n"), 8_000);
        lines.push(format!("\nThe stack, root first:\n\n{}", frames.trim_end()));
        let holder = shown.holder.iter().map(|holder| span(holder));
        lines.extend(holder.map(|holder| format!("\nIts objects: {holder}")));
    }
    if let Outcome::Found(first) = &shown.outcome {
        lines.push("\nIt changes:\n".to_owned());
        for file in first.about.files.iter().take(MOST) {
            let prefix = |place: &str| place.split(':').next().unwrap_or_default().to_owned();
            let mut places = first.in_stack.iter().map(|(_, place)| prefix(place));
            let note = match places.any(|place| file.ends_with(&place)) {
                true => ", where a frame of the stack lies",
                false => "",
            };
            lines.push(format!("- {}{note}", span(file)));
        }
        lines.extend(more(first.about.files.len()).map(|more| format!("- {more}")));
    }
    lines.push(String::new());
    if let Some(hint) = shown.hint() {
        lines.push(format!("{hint}.\n"));
    }
    lines.push(format!(
        "<sub>plimsoll {} · good `{}` · bad `{}` · {}</sub>",
        env!("CARGO_PKG_VERSION"),
        shown.good.0.short(),
        shown.bad.0.short(),
        shown.effort()
    ));
    lines.join("\n") + "\n"
}

fn headline_as_markdown(shown: &Shown) -> String {
    let mut headline = shown.headline();
    let release = match &shown.outcome {
        Outcome::Release(first) => first.release.name(),
        _ => String::new(),
    };
    for name in [&release, &shown.subject.scenario] {
        if !name.is_empty() {
            headline = headline.replacen(&safe_line(name), &code_span(name, NAME), 1);
        }
    }
    headline
}

fn cell(text: &str) -> String {
    plimsoll_core::text::sink::table_code_span(text, NAME)
}

/// Formats the result as JSON, for programs. docs/bisect.md describes it.
pub(crate) fn json(shown: &Shown) -> String {
    let commit = |commit: &ShownCommit| {
        json!({
            "commit": commit.about.commit.as_str(),
            "author": commit.about.author,
            "date": commit.about.date,
            "subject": commit.about.subject,
            "files": commit.about.files,
            "in_stack": !commit.in_stack.is_empty(),
            "before": commit.before,
            "after": commit.after,
        })
    };
    let id = |one: &Revision| match one.version() {
        Some(version) => version.to_string(),
        None => one.commit().to_string(),
    };
    let (result, first, candidates): (_, Value, Vec<String>) = match &shown.outcome {
        Outcome::Found(first) => ("found", commit(first), Vec::new()),
        Outcome::Release(_) => ("found", Value::Null, Vec::new()),
        Outcome::OneOf(all) => {
            let ids = all.iter().map(|(revision, _)| id(revision));
            ("one-of", Value::Null, ids.collect())
        }
        Outcome::BadMergeBase(base) => {
            let id = base.about.commit.to_string();
            ("bad-merge-base", Value::Null, vec![id])
        }
        Outcome::NoDifference(_) => ("no-difference", Value::Null, Vec::new()),
    };
    let version = |revision: &Revision| revision.version().map(ToString::to_string);
    let end = |(revision, value): &(Revision, Option<Gain>)| {
        json!({
            "commit": revision.commit().as_str(),
            "version": version(revision),
            "rate": value,
        })
    };
    let dep = match &shown.good.0 {
        Revision::Commit(_) | Revision::WorkingTree(_) => Value::Null,
        Revision::Release { name, .. } => {
            let found = match &shown.outcome {
                Outcome::Release(first) => Some(first),
                _ => None,
            };
            json!({
                "name": name,
                "version": found.map(|first| version(&first.release)),
                "before": found.map(|first| version(&first.before)),
                "change": shown.change.map(|_| shown.did()),
                "rate_before": found.and_then(|first| first.rate_before),
                "rate": found.and_then(|first| first.rate),
            })
        }
    };
    let tests = shown.tests.iter().map(|test| {
        let tested = &test.tested;
        let (answer, unusable) = (tested.answer.as_ref().ok(), tested.answer.as_ref().err());
        let last = tested
            .report
            .as_ref()
            .and_then(|report| report.rungs.last());
        json!({
            "commit": test.revision.commit().as_str(),
            "version": version(&test.revision),
            "subject": test.subject,
            "answer": tested.word(),
            "kind": unusable.map(|why| why.cause),
            "reason": unusable.map(|why| why.why.as_str()),
            "rate": answer.map(|answer| answer.rate),
            "iterations": last.map(|rung| rung.iterations),
            "cached": tested.cached,
        })
    });
    let value = json!({
        "version": VERSION,
        "plimsoll": env!("CARGO_PKG_VERSION"),
        "result": result,
        "change": shown.change.map(|_| shown.did()),
        "package": shown.subject.package,
        "target": shown.subject.target,
        "scenario": shown.subject.scenario,
        "per": shown.per,
        "stack": shown.stack,
        "holder": shown.holder,
        "good": end(&shown.good),
        "bad": end(&shown.bad),
        "first_bad": first,
        "dep": dep,
        "candidates": candidates,
        "tested": tests.collect::<Vec<Value>>(),
        "builds": shown.builds,
        "log": shown.log,
        "flamegraph": shown.flamegraph.as_ref().map(|path| safe(&path.to_string_lossy())),
    });
    format!("{value:#}\n")
}
