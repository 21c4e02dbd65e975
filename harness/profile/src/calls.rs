use std::collections::BinaryHeap;
use std::ops::Range;

use crate::merged::Merged;
use crate::profile::{Measure, Values};
use crate::view::{NameId, View};

/// Merged stacks: stacks of one or two profiles, where stacks with equal names count as one.
#[derive(Clone, Debug)]
pub struct Calls<'a> {
    after: &'a View<'a>,
    before: Option<&'a View<'a>>,
    /// The stacks merged by their names. A stack of the later profile is added under its
    /// index, a stack of the earlier profile under its index plus the number of stacks of the
    /// later.
    merged: Merged,
}

/// The values of a merged stack.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// The values in the earlier profile.
    pub before: Values,
    /// The values in the later profile, or in the only one.
    pub after: Values,
}

/// How wide a frame, callees included, must be to be shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Least {
    /// The frame gained, or holds, at least this value.
    Width(f64),
    /// The frame is one of this many widest, or as wide as the last of those.
    Widest(usize),
}

impl<'a> Calls<'a> {
    /// Merges the stacks of one profile.
    pub fn of(view: &'a View<'a>) -> Calls<'a> {
        let mut calls = Calls {
            after: view,
            before: None,
            merged: Merged::default(),
        };
        calls.add(0, view);
        calls
    }

    /// Merges the stacks of two profiles.
    pub fn between(before: &'a View<'a>, after: &'a View<'a>) -> Calls<'a> {
        let mut calls = Calls::of(after);
        calls.before = Some(before);
        calls.add(after.profile().len(), before);
        calls
    }

    fn add(&mut self, first: usize, view: &View<'_>) {
        let mut merged = std::mem::take(&mut self.merged);
        for stack in view.stacks() {
            merged.add(first + stack, |added| {
                let (view, stack) = self.place(added);
                view.root_first(stack).map(|name| name.0)
            });
        }
        self.merged = merged;
    }

    /// Returns the view of an added stack, and the stack's index in its profile.
    fn place(&self, added: usize) -> (&'a View<'a>, usize) {
        let of_later = self.after.profile().len();
        match (added.checked_sub(of_later), self.before) {
            (Some(stack), Some(before)) => (before, stack),
            _ => (self.after, added),
        }
    }

    /// Returns the number of merged stacks. They are numbered from 0: first those of the later
    /// profile in its order, then those that only the earlier has.
    pub fn len(&self) -> usize {
        self.merged.len()
    }

    /// Tells whether there are no stacks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the names of a merged stack, root first.
    pub fn root_first(&self, stack: usize) -> impl Iterator<Item = NameId> + Clone {
        let (view, stack) = self.place(self.merged.first(stack));
        view.root_first(stack)
    }

    /// Returns the names of a merged stack, leaf first.
    pub fn leaf_first(&self, stack: usize) -> impl Iterator<Item = NameId> + Clone {
        let (view, stack) = self.place(self.merged.first(stack));
        view.leaf_first(stack)
    }

    /// Returns the values of a merged stack.
    pub fn held(&self, stack: usize) -> Held {
        let mut held = Held::default();
        let of_later = self.after.profile().len();
        for added in self.merged.added(stack) {
            let (view, stack) = self.place(added);
            match added < of_later {
                true => held.after += view.values(stack),
                false => held.before += view.values(stack),
            }
        }
        held
    }

    /// Returns what each stack gained or, for one profile, what it holds. With
    /// `drop_negative`, stacks that shrank count as unchanged, as in jeprof.
    pub fn gains(&self, measure: Measure, drop_negative: bool) -> Vec<f64> {
        let gain = |stack| {
            let held = self.held(stack);
            let gain = held.after.get(measure) - held.before.get(measure);
            if drop_negative { gain.max(0.0) } else { gain }
        };
        (0..self.len()).map(gain).collect()
    }

    /// Returns the stacks that gained, root first, and how much each gained. With a `sign` of
    /// -1, returns the stacks that lost.
    ///
    /// A frame that is thinner than `least` is not shown. Its value is added to its caller, or
    /// dropped if it is a root. The order of the result has no meaning.
    pub fn wide(&self, gains: &[f64], sign: f64, least: Least) -> Vec<(Vec<NameId>, f64)> {
        let mut tree = Tree::of(self, |stack| (sign * gains[stack]).max(0.0));
        let least = match least {
            Least::Width(least) => least,
            Least::Widest(frames) => tree.widest(frames),
        };
        let mut left = Vec::new();
        let mut open = vec![tree.all()];
        while let Some(frame) = open.pop() {
            let (mut own, callees) = tree.callees(&frame);
            for callee in callees {
                match callee.width >= least {
                    true => open.push(callee),
                    false => own += callee.width,
                }
            }
            if own > 0.0 && frame.depth > 0 {
                let on = tree.stacks[frame.on.start].stack as usize;
                left.push((self.root_first(on).take(frame.depth).collect(), own));
            }
        }
        left
    }
}

