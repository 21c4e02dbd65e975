//! Computes what there is to accept, and what each allowance of a baseline was needed for,
//! from a report and the baseline.

#[cfg(feature = "reports")]
mod needs;
#[cfg(feature = "reports")]
mod through;

use std::collections::BTreeSet;

#[cfg(feature = "reports")]
pub use self::needs::needs;
#[cfg(feature = "reports")]
pub use self::through::functions;
use crate::baseline::{
    Acceptance, Accepted, Allowance, AllowanceSubject, Baseline, MeasuredWith, Moved, StackPattern,
    round_up,
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
    /// expired, that pattern gets the new rate, and not the stacks under it. If somebody wrote a
    /// pattern since the run, there is nothing to accept for the stacks under it.
    pub fn of(report: &Report, baseline: &Baseline) -> Acceptance {
        let mut all = Acceptance::default();
        for finding in &report.findings {
            all.add(Acceptance::of_finding(report, finding, baseline));
        }
        all
    }

    /// The same for one finding of the report.
    pub fn of_finding(report: &Report, finding: &Finding, baseline: &Baseline) -> Acceptance {
        let is_due = is_too_much(finding) && !is_covered(report, finding, baseline);
        let allowance = is_due.then(|| accepted(report, finding, baseline));
        Acceptance {
            // This describes the rates. If no rate is new, what the file says stays.
            measured: measured(report).filter(|_| allowance.is_some()),
            allowances: Vec::from_iter(allowance),
            moved: Vec::from_iter(moved(finding)),
            removed: Vec::from_iter(finding.is_unused().then(|| subject(finding))),
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

/// Returns whether all stacks of a new finding fall under patterns that the run did not know.
fn is_covered(report: &Report, finding: &Finding, baseline: &Baseline) -> bool {
    let is_pattern = |stack: &FoldedStack| {
        baseline.allowance_of(stack).is_some_and(|index| {
            let written = &baseline.allowances[index].subject;
            let is_exact = *written == AllowanceSubject::Stack(StackPattern::exact(stack));
            !is_exact && *written != subject(finding)
        })
    };
    let stacks = report.growth.iter().map(|growth| &growth.stack);
    let mut its = stacks
        .filter(|stack| finding.subject.covers(stack))
        .peekable();
    finding.standing == Standing::New && its.peek().is_some() && its.all(is_pattern)
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
