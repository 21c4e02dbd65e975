//! Outputs made from a joined report. They decide nothing, and print nothing.
//!
//! All that is in a report was written by the code under review. It reaches each
//! output through that output's one function in [`sink`].

#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod html;
pub(crate) mod junit;
pub(crate) mod markdown;
pub(crate) mod picture;
pub(crate) mod plain;
pub(crate) mod sarif;
pub(crate) mod sink;
pub(crate) mod spark;
pub(crate) mod tree;

use std::collections::BTreeMap;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Report;
use serde::Deserialize;

/// What a page says beside the report, from those who may be believed: the
/// event, the API, the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    /// What makes a comment ours; absent where there is nothing to recognise.
    pub(crate) marker: Option<Marker>,
    /// The commit that is judged, in hexadecimal.
    pub(crate) head: Option<String>,
    /// The commit that it is to be merged into, in hexadecimal.
    pub(crate) base: Option<String>,
    /// Where the measuring job can be seen.
    pub(crate) job_url: Option<String>,
    /// Where the interactive report can be seen.
    pub(crate) report_url: Option<String>,
    /// Whether the report came from a job that ran the pull request's code, and
    /// is that code's word alone.
    pub(crate) untrusted: bool,
    /// What the pull request changes of its own measure, by path.
    pub(crate) touched: Vec<Touched>,
    /// Whether it may change more of it than GitHub has said.
    pub(crate) touched_more: bool,
    /// Flame graphs that a browser can load, by the scenario's place.
    pub(crate) images: BTreeMap<usize, Image>,
}

impl Context {
    /// Whether the code that is judged has measured itself, with files that it changes, as far as
    /// is known.
    pub(crate) fn may_measure_itself(&self) -> bool {
        self.untrusted && (self.touched_more || !self.touched.is_empty())
    }
}

/// What makes a comment recognisable as ours, and tells a newer from an older.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// Tells several comments on one pull request apart: `A-Z a-z 0-9 _ - .`
    pub(crate) key: String,
    pub(crate) run: u64,
    pub(crate) attempt: u64,
    /// Of the commit that was judged, in hexadecimal.
    pub(crate) sha: String,
    /// Tells two jobs of one run apart, by their reports: in hexadecimal.
    pub(crate) job: String,
    pub(crate) state: State,
}

/// What a page comes to, the better first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Green,
    /// Nothing is known, or not all.
    Open,
    Red,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Green => "green",
            State::Open => "open",
            State::Red => "red",
        }
    }

    /// Of a run's reports, or of none.
    pub(crate) fn of(verdict: Option<Verdict>) -> State {
        match verdict {
            Some(Verdict::Within | Verdict::Improved) => State::Green,
            Some(Verdict::Inconclusive) | None => State::Open,
            Some(Verdict::Regressed | Verdict::Failed | Verdict::Broken) => State::Red,
        }
    }
}

/// A changed file by which a pull request can agree with itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Touched {
    pub(crate) kind: TouchedKind,
    /// As git has it: untrusted text.
    pub(crate) path: String,
}

/// In the order in which they are listed: what decides most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TouchedKind {
    Workflow,
    Settings,
    Build,
    Test,
    Baseline,
}

/// A flame graph on a branch, by addresses that name its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) light: String,
    pub(crate) dark: String,
}

impl Marker {
    /// The first line of a comment of ours.
    pub(crate) fn first_line(&self) -> String {
        format!("<!-- plimsoll:v1 key={} -->", self.key)
    }

    /// The second.
    pub(crate) fn second_line(&self) -> String {
        format!(
            "<!-- plimsoll:meta {{\"run\":{},\"attempt\":{},\"sha\":\"{}\",\"job\":\"{}\",\
             \"state\":\"{}\"}} -->",
            self.run,
            self.attempt,
            self.sha,
            self.job,
            self.state.as_str()
        )
    }
}

/// What `cargo test --test` takes for a target, by the name that a run has of
/// it: the compiler has `_` where the target's name may have `-`, and cargo
/// takes a pattern.
fn cargo_target(target: &str) -> String {
    match target.contains('_') {
        true => format!("'{}'", target.replace('_', "?")),
        false => target.to_owned(),
    }
}

/// The option of `cargo test` for the profile that was measured, a space before it.
fn cargo_profile(report: &Report) -> &'static str {
    match &report.measured {
        Some(measured) if measured.profile == "release" => " --release",
        _ => "",
    }
}
