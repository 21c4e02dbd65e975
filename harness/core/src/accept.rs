//! Computes what there is to accept, and what each allowance of a baseline was needed for,
//! from a report and the baseline.

use std::collections::BTreeSet;

use crate::baseline::{
    Acceptance, Accepted, Allowance, AllowanceSubject, Baseline, MeasuredWith, Moved, Need,
    StackPattern, is_twice_the_need, round_up,
};
use crate::finding::{Finding, Standing, Subject};
use crate::growth::Unit;
use crate::report::Report;
use crate::verdict::Verdict;
use crate::{FoldedStack, Rate, Resource};

impl Acceptance {
    /// Returns everything to accept from a report: growth that was too much, stacks that
    /// moved, and allowances that nothing uses any more. Empty if there is nothing.
    ///
    /// If a rate is not exact, its error is added, so that the next run does not fail because
    /// of noise alone. Nothing else is added.
    ///
    /// `baseline` is the one that will be updated. If one of its patterns is exceeded or has
    /// expired, that pattern gets the new rate, and not the stacks under it.
    pub fn of(report: &Report, baseline: &Baseline) -> Acceptance {
        let mut all = Acceptance::default();
        for finding in &report.findings {
            all.add(Acceptance::of_finding(report, finding, baseline));
        }
        all
    }

    /// The same for one finding of the report.
    pub fn of_finding(report: &Report, finding: &Finding, baseline: &Baseline) -> Acceptance {
        let allowance = is_too_much(finding).then(|| accepted(report, finding, baseline));
        Acceptance {
            // This describes the rates. If no rate is new, what the file says stays.
            measured: measured(report).filter(|_| allowance.is_some()),
            allowances: Vec::from_iter(allowance),
            moved: Vec::from_iter(moved(finding)),
            removed: Vec::from_iter(finding.is_unused().then(|| subject(finding))),
        }
    }

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
}

fn measured(report: &Report) -> Option<MeasuredWith> {
    let iterations = report.rungs.last().map_or(0, |rung| rung.iterations);
    report.measured.as_ref().map(|measured| MeasuredWith {
        test: Some(report.run.test()),
        per: report.per.clone(),
        target: measured.target.clone(),
        profile: measured.profile.clone(),
        toolchain: measured.toolchain.clone(),
        jemalloc: measured.jemalloc.clone(),
        sample_interval: measured.sample_interval,
        iterations,
    })
}

fn is_too_much(finding: &Finding) -> bool {
    let is_past = matches!(
        finding.standing,
        Standing::New | Standing::Exceeded | Standing::Expired
    );
    finding.verdict == Verdict::Regressed && !finding.is_unused() && is_past
}

fn moved(finding: &Finding) -> Option<Moved> {
    match (&finding.subject, finding.moved_from.clone()?) {
        (Subject::Stack(to), from) if finding.standing == Standing::Moved => {
            let to = to.clone();
            Some(Moved { from, to })
        }
        _ => None,
    }
}

/// Returns the subject of the finding's allowance, which exists, or is to be made.
fn subject(finding: &Finding) -> AllowanceSubject {
    match &finding.subject {
        Subject::Stack(stack) if finding.is_unused() => {
            AllowanceSubject::Stack(StackPattern::from_shown(stack))
        }
        Subject::Stack(stack) => AllowanceSubject::Stack(StackPattern::exact(stack)),
        Subject::Site { frames, .. } => AllowanceSubject::Stack(StackPattern::ending_in(frames)),
        Subject::Resource(resource) => AllowanceSubject::Resource(*resource),
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

/// Returns the rate in a form that a file can have.
fn agreed(subject: &AllowanceSubject, mut rate: Rate) -> Rate {
    match subject.resource().map(Resource::unit) {
        None => {}
        Some(Unit::Objects) => rate.bytes = 0.0,
        Some(Unit::Bytes) => rate.objects = 0.0,
    }
    // Objects may shrink while bytes grow, or the other way round.
    rate.map(|rate| rate.max(0.0))
}

fn accepted(report: &Report, finding: &Finding, baseline: &Baseline) -> Accepted {
    let own = subject(finding);
    let rate = agreed(&own, finding.rate + finding.error);
    let subject = match exceeded(finding, rate, baseline, report) {
        Some(index) => baseline.allowances[index].subject.clone(),
        None => own,
    };
    Accepted {
        allowance: Allowance {
            rate,
            subject,
            law: finding.law,
            bytes_law: finding.bytes_law,
            reason: None,
            issue: None,
            expires: None,
        },
        expired: finding.standing == Standing::Expired,
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

/// Returns the place of the allowance that several stacks of a site fall under. The report
/// names only the site. So this is the one allowance with the rate `allowed` that a stack of
/// the site falls under. `None` if there is no such allowance, or more than one.
fn shared(
    site: &FoldedStack,
    allowed: Rate,
    baseline: &Baseline,
    report: &Report,
) -> Option<usize> {
    let stacks = report.growth.iter().map(|growth| &growth.stack);
    let on_site = stacks.filter(|stack| stack.frames().ends_with(site.frames()));
    let under: BTreeSet<usize> = on_site
        .chain([site])
        .filter_map(|stack| baseline.allowance_of(stack))
        .collect();
    let is_fitting = |index: &usize| is_close(baseline.allowances[*index].rate, allowed);
    let mut fitting = under.into_iter().filter(is_fitting);
    let found = fitting.next()?;
    fitting.next().is_none().then_some(found)
}

fn is_close(one: Rate, two: Rate) -> bool {
    let is_close = |one: f64, two: f64| (one - two).abs() <= 1e-9 * one.abs().max(two.abs());
    is_close(one.objects, two.objects) && is_close(one.bytes, two.bytes)
}

/// Returns the place of the allowance that a finding exceeds, or that has expired. It must
/// still have the rate of the run, or already the rate that is accepted now. With any other
/// rate, a person has changed it since the run, and it is left alone.
fn exceeded(
    finding: &Finding,
    agreed: Rate,
    baseline: &Baseline,
    report: &Report,
) -> Option<usize> {
    if !matches!(finding.standing, Standing::Exceeded | Standing::Expired) {
        return None;
    }
    let rounded = agreed.map(|rate| round_up(rate).unwrap_or(rate));
    let of = |rate: Rate| match &finding.subject {
        Subject::Stack(stack) => baseline
            .allowance_of(stack)
            .filter(|index| is_close(baseline.allowances[*index].rate, rate)),
        Subject::Site { frames, .. } => shared(frames, rate, baseline, report),
        Subject::Resource(_) => None,
    };
    of(finding.allowed).or_else(|| of(rounded))
}
