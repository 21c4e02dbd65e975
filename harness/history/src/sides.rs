//! The two sides of a comparison. Each is a commit, a release, the working tree, or a report
//! that a run left.
//!
//! ```text
//! two revisions ─► bench ─► a climb of each, in turns ─┐
//! two folders ─► the reports in them ──────────────────┴─► [Side; 2] ─► differences, questions
//! ```

use plimsoll_core::report::Report;
use serde_json::{Value, json};

use crate::bench::{Bench, Length};
use crate::decide::{Climb, Gain};
use crate::measure::Unusable;
use crate::revision::Revision;

/// One of two measurements.
#[derive(Debug)]
pub(crate) struct Side {
    /// The name for people.
    pub name: String,
    pub report: Report,
}

/// The index of the side that could not be measured, and the reason.
pub(crate) type Unmeasured = (usize, Unusable);

impl Side {
    pub(crate) fn climb(&self) -> Climb {
        Climb::of(&self.report)
    }

    /// Returns the side as JSON. `rate` is the rate of the stacks that are compared.
    pub(crate) fn as_json(&self, rate: Gain) -> Value {
        json!({
            "name": self.name,
            "commit": self.report.run.commit,
            "iterations": self.report.iterations(),
            "rate": rate,
        })
    }
}

/// Measures two revisions in turns. If the result of the first climbs is not enough, measures
/// both again for longer.
pub(crate) fn in_turns(
    bench: &mut Bench,
    revisions: [(String, &Revision); 2],
    is_enough: impl Fn(&[Side; 2]) -> bool,
) -> anyhow::Result<Result<[Side; 2], Unmeasured>> {
    let [(before, first), (after, second)] = revisions;
    let mut length = Length::Full;
    loop {
        let side = |name: &String, report| Side {
            name: name.clone(),
            report,
        };
        let first = match bench.climb(first, length)? {
            Ok(report) => side(&before, report),
            Err(why) => return Ok(Err((0, why))),
        };
        let second = match bench.climb(second, length)? {
            Ok(report) => side(&after, report),
            Err(why) => return Ok(Err((1, why))),
        };
        let sides = [first, second];
        if length == Length::Patient || is_enough(&sides) {
            return Ok(Ok(sides));
        }
        length = Length::Patient;
    }
}
