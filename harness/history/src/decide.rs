//! Decides whether a revision grows faster than the good rate. Pure.
//!
//! The question is about one group of stacks, which comes from the two ends. The answer for a
//! revision comes only from the growth of that group there, not from a verdict, a baseline or
//! another stack.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::fold::may_be_one;
use plimsoll_core::judge::{BYTES_PER_OBJECT, OBJECTS_AT_TOP};
use plimsoll_core::report::{Compared, Finding, Report, StackGrowth, Standing, Subject};
use plimsoll_core::{FoldedStack, Law, Rate, Resource, to_f64};
use serde::{Deserialize, Serialize};

/// How many leaf-most frames must be the same functions for stacks to be one group, whatever their
/// callers.
/// Baselines ask for as many before they take a stack for one that has moved.
const LEAF_FRAMES: usize = 3;
/// Share of the difference between the ends by which a rate must exceed the good rate to be
/// past it.
const PAST: f64 = 0.1;
/// Distance from this threshold at which a rate is clearly on one side, as a share of that
/// excess.
const CLEARLY: f64 = 0.25;
/// How far two rates of the same growth under two names may be apart, as a share.
const SAME: f64 = 0.1;
/// Factor within which a rate may be that of the same growth.
const PERHAPS: f64 = 4.0;
/// So many errors must two rates be apart to differ.
const SURE: f64 = 2.0;

/// Error of the rate of a stack that grows in steps, as a share of the rate. Size classes and
/// whole pages make some steps a little larger.
const STEPS: f64 = 0.02;

/// Returns the stack that stands for a resource: `[threads]`.
fn stack_of(resource: Resource) -> FoldedStack {
    FoldedStack(vec![format!("[{resource}]")])
}

fn is_resource(stack: &FoldedStack) -> bool {
    Resource::ALL.into_iter().any(|one| stack_of(one) == *stack)
}

/// A growth per iteration, as every output for programs has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Gain {
    #[serde(flatten)]
    pub rate: Rate,
    /// The error of the rate. Absent if every object was counted.
    pub error: Option<Rate>,
}

impl Gain {
    /// Returns the growth of one stack in a report.
    pub(crate) fn of(growth: &StackGrowth) -> Gain {
        Gain {
            rate: growth.rate,
            error: growth.error,
        }
    }

    /// Returns the growth that exceeds `other`.
    pub(crate) fn above(self, other: Gain) -> Gain {
        let error = match (self.error, other.error) {
            (None, error) | (error, None) => error,
            (Some(one), Some(two)) => Some(hypotenuse(one, two)),
        };
        Gain {
            rate: minus(self.rate, other.rate),
            error,
        }
    }
}

/// How fast everything grew in one climb.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Climb {
    /// The iterations at the last rung.
    pub iterations: u64,
    /// The rates per iteration in the last octave. If objects come and go, only those that
    /// stayed count.
    pub rates: BTreeMap<FoldedStack, Rate>,
    /// The errors of the rates, if the report has them.
    pub errors: BTreeMap<FoldedStack, Rate>,
    /// Whether the errors come from sampling. Otherwise they come from variation of the
    /// workload itself.
    pub is_sampled: bool,
    /// The stacks that grow according to the report, whether allowed or not.
    pub growing: BTreeSet<FoldedStack>,
    /// The sites that grow according to the report. Such a growth is spread over many stacks
    /// with the same leaf-most frames.
    pub sites: BTreeSet<FoldedStack>,
    /// Who holds the objects of what grows, as a sentence, where the report knows.
    pub holders: BTreeMap<FoldedStack, String>,
}

impl Climb {
    pub(crate) fn of(report: &Report) -> Climb {
        let mut climb = Climb {
            iterations: report.rungs.last().map_or(0, |rung| rung.iterations),
            is_sampled: report.is_sampled(),
            ..Climb::default()
        };
        for growth in &report.growth {
            climb.rates.insert(growth.stack.clone(), growth.rate);
            if let Some(error) = growth.error {
                climb.errors.insert(growth.stack.clone(), error);
            }
        }
        if let Some(compared) = &report.compared {
            climb.add_resources(report, compared);
        }
        for finding in &report.findings {
            if finding.standing == Standing::Stale {
                continue;
            }
            let stack = finding.subject.stack();
            let holder = stack.and_then(|stack| Some((stack, finding.holder(report)?)));
            if let Some((stack, holder)) = holder {
                climb.holders.insert(stack.clone(), holder.plain());
            }
            match &finding.subject {
                Subject::Stack(stack) => {
                    climb.errors.insert(stack.clone(), finding.error);
                    climb.growing.insert(stack.clone());
                    if !climb.is_sampled {
                        climb.take_steps(finding, stack);
                    }
                }
                Subject::Site { frames, .. } => {
                    climb.sites.insert(frames.clone());
                }
                Subject::Resource(resource) => {
                    climb.growing.insert(stack_of(*resource));
                }
            }
        }
        climb
    }

