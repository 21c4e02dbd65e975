//! When an object was born, as a stack of a dump says it.
//!
//! The profiler's hook in a measured process writes one word more behind the root of
//! every stack: 4,096 and the number of the generation, which is that of the rung that
//! the process runs towards. jemalloc keeps stacks with different words apart, so a dump
//! counts the living objects of each stack by generation.
//!
//! ```text
//! @ 0x55…a 0x55…b 0x55…c 0x1017      allocated on the way to rung 23
//!   t*: 3: 192 [880: 56320]
//! ```
//!
//! No program is mapped that low: Linux keeps the first 64 KiB free
//! (`vm.mmap_min_addr`).

use crate::Avma;

/// What is added to the number of a generation.
pub const WORD: u64 = 0x1000;

/// Generations that can be told apart; later ones count as the last of them. A ladder
/// of so many rungs would take 2^240 iterations.
pub const GENERATIONS: u64 = 0x400;

/// A stack without its birth, and the generation that it is of; absent where the stack
/// does not say.
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
