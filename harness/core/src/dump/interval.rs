use std::fmt;
use std::num::NonZeroU64;
use std::ops::AddAssign;

use crate::{Tally, to_f64, to_u64};

/// The mean number of bytes between two samples, as in the first line of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleInterval(NonZeroU64);

/// The estimate for the sampled objects of one stack, and its variance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// The estimate, rounded.
    pub tally: Tally,
    /// The variance of the bytes, which sampling adds to the square of an error.
    pub variance: f64,
}

/// The objects and bytes that the sampled ones stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Objects.
    pub objects: f64,
    /// Bytes.
    pub bytes: f64,
}

impl SampleInterval {
    /// Makes an interval of so many bytes. `None` for zero.
    pub fn new(bytes: u64) -> Option<Self> {
        NonZeroU64::new(bytes).map(Self)
    }

    /// Returns the interval in bytes.
    pub fn bytes(self) -> u64 {
        self.0.get()
    }

    /// Returns whether every allocation is sampled, so that counts need no estimate.
    ///
    /// [`unbias`](Self::unbias) scales even then, by 1.0003 for objects of 8 bytes, because
    /// jeprof does. For exact counts, take them as printed, from a jemalloc that runs with
    /// `prof_unbias:false`.
    pub fn is_exact(self) -> bool {
        self.bytes() == 1
    }

    /// Estimates what was allocated from what was sampled on one stack, by
    /// jeprof's formula (`AdjustSamples`, in double precision).
    ///
    /// An object of Z bytes is sampled with probability 1 − exp(−Z/R), where R is the
    /// interval. Z is taken to be the mean size of the stack's objects, so estimate stack by
    /// stack, then sum. Zero objects stay zero, where jeprof's ratio would be 0/0.
    pub fn unbias(self, sampled: Tally) -> Estimate {
        self.estimate(to_f64(sampled.objects), to_f64(sampled.bytes))
    }

    /// Returns the probability that an object of so many bytes is sampled: 1 − exp(−Z/R), or 1
    /// if every object is sampled.
    pub fn probability(self, size: f64) -> f64 {
        if self.is_exact() {
            return 1.0;
        }
        -(-size.max(0.0) / to_f64(self.bytes())).exp_m1()
    }

    /// The same as [`unbias`](Self::unbias), but rounded, and with the variance of the
    /// estimate.
    ///
    /// Each sampled object stands for 1/p objects, where p is its probability. It adds
    /// `(1 − p)/p²` to the variance of the objects, and `Z²` times that to the variance of the
    /// bytes. This is the estimator of Horvitz and Thompson for objects that are sampled
    /// independently. At an interval of 1, counts are taken as printed, without a variance.
    pub fn level(self, sampled: Tally) -> Level {
        if self.is_exact() || sampled.objects == 0 || sampled.bytes == 0 {
            return Level {
                tally: sampled,
                ..Level::default()
            };
        }
        let Estimate { objects, bytes } = self.unbias(sampled);
        let sampled_objects = to_f64(sampled.objects);
        let size = to_f64(sampled.bytes) / sampled_objects;
        let p = self.probability(size).max(f64::MIN_POSITIVE);
        let (objects, bytes) = (objects.round(), bytes.round());
        Level {
            tally: Estimate { objects, bytes }.truncated(),
            variance: size * size * ((1.0 - p) * sampled_objects / (p * p)),
        }
    }

    pub(super) fn estimate(self, objects: f64, bytes: f64) -> Estimate {
        // Without objects there is no mean size, and 0/0 would poison every sum. Objects
        // without bytes do not exist, and cannot be scaled either.
        if objects <= 0.0 || bytes <= 0.0 {
            return Estimate {
                objects: objects.max(0.0),
                bytes: bytes.max(0.0),
            };
        }
        let ratio = bytes / objects / to_f64(self.bytes());
        let seen = 1.0 - (-ratio).exp();
        // Below 1e-16 the subtraction loses the probability, which equals the ratio there.
        let scale = if seen > 0.0 { 1.0 / seen } else { 1.0 / ratio };
        Estimate {
            objects: objects * scale,
            bytes: bytes * scale,
        }
    }
}

/// The interval at which every allocation is sampled.
impl Default for SampleInterval {
    fn default() -> Self {
        Self(NonZeroU64::MIN)
    }
}

impl fmt::Display for SampleInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Estimate {
    /// Returns the estimate without fractions, as jeprof prints it.
    pub fn truncated(self) -> Tally {
        Tally {
            objects: to_u64(self.objects),
            bytes: to_u64(self.bytes),
        }
    }
}

impl AddAssign for Estimate {
    fn add_assign(&mut self, other: Estimate) {
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}
