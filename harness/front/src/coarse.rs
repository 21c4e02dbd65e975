//! The last lines of a passing run: which scenarios would not have detected a leak at the
//! default threshold.

use plimsoll_core::judge::{DEFAULT_THRESHOLD, Verdict};
use plimsoll_core::report::{Report, units};

/// How many scenarios of one threshold are named; the others are only counted.
const NAMED: usize = 4;

/// A scenario that passed, but would not have detected a leak of one object in 1,000
/// iterations.
#[derive(Debug)]
pub(super) struct Coarse {
    scenario: String,
    threshold: u64,
    /// The setting that may be enough to detect that.
    would_do: Option<String>,
}

impl Coarse {
    pub(super) fn of(report: &Report) -> Option<Coarse> {
        // Whoever sets a coarse one knows it.
        let is_coarse = report.threshold.coarsened && report.verdict <= Verdict::Improved;
        is_coarse.then(|| Coarse {
            scenario: report.scenario.clone(),
            threshold: report.threshold.iterations,
            would_do: report.enough(),
        })
    }
}

/// Lists the scenarios by threshold, the finest first, with the setting that may be enough for
/// each. Returns `None` if there are none.
pub(super) fn said(coarse: &mut [Coarse]) -> Option<String> {
    coarse.sort_by(|a, b| {
        let order = b.threshold.cmp(&a.threshold);
        order.then_with(|| a.scenario.cmp(&b.scenario))
    });
    let mut text = match coarse.len() {
        0 => return None,
        1 => "1 scenario".to_owned(),
        several => format!("{several} scenarios"),
    };
    text += &format!(
        " would have missed 1 object per {} iterations, and seen:",
        units::count(DEFAULT_THRESHOLD)
    );
    for same in coarse.chunk_by(|a, b| a.threshold == b.threshold) {
        text += &match same[0].threshold {
            1 => "\n  1 per iteration:".to_owned(),
            several => format!("\n  1 per {} iterations:", units::count(several)),
        };
        for one in same.iter().take(NAMED) {
            text += &format!("\n    {}", one.scenario);
            if let Some(would_do) = &one.would_do {
                text += &format!(": {would_do} would do");
            }
        }
        if same.len() > NAMED {
            text += &format!("\n    and {} more", same.len() - NAMED);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_counted_by_threshold() {
        let one = |scenario: &str, threshold, would_do: &str| Coarse {
            scenario: scenario.to_owned(),
            threshold,
            would_do: (!would_do.is_empty()).then(|| would_do.to_owned()),
        };
        let said_of = |mut coarse: Vec<Coarse>| said(&mut coarse).unwrap_or_default();
        assert_eq!(said_of(Vec::new()), "");
        assert_eq!(
            said_of(vec![one("a", 100, "")]),
            "1 scenario would have missed 1 object per 1,000 iterations, and seen:\n  \
             1 per 100 iterations:\n    a"
        );
        let names = ["f", "e", "d", "c", "b"];
        let mut several: Vec<Coarse> = names.iter().map(|name| one(name, 100, "")).collect();
        several.push(one("slow", 10, "a budget of about 10m"));
        assert_eq!(
            said_of(several),
            "6 scenarios would have missed 1 object per 1,000 iterations, and seen:\n  \
             1 per 100 iterations:\n    b\n    c\n    d\n    e\n    and 1 more\n  \
             1 per 10 iterations:\n    slow: a budget of about 10m would do"
        );
    }
}
