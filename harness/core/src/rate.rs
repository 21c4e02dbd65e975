use std::fmt;

use serde::{Deserialize, Serialize};

/// Growth per iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Objects per iteration; for a resource, threads or descriptors.
    pub objects: f64,
    /// Bytes per iteration; zero for a resource.
    pub bytes: f64,
}

impl std::ops::Add for Rate {
    type Output = Rate;

    fn add(self, other: Rate) -> Rate {
        Rate {
            objects: self.objects + other.objects,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// The shape in which a stack grows over the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// The same amount in every iteration: the gain of an octave doubles.
    Linear,
    /// Larger and larger steps, as a `Vec` that is only pushed to.
    Stepped,
    /// Less and less: a cache that fills, a lazy static, a pool.
    Filling,
    /// Up and down.
    Fluctuating,
}

impl Law {
    /// Returns the word that files and messages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Law::Linear => "linear",
            Law::Stepped => "stepped",
            Law::Filling => "filling",
            Law::Fluctuating => "fluctuating",
        }
    }

    /// Returns the law with that word.
    pub fn from_word(word: &str) -> Option<Law> {
        [Law::Linear, Law::Stepped, Law::Filling, Law::Fluctuating]
            .into_iter()
            .find(|law| law.as_str() == word)
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Converts a count. Counts of a heap are far below 2^53, where a conversion becomes inexact.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a heap are below 2^53"
)]
pub(crate) fn to_f64(count: u64) -> f64 {
    count as f64
}
