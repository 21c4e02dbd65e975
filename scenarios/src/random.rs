//! Numbers that look random and are the same in every run.

/// Returns the `i`-th number of the SplitMix64 sequence.
///
/// The function has no state, so an iteration depends only on its number.
pub(crate) fn random(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns whether `i` is the last of every `period` iterations.
pub(crate) fn every(period: u64, i: u64) -> bool {
    i % period == period - 1
}
