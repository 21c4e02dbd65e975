//! Parses times, sizes and counts. Text that is none of these gives `None`.

use std::time::Duration;

use crate::to_u64;

/// The largest sample interval. jemalloc has larger ones, which are of no use.
pub const MAX_SAMPLE_INTERVAL: u64 = 1 << 30;

/// Returns the nearest sample interval that jemalloc has: a power of two, up to
/// [`MAX_SAMPLE_INTERVAL`].
pub fn nearest_sample_interval(bytes: u64) -> u64 {
    let near = bytes.clamp(1, MAX_SAMPLE_INTERVAL);
    let below = 1 << near.ilog2();
    match near - below < below.div_ceil(2) {
        true => below,
        false => 2 * below,
    }
}

pub(super) fn flag(text: &str) -> Option<bool> {
    match text {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

pub(super) fn count(text: &str) -> Option<u64> {
    let number = text.replace('_', "").parse().ok()?;
    (number > 0).then_some(number)
}

pub(super) fn sample_interval(text: &str) -> Option<u64> {
    count(text).filter(|bytes| nearest_sample_interval(*bytes) == *bytes)
}

/// Parses a number above zero, and its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    // Around the number, only spaces are allowed.
    let number: f64 = number.trim_matches(' ').parse().ok()?;
    (number.is_finite() && number > 0.0).then_some((number, unit))
}

/// Parses a time such as `500ms`, `10s` or `2m`. `None` if it is none, or zero.
pub fn time(text: &str) -> Option<Duration> {
    let (number, unit) = quantity(text)?;
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    let time = Duration::try_from_secs_f64(number * seconds).ok()?;
    (!time.is_zero()).then_some(time)
}

/// Formats a time in the largest unit of which it is a whole number.
pub(super) fn written(time: Duration) -> String {
    let (seconds, below) = (time.as_secs(), time.subsec_nanos());
    match (seconds, below) {
        (0, 0) => "0s".to_owned(),
        (_, 0) if seconds % 3_600 == 0 => format!("{}h", seconds / 3_600),
        (_, 0) if seconds % 60 == 0 => format!("{}m", seconds / 60),
        (_, 0) => format!("{seconds}s"),
        _ => format!("{}ms", time.as_secs_f64() * 1e3),
    }
}

pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = quantity(text)?;
    let unit = match unit {
        "B" => 1.0,
        "KiB" => 1_024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return None,
    };
    let bytes = to_u64(number * unit);
    (bytes > 0).then_some(bytes)
}

/// Writes a size as [`size`] reads it.
pub(super) fn written_size(bytes: u64) -> String {
    let units = [(1_073_741_824, "GiB"), (1_048_576, "MiB"), (1_024, "KiB")];
    let whole = units
        .into_iter()
        .find(|(unit, _)| bytes.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units() {
        assert_eq!(time("1.5s"), Some(Duration::from_millis(1_500)));
        assert_eq!(time("2 min"), Some(Duration::from_secs(120)));
        assert_eq!(time("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(size("1.5GiB"), Some(1_610_612_736));
        assert_eq!(size("512MB"), Some(512_000_000));
        for text in ["64B", "1500B", "4KiB", "512MiB", "3GiB"] {
            assert_eq!(written_size(size(text).unwrap()), text);
        }
        for none in [
            "", "10", "s", "0s", "-1s", "1e3s", "inf s", "1d", "1 s ", "1\ns",
        ] {
            assert_eq!(time(none), None, "{none}");
        }
        // These are above zero as written, but zero in the base unit.
        assert_eq!(time("0.0000000000001ms"), None);
        assert_eq!(size("0.0001kB"), None);
        assert_eq!(time(&format!("{}h", "9".repeat(40))), None);
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        let written = |text: &str| written(time(text).unwrap());
        for text in ["10s", "90s", "2m", "25h", "1500ms", "0.5ms"] {
            assert_eq!(written(text), text);
        }
        assert_eq!(["60s", "1.5h", "0.1s"].map(written), ["1m", "90m", "100ms"]);
        assert_eq!(super::written(Duration::ZERO), "0s");
    }

    #[test]
    fn sample_intervals() {
        let nearest = |bytes| nearest_sample_interval(bytes);
        assert_eq!([0, 1, 2, 3, 500, 512].map(nearest), [1, 1, 2, 4, 512, 512]);
        assert_eq!([700, 800].map(nearest), [512, 1_024]);
        assert_eq!(nearest(u64::MAX), MAX_SAMPLE_INTERVAL);
        assert_eq!(sample_interval("4_096"), Some(4_096));
        assert_eq!(sample_interval("2147483648"), None);
    }
}
