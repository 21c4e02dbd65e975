use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_core::layout;
use plimsoll_core::settings::{Inconclusive, Settings};

use crate::subject::{workload_iteration, workload_setup};
use crate::workload::{Iteration, Setup, Workload};

/// A workload that plimsoll repeats, watching which memory it keeps.
///
/// ```
/// use plimsoll::Scenario;
///
/// fn lru_churn() -> Scenario {
///     // The outer closure sets up what lives for the whole run. The inner closure is
///     // one iteration; its argument is the number of the iteration.
///     Scenario::new("lru_churn", || {
///         let mut recent = std::collections::VecDeque::new();
///         move |i: u64| {
///             recent.push_back(vec![0_u8; 64]);
///             if i >= 1_000 {
///                 recent.pop_front();
///             }
///         }
///     })
/// }
/// # let _ = lru_churn();
/// ```
///
/// An async workload creates its runtime in the outer closure, and calls `block_on` in the
/// inner one. Settings that are not set here come from the package's `plimsoll.toml`, then from
/// the workspace's. `PLIMSOLL_*` variables override both, and what is set here.
pub struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) setup: Setup,
    pub(crate) options: Options,
}

/// The settings that a scenario's builder has set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) settings: Settings,
    pub(crate) ignored: Option<&'static str>,
}

impl Scenario {
    /// Creates a scenario from its name and a closure. The closure sets the workload up, and
    /// returns the closure that is one iteration.
    ///
    /// The test, its baseline and its folder have this name. It has up to 100 of the characters
    /// `A-Z a-z 0-9 _ . : -`, and does not begin with a dot or a dash. Any other name is an
    /// error when the tests start.
    pub fn new<S, W, R>(name: &'static str, setup: S) -> Scenario
    where
        S: FnOnce() -> W + 'static,
        W: FnMut(u64) -> R + 'static,
        R: Iteration,
    {
        let setup = move || {
            let mut workload = workload_setup(setup);
            Box::new(move |i| workload_iteration(&mut workload, i)) as Workload
        };
        Scenario {
            name,
            setup: Box::new(setup),
            options: Options::default(),
        }
    }

    /// Sets the time for the ladder, without setting up. The default is 10 s.
    ///
    /// Measuring continues up to twice as long if something grows, and up to three times as
    /// long if the verdict would be inconclusive.
    pub fn budget(mut self, budget: Duration) -> Scenario {
        self.options.settings.budget = Some(budget);
        self
    }

    /// Sets the maximum number of iterations. The default is as many as the budget allows.
    pub fn max_iterations(mut self, iterations: u64) -> Scenario {
        self.options.settings.max_iterations = Some(iterations);
        self
    }

    /// Sets the growth to find: one object, or 8 bytes, in this many iterations.
    ///
    /// The default is 1,000. If iterations are so slow that the budget ends first, the default
    /// becomes smaller, that is coarser. A value that is set here never does: a run that cannot
    /// find such growth is inconclusive.
    ///
    /// # Panics
    ///
    /// If `iterations` is zero.
    pub fn threshold(mut self, iterations: u64) -> Scenario {
        assert!(
            iterations > 0,
            "a threshold is one object in at least one iteration"
        );
        self.options.settings.threshold = Some(iterations);
        self
    }

    /// Sets the mean bytes between samples: 1, which samples every allocation, or another power
    /// of two. Any other value is an error when the tests start.
    ///
    /// By default every allocation is sampled if time and memory allow it; if not, plimsoll
    /// chooses an interval. It does not change a value that is set here.
    pub fn sample_interval(mut self, bytes: u64) -> Scenario {
        self.options.settings.sample_interval = Some(bytes);
        self
    }

    /// Sets how long plimsoll waits, at most, for background threads to rest before a dump. The
    /// default is 100 ms. If they rest already, it hardly waits.
    pub fn settle(mut self, settle: Duration) -> Scenario {
        self.options.settings.settle = Some(settle);
        self
    }

    /// Sets the time after which the whole scenario, with setting up, counts as hung. The
    /// default is one minute and three budgets.
    pub fn timeout(mut self, timeout: Duration) -> Scenario {
        self.options.settings.timeout = Some(timeout);
        self
    }

    /// Sets whether an inconclusive verdict fails the test, which is the default, or only
    /// warns.
    pub fn inconclusive(mut self, inconclusive: Inconclusive) -> Scenario {
        self.options.settings.inconclusive = Some(inconclusive);
        self
    }

    /// Ignores the scenario, with this reason, unless `--ignored` or `--include-ignored` is
    /// given.
    pub fn ignore(mut self, reason: &'static str) -> Scenario {
        self.options.ignored = Some(reason);
        self
    }
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scenario")
            .field("name", &self.name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Checks that every name is valid as a file name, and that no two scenarios have the same
/// name.
pub(crate) fn check_names(scenarios: &[Scenario]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for scenario in scenarios {
        let name = scenario.name;
        if !layout::valid_scenario_name(name) {
            return Err(format!(
                "`{name}` is not a valid name for a scenario\n  \
                 expected up to {} of `A-Z a-z 0-9 _ . : -`, not beginning with `.` or `-`",
                layout::MAX_SCENARIO_NAME
            ));
        }
        if !names.insert(name) {
            return Err(format!(
                "two scenarios are called `{name}`\n  hint: the baseline and the folder of a \
                 scenario have its name, so no two may have the same"
            ));
        }
    }
    Ok(())
}
