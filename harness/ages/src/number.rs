//! The number of a birth.

/// The unit of births: the first second has four births of it.
const UNIT_MILLISECONDS: u64 = 250;

/// Returns the number of the birth for an uptime in milliseconds.
///
/// The first second has four births of 250 ms. From there on each doubling of the uptime has
/// four births of equal length: the number consists of the uptime's leading bit, in units of
/// 250 ms, and the two bits behind it.
///
/// ```text
/// number    uptime
/// 0         0 to 250 ms          start of n, in units of 250 ms:
/// 1         250 to 500 ms          n                               for n < 4
/// 4         1 to 1.25 s            (4 + n % 4) << (n / 4 - 1)      otherwise
/// 8         2 to 2.5 s
/// 51        3,584 to 4,096 s     an hour
/// 69        81,920 to 98,304 s   a day
/// 129       85 to 102 years
/// 220       the largest for 64 bits of milliseconds
/// ```
///
/// `plimsoll-core` has the inverse, for those who read dumps.
pub fn number(uptime: u64) -> u64 {
    let units = uptime / UNIT_MILLISECONDS;
    match units.checked_ilog2() {
        None | Some(0 | 1) => units,
        Some(doubling) => {
            let doubling = u64::from(doubling);
            4 * (doubling - 1) + ((units >> (doubling - 2)) & 3)
        }
    }
}