    /// Sets the rate of a stack that grows in steps to that of the finding. This rate does not
    /// depend on how long before the last rung the last step was. Two climbs seldom end at the
    /// same point of a step.
    fn take_steps(&mut self, finding: &Finding, stack: &FoldedStack) {
        let rate = self.rates.entry(stack.clone()).or_default();
        let error = self.errors.entry(stack.clone()).or_default();
        if finding.objects_law == Law::Stepped {
            rate.objects = finding.rate.objects;
            error.objects = error.objects.max(STEPS * rate.objects);
        }
        // If only a part of the bytes comes in steps, their error is larger than that.
        if finding.bytes_law == Law::Stepped {
            rate.bytes = finding.rate.bytes;
            error.bytes = error.bytes.max(STEPS * rate.bytes);
        }
    }

    /// Adds the resources, as if each had a stack of its own.
    fn add_resources(&mut self, report: &Report, compared: &Compared) {
        let at = |iterations: u64| {
            let mut rungs = report.rungs.iter();
            rungs.find(|rung| rung.iterations == iterations)
        };
        let (Some(before), Some(after)) = (at(compared.before), at(compared.after)) else {
            return;
        };
        let iterations = compared.after.saturating_sub(compared.before).max(1);
        let per_iteration =
            |before: u64, after: u64| (to_f64(after) - to_f64(before)) / to_f64(iterations);
        for resource in Resource::ALL {
            let levels = before.resource(resource).zip(after.resource(resource));
            let Some((before, after)) = levels else {
                continue;
            };
            if before != after {
                let rate = Rate {
                    objects: per_iteration(before.objects, after.objects),
                    bytes: per_iteration(before.bytes, after.bytes),
                };
                self.rates.insert(stack_of(resource), rate);
            }
        }
    }

    /// Returns who holds the objects of a stack, or of the site that has it.
    pub(crate) fn holder(&self, stack: &FoldedStack) -> Option<&str> {
        let of_site = || {
            let mut holders = self.holders.iter();
            holders.find(|(site, _)| stack.frames().ends_with(site.frames()))
        };
        let exact = self.holders.get_key_value(stack);
        exact.or_else(of_site).map(|(_, holder)| holder.as_str())
    }

    /// Returns the rate of a group, and its error.
    pub(crate) fn rate(&self, group: &Group) -> (Rate, Rate) {
        self.rate_where(|stack| group.holds(stack))
    }

    /// Tells whether a stack of a group grows according to the report, or one with the names of
    /// `stack` in other modules.
    pub(crate) fn grows(&self, group: &Group, stack: &FoldedStack) -> bool {
        let mut growing = self.growing.iter().chain(&self.sites);
        let names = short(stack);
        growing.any(|growing| group.holds(growing) || short(growing) == names)
    }

    fn rate_where(&self, is_asked: impl Fn(&FoldedStack) -> bool) -> (Rate, Rate) {
        let (mut rate, mut error) = (Rate::default(), Rate::default());
        for (stack, gained) in self.rates.iter().filter(|(stack, _)| is_asked(stack)) {
            rate = rate + *gained;
            let of_stack = self.errors.get(stack).copied().unwrap_or_default();
            // Errors of samples are independent. Errors of the stacks of one workload may not
            // be.
            error = match self.is_sampled {
                true => hypotenuse(error, of_stack),
                false => error + of_stack,
            };
        }
        (rate, error)
    }

    /// Returns a rate with its error, as it is shown. Threads and open files are counted, so
    /// they have no error.
    pub(crate) fn gain(&self, (rate, error): (Rate, Rate)) -> Gain {
        let is_estimate = self.is_sampled && (error.objects > 0.0 || error.bytes > 0.0);
        Gain {
            rate,
            error: is_estimate.then_some(error),
        }
    }

