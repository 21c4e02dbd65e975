//! What a ladder does next: it climbs on, begins again with another plan, or ends, and why.
//! Pure, so that a slow machine is tried in no time.

use std::time::Duration;

use plimsoll_core::judge::{self, Verdict};
use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, rung};
use plimsoll_core::report::{Check, CheckOutcome, Failure, LadderEnd, Rung};

use super::pace::Pace;
use super::plan::{self, Pilot, Plan};
use super::settings::{Effective, PATIENCE};

/// What a ladder goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) settings: &'a Effective,
    pub(crate) plan: Plan,
}

/// Where a ladder is, before a rung.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    pub(crate) last: Option<&'a Rung>,
    /// How many rungs there are.
    pub(crate) rungs: usize,
    /// After how many rungs something was *regressed*, with the budget spent; absent where nothing
    /// was, or was no longer an octave later.
    pub(crate) accused_at: Option<usize>,
    /// Iterations at the next.
    pub(crate) next: u64,
    /// Since the subject was started, and since the ladder began.
    pub(crate) age: Duration,
    pub(crate) elapsed: Duration,
    /// How long the workload ran of that: without dumps, and without the time that it
    /// waited for a processor.
    pub(crate) ran: Duration,
    /// What the next rung is going to take.
    pub(crate) ahead: Duration,
    /// What would be enough for a verdict, by the pace so far.
    pub(crate) enough: Option<Enough>,
    /// As many as the subject may have.
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

/// A ladder that would do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Enough {
    /// How it would be profiled.
    pub(crate) plan: Plan,
    pub(crate) iterations: u64,
    pub(crate) time: Duration,
}

/// What comes next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    Climb {
        /// Whether this rung ends after the budget.
        is_late: bool,
        /// As in [`Before`].
        accused_at: Option<usize>,
    },
    /// Iterations are timed, with the profile and without: another may be fast enough.
    Pilot(Enough),
    Stop(Stop),
}

/// Ends a climb.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    End(LadderEnd),
    Failed(Failure),
    Broken(Check),
    Again(Again),
}

/// A better way to profile a scenario.
#[derive(Debug, PartialEq)]
pub(crate) struct Again {
    pub(crate) plan: Plan,
    /// Why, where somebody needs to know.
    pub(crate) why: Option<String>,
    /// What would have been enough as it was.
    pub(crate) enough: Option<Enough>,
}

/// Descriptors that are left to whoever needs one.
const DESCRIPTORS_LEFT: u64 = 16;

/// By how much a sampled ladder should be faster than it must be: paces differ.
const MARGIN: f64 = 1.5;

