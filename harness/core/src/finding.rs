//! Something that grows: what it is, how fast, who of it stayed, and what was agreed of it.

use serde::{Deserialize, Serialize};

use crate::baseline::{Need, is_twice_the_need};
use crate::ladder::RUNGS_TO_RISE;
use crate::required::required;
use crate::verdict::Verdict;
use crate::{FoldedStack, Frame, Law, Rate, Tally};

/// Something that a person should know of.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How much it needs a person.
    pub verdict: Verdict,
    /// What grows.
    pub subject: Subject,
    /// Leaf first, with the frame to blame first; empty for a resource.
    pub frames: Vec<Frame>,
    /// How fast.
    pub rate: Rate,
    /// How far the rate may be off. Zero where it is exact.
    pub error: Rate,
    /// In which way.
    pub law: Law,
    /// In which way its objects grow.
    pub objects_law: Law,
    /// In which way its bytes grow: in steps as well where only a part of them comes in
    /// steps, such as the room of a list beside what is in it.
    pub bytes_law: Law,
    /// What the baseline allows.
    pub allowed: Rate,
    /// How it stands to the baseline.
    pub standing: Standing,
    /// The stack that the baseline has its allowance for, where that moved.
    pub moved_from: Option<FoldedStack>,
    /// What the baseline says of it, for people.
    pub reason: Option<String>,
    /// The level at every rung.
    pub levels: Vec<Tally>,
    /// Who is alive at the last rung, by the octave in which it was born, the oldest
    /// first; empty for resources, and where births are not known.
    pub survivors: Vec<Survivors>,
}

/// What is left of all that was born in one octave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survivors {
    /// It was born after so many iterations.
    pub from: u64,
    /// Up to so many.
    pub to: u64,
    /// Objects that were ever allocated in it; absent where the profiler does not keep
    /// that.
    #[serde(deserialize_with = "required")]
    pub allocated: Option<u64>,
    /// What is left of it at the last rung; estimates, where it was sampled.
    pub alive: Tally,
}

impl Finding {
    /// Whether it is of an allowance that nothing uses any more, expired or not.
    pub fn is_unused(&self) -> bool {
        match self.standing {
            Standing::Stale => true,
            // What still moves was measured, and has levels.
            Standing::Expired => self.rate == Rate::default() && self.levels.is_empty(),
            _ => false,
        }
    }

    /// How much of its allowance it uses.
    pub(crate) fn need(&self) -> Need {
        Need {
            rate: self.rate,
            error: self.error,
        }
    }

    /// Whether its allowance is more than twice what it needs, which is no verdict:
    /// rates may depend on timing.
    pub fn has_twice_its_need(&self) -> bool {
        let grows_within = matches!(self.standing, Standing::Allowed | Standing::Moved);
        grows_within && is_twice_the_need(self.allowed, self.need())
    }

    /// Who stayed, where objects come and go: of those that were born in the octave before
    /// the last, and so are an octave old or older. Absent where nothing goes, where births
    /// are not known, and of a list that is replaced as it grows.
    pub fn stayed(&self) -> Option<&Survivors> {
        let (_, aged) = self.survivors.split_last()?;
        let objects: Vec<u64> = self.levels.iter().map(|level| level.objects).collect();
        let recent = &objects[objects.len().saturating_sub(RUNGS_TO_RISE)..];
        let falls = recent.windows(2).any(|pair| pair[1] < pair[0]);
        let goes = |octave: &Survivors| match octave.allocated {
            Some(allocated) => octave.alive.objects < allocated,
            None => falls,
        };
        let is_list = self.law == Law::Stepped;
        aged.last().filter(|_| !is_list && aged.iter().any(goes))
    }

    /// Whether it is a stack whose growth is in the sum of a site among them.
    pub(crate) fn is_in_site_of(&self, findings: &[&Finding]) -> bool {
        let Subject::Stack(stack) = &self.subject else {
            return false;
        };
        findings.iter().any(|other| match &other.subject {
            Subject::Site { frames, .. } => stack.0.ends_with(&frames.0),
            _ => false,
        })
    }

    /// Whether it is worth a word where the test passes.
    pub fn is_remarkable(&self) -> bool {
        self.standing == Standing::Moved || self.has_twice_its_need()
    }
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// One call stack.
    Stack(FoldedStack),
    /// All stacks of one allocation site, each too thin to be found alone.
    Site {
        /// The leaf-most frames that are not the allocator's, leaf last.
        frames: FoldedStack,
        /// How many stacks stand on it.
        stacks: usize,
    },
    /// Threads of the process.
    Threads,
    /// Open file descriptors of the process.
    Descriptors,
}

impl Subject {
    /// The stack, or the frames that stacks of a site have in common; absent of a resource.
    pub fn stack(&self) -> Option<&FoldedStack> {
        match self {
            Subject::Stack(stack) | Subject::Site { frames: stack, .. } => Some(stack),
            Subject::Threads | Subject::Descriptors => None,
        }
    }

    /// As `growth.folded` has it: frames root first, with a semicolon between.
    pub fn name(&self) -> String {
        match self {
            Subject::Stack(stack) | Subject::Site { frames: stack, .. } => stack.to_string(),
            Subject::Threads => "threads".to_owned(),
            Subject::Descriptors => "file descriptors".to_owned(),
        }
    }
}

/// How a finding stands to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The baseline has nothing of it.
    New,
    /// It has an allowance, and grows within it.
    Allowed,
    /// It has an allowance, and grows past it.
    Exceeded,
    /// The baseline has it under another stack, and it grows within that. Without
    /// [`Finding::moved_from`] it is not to take that stack's place: names are missing,
    /// or sums of several stacks or allowances are held against each other.
    Moved,
    /// Its allowance has expired.
    Expired,
    /// It has an allowance that has not expired, and no longer grows.
    Stale,
}

/// Stacks and sites, but no stack that is in the sum of a site.
pub fn each_stack_once<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    findings
        .iter()
        .copied()
        .filter(|finding| matches!(finding.subject, Subject::Stack(_) | Subject::Site { .. }))
        .filter(|finding| !finding.is_in_site_of(findings))
        .collect()
}