    /// Returns the smallest growth that can be told from none.
    fn visible(&self) -> Rate {
        let objects = to_f64(OBJECTS_AT_TOP) / to_f64(self.iterations.max(1));
        Rate {
            objects,
            bytes: objects * BYTES_PER_OBJECT,
        }
    }
}

/// Returns the leaf-most frames by type and function only. These parts of a name stay if a
/// module or a crate is renamed.
fn short(stack: &FoldedStack) -> Vec<String> {
    let last_two = |name: &String| {
        let mut parts: Vec<&str> = name.rsplit("::").take(2).collect();
        parts.reverse();
        parts.join("::")
    };
    leaf(stack).iter().map(last_two).collect()
}

fn leaf(stack: &FoldedStack) -> &[String] {
    let frames = stack.frames();
    &frames[frames.len().saturating_sub(LEAF_FRAMES)..]
}

/// A group of stacks that are judged together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// The stacks whose leaf-most frames are these functions.
    Leaf(FoldedStack),
    /// The stacks that match a pattern of the user.
    Asked(Pattern),
}

impl Group {
    pub(crate) fn of(stack: &FoldedStack) -> Group {
        Group::Leaf(FoldedStack(leaf(stack).to_vec()))
    }

    pub(crate) fn holds(&self, stack: &FoldedStack) -> bool {
        match self {
            // What is inlined differs from revision to revision, and with it how much a name says.
            Group::Leaf(leaf) => {
                let (frames, leaf) = (stack.frames(), leaf.frames());
                let mut pairs = frames.iter().rev().zip(leaf.iter().rev());
                frames.len() >= leaf.len() && pairs.all(|(one, other)| may_be_one(one, other))
            }
            Group::Asked(pattern) => pattern.fits(stack),
        }
    }
}

/// Names of frames below one another, root first: `a;...;b`. Each is a part of a frame's name.
/// `...` stands for any number of frames. There may also be any number of frames before the
/// first name and after the last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    /// The runs of names without a gap.
    runs: Vec<Vec<String>>,
    text: String,
}

impl Pattern {
    fn fits(&self, stack: &FoldedStack) -> bool {
        let frames = stack.frames();
        let mut from = 0;
        for run in &self.runs {
            let fits_at = |at: usize| {
                let mut both = run.iter().zip(&frames[at..]);
                both.all(|(name, frame)| frame.contains(name.as_str()))
            };
            let last = frames.len().checked_sub(run.len());
            // The first match leaves the most frames for the runs that follow.
            match last.and_then(|last| (from..=last).find(|at| fits_at(*at))) {
                Some(at) => from = at + run.len(),
                None => return false,
            }
        }
        true
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.text
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl std::str::FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let frames: Vec<&str> = text.split(';').map(str::trim).collect();
        let runs: Vec<Vec<String>> = frames
            .split(|name| *name == "...")
            .map(|run| run.iter().map(|name| (*name).to_owned()).collect())
            .filter(|run: &Vec<String>| !run.is_empty())
            .collect();
        if runs.is_empty() || runs.iter().flatten().any(String::is_empty) {
            return Err("expected names of functions, or parts of them, with `;` between".into());
        }
        Ok(Pattern {
            runs,
            text: text.to_owned(),
        })
    }
}

/// The quantities in which the ends differ: objects, bytes, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantities {
    pub objects: bool,
    pub bytes: bool,
}

impl Quantities {
    /// Returns a function for each of them, which takes it out of a rate.
    fn each(self) -> impl Iterator<Item = fn(Rate) -> f64> {
        let objects: fn(Rate) -> f64 = |rate| rate.objects;
        let bytes: fn(Rate) -> f64 = |rate| rate.bytes;
        let objects = self.objects.then_some(objects);
        objects.into_iter().chain(self.bytes.then_some(bytes))
    }
}

/// The question that every revision is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub group: Group,
    pub good: Gain,
    pub bad: Gain,
    pub quantities: Quantities,
    /// The stack of the group that grows fastest at the bad end.
    pub stack: FoldedStack,
    /// The names of all stacks at the bad end.
    names: BTreeSet<FoldedStack>,
    /// The short names of the group's stacks at the bad end, without modules. See [`short`].
    aliases: BTreeSet<Vec<String>>,
    /// The short names of all other stacks of both ends. If one of them grows, it is not this
    /// growth.
    explained: BTreeSet<Vec<String>>,
    /// Other groups that grow at the bad end, each by its fastest stack. They are not part of
    /// the question.
    pub others: Vec<(FoldedStack, Gain)>,
    /// Stacks that grow at the good end alone, by about as much: they may be the same growth
    /// under another name.
    pub replacements: Vec<(FoldedStack, Gain)>,
    /// Half the iterations of the shorter of both climbs.
    pub half: u64,
    /// The iterations of the shortest climb that tells the ends apart, as all longer ones do.
    /// `None` if only the whole ladder does, or as long as it is not known.
    pub enough: Option<u64>,
}

