use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::DwarfError;

/// A limit for the work that a file may cause.
///
/// Valid debug information is read about once, so the work is in proportion to its size. A
/// hostile file can refer to the same bytes again and again: every function to the same long
/// list of ranges, every unit to the same line program. Every step is paid for, so the budget
/// of such a file runs out.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<u64>,
    /// The IDs of the units in other files that have extended the budget.
    others: RefCell<BTreeSet<u64>>,
}

/// How often each byte may be read: for its structure, its function and its inlined calls, and
/// again for each reference to it.
const READS: u64 = 16;

/// The least budget, however small the file is. It is needed because a function's name is kept
/// for each of its addresses.
const LEAST: u64 = 64 << 20;

/// The cost of a range, a row or an address; a byte costs 1.
pub(super) const STEP: usize = 8;

impl Budget {
    pub(super) fn of(bytes: u64) -> Self {
        Self {
            left: Cell::new(bytes.saturating_mul(READS).saturating_add(LEAST)),
            others: RefCell::default(),
        }
    }

    /// Extends the budget for a unit of this many bytes in another file. A unit extends it only
    /// once, however often it is referred to.
    pub(super) fn extend(&self, id: u64, bytes: usize) {
        if self.others.borrow_mut().insert(id) {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            let more = bytes.saturating_mul(READS);
            self.left.set(self.left.get().saturating_add(more));
        }
    }

    /// Pays for reading or keeping this many bytes.
    pub(super) fn spend(&self, amount: usize) -> Result<(), DwarfError> {
        let amount = u64::try_from(amount).unwrap_or(u64::MAX);
        let left = self.left.get().checked_sub(amount);
        // Once the budget has run out, it stays empty.
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(DwarfError::TooMuch)
    }
}
