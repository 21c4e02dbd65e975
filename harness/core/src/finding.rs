//! A finding: something that grows, its rate, its survivors, and what the baseline says of it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::baseline::{Need, is_twice_the_need};
use crate::blame::{Blame, Packages, SourceFiles};
use crate::fold::{self, Trace};
use crate::growth::Unit;
use crate::holders::Holders;
use crate::ladder::RUNGS_TO_RISE;
use crate::outside::GrownMappings;
use crate::resource::Resource;
use crate::verdict::Verdict;
use crate::words::words;
use crate::{FoldedStack, Frame, Lacks, Law, Rate, Tally};

/// Something that a person should know about.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The verdict on it.
    pub verdict: Verdict,
    /// What grows.
    pub subject: Subject,
    /// The frames, leaf first. Empty for a resource, and for an allowance that nothing uses.
    pub frames: Vec<Frame>,
    /// The place to blame. `None` if there are no frames. Reports of older versions do not have
    /// this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
    /// Its rate.
    pub rate: Rate,
    /// How far the rate may be off. Zero if the rate is exact.
    pub error: Rate,
    /// The law of its growth.
    pub law: Law,
    /// The law of its objects. Format 1 has one law for objects and bytes.
    #[serde(default = "crate::required::law")]
    pub objects_law: Law,
    /// The law of its bytes. They count as stepped even if only a part of them grows in steps,
    /// such as the spare room of a list beside its elements.
    #[serde(default = "crate::required::law")]
    pub bytes_law: Law,
    /// Why lines are missing among its frames, or the workload's own frame. `None` if nothing is
    /// missing that the program could tell. Reports of older versions do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<Lacks>,
    /// How it grows with time, if it grows with that and not with iterations. Reports of older
    /// versions do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// The rate that the baseline allows.
    pub allowed: Rate,
    /// Its relation to the baseline.
    pub standing: Standing,
    /// If it moved, the stack under which the baseline has its allowance.
    #[serde(deserialize_with = "crate::required::required")]
    pub moved_from: Option<FoldedStack>,
    /// The reason that the baseline gives, for people.
    #[serde(deserialize_with = "crate::required::required")]
    pub reason: Option<String>,
    /// The level at every rung.
    pub levels: Vec<Tally>,
    /// What is alive at the last rung, by the octave of its birth, the oldest first. Empty for
    /// resources, and if births are not known. Format 1 does not have this key.
    #[serde(default)]
    pub survivors: Vec<Survivors>,
    /// What the mappings are that became more. Empty unless it is about these, and if nobody
    /// knows. Reports of older versions do not have this key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<GrownMappings>,
    /// Who holds its objects. `None` if that was not looked at, or could not be. Reports of older
    /// versions do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holders: Option<Holders>,
}

/// What is left of the objects that were born in one octave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Survivors {
    /// Iterations after which the octave begins.
    pub from: u64,
    /// Iterations after which it ends.
    pub to: u64,
    /// Objects that were ever allocated in it. `None` if the profiler does not keep that.
    #[serde(deserialize_with = "crate::required::required")]
    pub allocated: Option<u64>,
    /// What is left of it at the last rung. An estimate if the profile is sampled.
    pub alive: Tally,
}

/// Growth with time, whatever the iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// What stays, per second.
    pub per_second: Rate,
    /// How long it was followed, in whole seconds: from the first rung on.
    pub followed: u64,
}

impl Clock {
    /// For how long growth with time must be followed to count as growth that does not end, in
    /// seconds. What forgets its entries within this time has stopped growing by then.
    pub const LONG: u64 = 120;

    /// Returns whether it was followed for long enough to count as growth that does not end.
    pub fn is_long(&self) -> bool {
        self.followed >= Clock::LONG
    }
}