/// Why there is no question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoQuestion {
    /// Nothing grows at the bad end, or nothing that matches the pattern.
    NothingGrows,
    /// Something grows at the bad end, but no faster than at the good end.
    NoDifference,
}

/// Which of two ends, in the order of their history, is the bad one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The later one: the change brought the growth.
    Brought,
    /// The earlier one: the change fixed the growth.
    Fixed,
}

/// The answer that a climb gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub is_bad: bool,
    pub rate: Gain,
    /// The stack that has this rate, if it is the same growth on a stack that neither end has.
    pub moved: Option<FoldedStack>,
}

impl Question {
    /// Makes the question from full climbs of the two ends.
    pub(crate) fn between(
        good: &Climb,
        bad: &Climb,
        pattern: Option<&Pattern>,
    ) -> Result<Question, NoQuestion> {
        Question::beyond(good, bad, pattern, SURE)
    }

    /// Does the same for groups that differ by more than this many errors.
    pub(crate) fn beyond(
        good: &Climb,
        bad: &Climb,
        pattern: Option<&Pattern>,
        errors: f64,
    ) -> Result<Question, NoQuestion> {
        let mut groups: BTreeMap<Group, FoldedStack> = BTreeMap::new();
        for stack in bad.rates.keys() {
            let mut sites = bad.sites.iter();
            let site = sites.find(|site| stack.frames().ends_with(site.frames()));
            if !bad.growing.contains(stack) && site.is_none() {
                continue;
            }
            let group = match (pattern, site) {
                (Some(pattern), _) if !pattern.fits(stack) => continue,
                (Some(pattern), _) => Group::Asked(pattern.clone()),
                // Each stack of the site alone grows too little to be seen.
                (None, Some(site)) => Group::Leaf(site.clone()),
                (None, None) => Group::of(stack),
            };
            let most = groups.entry(group).or_insert_with(|| stack.clone());
            if compare(bad.rates[stack], bad.rates[most]).is_gt() {
                most.clone_from(stack);
            }
        }
        if groups.is_empty() {
            return Err(NoQuestion::NothingGrows);
        }
        let visible = bad.visible();
        let at_bad: BTreeSet<Vec<String>> = bad.rates.keys().map(short).collect();
        let at_good_alone = good.rates.iter().filter(|(stack, _)| {
            good.growing.contains(stack) && !is_resource(stack) && !at_bad.contains(&short(stack))
        });
        let at_good_alone: Vec<(&FoldedStack, Rate)> =
            at_good_alone.map(|(stack, rate)| (stack, *rate)).collect();
        let mut asked: Vec<Question> = Vec::new();
        for (group, stack) in groups {
            let of_group = bad.rates.keys().filter(|stack| group.holds(stack));
            let mut aliases: BTreeSet<Vec<String>> = of_group.map(short).collect();
            let (b, b_error) = bad.rate(&group);
            // The same function may have had another caller there.
            let functions: BTreeSet<Option<String>> =
                aliases.iter().map(|alias| alias.last().cloned()).collect();
            let of_function = at_good_alone.iter().filter(|(stack, rate)| {
                pattern.is_none()
                    && functions.contains(&short(stack).pop())
                    && may_be_same(*rate, b, visible)
            });
            aliases.extend(of_function.map(|(stack, _)| short(stack)));
            // The module of a function may have had another name at the good end.
            let (g, g_error) = good.rate_where(|stack| {
                group.holds(stack)
                    || !bad.rates.contains_key(stack) && aliases.contains(&short(stack))
            });
            let error = g_error + b_error + visible;
            let quantities = Quantities {
                objects: b.objects - g.objects > errors * error.objects,
                bytes: b.bytes - g.bytes > errors * error.bytes,
            };
            if quantities.objects || quantities.bytes {
                asked.push(Question {
                    group,
                    good: good.gain((g, g_error)),
                    bad: bad.gain((b, b_error)),
                    quantities,
                    stack,
                    names: BTreeSet::new(),
                    aliases,
                    explained: BTreeSet::new(),
                    others: Vec::new(),
                    replacements: Vec::new(),
                    half: good.iterations.min(bad.iterations) / 2,
                    enough: None,
                });
            }
        }
        // The greatest difference first. The sort is stable, so equal ones stay in the order
        // of their names.
        asked.sort_by(|one, two| compare(two.gained(), one.gained()));
        let mut asked = asked.into_iter();
        let mut first = asked.next().ok_or(NoQuestion::NoDifference)?;
        first.others = asked
            .map(|other| (other.stack.clone(), other.bad.above(other.good)))
            .collect();
        // A function that was renamed between the two ends makes no difference.
        let alike = at_good_alone.into_iter().filter(|(stack, rate)| {
            !first.holds(stack) && first.is_about_what_the_bad_end_gained(*rate)
        });
        let alike: Vec<(&FoldedStack, Rate)> = alike.collect();
        let is_renamed = |(_, rate): &(_, Rate)| first.is_as_the_bad_end_gained(*rate);
        if alike.iter().any(is_renamed) && pattern.is_none() {
            return Err(NoQuestion::NoDifference);
        }
        first.replacements = alike
            .into_iter()
            .map(|(stack, rate)| {
                let error = good.errors.get(stack).copied().unwrap_or_default();
                (stack.clone(), good.gain((rate, error)))
            })
            .collect();
        first.names = bad.rates.keys().cloned().collect();
        let others = good.rates.keys().chain(bad.rates.keys());
        let others = others.filter(|stack| !first.holds(stack));
        first.explained = others.map(short).collect();
        Ok(first)
    }

