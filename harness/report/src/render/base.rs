//! Compares what grows with a run of the base: the report of the commit that a pull request is
//! to be merged into, or of a commit of the default branch before it.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::view::Cause;
use plimsoll_text::sink::code_span;

use super::entries::{Entry, Kind, Member};
use crate::joined::{Joined, Scenario};

/// The part of its present rate that growth must have had on the base to be the same growth.
/// Rates that depend on timing differ by a few percent from run to run.
const SAME: f64 = 0.8;

/// A run of the base.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// The name of the branch, `main` for example.
    pub branch: String,
    /// The report of the run.
    pub joined: Joined,
}

/// How growth compares with that on the base.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Since {
    /// The base was measured, and this did not grow.
    New,
    /// It grew as much.
    Before,
    /// It grew by this, which is less.
    Faster(String),
    /// The base has no verdict on this scenario.
    Unknown,
}

impl Base {
    /// Returns the base as the footer names it.
    pub(super) fn named(&self) -> String {
        let branch = code_span(&self.branch, 60);
        match self.commit() {
            Some(commit) => format!("compared with {branch} at `{commit}`"),
            None => format!("compared with {branch}"),
        }
    }

    /// Returns the first digits of the commit that was measured.
    fn commit(&self) -> Option<&str> {
        let source = self
            .joined
            .source
            .as_ref()
            .map(|source| source.head.as_str());
        let reports = self.joined.scenarios.iter().filter_map(Scenario::report);
        let mut commits = reports.filter_map(|report| report.run.commit.as_deref());
        let commit = source.or_else(|| commits.next())?;
        let is_hex = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| &commit[..commit.len().min(7)])
    }

    /// Returns how an entry compares with the base, as a sentence fragment. `None` if nothing
    /// grows.
    pub(super) fn since(&self, entry: &Entry<'_>) -> Option<String> {
        (entry.kind == Kind::Grows).then_some(())?;
        let since: Vec<Since> = entry.members.iter().map(|one| self.of(one)).collect();
        let branch = code_span(&self.branch, 60);
        let new = since.iter().filter(|one| **one == Since::New).count();
        let known = since.iter().filter(|one| **one != Since::Unknown).count();
        Some(match (since.as_slice(), new, known) {
            (_, _, 0) => format!("not measured on {branch}"),
            (_, new, known) if new == known => "new in this pull request".to_owned(),
            ([Since::Faster(was)], ..) => {
                format!("already on {branch}, but slower there: {was} per iteration")
            }
            (_, 0, _) => format!("already on {branch}"),
            _ => format!(
                "already on {branch} in {} of {known} scenarios",
                known - new
            ),
        })
    }

    fn of(&self, member: &Member<'_>) -> Since {
        let Some(cause) = &member.cause else {
            return Since::Unknown;
        };
        let is_same = |other: &&Scenario| {
            let platforms = other
                .platform
                .as_ref()
                .zip(member.scenario.platform.as_ref());
            other.name == member.scenario.name
                && other.package == member.scenario.package
                && other.target == member.scenario.target
                && platforms.is_none_or(|(one, other)| one == other)
        };
        let there = self.joined.scenarios.iter().find(is_same);
        let Some(report) = there.and_then(Scenario::report) else {
            return Since::Unknown;
        };
        let key = cause.key();
        let found = report.of(|finding| {
            finding.cause() == key
                && finding.verdict != Verdict::Inconclusive
                && !finding.is_unused()
        });
        match (report.causes(&found).first(), report.verdict) {
            (Some(before), _) if is_as_fast(before, cause) => Since::Before,
            (Some(before), _) => Since::Faster(before.sum().short()),
            // Whatever did not end with a verdict may have missed it.
            (None, Verdict::Within | Verdict::Improved | Verdict::Regressed) => Since::New,
            (None, _) => Since::Unknown,
        }
    }
}

/// Returns whether growth was about as fast before as it is now.
fn is_as_fast(before: &Cause<'_>, now: &Cause<'_>) -> bool {
    before.sum().weight() >= SAME * now.sum().weight()
}
