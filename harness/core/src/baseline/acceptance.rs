use super::write::writable;
use super::{Allowance, AllowanceSubject, Baseline, Date, MeasuredWith, round_up};
use crate::FoldedStack;

/// What somebody accepts: the measurement that showed it, what from then on
/// is allowed, and what becomes of allowances that there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acceptance {
    /// What it was measured with.
    pub measured: Option<MeasuredWith>,
    /// In any order.
    pub allowances: Vec<Accepted>,
    /// Allowances that are another stack's from then on. In any order.
    pub moved: Vec<Moved>,
    /// What needs no allowance any more. In any order.
    pub removed: Vec<AllowanceSubject>,
}

/// One thing that is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// With the rate, not yet rounded. `reason`, `issue` and `expires` take the
    /// place of what a file has, where they are there; otherwise that stays.
    pub allowance: Allowance,
    /// Whether it was allowed before and that has expired: the date that a file
    /// has goes, or nothing would come of agreeing.
    pub expired: bool,
}

/// An allowance whose stack has another caller now: it keeps its rate, and what
/// people wrote of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The stack that a file has.
    pub from: FoldedStack,
    /// The stack that grows now.
    pub to: FoldedStack,
}

impl Acceptance {
    /// Takes in what else is accepted of the same report.
    pub fn add(&mut self, other: Acceptance) {
        self.measured = self.measured.take().or(other.measured);
        self.allowances.extend(other.allowances);
        self.moved.extend(other.moved);
        self.removed.extend(other.removed);
    }

    /// Leaves out what a file has by now: at this rate, and not expired.
    pub fn leave_out(&mut self, agreed: &Baseline, today: Date) {
        self.allowances.retain(|accepted| {
            let new = &accepted.allowance;
            let written = round_up(new.rate.objects).zip(round_up(new.rate.bytes));
            !agreed.allowances.iter().any(|old| {
                writable(new.subject.clone()).as_ref() == Ok(&old.subject)
                    && Some((old.rate.objects, old.rate.bytes)) == written
                    && (old.law, old.bytes_law) == (new.law, new.bytes_law)
                    && old.expires.is_none_or(|last| today <= last)
            })
        });
        if self.allowances.is_empty() {
            self.measured = None;
        }
    }

    /// Whether there is nothing to accept.
    pub fn is_empty(&self) -> bool {
        self.allowances.is_empty() && self.moved.is_empty() && self.removed.is_empty()
    }
}
