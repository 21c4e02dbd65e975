//! Measurements, which are accepted and never taken.
//!
//! Plimsoll counts what stays allocated, whatever the benchmark was written to measure. Of a
//! custom [`Measurement`] it uses one thing: the type that `Bencher::iter_custom` returns.

use std::time::{Duration, Instant};

use crate::Throughput;

/// Formats measured values. Plimsoll calls none of its methods.
pub trait ValueFormatter {
    /// Formats one value with its unit.
    fn format_value(&self, value: f64) -> String {
        let mut values = [value];
        let unit = self.scale_values(value, &mut values);
        format!("{:.4} {unit}", values[0])
    }

    /// Formats the throughput that belongs to one value.
    fn format_throughput(&self, throughput: &Throughput, value: f64) -> String {
        let mut values = [value];
        let unit = self.scale_throughputs(value, throughput, &mut values);
        format!("{:.4} {unit}", values[0])
    }

    /// Converts values to a unit that suits the typical value, and returns the unit.
    fn scale_values(&self, typical_value: f64, values: &mut [f64]) -> &'static str;

    /// Converts values to throughputs, and returns the unit.
    fn scale_throughputs(
        &self,
        typical_value: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str;

    /// Converts values to the unit of files, and returns the unit.
    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str;
}

/// What criterion would measure. Plimsoll calls none of its methods.
pub trait Measurement {
    /// What [`start`](Self::start) hands to [`end`](Self::end).
    type Intermediate;

    /// A measured value.
    type Value;

    /// Called by criterion before iterations.
    fn start(&self) -> Self::Intermediate;

    /// Called by criterion after iterations.
    fn end(&self, i: Self::Intermediate) -> Self::Value;

    /// Adds two values.
    fn add(&self, v1: &Self::Value, v2: &Self::Value) -> Self::Value;

    /// Returns the value that adds nothing.
    fn zero(&self) -> Self::Value;

    /// Converts a value for statistics.
    fn to_f64(&self, value: &Self::Value) -> f64;

    /// Returns what formats the values.
    fn formatter(&self) -> &dyn ValueFormatter;
}

/// The default measurement. Plimsoll calls none of its methods; custom measurements may.
#[derive(Debug)]
pub struct WallTime;

impl Measurement for WallTime {
    type Intermediate = Instant;
    type Value = Duration;

    fn start(&self) -> Instant {
        Instant::now()
    }

    fn end(&self, start: Instant) -> Duration {
        start.elapsed()
    }

    fn add(&self, v1: &Duration, v2: &Duration) -> Duration {
        *v1 + *v2
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_secs_f64() * 1e9
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

/// Formats every value in nanoseconds. Only custom formatters call it.
struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, _typical_value: f64, _values: &mut [f64]) -> &'static str {
        "ns"
    }

    fn scale_throughputs(
        &self,
        _typical_value: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str {
        let (amount, unit) = match *throughput {
            Throughput::Bytes(bytes) => (bytes, "B/s"),
            Throughput::Elements(elements) => (elements, "elem/s"),
            #[cfg(since_0_4)]
            Throughput::BytesDecimal(bytes) => (bytes, "B/s"),
            #[cfg(since_0_7)]
            Throughput::Bits(bits) => (bits, "b/s"),
            #[cfg(since_0_8)]
            Throughput::ElementsAndBytes { elements, .. } => (elements, "elem/s"),
        };
        for value in values {
            *value = amount as f64 * 1e9 / *value;
        }
        unit
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "ns"
    }
}
