use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::DwarfError;

/// How much work a file may cause.
///
/// Debug information that means well is read about once, so the work is in
/// proportion to its size. A file can also claim the same bytes over and over:
/// every function the same long list of ranges, every unit the same line
/// program. Each step is paid for, and such a file runs out.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<u64>,
    /// The IDs of units in other files that brought their own.
    others: RefCell<BTreeSet<u64>>,
}

/// Each byte is read for its structure, its function and its inlined calls, and
/// again by those who refer to it.
const READS: u64 = 16;

/// What a file may cost however small it is: one function's name is shown at
/// each of its addresses.
const LEAST: u64 = 64 << 20;

/// What one range, row or address costs, as against one byte.
pub(super) const STEP: usize = 8;

impl Budget {
    pub(super) fn of(bytes: u64) -> Self {
        Self {
            left: Cell::new(bytes.saturating_mul(READS).saturating_add(LEAST)),
            others: RefCell::default(),
        }
    }

    /// A unit of so many bytes in another file, which may cause as much work for
    /// each of them; once, however often it is referred to.
    pub(super) fn extend(&self, id: u64, bytes: usize) {
        if self.others.borrow_mut().insert(id) {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            let more = bytes.saturating_mul(READS);
            self.left.set(self.left.get().saturating_add(more));
        }
    }

    /// Pays for reading or keeping so many bytes.
    pub(super) fn spend(&self, amount: usize) -> Result<(), DwarfError> {
        let amount = u64::try_from(amount).unwrap_or(u64::MAX);
        let left = self.left.get().checked_sub(amount);
        // What is too much once is too much from then on.
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(DwarfError::TooMuch)
    }
}
