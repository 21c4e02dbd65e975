use std::hash::{BuildHasher, Hasher};
use std::iter;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Groups of equal stacks. A stack's names are asked for whenever they are needed. Of each
/// stack, only about thirty bytes are kept, because there may be millions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    /// The groups, in the order in which their first stacks were added.
    stacks: Vec<Stack>,
    /// For each added stack, the next equal one.
    next: Vec<u32>,
    /// The groups, hashed by the parts of their stacks: each with its hash, so that a growing
    /// table need not ask for the parts of all stacks again.
    table: HashTable<(u32, u32)>,
    hasher: RandomState,
}

/// A group of equal stacks: the first and the last that were added.
#[derive(Clone, Copy, Debug)]
struct Stack {
    first: u32,
    last: u32,
}

/// A number that no stack has.
const NONE: u32 = u32::MAX;

impl Merged {
    /// Adds a stack under a number that is not in use yet. `of` returns the parts of a stack
    /// that was added, or is being added.
    ///
    /// A number that is too large is ignored. No profile that can be read has as many stacks.
    pub(crate) fn add<S: Iterator<Item = u32>>(&mut self, added: usize, of: impl Fn(usize) -> S) {
        let (Some(number), Some(new)) = (number(added), number(self.stacks.len())) else {
            return;
        };
        if self.next.len() <= added {
            self.next.resize(added + 1, NONE);
        }
        let stacks = &self.stacks;
        let first = |stack: u32| stacks[stack as usize].first as usize;
        let mut hasher = self.hasher.build_hasher();
        of(added).for_each(|part| hasher.write_u32(part));
        #[expect(clippy::cast_possible_truncation, reason = "as many bits as are kept")]
        let hash = hasher.finish() as u32;
        let entry = self.table.entry(
            spread(hash),
            |(known, stack)| *known == hash && of(first(*stack)).eq(of(added)),
            |(known, _)| spread(*known),
        );
        let (_, at) = *entry.or_insert((hash, new)).get();
        if at == new {
            self.stacks.push(Stack {
                first: number,
                last: number,
            });
        } else {
            let last = &mut self.stacks[at as usize].last;
            self.next[*last as usize] = number;
            *last = number;
        }
    }

    /// Returns the number of groups.
    pub(crate) fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Returns the number of the first stack of a group.
    pub(crate) fn first(&self, stack: usize) -> usize {
        self.stacks[stack].first as usize
    }

    /// Returns the numbers of all stacks of a group, in the order in which they were added.
    pub(crate) fn added(&self, stack: usize) -> impl Iterator<Item = usize> {
        let next = |added: &u32| {
            let next = self.next[*added as usize];
            (next != NONE).then_some(next)
        };
        let added = iter::successors(Some(self.stacks[stack].first), next);
        added.map(|added| added as usize)
    }
}

/// Spreads a hash over the bits that a hash table looks at: the highest and the lowest.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x0000_0001_0000_0001)
}

fn number(place: usize) -> Option<u32> {
    u32::try_from(place).ok().filter(|number| *number != NONE)
}
