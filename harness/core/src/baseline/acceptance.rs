use super::{Allowance, AllowanceSubject, MeasuredWith};
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

    /// Returns whether there is nothing to accept.
    pub fn is_empty(&self) -> bool {
        self.allowances.is_empty() && self.moved.is_empty() && self.removed.is_empty()
    }
}
