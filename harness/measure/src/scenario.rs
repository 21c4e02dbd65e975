use std::time::Duration;

use plimsoll_core::settings::{Inconclusive, Settings};

use crate::workload::{Iteration, Setup, Workload};
use plimsoll_subject::{workload_iteration, workload_setup};

/// A workload that plimsoll repeats, watching which memory it keeps.
///
/// ```
/// use std::collections::VecDeque;
/// use plimsoll::Scenario;
///
/// fn recent_churn() -> Scenario {
///     // The first closure sets up what lives for the whole run. The second closure is one
///     // iteration; `i` is its number.
///     Scenario::with_state("recent_churn", VecDeque::new, |recent, i| {
///         recent.push_back(vec![0_u8; 64]);
///         if i >= 1_000 {
///             recent.pop_front();
///         }
///     })
/// }
/// # let _ = recent_churn();
/// ```
///
/// The setup of an async workload makes the runtime, and an iteration calls its `block_on`.
/// Settings that are not set here come from the package's `plimsoll.toml`, then from the
/// workspace's. `PLIMSOLL_*` variables override both, and what is set here.
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
    /// Creates a scenario from its name, a closure that makes the state, and a closure that is
    /// one iteration.
    ///
    /// All of the state lives until the last iteration, whether an iteration names it or not. So
    /// a guard, a receiver or a handle stays that nothing reads:
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use plimsoll::Scenario;
    ///
    /// // Nothing is received, and the channel stays open all the same.
    /// let scenario = Scenario::with_state("unread", mpsc::channel, |(sender, _), i| {
    ///     sender.send(i)
    /// });
    /// # let _ = scenario;
    /// ```
    ///
    /// The test, its baseline and its folder have this name. It has up to 100 of the characters
    /// `A-Z a-z 0-9 _ . : -`, and does not begin with a dot or a dash. Any other name is an
    /// error when the tests start.
    pub fn with_state<S, T, W, R>(name: &'static str, setup: S, mut iteration: W) -> Scenario
    where
        S: FnOnce() -> T + 'static,
        T: 'static,
        W: FnMut(&mut T, u64) -> R + 'static,
        R: Iteration,
    {
        Scenario::new(name, || {
            let mut state = setup();
            move |i| iteration(&mut state, i)
        })
    }

    /// Creates a scenario from its name and one closure. The closure sets the workload up, and
    /// returns the closure that is one iteration.
    ///
    /// What the inner closure does not name is dropped before the first iteration: here, the
    /// receiver of `let (sender, _receiver) = mpsc::channel()` would be. With
    /// [`with_state`](Scenario::with_state) it stays.
    ///
    /// The name is that of [`with_state`](Scenario::with_state).
    pub fn new<S, W, R>(name: &'static str, setup: S) -> Scenario
    where
        S: FnOnce() -> W + 'static,
        W: FnMut(u64) -> R + 'static,
        R: Iteration,
    {
        let setup = move || {
            let mut workload = workload_setup(setup);
            Box::new(move |i| workload_iteration(|| workload(i)).outcome()) as Workload
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

    /// Sets the growth of memory outside the allocator to find, in bytes per iteration. This is
    /// memory that the program maps itself, or that another allocator has.
    ///
    /// The default is 64 bytes, or more if the ladder is short. Such memory is then within unless
    /// it grows as a leak does. With a value that is set here, a run that cannot find such growth is
    /// inconclusive.
    ///
    /// # Panics
    ///
    /// If `bytes` is zero.
    pub fn outside(mut self, bytes: u64) -> Scenario {
        assert!(bytes > 0, "growth is at least one byte per iteration");
        self.options.settings.outside = Some(bytes);
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

/// What [`main!`](crate::main) takes.
#[diagnostic::on_unimplemented(
    message = "`main!` takes scenarios and lists of scenarios, and this is a `{Self}`",
    label = "not a `Scenario`, a `Vec<Scenario>` or a `[Scenario; N]`",
    note = "a function that makes a scenario has to be called: `name()`"
)]
pub trait Scenarios {
    /// Adds it, or all that are in it, at the end.
    fn add_to(self, all: &mut Vec<Scenario>);
}

impl Scenarios for Scenario {
    fn add_to(self, all: &mut Vec<Scenario>) {
        all.push(self);
    }
}

impl Scenarios for Vec<Scenario> {
    fn add_to(self, all: &mut Vec<Scenario>) {
        all.extend(self);
    }
}

impl<const N: usize> Scenarios for [Scenario; N] {
    fn add_to(self, all: &mut Vec<Scenario>) {
        all.extend(self);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn a_state_lives_as_long_as_the_workload() {
        let guard = Rc::new(());
        let held = Rc::clone(&guard);
        let scenario = Scenario::with_state("guard", || (1, held), |(number, _), _| *number += 1);
        let mut workload = (scenario.setup)();
        assert_eq!(workload(0), Ok(()));
        assert_eq!(Rc::strong_count(&guard), 2);
        drop(workload);
        assert_eq!(Rc::strong_count(&guard), 1);
    }
}