/// The tree of all frames of some stacks. It is expanded only as far as needed: of a million
/// stacks, most are thin, and their leaf-most frames need no names.
struct Tree<'c, 'a> {
    calls: &'c Calls<'a>,
    /// The stacks. Those that share a frame are next to each other, as far as the tree is
    /// expanded.
    stacks: Vec<OnTree>,
    /// The next names of each stack, from the root towards the leaf, at [`OnTree::names`].
    /// These are the names of the frames that are expanded next.
    names: Vec<[u32; NAMES]>,
}

/// How many names of a stack are worked out at once.
const NAMES: usize = 8;

/// The name number that marks the end of a stack.
const END: u32 = u32::MAX;

/// A stack of the tree.
#[derive(Clone, Copy)]
struct OnTree {
    stack: u32,
    /// The index of its names in [`Tree::names`].
    names: u32,
    /// The name of its frame at the depth that is being expanded.
    name: u32,
    own: f64,
}

/// A frame of the tree.
#[derive(Clone, Debug)]
struct Frame {
    /// The sum of the stacks that end in the frame or in anything that it calls.
    width: f64,
    depth: usize,
    /// The stacks that contain the frame.
    on: Range<usize>,
}

impl<'c, 'a> Tree<'c, 'a> {
    /// Creates the tree of all stacks whose value is above zero.
    fn of(calls: &'c Calls<'a>, own: impl Fn(usize) -> f64) -> Tree<'c, 'a> {
        let held = (0..calls.len()).map(|stack| (stack, own(stack)));
        let held = held.filter(|(_, own)| *own > 0.0);
        let numbered = held.zip(0..).filter_map(|((stack, own), names)| {
            let stack = u32::try_from(stack).ok()?;
            Some(OnTree {
                stack,
                names,
                name: END,
                own,
            })
        });
        let stacks: Vec<OnTree> = numbered.collect();
        Tree {
            calls,
            names: vec![[END; NAMES]; stacks.len()],
            stacks,
        }
    }

    /// Returns a frame above all roots, on every stack.
    fn all(&self) -> Frame {
        Frame {
            width: self.stacks.iter().map(|on| on.own).sum(),
            depth: 0,
            on: 0..self.stacks.len(),
        }
    }

    /// Returns the value of the stacks that end in a frame, and the frames that it calls.
    fn callees(&mut self, frame: &Frame) -> (f64, Vec<Frame>) {
        let on = &mut self.stacks[frame.on.clone()];
        let place = frame.depth % NAMES;
        for one in on.iter_mut() {
            let names = &mut self.names[one.names as usize];
            if place == 0 {
                let mut left = self.calls.root_first(one.stack as usize).skip(frame.depth);
                names.fill_with(|| left.next().map_or(END, |name| name.0));
            }
            one.name = names[place];
        }
        if on.iter().any(|one| one.name != on[0].name) {
            on.sort_unstable_by_key(|one| (one.name, one.stack));
        }
        let (mut own, mut callees) = (0.0, Vec::new());
        let mut start = frame.on.start;
        for group in on.chunk_by(|one, other| one.name == other.name) {
            let width: f64 = group.iter().map(|one| one.own).sum();
            let on = start..start + group.len();
            start = on.end;
            match group[0].name {
                END => own = width,
                _ => callees.push(Frame {
                    width,
                    depth: frame.depth + 1,
                    on,
                }),
            }
        }
        (own, callees)
    }

