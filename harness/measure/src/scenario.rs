use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_core::layout;
use plimsoll_core::settings::{Inconclusive, Settings};

use crate::subject::{workload_iteration, workload_setup};
use crate::workload::{Iteration, Setup, Workload};

/// A workload that is run again and again, and watched for what it keeps.
///
/// ```
/// use plimsoll::Scenario;
///
/// fn lru_churn() -> Scenario {
///     // The outer closure sets up what lives for the whole run; the inner one
///     // is one iteration, given its number.
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
/// An async workload owns its runtime in the outer closure and blocks on it in
/// the inner one. What is not set here comes from the package's `plimsoll.toml`, or
/// the workspace's; `PLIMSOLL_*` variables override all of them.
pub struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) setup: Setup,
    pub(crate) options: Options,
}

/// What a scenario set itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) settings: Settings,
    pub(crate) ignored: Option<&'static str>,
}

impl Scenario {
    /// A scenario of that name, from a closure that sets up and returns the
    /// closure that is one iteration.
    ///
    /// The name is that of the test, of its baseline and of its folder: up to
    /// 100 of `A-Z a-z 0-9 _ . : -`, not beginning with a dot or a dash. Another
    /// one is refused when the tests start.
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

    /// Time for the ladder; setting up is outside it. 10 s unless set.
    ///
    /// A ladder that can tell too little by then goes on, up to three times as long.
    pub fn budget(mut self, budget: Duration) -> Scenario {
        self.options.settings.budget = Some(budget);
        self
    }

    /// The most iterations that are run. As many as the budget allows unless set.
    pub fn max_iterations(mut self, iterations: u64) -> Scenario {
        self.options.settings.max_iterations = Some(iterations);
        self
    }

    /// The growth to find: one object, or 8 bytes, in so many iterations.
    ///
    /// 1,000 unless set, and then fewer where iterations are so slow that the
    /// budget is spent before. What is set here is never made coarser: a run
    /// that cannot find it is inconclusive.
    ///
    /// # Panics
    ///
    /// Where it is zero.
    pub fn threshold(mut self, iterations: u64) -> Scenario {
        assert!(
            iterations > 0,
            "a threshold is one object in at least one iteration"
        );
        self.options.settings.threshold = Some(iterations);
        self
    }

    /// Mean bytes between samples: 1, which is every allocation, or another power of
    /// two; any other is refused when the tests start.
    ///
    /// Unless it is set, every allocation is sampled where time and memory allow,
    /// and else as many as they do. What is set here stays.
    pub fn sample_interval(mut self, bytes: u64) -> Scenario {
        self.options.settings.sample_interval = Some(bytes);
        self
    }

    /// The longest that background threads get to come to rest before a dump.
    /// 100 ms unless set; no time is lost where they rest already.
    pub fn settle(mut self, settle: Duration) -> Scenario {
        self.options.settings.settle = Some(settle);
        self
    }

    /// The longest that the whole scenario may take, setting up included, before
    /// it counts as hung. One minute and three budgets unless set.
    pub fn timeout(mut self, timeout: Duration) -> Scenario {
        self.options.settings.timeout = Some(timeout);
        self
    }

    /// What an inconclusive verdict does to the test. It fails unless set.
    pub fn inconclusive(mut self, inconclusive: Inconclusive) -> Scenario {
        self.options.settings.inconclusive = Some(inconclusive);
        self
    }

    /// Leaves the scenario out unless `--ignored` or `--include-ignored` ask for
    /// it, and says why.
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

/// Refuses names that cannot be a file's, and two scenarios of one name.
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
