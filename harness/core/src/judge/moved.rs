//! Finds the stacks of allowances that have other frames in this build, or after an edit.
//!
//! ```text
//! allowance                this run
//! main;a;b;put      ─────  main;new;a;b;put      three equal leaf-most frames
//! main;a;put        ─────  main;b;put            `a` was renamed to `b`
//! main;a::T::put    ─────  main;a::put           another debug level, another mangling
//! main;a;b;put      ─────  main;b;put            `a` ends with a tail call to `b`
//! main;a;put  1.0   ──┐
//! main;b;put  1.0   ──┴──  main;put  2.0         symbols only, and `a` and `b` are inlined
//! ```
//!
//! A stack takes part if it grows and no allowance matches it. An allowance takes part if
//! nothing grows under it any more, it has not expired, and its stack has no `"..."`.
//!
//! Each stack and each allowance is matched once. First come pairs of the same rate, the
//! nearest first. Then come groups, whose sums are compared. Last come pairs in which the
//! stack has a lower rate: only three equal frames at the leaf allow that. If frames match
//! only partly, the rate must be the same, because the names prove less.

use std::collections::BTreeSet;

use super::subjects::{Agreed, Measured, Move, Of};
use super::{Observed, Policy, SAMPLED_ERRORS};
use crate::baseline::{AllowanceSubject, Baseline, StackPattern};
use crate::dump::SampleInterval;
use crate::fold::{is_harness, may_be_one};
use crate::growth::Growth;
use crate::{FoldedStack, Rate, Series, to_f64};

/// Frames from the leaf that must be equal for a stack to count as moved, whatever calls them. If
/// the leaf is a library's, the allowance must also have the function that calls the library.
const MOVED_FRAMES: usize = 3;

/// By how much a rate in a file may have been rounded up.
const ROUNDED: f64 = 0.001;

/// A stack that grows and that no allowance matches.
struct Grown<'s, 'a> {
    stack: &'a FoldedStack,
    series: &'s Series,
    growth: &'s Growth,
    /// Whether its names are from a symbol table only, so that inlined functions are not among
    /// them.
    is_bare: bool,
    /// The innermost function that is not a library's, if the stack ends in a library's frames.
    owner: Option<&'a str>,
}

/// An allowance under which nothing grows.
struct Idle<'a> {
    index: usize,
    frames: Vec<&'a str>,
    agreed: Agreed<'a>,
}

/// The distance between a stack and the stack of an allowance. The nearest pair has the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    other_rate: bool,
    frames: usize,
    names: usize,
}

/// Finds moved stacks among the subjects, for the allowances that are idle.
pub(super) fn find<'a>(
    observed: &'a Observed,
    baseline: &'a Baseline,
    subjects: &[Measured<'a>],
    idle: &BTreeSet<usize>,
    threshold: u64,
    policy: &Policy,
) -> Vec<Move<'a>> {
    let grown: Vec<Grown<'_, 'a>> = subjects
        .iter()
        .filter(|subject| subject.grows(threshold))
        .filter_map(|subject| match subject.of {
            Of::Stack(stack) => Some(Grown {
                stack,
                series: &subject.series,
                growth: &subject.growth,
                is_bare: observed.bare.contains(stack),
                owner: observed.owners.get(stack).map(String::as_str),
            }),
            _ => None,
        })
        .collect();
    if grown.is_empty() {
        return Vec::new();
    }
    let idle: Vec<Idle<'_>> = idle
        .iter()
        .filter_map(|index| {
            let allowance = &baseline.allowances[*index];
            let AllowanceSubject::Stack(old) = &allowance.subject else {
                return None;
            };
            let agreed = Agreed(vec![(*index, allowance)]);
            (old.is_exact() && !agreed.is_expired(policy.today)).then(|| Idle {
                index: *index,
                frames: names(old),
                agreed,
            })
        })
        .collect();
    let mut unmatched = Unmatched {
        grown: (0..grown.len()).collect(),
        idle: (0..idle.len()).collect(),
    };
    let near = near(&grown, &idle, threshold);
    let mut moves = Vec::new();
    unmatched.pair(&near, true, &mut moves);
    unmatched.group(&grown, &idle, &observed.iterations, threshold, &mut moves);
    unmatched.pair(&near, false, &mut moves);
    let moves = moves.iter().map(|(stacks, allowances)| Move {
        stacks: stacks.iter().map(|at| grown[*at].stack).collect(),
        allowances: allowances.iter().map(|place| idle[*place].index).collect(),
        is_whole: is_whole(stacks, allowances, &grown, &idle),
    });
    moves.collect()
}

/// Places of stacks and of the allowances that they use.
type Places = (BTreeSet<usize>, BTreeSet<usize>);

fn is_whole(
    stacks: &BTreeSet<usize>,
    allowances: &BTreeSet<usize>,
    grown: &[Grown<'_, '_>],
    idle: &[Idle<'_>],
) -> bool {
    let is_cut = |(at, place): (&usize, &usize)| {
        grown[*at].is_bare && of_workload(&grown[*at]).len() < idle[*place].frames.len()
    };
    let is_pair = stacks.len() == 1 && allowances.len() == 1;
    is_pair && !stacks.iter().zip(allowances).any(is_cut)
}

/// A stack and an allowance that may be its own, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Near {
    distance: Distance,
    grown: usize,
    idle: usize,
}

