//! What a ladder does before each rung: it climbs on, or ends, and why. Pure, so that a
//! slow machine is tried in no time.

use std::time::Duration;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::LadderEnd;

/// How far a ladder may go, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) budget: Duration,
    /// Of the subject's life. It is for what hangs: a ladder that climbs ends before it.
    pub(crate) timeout: Duration,
    pub(crate) max_iterations: u64,
    /// Whether the budget is used exactly, without patience.
    pub(crate) spend_budget: bool,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

/// Where a ladder is, before a rung.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    /// Iterations done, and at the next rung.
    pub(crate) done: u64,
    pub(crate) next: u64,
    /// Since the subject was started, and since the ladder began.
    pub(crate) age: Duration,
    pub(crate) elapsed: Duration,
    /// How long the workload ran of that: without dumps, and without the time that it
    /// waited for a processor.
    pub(crate) ran: Duration,
    /// What the next rung is going to take.
    pub(crate) ahead: Duration,
    /// At the last rung.
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Climb {
        /// Whether this rung ends after the budget.
        is_late: bool,
    },
    End(LadderEnd),
}

/// How many budgets the workload may run before its ladder ends for want of time and is
/// inconclusive, or is taken for a leak after fewer iterations than its threshold needs.
pub(crate) const PATIENCE: u32 = 3;

/// Descriptors that are left to whoever needs one.
const DESCRIPTORS_LEFT: u64 = 16;