impl Stop {
    /// A check that failed.
    pub(crate) fn broken(name: &str, detail: String) -> Stop {
        Stop::Broken(Check {
            name: name.to_owned(),
            outcome: CheckOutcome::Failed,
            detail,
        })
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
    /// What to do before a rung. `verdict` says what the ladder shows if it ends here, however
    /// short it is.
    pub(crate) fn next(&self, at: &Before, verdict: impl FnOnce() -> Verdict) -> Next {
        let settings = self.settings;
        let end = |end| Next::Stop(Stop::End(end));
        if let Some(enough) = at.enough
            && self.is_out_of_reach(&enough, at.next)
        {
            // A threshold that was set would need every rung of a sampled ladder, which is
            // longer.
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
        }
        let is_late = at.elapsed.saturating_add(at.ahead) > settings.budget;
        // The timeout is for what hangs: a ladder that climbs ends before it.
        let hangs = at.age.saturating_add(at.ahead.saturating_mul(2)) > settings.timeout;
        if !is_late && !hangs {
            return Next::Climb {
                is_late,
                accused_at: at.accused_at,
            };
        }
        // Not the budget multiplied: one without end would overflow.
        let is_patient = at.ran.saturating_add(at.ahead) / PATIENCE <= settings.budget;
        let is_short = at
            .last
            .is_none_or(|last| last.iterations < self.iterations_to_accuse());
        // A verdict takes names and all levels, so it is asked only where it counts.
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
        match may_go_on.then(goes_on).flatten() {
            Some(accused_at) => Next::Climb {
                is_late,
                accused_at,
            },
            None => end(LadderEnd::Budget),
        }
    }

    /// What stops the ladder after a rung, if anything does. `number` counts rungs from 1,
    /// `listed` the threads in the dump; `settled` says whether nothing grows.
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

    /// The ladder that would be enough for a verdict.
    pub(crate) fn enough(&self, pace: &Pace) -> Option<Enough> {
        let iterations = self.iterations_to_conclude();
        Some(Enough {
            plan: self.plan,
            iterations,
            time: pace.until(iterations)?,
        })
    }

    fn iterations_to_accuse(&self) -> u64 {
        judge::iterations_to_accuse(self.settings.threshold)
    }

    /// Iterations from which a ladder that ended so may be *regressed*: those of a ladder that
    /// ended for want of time are fewer on a slow machine, where a buffer is still filling, and
    /// what grows has to have gone on.
    pub(crate) fn accuse_from(&self, end: LadderEnd, accused_at: Option<usize>) -> u64 {
        let on_trial = accused_at.map_or(0, |since| rung(since + RUNGS_PER_OCTAVE - 1));
        match end {
            LadderEnd::Budget => self.iterations_to_accuse().max(on_trial),
            LadderEnd::OutOfReach => self.iterations_to_accuse(),
            _ => 0,
        }
    }

    fn iterations_to_conclude(&self) -> u64 {
        judge::iterations_to_conclude(self.settings.threshold, self.plan.interval())
    }

    /// Whether what has to be found cannot be within the budget.
    ///
    /// Where a profile is sampled and no threshold was set, a leak that is much larger
    /// than the coarsest one would still be found, so the budget is spent.
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

    /// After a pilot, if it could be made: begins again with a profile that is fast enough
    /// for the ladder, if there is one.
    ///
    /// This is for iterations that allocate so much that an exact ladder has too few rungs
    /// for any verdict.
    pub(crate) fn faster(&self, pilot: Option<Pilot>, enough: Enough) -> Stop {
        #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
        let seconds = self.settings.budget.as_secs_f64() / MARGIN / enough.iterations as f64;
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

    /// Where memory ran out: begins again with a profile that takes less, unless this one
    /// has come far enough for a verdict.
    pub(crate) fn out_of_memory(&self, last: Option<&Rung>) -> Stop {
        let done = last.map_or(0, |rung| rung.iterations);
        let less = || self.with_less_memory(last);
        // No coarser threshold is taken for want of memory.
        let enough = judge::iterations_to_settle(self.settings.threshold, self.plan.interval());
        let less = (done < enough).then(less).flatten();
        less.unwrap_or(Stop::End(LadderEnd::Memory))
    }

    /// Begins again with a profile that takes less memory, if there is one and it may be
    /// chosen.
    ///
    /// Where what the workload itself keeps comes near the limit, none would do.
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

    /// Where a ladder ended: begins again exactly, if that may be chosen, where so many
    /// threads ended before a sampled profile could have them.
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

/// Whether a ladder on which something was *regressed* after so many rungs has yet to go on: for
/// an octave, and what it shows then counts. A leak is twice as large by then. What only happened
/// to grow hardly ever goes on.
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
    };

    const CLIMB: Next = Next::Climb {
        is_late: false,
        accused_at: None,
    };

    /// A budget of 10 seconds, a timeout of 90, a memory limit of 1 GiB.
    fn defaults() -> Effective {
        Effective::of(&Settings::default(), 1 << 30).unwrap()
    }

    fn with<T>(mut value: T, change: impl FnOnce(&mut T)) -> T {
        change(&mut value);
        value
    }

    /// Where a ladder may be.
    #[derive(Clone, Debug)]
    enum Now<'a> {
        Before(Before<'a>, Verdict),
        /// With the rung's number, the threads that are listed, and whether nothing grows.
        After(Rung, usize, u64, bool),
        OutOfMemory(Rung),
        Piloted(Option<Pilot>, Enough),
        /// So many threads were too short to be sampled.
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
            // What grows has to go on for an octave.
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
            // Others took the time.
            (free, exact, before(starved), "climb late"),
            (free, exact, before(ran_out), "Budget"),
            (free, exact, before(hung), "Budget"),
            (exactly, exact, before(late), "Budget"),
            (short, exact, before(AT), "Iterations"),
            (free, exact, before(threads), "Threads"),
            (free, exact, before(files), "Descriptors"),
            // Three budgets, and more.
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
                may_coarsen: true,
                today: None,
            };
            judge(&observed(rungs), &Baseline::default(), &policy).verdict
        };
        let settings = defaults();
        let terms = Terms {
            settings: &settings,
            plan: Plan::EXACT,
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
