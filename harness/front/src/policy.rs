//! Decides what a ladder does next, and why: climb on, start again with another plan, or end.
//!
//! The functions here are pure, so tests can simulate a slow machine in no time. A ladder is
//! the series of iteration counts at which the heap is dumped; each of them is a rung, and four
//! of them are an octave, a doubling of the iterations.

use std::time::Duration;

use plimsoll_core::dump::SampleInterval;
use plimsoll_core::judge::{self, Verdict};
use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, rung};
use plimsoll_core::report::{Check, CheckOutcome, Failure, LadderEnd, Rung};
use plimsoll_core::to_f64;

use crate::pace::Pace;
use crate::plan::{self, Pilot, Plan};
use crate::settings::{Effective, PATIENCE};

/// The settings and the plan of a ladder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) settings: &'a Effective,
    pub(crate) plan: Plan,
}

/// Where a ladder is, before a rung.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    pub(crate) last: Option<&'a Rung>,
    /// The number of rungs so far.
    pub(crate) rungs: usize,
    /// The number of rungs when the verdict was *regressed* after the budget was spent. Absent
    /// if it was not, or if it became *inconclusive* an octave later.
    pub(crate) accused_at: Option<usize>,
    /// Iterations at the next rung.
    pub(crate) next: u64,
    /// Time since the subject was started, and since the ladder began.
    pub(crate) age: Duration,
    pub(crate) elapsed: Duration,
    /// How long the workload ran in this time: without dumps, and without waiting for a
    /// processor.
    pub(crate) ran: Duration,
    /// The predicted time of the next rung.
    pub(crate) ahead: Duration,
    /// The ladder that would be enough for a verdict, at the pace so far.
    pub(crate) enough: Option<Enough>,
    /// The most threads and descriptors that the subject may have.
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
    /// The mappings of the subject at the last rung, and the most that it may have.
    pub(crate) mapped: u64,
    pub(crate) mappings: u64,
}

/// A ladder that is long enough for a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Enough {
    /// How its subject is profiled.
    pub(crate) plan: Plan,
    pub(crate) iterations: u64,
    pub(crate) time: Duration,
}

/// What comes next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    Climb {
        /// Whether this rung will end after the budget.
        is_late: bool,
        /// As in [`Before`].
        accused_at: Option<usize>,
    },
    /// Time an iteration with the profile and one without it: another profile may be fast
    /// enough.
    Pilot(Enough),
    Stop(Stop),
}

/// Why a climb stops.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    End(LadderEnd),
    Failed(Failure),
    Broken(Check),
    Again(Again),
}

/// A new attempt with another plan for the profile.
#[derive(Debug, PartialEq)]
pub(crate) struct Again {
    pub(crate) plan: Plan,
    /// Why, if people should know.
    pub(crate) why: Option<String>,
    /// The ladder that would have been enough with the old plan.
    pub(crate) enough: Option<Enough>,
}

/// Descriptors below the limit that are kept free, for example for the dump.
const DESCRIPTORS_LEFT: u64 = 16;

/// Mappings below the limit that are kept free: jemalloc maps memory as well, and cannot allocate
/// without.
const MAPPINGS_LEFT: u64 = 4_096;

/// How many times faster than necessary a sampled ladder should be, because paces vary.
const MARGIN: f64 = 1.5;

/// Makes a check of the measurement.
pub(crate) fn check(name: &str, outcome: CheckOutcome, detail: String) -> Check {
    Check {
        name: name.to_owned(),
        outcome,
        detail,
    }
}

impl Stop {
    /// Makes the stop for a failed check.
    pub(crate) fn broken(name: &str, detail: String) -> Stop {
        Stop::Broken(check(name, CheckOutcome::Failed, detail))
    }

    fn again(plan: Plan, why: Option<String>) -> Stop {
        Stop::Again(Again {
            plan,
            why,
            enough: None,
        })
    }
}

