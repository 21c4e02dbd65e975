//! Baselines: the growth that a project has accepted for each scenario, in
//! `baselines/<scenario>.toml`.
//!
//! ```toml
//! format = 1
//!
//! [measured]                          # what it was measured with
//! test = "lru/leaks"                  # the test that has the scenario: PACKAGE/TARGET
//! per = "second"                      # what rates are per, if not an iteration of a test
//! target = "x86_64-unknown-linux-gnu"
//! profile = "debug"
//! toolchain = "rustc 1.95.0"
//! jemalloc = "5.3.0"
//! sample-interval = 1                 # mean bytes between samples; 1 is exact
//! iterations = 65536
//!
//! [[allow]]
//! stack = [                           # root first; "..." is any run of frames
//!     "...",
//!     "lru_churn::fill",
//!     "lru::LruCache::put",
//! ]
//! objects = 1.0                       # per iteration
//! bytes = 48.0
//! law = "linear"
//! reason = "the index is never pruned"  # from here on for people, and optional
//! issue = "https://example.org/issues/7"
//! expires = 2027-01-31                # from the day after, the test fails again
//!
//! [[allow]]
//! resource = "threads"                # or another; instead of `stack`
//! objects = 1.0
//! law = "linear"
//! ```
//!
//! A baseline has rates and no totals, so growth that stops needs no allowance. Frames are
//! normalised as they are read, so a new rule of [`crate::fold`] turns no old file red.
//! Allowances that become equal by such a rule add up.
//!
//! [`Baseline::parse`] reads a file, and [`update`] edits a file's text in place.
//! [`crate::judge`] decides which allowance covers which stack.

mod acceptance;
mod date;
mod error;
mod frames;
mod need;
mod parse;
mod pattern;
mod rounding;
mod text;
mod write;

use std::fmt;
use std::ops::RangeInclusive;

pub use acceptance::{Acceptance, Accepted, Moved};
pub use date::Date;
pub use error::BaselineError;
pub use need::{Need, is_twice_the_need};
pub use pattern::{PatternFrame, StackPattern};
pub use rounding::round_up;
pub use write::update;

use crate::fold::normalize_frame;
use crate::toml_file::quoted;
use crate::{FoldedStack, Law, Per, Rate, Resource, SmallMap};

/// The newest format that this version reads, and the format that it writes.
pub const FORMAT: i64 = 1;

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 8 << 20;

/// The most allowances that a file may hold.
pub const MAX_ALLOWANCES: usize = 10_000;

/// The most frames that one stack may have.
pub const MAX_FRAMES: usize = 1_000;

/// The longest frame, in bytes.
pub const MAX_FRAME_BYTES: usize = 4_096;

/// The largest rate that is read or written. No machine has that many bytes, and
/// [`MAX_ALLOWANCES`] such rates still add up to a number.
pub const MAX_RATE: f64 = 1e15;

/// The growth that a project has accepted for one scenario.
///
/// The default is the baseline of a scenario without a file: nothing may grow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// What the rates were measured with, if the file says so.
    pub measured: Option<MeasuredWith>,
    /// The allowances in the file's order, no two with the same subject.
    pub allowances: Vec<Allowance>,
}

/// What the rates of a baseline were measured with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredWith {
    /// The test that has the scenario, as `PACKAGE/TARGET`. Files of older versions have none.
    pub test: Option<String>,
    /// What the rates are per.
    pub per: Per,
    /// The target triple. This, and what follows up to `jemalloc`, is empty for a server:
    /// nobody knows.
    pub target: String,
    /// Cargo's profile: `debug` or `release`.
    pub profile: String,
    /// `rustc`'s version.
    pub toolchain: String,
    /// jemalloc's version.
    pub jemalloc: String,
    /// Mean bytes between samples; 1 is exact.
    pub sample_interval: u64,
    /// Iterations at the last rung.
    pub iterations: u64,
}

/// The growth that is accepted for one stack, one pattern of stacks, or one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowance {
    /// What may grow.
    pub subject: AllowanceSubject,
    /// The accepted rate.
    pub rate: Rate,
    /// The law of the growth when it was accepted.
    pub law: Law,
    /// The law of the bytes at that time. The room of a list grows in steps, beside objects in
    /// it that come one by one.
    pub bytes_law: Law,
    /// The reason why it is accepted.
    pub reason: Option<String>,
    /// The issue where it is discussed.
    pub issue: Option<String>,
    /// The last day on which it holds.
    pub expires: Option<Date>,
}

impl Allowance {
    /// Returns whether there is a reason that is not blank.
    pub fn has_reason(&self) -> bool {
        let reason = self.reason.as_deref().unwrap_or_default();
        !reason.trim().is_empty()
    }
}

/// The lines of an allowance, counted from 1: those of one `[[allow]]`, or of all that add up
/// to the allowance.
pub type AllowanceLines = Vec<RangeInclusive<usize>>;

/// What an allowance is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllowanceSubject {
    /// Every stack that matches.
    Stack(StackPattern),
    /// Something that the process can run out of.
    Resource(Resource),
}

