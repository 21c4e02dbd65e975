//! Accepts all growth that passes through one function, as one allowance.

use std::cmp::Reverse;

use super::{is_too_much, measured};
use crate::baseline::{Acceptance, Accepted, Allowance, AllowanceSubject, Baseline, StackPattern};
use crate::finding::{Finding, Standing};
use crate::report::{Report, StackGrowth};
use crate::small_map::SmallMap;
use crate::{FoldedStack, Rate};

impl Acceptance {
    /// Accepts the growth of all stacks that pass through a function, as one allowance. Empty if
    /// none of them grew too much.
    ///
    /// `function` is a frame as [`FoldedStack`] has it. The rate is that of all stacks that fall
    /// under the new allowance. It takes the place of allowances that name the function.
    pub fn through(function: &str, report: &Report, baseline: &Baseline) -> Acceptance {
        let subject = AllowanceSubject::Stack(StackPattern::through(function));
        let names_it = |allowance: &&Allowance| match &allowance.subject {
            AllowanceSubject::Stack(pattern) => {
                let mut frames = pattern.frames().iter();
                frames.any(|frame| frame.as_str() == function)
            }
            AllowanceSubject::Resource(_) => false,
        };
        let passing = report.growth.iter().filter(|growth| {
            let mut frames = growth.stack.frames().iter();
            frames.any(|name| name == function)
        });
        let passing: Vec<&StackGrowth> = passing.collect();
        let is_its = |finding: &&Finding| {
            let mut passing = passing.iter();
            is_too_much(finding) && passing.any(|growth| finding.subject.covers(&growth.stack))
        };
        let findings: Vec<&Finding> = report.findings.iter().filter(is_its).collect();
        let Some(first) = findings.first() else {
            return Acceptance::default();
        };

        let falls_under = |stack: &FoldedStack| match baseline.allowance_of(stack) {
            Some(index) => names_it(&&baseline.allowances[index]),
            None => true,
        };
        let growth = passing.iter().filter(|growth| falls_under(&growth.stack));
        let rate = growth.fold(Rate::default(), |sum, growth| {
            let own = growth.rate + growth.error.unwrap_or_default();
            // What shrank in this run need not shrink in the next one.
            sum + own.map(|rate| rate.max(0.0))
        });
        // Their sum grows in steps if one of them does.
        let gains = |finding: &&&Finding| finding.rate.objects > 0.0;
        let law = findings.iter().filter(gains).map(|finding| finding.law);
        let bytes_law = findings.iter().map(|finding| finding.bytes_law);
        let replaced = baseline.allowances.iter().filter(names_it);
        let replaced = replaced.map(|allowance| allowance.subject.clone());
        Acceptance {
            measured: measured(report),
            removed: replaced.filter(|old| *old != subject).collect(),
            allowances: vec![Accepted {
                allowance: Allowance {
                    subject,
                    rate,
                    law: law.max().unwrap_or(first.law),
                    bytes_law: bytes_law.max().unwrap_or(first.bytes_law),
                    reason: None,
                    issue: None,
                    expires: None,
                },
                expired: findings
                    .iter()
                    .any(|finding| finding.standing == Standing::Expired),
            }],
            moved: Vec::new(),
        }
    }
}

/// Returns the functions that growth which is too much passes through, with the number of such
/// stacks: those of the most stacks first, and of these the innermost first.
pub fn functions(report: &Report) -> Vec<(&str, usize)> {
    let findings = report
        .findings
        .iter()
        .filter(|finding| is_too_much(finding));
    let findings: Vec<&Finding> = findings.collect();
    let grown = report.growth.iter().map(|growth| &growth.stack);
    let grown = grown.filter(|stack| findings.iter().any(|one| one.subject.covers(stack)));
    let mut functions: SmallMap<&str, (usize, usize)> = SmallMap::default();
    for stack in grown {
        let mut seen = Vec::new();
        for (depth, name) in stack.frames().iter().enumerate().rev() {
            if !seen.contains(&name) {
                seen.push(name);
                let (stacks, deepest) = functions.or_default(name.as_str());
                *stacks += 1;
                *deepest = depth.max(*deepest);
            }
        }
    }
    let mut functions: Vec<_> = functions.into_iter().collect();
    functions.sort_by_key(|(name, (stacks, depth))| (Reverse((*stacks, *depth)), *name));
    let numbered = functions.into_iter();
    numbered.map(|(name, (stacks, _))| (name, stacks)).collect()
}
