//! Formats numbers for people: bytes, objects, counts, durations and plurals.
//!
//! Three digits are shown. A number that is not zero never reads as zero.

use super::{Rarest, Visible};
use crate::Per;
use crate::rate::{to_f64, to_u64};

/// What stands for a number that is none.
const UNKNOWN: &str = "unknown";

pub(super) const BYTE_UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Formats bytes: `96 B`, `0.03 B`, `1.5 KiB`, `-12 B`.
pub fn bytes(bytes: f64) -> String {
    if !bytes.is_finite() {
        return UNKNOWN.to_owned();
    }
    let mut value = bytes;
    let mut unit = 0;
    // The limit is 1023.5, because a larger number would be rounded to `1024 B`.
    while value.abs() >= 1023.5 && unit + 1 < BYTE_UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(value), BYTE_UNITS[unit])
}

/// Formats a whole number of bytes, as [`bytes`] does.
pub fn size(of_bytes: u64) -> String {
    bytes(to_f64(of_bytes))
}

/// The same as [`bytes`], with a sign: `+96 B`, `-12 B`, `0 B`.
pub fn signed_bytes(value: f64) -> String {
    sign(value).to_owned() + &bytes(value)
}

fn sign(value: f64) -> &'static str {
    if value > 0.0 { "+" } else { "" }
}

/// Formats objects per iteration: `1.00`, `0.03`, `0.0012`, `1,234.00`.
pub fn objects(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    group(&format!("{value:.*}", decimals_of_small(value)))
}

/// The same as [`objects`], with a sign.
pub fn signed_objects(value: f64) -> String {
    sign(value).to_owned() + &objects(value)
}

/// Formats an error as ` ± 3 B`. Empty if a number is exact.
pub fn give_or_take(error: Option<f64>, say: fn(f64) -> String) -> String {
    error.map_or_else(String::new, |error| format!(" ± {}", say(error)))
}

/// Formats a count with thousands separators: `65,536`.
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// Formats the iterations after one count and up to another: `8,193–16,384`.
pub fn span(from: u64, to: u64) -> String {
    match from.saturating_add(1) {
        first if first >= to => count(to),
        first => format!("{}–{}", count(first), count(to)),
    }
}

/// Formats a count with its noun: `1 stack`, `2 stacks`, `1,024 addresses`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Formats a duration: `1.0 s`, `45 min`, `3.1 h`, `12 d`, `4.2 years`.
pub fn duration(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    const YEAR: f64 = 365.25 * DAY;
    if seconds.is_nan() || seconds >= 1_000.0 * YEAR {
        return "more than 1,000 years".to_owned();
    }
    let (value, unit) = match seconds {
        s if s < 0.1 => return "less than 0.1 s".to_owned(),
        s if s < 2.0 * MINUTE => (s, "s"),
        s if s < 2.0 * HOUR => (s / MINUTE, "min"),
        s if s < 2.0 * DAY => (s / HOUR, "h"),
        s if s < 2.0 * YEAR => (s / DAY, "d"),
        s => (s / YEAR, "years"),
    };
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$} {unit}")
}

impl Per {
    /// Formats a number of them: `65,536 iterations`.
    pub fn count(&self, number: u64) -> String {
        plural(number, self.one(), self.many())
    }
}

/// Formats the smallest growth that a run would have seen: `1 object per 1,000 iterations`. It
/// is in bytes if the run would have seen those sooner than one object of 8 bytes.
pub fn visible(seen: Visible, per: &Per) -> Option<String> {
    let of_objects = seen.objects.filter(|rate| *rate > 0.0);
    let of_bytes = seen.bytes.filter(|rate| *rate > 0.0);
    let sooner = |rate: &f64| of_objects.is_none_or(|objects| rate / 8.0 < objects * 0.999);
    if let Some(rate) = of_bytes.filter(sooner) {
        return match rate >= 8.0 {
            true => Some(format!("{} per {}", bytes(rate), per.one())),
            false => Some(format!("8 B per {}", iterations(8.0 / rate, per)?)),
        };
    }
    Some(match of_objects? {
        rate if rate >= 1.005 => format!("{} objects per {}", objects(rate), per.one()),
        rate if rate >= 1.0 => format!("1 object per {}", per.one()),
        rate => format!("1 object per {}", iterations(1.0 / rate, per)?),
    })
}

/// The same as [`visible`], with two additions:
///
/// - How much rarer large objects may be:
///   `1 object per 100 iterations; of 4 KiB or more, 1 per 25,000`.
/// - How fast a buffer may grow without more objects, if that is more than twice eight bytes
///   for each object:
///   `1 object per 100 iterations; a buffer that grows by 17 B per iteration`. If the run would
///   not have seen one at any rate: `1 object per 100 iterations; no buffer that grows`.
pub(crate) fn visible_with_rarest(
    seen: Visible,
    rarest: Option<Rarest>,
    per: &Per,
) -> Option<String> {
    let mut said = visible(seen, per)?;
    let of_objects = seen.objects.unwrap_or(0.0);
    match seen.bytes {
        Some(rate) if of_objects > 0.0 && rate > 2.0 * 8.0 * of_objects => {
            let bytes = bytes(rate);
            said += &format!("; a buffer that grows by {bytes} per {}", per.one());
        }
        None => said += "; no buffer that grows",
        Some(_) => {}
    }
    Some(match rarest {
        // Large objects that may not be rarer need no addition.
        Some(rarest) if to_f64(rarest.iterations) * of_objects > 1.0 => {
            let size = size(rarest.bytes);
            let iterations = count(rarest.iterations);
            format!("{said}; of {size} or more, 1 per {iterations}")
        }
        _ => said,
    })
}

