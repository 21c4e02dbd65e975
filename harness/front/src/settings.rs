//! The settings of a run. In order of precedence they come from `PLIMSOLL_*` variables, the
//! scenario's builder, the package's `plimsoll.toml`, the workspace's `plimsoll.toml`, and the
//! defaults.

use std::time::Duration;

use plimsoll_core::judge::COARSEST_THRESHOLD;
use plimsoll_core::report::BuilderSetting;
use plimsoll_core::settings::{Inconclusive, Layer, Settings, Stale, Unwinder};

use crate::place::{self, Place};
use crate::plan::Plan;

/// How many budgets the workload may run while no verdict is possible. After that the ladder
/// ends, and the scenario is inconclusive.
pub(crate) const PATIENCE: u32 = 3;

/// The settings that one scenario runs with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effective {
    pub(crate) budget: Duration,
    pub(crate) max_iterations: u64,
    pub(crate) threshold: Option<u64>,
    /// The coarsest that the default threshold may become.
    pub(crate) coarsest: u64,
    /// The time after which a ladder ends if nothing grows, however coarse the threshold is by then.
    /// Absent if the whole budget is to be spent.
    pub(crate) quiet_after: Option<Duration>,
    /// The growth of memory outside the allocator to find, in bytes per iteration.
    pub(crate) outside: Option<u64>,
    /// How to profile; absent if the front chooses.
    pub(crate) plan: Option<Plan>,
    pub(crate) settle: Duration,
    pub(crate) timeout: Duration,
    pub(crate) inconclusive: Inconclusive,
    pub(crate) memory_limit: u64,
    pub(crate) stale: Stale,
    /// Whether an allowance without a reason fails the test.
    pub(crate) require_reason: bool,
    pub(crate) keep_rungs: bool,
    /// Whether to use exactly the budget, even if the ladder will be too short for the
    /// threshold.
    pub(crate) spend_budget: bool,
    pub(crate) unwinder: Unwinder,
    /// The settings that the scenario's builder has made, for the report.
    pub(crate) builder: Vec<BuilderSetting>,
}

impl Effective {
    /// Returns the settings, with defaults for those that are not set.
    ///
    /// # Errors
    ///
    /// A message, if the sample interval is not one that jemalloc supports.
    pub(crate) fn of(set: &Settings, machine_memory: u64) -> Result<Effective, String> {
        let budget = set.budget.unwrap_or(Duration::from_secs(10));
        let timeout = budget
            .saturating_mul(PATIENCE)
            .saturating_add(Duration::from_secs(60));
        Ok(Effective {
            budget,
            max_iterations: set.max_iterations.unwrap_or(u64::MAX),
            threshold: set.threshold,
            coarsest: COARSEST_THRESHOLD,
            quiet_after: None,
            outside: set.outside,
            plan: set.sample_interval.map(Plan::fixed).transpose()?,
            settle: set.settle.unwrap_or(Duration::from_millis(100)),
            timeout: set.timeout.unwrap_or(timeout),
            inconclusive: set.inconclusive.unwrap_or_default(),
            memory_limit: set.memory_limit.unwrap_or(machine_memory),
            stale: set.stale.unwrap_or_default(),
            require_reason: set.require_reason.unwrap_or(false),
            keep_rungs: set.keep_rungs.unwrap_or(false),
            spend_budget: set.spend_budget.unwrap_or(false),
            unwinder: set.unwinder.unwrap_or_default(),
            builder: Vec::new(),
        })
    }

    /// Returns the settings for a benchmark. If nobody `set` a budget, it takes a third of the usual
    /// one where nothing grows: there may be hundreds. An inconclusive verdict then only warns, and the
    /// threshold may become as coarse as one object in every iteration. If nobody set a timeout, it is longer: before
    /// the benchmark, the code around all others runs.
    pub(crate) fn of_benchmark(self, set: &Settings) -> Effective {
        const TIMEOUT: Duration = Duration::from_secs(300);
        let is_set = set.budget.is_some() || set.spend_budget == Some(true);
        Effective {
            coarsest: 1,
            inconclusive: set.inconclusive.unwrap_or(Inconclusive::Warn),
            quiet_after: (!is_set).then_some(self.budget / 3),
            timeout: match set.timeout {
                Some(set) => set,
                None => self.timeout.max(TIMEOUT),
            },
            ..self
        }
    }

    /// Returns the time after which a ladder ends if nothing grows.
    pub(crate) fn time_if_quiet(&self) -> Duration {
        self.quiet_after.unwrap_or(self.budget)
    }

    /// Adds the settings of the scenario's builder, for the report.
    pub(crate) fn with_builder(mut self, builder: &Settings) -> Effective {
        let set = builder.of_builder().into_iter();
        let set = set.map(|(key, value)| BuilderSetting {
            key: key.to_owned(),
            value,
        });
        self.builder = set.collect();
        self
    }
}

/// Reads the settings files. The package's file has precedence over the workspace's.
///
/// # Errors
///
/// A message, if a file cannot be read or is invalid.
pub(crate) fn read_files(place: &Place) -> Result<Settings, String> {
    let mut all = Settings::default();
    for path in &place.settings {
        let shown = place.relative(path);
        let bytes = place::read(path).map_err(|error| format!("{shown}: {error}"))?;
        let layer = Layer::parse(&bytes).map_err(|error| error.explain(&shown))?;
        all = all.or(&layer.settings);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use plimsoll_core::settings::{Fallback, KEYS};

    use super::*;

    #[test]
    fn the_defaults_are_those_that_are_written_down() {
        let written = KEYS.iter().filter_map(|key| match key.fallback {
            Fallback::Value(value) => Some((key.variable(), value.to_owned())),
            Fallback::Words(_) => None,
        });
        let written = Layer::from_variables(written);
        let written = written.unwrap().settings;
        assert!(written.budget.is_some() && written.unwinder.is_some());
        assert_eq!(
            Effective::of(&written, 1).unwrap(),
            Effective::of(&Settings::default(), 1).unwrap()
        );
    }

    #[test]
    fn a_timeout_follows_the_budget() {
        let with = |budget, timeout| {
            let rest = Settings::default();
            let set = Settings {
                budget,
                timeout,
                ..rest
            };
            Effective::of(&set, 1).unwrap().timeout
        };
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(with(None, None), Duration::from_secs(90));
        assert_eq!(with(seconds(20), None), Duration::from_secs(120));
        assert_eq!(with(seconds(20), seconds(5)), Duration::from_secs(5));
        assert_eq!(with(Some(Duration::MAX), None), Duration::MAX);
    }

    #[test]
    fn a_sample_interval_is_a_power_of_two() {
        let with = |interval: u64| {
            let (sample_interval, rest) = (Some(interval), Settings::default());
            let set = Settings {
                sample_interval,
                ..rest
            };
            Effective::of(&set, 1)
        };
        assert_eq!(with(512).unwrap().plan.unwrap().lg_interval, 9);
        assert_eq!(with(1).unwrap().plan.unwrap().lg_interval, 0);
        assert_eq!(
            with(500).unwrap_err(),
            "a sample interval that jemalloc does not have\n  expected a power of two up to \
             1073741824, found 500\n  hint: 512"
        );
        assert!(with(0).is_err() && with(1 << 31).is_err());
        assert_eq!(Effective::of(&Settings::default(), 1).unwrap().plan, None);
    }
}
