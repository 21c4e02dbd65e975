//! Numbers of a scenario, in words.

use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::text::total;
use plimsoll_core::report::units::{
    bytes, give_or_take, objects, signed_bytes, signed_objects, visible,
};
use plimsoll_core::report::{BASELINE, CheckOutcome, Finding, Report, Standing, Subject};

/// What the verdict of a regressed scenario is about.
pub(super) fn growing(report: &Report) -> Vec<&Finding> {
    let findings = report.findings.iter();
    findings
        .filter(|finding| finding.verdict >= Verdict::Regressed && !finding.is_unused())
        .collect()
}

/// Allowances whose time is over, used or not.
pub(super) fn expired(report: &Report) -> usize {
    let findings = report.findings.iter();
    findings
        .filter(|finding| {
            finding.standing == Standing::Expired && finding.verdict >= Verdict::Regressed
        })
        .count()
}

/// Whether nothing is wrong with it but the date.
pub(super) fn is_only_expired(report: &Report) -> bool {
    let regressed = || {
        let findings = report.findings.iter();
        findings.filter(|finding| finding.verdict >= Verdict::Regressed)
    };
    regressed().next().is_some() && regressed().all(|one| one.standing == Standing::Expired)
}

/// Allowances that nothing uses any more.
pub(super) fn stale(report: &Report) -> Vec<&Finding> {
    let findings = report.findings.iter();
    findings
        .filter(|finding| finding.standing == Standing::Stale)
        .collect()
}

/// Whether nobody knows what it may grow.
pub(super) fn lacks_baseline(report: &Report) -> bool {
    report
        .checks
        .iter()
        .any(|check| check.name == BASELINE && check.outcome == CheckOutcome::Failed)
}

/// What several findings grow by, or are allowed to, together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Of stacks and sites, each byte once.
    heap: Rate,
    threads: f64,
    descriptors: f64,
    /// Of the heap's, where that is an estimate.
    error: Option<Rate>,
}

impl Sum {
    /// Of findings of a report, with the error of what was sampled.
    pub(super) fn of(report: &Report, findings: &[&Finding]) -> Sum {
        Sum {
            error: report.error_of_total(findings),
            ..Sum::exactly(findings)
        }
    }

    fn exactly(findings: &[&Finding]) -> Sum {
        let resource = |subject: Subject| -> f64 {
            let of = findings.iter().filter(|one| one.subject == subject);
            of.map(|finding| finding.rate.objects).sum()
        };
        Sum {
            heap: total(findings),
            threads: resource(Subject::Threads),
            descriptors: resource(Subject::Descriptors),
            error: None,
        }
    }

    fn is_heap(&self) -> bool {
        self.heap != Rate::default() || self.resources().is_empty()
    }

    fn resources(&self) -> Vec<String> {
        let all = [(self.threads, "threads"), (self.descriptors, "descriptors")];
        let grows = all.into_iter().filter(|(rate, _)| *rate != 0.0);
        grows
            .map(|(rate, word)| format!("{} {word}", signed_objects(rate)))
            .collect()
    }

    fn off(&self, of: fn(Rate) -> f64, say: fn(f64) -> String) -> String {
        give_or_take(self.error.map(of), say)
    }

    /// The most telling of its numbers: `+48 B`, or `+1.00 threads`.
    pub(super) fn short(&self) -> String {
        match self.resources().into_iter().next() {
            Some(resource) if !self.is_heap() => resource,
            _ => signed_bytes(self.heap.bytes) + &self.off(|error| error.bytes, bytes),
        }
    }

    /// `**+48 B**, +1.00 objects`
    pub(super) fn cell(&self) -> String {
        let mut parts = Vec::new();
        if self.is_heap() {
            let off = self.off(|error| error.bytes, bytes);
            parts.push(format!("**{}**{off}", signed_bytes(self.heap.bytes)));
            let off = self.off(|error| error.objects, objects);
            let objects = signed_objects(self.heap.objects);
            parts.push(format!("{objects}{off} objects"));
        }
        parts.extend(self.resources());
        parts.join(", ")
    }
}

/// What the baseline allows all of them together.
pub(super) fn allowed(findings: &[&Finding]) -> String {
    let allowed: Vec<Finding> = findings
        .iter()
        .map(|finding| Finding {
            rate: finding.allowed,
            // Nothing else of it counts.
            frames: Vec::new(),
            levels: Vec::new(),
            ..(*finding).clone()
        })
        .collect();
    let sum = Sum::exactly(&allowed.iter().collect::<Vec<_>>());
    if Sum::exactly(findings).is_heap() {
        return bytes(sum.heap.bytes);
    }
    match sum.resources().as_slice() {
        [] => "0".to_owned(),
        some => some.join(", ").replace('+', ""),
    }
}

/// What one finding is allowed.
pub(super) fn allowance(finding: &Finding) -> String {
    match finding.subject {
        Subject::Threads | Subject::Descriptors if finding.allowed.objects == 0.0 => "0".to_owned(),
        Subject::Threads | Subject::Descriptors => objects(finding.allowed.objects),
        _ => bytes(finding.allowed.bytes),
    }
}

pub(super) fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::New => "new",
        Standing::Allowed => "within its allowance",
        Standing::Exceeded => "past its allowance",
        Standing::Moved => "moved to another caller",
        Standing::Expired => "its allowance has expired",
        Standing::Stale => "its allowance is no longer needed",
    }
}

/// Bytes per iteration past which a scenario stands before another, in
/// millionths: no float decides an order.
#[expect(clippy::cast_possible_truncation, reason = "cut to the range before")]
pub(super) fn order_of_growth(report: &Report) -> i128 {
    let bytes = total(&growing(report)).bytes;
    if bytes.is_nan() {
        return 0;
    }
    (bytes * 1e6).clamp(-1e36, 1e36) as i128
}

/// The smallest growth that every one of the runs would have seen.
pub(super) fn seen_by_all<'a>(reports: impl Iterator<Item = &'a Report>) -> Option<String> {
    let mut coarsest: Option<Rate> = None;
    for report in reports {
        let rate = report.visible?;
        let one = coarseness(rate);
        if coarsest.is_none_or(|other| one > coarseness(other)) {
            coarsest = Some(rate);
        }
    }
    visible(coarsest?)
}

/// In objects per iteration, an object being 8 bytes where those say more.
fn coarseness(rate: Rate) -> f64 {
    match (rate.objects > 0.0, rate.bytes > 0.0) {
        (true, true) => rate.objects.min(rate.bytes / 8.0),
        (true, false) => rate.objects,
        (false, _) => rate.bytes / 8.0,
    }
}