    /// Makes the question from two ends of which either may be the bad one. The bad end is the
    /// one that grows more beyond the other.
    pub(crate) fn of_either(
        first: &Climb,
        last: &Climb,
        pattern: Option<&Pattern>,
    ) -> Result<(Question, Change), NoQuestion> {
        let brought = Question::between(first, last, pattern);
        let fixed = Question::between(last, first, pattern);
        match (brought, fixed) {
            (Ok(brought), Ok(fixed)) => {
                Ok(match compare(fixed.gained(), brought.gained()).is_gt() {
                    true => (fixed, Change::Fixed),
                    false => (brought, Change::Brought),
                })
            }
            (Ok(brought), Err(_)) => Ok((brought, Change::Brought)),
            (Err(_), Ok(fixed)) => Ok((fixed, Change::Fixed)),
            (Err(NoQuestion::NothingGrows), Err(NoQuestion::NothingGrows)) => {
                Err(NoQuestion::NothingGrows)
            }
            (Err(_), Err(_)) => Err(NoQuestion::NoDifference),
        }
    }

    /// Returns the difference between the rates of the bad and the good end.
    fn gained(&self) -> Rate {
        minus(self.bad.rate, self.good.rate)
    }

    /// Tells whether the question is about a stack. Stacks are compared by the names of the
    /// bad end. If the bad end has no such stack, they are compared without their modules.
    pub(crate) fn holds(&self, stack: &FoldedStack) -> bool {
        self.group.holds(stack)
            || !self.names.contains(stack) && self.aliases.contains(&short(stack))
    }

    /// Returns the rate of the group in a climb.
    pub(crate) fn rate(&self, climb: &Climb) -> Gain {
        climb.gain(self.rate_and_error(climb))
    }

    /// Returns the rate of the group in a climb, and its error. Unlike [`Question::rate`],
    /// this also returns the error of a climb that was not sampled.
    pub(crate) fn rate_and_error(&self, climb: &Climb) -> (Rate, Rate) {
        climb.rate_where(|stack| self.holds(stack))
    }

    /// Tells whether a stack of the group grows according to the report.
    pub(crate) fn grows_in(&self, climb: &Climb) -> bool {
        let mut stacks = climb.rates.keys().filter(|stack| self.holds(stack));
        let of_site = |stack: &FoldedStack| {
            let mut sites = climb.sites.iter();
            sites.any(|site| stack.frames().ends_with(site.frames()))
        };
        stacks.any(|stack| climb.growing.contains(stack) || of_site(stack))
    }

