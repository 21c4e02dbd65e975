//! Takes the births that `plimsoll-ages` writes out of the stacks of a profile.

use plimsoll_core::ages::{Birth, FUNCTION};

use crate::merged::Merged;
use crate::profile::{Location, LocationId, Profile};

/// Fewest births without a name that are recognised.
const FEWEST_UNNAMED: usize = 2;
/// The function of births has so many bytes.
const FUNCTION_BYTES: u64 = 1_024;

impl Profile {
    /// Removes the birth from each stack, and returns it: an item for each stack, or nothing if no
    /// stack has one. Births are known by the name of their function, so names must have been
    /// looked up. A birth without an address is removed as well, but it says nothing.
    ///
    /// Stacks that differed only by their birth stay apart, see [`Profile::merge`].
    pub fn take_births(&mut self) -> Vec<Option<Birth>> {
        let is_birth: Vec<bool> = self.locations.iter().map(is_birth).collect();
        let of = |root: &LocationId| is_birth[root.0 as usize].then_some(*root);
        let root = |stack: &[LocationId]| stack.last().and_then(of);
        let roots: Vec<Option<LocationId>> = self.stacks().map(|(stack, _)| root(stack)).collect();
        if roots.iter().all(Option::is_none) {
            return Vec::new();
        }
        self.with_stacks(0..roots.len(), |profile, stack| {
            let frames = profile.stack(stack);
            let births = usize::from(roots[stack].is_some());
            (&frames[..frames.len() - births], profile.counts(stack))
        });
        let birth = |root: Option<LocationId>| Birth::of(self.location(root?).address?);
        roots.into_iter().map(birth).collect()
    }

    /// Adds up stacks whose locations are equal, in the place of the first of them. The result is
    /// what the profiler writes if nobody adds births.
    pub fn merge(&mut self) {
        let mut merged = Merged::default();
        for stack in 0..self.len() {
            merged.add(stack, |stack| self.stack(stack).iter().map(|id| id.0));
        }
        self.with_stacks(0..merged.len(), |profile, group| {
            let all = merged.added(group).map(|stack| profile.counts(stack));
            let sum = all.fold(Default::default(), |mut sum, counts| {
                sum += counts;
                sum
            });
            (profile.stack(merged.first(group)), sum)
        });
    }

    /// Returns whether the stacks seem to have births whose function has no name: several of
    /// their roots are addresses of one function that begins as the function of births does.
    pub fn has_unnamed_births(&self) -> bool {
        let mut roots: Vec<u64> = self
            .stacks()
            .filter_map(|(stack, _)| {
                let root = self.location(*stack.last()?);
                let address = root.address.filter(|_| is_unnamed(root))?;
                Birth::of(address).map(|_| address.0)
            })
            .collect();
        roots.sort_unstable();
        roots.dedup();
        let block = |address: &u64| address / FUNCTION_BYTES;
        let mut blocks = roots.chunk_by(|one, two| block(one) == block(two));
        blocks.any(|births| births.len() >= FEWEST_UNNAMED)
    }
}

/// Returns whether a location is in the function of births.
fn is_birth(location: &Location) -> bool {
    let outermost = location.frames.last();
    // Some demanglers keep the hash: `…::time_of_birth::h0123456789abcdef`. `jeprof --raw` adds
    // the address of a function: `…::time_of_birth<0000000000358400>`.
    let after = outermost.and_then(|frame| frame.function.strip_prefix(FUNCTION));
    after
        .is_some_and(|after| after.is_empty() || after.starts_with("::h") || after.starts_with('<'))
}

/// Returns whether a location has no name but its module and offset.
fn is_unnamed(location: &Location) -> bool {
    let mut functions = location.frames.iter().map(|frame| &frame.function);
    functions.all(|function| function.contains("+0x") || function.starts_with("[unmapped"))
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{Avma, Counts, SourceFrame, Tally};

    use super::*;
    use crate::profile::ProfileBuilder;

    /// A stack for each root, which is the function of births at an address or without one.
    fn profile(roots: &[Option<u64>]) -> Profile {
        let mut builder = ProfileBuilder::default();
        let location = |function: &str, address: Option<u64>| Location {
            address: address.map(Avma),
            frames: vec![SourceFrame::named(function.to_owned())],
            ..Location::default()
        };
        let leaf = builder.push(location("app::main", Some(0x99))).unwrap();
        for root in roots {
            let root = builder.push(location(FUNCTION, *root)).unwrap();
            let inuse = Tally {
                objects: 1,
                bytes: 8,
            };
            let alloc = Tally::default();
            builder.stack([leaf, root], Counts { inuse, alloc });
        }
        builder.stack([leaf], Counts::default());
        builder.profile
    }

    #[test]
    fn births_are_taken_where_names_came_with_the_profile() {
        let mut profile = profile(&[Some(0x1410 + 51), None, Some(0x1402)]);
        let births = [Birth::new(51), None, None, None];
        assert_eq!(profile.take_births(), births);
        assert!(profile.take_births().is_empty());
        assert_eq!(profile.len(), 4);
        profile.merge();
        let stacks: Vec<_> = profile.stacks().collect();
        let inuse = Tally {
            objects: 3,
            bytes: 24,
        };
        let alloc = Tally::default();
        assert_eq!(stacks, [(&[LocationId(0)][..], Counts { inuse, alloc })]);
    }
}
