//! What a result says, as text and as Markdown.

use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{
    bytes, count, give_or_take, objects, signed_bytes, signed_objects,
};
use plimsoll_core::report::{Check, Finding, Report, Standing, Subject};

use crate::joined::Scenario;
use crate::render::plain::clean_line;

/// Characters of a name or a message of others, within a sentence.
const LONGEST: usize = 200;

/// Both forms of one sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) markdown: String,
}

impl Message {
    /// Words of ours.
    fn say(mut self, words: &str) -> Self {
        self.text += words;
        self.markdown += words;
        self
    }

    /// Words of ours that count.
    fn stress(mut self, words: &str) -> Self {
        self.text += words;
        self.markdown += &format!("**{words}**");
        self
    }

    /// Text of the report's.
    fn quote(mut self, text: &str) -> Self {
        let text = clean_line(text, LONGEST);
        self.text += &escape(&text);
        self.markdown += &code(&text);
        self
    }

    fn of(scenario: &Scenario) -> Self {
        Message::default().quote(&scenario.name)
    }

    /// `, after 65,536 iterations on x86_64-unknown-linux-gnu`
    fn conditions(mut self, scenario: &Scenario, report: &Report) -> Self {
        if let Some(rung) = report.rungs.last() {
            let s = if rung.iterations == 1 { "" } else { "s" };
            self = self.say(&format!(", after {} iteration{s}", count(rung.iterations)));
        }
        match &scenario.platform {
            Some(platform) => self.say(" on ").quote(platform),
            None => self,
        }
    }
}

pub(super) fn no_result(scenario: &Scenario, why: &str) -> Message {
    let message = Message::of(scenario).say(": ").stress("no result");
    message.say(", it did not pass: ").quote(why)
}

pub(super) fn scenario(scenario: &Scenario, report: &Report, check: Option<&Check>) -> Message {
    let message = Message::of(scenario).say(": ");
    match (report.verdict, &report.failure, check) {
        (Verdict::Failed, Some(failure), _) => {
            let message = message.say("the workload ").stress("failed");
            let message = match failure.iteration {
                Some(iteration) => message.say(&format!(" in iteration {}: ", count(iteration))),
                None => message.say(" setting up: "),
            };
            message.quote(&failure.what)
        }
        (Verdict::Broken, _, Some(check)) => message
            .say("the measurement ")
            .stress("cannot be trusted")
            .say(", check ")
            .quote(&check.name)
            .say(": ")
            .quote(check.detail.lines().next().unwrap_or("")),
        (Verdict::Broken, Some(failure), None) => message
            .say("the measurement ")
            .stress("cannot be trusted")
            .say(": ")
            .quote(&failure.what),
        (Verdict::Inconclusive, ..) => message
            .stress("inconclusive")
            .say(", too little was measured to tell")
            .conditions(scenario, report),
        (verdict, ..) => message
            .stress(verdict.as_str())
            .conditions(scenario, report),
    }
}

pub(super) fn finding(scenario: &Scenario, report: &Report, finding: &Finding) -> Message {
    let mut message = Message::of(scenario).say(": ");
    let expired = finding.standing == Standing::Expired;
    if finding.is_unused() {
        message = message.say("an allowance of ").stress(&allowed(finding));
        message = match expired {
            true => message.say(" per iteration has expired, and nothing uses it"),
            false => message.say(" per iteration is no longer needed"),
        };
    } else {
        message = match finding.verdict {
            Verdict::Inconclusive => message.say("may be growing by "),
            _ => message.say("keeps growing by "),
        };
        message = message
            .stress(&rate(finding, report.error_of(finding)))
            .say(" per iteration");
        message = message.say(&format!(", {}; allowed: {}", finding.law, allowed(finding)));
        if expired {
            message = message.say(", until a day that has passed");
        }
        message = message.conditions(scenario, report);
    }
    if let Subject::Site { stacks, .. } = finding.subject {
        let stacks = count(stacks as u64);
        message = message.say(&format!(
            "; the sum over {stacks} stacks of one allocation site"
        ));
    }
    if let Some(frame) = finding.frames.first() {
        message = message.say("; allocated in ").quote(&frame.function);
    } else if let Subject::Stack(stack) | Subject::Site { frames: stack, .. } = &finding.subject
        && !stack.frames().is_empty()
    {
        message = message.say("; allocated in ").quote(stack.leaf());
    }
    if let Some(reason) = &finding.reason {
        message = message.say("; agreed to because: ").quote(reason);
    }
    message
}

/// `+96 B, +1.00 objects`, `+1.00 threads`
fn rate(finding: &Finding, error: Option<Rate>) -> String {
    let rate = finding.rate;
    match finding.subject {
        Subject::Threads => format!("{} threads", signed_objects(rate.objects)),
        Subject::Descriptors => format!("{} file descriptors", signed_objects(rate.objects)),
        Subject::Stack(_) | Subject::Site { .. } => format!(
            "{}{}, {}{} objects",
            signed_bytes(rate.bytes),
            give_or_take(error.map(|error| error.bytes), bytes),
            signed_objects(rate.objects),
            give_or_take(error.map(|error| error.objects), objects),
        ),
    }
}

fn allowed(finding: &Finding) -> String {
    let allowed = finding.allowed;
    match finding.subject {
        Subject::Threads | Subject::Descriptors if allowed.objects == 0.0 => "0".to_owned(),
        Subject::Threads | Subject::Descriptors => objects(allowed.objects),
        _ if allowed.objects == 0.0 => bytes(allowed.bytes),
        _ => format!(
            "{}, {} objects",
            bytes(allowed.bytes),
            objects(allowed.objects)
        ),
    }
}

/// A function's name within a text of ours.
pub(super) fn name(function: &str) -> String {
    escape(&clean_line(function, LONGEST))
}

/// Text of others in a SARIF message: brackets make links there (SARIF 2.1.0,
/// section 3.11.6). Braces stay as they are; they stand for arguments only where
/// a message has some, and ours have none.
pub(super) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('[', "\\[")
        .replace(']', "\\]")
}

/// A code span of Markdown that nothing in the text can end.
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

    #[test]
    fn text_of_others_stays_text() {
        let message = Message::default().quote("a[b](https://x)\\\n`c``d\u{202e}");
        assert_eq!(message.text, "a\\[b\\](https://x)\\\\ `c``d");
        assert_eq!(message.markdown, "``` a[b](https://x)\\ `c``d ```");
        assert_eq!(Message::default().quote("f").markdown, "`f`");
        assert_eq!(Message::default().quote("\u{7}"), Message::default());
    }
}
