//! Takes the births that `plimsoll-ages` writes out of the stacks of a profile.

use plimsoll_core::ages::{Birth, FUNCTION};

use crate::merged::Merged;
use crate::profile::{Location, LocationId, Profile};

/// Fewest births without a name that are recognised.
const FEWEST_UNNAMED: usize = 3;
/// The function of births has so many bytes.
const FUNCTION_BYTES: u64 = 1_024;

impl Profile {
    /// Removes the birth from each stack, and returns it: an item for each stack, or none if the
    /// profile has no births. Births are known by the name of their function, so names must have
    /// been looked up.
    ///
    /// Stacks that differed only by their birth stay apart, see [`Profile::merge`].
    pub fn take_births(&mut self) -> Vec<Option<Birth>> {
        let of_location: Vec<Option<Birth>> = self.locations.iter().map(birth).collect();
        if of_location.iter().all(Option::is_none) {
            return Vec::new();
        }
        let of = |root: &LocationId| of_location[root.0 as usize];
        let births: Vec<Option<Birth>> = self
            .stacks()
            .map(|(stack, _)| stack.last().and_then(of))
            .collect();
        self.with_stacks(0..births.len(), |profile, stack| {
            let frames = profile.stack(stack);
            let frames = match births[stack] {
                Some(_) => &frames[..frames.len() - 1],
                None => frames,
            };
            (frames, profile.counts(stack))
        });
        births
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

fn birth(location: &Location) -> Option<Birth> {
    let outermost = location.frames.last()?;
    // Some demanglers keep the hash: `plimsoll_ages::time_of_birth::h0123456789abcdef`.
    let after = outermost.function.strip_prefix(FUNCTION)?;
    let is_named = after.is_empty() || after.starts_with("::h");
    Birth::of(location.address.filter(|_| is_named)?)
}

/// Returns whether a location has no name but its module and offset.
fn is_unnamed(location: &Location) -> bool {
    let mut functions = location.frames.iter().map(|frame| &frame.function);
    functions.all(|function| function.contains("+0x") || function.starts_with("[unmapped"))
}
