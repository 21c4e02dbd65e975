use super::{Allowance, AllowanceSubject, MeasuredWith, StackPattern};
use crate::judge::Verdict;
use crate::report::{Finding, Report, Standing, Subject};

/// What somebody agrees to: the measurement that showed it, and what from then
/// on is allowed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acceptance {
    /// What it was measured with.
    pub measured: Option<MeasuredWith>,
    /// In any order.
    pub allowances: Vec<Accepted>,
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

impl Acceptance {
    /// All that a report found to be too much. Where nothing was, it is empty.
    ///
    /// Growth that a run could not make exact is allowed with its error, so that
    /// the next run is not red for the noise alone; nothing else is added.
    pub fn of(report: &Report) -> Acceptance {
        let iterations = report.rungs.last().map_or(0, |rung| rung.iterations);
        let measured = report.measured.as_ref().map(|measured| MeasuredWith {
            target: measured.target.clone(),
            profile: measured.profile.clone(),
            toolchain: measured.toolchain.clone(),
            jemalloc: measured.jemalloc.clone(),
            sample_interval: measured.sample_interval,
            iterations,
        });
        let allowances = report
            .findings
            .iter()
            .filter(|finding| is_too_much(finding))
            .map(accepted);
        Acceptance {
            measured,
            allowances: allowances.collect(),
        }
    }

    /// Whether there is nothing to agree to.
    pub fn is_empty(&self) -> bool {
        self.allowances.is_empty()
    }
}

fn is_too_much(finding: &Finding) -> bool {
    finding.verdict == Verdict::Regressed
        && match finding.standing {
            Standing::New | Standing::Exceeded | Standing::Moved | Standing::Expired => true,
            Standing::Allowed | Standing::Stale => false,
        }
}

fn accepted(finding: &Finding) -> Accepted {
    let subject = match &finding.subject {
        Subject::Stack(stack) => AllowanceSubject::Stack(StackPattern::exact(stack)),
        Subject::Site { frames, .. } => AllowanceSubject::Stack(StackPattern::ending_in(frames)),
        Subject::Threads => AllowanceSubject::Threads,
        Subject::Descriptors => AllowanceSubject::Descriptors,
    };
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