/// Formats iterations, rounded down: a run may have seen more than it says, never less.
fn iterations(value: f64, per: &Per) -> Option<String> {
    // A quotient that is whole except for rounding counts as whole.
    let value = (value * (1.0 + 1e-9)).floor();
    if !(1.0..1e18).contains(&value) {
        return None;
    }
    Some(match to_u64(value) {
        1 => per.one().to_owned(),
        whole => per.count(whole),
    })
}

/// Formats three digits, without trailing zeros.
fn short(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        m => decimals_of_small(m),
    };
    let text = group(&format!("{value:.decimals$}"));
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let text = if text == "-0" { "0" } else { text };
    text.to_owned()
}

/// Returns two decimals, or as many as are needed for two digits.
fn decimals_of_small(value: f64) -> usize {
    let mut magnitude = value.abs();
    let mut decimals = 2;
    // A run can see no rate that needs more than 12 decimals.
    while magnitude > 0.0 && magnitude < 0.0995 && decimals < 12 {
        magnitude *= 10.0;
        decimals += 1;
    }
    decimals
}

/// Puts separators into the whole part of a decimal number.
fn group(number: &str) -> String {
    let end = number.find('.').unwrap_or(number.len());
    let (whole, fraction) = number.split_at(end);
    let mut out = String::new();
    for (index, char) in whole.char_indices() {
        let is_within = out.ends_with(|before: char| before.is_ascii_digit());
        if is_within && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(char);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;

    fn all<T: Copy>(of: &[T], said: fn(T) -> String) -> String {
        let all: Vec<String> = of.iter().map(|one| said(*one)).collect();
        all.join(" | ")
    }

    #[test]
    fn numbers_for_people() {
        let small = [0.0, 0.008, 0.03, 0.5, 1.0, 9.333, 10.0, 96.0, 96.04, 100.4];
        let said = "0 B | 0.008 B | 0.03 B | 0.5 B | 1 B | 9.33 B | 10 B | 96 B | 96 B | 100 B";
        assert_eq!(all(&small, bytes), said);
        let large = [1023.0, 1023.9, 1536.0, -12.0, 1e9, 1e30, f64::NAN];
        let said = "1,023 B | 1 KiB | 1.5 KiB | -12 B | 954 MiB | 867,361,737,988 EiB | unknown";
        assert_eq!(all(&large, bytes), said);
        assert_eq!(
            all(&[96.0, -96.0, 0.0], signed_bytes),
            "+96 B | -96 B | 0 B"
        );
        let rates = [0.0, 1.0, 1234.0, 0.1, 0.031, 0.001, -2.5];
        let said = "0.00 | 1.00 | 1,234.00 | 0.10 | 0.031 | 0.0010 | -2.50";
        assert_eq!(all(&rates, objects), said);
        let seconds = [0.01, 1.0, 119.0, 300.0, 11_185.0, 400_000.0, 1e8];
        let said = "less than 0.1 s | 1.0 s | 119 s | 5.0 min | 3.1 h | 4.6 d | 3.2 years";
        assert_eq!(all(&seconds, duration), said);
        let said = "more than 1,000 years | more than 1,000 years";
        assert_eq!(all(&[1e12, f64::INFINITY], duration), said);
        let said = "0 addresses | 1 address | 2 addresses | 1,024 addresses";
        let addresses = |n| plural(n, "address", "addresses");
        assert_eq!(all(&[0, 1, 2, 1024], addresses), said);
    }

    #[test]
    fn visible_growth_is_rounded_down() {
        let seen = |objects, bytes| Visible::from(Rate { objects, bytes });
        let per = Per::default();
        let said = |objects, bytes| visible(seen(objects, bytes), &per).unwrap_or_default();
        assert_eq!(said(0.001, 0.008), "1 object per 1,000 iterations");
        assert_eq!(said(1.0 / 3000.0, 1.0), "1 object per 3,000 iterations");
        assert_eq!(said(0.0015, 0.1), "1 object per 666 iterations");
        assert_eq!(said(1.0, 8.0), "1 object per iteration");
        assert_eq!(said(2.5, 80.0), "2.50 objects per iteration");
        assert_eq!(said(0.01, 0.008), "8 B per 1,000 iterations");
        assert_eq!(said(0.0, 64.0), "64 B per iteration");
        assert_eq!(said(0.0, 0.0), "");
        // An unknown limit is not printed as a number.
        let unknown = f64::INFINITY;
        for bytes in [unknown, f64::MAX] {
            let said = visible_with_rarest(seen(0.001, bytes), None, &per);
            let buffer = "1 object per 1,000 iterations; no buffer that grows";
            assert_eq!(said.as_deref(), Some(buffer));
        }
        assert_eq!(said(unknown, 64.0), "64 B per iteration");
        assert_eq!(said(0.0, unknown), "");
        assert_eq!(said(unknown, unknown), "");
    }
}
