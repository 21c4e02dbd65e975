//! What is thought of a scenario, and what growth that is about.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Ordered by how much each needs a person, so a run's verdict is the `max` of
/// its scenarios'. A run of no scenarios has none: `max` gives `None`, not
/// `Within`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No stack grows past its allowance.
    Within,
    /// A stack with an allowance no longer grows.
    Improved,
    /// The budget was spent before the noise was beaten.
    Inconclusive,
    /// Something grows past its allowance, or an allowance has expired.
    Regressed,
    /// The workload itself failed.
    Failed,
    /// The measurement cannot be trusted.
    Broken,
}

impl Verdict {
    /// Every verdict, in order.
    pub const ALL: [Verdict; 6] = [
        Verdict::Within,
        Verdict::Improved,
        Verdict::Inconclusive,
        Verdict::Regressed,
        Verdict::Failed,
        Verdict::Broken,
    ];

    /// The word that files and messages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Within => "within",
            Verdict::Improved => "improved",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Regressed => "regressed",
            Verdict::Failed => "failed",
            Verdict::Broken => "broken",
        }
    }

    /// The verdict of that word.
    pub fn from_word(word: &str) -> Option<Verdict> {
        Self::ALL
            .into_iter()
            .find(|verdict| verdict.as_str() == word)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The growth that a scenario wants found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// One object, or 8 bytes, in this many iterations.
    pub iterations: u64,
    /// Whether the run had to settle for less than it was asked for; never so
    /// where a scenario set its own.
    pub coarsened: bool,
}

/// The rarest leak of large objects that a sampled run would have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rarest {
    /// Of objects of so many bytes, or more.
    pub bytes: u64,
    /// One in so many iterations.
    pub iterations: u64,
}
