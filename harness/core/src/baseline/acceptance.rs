use super::{Allowance, AllowanceSubject, Baseline, Date, MeasuredWith, round_up};
use crate::FoldedStack;

/// What somebody accepts: how it was measured, what is allowed from then on, and what happens
/// to existing allowances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acceptance {
    /// What the rates were measured with.
    pub measured: Option<MeasuredWith>,
    /// The allowances to set, in any order.
    pub allowances: Vec<Accepted>,
    /// Allowances that belong to another stack from then on, in any order.
    pub moved: Vec<Moved>,
    /// Subjects whose allowance is removed, in any order.
    pub removed: Vec<AllowanceSubject>,
}

/// One thing that is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// The allowance, with its rate not yet rounded. If `reason`, `issue` and `expires` are
    /// set, they replace those in the file; otherwise those in the file stay.
    pub allowance: Allowance,
    /// Whether the existing allowance has expired. Then the date in the file is removed,
    /// because accepting would have no effect otherwise.
    pub expired: bool,
}

/// An allowance whose stack has other frames now. It keeps its rate, and what people wrote
/// about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The stack in the file.
    pub from: FoldedStack,
    /// The stack that grows now.
    pub to: FoldedStack,
}

impl Acceptance {
    /// Adds what else is accepted from the same report.
    pub fn add(&mut self, other: Acceptance) {
        self.measured = self.measured.take().or(other.measured);
        self.allowances.extend(other.allowances);
        self.moved.extend(other.moved);
        self.removed.extend(other.removed);
    }

    /// Leaves out allowances that the file has already at this rate and law, and not expired.
    /// If none is left, `measured` is left out as well.
    pub fn leave_out(&mut self, agreed: &Baseline, today: Date) {
        self.allowances.retain(|accepted| {
            let new = &accepted.allowance;
            let written = round_up(new.rate.objects).zip(round_up(new.rate.bytes));
            !agreed.allowances.iter().any(|old| {
                new.subject.as_named_today().as_ref() == Ok(&old.subject)
                    && Some((old.rate.objects, old.rate.bytes)) == written
                    && (old.law, old.bytes_law) == (new.law, new.bytes_law)
                    && old.expires.is_none_or(|last| today <= last)
            })
        });
        if self.allowances.is_empty() {
            self.measured = None;
        }
    }

    /// Returns whether there is nothing to accept.
    pub fn is_empty(&self) -> bool {
        self.allowances.is_empty() && self.moved.is_empty() && self.removed.is_empty()
    }
}
