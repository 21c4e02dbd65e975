//! Outputs made from a joined report. They decide nothing, and print nothing.
//!
//! All that is in a report was written by the code under review. It reaches each
//! output through that output's one function in [`plimsoll_text::sink`].

#[cfg(test)]
pub mod fixtures;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod picture;
pub mod plain;
pub mod sarif;
pub mod tree;

use std::collections::BTreeMap;

use plimsoll_core::report::Report;

/// What a page says beside the report, from those who may be believed: the
/// event, the API, the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// By what a comment is found again; absent where nothing is to be found.
    pub marker: Option<Marker>,
    /// The commit that is judged, in hexadecimal.
    pub head: Option<String>,
    /// The commit that it is to be merged into, in hexadecimal.
    pub base: Option<String>,
    /// Where the measuring job can be seen.
    pub job_url: Option<String>,
    /// Where the interactive report can be seen.
    pub report_url: Option<String>,
    /// Whether the report came from a job that ran the pull request's code, and
    /// is that code's word alone.
    pub untrusted: bool,
    /// What the pull request changes of its own measure, by path.
    pub touched: Vec<Touched>,
    /// Whether it may change more of it than GitHub has said.
    pub touched_more: bool,
    /// Flame graphs that a browser can load, by the scenario's place.
    pub images: BTreeMap<usize, Image>,
}

impl Context {
    /// Whether the code that is judged has measured itself, with files that it changes, as far as
    /// is known.
    pub fn may_measure_itself(&self) -> bool {
        self.untrusted && (self.touched_more || !self.touched.is_empty())
    }
}

/// What a comment begins with, which nobody sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Comments of HTML, a line each. They are not escaped.
    pub lines: String,
    /// The run that measured.
    pub run: u64,
    /// Which attempt at that run.
    pub attempt: u64,
}

/// A changed file by which a pull request can agree with itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touched {
    pub kind: TouchedKind,
    /// As git has it: untrusted text.
    pub path: String,
}

/// In the order in which they are listed: what decides most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TouchedKind {
    Workflow,
    Settings,
    Build,
    Test,
    Baseline,
}

/// A flame graph on a branch, by addresses that name its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub light: String,
    pub dark: String,
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
