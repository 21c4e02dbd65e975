//! Shuffles scenarios; reads the clock for the seed and the time of a run.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the time since 1970, or zero if the clock is set before that.
pub(crate) fn now() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}

/// Returns a seed that differs from run to run.
pub(crate) fn clock_seed() -> u64 {
    let now = now();
    u64::from(now.subsec_nanos()) ^ now.as_secs().rotate_left(32)
}

/// Shuffles a slice in an order that depends only on the seed (Fisher and Yates, with the
/// SplitMix64 generator).
pub(crate) fn shuffle<T>(things: &mut [T], seed: u64) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    for last in (1..things.len()).rev() {
        let other = usize::try_from(next() % (last as u64 + 1)).unwrap_or(0);
        things.swap(last, other);
    }
}
