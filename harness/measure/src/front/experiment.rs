//! What an experiment at the top of a ladder found, and what that changes in a report.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Clock, Finding, Rung, Subject, units};
use plimsoll_core::{FoldedStack, Tally, fold};

use super::clock::{Octave, Stretch, Told};

/// What was alive after a stretch.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) stretch: Stretch,
    pub(crate) stacks: BTreeMap<FoldedStack, Tally>,
    /// The threads, descriptors and the like.
    pub(crate) rung: Rung,
}

/// An experiment that tells growth with time from growth with iterations.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) octave: Octave,
    /// `None` if nothing needed it, or if there was no time for it.
    pub(crate) slow: Option<Snapshot>,
    pub(crate) fast: Option<Snapshot>,
    /// How long the ladder and the slow stretch took, from the first rung on.
    pub(crate) followed: Duration,
}

/// What an experiment has changed.
#[derive(Debug, Default)]
pub(crate) struct Corrected {
    pub(crate) notes: Vec<String>,
    /// The budget that would decide what is not decided.
    pub(crate) enough: Option<Duration>,
}

impl Snapshot {
    /// Returns what was alive of a subject.
    pub(crate) fn level(&self, subject: &Subject) -> Tally {
        let is_of = |stack: &FoldedStack| match subject {
            Subject::Stack(own) => own == stack,
            Subject::Site { frames, .. } => fold::site(stack) == *frames,
            Subject::Resource(_) => false,
        };
        if let Subject::Resource(resource) = subject {
            return self.rung.resource(*resource).unwrap_or_default();
        }
        let of = self.stacks.iter().filter(|(stack, _)| is_of(stack));
        let mut sum = Tally::default();
        of.for_each(|(_, level)| sum += *level);
        sum
    }
}

impl Experiment {
    /// Sets the verdicts of findings that do not grow with iterations, and removes those that
    /// have stopped growing.
    pub(crate) fn correct(&self, findings: &mut Vec<Finding>) -> Corrected {
        let mut corrected = Corrected::default();
        let mut enough = |budget: Duration| {
            let most = corrected.enough.unwrap_or_default();
            corrected.enough = Some(most.max(budget));
        };
        let notes = &mut corrected.notes;
        findings.retain_mut(|finding| {
            let (told, clock) = self.told(finding);
            match told {
                None | Some(Told::Iterations) => {}
                Some(Told::Clock) => {
                    finding.clock = clock;
                    if !clock.is_some_and(|clock| clock.is_long()) {
                        finding.verdict = Verdict::Inconclusive;
                        enough(Duration::from_secs(Clock::LONG));
                    }
                }
                Some(Told::Nothing) => {
                    finding.verdict = Verdict::Inconclusive;
                    enough(self.octave.enough(finding));
                    notes.push(format!(
                        "{} grows so seldom that growth with time was not told from growth with \
                         iterations",
                        finding.name()
                    ));
                }
                Some(Told::Ended) => {
                    let iterations = self.fast.as_ref().map_or(0, |fast| fast.stretch.iterations);
                    notes.push(format!(
                        "{} grew until the ladder ended, and no more in {} iterations after that",
                        finding.name(),
                        units::count(iterations)
                    ));
                    return false;
                }
            }
            true
        });
        corrected
    }

    /// Returns what the experiment tells of a finding, and its rate with time.
    fn told(&self, finding: &Finding) -> (Option<Told>, Option<Clock>) {
        let Some(slow) = &self.slow else {
            return (self.octave.told_without(finding), None);
        };
        let level = slow.level(&finding.subject);
        let fast = self.fast.as_ref();
        let fast = fast.map(|fast| (&fast.stretch, fast.level(&finding.subject)));
        let told = self.octave.told(finding, &slow.stretch, level, fast);
        let clock = self
            .octave
            .clock(finding, &slow.stretch, level, self.followed);
        (told, Some(clock))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::baseline::Baseline;
    use plimsoll_core::judge::{Observed, Policy, judge};
    use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, rung};
    use plimsoll_core::report::Survivors;
    use plimsoll_core::{Series, Tally};
    use std::time::Instant;

    use super::*;

    /// How many objects are alive after so many seconds and iterations.
    type World = fn(f64, f64) -> f64;

