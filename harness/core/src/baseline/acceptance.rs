use super::{Allowance, AllowanceSubject, MeasuredWith, StackPattern};
use crate::FoldedStack;
use crate::judge::Verdict;
use crate::report::{Finding, Report, Standing, Subject};

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
    pub fn of(report: &Report) -> Acceptance {
        let findings = || report.findings.iter();
        let allowances: Vec<Accepted> = findings()
            .filter(|finding| is_too_much(finding))
            .map(accepted)
            .collect();
        Acceptance {
            // Of the figures; where none is new, what a file says of them stays.
            measured: measured(report).filter(|_| !allowances.is_empty()),
            allowances,
            moved: findings().filter_map(moved).collect(),
            removed: findings()
                .filter(|finding| finding.is_unused())
                .map(subject)
                .collect(),
        }
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

fn accepted(finding: &Finding) -> Accepted {
    let subject = subject(finding);
    let mut rate = finding.rate + finding.error;
    if subject.resource().is_some() {
        rate.bytes = 0.0;
    }
    // One of the two may shrink while the other grows.
    rate.objects = rate.objects.max(0.0);
    rate.bytes = rate.bytes.max(0.0);
    let allowance = Allowance {
        subject,
        rate,
        law: finding.law,
        reason: None,
        issue: None,
        expires: None,
    };
    Accepted {
        allowance,
        expired: finding.standing == Standing::Expired,
    }
}
