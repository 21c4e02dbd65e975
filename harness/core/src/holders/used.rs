//! Which parts of a container's storage are in use.
//!
//! The rest has what was there before: the addresses of elements that were removed, where other
//! objects are by now. What points to the storage tells which parts these are.
//!
//! ```text
//! hash table  ┌────────┬───┬────────┬────────┬─────────────────┬──────────────────────┐
//!             │slot n-1│ … │ slot 1 │ slot 0 │ n control bytes │ the first ones again │
//!             └────────┴───┴────────┴────────┴─────────────────┴──────────────────────┘
//!                                            ↑ the map points here
//! list        room, pointer, length
//! queue       room, pointer, first, length
//! ```
//!
//! The tables of the standard library are those of `hashbrown` (its `raw.rs`, `control/tag.rs`). A
//! control byte has the highest bit if its slot is free. The order of the words of a `Vec` and of a
//! `VecDeque` is that which rustc gives them.

use std::ops::Range;

/// How many control bytes are looked at together, and repeated at the end.
const WIDTH: usize = if cfg!(target_arch = "x86_64") { 16 } else { 8 };

/// The control byte of a slot that was not used since the table was made.
const EMPTY: u8 = 0xff;

/// The control byte of a slot whose value was removed.
const DELETED: u8 = 0x80;

/// The size of a word. An element with a pointer consists of words.
const WORD: u64 = 8;

/// What a container stores its elements in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// That of a `HashMap`.
    Table,
    /// That of a `Vec` or a `VecDeque`. One may become the other, so both are possible.
    Elements,
}

impl Storage {
    /// Returns the parts of some storage of so many bytes that are in use, in order. `None` if the
    /// pointer is not that of its container.
    ///
    /// `offset` is where in the storage the pointer points to. `around` has the word before the
    /// pointer and the two after it, as far as they are known, and `read` reads a part of the storage.
    pub fn used(
        self,
        bytes: u64,
        offset: u64,
        around: [Option<u64>; 3],
        read: impl FnOnce(Range<u64>) -> Vec<u8>,
    ) -> Option<Vec<Range<u64>>> {
        let [room, first, second] = around;
        match self {
            Storage::Table => table(bytes, offset, read),
            Storage::Elements if offset == 0 => elements(bytes, room?, first?, second),
            Storage::Elements => None,
        }
    }
}

fn table(
    bytes: u64,
    control: u64,
    read: impl FnOnce(Range<u64>) -> Vec<u8>,
) -> Option<Vec<Range<u64>>> {
    let slots = bytes.checked_sub(control)?.checked_sub(WIDTH as u64)?;
    if !slots.is_power_of_two() || control == 0 || !control.is_multiple_of(slots * WORD) {
        return None;
    }
    let control_bytes = read(control..bytes);
    let count = usize::try_from(slots).ok()?;
    if control_bytes.len() != count + WIDTH || !are_control_bytes(&control_bytes, count) {
        return None;
    }
    let size = control / slots;
    let mut used: Vec<Range<u64>> = Vec::new();
    // The first slot is the last one in memory.
    for (slot, _) in (1..)
        .zip(&control_bytes[..count])
        .filter(|(_, byte)| **byte < DELETED)
    {
        let begin = control - slot * size;
        match used.last_mut() {
            Some(last) if last.start == begin + size => last.start = begin,
            _ => used.push(begin..begin + size),
        }
    }
    used.reverse();
    Some(used)
}

/// Returns whether these are the control bytes of so many slots.
fn are_control_bytes(bytes: &[u8], slots: usize) -> bool {
    let (own, again) = bytes.split_at(slots);
    // A table with fewer slots than that has free ones between.
    let (between, again) = again.split_at(WIDTH.saturating_sub(slots));
    let is_control = |byte: &u8| *byte <= DELETED || *byte == EMPTY;
    own.contains(&EMPTY)
        && own.iter().all(is_control)
        && between.iter().all(|byte| *byte == EMPTY)
        && *again == own[..again.len()]
}