    const BOUNDED: &[(&str, World)] = &[
        ("the 63 dates of a header table", |t, _| t.floor().min(63.0)),
        ("a window of 10 s", |t, _| t.floor().min(10.0)),
        ("a window of 60 s", |t, _| t.floor().min(60.0)),
        ("a window of 60 s, ten a second", |t, _| {
            (10.0 * t).floor().min(600.0)
        }),
        ("buckets of a TTL of 30 s", |t, _| 3.0 * t.floor().min(31.0)),
        ("clients that a rate limiter forgets", |t, _| {
            (2.0 * t).floor().min(30.0)
        }),
        ("a DNS cache with a TTL of 25 s", |t, _| {
            (1.5 * t).floor().min(37.0)
        }),
        ("cancelled timers that are due after 10 s", |t, n| {
            (n * (10.0 / t).min(1.0)).floor()
        }),
        ("heartbeats of the last 21 s", |t, _| {
            (4.0 * t).floor().min(84.0)
        }),
        ("a table that is full when the ladder ends", |t, _| {
            t.floor().min(20.0)
        }),
        ("a batch that is flushed every 8 s", |t, _| {
            (5.0 * (t % 8.0)).floor()
        }),
        ("sessions of the last 90 s", |t, _| t.floor().min(90.0)),
    ];

    const UNBOUNDED: &[(&str, f64, World)] = &[
        ("something each second", 1.0, |t, _| t.floor()),
        ("something each 20 ms", 50.0, |t, _| (50.0 * t).floor()),
        ("three objects every 2 s", 1.5, |t, _| {
            3.0 * (t / 2.0).floor()
        }),
        ("the clock, and a cache", 2.0, |t, n| {
            (2.0 * t).floor() + n.min(500.0)
        }),
    ];

