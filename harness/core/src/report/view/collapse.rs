//! Decides which frames of a stack are listed. Every list of frames is made from it.
//!
//! ```text
//! … 6 frames of tokio                               a run, in one line
//! tokio::task::spawn::spawn                         the place to blame
//! jobs::start                      src/jobs.rs:41   the reader's own
//! jobs::main                       src/main.rs:9    the reader's own
//! … 26 frames of tokio
//! ```
//!
//! The reader's own frames, those of the place to blame, and the innermost that is not plumbing are
//! always listed. So is a frame next to one of them, unless it is plumbing. A run of other frames
//! becomes one line with their number. A run of one frame stays, because the line would take as
//! much room.
//!
//! In a stack without the reader's code, the outermost frame that is not plumbing takes its place.
//! If all frames are plumbing, both ends are listed. If nobody knows which crates are the reader's,
//! only plumbing is collapsed.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::SmallMap;
use crate::blame::{Blame, is_plumbing};
use crate::fold::crate_of;
use crate::report::Report;
use crate::report::units::plural;

/// The most crates that are named for one run.
const MAX_CRATES: usize = 3;

/// Which names are always listed. The default knows none, and collapses plumbing alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collapse<'a> {
    /// The reader's own crates.
    own: BTreeSet<&'a str>,
    /// The functions of the places to blame, by their names in the stacks.
    blamed: BTreeSet<&'a str>,
}

/// How much a frame tells the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Telling {
    /// It may be collapsed.
    #[default]
    Little,
    /// It is next to one that tells most.
    Some,
    /// It is the reader's own, to blame, or at an end.
    Most,
}

/// A part of a list of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The frame with this index.
    Frame(usize),
    /// The frames with these indices, of which there are at least two. [`frames_of`] says what
    /// they are.
    Run(Range<usize>),
}

impl Report {
    /// Returns how its stacks are listed.
    pub fn collapse(&self) -> Collapse<'_> {
        let mut blamed = BTreeSet::new();
        for finding in &self.findings {
            for one in finding.blame.iter().flat_map(Blame::frames) {
                // A blamed function may have a longer name than in the stack.
                let names = finding.frames.iter();
                let named = names.filter(|frame| Blame::is_frame(one, frame));
                blamed.extend(named.chain([one]).map(|frame| frame.function.as_str()));
            }
        }
        Collapse {
            own: self.own.iter().map(String::as_str).collect(),
            blamed,
        }
    }
}

impl Collapse<'_> {
    fn is_own(&self, name: &str) -> bool {
        self.own.contains(crate_of(name).unwrap_or(name))
    }

    /// Returns how much each frame of a stack tells. `names` are leaf first, and so is the answer.
    pub fn telling(&self, names: &[&str]) -> Vec<Telling> {
        let own: Vec<bool> = names.iter().map(|name| self.is_own(name)).collect();
        let is_plumbing = |at: usize| !own[at] && is_plumbing(names[at]);
        let others = || (0..names.len()).filter(|at| !is_plumbing(*at));
        let (innermost, outermost) = match (others().next(), others().next_back()) {
            // If all of it is plumbing, where it begins and ends is all there is to see.
            (None, None) => (Some(0), names.len().checked_sub(1)),
            (innermost, outermost) => (innermost, outermost.filter(|_| !own.contains(&true))),
        };
        let ends = [innermost, outermost];
        let tells_most =
            |at: usize| own[at] || self.blamed.contains(names[at]) || ends.contains(&Some(at));
        let is_beside_one = |at: usize| {
            let beside = at.saturating_sub(1)..names.len().min(at + 2);
            beside.into_iter().any(tells_most)
        };
        let telling = |at: usize| match is_plumbing(at) {
            _ if tells_most(at) => Telling::Most,
            false if self.own.is_empty() || is_beside_one(at) => Telling::Some,
            _ => Telling::Little,
        };
        (0..names.len()).map(telling).collect()
    }

    /// Returns the parts in which the frames of a stack are listed. `names` are leaf first.
    pub fn parts(&self, names: &[&str]) -> Vec<Part> {
        let telling = self.telling(names).into_iter();
        parts(telling.map(|telling| telling > Telling::Little))
    }

    /// Returns each part in words: the name of a frame, or what a run is.
    pub fn said(&self, names: &[&str]) -> Vec<String> {
        let parts = self.parts(names).into_iter();
        let said = parts.map(|part| match part {
            Part::Frame(at) => names[at].to_owned(),
            Part::Run(run) => frames_of(&names[run]),
        });
        said.collect()
    }
}

/// Returns the parts of a list of which some frames are listed, and the others only counted.
pub fn parts(is_listed: impl Iterator<Item = bool>) -> Vec<Part> {
    let mut parts = Vec::new();
    for (at, is_listed) in is_listed.enumerate() {
        match (is_listed, parts.pop()) {
            (false, Some(Part::Run(run))) => parts.push(Part::Run(run.start..at + 1)),
            (is_listed, last) => {
                parts.extend(last.map(one_is_listed));
                parts.push(match is_listed {
                    true => Part::Frame(at),
                    false => Part::Run(at..at + 1),
                });
            }
        }
    }
    let last = parts.pop().map(one_is_listed);
    parts.extend(last);
    parts
}

fn one_is_listed(part: Part) -> Part {
    match part {
        Part::Run(run) if run.len() == 1 => Part::Frame(run.start),
        part => part,
    }
}

/// Returns what a run of frames is: `26 frames of hyper, h2 and tokio`. The crate with the most
/// frames comes first.
pub fn frames_of(names: &[&str]) -> String {
    let mut crates: SmallMap<String, usize> = SmallMap::default();
    for name in names {
        // What is in brackets is no function: nothing resolved it.
        let krate = crate_of(name).or((!name.starts_with('[')).then_some("C"));
        if let Some(krate) = krate {
            *crates.or_default(krate.to_owned()) += 1;
        }
    }
    let mut crates: Vec<(String, usize)> = crates.into_iter().collect();
    // Stable: equal ones stay in the order of their names.
    crates.sort_by_key(|(_, frames)| std::cmp::Reverse(*frames));
    let (shown, rest) = crates.split_at(crates.len().min(MAX_CRATES));
    let mut said: Vec<String> = shown.iter().map(|(krate, _)| krate.clone()).collect();
    if !rest.is_empty() {
        said.push(plural(rest.len() as u64, "more crate", "more crates"));
    }
    let of = match said.split_last() {
        None => String::new(),
        Some((only, [])) => format!(" of {only}"),
        Some((last, first)) => format!(" of {} and {last}", first.join(", ")),
    };
    format!("{}{of}", plural(names.len() as u64, "frame", "frames"))
}