impl Limits {
    /// What to do before a rung. `verdict` says what the ladder shows if it ends here.
    pub(crate) fn next(&self, at: &Before, verdict: impl FnOnce() -> Verdict) -> Next {
        if at.next > self.max_iterations {
            return Next::End(LadderEnd::Iterations);
        }
        let at_next = |count: u64| count.saturating_mul(at.next) / at.done.max(1);
        if at.done > 0 {
            if at_next(at.descriptors) >= self.descriptors.saturating_sub(DESCRIPTORS_LEFT) {
                return Next::End(LadderEnd::Descriptors);
            }
            if at_next(at.threads) >= self.threads {
                return Next::End(LadderEnd::Threads);
            }
        }
        let is_late = at.elapsed.saturating_add(at.ahead) > self.budget;
        let hangs = at.age.saturating_add(at.ahead.saturating_mul(2)) > self.timeout;
        // Asked only where it is late: a verdict takes names and all levels. And not the
        // budget multiplied: one without end would overflow.
        let is_patient = || {
            !self.spend_budget
                && at.ran.saturating_add(at.ahead) / PATIENCE <= self.budget
                && (at.done == 0 || verdict() == Verdict::Inconclusive)
        };
        match hangs || is_late && !is_patient() {
            true => Next::End(LadderEnd::Budget),
            false => Next::Climb { is_late },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::baseline::Baseline;
    use plimsoll_core::dump::SampleInterval;
    use plimsoll_core::judge::{self, Observed, Policy, judge};
    use plimsoll_core::ladder::rung;
    use plimsoll_core::{FoldedStack, Series, Tally};

    const SECOND: Duration = Duration::from_secs(1);

    const LIMITS: Limits = Limits {
        budget: Duration::from_secs(10),
        timeout: Duration::from_secs(90),
        max_iterations: u64::MAX,
        spend_budget: false,
        threads: 4_096,
        descriptors: 1_024,
    };

    const AT: Before = Before {
        done: 64,
        next: 76,
        age: SECOND,
        elapsed: SECOND,
        ran: SECOND,
        ahead: SECOND,
        threads: 1,
        descriptors: 3,
    };

    #[test]
    fn ends_have_their_reasons() {
        let late = Before {
            elapsed: Duration::from_secs(12),
            ran: Duration::from_secs(12),
            ..AT
        };
        let starved = Before {
            elapsed: Duration::from_secs(50),
            age: Duration::from_secs(52),
            ..late
        };
        let exactly = Limits {
            spend_budget: true,
            ..LIMITS
        };
        let short = Limits {
            max_iterations: 70,
            ..LIMITS
        };
        let ran_out = Before {
            ran: Duration::from_secs(30),
            ..late
        };
        let hung = Before {
            age: Duration::from_secs(89),
            ..AT
        };
        let (open, leaks) = (Verdict::Inconclusive, Verdict::Regressed);
        let climb = |is_late| Next::Climb { is_late };
        for (limits, at, verdict, expected) in [
            (LIMITS, AT, leaks, climb(false)),
            (LIMITS, late, open, climb(true)),
            (LIMITS, late, leaks, Next::End(LadderEnd::Budget)),
            (LIMITS, late, Verdict::Within, Next::End(LadderEnd::Budget)),
            // Others took the time.
            (LIMITS, starved, open, climb(true)),
            (LIMITS, ran_out, open, Next::End(LadderEnd::Budget)),
            (LIMITS, hung, open, Next::End(LadderEnd::Budget)),
            (exactly, late, open, Next::End(LadderEnd::Budget)),
            (short, AT, open, Next::End(LadderEnd::Iterations)),
            (
                LIMITS,
                Before {
                    threads: 4_000,
                    ..AT
                },
                open,
                Next::End(LadderEnd::Threads),
            ),
            (
                LIMITS,
                Before {
                    descriptors: 900,
                    ..AT
                },
                open,
                Next::End(LadderEnd::Descriptors),
            ),
        ] {
            assert_eq!(limits.next(&at, || verdict), expected, "{at:?} {verdict}");
        }
        let unasked = || panic!("a verdict before the budget is spent");
        assert_eq!(LIMITS.next(&AT, unasked), climb(false));
    }

    /// Climbs with so many seconds an iteration and so many between two rungs, in
    /// simulated time, and judges at the end.
    fn climbed(each: f64, between: f64, level: impl Fn(u64) -> u64) -> (Verdict, u64) {
        let observed = |rungs: usize| {
            let iterations: Vec<u64> = (0..rungs).map(rung).collect();
            let tally = |n: &u64| Tally {
                objects: level(*n),
                bytes: 64 * level(*n),
            };
            let series = Series::new(iterations.iter().map(tally).collect());
            Observed {
                stacks: [(FoldedStack(vec!["work".to_owned()]), series)].into(),
                iterations,
                ..Observed::default()
            }
        };
        let judged = |rungs: usize, at_top: bool, accuse_from: u64| {
            let policy = Policy {
                threshold: None,
                at_top,
                accuse_from,
                today: None,
            };
            judge(&observed(rungs), &Baseline::default(), &policy).verdict
        };
        let exact = SampleInterval::default();
        let to_settle = judge::iterations_to_settle(None, exact);
        let (mut elapsed, mut ran, mut rungs) = (0.0, 0.0, 0_usize);
        loop {
            let done = rungs.checked_sub(1).map_or(0, rung);
            let next = rung(rungs);
            let running = each * (next - done) as f64;
            let at = Before {
                done,
                next,
                age: Duration::from_secs_f64(elapsed),
                elapsed: Duration::from_secs_f64(elapsed),
                ran: Duration::from_secs_f64(ran),
                ahead: Duration::from_secs_f64(running + between),
                threads: 1,
                descriptors: 3,
            };
            match LIMITS.next(&at, || judged(rungs, true, to_settle)) {
                Next::Climb { .. } => {}
                Next::End(_) => {
                    return (judged(rungs, true, judge::iterations_to_accuse(None)), done);
                }
            }
            elapsed += running + between;
            ran += running;
            rungs += 1;
            if next >= to_settle && judged(rungs, false, 0) <= Verdict::Improved {
                return (Verdict::Within, next);
            }
        }
    }

    #[test]
    fn a_slow_machine_changes_no_verdict_into_another() {
        let bounded = |n: u64| n.min(1_000);
        let leak = |n: u64| n;
        // An iteration of half a millisecond, and a dump of ten.
        for slower in [1.0, 3.0, 10.0, 30.0, 100.0, 300.0] {
            let of = |level: &dyn Fn(u64) -> u64| climbed(0.0005 * slower, 0.01 * slower, level);
            let (verdict, iterations) = of(&bounded);
            assert_ne!(verdict, Verdict::Regressed, "{slower}: {iterations}");
            let (verdict, iterations) = of(&leak);
            let expected = match slower < 50.0 {
                true => Verdict::Regressed,
                false => Verdict::Inconclusive,
            };
            assert_eq!(verdict, expected, "{slower}: {iterations}");
        }
    }
}