    /// Answers for any revision, after a climb of any length. Returns `None` if the rate is not
    /// clearly on one side.
    pub(crate) fn answer(&self, climb: &Climb) -> Option<Answer> {
        let (rate, error) = climb.rate_where(|stack| self.holds(stack));
        let answer = Answer {
            is_bad: self.side(rate, error, climb)?,
            rate: climb.gain((rate, error)),
            moved: None,
        };
        // Threads and open files cannot be renamed.
        if answer.is_bad || is_resource(&self.stack) {
            return Some(answer);
        }
        let unexplained = climb.rates.iter().filter(|(stack, _)| {
            !is_resource(stack) && !self.holds(stack) && !self.explained.contains(&short(stack))
        });
        let mut unclear = false;
        for (stack, gained) in unexplained {
            let error = climb.errors.get(stack).copied().unwrap_or_default();
            // This may be the same function under a new name, or something that neither end
            // has. Only if the growth is the same can it be recognised.
            if self.side(*gained, error, climb) != Some(false) {
                if self.is_as_the_bad_end_gained(*gained) {
                    return Some(Answer {
                        is_bad: true,
                        rate: climb.gain((*gained, error)),
                        moved: Some(stack.clone()),
                    });
                }
                unclear |= self.is_about_what_the_bad_end_gained(*gained);
            }
        }
        (!unclear).then_some(answer)
    }

    /// Tells whether a rate is past the good rate. Returns `None` if that is not clear.
    fn side(&self, rate: Rate, error: Rate, climb: &Climb) -> Option<bool> {
        let visible = climb.visible();
        let (good, bad) = (self.good.rate, self.bad.rate);
        let sides = self.quantities.each().map(|of| {
            let step = of(visible).max(PAST * (of(bad) - of(good)));
            let past = of(rate) - of(good) - step;
            if past - of(error) > CLEARLY * step {
                Some(true)
            } else if past + of(error) < -CLEARLY * step {
                Some(false)
            } else {
                None
            }
        });
        let sides: Vec<Option<bool>> = sides.collect();
        if sides.contains(&Some(true)) {
            return Some(true);
        }
        // A climb that is too short would show no growth even at the bad end.
        let is_below = !sides.contains(&None) && self.is_visible_in(climb);
        is_below.then_some(false)
    }

    /// Tells whether the difference between the ends would be visible in a climb of this
    /// length. The condition is the one by which [`Question::between`] decides whether there
    /// is a question.
    fn is_visible_in(&self, climb: &Climb) -> bool {
        let (visible, gained) = (climb.visible(), self.gained());
        let mut quantities = self.quantities.each();
        quantities.any(|of| 2.0 * of(visible) <= of(gained))
    }

    fn is_about_what_the_bad_end_gained(&self, rate: Rate) -> bool {
        let gained = self.gained();
        let mut quantities = self.quantities.each();
        quantities.all(|of| within_perhaps(of(rate), of(gained)))
    }

    fn is_as_the_bad_end_gained(&self, rate: Rate) -> bool {
        let gained = self.gained();
        let mut quantities = self.quantities.each();
        quantities.all(|of| (of(rate) - of(gained)).abs() <= SAME * of(gained))
    }

    /// Tells whether a climb of this length can tell the ends apart.
    pub(crate) fn shows_in(&self, climb: &Climb) -> bool {
        let (visible, gained) = (climb.visible(), self.gained());
        // The threshold then depends on the ends alone, not on what the climb can see.
        let mut quantities = self.quantities.each();
        quantities.any(|of| PAST * of(gained) > of(visible))
    }
}

fn minus(one: Rate, two: Rate) -> Rate {
    Rate {
        objects: one.objects - two.objects,
        bytes: one.bytes - two.bytes,
    }
}

fn within_perhaps(one: f64, two: f64) -> bool {
    (two / PERHAPS..=two * PERHAPS).contains(&one)
}

/// Tells whether a rate may be of the same growth as another one. Of that one, objects or bytes
/// that are too few to be seen may be any number.
fn may_be_same(rate: Rate, other: Rate, visible: Rate) -> bool {
    let may_be = |rate, other, visible| other <= visible || within_perhaps(rate, other);
    may_be(rate.objects, other.objects, visible.objects)
        && may_be(rate.bytes, other.bytes, visible.bytes)
}

/// Combines two independent errors.
fn hypotenuse(one: Rate, two: Rate) -> Rate {
    Rate {
        objects: one.objects.hypot(two.objects),
        bytes: one.bytes.hypot(two.bytes),
    }
}

fn compare(one: Rate, two: Rate) -> Ordering {
    let bytes = one.bytes.total_cmp(&two.bytes);
    bytes.then(one.objects.total_cmp(&two.objects))
}

#[cfg(test)]
pub(crate) mod tests;
