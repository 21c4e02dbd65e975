use std::collections::BTreeSet;

use super::need::exceeded;
use super::{
    Allowance, AllowanceSubject, Baseline, MeasuredWith, Need, StackPattern, is_twice_the_need,
    needs,
};
use crate::judge::Verdict;
use crate::report::{Finding, Report, Standing, Subject};
use crate::{FoldedStack, Rate};

/// What somebody agrees to: the measurement that showed it, what from then on
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

/// One thing that is agreed to.
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
    /// All that a report found to be too much, to have moved, or not to be used
    /// any more. Where nothing was, it is empty.
    ///
    /// Growth that a run could not make exact is allowed with its error, so that
    /// the next run is not red for the noise alone; nothing else is added.
    ///
    /// The baseline is the one that is agreed to anew: where a pattern of it is exceeded
    /// or has expired, that pattern is given the new rate, and not the stacks under it.
    pub fn of(report: &Report, baseline: &Baseline) -> Acceptance {
        let mut all = Acceptance::default();
        for finding in &report.findings {
            all.add(Acceptance::of_finding(report, finding, baseline));
        }
        all
    }

    /// The same of one of its findings.
    pub fn of_finding(report: &Report, finding: &Finding, baseline: &Baseline) -> Acceptance {
        let allowance = is_too_much(finding).then(|| accepted(report, finding, baseline));
        Acceptance {
            // Of the figures; where none is new, what a file says of them stays.
            measured: measured(report).filter(|_| allowance.is_some()),
            allowances: allowance.into_iter().collect(),
            moved: moved(finding).into_iter().collect(),
            removed: finding
                .is_unused()
                .then(|| subject(finding))
                .into_iter()
                .collect(),
        }
    }

    /// Whether there is something to agree to in a report, whatever a file has by now.
    pub fn is_due(report: &Report) -> bool {
        !Acceptance::of(report, &Baseline::default()).is_empty()
    }

    /// The rates that a report needed, of allowances that are more than twice as large:
    /// see [`is_twice_the_need`]. What a file says of them stays.
    pub fn lower(baseline: &Baseline, report: &Report) -> Acceptance {
        let due = Acceptance::of(report, baseline);
        // One that moves is another's from then on, and keeps its rate until then; one that
        // is agreed to anew has what it needs.
        let moved = due
            .moved
            .iter()
            .map(|moved| StackPattern::exact(&moved.from));
        let moved = moved.map(AllowanceSubject::Stack);
        let renewed = due.allowances.into_iter();
        let renewed = renewed.map(|accepted| accepted.allowance.subject);
        let settled: BTreeSet<AllowanceSubject> = moved.chain(renewed).collect();
        let allowances: Vec<Accepted> = baseline
            .allowances
            .iter()
            .zip(needs(baseline, report))
            .filter(|(allowance, _)| !settled.contains(&allowance.subject))
            .filter_map(|(allowance, need)| {
                let need = need.filter(|need| !need.is_none())?;
                is_twice_the_need(allowance.rate, need).then(|| lowered(allowance, need))
            })
            .collect();
        Acceptance {
            measured: measured(report).filter(|_| !allowances.is_empty()),
            allowances,
            ..Acceptance::default()
        }
    }

    /// Takes in what else is agreed to of the same report.
    pub fn add(&mut self, other: Acceptance) {
        self.measured = self.measured.take().or(other.measured);
        self.allowances.extend(other.allowances);
        self.moved.extend(other.moved);
        self.removed.extend(other.removed);
    }

    /// Whether there is nothing to agree to.
    pub fn is_empty(&self) -> bool {
        self.allowances.is_empty() && self.moved.is_empty() && self.removed.is_empty()
    }
}

fn measured(report: &Report) -> Option<MeasuredWith> {
    let iterations = report.rungs.last().map_or(0, |rung| rung.iterations);
    report.measured.as_ref().map(|measured| MeasuredWith {
        target: measured.target.clone(),
        profile: measured.profile.clone(),
        toolchain: measured.toolchain.clone(),
        jemalloc: measured.jemalloc.clone(),
        sample_interval: measured.sample_interval,
        iterations,
    })
}

fn is_too_much(finding: &Finding) -> bool {
    finding.verdict == Verdict::Regressed
        && !finding.is_unused()
        && match finding.standing {
            Standing::New | Standing::Exceeded | Standing::Expired => true,
            Standing::Allowed | Standing::Moved | Standing::Stale => false,
        }
}

fn moved(finding: &Finding) -> Option<Moved> {
    match (&finding.subject, &finding.moved_from, finding.standing) {
        (Subject::Stack(to), Some(from), Standing::Moved) => Some(Moved {
            from: from.clone(),
            to: to.clone(),
        }),
        _ => None,
    }
}

/// What an allowance for it is, or was, for.
fn subject(finding: &Finding) -> AllowanceSubject {
    match &finding.subject {
        Subject::Stack(stack) if finding.is_unused() => {
            AllowanceSubject::Stack(StackPattern::from_shown(stack))
        }
        Subject::Stack(stack) => AllowanceSubject::Stack(StackPattern::exact(stack)),
        Subject::Site { frames, .. } => AllowanceSubject::Stack(StackPattern::ending_in(frames)),
        Subject::Threads => AllowanceSubject::Threads,
        Subject::Descriptors => AllowanceSubject::Descriptors,
    }
}

fn lowered(allowance: &Allowance, need: Need) -> Accepted {
    Accepted {
        allowance: Allowance {
            rate: agreed(&allowance.subject, need.rate + need.error),
            reason: None,
            issue: None,
            expires: None,
            ..allowance.clone()
        },
        expired: false,
    }
}

/// What can stand in a file.
fn agreed(subject: &AllowanceSubject, rate: Rate) -> Rate {
    Rate {
        // One of the two may shrink while the other grows.
        objects: rate.objects.max(0.0),
        bytes: match subject.resource() {
            Some(_) => 0.0,
            None => rate.bytes.max(0.0),
        },
    }
}

fn accepted(report: &Report, finding: &Finding, baseline: &Baseline) -> Accepted {
    let own = subject(finding);
    let rate = agreed(&own, finding.rate + finding.error);
    let subject = match exceeded(finding, rate, baseline, report) {
        Some(index) => baseline.allowances[index].subject.clone(),
        None => own,
    };
    let allowance = Allowance {
        rate,
        subject,
        law: finding.law,
        bytes_law: finding.bytes_law,
        reason: None,
        issue: None,
        expires: None,
    };
    Accepted {
        allowance,
        expired: finding.standing == Standing::Expired,
    }
}