impl Terms<'_> {
    /// Decides what to do before a rung. `verdict` returns the verdict if the ladder ends here,
    /// however short it is.
    pub(crate) fn next(&self, at: &Before, mut verdict: impl FnMut() -> Verdict) -> Next {
        let settings = self.settings;
        let end = |end| Next::Stop(Stop::End(end));
        if let Some(enough) = at.enough
            && self.is_out_of_reach(&enough, at.next)
        {
            // A sampled ladder needs even more iterations for the same threshold. So if the
            // threshold is set, sampling does not help. A plan that is set is never changed.
            return match (settings.plan, settings.threshold) {
                (None, None) => Next::Pilot(enough),
                _ => end(LadderEnd::OutOfReach),
            };
        }
        if at.next > settings.max_iterations {
            return end(LadderEnd::Iterations);
        }
        if let Some(last) = at.last {
            let at_next = |count: u64| count.saturating_mul(at.next) / last.iterations.max(1);
            if at_next(last.descriptors) >= at.descriptors.saturating_sub(DESCRIPTORS_LEFT) {
                return end(LadderEnd::Descriptors);
            }
            if at_next(last.threads) >= at.threads {
                return end(LadderEnd::Threads);
            }
            if at_next(at.mapped) >= at.mappings.saturating_sub(MAPPINGS_LEFT) {
                return end(LadderEnd::Mappings);
            }
        }
        let elapsed = at.elapsed.saturating_add(at.ahead);
        let may_be_quiet = settings.quiet_after.is_some_and(|quiet| elapsed > quiet);
        if may_be_quiet && at.last.is_some() && verdict() <= Verdict::Improved {
            return end(LadderEnd::Budget);
        }
        let is_late = elapsed > settings.budget;
        let climb = |accused_at| Next::Climb {
            is_late,
            accused_at,
        };
        // The timeout is for subjects that hang. A ladder that climbs ends before it.
        let hangs = at.age.saturating_add(at.ahead.saturating_mul(2)) > settings.timeout;
        if !is_late && !hangs {
            return climb(at.accused_at);
        }
        // The time is divided, because a very large budget would overflow if it were
        // multiplied.
        let is_patient = at.ran.saturating_add(at.ahead) / PATIENCE <= settings.budget;
        let to_accuse = self.iterations_to_accuse();
        let is_short = at.last.is_none_or(|last| last.iterations < to_accuse);
        // A verdict needs names and all levels, so it is computed only if it matters.
        let goes_on = || match at.accused_at {
            None if at.last.is_none() => is_patient.then_some(None),
            Some(since) if is_on_trial(since, at.rungs) => Some(Some(since)),
            accused_at => match verdict() {
                Verdict::Regressed if accused_at.is_none() => Some(Some(at.rungs)),
                Verdict::Regressed if is_patient && is_short => Some(accused_at),
                Verdict::Inconclusive if is_patient => Some(None),
                _ => None,
            },
        };
        let may_go_on = !settings.spend_budget && !hangs;
        let accused_at = may_go_on.then(goes_on).flatten();
        accused_at.map_or(end(LadderEnd::Budget), climb)
    }

    /// Decides whether the ladder stops after a rung.
    ///
    /// `number` counts rungs from 1, `listed` the threads in the dump. `settled` returns
    /// whether nothing grows.
    pub(crate) fn after(
        &self,
        last: &Rung,
        number: usize,
        accused_at: Option<usize>,
        listed: u64,
        settled: impl FnOnce() -> bool,
    ) -> Option<Stop> {
        if plan::fills_with_threads(self.plan, last.iterations, listed, last.threads) {
            let plan = Plan {
                keeps_stacks: false,
                ..self.plan
            };
            return Some(Stop::again(plan, None));
        }
        let interval = self.plan.interval();
        let to_settle = judge::iterations_to_settle(self.settings.threshold, interval);
        let is_long = last.iterations >= to_settle
            && number > 3 * RUNGS_PER_OCTAVE
            && !accused_at.is_some_and(|since| is_on_trial(since, number));
        (is_long && settled()).then_some(Stop::End(LadderEnd::Settled))
    }

    /// Returns the ladder that would be enough for a verdict, or `None` if there is no pace
    /// yet.
    pub(crate) fn enough(&self, pace: &Pace) -> Option<Enough> {
        let (threshold, interval) = (self.settings.threshold, self.plan.interval());
        let iterations = judge::iterations_to_conclude(threshold, self.settings.coarsest, interval);
        Some(Enough {
            plan: self.plan,
            iterations,
            time: pace.until(iterations)?,
        })
    }

    /// Returns whether a ladder at this pace, whose next rung is this one, may be long enough for a
    /// verdict.
    pub(crate) fn may_reach(&self, pace: &Pace, next: u64) -> bool {
        let enough = self.enough(pace);
        enough.is_none_or(|enough| !self.is_out_of_reach(&enough, next))
    }

    fn iterations_to_accuse(&self) -> u64 {
        judge::iterations_to_accuse(self.settings.threshold)
    }

    /// Returns from how many iterations a ladder that ended like this may be *regressed*.
    ///
    /// A ladder that ended for lack of time is shorter on a slow machine, where a buffer may
    /// still be filling. So it needs a minimum of iterations, and growth must have continued
    /// for an octave after it was first seen.
    pub(crate) fn accuse_from(&self, end: LadderEnd, accused_at: Option<usize>) -> u64 {
        let on_trial = accused_at.map_or(0, |since| rung(since + RUNGS_PER_OCTAVE - 1));
        match end {
            LadderEnd::Budget => self.iterations_to_accuse().max(on_trial),
            LadderEnd::OutOfReach => self.iterations_to_accuse(),
            _ => 0,
        }
    }

    /// Returns the same for growth that keeps no old objects. A buffer that fills up between
    /// two rungs looks like that for an octave. So it needs the iterations at which the
    /// threshold is reached, and not a coarser one.
    pub(crate) fn accuse_anew_from(&self, end: LadderEnd) -> u64 {
        match end {
            LadderEnd::Budget | LadderEnd::OutOfReach => {
                judge::iterations_to_settle(self.settings.threshold, SampleInterval::default())
            }
            _ => 0,
        }
    }

    /// Returns whether the ladder cannot reach the threshold even in [`PATIENCE`] budgets.
    ///
    /// A sampled ladder without a set threshold goes on anyway: it still finds a leak that is
    /// much larger than the coarsest threshold.
    fn is_out_of_reach(&self, enough: &Enough, next: u64) -> bool {
        let settings = self.settings;
        let is_asked_for = settings.threshold.is_some() || self.plan.is_exact();
        is_asked_for
            && !settings.spend_budget
            && self.plan.may_be_sampled()
            && next < enough.iterations
            && enough.iterations <= settings.max_iterations
            && enough.time / PATIENCE > settings.budget
    }

    /// Decides what to do after the timing of a pilot: starts again with a profile that is fast
    /// enough for the ladder, if there is one.
    ///
    /// This is for iterations that allocate so much that an exact ladder has too few rungs for
    /// any verdict.
    pub(crate) fn faster(&self, pilot: Option<Pilot>, enough: Enough) -> Stop {
        let seconds = self.settings.budget.as_secs_f64() / MARGIN / to_f64(enough.iterations);
        let faster = pilot.and_then(|pilot| Some((pilot.plan_for(seconds)?, pilot.exact)));
        let Some((plan, exact)) = faster else {
            return Stop::End(LadderEnd::OutOfReach);
        };
        let why = format!(
            "an exact profile takes {exact:.2} s an iteration, which is too long for the budget"
        );
        Stop::Again(Again {
            plan,
            why: Some(why),
            enough: Some(enough),
        })
    }

    /// Decides what to do if memory ran out: starts again with a profile that needs less,
    /// unless the ladder is long enough for a verdict.
    pub(crate) fn out_of_memory(&self, last: Option<&Rung>) -> Stop {
        let done = last.map_or(0, |rung| rung.iterations);
        // The threshold does not become coarser for lack of memory.
        let enough = judge::iterations_to_settle(self.settings.threshold, self.plan.interval());
        let less = (done < enough).then(|| self.with_less_memory(last));
        less.flatten().unwrap_or(Stop::End(LadderEnd::Memory))
    }

    /// Starts again with a profile that needs less memory, if there is one and no setting
    /// forbids it.
    ///
    /// If the workload itself keeps half of the limit or more, no profile would help.
    pub(crate) fn with_less_memory(&self, last: Option<&Rung>) -> Option<Stop> {
        let limit = self.settings.memory_limit;
        let kept = last.map_or(0, |rung| rung.live.bytes);
        (self.settings.plan.is_none() && kept < limit / 2).then_some(())?;
        let limit = limit >> 20;
        if !self.plan.may_be_sampled() {
            let detail = format!(
                "threads end before their first sample, so no sampled profile has them, and an \
                 exact one takes more than the {limit} MiB of memory there are: raise \
                 `memory-limit`, or have the workload use threads again"
            );
            return Some(Stop::broken("coverage", detail));
        }
        let plan = self.plan.coarser()?;
        let profile = match self.plan.is_exact() {
            true => "an exact profile".to_owned(),
            false => format!("a sample every {} bytes", self.plan.interval()),
        };
        let why = format!("{profile} takes more than the {limit} MiB of memory there are");
        Some(Stop::again(plan, Some(why)))
    }

    /// Decides what to do at the end of a ladder: starts again with an exact profile, unless a
    /// setting forbids it, if this many threads ended before a sampled profile could see them.
    pub(crate) fn ended(&self, end: LadderEnd, short_threads: Option<u64>) -> Stop {
        let plan = self.plan.with_every_thread();
        match (self.settings.plan, short_threads, plan) {
            (None, Some(threads), Some(plan)) => {
                let why = format!(
                    "measured again with an exact profile: with a sample every {} bytes, memory \
                     grew outside the profile while {threads} threads started and ended, and a \
                     thread that ends before its first sample is in no sampled profile",
                    self.plan.interval()
                );
                Stop::again(plan, Some(why))
            }
            _ => Stop::End(end),
        }
    }
}