/// Returns every possible pair, the nearest first. Equally near pairs are in the order of
/// stacks.
fn near(grown: &[Grown<'_, '_>], idle: &[Idle<'_>], threshold: u64) -> Vec<Near> {
    let mut near: Vec<Near> = Vec::new();
    for (at, new) in grown.iter().enumerate() {
        let rate = Measure::of(new.growth, new.series.interval());
        for (place, old) in idle.iter().enumerate() {
            if rate.is_within(&old.agreed, threshold)
                && let Some(distance) = distance(old, new, rate.is_same(&old.agreed, threshold))
            {
                let (grown, idle) = (at, place);
                near.push(Near {
                    distance,
                    grown,
                    idle,
                });
            }
        }
    }
    near.sort_unstable();
    near
}

/// What has not been matched yet, by its place.
struct Unmatched {
    grown: BTreeSet<usize>,
    idle: BTreeSet<usize>,
}

impl Unmatched {
    /// Matches one stack with one allowance, either of the same rate or of another, lower one.
    fn pair(&mut self, near: &[Near], same_rate: bool, moves: &mut Vec<Places>) {
        for one in near {
            if one.distance.other_rate != same_rate
                && self.grown.contains(&one.grown)
                && self.idle.remove(&one.idle)
            {
                self.grown.remove(&one.grown);
                moves.push((BTreeSet::from([one.grown]), BTreeSet::from([one.idle])));
            }
        }
    }

    /// Matches several stacks with one allowance, one stack with several allowances, or
    /// several with several. A group is everything that may be one another; its sums are
    /// compared.
    fn group(
        &mut self,
        grown: &[Grown<'_, '_>],
        idle: &[Idle<'_>],
        iterations: &[u64],
        threshold: u64,
        moves: &mut Vec<Places>,
    ) {
        let is_same = |(stacks, allowances): &Places| {
            let parts = stacks.iter().map(|at| grown[*at].series);
            let (sum, growth) = Growth::together(iterations, parts);
            let agreed = allowances.iter().flat_map(|place| &idle[*place].agreed.0);
            let agreed = Agreed(agreed.copied().collect());
            let rate = Measure::of(&growth, sum.interval());
            rate.is_within(&agreed, threshold) && rate.is_same(&agreed, threshold)
        };
        let mut unseen = self.grown.clone();
        while let Some(first) = unseen.first().copied() {
            let group = self.group_of(first, grown, idle, &mut unseen);
            if !group.1.is_empty() && is_same(&group) {
                self.grown.retain(|at| !group.0.contains(at));
                self.idle.retain(|place| !group.1.contains(place));
                moves.push(group);
            }
        }
    }

    /// Collects a group: from a stack to its possible allowances, to their possible stacks,
    /// and so on.
    fn group_of(
        &self,
        first: usize,
        grown: &[Grown<'_, '_>],
        idle: &[Idle<'_>],
        unseen: &mut BTreeSet<usize>,
    ) -> Places {
        let (mut stacks, mut allowances) = Places::default();
        let mut next = vec![first];
        while let Some(at) = next.pop() {
            if !unseen.remove(&at) {
                continue;
            }
            stacks.insert(at);
            for place in &self.idle {
                if !allowances.contains(place) && may_be_of(&idle[*place], &grown[at]) {
                    allowances.insert(*place);
                    let others = unseen.iter().copied();
                    next.extend(others.filter(|at| may_be_of(&idle[*place], &grown[*at])));
                }
            }
        }
        (stacks, allowances)
    }
}

/// A rate with its error.
struct Measure {
    rate: Rate,
    error: Rate,
    interval: SampleInterval,
}

impl Measure {
    fn of(growth: &Growth, interval: SampleInterval) -> Measure {
        Measure {
            rate: growth.rate(),
            error: growth.error(),
            interval,
        }
    }

    /// Returns whether the rate is not more than what was accepted.
    fn is_within(&self, agreed: &Agreed<'_>, threshold: u64) -> bool {
        // In an exact profile the rate itself counts, without its error. A sampled profile has
        // the same tolerance as for a stack that has not moved.
        let errors = if self.interval.is_exact() {
            0.0
        } else {
            SAMPLED_ERRORS
        };
        let cut = Growth::cut(agreed.carried_at(self.interval), threshold);
        self.rate.objects - errors * self.error.objects < cut.objects
            && self.rate.bytes - errors * self.error.bytes < cut.bytes
    }

    /// Returns whether the rate is not less than what was accepted either. Objects may be less
    /// by the share by which they might be more. Bytes may also be less by a quarter of an
    /// octave, because linear growth may have a part in steps. The rate was accepted with its
    /// error added, so it may be less by one error. An estimate has an error of its own as
    /// well.
    fn is_same(&self, agreed: &Agreed<'_>, threshold: u64) -> bool {
        let half = Growth::cut(Rate::default(), threshold);
        let (most, rate) = (agreed.carried_at(self.interval), agreed.rate());
        let rounded = ROUNDED * to_f64(agreed.0.len() as u64);
        let share = |agreed: f64, most: f64| if most > 0.0 { agreed / most } else { 1.0 };
        let objects = rate.objects * share(rate.objects, most.objects);
        let bytes = rate.bytes * share(rate.bytes, most.bytes).min(0.5_f64.sqrt().sqrt());
        let errors = match self.interval.is_exact() {
            true => 1.0,
            false => 1.0 + SAMPLED_ERRORS,
        };
        self.rate.objects + errors * self.error.objects > objects - half.objects - rounded
            && self.rate.bytes + errors * self.error.bytes > bytes - half.bytes - rounded
    }
}

/// Returns the distance of a stack from an allowance's. `None` if they cannot be the same
/// stack.
fn distance(old: &Idle<'_>, new: &Grown<'_, '_>, same_rate: bool) -> Option<Distance> {
    let (one, other) = (&old.frames, new.stack.frames());
    let differ = |common: usize| one.len() + other.len() - 2 * common;
    let equal = equal_at_leaf(one, other);
    // Frames of a library alone are those of whoever calls it, such as all tasks of a runtime.
    let has_owner = |owner: &str| one.iter().any(|frame| may_be_one(frame, owner));
    let has_leaf = equal > 0
        && equal >= MOVED_FRAMES.min(one.len()).min(other.len())
        && new.owner.is_none_or(has_owner);
    let by_name = renamed(one, other).filter(|_| same_rate);
    let by_name = by_name.map(|frames| Distance {
        other_rate: false,
        frames: 2 * frames,
        names: frames,
    });
    let by_leaf = has_leaf.then(|| Distance {
        other_rate: !same_rate,
        frames: differ(equal),
        names: 0,
    });
    let by_frames = (same_rate && may_be_of(old, new) && !of_workload(new).is_empty()).then(|| {
        let shorter = one.len().min(of_workload(new).len());
        Distance {
            other_rate: false,
            frames: differ(shorter),
            names: shorter.saturating_sub(equal),
        }
    });
    [by_leaf, by_frames, by_name].into_iter().flatten().min()
}

/// Returns how many frames have another name, if one frame was renamed, or one part of the
/// paths. Something of the accepted stack must be left.
fn renamed(old: &[&str], new: &[String]) -> Option<usize> {
    let frames = old.iter().copied().zip(new.iter().map(String::as_str));
    let changed: Vec<(&str, &str)> = frames.filter(|(old, new)| old != new).collect();
    let is_one_frame = changed.len() == 1 && old.len() > 1;
    let is_renamed = old.len() == new.len() && (is_one_frame || is_one_part(&changed));
    is_renamed.then_some(changed.len())
}

/// Returns whether everything that changed in these frames is one part of their paths, the
/// same in each frame.
fn is_one_part(changed: &[(&str, &str)]) -> bool {
    let mut parts: Vec<(&str, &str)> = Vec::new();
    for (old, new) in changed {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split("::").collect(), new.split("::").collect());
        if old.len() != new.len() || old.len() == 1 {
            return false;
        }
        parts.extend(old.into_iter().zip(new).filter(|(old, new)| old != new));
    }
    parts.dedup();
    parts.len() == 1
}

fn equal_at_leaf(one: &[&str], other: &[String]) -> usize {
    let both = one.iter().rev().zip(other.iter().rev());
    both.take_while(|(a, b)| a == b).count()
}

/// Returns whether one of the two stacks is the other without some of its frames. Both must
/// have the same leaf. Only a stack that has no names of inlined functions may lack the leaf.
fn may_be_of(old: &Idle<'_>, new: &Grown<'_, '_>) -> bool {
    let (old, frames) = (&old.frames, of_workload(new));
    let leaves = old.last().zip(frames.last());
    let same_leaf = leaves.is_some_and(|(old, new)| may_be_one(old, new));
    (new.is_bare || same_leaf) && is_part_of(&frames, old) || same_leaf && is_part_of(old, &frames)
}

/// Returns whether all frames of `less` are in `more`, in order.
fn is_part_of(less: &[&str], more: &[&str]) -> bool {
    let (mut less, mut rest) = (less.iter(), more.iter());
    less.len() <= more.len() && less.all(|frame| rest.any(|other| may_be_one(frame, other)))
}

/// Returns the frames of a stack that are the workload's. If a stack has no names of inlined
/// functions, it may end in frames of plimsoll or of `hashbrown`, which are left out.
/// `hashbrown` is the standard library's map, but nothing tells that map from another one.
fn of_workload<'a>(new: &Grown<'_, 'a>) -> Vec<&'a str> {
    let frames = new.stack.frames().iter().map(String::as_str);
    let mut frames: Vec<&str> = frames.collect();
    let is_left_out =
        |leaf: &mut &str| new.is_bare && (is_harness(leaf) || leaf.starts_with("hashbrown::"));
    while frames.pop_if(is_left_out).is_some() {}
    frames
}

fn names(old: &StackPattern) -> Vec<&str> {
    old.frames().iter().map(|frame| frame.as_str()).collect()
}
