//! The marker that tells plimsoll's comments from others, and newer ones from older ones.

use plimsoll_core::judge::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::names::{Key, Sha};

/// The first lines of a comment, by which the bot recognises its own comments and their age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Tells several comments on one pull request apart. It has no two dashes in a row, which
    /// end a comment for some readers of HTML.
    pub key: Key,
    pub run: u64,
    pub attempt: u64,
    /// The commit that was judged.
    pub sha: Sha,
    /// Tells two jobs of one run apart. It is a hash of the ids of what the job measured, in
    /// hexadecimal.
    pub job: String,
    pub state: State,
}

impl Marker {
    /// Returns the first line of the comment.
    pub fn first_line(&self) -> String {
        format!("<!-- plimsoll:v1 key={} -->", self.key)
    }

    /// Returns the second line of the comment.
    pub fn second_line(&self) -> String {
        format!(
            "<!-- plimsoll:meta {{\"run\":{},\"attempt\":{},\"sha\":\"{}\",\"job\":\"{}\",\
             \"state\":{}}} -->",
            self.run,
            self.attempt,
            self.sha,
            self.job,
            json!(self.state)
        )
    }

    /// Returns both lines.
    pub fn lines(&self) -> String {
        format!("{}\n{}", self.first_line(), self.second_line())
    }
}

/// The state of a page, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Green,
    /// Nothing is known, or not everything.
    Open,
    Red,
}

impl State {
    /// Returns the state for the verdict of a run; `None` if the run has no verdict.
    pub fn of(verdict: Option<Verdict>) -> State {
        match verdict {
            Some(Verdict::Within | Verdict::Improved) => State::Green,
            Some(Verdict::Inconclusive) | None => State::Open,
            Some(Verdict::Regressed | Verdict::Failed | Verdict::Broken) => State::Red,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run without a verdict is not green.
    #[test]
    fn what_a_verdict_comes_to() {
        for (verdict, state) in [
            (None, State::Open),
            (Some(Verdict::Within), State::Green),
            (Some(Verdict::Improved), State::Green),
            (Some(Verdict::Inconclusive), State::Open),
            (Some(Verdict::Regressed), State::Red),
            (Some(Verdict::Failed), State::Red),
            (Some(Verdict::Broken), State::Red),
        ] {
            assert_eq!(State::of(verdict), state, "{verdict:?}");
        }
    }

    #[test]
    fn two_lines_that_nobody_sees() {
        let marker = Marker {
            key: "main".parse().unwrap(),
            run: 77,
            attempt: 2,
            sha: "2bc8970a".repeat(5).parse().unwrap(),
            job: "c0ffee".to_owned(),
            state: State::of(Some(Verdict::Failed)),
        };
        assert_eq!(
            marker.lines(),
            "<!-- plimsoll:v1 key=main -->\n<!-- plimsoll:meta {\"run\":77,\"attempt\":2,\
             \"sha\":\"2bc8970a2bc8970a2bc8970a2bc8970a2bc8970a\",\"job\":\"c0ffee\",\"state\":\"red\"} -->"
        );
    }
}