    const LEAKS: &[(&str, f64, World)] = &[
        ("in each iteration", 1.0, |_, n| n),
        ("in each tenth", 0.1, |_, n| (n / 10.0).floor()),
        ("in each thousandth", 0.001, |_, n| (n / 1_000.0).floor()),
        ("two in each hundredth", 0.02, |_, n| {
            2.0 * (n / 100.0).floor()
        }),
        ("after a cache", 0.02, |_, n| {
            n.min(300.0) + (n / 50.0).floor()
        }),
    ];

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "made-up numbers"
    )]
    fn level(world: World, time: Duration, iterations: u64) -> Tally {
        let objects = world(time.as_secs_f64(), iterations as f64) as u64;
        Tally {
            objects,
            bytes: 64 * objects,
        }
    }

    fn finding(world: World, each: Duration, budget: Duration) -> Option<Finding> {
        finding_with(world, each, budget, &[])
    }

    /// Takes a ladder whose iterations take so long, and the experiment at its top.
    fn finding_with(
        world: World,
        each: Duration,
        budget: Duration,
        survivors: &[Survivors],
    ) -> Option<Finding> {
        let stack = FoldedStack(vec!["a".to_owned(), "b".to_owned()]);
        let start = Instant::now();
        let at = |iterations: u64| each * u32::try_from(iterations).unwrap();
        let (mut iterations, mut accused_at): (Vec<u64>, Option<usize>) = Default::default();
        let findings = loop {
            let levels = iterations.iter().map(|n| level(world, at(*n), *n));
            let observed = Observed {
                stacks: BTreeMap::from([(stack.clone(), Series::new(levels.collect()))]),
                iterations: iterations.clone(),
                ..Observed::default()
            };
            let policy = Policy {
                at_top: true,
                accuse_from: 1_600,
                accuse_anew_from: 16_000,
                may_coarsen: true,
                threshold: None,
                outside: None,
                today: None,
            };
            let next = at(rung(iterations.len()));
            let on_trial = accused_at.is_some_and(|at| iterations.len() < at + RUNGS_PER_OCTAVE);
            if next > budget && !on_trial {
                let judged = judge(&observed, &Baseline::default(), &policy);
                if judged.verdict != Verdict::Regressed || accused_at.is_some() {
                    break judged.findings;
                }
                accused_at = Some(iterations.len());
            }
            iterations.push(rung(iterations.len()));
        };
        let mut findings = findings;
        for finding in &mut findings {
            finding.survivors = survivors.to_vec();
        }
        let rung = |iterations| Rung {
            iterations,
            ..Rung::default()
        };
        let rungs: Vec<Rung> = iterations.iter().map(|n| rung(*n)).collect();
        let reached: Vec<Instant> = iterations.iter().map(|n| start + at(*n)).collect();
        let octave = Octave::last(&rungs, &reached)?;
        let (mut done, mut now) = (*iterations.last()?, at(*iterations.last()?));
        let mut run = |stretch: Stretch| {
            done += stretch.iterations;
            now += stretch
                .time
                .max(each * u32::try_from(stretch.iterations).unwrap());
            let snapshot = Snapshot {
                stretch,
                stacks: BTreeMap::from([(stack.clone(), level(world, now, done))]),
                rung: rung(done),
            };
            (snapshot, now)
        };
        let slow = octave.slow(&findings, budget).map(&mut run);
        let followed = slow.as_ref().map_or(Duration::ZERO, |(_, now)| *now);
        let slow = slow.map(|(snapshot, _)| snapshot);
        let stands = findings.iter().filter(|one| {
            let slow = slow.as_ref();
            slow.is_some_and(|slow| {
                octave.stands_still(one, &slow.stretch, slow.level(&one.subject))
            })
        });
        let fast = octave.fast(stands, budget / 2).map(run);
        let experiment = Experiment {
            octave,
            slow,
            fast: fast.map(|(snapshot, _)| snapshot),
            followed,
        };
        experiment.correct(&mut findings);
        findings
            .into_iter()
            .find(|one| one.verdict > Verdict::Within)
    }

    fn paces() -> impl Iterator<Item = Duration> {
        [30, 100, 700, 2_000, 5_000]
            .into_iter()
            .map(Duration::from_micros)
    }

    const SHORT: Duration = Duration::from_secs(10);
    const LONG: Duration = Duration::from_secs(180);

    #[test]
    fn nothing_that_the_clock_bounds_is_regressed() {
        for (name, world) in BOUNDED {
            for each in paces() {
                for budget in [SHORT, LONG] {
                    let found = finding(*world, each, budget);
                    let verdict = found.as_ref().map(|one| one.verdict);
                    let is_regressed = verdict == Some(Verdict::Regressed);
                    assert!(!is_regressed, "{name}, {each:?}, {budget:?}: {found:#?}");
                }
            }
        }
    }

    #[test]
    fn unbounded_growth_with_time_is_named_with_its_rate_and_ends_up_red() {
        for (name, per_second, world) in UNBOUNDED {
            for each in paces() {
                for (budget, verdict) in
                    [(SHORT, Verdict::Inconclusive), (LONG, Verdict::Regressed)]
                {
                    let found = finding(*world, each, budget);
                    // Less than the threshold asks for may not be found, whether it ends or not.
                    let is_small = per_second * each.as_secs_f64() < 1e-3
                        || per_second * budget.as_secs_f64() < 30.0;
                    let is_red = |one: &Finding| one.verdict == Verdict::Regressed;
                    let Some(found) = found.filter(|one| is_red(one) || one.clock.is_some()) else {
                        assert!(is_small, "{name}, {each:?}, {budget:?}");
                        continue;
                    };
                    assert_eq!(found.verdict, verdict, "{name}, {each:?}, {budget:?}");
                    let clock = found.clock.map(|clock| clock.per_second.objects);
                    let is_near = |rate: f64| (0.8..1.2).contains(&(rate / per_second));
                    assert!(clock.is_some_and(is_near), "{name}, {each:?}: {clock:?}");
                }
            }
        }
    }

    #[test]
    fn a_leak_stays_one() {
        for (name, rate, world) in LEAKS {
            for each in paces() {
                for budget in [SHORT, LONG] {
                    let found = finding(*world, each, budget);
                    let told = found.map(|one| (one.verdict, one.clock));
                    // A ladder that is too short for the threshold has a coarser one.
                    let events = rate * budget.as_secs_f64() / each.as_secs_f64();
                    if events > 50.0 {
                        let at = format!("{name}, {each:?}, {budget:?}");
                        assert_eq!(told, Some((Verdict::Regressed, None)), "{at}");
                    }
                }
            }
        }
    }
    /// A few temporaries beside what stays are no churn, in which chance would hide an experiment.
    #[test]
    fn what_hardly_ever_goes_is_told() {
        let told = |allocated| {
            let octave = |alive| Survivors {
                from: 0,
                to: 0,
                allocated: Some(allocated),
                alive: Tally {
                    objects: alive,
                    bytes: 0,
                },
            };
            let survivors = [octave(5), octave(10)];
            let world: World = |t, _| t.floor();
            let found = finding_with(world, Duration::from_micros(500), SHORT, &survivors);
            found.map(|one| (one.verdict, one.clock.is_some()))
        };
        assert_eq!(told(10), Some((Verdict::Inconclusive, true)));
        assert_eq!(told(1_000), Some((Verdict::Regressed, false)));
    }
}
