//! Reads the birth of objects from the stacks of a dump. A birth is the rung (the dump of a
//! ladder) that the process ran towards when it allocated the object.
//!
//! The profiler's hook in a measured process writes one more word behind the root of every
//! stack. The word is 4,096 plus the number of the generation, which is the number of that
//! rung. jemalloc keeps stacks with different words apart, so a dump counts the live objects
//! of each stack by generation.
//!
//! ```text
//! @ 0x55…a 0x55…b 0x55…c 0x1017      allocated on the way to rung 23
//!   t*: 3: 192 [880: 56320]
//! ```
//!
//! No code has such a low address: Linux keeps the first 64 KiB free (`vm.mmap_min_addr`).

use crate::Avma;

/// The word of generation 0. The word of any other generation is larger by its number.
pub const WORD: u64 = 0x1000;

/// Number of generations that can be told apart; later ones count as the last of them. A
/// ladder of so many rungs would take 2^259 iterations.
pub const GENERATIONS: u64 = 0x400;

/// Splits a stack into the stack without its birth, and its generation. The generation is
/// `None` if the stack has no birth.
///
/// ```
/// use plimsoll_core::{Avma, birth};
/// let stack = [Avma(0x55d0_c0de), Avma(0x1017)];
/// assert_eq!(birth::split(&stack), (&stack[..1], Some(23)));
/// assert_eq!(birth::split(&stack[..1]), (&stack[..1], None));
/// ```
pub fn split(stack: &[Avma]) -> (&[Avma], Option<usize>) {
    match stack.split_last() {
        Some((Avma(word), rest)) if (WORD..WORD + GENERATIONS).contains(word) => {
            (rest, usize::try_from(word - WORD).ok())
        }
        _ => (stack, None),
    }
}
