//! Compares two measurements, and makes JSON of the differences. Pure.

use std::collections::BTreeMap;
use std::fmt;

use plimsoll_core::FoldedStack;
use plimsoll_core::report::{Report, StackGrowth};
use serde::Serialize;

use crate::decide::{Climb, Gain, Group, Question};

/// The difference in one group of stacks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub kind: Kind,
    /// The stack of the group that grows fastest.
    pub stack: FoldedStack,
    pub before: Gain,
    pub after: Gain,
    /// Who holds the objects, as a sentence, in the measurement in which more of them grow.
    pub holder: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// It grows now, and did not before.
    New,
    /// It grows faster.
    Grew,
    /// It grows more slowly.
    Shrank,
    /// It grew before, and does not now.
    Gone,
    /// It grows now and did not before, by less than the errors of both rates.
    Perhaps,
}

impl Kind {
    /// Tells whether the difference is a growth.
    pub(crate) fn is_worse(self) -> bool {
        self <= Kind::Grew
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Returns the differences that the errors of both climbs cannot explain. Stacks that grow
/// faster come first, the fastest of them first, then stacks that grow more slowly. Last come
/// stacks whose growth is new, and may be due to the errors.
pub(crate) fn between(before: &Climb, after: &Climb) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    let sure = Question::between(before, after, None);
    let slower = Question::between(after, before, None);
    let unsure = Question::beyond(before, after, None, 0.0);
    for (less, more, question, is_worse, is_sure) in [
        (before, after, sure, true, true),
        (after, before, slower, false, true),
        (before, after, unsure, true, false),
    ] {
        let Ok(question) = question else { continue };
        let others = question.others.iter();
        let others = others.map(|(stack, _)| (Group::of(stack), stack.clone()));
        let first = (question.group.clone(), question.stack.clone());
        for (group, stack) in std::iter::once(first).chain(others) {
            let grew = less.grows(&group, &stack);
            let is_known = differences.iter().any(|known| group.holds(&known.stack));
            if !is_sure && (grew || is_known) {
                continue;
            }
            let kind = match (is_worse, grew) {
                (true, false) if !is_sure => Kind::Perhaps,
                (true, false) => Kind::New,
                (true, true) => Kind::Grew,
                (false, true) => Kind::Shrank,
                (false, false) => Kind::Gone,
            };
            differences.push(Difference {
                kind,
                before: before.gain(before.rate(&group)),
                after: after.gain(after.rate(&group)),
                holder: more.holder(&stack).map(str::to_owned),
                stack,
            });
        }
    }
    differences
}

/// Returns the later report with its rates reduced by those of the earlier one, stack by
/// stack. A rate is negative if the stack grows more slowly.
pub(crate) fn report(before: &Report, after: &Report) -> Report {
    let mut report = after.clone();
    let gains = before.growth.iter();
    let gains = gains.map(|growth| (&growth.stack, Gain::of(growth)));
    let gains: BTreeMap<&FoldedStack, Gain> = gains.collect();
    let set = |growth: &mut StackGrowth, gain: Gain| {
        (growth.rate, growth.error) = (gain.rate, gain.error);
    };
    for growth in &mut report.growth {
        let before = gains.get(&growth.stack).copied().unwrap_or_default();
        set(growth, Gain::of(growth).above(before));
    }
    let is_there = |stack: &FoldedStack| after.growth.iter().any(|one| one.stack == *stack);
    for growth in before.growth.iter().filter(|one| !is_there(&one.stack)) {
        let mut gone = growth.clone();
        set(&mut gone, Gain::default().above(Gain::of(growth)));
        report.growth.push(gone);
    }
    report.growth.sort_by(|one, two| one.stack.cmp(&two.stack));
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::tests::climb;

    #[test]
    fn kinds_of_differences() {
        let (little, half) = ("0.003 0.0004 main;store;put", "8 0.1 main;store;put");
        let put = "80 1 main;store;put";
        for (before, after, expected) in [
            ("", put, "new put"),
            (half, put, "grew put"),
            (put, half, "shrank put"),
            (put, "", "gone put"),
            (put, put, ""),
            (little, little, ""),
            // Another name of the same function.
            (put, "80 1 main;table;put_new", ""),
            (put, "4000 50 main;log;push", "new push, gone put"),
        ] {
            let found = between(&climb(65_536, before), &climb(65_536, after));
            let found = found.iter().map(|one| {
                let leaf = one.stack.frames().last().map_or("", String::as_str);
                format!("{} {leaf}", one.kind)
            });
            let found = found.collect::<Vec<_>>().join(", ");
            assert_eq!(found, expected, "from {before:?} to {after:?}");
        }
    }
}
