//! The ladder: the iteration counts at which a workload is dumped. Each of them is a rung.
//!
//! Each octave (doubling) has four rungs, n = 16·2^(k/4), rounded: 16, 19, 23, 27, 32, 38, …
//! The numbers are the same on every machine, so that reports can be compared. They are close
//! enough inside an octave to show a workload's own fluctuation. They are unevenly spaced, so
//! that a sawtooth cannot hide between them.

/// Rungs in one doubling of the iteration count.
pub const RUNGS_PER_OCTAVE: usize = 4;

/// Octaves in a row that must rise before growth counts as unbounded.
pub const RISING_OCTAVES: usize = 3;

/// Rungs that are needed to see a stack rise: three octaves, in four phases.
pub const RUNGS_TO_RISE: usize = (RISING_OCTAVES + 1) * RUNGS_PER_OCTAVE;

/// Iterations at the first rung.
const FIRST_RUNG: u64 = 16;

/// Returns the iterations at rung `k`, counted from 0.
///
/// Saturates at `u64::MAX`, which no ladder reaches.
///
/// ```
/// use plimsoll_core::ladder::rung;
/// assert_eq!((0..6).map(rung).collect::<Vec<_>>(), [16, 19, 23, 27, 32, 38]);
/// assert_eq!(rung(40), 16_384);
/// ```
pub fn rung(k: usize) -> u64 {
    // 2^(i/4) in fixed point with 62 fractional bits, rounded. With integers, no platform's
    // `powf` can move a rung.
    const QUARTERS: [u128; RUNGS_PER_OCTAVE] = [
        4_611_686_018_427_387_904,
        5_484_249_825_272_419_512,
        6_521_908_912_666_391_106,
        7_755_900_482_342_532_474,
    ];
    let octave = k / RUNGS_PER_OCTAVE;
    if octave >= 59 {
        return u64::MAX;
    }
    let scaled = (u128::from(FIRST_RUNG) * QUARTERS[k % RUNGS_PER_OCTAVE]) << octave;
    u64::try_from((scaled + (1 << 61)) >> 62).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_formula() {
        for k in 0..160 {
            let exact = 16.0 * 2_f64.powf(k as f64 / 4.0);
            let relative = (rung(k) as f64 - exact).abs() / exact;
            assert!(
                (rung(k) as f64 - exact).abs() <= 0.5 + 1e-6 || relative < 1e-12,
                "rung {k}"
            );
        }
    }

    #[test]
    fn an_octave_doubles_up_to_rounding() {
        for k in 0..200 {
            assert!(
                rung(k + RUNGS_PER_OCTAVE).abs_diff(2 * rung(k)) <= 1,
                "rung {k}"
            );
        }
    }

    #[test]
    fn saturates() {
        assert_eq!(rung(usize::MAX), u64::MAX);
    }
}