impl Finding {
    /// Sets the frames, with their source lines, and the place to blame. `traces` has those of
    /// every stack. The frames of a site are the first ones of its stacks, counted from the leaf,
    /// and its place is what those of its stacks have in common.
    pub fn locate(
        &mut self,
        traces: &BTreeMap<FoldedStack, Trace>,
        scenario: &str,
        packages: &Packages,
        files: &SourceFiles<'_>,
    ) {
        let blame = |trace: &Trace| Blame::of(trace, scenario, packages, files);
        (self.frames, self.blame, self.lacks) = match &self.subject {
            Subject::Stack(stack) => {
                let trace = traces.get(stack).cloned().unwrap_or_default();
                let blame = blame(&trace);
                let lacks = trace
                    .lacks
                    .filter(|_| blame.as_ref().and_then(Blame::own_line).is_none());
                (trace.frames, blame, lacks)
            }
            Subject::Site { frames: site, .. } => {
                let on_site = traces
                    .iter()
                    .filter(|(stack, _)| self.subject.covers(stack))
                    .map(|(_, trace)| trace);
                let common = Blame::common(on_site.clone().filter_map(blame));
                let lacks = on_site.clone().filter_map(|trace| trace.lacks).max();
                let lacks = lacks.filter(|_| common.as_ref().and_then(Blame::own_line).is_none());
                let first = on_site
                    .clone()
                    .next()
                    .map_or(&[][..], |trace| &trace.frames);
                let first = first.iter().take(site.frames().len());
                (first.cloned().collect(), common, lacks)
            }
            Subject::Resource(_) => (Vec::new(), None, None),
        };
    }

    /// Returns whether the name of one of its frames contains this, or the whole name of one that
    /// is to blame.
    pub fn mentions(&self, part: &str) -> bool {
        let blame = self.blame.as_ref();
        let mut blamed = blame.into_iter().flat_map(Blame::frames);
        self.subject.name().contains(part) || blamed.any(|frame| frame.function.contains(part))
    }

    /// Returns whether a frame has no source line, and nothing says why. The C library, which is
    /// below every thread, is no such frame.
    pub fn has_unexplained_frames(&self) -> bool {
        self.lacks.is_none() && self.frames.iter().any(|frame| frame.file.is_none())
    }

    /// Returns whether it is about an allowance that nothing uses any more, expired or not.
    pub fn is_unused(&self) -> bool {
        match self.standing {
            Standing::Stale => true,
            // Something that still moves was measured, and has levels.
            Standing::Expired => self.rate == Rate::default() && self.levels.is_empty(),
            _ => false,
        }
    }

    /// Returns how much of its allowance it uses.
    pub(crate) fn need(&self) -> Need {
        Need {
            rate: self.rate,
            error: self.error,
        }
    }

    /// Returns whether its allowance is more than twice what it needs. This is no verdict,
    /// because rates may depend on timing.
    pub fn has_twice_its_need(&self) -> bool {
        let grows_within = matches!(self.standing, Standing::Allowed | Standing::Moved);
        grows_within && is_twice_the_need(self.allowed, self.need())
    }

    /// Returns the survivors of the octave before the last, which are all at least an octave
    /// old. `None` if no objects go, if births are not known, or if the law is stepped, which
    /// is that of a list that is replaced as it grows.
    pub fn stayed(&self) -> Option<&Survivors> {
        let (_, aged) = self.survivors.split_last()?;
        let falls = self.falls();
        let goes = |octave: &Survivors| match octave.allocated {
            Some(allocated) => octave.alive.objects < allocated,
            None => falls,
        };
        let is_list = self.law == Law::Stepped;
        aged.last().filter(|_| !is_list && aged.iter().any(goes))
    }

    /// Returns whether objects became fewer at one of the rungs that a verdict uses.
    pub(crate) fn falls(&self) -> bool {
        let recent = &self.levels[self.levels.len().saturating_sub(RUNGS_TO_RISE)..];
        let mut steps = recent.windows(2);
        steps.any(|pair| pair[1].objects < pair[0].objects)
    }

    /// Returns whether it is a stack whose growth is part of the sum of a site among
    /// `findings`.
    pub(crate) fn is_in_site_of(&self, findings: &[&Finding]) -> bool {
        let Subject::Stack(stack) = &self.subject else {
            return false;
        };
        findings.iter().any(|other| match &other.subject {
            Subject::Site { frames, .. } => stack.0.ends_with(&frames.0),
            _ => false,
        })
    }

    /// Returns whether it is worth mentioning even if the test passes.
    pub fn is_remarkable(&self) -> bool {
        self.standing == Standing::Moved || self.has_twice_its_need()
    }
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(into = "KindAndStack", try_from = "KindAndStack")]
pub enum Subject {
    /// One call stack.
    Stack(FoldedStack),
    /// All stacks of one allocation site, if each alone has too little growth to be found.
    Site {
        /// The frames nearest the leaf that are not the allocator's, leaf last.
        frames: FoldedStack,
        /// The number of stacks of the site.
        stacks: usize,
    },
    /// Something that the process can run out of.
    Resource(Resource),
}