/// Returns the part of a list of `first` elements, or of a queue that begins there and has `second`.
/// That of both is one part, because a queue that reaches the end goes on at the beginning.
fn elements(bytes: u64, room: u64, first: u64, second: Option<u64>) -> Option<Vec<Range<u64>>> {
    let size = bytes.checked_div(room)?;
    let is_whole = size > 0 && size.is_multiple_of(WORD) && size * room == bytes;
    if !is_whole || first > room {
        return None;
    }
    let second = second.filter(|second| *second <= room);
    let count = (first + second.unwrap_or(0)).min(room);
    Some(Vec::from_iter((count > 0).then_some(0..count * size)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts of some storage that are in use.
    fn used(storage: Storage, bytes: &[u8], offset: u64, around: [Option<u64>; 3]) -> String {
        let at = |place: u64| usize::try_from(place).unwrap();
        let read = |part: Range<u64>| bytes[at(part.start)..at(part.end)].to_vec();
        let parts = storage.used(bytes.len() as u64, offset, around, read);
        let parts = parts.map(|parts| {
            let parts = parts.into_iter().map(|part| format!("{part:?}"));
            parts.collect::<Vec<_>>().join(" ")
        });
        parts.unwrap_or_else(|| "?".to_owned())
    }

    /// Writes a table: a word in each slot, `x` for what is used, `.` for what is free, `-` for what
    /// was removed.
    fn written(slots: &str) -> (Vec<u8>, usize) {
        let mut table: Vec<u8> = (0..slots.len()).flat_map(|n| n.to_ne_bytes()).collect();
        let control = table.len();
        let own = slots.bytes().map(|slot| match slot {
            b'x' => 0x2a,
            b'-' => DELETED,
            _ => EMPTY,
        });
        let own: Vec<u8> = own.collect();
        let between = vec![EMPTY; WIDTH.saturating_sub(own.len())];
        let again = own[..own.len().min(WIDTH)].to_vec();
        table.extend([own, between, again].concat());
        (table, control)
    }

    fn in_table(bytes: &[u8], control: usize) -> String {
        used(Storage::Table, bytes, control as u64, [None; 3])
    }

    #[test]
    fn slots_of_a_table() {
        for (slots, expected) in [
            ("x..x", "0..8 24..32"),
            (".xx-", "8..24"),
            ("x.xxxx-x", "0..8 16..48 56..64"),
            (&*("x".to_owned() + &".".repeat(31)), "248..256"),
            (&*".".repeat(64), ""),
        ] {
            let (bytes, control) = written(slots);
            assert_eq!(in_table(&bytes, control), expected, "{slots}");
        }
    }

    #[test]
    fn what_is_no_table() {
        let (bytes, control) = written("x..x");
        for wrong in [0, 8, control - 8, control + 8, bytes.len() + 8] {
            assert_eq!(in_table(&bytes, wrong), "?", "{wrong}");
        }
        // No table is full, and a control byte has either the highest bit or others.
        for (slots, change) in [("xxxx", 0x2a), ("x..x", 0x81)] {
            let (mut bytes, control) = written(slots);
            bytes[control] = change;
            assert_eq!(in_table(&bytes, control), "?", "{slots}");
        }
        assert_eq!(in_table(&[0; 48], 32), "?");
    }

    #[test]
    fn elements_of_lists_and_queues() {
        let next = Some(0x7f00_0000_1000);
        for (offset, around, expected) in [
            (0, [Some(4), Some(3), None], "0..48"),
            (0, [Some(4), Some(3), next], "0..48"),
            (0, [Some(4), Some(0), next], ""),
            (0, [Some(4), Some(1), Some(2)], "0..48"),
            (0, [Some(4), Some(3), Some(3)], "0..64"),
            (0, [Some(4), Some(0), Some(4)], "0..64"),
            // What is around another pointer.
            (16, [Some(4), Some(3), None], "?"),
            (0, [Some(4), Some(5), None], "?"),
            (0, [Some(3), Some(1), None], "?"),
            (0, [Some(16), Some(1), None], "?"),
            (0, [Some(0), Some(0), None], "?"),
            (0, [None, Some(1), None], "?"),
            (0, [next, Some(1), Some(1)], "?"),
        ] {
            let seen = used(Storage::Elements, &[0; 64], offset, around);
            assert_eq!(seen, expected, "{offset} {around:?}");
        }
    }
}
