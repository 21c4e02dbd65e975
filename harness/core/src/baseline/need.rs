use crate::Rate;

/// How much of an allowance a run used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Need {
    /// The growth that was found; zero if nothing grows any more.
    pub rate: Rate,
    /// How far the rate may be off; zero if it is exact.
    pub error: Rate,
}

impl Need {
    /// Returns whether nothing grows any more.
    pub fn is_none(&self) -> bool {
        self.rate == Rate::default()
    }

    /// Returns what two runs need together, so that both stay within the allowance.
    pub fn max(self, other: Need) -> Need {
        Need {
            rate: self.rate.zip(other.rate, f64::max),
            error: self.error.zip(other.error, f64::max),
        }
    }
}

/// Returns whether an allowance is more than twice what it needs, including the error, in
/// objects and in bytes. A smaller difference may come from the timing of one run.
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