impl AllowanceSubject {
    /// Returns the resource. `None` for stacks.
    pub fn resource(&self) -> Option<Resource> {
        match self {
            AllowanceSubject::Stack(_) => None,
            AllowanceSubject::Resource(resource) => Some(*resource),
        }
    }

    /// Returns the subject with frames as [`crate::fold`] names them today, which is how it is
    /// written.
    pub(crate) fn as_named_today(&self) -> Result<AllowanceSubject, BaselineError> {
        let AllowanceSubject::Stack(pattern) = self else {
            return Ok(self.clone());
        };
        let frames = pattern.frames().iter().map(|frame| match frame {
            PatternFrame::Any => Ok(PatternFrame::Any),
            PatternFrame::Frame(name) => match normalize_frame(name) {
                // In a file this name would be a run of frames, and would allow more than was
                // accepted.
                any if any == PatternFrame::ANY => {
                    Err(BaselineError::of_value("stack", "a frame's name", name))
                }
                name => Ok(PatternFrame::Frame(name)),
            },
        });
        let frames = frames.collect::<Result<Vec<_>, _>>()?;
        Ok(AllowanceSubject::Stack(StackPattern::new(frames)))
    }
}

/// Prints the resource's word, or the pattern's frames joined by `;`.
impl fmt::Display for AllowanceSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllowanceSubject::Stack(pattern) => pattern.fmt(f),
            AllowanceSubject::Resource(resource) => resource.fmt(f),
        }
    }
}

impl Baseline {
    /// Reads a file's bytes, strictly.
    ///
    /// # Errors
    ///
    /// If it is not TOML of this format (with the line), if it is of a newer format, if a key
    /// is not known, or if a limit is exceeded.
    pub fn parse(text: &[u8]) -> Result<Baseline, BaselineError> {
        Ok(Self::placed(text)?.0)
    }

    /// The same, with the lines of each allowance.
    ///
    /// # Errors
    ///
    /// The same as [`Baseline::parse`].
    pub fn placed(text: &[u8]) -> Result<(Baseline, Vec<AllowanceLines>), BaselineError> {
        let written = parse::read(text)?;
        let (allowances, lines) = merged(written.allowances, written.lines);
        let baseline = Baseline {
            measured: written.measured,
            allowances,
        };
        Ok((baseline, lines))
    }

    /// Checks that the rates are per this. Rates of another unit do not compare.
    ///
    /// # Errors
    ///
    /// If the file has allowances, and they are per something else.
    pub fn check_per(&self, per: &Per) -> Result<(), BaselineError> {
        let own = self.measured.as_ref().map(|measured| &measured.per);
        let own = own.unwrap_or(&Per::Iteration);
        if own == per || self.allowances.is_empty() {
            return Ok(());
        }
        let (expected, found) = (quoted(per.as_str()), quoted(own.as_str()));
        let detail = format!("expected allowances per {expected}, found allowances per {found}");
        let error = BaselineError::new(None, "rates of another unit", detail);
        Err(error.hint("measure as the file says, or remove the file, measure, and accept anew"))
    }

    /// Returns the place of the allowance that a stack falls under. An exact stack goes before
    /// a pattern.
    pub(crate) fn allowance_of(&self, stack: &FoldedStack) -> Option<usize> {
        let matching = |exact: bool| {
            let mut subjects = self.allowances.iter().map(|allowance| &allowance.subject);
            subjects.position(|subject| match subject {
                AllowanceSubject::Stack(pattern) => {
                    pattern.is_exact() == exact && pattern.matches(stack)
                }
                AllowanceSubject::Resource(_) => false,
            })
        };
        matching(true).or_else(|| matching(false))
    }

    /// Returns the allowance of exactly this subject.
    pub fn get(&self, subject: &AllowanceSubject) -> Option<&Allowance> {
        let mut allowances = self.allowances.iter();
        allowances.find(|allowance| allowance.subject == *subject)
    }
}

/// Merges allowances of the same subject. Rates add up, the first law stays, and so do the
/// first reason, the first issue and the earliest date.
fn merged(
    allowances: Vec<Allowance>,
    lines: Vec<RangeInclusive<usize>>,
) -> (Vec<Allowance>, Vec<AllowanceLines>) {
    let mut by_subject: SmallMap<AllowanceSubject, usize> = SmallMap::default();
    let mut merged: Vec<Allowance> = Vec::new();
    let mut places: Vec<AllowanceLines> = Vec::new();
    for (allowance, lines) in allowances.into_iter().zip(lines) {
        let index = *by_subject.or_insert(allowance.subject.clone(), merged.len());
        match merged.get_mut(index) {
            None => {
                merged.push(allowance);
                places.push(vec![lines]);
            }
            Some(first) => {
                absorb(first, allowance);
                places[index].push(lines);
            }
        }
    }
    (merged, places)
}

fn absorb(first: &mut Allowance, other: Allowance) {
    first.rate = first.rate + other.rate;
    first.reason = first.reason.take().or(other.reason);
    first.issue = first.issue.take().or(other.issue);
    first.expires = match (first.expires, other.expires) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    };
}

#[cfg(test)]
mod tests;