impl Subject {
    /// Returns the stack, or the frames that the stacks of a site have in common. `None` for a
    /// resource.
    pub fn stack(&self) -> Option<&FoldedStack> {
        match self {
            Subject::Stack(stack) | Subject::Site { frames: stack, .. } => Some(stack),
            Subject::Resource(_) => None,
        }
    }

    /// Returns whether it is this stack, or a site that has it.
    pub fn covers(&self, stack: &FoldedStack) -> bool {
        match self {
            Subject::Stack(own) => own == stack,
            Subject::Site { frames, .. } => fold::site(stack) == *frames,
            Subject::Resource(_) => false,
        }
    }

    /// Returns the unit of a resource. `None` for what has objects and bytes: the heap.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Subject::Stack(_) | Subject::Site { .. } => None,
            Subject::Resource(resource) => Some(resource.unit()),
        }
    }

    /// Returns the name that `growth.folded` uses: frames root first, joined with semicolons.
    pub fn name(&self) -> String {
        match self {
            Subject::Stack(stack) | Subject::Site { frames: stack, .. } => stack.to_string(),
            Subject::Resource(resource) => resource.many().to_owned(),
        }
    }
}

/// A subject as it is in a file: one shape for every kind, so that no key is optional.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
struct KindAndStack {
    kind: Kind,
    #[serde(deserialize_with = "crate::required::required")]
    stack: Option<FoldedStack>,
    #[serde(deserialize_with = "crate::required::required")]
    stacks: Option<u64>,
}

/// The kind of a subject.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
enum Kind {
    Stack,
    Site,
    #[serde(untagged)]
    Resource(Resource),
}

impl From<Subject> for KindAndStack {
    fn from(subject: Subject) -> Self {
        let (kind, stack, stacks) = match subject {
            Subject::Stack(stack) => (Kind::Stack, Some(stack), None),
            Subject::Site { frames, stacks } => (Kind::Site, Some(frames), Some(stacks as u64)),
            Subject::Resource(resource) => (Kind::Resource(resource), None, None),
        };
        KindAndStack {
            kind,
            stack,
            stacks,
        }
    }
}

#[cfg(feature = "reports")]
impl TryFrom<KindAndStack> for Subject {
    type Error = String;

    fn try_from(file: KindAndStack) -> Result<Self, String> {
        match (file.kind, file.stack, file.stacks) {
            (Kind::Stack, Some(stack), None) => Ok(Subject::Stack(stack)),
            (Kind::Site, Some(frames), Some(stacks)) => {
                let stacks = usize::try_from(stacks).unwrap_or(usize::MAX);
                Ok(Subject::Site { frames, stacks })
            }
            (Kind::Resource(resource), None, None) => Ok(Subject::Resource(resource)),
            (kind, stack, stacks) => {
                let expected = match kind {
                    Kind::Stack => "a stack alone",
                    Kind::Site => "a stack and the number of stacks",
                    Kind::Resource(_) => "null for both keys",
                };
                let is = |there| if there { "something" } else { "null" };
                let (stack, stacks) = (is(stack.is_some()), is(stacks.is_some()));
                Err(format!(
                    "`subject`: expected {expected}, found {stack} in `stack` and {stacks} in `stacks`"
                ))
            }
        }
    }
}

/// The relation of a finding to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The baseline has no allowance for it.
    New,
    /// It has an allowance, and grows within it.
    Allowed,
    /// It has an allowance, and grows past it.
    Exceeded,
    /// The baseline has it under another stack, and it grows within that allowance. If
    /// [`Finding::moved_from`] is absent, it must not take that stack's place: names are
    /// missing, or sums of several stacks or allowances are compared.
    Moved,
    /// Its allowance has expired.
    Expired,
    /// It has an allowance that has not expired, and no longer grows.
    Stale,
}

words!(Standing {
    New = "new",
    Allowed = "allowed",
    Exceeded = "exceeded",
    Moved = "moved",
    Expired = "expired",
    Stale = "stale",
});

/// Returns the findings about stacks and sites, without stacks that are part of a site's sum.
pub fn each_stack_once<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    findings
        .iter()
        .copied()
        .filter(|finding| matches!(finding.subject, Subject::Stack(_) | Subject::Site { .. }))
        .filter(|finding| !finding.is_in_site_of(findings))
        .collect()
}
