//! Writes the result of a bisection, as text, as markdown and as JSON.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_core::FoldedStack;
use plimsoll_core::report::units::{bytes, count, give_or_take, objects, plural, signed_bytes};
use serde_json::{Value, json};

use crate::decide::{Change, Gain, NoQuestion};
use crate::measure::{Subject, Unusable};
use crate::revision::Revision;
use plimsoll_desk::git::About;
use plimsoll_desk::out::{safe, safe_line};
use plimsoll_desk::progress::about;
use plimsoll_desk::project;
use plimsoll_text::sink::{code_span, fenced};
use plimsoll_text::spark;

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
    pub stack: Option<FoldedStack>,
    /// Other stacks that grow at the bad end.
    pub others: Vec<(FoldedStack, Gain)>,
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
    OneOf(Vec<ShownCommit>),
    Release(Box<ShownRelease>),
    OneOfReleases(Vec<Revision>),
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
    pub answer: &'static str,
    pub unusable: Option<Unusable>,
    pub rate: Option<Gain>,
    pub iterations: Option<u64>,
    pub cached: bool,
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

/// Formats the leaf-most two frames of a stack on one line.
pub(crate) fn leaf(stack: &FoldedStack) -> String {
    let frames = stack.frames();
    let last: Vec<String> = frames
        .iter()
        .skip(frames.len().saturating_sub(2))
        .map(|name| safe_line(name))
        .collect();
    let dots = if frames.len() > 2 { "…;" } else { "" };
    format!("{dots}{}", last.join(";"))
}

