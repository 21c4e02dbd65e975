//! The message of a result, as text and as Markdown.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::view::Step;
use plimsoll_core::report::{Check, Finding, Report};
use plimsoll_core::text::words::{Word, Words, place};

use crate::joined::{Joined, Scenario};
use crate::render::capital;
use crate::render::entries::{Entry, Kind};
use crate::render::plain::clean_line;

/// The most characters of a quoted name or message within a sentence.
const LONGEST: usize = 400;

/// A message in both forms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) markdown: String,
}

impl From<Words> for Message {
    fn from(words: Words) -> Self {
        let quoted = |text: &str| clean_line(text, LONGEST);
        Message {
            text: words.write(|word| match word {
                Word::Said(text) | Word::Stressed(text) => text.clone(),
                Word::Quoted(text) => escape(&quoted(text)),
                Word::Named(text) => escape(&format!("`{}`", quoted(text))),
                Word::Line { file, line } => escape(&quoted(&place(file, *line))),
            }),
            markdown: words.write(|word| match word {
                Word::Said(text) => text.clone(),
                Word::Stressed(text) => format!("**{text}**"),
                Word::Quoted(text) | Word::Named(text) => code(&quoted(text)),
                Word::Line { file, line } => code(&quoted(&place(file, *line))),
            }),
        }
    }
}

fn of(scenario: &Scenario) -> Words {
    Words::default().quote(scenario.title()).say(": ")
}

pub(super) fn no_result(scenario: &Scenario, why: &str) -> Message {
    let words = of(scenario).stress("no result");
    words.say(", it did not pass: ").quote(why).into()
}

pub(super) fn scenario(scenario: &Scenario, report: &Report, check: Option<&Check>) -> Message {
    let mut words = of(scenario).join(report.outcome().said);
    if let Some(check) = check {
        let line = check.detail.lines().next().unwrap_or_default();
        words = words.say(": ").quote(format!("{}: {line}", check.name));
    } else if let Some(failure) = report
        .failure
        .as_ref()
        .filter(|_| report.verdict == Verdict::Broken)
    {
        words = words.say(": ").quote(&failure.what);
    }
    conditions(words, scenario, report).into()
}

/// Returns what is said of a cause, in the order of every output.
pub(super) fn entry(joined: &Joined, titles: &[String], entry: &Entry<'_>) -> Message {
    let worst = entry.worst();
    let words = entry.scenarios(titles).say(": ");
    let words = match entry.kind {
        Kind::Grows if entry.members.len() == 1 => words.say("keeps growing by "),
        Kind::Grows => words.say("keep growing by "),
        _ => words,
    };
    let mut words = words.join(entry.title());
    if let Some(cause) = entry.cause() {
        if let Some(place) = cause.place() {
            words = words.say(" in ").join(place);
        }
        for held in cause.held() {
            words = words.say("; ").join(held);
        }
        for means in cause.means() {
            words = words.say(format!("; {means}"));
        }
        words = conditions(words, worst.scenario, cause.report);
        let finding = cause.first();
        if let Some(over) = finding.over() {
            words = words.say(", ").say(over);
        }
        if let Some(reason) = &finding.reason {
            words = words.say("; accepted because ").quote(reason);
        }
    }
    for Step { to, command } in entry.steps(joined) {
        words = words.say(format!(". {}: ", capital(to))).quote(command);
    }
    words.into()
}

/// Returns what is said of an allowance that nothing uses.
pub(super) fn unused(scenario: &Scenario, report: &Report, finding: &Finding) -> Message {
    let words = of(scenario).join(report.sentence(finding));
    conditions(words, scenario, report).into()
}

/// Adds the conditions of the measurement: `, after 65,536 iterations on
/// x86_64-unknown-linux-gnu`.
fn conditions(words: Words, scenario: &Scenario, report: &Report) -> Words {
    let words = match report.iterations() {
        0 => words,
        n => words.say(format!(", after {}", report.per.count(n))),
    };
    match &scenario.platform {
        Some(platform) => words.say(" on ").quote(platform),
        None => words,
    }
}

/// Returns a function's name for use within a text of plimsoll.
pub(super) fn name(function: &str) -> String {
    escape(&clean_line(function, LONGEST))
}

/// Escapes quoted text for a SARIF message, in which brackets make links (SARIF 2.1.0, section
/// 3.11.6). Braces stay as they are: they stand for arguments only if a message has arguments,
/// and these messages have none.
pub(super) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('[', "\\[")
        .replace(']', "\\]")
}

/// Returns a code span of Markdown that nothing in the text can end.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    match text.is_empty() {
        true => String::new(),
        false if longest > 0 => format!("{ticks} {text} {ticks}"),
        false => format!("{ticks}{text}{ticks}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Words::default().quote(text).into()
    }

    #[test]
    fn text_of_others_stays_text() {
        let told = message("a[b](https://x)\\\n`c``d\u{202e}");
        assert_eq!(told.text, "a\\[b\\](https://x)\\\\ `c``d");
        assert_eq!(told.markdown, "``` a[b](https://x)\\ `c``d ```");
        assert_eq!(message("f").markdown, "`f`");
        assert_eq!(message("\u{7}"), Message::default());
    }
}
