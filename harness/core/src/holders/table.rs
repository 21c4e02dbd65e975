//! The slots of a hash table that are in use.
//!
//! ```text
//! ┌─────────┬─────┬────────┬────────┬──────────────────┬─────────────────────┐
//! │ slot n-1│  …  │ slot 1 │ slot 0 │ n control bytes  │ the first ones again│
//! └─────────┴─────┴────────┴────────┴──────────────────┴─────────────────────┘
//!                                   ↑ the map points here
//! ```
//!
//! The tables of the standard library are those of `hashbrown` (its `raw.rs`, `control/tag.rs`). A
//! control byte has the highest bit if its slot is free. Free slots have what was there before: the
//! addresses of values that were removed, where other objects are by now.

use std::ops::Range;

/// How many control bytes are looked at together, and repeated at the end.
const WIDTH: usize = if cfg!(target_arch = "x86_64") { 16 } else { 8 };

/// The fewest slots of a table, as a power of two.
const FEWEST: u32 = 2;

/// The control byte of a slot that was never used since the table was made.
const EMPTY: u8 = 0xff;

/// The control byte of a slot whose value was removed.
const DELETED: u8 = 0x80;

/// Returns the parts of a table that are in use, if its control bytes may begin at `control`, and if
/// its slots consist of words. Parts that touch are one.
pub fn used(table: &[u8], control: usize) -> Option<Vec<Range<usize>>> {
    let after = table.get(control..)?;
    let most = after.len().checked_sub(WIDTH)?.checked_ilog2()?;
    // Of a few that look right, the smaller ones are parts of the greatest.
    let mut slots = (FEWEST..=most).rev().map(|lg| 1_usize << lg);
    let slots = slots.find(|slots| {
        let is_whole = control.is_multiple_of(8 * slots) && control > 0;
        is_whole && are_control_bytes(after, *slots)
    })?;
    let size = control / slots;
    let mut used: Vec<Range<usize>> = Vec::new();
    for slot in (0..slots).rev().filter(|slot| after[*slot] < DELETED) {
        let begins = control - (slot + 1) * size;
        match used.last_mut() {
            Some(last) if last.end == begins => last.end += size,
            _ => used.push(begins..begins + size),
        }
    }
    Some(used)
}

/// Returns whether these bytes begin with the control bytes of so many slots.
fn are_control_bytes(bytes: &[u8], slots: usize) -> bool {
    let (own, again) = bytes[..slots + WIDTH].split_at(slots);
    // A table with fewer slots than that has free ones between.
    let (between, again) = again.split_at(WIDTH.saturating_sub(slots));
    let is_control = |byte: &u8| *byte <= DELETED || *byte == EMPTY;
    own.contains(&EMPTY)
        && own.iter().all(is_control)
        && between.iter().all(|byte| *byte == EMPTY)
        && *again == own[..again.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a table: a word in each slot, `x` for what is used, `.` for what is free, `-` for what
    /// was removed.
    fn table(slots: &str) -> (Vec<u8>, usize) {
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
        // The allocator's room behind it.
        table.extend([0; 24]);
        (table, control)
    }

    #[test]
    fn slots_in_use() {
        for (slots, expected) in [
            ("x..x", "0..8 24..32"),
            (".xx-", "8..24"),
            ("x.xxxx-x", "0..8 16..48 56..64"),
            (&*("x".to_owned() + &".".repeat(31)), "248..256"),
            (&*".".repeat(64), ""),
        ] {
            let (bytes, control) = table(slots);
            let parts = used(&bytes, control).unwrap().into_iter();
            let parts: Vec<String> = parts.map(|part| format!("{part:?}")).collect();
            assert_eq!(parts.join(" "), expected, "{slots}");
        }
    }

    #[test]
    fn what_is_no_table() {
        let (bytes, control) = table("x..x");
        for wrong in [0, 8, control - 8, control + 8, bytes.len() + 8] {
            assert_eq!(used(&bytes, wrong), None, "{wrong}");
        }
        // No table is full, and no control byte has other bits beside the highest.
        for (slots, change) in [("xxxx", 0x2a), ("x..x", 0x81)] {
            let (mut bytes, control) = table(slots);
            bytes[control] = change;
            assert_eq!(used(&bytes, control), None, "{slots}");
        }
        assert_eq!(used(&[0; 64], 32), None);
    }
}
