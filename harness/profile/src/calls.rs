use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter;

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
        let own = |stack: usize| (sign * gains[stack]).max(0.0);
        let mut sorted: Vec<usize> = (0..self.len()).filter(|at| own(*at) > 0.0).collect();
        sorted.sort_by(|one, two| self.root_first(*one).cmp(self.root_first(*two)));
        let least = match least {
            Least::Width(least) => least,
            Least::Widest(frames) => self.widest(&sorted, own, frames),
        };
        let mut left = Vec::new();
        self.frames(&sorted, own, |stack, depth, frame| {
            if frame.width < least {
                return frame.own;
            }
            if frame.own > 0.0 {
                left.push((self.root_first(stack).take(depth).collect(), frame.own));
            }
            0.0
        });
        left
    }

    /// How wide the last is of the so many widest frames; nothing, where there are no more.
    fn widest(&self, sorted: &[usize], own: impl Fn(usize) -> f64, frames: usize) -> f64 {
        // The thinnest of them on top. What is not negative is in order as its bits are.
        let mut widest: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let mut all = 0;
        self.frames(sorted, own, |_, _, frame| {
            all += 1;
            widest.push(Reverse(frame.width.to_bits()));
            if widest.len() > frames {
                widest.pop();
            }
            0.0
        });
        match widest.pop() {
            Some(Reverse(bits)) if all > frames => f64::from_bits(bits),
            _ => 0.0,
        }
    }

    /// Walks the tree of all frames that the stacks have, which are in order, callees
    /// before callers: a stack that a frame is on, how deep, and how wide it is. What is
    /// handed back becomes the caller's own.
    fn frames(
        &self,
        sorted: &[usize],
        own: impl Fn(usize) -> f64,
        mut each: impl FnMut(usize, usize, Frame) -> f64,
    ) {
        let mut open: Vec<Frame> = Vec::new();
        let mut before: Option<usize> = None;
        for stack in sorted.iter().copied().map(Some).chain(iter::once(None)) {
            let names = |stack: Option<usize>| stack.into_iter().flat_map(|at| self.root_first(at));
            let equal = iter::zip(names(before), names(stack)).take_while(|(a, b)| a == b);
            let common = equal.count();
            while open.len() > common
                && let (Some(done), Some(on)) = (open.pop(), before)
            {
                let handed = each(on, open.len() + 1, done);
                if let Some(caller) = open.last_mut() {
                    caller.own += handed;
                    caller.width += done.width;
                }
            }
            open.resize(names(stack).count(), Frame::default());
            if let (Some(leaf), Some(stack)) = (open.last_mut(), stack) {
                let own = own(stack);
                *leaf = Frame { own, width: own };
            }
            before = stack;
        }
    }
}

/// One frame of the tree.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// What ends in it, or was handed back by its callees.
    own: f64,
    /// What ends in it, and in all that it calls.
    width: f64,
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
