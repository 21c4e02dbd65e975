use std::collections::BTreeSet;

use super::{AllowanceSubject, Baseline, StackPattern, round_up};
use crate::report::{Finding, Report, Standing, Subject};
use crate::{FoldedStack, Rate};

/// How much of an allowance one run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Need {
    /// The growth that was found; zero where nothing grows any more.
    pub rate: Rate,
    /// How far that may be off. Zero where it is exact.
    pub error: Rate,
}

impl Need {
    /// Whether nothing grows there any more.
    pub fn is_none(&self) -> bool {
        self.rate == Rate::default()
    }

    /// What two runs need together, so that both stay within.
    pub fn max(self, other: Need) -> Need {
        let max = |a: Rate, b: Rate| Rate {
            objects: a.objects.max(b.objects),
            bytes: a.bytes.max(b.bytes),
        };
        Need {
            rate: max(self.rate, other.rate),
            error: max(self.error, other.error),
        }
    }
}

/// Whether an allowance is more than twice what it needs, error included, in
/// objects and in bytes: less than that may be a matter of one run's timing.
///
/// ```
/// use plimsoll_core::Rate;
/// use plimsoll_core::baseline::{Need, is_twice_the_need};
/// let rate = |objects, bytes| Rate { objects, bytes };
/// let need = |rate| Need { rate, error: Rate::default() };
/// assert!(is_twice_the_need(rate(1.0, 96.0), need(rate(0.4, 40.0))));
/// assert!(!is_twice_the_need(rate(1.0, 96.0), need(rate(0.4, 50.0))));
/// ```
pub fn is_twice_the_need(allowed: Rate, need: Need) -> bool {
    let needed = need.rate + need.error;
    let is_half = |allowed: f64, needed: f64| allowed == 0.0 || needed < 0.5 * allowed;
    allowed != Rate::default()
        && is_half(allowed.objects, needed.objects)
        && is_half(allowed.bytes, needed.bytes)
}

/// What each allowance was needed for, in the baseline's order; absent where a
/// report has nothing of it.
///
/// The report may be of a run before the file was changed.
pub fn needs(baseline: &Baseline, report: &Report) -> Vec<Option<Need>> {
    let mut needs: Vec<Option<Need>> = vec![None; baseline.allowances.len()];
    for finding in &report.findings {
        let Some(index) = used_by(finding, baseline, report) else {
            continue;
        };
        let need = Need {
            rate: finding.rate,
            error: finding.error,
        };
        needs[index] = Some(needs[index].map_or(need, |before| before.max(need)));
    }
    needs
}

/// The allowance that a finding is about.
fn used_by(finding: &Finding, baseline: &Baseline, report: &Report) -> Option<usize> {
    let position = |subject: &AllowanceSubject| {
        let mut allowances = baseline.allowances.iter();
        allowances.position(|allowance| allowance.subject == *subject)
    };
    let shown =
        |stack: &FoldedStack| position(&AllowanceSubject::Stack(StackPattern::from_shown(stack)));
    match (&finding.subject, finding.standing) {
        (_, Standing::New) => None,
        (_, Standing::Moved) => shown(finding.moved_from.as_ref()?),
        (Subject::Threads, _) => position(&AllowanceSubject::Threads),
        (Subject::Descriptors, _) => position(&AllowanceSubject::Descriptors),
        (Subject::Stack(stack), _) if finding.is_unused() => shown(stack),
        (Subject::Stack(stack), _) => baseline.allowance_of(stack),
        (Subject::Site { frames, .. }, _) => shared(frames, finding.allowed, baseline, report),
    }
}

/// The allowance that several stacks of a site fall under. The report names the
/// site alone, so it is the one of that rate that such a stack falls under.
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
    let mut fitting = under
        .into_iter()
        .filter(|index| is_close(baseline.allowances[*index].rate, allowed));
    let found = fitting.next()?;
    fitting.next().is_none().then_some(found)
}

fn is_close(one: Rate, two: Rate) -> bool {
    let is_close = |one: f64, two: f64| (one - two).abs() <= 1e-9 * one.abs().max(two.abs());
    is_close(one.objects, two.objects) && is_close(one.bytes, two.bytes)
}

/// The allowance that does not carry a finding any more, or has expired: still with the
/// rate that the run had it with, or by now with the one that is agreed to. What a person
/// has made of the file since the run is theirs.
pub(super) fn exceeded(
    finding: &Finding,
    agreed: Rate,
    baseline: &Baseline,
    report: &Report,
) -> Option<usize> {
    if !matches!(finding.standing, Standing::Exceeded | Standing::Expired) {
        return None;
    }
    let round = |rate: f64| round_up(rate).unwrap_or(rate);
    let rounded = Rate {
        objects: round(agreed.objects),
        bytes: round(agreed.bytes),
    };
    let of = |rate: Rate| match &finding.subject {
        Subject::Stack(stack) => baseline
            .allowance_of(stack)
            .filter(|index| is_close(baseline.allowances[*index].rate, rate)),
        Subject::Site { frames, .. } => shared(frames, rate, baseline, report),
        Subject::Threads | Subject::Descriptors => None,
    };
    of(finding.allowed).or_else(|| of(rounded))
}