impl Shown {
    fn headline(&self) -> String {
        let scenario = safe_line(&self.subject.scenario);
        match &self.outcome {
            Outcome::Found(first) => format!(
                "{} is the first commit after which {scenario} {}",
                first.about.commit.short(),
                self.does()
            ),
            Outcome::OneOf(commits) => format!(
                "the first commit after which {scenario} {} is one of these {}",
                self.does(),
                commits.len()
            ),
            Outcome::Release(first) => format!(
                "{} is the first release with which {scenario} {}",
                safe_line(&first.release.name()),
                self.does()
            ),
            Outcome::OneOfReleases(releases) => format!(
                "the first release with which {scenario} {} is one of these {}",
                self.does(),
                releases.len()
            ),
            Outcome::BadMergeBase(base) => format!(
                "{scenario} {} at {} already, where the two ends part",
                self.does(),
                base.about.commit.short()
            ),
            Outcome::NoDifference(NoQuestion::NothingGrows) => match &self.bad.0 {
                Revision::Commit(bad) => format!(
                    "no stack in question of {scenario} grows at {}",
                    bad.short()
                ),
                bad => format!(
                    "no stack in question of {scenario} grows with {} or {}",
                    safe_line(&self.good.0.name()),
                    bad.short()
                ),
            },
            Outcome::NoDifference(NoQuestion::NoDifference) => match (&self.good.0, &self.bad.0) {
                (good @ Revision::Commit(_), bad) => format!(
                    "{scenario} grows as fast at {} as at {}",
                    good.short(),
                    bad.short()
                ),
                (good, bad) => format!(
                    "{scenario} grows as fast with {} as with {}",
                    safe_line(&good.name()),
                    bad.short()
                ),
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
            Outcome::OneOf(_) => {
                Some("the commits between them could not be measured; the reasons stand above")
            }
            Outcome::OneOfReleases(_) => {
                Some("all but the last of them could not be measured; the reasons stand above")
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
                Some("check --scenario and --stack; a longer --budget finds slower growth")
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
        let values: Vec<u64> = self
            .trend
            .iter()
            .map(|Gain { rate, .. }| {
                let value = if by_bytes { rate.bytes } else { rate.objects };
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "not negative, and for a row of bars"
                )]
                let thousandths = (value.max(0.0) * 1000.0) as u64;
                thousandths
            })
            .collect();
        spark::line(&values, 40)
    }

    fn skipped(&self) -> usize {
        self.tests
            .iter()
            .filter(|test| test.answer == "skip")
            .count()
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

fn optional(value: Option<Gain>) -> String {
    value.map_or_else(|| "not measured".to_owned(), rate)
}

impl ShownTest {
    /// Formats the result of a revision on one line.
    fn said(&self) -> String {
        match (&self.unusable, self.rate) {
            (Some(why), _) => format!("{}, {why}", self.answer),
            (None, Some(value)) => format!("{}, {}", self.answer, rate(value)),
            (None, None) => self.answer.to_owned(),
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
            line(
                "author",
                format!("{}, {}", safe_line(&commit.author), commit.date),
            );
            line("subject", safe_line(&commit.subject));
            if shown.change == Some(Change::Fixed) {
                line("change", shown.did().to_owned());
            }
            line("before", optional(first.before));
            line("after", optional(first.after));
        }
        Outcome::OneOf(commits) => {
            for commit in commits.iter().take(MOST) {
                let about = &commit.about;
                line(
                    "",
                    format!("{}  {}", about.commit.short(), safe_line(&about.subject)),
                );
            }
            if commits.len() > MOST {
                line("", format!("and {} more", commits.len() - MOST));
            }
        }
        Outcome::Release(first) => {
            line("release", safe_line(&first.release.name()));
            line("change", shown.did().to_owned());
            let end =
                |revision: &Revision, value| format!("{}  {}", revision.short(), optional(value));
            line("before", end(&first.before, first.rate_before));
            line("after", end(&first.release, first.rate));
        }
        Outcome::OneOfReleases(releases) => {
            for release in releases.iter().take(MOST) {
                line("", safe_line(&release.name()));
            }
            if releases.len() > MOST {
                line("", format!("and {} more", releases.len() - MOST));
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
    line("effort", shown.effort());
    if let Some(stack) = &shown.stack {
        lines.push(String::new());
        lines.push("  stack, root first".to_owned());
        for frame in stack.frames() {
            lines.push(format!("    {}", safe_line(frame)));
        }
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
        if first.about.files.len() > MOST {
            lines.push(format!("    and {} more", first.about.files.len() - MOST));
        }
    }
    if !shown.others.is_empty() {
        lines.push(String::new());
        lines.push("  also grows at the bad end (--stack searches for one of these)".to_owned());
        for (stack, value) in shown.others.iter().take(MOST) {
            lines.push(format!("    {}  {}", rate(*value), leaf(stack)));
        }
    }
    if let Some(path) = &shown.flamegraph {
        lines.push(String::new());
        let what = match shown.change {
            Some(Change::Fixed) => "took away",
            _ => "brought",
        };
        lines.push(format!(
            "  flame graph of what it {what}: {}",
            project::shown(path)
        ));
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
    let mut lines = vec![
        format!("### {}", headline_as_markdown(shown)),
        String::new(),
    ];
    match &shown.outcome {
        Outcome::Found(first) | Outcome::BadMergeBase(first) => {
            let about = &first.about;
            lines.push("| | |".to_owned());
            lines.push("|:--|:--|".to_owned());
            let mut row = |name: &str, value: String| lines.push(format!("| {name} | {value} |"));
            row("Commit", format!("`{}`", about.commit));
            row("Author", format!("{}, {}", cell(&about.author), about.date));
            row("Subject", cell(&about.subject));
            if shown.change == Some(Change::Fixed) {
                row("Change", shown.did().to_owned());
            }
            row("Before", optional(first.before));
            row("After", optional(first.after));
            row("Trend", format!("`{}`", shown.spark()));
        }
        Outcome::OneOf(commits) => {
            for commit in commits.iter().take(MOST) {
                let about = &commit.about;
                lines.push(format!(
                    "- `{}` {}",
                    about.commit.short(),
                    span(&about.subject)
                ));
            }
            if commits.len() > MOST {
                lines.push(format!("- and {} more", commits.len() - MOST));
            }
        }
        Outcome::Release(first) => {
            lines.push("| | |".to_owned());
            lines.push("|:--|:--|".to_owned());
            let mut row = |name: &str, value: String| lines.push(format!("| {name} | {value} |"));
            row("Release", cell(&first.release.name()));
            row("Change", shown.did().to_owned());
            let end =
                |revision: &Revision, value| format!("`{}`: {}", revision.short(), optional(value));
            row("Before", end(&first.before, first.rate_before));
            row("After", end(&first.release, first.rate));
            row("Trend", format!("`{}`", shown.spark()));
        }
        Outcome::OneOfReleases(releases) => {
            for release in releases.iter().take(MOST) {
                lines.push(format!("- {}", span(&release.name())));
            }
            if releases.len() > MOST {
                lines.push(format!("- and {} more", releases.len() - MOST));
            }
        }
        Outcome::NoDifference(_) => {}
    }
    if shown.is_of_releases() && !shown.tests.is_empty() {
        lines.push(String::new());
        lines.push("Measured between the two ends:".to_owned());
        lines.push(String::new());
        for test in shown.in_order() {
            lines.push(format!(
                "- `{}`: {}",
                test.revision.short(),
                span(&test.said())
            ));
        }
    }
    if let Some(stack) = &shown.stack {
        let frames: Vec<&str> = stack.frames().iter().map(String::as_str).collect();
        lines.extend([
            String::new(),
            "The stack, root first:".to_owned(),
            String::new(),
            fenced(&frames.join("\n"), 8_000).trim_end().to_owned(),
        ]);
    }
    if let Outcome::Found(first) = &shown.outcome {
        lines.push(String::new());
        lines.push("It changes:".to_owned());
        lines.push(String::new());
        for file in first.about.files.iter().take(MOST) {
            let prefix = |place: &str| place.split(':').next().unwrap_or_default().to_owned();
            let on_stack = first
                .in_stack
                .iter()
                .any(|(_, place)| file.ends_with(&prefix(place)));
            let note = if on_stack {
                ", where a frame of the stack lies"
            } else {
                ""
            };
            lines.push(format!("- {}{note}", span(file)));
        }
        if first.about.files.len() > MOST {
            lines.push(format!("- and {} more", first.about.files.len() - MOST));
        }
    }
    lines.push(String::new());
    if let Some(hint) = shown.hint() {
        lines.push(format!("{hint}."));
        lines.push(String::new());
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
    plimsoll_text::sink::table_code_span(text, NAME)
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
    let id = |one: &ShownCommit| one.about.commit.to_string();
    let (result, first, candidates): (_, Value, Vec<String>) = match &shown.outcome {
        Outcome::Found(first) => ("found", commit(first), Vec::new()),
        Outcome::Release(_) => ("found", Value::Null, Vec::new()),
        Outcome::OneOf(commits) => ("one-of", Value::Null, commits.iter().map(id).collect()),
        Outcome::OneOfReleases(releases) => {
            let versions = releases.iter().map(Revision::short);
            ("one-of", Value::Null, versions.collect())
        }
        Outcome::BadMergeBase(base) => ("bad-merge-base", Value::Null, vec![id(base)]),
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
    let tests: Vec<Value> = shown
        .tests
        .iter()
        .map(|test| {
            json!({
                "commit": test.revision.commit().as_str(),
                "version": version(&test.revision),
                "subject": test.subject,
                "answer": test.answer,
                "kind": test.unusable.as_ref().map(|why| why.kind.as_str()),
                "reason": test.unusable.as_ref().map(|why| why.why.as_str()),
                "rate": test.rate,
                "iterations": test.iterations,
                "cached": test.cached,
            })
        })
        .collect();
    let value = json!({
        "version": VERSION,
        "plimsoll": env!("CARGO_PKG_VERSION"),
        "result": result,
        "change": shown.change.map(|_| shown.did()),
        "package": shown.subject.package,
        "target": shown.subject.target,
        "scenario": shown.subject.scenario,
        "stack": shown.stack,
        "good": end(&shown.good),
        "bad": end(&shown.bad),
        "first_bad": first,
        "dep": dep,
        "candidates": candidates,
        "tested": tests,
        "builds": shown.builds,
        "log": shown.log,
        "flamegraph": shown.flamegraph.as_ref().map(|path| safe(&path.to_string_lossy())),
    });
    format!("{value:#}\n")
}
