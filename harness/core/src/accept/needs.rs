//! Computes what each allowance was needed for, and what else only the tool asks of a baseline.

use std::collections::BTreeSet;

use super::{agreed, measured, shared, subject};
use crate::FoldedStack;
use crate::baseline::{
    Acceptance, Accepted, Allowance, AllowanceSubject, Baseline, Date, Need, StackPattern,
    is_twice_the_need, round_up,
};
use crate::finding::{Finding, Standing, Subject};
use crate::report::Report;

impl Acceptance {
    /// Returns whether there is something to accept in a report, whatever the file has by now.
    pub fn is_due(report: &Report) -> bool {
        !Acceptance::of(report, &Baseline::default()).is_empty()
    }

    /// Lowers allowances that are more than twice as large as the report needed, see
    /// [`is_twice_the_need`]. The reason, issue and date in the file stay.
    pub fn lower(baseline: &Baseline, report: &Report) -> Acceptance {
        let due = Acceptance::of(report, baseline);
        // An allowance that moves keeps its rate. One that is accepted anew gets the rate that
        // it needs.
        let moved = due.moved.iter();
        let moved = moved.map(|moved| AllowanceSubject::Stack(StackPattern::exact(&moved.from)));
        let renewed = due.allowances.into_iter();
        let renewed = renewed.map(|accepted| accepted.allowance.subject);
        let settled: BTreeSet<AllowanceSubject> = moved.chain(renewed).collect();
        let needs = baseline.allowances.iter().zip(needs(baseline, report));
        let lowered = needs.filter_map(|(allowance, need)| {
            let need = need.filter(|need| !need.is_none())?;
            let is_too_large = is_twice_the_need(allowance.rate, need);
            (is_too_large && !settled.contains(&allowance.subject))
                .then(|| lowered(allowance, need))
        });
        let allowances: Vec<Accepted> = lowered.collect();
        Acceptance {
            measured: measured(report).filter(|_| !allowances.is_empty()),
            allowances,
            ..Acceptance::default()
        }
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

/// Returns what each allowance was needed for, in the baseline's order. `None` if the report
/// has nothing about it.
///
/// The report may be from a run before the file was changed.
pub fn needs(baseline: &Baseline, report: &Report) -> Vec<Option<Need>> {
    let mut needs: Vec<Option<Need>> = vec![None; baseline.allowances.len()];
    for finding in &report.findings {
        let Some(index) = used_by(finding, baseline, report) else {
            continue;
        };
        let need = finding.need();
        needs[index] = Some(needs[index].map_or(need, |before| before.max(need)));
    }
    needs
}

/// Returns the place of the allowance that a finding is about.
fn used_by(finding: &Finding, baseline: &Baseline, report: &Report) -> Option<usize> {
    let position = |subject: &AllowanceSubject| {
        let mut allowances = baseline.allowances.iter();
        allowances.position(|allowance| allowance.subject == *subject)
    };
    let shown =
        |stack: &FoldedStack| position(&AllowanceSubject::Stack(StackPattern::from_shown(stack)));
    match (&finding.subject, finding.standing) {
        // It was accepted after the run.
        (_, Standing::New) => position(&subject(finding)),
        (_, Standing::Moved) => {
            shown(finding.moved_from.as_ref()?).or_else(|| position(&subject(finding)))
        }
        (Subject::Resource(_), _) => position(&subject(finding)),
        (Subject::Stack(stack), _) if finding.is_unused() => shown(stack),
        (Subject::Stack(stack), _) => baseline.allowance_of(stack),
        (Subject::Site { frames, .. }, _) => shared(frames, finding.allowed, baseline, report),
    }
}
