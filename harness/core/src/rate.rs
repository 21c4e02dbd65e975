use serde::Serialize;

use crate::words::words;

/// Growth per iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Objects per iteration; for a resource, threads or descriptors.
    pub objects: f64,
    /// Bytes per iteration; zero for a resource.
    pub bytes: f64,
}

impl Rate {
    /// Returns the rate with both parts changed by a function.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Rate {
        let (objects, bytes) = (change(self.objects), change(self.bytes));
        Rate { objects, bytes }
    }

    /// Combines both parts with those of another rate.
    pub fn zip(self, other: Rate, combine: impl Fn(f64, f64) -> f64) -> Rate {
        let objects = combine(self.objects, other.objects);
        let bytes = combine(self.bytes, other.bytes);
        Rate { objects, bytes }
    }
}

impl std::ops::Add for Rate {
    type Output = Rate;

    fn add(self, other: Rate) -> Rate {
        self.zip(other, std::ops::Add::add)
    }
}

/// The shape in which a stack grows over the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
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

words!(Law {
    Linear = "linear",
    Stepped = "stepped",
    Filling = "filling",
    Fluctuating = "fluctuating",
});

/// Converts a count. Above 2^53 it is rounded, as Perl does for jeprof; counts of a heap are far
/// below.
#[expect(clippy::cast_precision_loss, reason = "the rounding that is wanted")]
pub fn to_f64(count: u64) -> f64 {
    count as f64
}

/// Converts a number without its fraction. What is negative or no number is zero, and what is too
/// large is the largest count.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the limits that are wanted"
)]
#[expect(clippy::cast_sign_loss, reason = "the limits that are wanted")]
pub fn to_u64(number: f64) -> u64 {
    number as u64
}
