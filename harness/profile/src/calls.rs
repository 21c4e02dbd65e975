use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::merged::Merged;
use crate::profile::{Measure, Values};
use crate::view::{NameId, View};

/// Stacks with equal names merged: of one profile, or of two to compare.
#[derive(Clone, Debug)]
pub struct Calls<'a> {
    after: &'a View<'a>,
    before: Option<&'a View<'a>>,
    /// By their names. The later profile's stacks have their numbers there, the earlier's
    /// come behind.
    merged: Merged,
}

/// What a stack holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// In the earlier profile.
    pub before: Values,
    /// In the later, or the only one.
    pub after: Values,
}

/// How wide a frame has to be for it to be shown, callees included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Least {
    /// It gained, or holds, so much.
    Width(f64),
    /// It is among so many, or as wide as the last of those.
    Widest(usize),
}

impl<'a> Calls<'a> {
    /// Of one profile.
    pub fn of(view: &'a View<'a>) -> Calls<'a> {
        let mut calls = Calls {
            after: view,
            before: None,
            merged: Merged::default(),
        };
        calls.add(0, view);
        calls
    }

    /// Of two.
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

    /// Whose a stack is, and its place there.
    fn place(&self, added: usize) -> (&'a View<'a>, usize) {
        let of_later = self.after.profile().len();
        match (added.checked_sub(of_later), self.before) {
            (Some(stack), Some(before)) => (before, stack),
            _ => (self.after, added),
        }
    }

    /// How many stacks there are. They have numbers up to that, in the order of the later
    /// profile, then of the earlier.
    pub fn len(&self) -> usize {
        self.merged.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of a stack, root first.
    pub fn root_first(&self, stack: usize) -> impl Iterator<Item = NameId> + Clone {
        let (view, stack) = self.place(self.merged.first(stack));
        view.root_first(stack)
    }

    /// The same, leaf first.
    pub fn leaf_first(&self, stack: usize) -> impl Iterator<Item = NameId> + Clone {
        let (view, stack) = self.place(self.merged.first(stack));
        view.leaf_first(stack)
    }

    /// What a stack holds.
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

    /// What each stack gained, or holds where there is one profile. `drop_negative` takes
    /// those that lost for unchanged, as jeprof does.
    pub fn gains(&self, measure: Measure, drop_negative: bool) -> Vec<f64> {
        let gain = |stack| {
            let held = self.held(stack);
            let gain = held.after.get(measure) - held.before.get(measure);
            if drop_negative { gain.max(0.0) } else { gain }
        };
        (0..self.len()).map(gain).collect()
    }

    /// The stacks that gained, or with a `sign` of -1 those that lost, root first, and by
    /// how much; what is too thin to be shown is its caller's, and of no one where that
    /// is the root. In no order that says anything.
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

/// The tree of all frames that some stacks have, of which only so much is looked at as is asked
/// for: of a million stacks, most are thin, and their leaf-most frames need no names.
struct Tree<'c, 'a> {
    calls: &'c Calls<'a>,
    /// Those on one frame stand together, as far as is known.
    stacks: Vec<OnTree>,
    /// Names of a stack's frames, by its place among `stacks` at first: those next to the root
    /// that were not yet told apart.
    names: Vec<[u32; NAMES]>,
}

/// As many names of a stack are worked out at once.
const NAMES: usize = 8;

/// What has no name any more.
const END: u32 = u32::MAX;

/// A stack on the tree.
#[derive(Clone, Copy)]
struct OnTree {
    stack: u32,
    /// The place of its names.
    names: u32,
    /// The name that is looked at.
    name: u32,
    own: f64,
}

/// One frame of the tree.
#[derive(Clone, Debug)]
struct Frame {
    /// What ends in it, and in all that it calls.
    width: f64,
    depth: usize,
    /// The stacks that it is on.
    on: Range<usize>,
}

impl<'c, 'a> Tree<'c, 'a> {
    /// Of the stacks that hold something.
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

    /// What calls every root.
    fn all(&self) -> Frame {
        Frame {
            width: self.stacks.iter().map(|on| on.own).sum(),
            depth: 0,
            on: 0..self.stacks.len(),
        }
    }

    /// What ends in a frame, and what it calls.
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

    /// How wide the last is of the so many widest frames; nothing, where there are no more.
    fn widest(&mut self, frames: usize) -> f64 {
        let mut open = BinaryHeap::from([ByWidth(self.all())]);
        let mut seen = 0;
        while let Some(ByWidth(frame)) = open.pop() {
            if seen >= frames {
                return frame.width;
            }
            seen += 1;
            let (_, callees) = self.callees(&frame);
            open.extend(callees.into_iter().map(ByWidth));
        }
        0.0
    }
}

/// The widest is the greatest. No callee is wider than its caller.
struct ByWidth(Frame);

impl Ord for ByWidth {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.width.total_cmp(&other.0.width)
    }
}

impl PartialOrd for ByWidth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByWidth {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByWidth {}

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

    /// Stacks that share much, some more than once.
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

    /// By every stack and each of its callers, with what is left for it to show.
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
