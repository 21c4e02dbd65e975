use std::hash::{BuildHasher, Hasher};
use std::iter;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Which stacks are equal to which. What a stack is, is asked for as often as needed: of
/// each some thirty bytes are kept, for there may be millions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    /// In the order in which they were first there.
    stacks: Vec<Stack>,
    /// The next equal one of each that was added.
    next: Vec<u32>,
    /// The different ones, by what they are: each with the hash of that, for growing the table
    /// must not ask for all of them again.
    table: HashTable<(u32, u32)>,
    hasher: RandomState,
}

/// Of the stacks that were added, the first and the last that are equal.
#[derive(Clone, Copy, Debug)]
struct Stack {
    first: u32,
    last: u32,
}

/// What nothing is of a number.
const NONE: u32 = u32::MAX;

impl Merged {
    /// Adds a stack by a number that was not added before; `of` says what it, or one that
    /// was added, is. One that is too large to have a number is left out: no profile that
    /// can be read has as many.
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

    /// How many different ones there are.
    pub(crate) fn len(&self) -> usize {
        self.stacks.len()
    }

    /// The first that was added of those that are equal.
    pub(crate) fn first(&self, stack: usize) -> usize {
        self.stacks[stack].first as usize
    }

    /// All that were added of those that are equal, in that order.
    pub(crate) fn added(&self, stack: usize) -> impl Iterator<Item = usize> {
        let next = |added: &u32| {
            let next = self.next[*added as usize];
            (next != NONE).then_some(next)
        };
        let added = iter::successors(Some(self.stacks[stack].first), next);
        added.map(|added| added as usize)
    }
}

/// Over all the bits that a table looks at: the highest of them and the lowest.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x0000_0001_0000_0001)
}

fn number(place: usize) -> Option<u32> {
    u32::try_from(place).ok().filter(|number| *number != NONE)
}
