//! Outputs made from a joined report. They decide nothing and print nothing.
//!
//! The code under review wrote everything in a report. Each output passes such text through
//! its own function in [`plimsoll_core::text::sink`].

pub mod base;
pub mod entries;
pub mod html;
pub mod junit;
pub mod links;
pub mod markdown;
pub mod picture;
pub mod plain;
pub mod sarif;
pub mod tree;

use plimsoll_core::text::words::capital;
use std::collections::BTreeMap;

use plimsoll_core::growth::Unit;
use plimsoll_core::report::units::{count, size};
use plimsoll_core::text::words::Words;

use self::base::Base;
use self::entries::{Entry, Kind, entries};
use self::links::Links;
use crate::joined::Joined;

/// What a page shows in addition to the report. It comes from sources that can be trusted: the
/// event, the API, the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The marker by which the bot finds its comment again; `None` for a page that nobody has
    /// to find.
    pub marker: Option<Marker>,
    /// The commit that is judged, in hexadecimal.
    pub head: Option<String>,
    /// The commit that the pull request is to be merged into, in hexadecimal.
    pub base: Option<String>,
    /// The URL of the measuring job.
    pub job_url: Option<String>,
    /// The URL of the interactive report.
    pub report_url: Option<String>,
    /// Whether the job that made the report ran the pull request's code. Then nobody but that
    /// code vouches for the report.
    pub untrusted: bool,
    /// The changed files on which the pull request's own verdict rests.
    pub touched: Vec<Touched>,
    /// Whether the pull request may change more such files, because GitHub did not list all of
    /// them.
    pub touched_more: bool,
    /// Flame graphs that a browser can load, by the index of the scenario.
    pub images: BTreeMap<usize, Image>,
    /// A run of the base, if there is one.
    pub main: Option<Base>,
    /// The address of GitHub's website, without a slash at its end; `None` for GitHub's own.
    pub server: Option<String>,
}

impl Context {
    /// Returns whether the code under review may have measured itself with files that it
    /// changes.
    pub fn may_measure_itself(&self) -> bool {
        self.untrusted && (self.touched_more || !self.touched.is_empty())
    }
}

/// The invisible beginning of a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// HTML comments, one on each line. They are written without escaping.
    pub lines: String,
    /// The workflow run that measured.
    pub run: u64,
    /// The attempt of that run.
    pub attempt: u64,
}

/// A changed file with which a pull request influences its own verdict.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touched {
    pub kind: TouchedKind,
    /// The path as git has it: untrusted text.
    pub path: String,
}

/// The kind of a changed file. The variants are in the order in which pages list them: the
/// kind that decides most is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TouchedKind {
    Workflow,
    Settings,
    Build,
    Test,
    Baseline,
}

/// The URLs of a flame graph on a branch. Each URL contains the graph's commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub light: String,
    pub dark: String,
}

/// What every part of a page reads.
struct View<'a> {
    joined: &'a Joined,
    context: &'a Context,
    titles: Vec<String>,
    links: Links,
    entries: Vec<Entry<'a>>,
}

impl<'a> View<'a> {
    fn new(joined: &'a Joined, context: &'a Context) -> Self {
        View {
            joined,
            context,
            titles: joined.titles(),
            links: Links::of(joined, context.server.as_deref()),
            entries: entries(joined),
        }
    }

    /// Returns the entries of growth, the worst first.
    fn growing(&self) -> impl Iterator<Item = &Entry<'a>> {
        let grows = |entry: &&Entry<'_>| entry.kind == Kind::Grows;
        self.entries.iter().filter(grows)
    }

    /// Returns whether the headline says how much an entry grows: if it is the only one.
    fn is_in_headline(&self, entry: &Entry<'_>) -> bool {
        entry.kind == Kind::Grows && self.growing().count() == 1
    }

    /// Returns how an entry compares with the base.
    fn since(&self, entry: &Entry<'_>) -> Option<Words> {
        self.context.main.as_ref()?.since(entry)
    }
}

/// Formats a level: bytes, or the number of what is counted.
fn level(value: u64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => size(value),
        Unit::Objects => count(value),
    }
}

#[cfg(test)]
#[path = "tests/fixtures.rs"]
pub mod fixtures;
