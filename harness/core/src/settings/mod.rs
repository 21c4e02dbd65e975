//! The settings of a run, and how they are written.
//!
//! ```text
//! plimsoll.toml ── Layer::parse ─────────► Layer      what it sets, and on which line
//! PLIMSOLL_*    ── Layer::from_variables ► Layer
//! Settings::or                             in order of precedence: variable, a scenario's
//!                                          builder, the package's file, the workspace's
//! KEYS                                     a row for each setting; the parser, the schema,
//!                                          the docs and `config show` are made from it
//! ```
//!
//! A setting that is set nowhere stays `None`. The front has the defaults.

mod error;
mod keys;
mod parse;
mod units;

use std::time::Duration;

pub use error::SettingsError;
pub use keys::{Fallback, KEYS, Key, Kind};
pub use parse::{Entry, Layer};
pub use units::{MAX_SAMPLE_INTERVAL, nearest_sample_interval, time};

use crate::words::words;

/// The largest file that is read, in bytes. There are a dozen keys.
pub const MAX_BYTES: usize = 64 << 10;

/// The settings that one place sets: a file, the environment, or a scenario's builder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The time for the ladder.
    pub budget: Option<Duration>,
    /// The most iterations: no rung is above it.
    pub max_iterations: Option<u64>,
    /// The growth to find: one object, or 8 bytes, in so many iterations.
    pub threshold: Option<u64>,
    /// The growth of memory outside the allocator to find, in bytes per iteration.
    pub outside: Option<u64>,
    /// The longest time that plimsoll waits before a dump until background threads are idle.
    pub settle: Option<Duration>,
    /// The longest time that a scenario may take.
    pub timeout: Option<Duration>,
    /// What an inconclusive verdict does to a test.
    pub inconclusive: Option<Inconclusive>,
    /// The resident set at which the ladder ends, in bytes.
    pub memory_limit: Option<u64>,
    /// What an allowance that is no longer needed does to a test.
    pub stale: Option<Stale>,
    /// Whether an allowance without a reason fails a test.
    pub require_reason: Option<bool>,
    /// Whether the dump of every rung is kept.
    pub keep_rungs: Option<bool>,
    /// Whether a ladder is climbed even if it is too short for its threshold.
    pub spend_budget: Option<bool>,
    /// Mean bytes between samples.
    pub sample_interval: Option<u64>,
    /// The unwinder that walks the stacks for the profiler.
    pub unwinder: Option<Unwinder>,
}

impl Settings {
    /// Returns these settings, with those that are not set taken from `others`.
    #[must_use]
    pub fn or(&self, others: &Settings) -> Settings {
        Settings {
            budget: self.budget.or(others.budget),
            max_iterations: self.max_iterations.or(others.max_iterations),
            threshold: self.threshold.or(others.threshold),
            outside: self.outside.or(others.outside),
            settle: self.settle.or(others.settle),
            timeout: self.timeout.or(others.timeout),
            inconclusive: self.inconclusive.or(others.inconclusive),
            memory_limit: self.memory_limit.or(others.memory_limit),
            stale: self.stale.or(others.stale),
            require_reason: self.require_reason.or(others.require_reason),
            keep_rungs: self.keep_rungs.or(others.keep_rungs),
            spend_budget: self.spend_budget.or(others.spend_budget),
            sample_interval: self.sample_interval.or(others.sample_interval),
            unwinder: self.unwinder.or(others.unwinder),
        }
    }

    /// Returns the settings that a scenario's builder can set and that are set here. Each is a
    /// key and a value as in `plimsoll.toml`, without quotes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use plimsoll_core::settings::Settings;
    /// let set = Settings {
    ///     budget: Some(Duration::from_millis(1_500)),
    ///     threshold: Some(100),
    ///     ..Settings::default()
    /// };
    /// let written = [("budget", "1500ms".to_owned()), ("threshold", "100".to_owned())];
    /// assert_eq!(set.of_builder(), written);
    /// ```
    pub fn of_builder(&self) -> Vec<(&'static str, String)> {
        let number = |value: Option<u64>| value.map(|number| number.to_string());
        let time = |value: Option<Duration>| value.map(units::written);
        let all = [
            ("budget", time(self.budget)),
            ("max-iterations", number(self.max_iterations)),
            ("threshold", number(self.threshold)),
            ("outside", self.outside.map(units::written_size)),
            ("settle", time(self.settle)),
            ("timeout", time(self.timeout)),
            (
                "inconclusive",
                self.inconclusive.map(|value| value.as_str().to_owned()),
            ),
            ("sample-interval", number(self.sample_interval)),
        ];
        let is_set = |(key, value): (_, Option<_>)| Some((key, value?));
        all.into_iter().filter_map(is_set).collect()
    }
}

/// What an inconclusive verdict does to a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inconclusive {
    /// The test fails.
    #[default]
    Fail,
    /// The test passes, and its report says that it was inconclusive.
    Warn,
}

words!(Inconclusive {
    Fail = "fail",
    Warn = "warn",
});

/// What an allowance that is no longer needed does to a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stale {
    /// The test passes, and its report names the allowance.
    #[default]
    Warn,
    /// The test fails.
    Deny,
}

words!(Stale {
    Warn = "warn",
    Deny = "deny",
});

/// The unwinder that walks the stacks for the profiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwinder {
    /// plimsoll's own unwinder, if it finds the same stacks as libgcc's.
    #[default]
    Plimsoll,
    /// The unwinder that jemalloc was built with.
    Libgcc,
    /// Both unwinders. Every stack on which they differ is counted.
    Compare,
}

words!(Unwinder {
    Plimsoll = "plimsoll",
    Libgcc = "libgcc",
    Compare = "compare",
});
