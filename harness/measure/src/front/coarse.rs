//! What a passing run says last: which scenarios saw less than the default threshold.

use std::time::Duration;

use plimsoll_core::judge::{DEFAULT_THRESHOLD, Verdict};
use plimsoll_core::report::{Report, units};

use super::outcome;

/// Scenarios of one threshold that are named; the others are counted.
const NAMED: usize = 4;

/// A scenario that passed, and would not have seen one object in 1,000 iterations.
#[derive(Debug)]
pub(super) struct Coarse {
    scenario: String,
    threshold: u64,
    /// How long a ladder takes that may see it.
    would_do: Option<Duration>,
}

impl Coarse {
    pub(super) fn of(report: &Report, would_do: Option<Duration>) -> Option<Coarse> {
        let threshold = report.threshold.iterations;
        let is_coarse = report.verdict <= Verdict::Improved && threshold < DEFAULT_THRESHOLD;
        is_coarse.then(|| Coarse {
            scenario: report.scenario.clone(),
            threshold,
            would_do,
        })
    }
}

/// Counts them by threshold, the finest first, and names the budget that would do for all of
/// one. Absent where there is none.
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
        " would have seen less than 1 object per {} iterations:",
        units::count(DEFAULT_THRESHOLD)
    );
    for same in coarse.chunk_by(|a, b| a.threshold == b.threshold) {
        let mut names: Vec<&str> = same.iter().map(|one| one.scenario.as_str()).collect();
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        text += &format!(
            "\n  1 per {} iterations: {}",
            units::count(same[0].threshold),
            names.join(", ")
        );
        if more > 0 {
            text += &format!(" and {more} more");
        }
        let longest = same.iter().map(|one| one.would_do).max().flatten();
        if let Some(time) = longest {
            text += &format!("\n    a budget of about {} would do", outcome::budget(time));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_counted_by_threshold() {
        let one = |scenario: &str, threshold, seconds: u64| Coarse {
            scenario: scenario.to_owned(),
            threshold,
            would_do: (seconds > 0).then(|| Duration::from_secs(seconds)),
        };
        let said_of = |mut coarse: Vec<Coarse>| said(&mut coarse).unwrap_or_default();
        assert_eq!(said_of(Vec::new()), "");
        assert_eq!(
            said_of(vec![one("a", 100, 0)]),
            "1 scenario would have seen less than 1 object per 1,000 iterations:\n  \
             1 per 100 iterations: a"
        );
        let names = ["f", "e", "d", "c", "b"];
        let mut several: Vec<Coarse> = names.iter().map(|name| one(name, 100, 20)).collect();
        several.push(one("slow", 10, 500));
        assert_eq!(
            said_of(several),
            "6 scenarios would have seen less than 1 object per 1,000 iterations:\n  \
             1 per 100 iterations: b, c, d, e and 1 more\n    \
             a budget of about 24s would do\n  \
             1 per 10 iterations: slow\n    \
             a budget of about 10m would do"
        );
    }
}
