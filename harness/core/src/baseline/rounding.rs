use super::MAX_RATE;

/// Rounds a rate up, to what a file states: three significant decimals, and at most nine
/// decimals in all. Decimals are significant from the first one that is not zero. So 30.7213
/// gives 30.722, and 0.00123456 gives 0.00124.
///
/// The rate is rounded up, so that the measured rate is allowed. It is rounded no further than
/// people need to read it: one allocation of 24 bytes in 7 iterations is accepted as 3.429. A
/// whole number stays as it is. Nine decimals are one object in a billion iterations, beyond
/// any ladder.
///
/// Returns `None` if it is not a rate: negative, not a number, or above [`MAX_RATE`].
pub fn round_up(rate: f64) -> Option<f64> {
    if !(0.0..=MAX_RATE).contains(&rate) {
        return None;
    }
    let whole = rate.floor();
    // A whole number needs no rounding. From 1e12 up, no rate has three decimals to round to.
    if whole >= rate || rate >= 1e12 {
        return Some(rate.abs());
    }
    let scale = scale_of(rate);
    // The smallest multiple of the last decimal that is not below the rate. The comparison is
    // between binary fractions as they are, so that 0.1 stays 0.1.
    let mut steps = (rate * scale).floor() - 1.0;
    while steps / scale < rate {
        steps += 1.0;
    }
    Some(steps / scale)
}

/// Returns the power of ten that keeps three significant decimals of a rate above zero.
fn scale_of(rate: f64) -> f64 {
    let mut scale = 1e3;
    let mut first = 0.1;
    while rate < first && scale < 1e9 {
        scale *= 10.0;
        first /= 10.0;
    }
    scale
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn up_and_no_further_than_needed() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for rate in bad.into_iter().chain([-1.0, -1e-300, 1.1e15]) {
            assert_eq!(round_up(rate), None, "{rate:?}");
        }
        for rate in [0.0, 1.0, 48.0, 0.1, 0.3, 2.675, 1_234_567.5, 1e15] {
            assert_eq!(round_up(rate), Some(rate));
        }
        for (rate, expected) in [
            (-0.0, "0.0"),
            (30.7213, "30.722"),
            (24.0 / 7.0, "3.429"),
            (0.9999, "1.0"),
            (0.123_401, "0.124"),
            (0.001_234_56, "0.00124"),
            (0.099_999, "0.1"),
            (1e-12, "1e-9"),
            (f64::MIN_POSITIVE, "1e-9"),
        ] {
            let rounded = round_up(rate).unwrap();
            assert_eq!(format!("{rounded:?}"), expected, "{rate:?}");
        }
    }

    proptest! {
        #[test]
        fn never_below_and_never_far(mantissa in 0.0..10.0_f64, exponent in -12..15_i32) {
            let rate = mantissa * 10_f64.powi(exponent);
            if let Some(rounded) = round_up(rate) {
                prop_assert!(rounded >= rate, "{rounded} < {rate}");
                prop_assert!(rounded - rate <= (rate / 100.0).clamp(1.001e-9, 1.001e-3));
            }
        }

        #[test]
        fn twice_is_once(rate in 0.0..1e6_f64, small in 0.0..1.0_f64) {
            for rate in [rate, small, small / 1e5] {
                let once = round_up(rate);
                prop_assert_eq!(once.and_then(round_up), once);
            }
        }

        #[test]
        fn keeps_order(one in 0.0..2.0_f64, two in 0.0..2.0_f64) {
            let (less, more) = if one <= two { (one, two) } else { (two, one) };
            prop_assert!(round_up(less) <= round_up(more));
        }
    }
}