    /// Returns the width of the last of this many widest frames. Returns 0 if there are no
    /// more frames than that.
    fn widest(&mut self, frames: usize) -> f64 {
        // No width is negative, and the bits of such numbers are in the order of the numbers.
        // No callee is wider than its caller.
        let mut found = vec![self.all()];
        let mut open = BinaryHeap::from([(found[0].width.to_bits(), 0)]);
        let mut seen = 0;
        while let Some((width, place)) = open.pop() {
            if seen >= frames {
                return f64::from_bits(width);
            }
            seen += 1;
            let (_, callees) = self.callees(&found[place].clone());
            for callee in callees {
                open.push((callee.width.to_bits(), found.len()));
                found.push(callee);
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::Profile;
    use crate::read::{Limits, read};
    use crate::view::{Filter, Frames, Granularity, Names};

    type Stacks = Vec<(Vec<String>, u32)>;

    /// Stacks that share many frames. Some stacks occur more than once.
    fn any_stacks() -> impl Strategy<Value = Stacks> {
        vec((vec("[abc]", 1..6), 0..9_u32), 1..40)
    }

    fn profile(stacks: &Stacks) -> Profile {
        let lines = stacks
            .iter()
            .map(|(stack, bytes)| format!("{} {bytes}\n", stack.join(";")));
        read(&mut lines.collect::<String>().as_bytes(), Limits::default()).unwrap()
    }

    fn with_calls<T>(
        before: &Stacks,
        after: &Stacks,
        ask: impl FnOnce(&Calls<'_>, &Names) -> T,
    ) -> T {
        let (before, after) = (profile(before), profile(after));
        let (filter, mut names) = (Filter::default(), Names::default());
        let mut view = |profile| {
            let granularity = Granularity::Functions;
            View::new(profile, granularity, Frames::All, &filter, &mut names)
        };
        let (before, after) = (view(&before), view(&after));
        ask(&Calls::between(&before, &after), &names)
    }

    /// Returns the width of every stack and of each of its callers, without those that gained
    /// nothing.
    fn widths(gains: &BTreeMap<Vec<String>, f64>) -> BTreeMap<Vec<String>, f64> {
        let mut widths = BTreeMap::new();
        for (stack, gain) in gains {
            for depth in 1..=stack.len() {
                *widths.entry(stack[..depth].to_vec()).or_default() += gain.max(0.0);
            }
        }
        widths.retain(|_, width| *width > 0.0);
        widths
    }

    fn pruned(gains: &BTreeMap<Vec<String>, f64>, least: f64) -> BTreeMap<Vec<String>, f64> {
        let widths = widths(gains);
        let mut left = BTreeMap::new();
        for (stack, gain) in gains.iter().filter(|(_, gain)| **gain > 0.0) {
            let callers = (1..=stack.len()).rev().map(|depth| &stack[..depth]);
            let mut wide = callers.filter(|stack| widths[*stack] >= least);
            if let Some(stack) = wide.next() {
                *left.entry(stack.to_vec()).or_default() += gain;
            }
        }
        left
    }

    proptest! {
        #[test]
        fn as_one_tree_has_it(
            before in any_stacks(),
            after in any_stacks(),
            least in 0..60_u32,
            frames in 1..30_usize,
            sign in prop::sample::select(vec![1.0, -1.0]),
        ) {
            let mut expected: BTreeMap<Vec<String>, f64> = BTreeMap::new();
            for (stack, bytes) in &after {
                *expected.entry(stack.clone()).or_default() += f64::from(*bytes);
            }
            for (stack, bytes) in &before {
                *expected.entry(stack.clone()).or_default() -= f64::from(*bytes);
            }
            let signed = expected.iter().map(|(stack, gain)| (stack.clone(), sign * gain));
            let signed: BTreeMap<Vec<String>, f64> = signed.collect();
            let mut all: Vec<f64> = widths(&signed).into_values().collect();
            all.sort_by(|one, two| two.total_cmp(one));
            let of_widest = match all.len() > frames {
                true => all[frames - 1],
                false => 0.0,
            };

            with_calls(&before, &after, |calls, names| {
                let gains = calls.gains(Measure::InuseSpace, false);
                let named = |stack: &mut dyn Iterator<Item = NameId>| -> Vec<String> {
                    stack.map(|name| names.get(name).to_owned()).collect()
                };
                let stacks = (0..calls.len()).map(|at| (named(&mut calls.root_first(at)), gains[at]));
                prop_assert_eq!(stacks.collect::<BTreeMap<_, _>>(), expected);

                let least = f64::from(least);
                for (least, of) in [
                    (Least::Width(least), least),
                    (Least::Widest(frames), of_widest),
                    (Least::Widest(usize::MAX), 0.0),
                ] {
                    let wide = calls.wide(&gains, sign, least);
                    let len = wide.len();
                    let wide: BTreeMap<Vec<String>, f64> = wide
                        .into_iter()
                        .map(|(stack, gain)| (named(&mut stack.into_iter()), gain))
                        .collect();
                    prop_assert_eq!(wide.len(), len);
                    prop_assert_eq!(wide, pruned(&signed, of));
                }
                Ok(())
            })?;
        }
    }
}