/// Returns whether a ladder that was *regressed* after `accused_at` rungs must go on. It goes
/// on for an octave, and the verdict after that counts: a leak is twice as large by then, but
/// chance growth hardly ever continues.
fn is_on_trial(accused_at: usize, rungs: usize) -> bool {
    rungs < accused_at + RUNGS_PER_OCTAVE
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_core::baseline::Baseline;
    use plimsoll_core::judge::{Observed, Policy, judge};
    use plimsoll_core::settings::Settings;
    use plimsoll_core::{FoldedStack, Series, Tally};

    const LAST: Rung = Rung {
        iterations: 64,
        live: Tally {
            objects: 1,
            bytes: 1 << 20,
        },
        allocated: None,
        threads: 1,
        descriptors: 3,
        resident: 0,
        mappings: None,
        memory: None,
    };

    const AT: Before<'_> = Before {
        last: Some(&LAST),
        rungs: 9,
        accused_at: None,
        next: 76,
        age: Duration::from_secs(1),
        elapsed: Duration::from_secs(1),
        ran: Duration::from_secs(1),
        ahead: Duration::from_secs(1),
        enough: None,
        threads: 4_096,
        descriptors: 1_024,
        mapped: 40,
        mappings: 65_530,
    };

    const CLIMB: Next = Next::Climb {
        is_late: false,
        accused_at: None,
    };

    /// The defaults: a budget of 10 seconds, a timeout of 90; with a memory limit of 1 GiB.
    fn defaults() -> Effective {
        Effective::of(&Settings::default(), 1 << 30).unwrap()
    }

    fn with<T>(mut value: T, change: impl FnOnce(&mut T)) -> T {
        change(&mut value);
        value
    }

    /// A point at which the policy decides.
    #[derive(Clone, Debug)]
    enum Now<'a> {
        Before(Before<'a>, Verdict),
        /// With the rung's number, the number of listed threads, and whether nothing grows.
        After(Rung, usize, u64, bool),
        OutOfMemory(Rung),
        Piloted(Option<Pilot>, Enough),
        /// This many threads ended before they were sampled.
        Ended(Option<u64>),
    }

    fn next(settings: &Effective, plan: Plan, now: Now<'_>) -> String {
        let terms = Terms { settings, plan };
        let next = match now {
            Now::Before(at, verdict) => terms.next(&at, || verdict),
            Now::After(last, number, listed, settled) => terms
                .after(&last, number, None, listed, || settled)
                .map_or(CLIMB, Next::Stop),
            Now::OutOfMemory(last) => Next::Stop(terms.out_of_memory(Some(&last))),
            Now::Piloted(pilot, enough) => Next::Stop(terms.faster(pilot, enough)),
            Now::Ended(threads) => Next::Stop(terms.ended(LadderEnd::Iterations, threads)),
        };
        match next {
            Next::Climb { is_late: false, .. } => "climb".to_owned(),
            Next::Climb {
                accused_at: None, ..
            } => "climb late".to_owned(),
            Next::Climb {
                accused_at: Some(since),
                ..
            } => format!("climb since {since}"),
            Next::Pilot(_) => "pilot".to_owned(),
            Next::Stop(Stop::End(end)) => format!("{end:?}"),
            Next::Stop(Stop::Again(again)) => format!("again {}", again.plan.options()),
            Next::Stop(Stop::Broken(check)) => format!("broken {}", check.name),
            Next::Stop(Stop::Failed(failure)) => failure.what,
        }
    }

    #[test]
    fn ends_have_their_reasons() {
        let seconds = Duration::from_secs;
        let free = &defaults();
        let exactly = &with(defaults(), |set| set.spend_budget = true);
        let short = &with(defaults(), |set| set.max_iterations = 70);
        let coarse = &with(defaults(), |set| set.threshold = Some(10));
        let coarsest = &with(defaults(), |set| set.threshold = Some(1));
        let fixed = &with(defaults(), |set| set.plan = Some(Plan::EXACT));
        let (exact, sampled) = (Plan::EXACT, Plan::sampled(9));
        let too_large = exact.coarser().unwrap();
        let threads_end = sampled.with_every_thread().unwrap();

        let (open, leaks) = (Verdict::Inconclusive, Verdict::Regressed);
        let before = |at| Now::Before(at, open);
        let late = with(AT, |at| (at.elapsed, at.ran) = (seconds(12), seconds(12)));
        let starved = with(late, |at| (at.elapsed, at.age) = (seconds(50), seconds(52)));
        let ran_out = with(late, |at| at.ran = seconds(30));
        let since = |rungs| with(late, |at| at.accused_at = Some(rungs));
        let far = with(LAST, |last| last.iterations = 1_722);
        let long = |rungs| with(since(rungs), |at| (at.last, at.next) = (Some(&far), 2_048));
        let hung = with(AT, |at| at.age = seconds(89));
        let threads = with(LAST, |last| last.threads = 4_000);
        let threads = with(AT, |at| at.last = Some(&threads));
        let files = with(LAST, |last| last.descriptors = 900);
        let files = with(AT, |at| at.last = Some(&files));
        let maps = with(AT, |at| at.mapped = 52_000);
        let enough = |time| Enough {
            plan: exact,
            iterations: 1_600,
            time: seconds(time),
        };
        let slow = |time| before(with(AT, |at| at.enough = Some(enough(time))));
        let pilot = |inactive| Pilot {
            exact: 0.02,
            inactive,
            object: 64.0,
        };
        let piloted = |pilot| Now::Piloted(pilot, enough(31));
        let rung = |iterations| with(LAST, |last| last.iterations = iterations);
        let after = |n, number, settled| Now::After(rung(n), number, 2, settled);
        let listed = Now::After(LAST, 9, 20, false);
        let full = |n| Now::OutOfMemory(rung(n));
        let large = with(LAST, |last| last.live.bytes = 1 << 29);
        let to = |lg| format!("again lg_prof_sample:{lg},prof_accum:false");
        let [exact_again, sampled_again, coarser_again] = &[to(0), to(9), to(12)];
        for (settings, plan, now, expected) in [
            (free, exact, Now::Before(AT, leaks), "climb"),
            (free, exact, before(late), "climb late"),
            (free, exact, Now::Before(late, Verdict::Within), "Budget"),
            // Growth must continue for an octave.
            (free, exact, Now::Before(late, leaks), "climb since 9"),
            (free, exact, Now::Before(since(6), leaks), "climb since 6"),
            (
                free,
                exact,
                Now::Before(since(6), Verdict::Within),
                "climb since 6",
            ),
            (free, exact, Now::Before(since(5), leaks), "climb since 5"),
            (free, exact, Now::Before(long(5), leaks), "Budget"),
            (free, exact, before(long(5)), "climb late"),
            (exactly, exact, Now::Before(late, leaks), "Budget"),
            (free, exact, Now::Before(ran_out, leaks), "climb since 9"),
            (free, exact, Now::Before(hung, leaks), "Budget"),
            // Other processes used the time.
            (free, exact, before(starved), "climb late"),
            (free, exact, before(ran_out), "Budget"),
            (free, exact, before(hung), "Budget"),
            (exactly, exact, before(late), "Budget"),
            (short, exact, before(AT), "Iterations"),
            (free, exact, before(threads), "Threads"),
            (free, exact, before(files), "Descriptors"),
            (free, exact, before(maps), "Mappings"),
            // Three budgets, and just more than three.
            (free, exact, slow(30), "climb"),
            (free, exact, slow(31), "pilot"),
            (fixed, exact, slow(31), "OutOfReach"),
            (coarse, exact, slow(31), "OutOfReach"),
            (coarse, sampled, slow(31), "OutOfReach"),
            (free, sampled, slow(31), "climb"),
            (exactly, exact, slow(31), "climb"),
            (free, threads_end, slow(31), "climb"),
            (short, exact, slow(31), "Iterations"),
            (free, exact, piloted(None), "OutOfReach"),
            (free, exact, piloted(Some(pilot(0.01))), "OutOfReach"),
            (free, exact, piloted(Some(pilot(0.001))), sampled_again),
            (free, exact, after(64, 9, true), "climb"),
            (free, exact, after(13_777, 40, true), "climb"),
            (free, exact, after(16_384, 41, false), "climb"),
            (free, exact, after(16_384, 41, true), "Settled"),
            (coarsest, exact, after(108, 12, true), "climb"),
            (coarsest, exact, after(128, 13, true), "Settled"),
            (free, exact, listed.clone(), exact_again),
            (free, sampled, listed, "climb"),
            (free, exact, full(64), sampled_again),
            (free, sampled, full(64), coarser_again),
            (free, Plan::sampled(18), full(64), "Memory"),
            (free, exact, full(16_384), "Memory"),
            (coarse, exact, full(64), sampled_again),
            (coarse, exact, full(160), "Memory"),
            (free, exact, Now::OutOfMemory(large), "Memory"),
            (fixed, exact, full(64), "Memory"),
            (free, threads_end, full(64), "broken coverage"),
            (free, sampled, Now::Ended(None), "Iterations"),
            (free, sampled, Now::Ended(Some(20)), exact_again),
            (free, too_large, Now::Ended(Some(20)), "Iterations"),
            (fixed, sampled, Now::Ended(Some(20)), "Iterations"),
        ] {
            let what = format!("{plan:?} {now:?}");
            assert_eq!(next(settings, plan, now), expected, "{what}");
        }
        let unasked = || panic!("a verdict before the budget is spent");
        let terms = Terms {
            settings: free,
            plan: exact,
        };
        assert_eq!(terms.next(&AT, unasked), CLIMB);
    }

    /// Climbs in simulated time, with `each` seconds per iteration and `between` seconds
    /// between two rungs. Returns the verdict at the end and the iterations.
    fn climbed(each: f64, between: f64, level: impl Fn(u64) -> u64) -> (Verdict, u64) {
        let settings = defaults();
        let terms = Terms {
            settings: &settings,
            plan: Plan::EXACT,
        };
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
                at_top,
                accuse_from,
                accuse_anew_from: terms.accuse_anew_from(LadderEnd::Budget),
                ..Policy::TOP
            };
            judge(&observed(rungs), &Baseline::default(), &policy).verdict
        };
        let (mut elapsed, mut ran, mut rungs) = (0.0, 0.0, 0_usize);
        let mut accused_at = None;
        loop {
            let done = rungs.checked_sub(1).map_or(0, rung);
            let next = rung(rungs);
            let running = each * (next - done) as f64;
            let last = (done > 0).then(|| with(LAST, |last| last.iterations = done));
            let at = Before {
                last: last.as_ref(),
                rungs,
                accused_at,
                next,
                age: Duration::from_secs_f64(elapsed),
                elapsed: Duration::from_secs_f64(elapsed),
                ran: Duration::from_secs_f64(ran),
                ahead: Duration::from_secs_f64(running + between),
                ..AT
            };
            match terms.next(&at, || judged(rungs, true, 0)) {
                Next::Climb {
                    accused_at: since, ..
                } => accused_at = since,
                _ => {
                    let accuse_from = terms.accuse_from(LadderEnd::Budget, accused_at);
                    return (judged(rungs, true, accuse_from), done);
                }
            }
            elapsed += running + between;
            ran += running;
            rungs += 1;
            let last = with(LAST, |last| last.iterations = next);
            let settled = || judged(rungs, false, 0) <= Verdict::Improved;
            if terms.after(&last, rungs, accused_at, 0, settled).is_some() {
                return (Verdict::Within, next);
            }
        }
    }

    /// The budget is spent after 23,170 iterations.
    #[test]
    fn what_grows_when_the_budget_is_spent_has_to_go_on() {
        let of = |level: &dyn Fn(u64) -> u64| climbed(0.0004, 0.01, level);
        assert_eq!(of(&|n| n), (Verdict::Regressed, 46_341));
        assert_eq!(of(&|n| n.min(23_000)), (Verdict::Inconclusive, 65_536));
    }

    #[test]
    fn a_slow_machine_changes_no_verdict_into_another() {
        let bounded = |n: u64| n.min(1_000);
        // The level of a sampled profile is an estimate, so it falls now and then.
        let estimated = |n: u64| n.min(1_000) * (96 + n % 8) / 100;
        let leak = |n: u64| n;
        // An iteration takes half a millisecond, a dump ten milliseconds.
        for slower in [1.0, 3.0, 10.0, 30.0, 100.0, 300.0] {
            let of = |level: &dyn Fn(u64) -> u64| climbed(0.0005 * slower, 0.01 * slower, level);
            let (verdict, iterations) = of(&bounded);
            assert_ne!(verdict, Verdict::Regressed, "{slower}: {iterations}");
            let (verdict, iterations) = of(&estimated);
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
