//! The verdict on a scenario, and the growth that a run looks for.

use serde::Serialize;

use crate::Rate;
use crate::settings::{Inconclusive, Stale};
use crate::words::words;

/// The verdict on a scenario.
///
/// Verdicts are ordered by how much they need a person, so a run's verdict is the `max` of its
/// scenarios' verdicts. A run of no scenarios has none: `max` gives `None`, not `Within`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No stack grows past its allowance.
    Within,
    /// A stack with an allowance no longer grows.
    Improved,
    /// The ladder ended before a verdict was possible.
    Inconclusive,
    /// Something grows past its allowance, or an allowance has expired.
    Regressed,
    /// The workload itself failed.
    Failed,
    /// The measurement cannot be trusted.
    Broken,
}

words!(Verdict {
    Within = "within",
    Improved = "improved",
    Inconclusive = "inconclusive",
    Regressed = "regressed",
    Failed = "failed",
    Broken = "broken",
});

impl Verdict {
    /// Returns whether a test with this verdict passes.
    pub fn passes(self, stale: Stale, inconclusive: Inconclusive) -> bool {
        match self {
            Verdict::Within => true,
            Verdict::Improved => stale == Stale::Warn,
            Verdict::Inconclusive => inconclusive == Inconclusive::Warn,
            Verdict::Regressed | Verdict::Failed | Verdict::Broken => false,
        }
    }
}

/// The smallest growth that a run has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// The number of iterations in which one object, or 8 bytes, are kept.
    pub iterations: u64,
    /// Whether the run had to use a coarser threshold than the default. Never true if the
    /// scenario set its own.
    pub coarsened: bool,
    /// The growth of memory outside the allocator to find, in bytes per iteration. `None` if that
    /// memory was not measured. Reports of older versions do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<u64>,
}

/// The smallest growth that a run would have seen, per iteration.
///
/// A part is `None` if the run would have seen growth at no rate that was tried. It is no number
/// then, so that nothing prints it as one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Visible {
    /// Objects; zero if only bytes were looked at.
    #[serde(deserialize_with = "crate::required::required")]
    pub objects: Option<f64>,
    /// Bytes.
    #[serde(deserialize_with = "crate::required::required")]
    pub bytes: Option<f64>,
}

impl From<Rate> for Visible {
    fn from(Rate { objects, bytes }: Rate) -> Visible {
        let (objects, bytes) = (Some(objects), Some(bytes));
        Visible { objects, bytes }.within(f64::MAX)
    }
}

impl Visible {
    /// Returns the same without a part that is no number, or not below `most`. Older reports have
    /// the largest number there is for what is not known.
    pub(crate) fn within(self, most: f64) -> Visible {
        let known = |rate: Option<f64>| rate.filter(|rate| rate.abs() < most);
        Visible {
            objects: known(self.objects),
            bytes: known(self.bytes),
        }
    }
}

/// The rarest leak of large objects that a sampled run would have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Rarest {
    /// The least size of the objects, in bytes.
    pub bytes: u64,
    /// One object is kept in so many iterations.
    pub iterations: u64,
}
