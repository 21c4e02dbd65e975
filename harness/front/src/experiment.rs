//! What an experiment at the top of a ladder found, and what that changes in a report.

use std::time::Duration;

use plimsoll_core::judge::Verdict;
use plimsoll_core::ladder::RUNGS_PER_OCTAVE;
use plimsoll_core::report::{Clock, Finding, Rung, Subject, units};
use plimsoll_core::{FoldedStack, Law, SmallMap, Tally};

use crate::clock::{self, Octaves, Stretch, Told};

/// What was alive after a stretch.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) stretch: Stretch,
    /// The generation of the objects that were born in the stretch.
    pub(crate) generation: usize,
    /// By generation.
    pub(crate) stacks: SmallMap<FoldedStack, SmallMap<usize, Tally>>,
    /// The threads, descriptors and the like.
    pub(crate) rung: Rung,
}

/// An experiment that tells growth with time from growth with iterations.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) octaves: Octaves,
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
    /// Returns what is alive of a finding beyond what was alive at the last rung.
    pub(crate) fn beyond(&self, finding: &Finding) -> Tally {
        let level = match finding.subject {
            Subject::Resource(resource) => self.rung.resource(resource).unwrap_or_default(),
            _ => self.sum(&finding.subject, |_| true),
        };
        level.saturating_sub(finding.levels.last().copied().unwrap_or_default())
    }

    /// Returns what is alive of the objects of a stack or site that were born in a stretch.
    fn born(&self, subject: &Subject, stretch: &Snapshot) -> Tally {
        self.sum(subject, |generation| generation == stretch.generation)
    }

    /// Returns whether objects that were an octave old when a stretch began have gone since then:
    /// half of them, or half as many as came in the stretch.
    fn has_lost(&self, finding: &Finding, stretch: &Snapshot, came: Tally) -> bool {
        let older = finding.survivors.split_last().map(|(_, older)| older);
        let mut before = Tally::default();
        let older = older.into_iter().flatten();
        older.for_each(|octave| before += octave.alive);
        let is_older = |generation| generation + RUNGS_PER_OCTAVE < stretch.generation;
        let lost = before.saturating_sub(self.sum(&finding.subject, is_older));
        lost.objects > 0 && 2 * lost.objects >= came.objects.min(before.objects)
    }

    fn sum(&self, subject: &Subject, wanted: impl Fn(usize) -> bool) -> Tally {
        let of = self.stacks.iter();
        let of = of.filter(|(stack, _)| subject.covers(stack));
        let born = of
            .flat_map(|(_, born)| born.iter())
            .filter(|(one, _)| wanted(*one));
        let mut sum = Tally::default();
        born.for_each(|(_, alive)| sum += *alive);
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
        let may_be_clock = |finding: &Finding| {
            let (told, _) = self.told(finding, false);
            matches!(told, Some(Told::Clock | Told::Nothing))
        };
        let is_beside_clock = findings.iter().any(may_be_clock);
        let told: Vec<_> = findings
            .iter()
            .map(|finding| self.told(finding, is_beside_clock))
            .collect();
        let may_end = |(finding, (told, _)): &(&Finding, &(Option<Told>, _))| {
            finding.verdict == Verdict::Inconclusive && finding.objects_law == Law::Filling
                || matches!(told, Some(Told::Clock | Told::Nothing | Told::Ended))
        };
        let contents = findings.iter().zip(&told).filter(may_end);
        let contents: Vec<Finding> = contents.map(|(finding, _)| finding.clone()).collect();
        let mut told = told.into_iter();
        findings.retain_mut(|finding| {
            let (mut told, clock) = told.next().unwrap_or_default();
            if matches!(told, None | Some(Told::Iterations))
                && contents.iter().any(|one| clock::may_list(finding, one))
            {
                told = Some(Told::Nothing);
            }
            let what = match finding.is_heap() {
                true => format!("what {} allocates", finding.name()),
                false => finding.name().to_owned(),
            };
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
                    enough(self.octaves.enough(finding));
                    let note = format!("{what} may grow with time or with iterations");
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
                Some(Told::Ended) => {
                    let iterations = self.fast.as_ref().map_or(0, |fast| fast.stretch.iterations);
                    notes.push(format!(
                        "{what} grew until the ladder ended, and no more in {} iterations after \
                         that",
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
    fn told(&self, finding: &Finding, is_beside_clock: bool) -> (Option<Told>, Option<Clock>) {
        let Some(taken) = &self.slow else {
            return (self.octaves.told_without(finding, is_beside_clock), None);
        };
        let counts_births = self.octaves.counts_births(finding);
        let after = self.fast.as_ref().unwrap_or(taken);
        let born = |stretch: &Snapshot| after.born(&finding.subject, stretch);
        let came = match counts_births {
            true => born(taken),
            false => taken.beyond(finding),
        };
        let returned = |fast: &Snapshot| match counts_births {
            true => born(fast),
            false => fast.beyond(finding).saturating_sub(came),
        };
        let fast = self.fast.as_ref();
        let fast = fast.map(|fast| (&fast.stretch, returned(fast)));
        let slow = (&taken.stretch, came);
        let told = match self.octaves.told(finding, slow, fast, is_beside_clock) {
            // A window of time, which may be full.
            Some(Told::Clock) if counts_births && after.has_lost(finding, taken, came) => {
                Some(Told::Nothing)
            }
            told => told,
        };
        (told, self.octaves.clock(finding, slow, self.followed))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::baseline::Baseline;
    use plimsoll_core::dump::SampleInterval;
    use plimsoll_core::judge::{Observed, Policy, judge};
    use plimsoll_core::ladder::rung;
    use plimsoll_core::report::Memory;
    use plimsoll_core::{Rate, Resource, Series, to_f64};
    use std::time::Instant;

    use super::*;

    /// How many objects there are after so many seconds and iterations.
    type Count = fn(f64, f64) -> f64;

    /// What grows in a simulated workload.
    #[derive(Clone, Copy)]
    enum World {
        /// Objects of which so many are alive.
        Alive(Count),
        /// Objects of which so many have ever come to stay, and the newest, at most this many, are
        /// alive. Beside them, each iteration allocates so many that go, of which some are alive.
        Queue(Count, f64, f64),
        /// Megabytes outside the allocator, give or take.
        Outside(Count),
        /// As `Alive`, in a list whose buffer has a stack of its own.
        Listed(Count),
    }

    /// A time at which a dump is taken, and the iterations that are done by then.
    type Dump = (Duration, u64);

    const BOUNDED: &[(&str, Count)] = &[
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
        ("jobs that are due after 6 s", |t, n| {
            (n * (6.0 / t).min(1.0)).floor()
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

    const UNBOUNDED: &[(&str, f64, Count)] = &[
        ("something each second", 1.0, |t, _| t.floor()),
        ("something each 20 ms", 50.0, |t, _| (50.0 * t).floor()),
        ("three objects every 2 s", 1.5, |t, _| {
            3.0 * (t / 2.0).floor()
        }),
        ("the clock, and a cache", 2.0, |t, n| {
            (2.0 * t).floor() + n.min(500.0)
        }),
    ];

    const LEAKS: &[(&str, f64, Count)] = &[
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
        reason = "made-up numbers"
    )]
    fn whole(number: f64) -> u64 {
        number as u64
    }

    fn count(of: Count, (time, iterations): Dump) -> u64 {
        whole(of(time.as_secs_f64(), to_f64(iterations)))
    }

    /// A number below another one, from which nobody can tell the next.
    fn by_chance(seed: u64, below: u64) -> u64 {
        (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % below
    }

    impl World {
        /// Returns what is alive at the last of these dumps, by generation.
        fn alive(self, dumps: &[Dump]) -> Vec<Tally> {
            let last = *dumps.last().unwrap();
            let generations: Vec<u64> = match self {
                World::Alive(alive) | World::Outside(alive) | World::Listed(alive) => {
                    vec![count(alive, last)]
                }
                World::Queue(came, most, temporaries) => {
                    let (mut before, all) = (0, count(came, last));
                    let gone = all.saturating_sub(whole(most));
                    let born = dumps.iter().map(|dump| {
                        let after = count(came, *dump).max(gone);
                        let stayed = after - std::mem::replace(&mut before, after).max(gone);
                        let is_last = *dump == last && temporaries > 0.0;
                        let in_flight = if is_last { by_chance(last.1, 40) } else { 0 };
                        stayed + in_flight
                    });
                    born.collect()
                }
            };
            let tally = |objects| match self {
                World::Outside(_) => Tally {
                    objects: 0,
                    bytes: ((64 + objects) << 20) + by_chance(last.1, 40) * 4_096,
                },
                _ => Tally {
                    objects,
                    bytes: 64 * objects,
                },
            };
            generations.into_iter().map(tally).collect()
        }

        /// Returns the buffer of the list at the last of these dumps.
        fn buffer(self, dumps: &[Dump]) -> Option<Tally> {
            let World::Listed(alive) = self else {
                return None;
            };
            let most = dumps.iter().map(|dump| count(alive, *dump)).max()?;
            Some(Tally {
                objects: 1,
                bytes: 32 * most.next_power_of_two(),
            })
        }

        /// Returns what a ladder with these rungs has observed.
        fn observed(self, stack: &FoldedStack, dumps: &[Dump]) -> Observed {
            let rungs = 0..dumps.len();
            let alive: Vec<Vec<Tally>> = rungs.map(|at| self.alive(&dumps[..=at])).collect();
            let levels = alive.iter().map(|of| of[0]).collect();
            let mut observed = Observed {
                iterations: dumps.iter().map(|(_, iterations)| *iterations).collect(),
                ..Observed::default()
            };
            let (stack, levels) = match self {
                World::Outside(_) => {
                    let series = Series::new(levels);
                    observed.resources.insert(Resource::Outside, series);
                    return observed;
                }
                World::Alive(_) | World::Listed(_) => (stack.clone(), Series::new(levels)),
                World::Queue(came, _, temporaries) => {
                    let mut series = Series::of_births(SampleInterval::default(), &alive);
                    let (mut before, mut stayed) = (0, 0);
                    for (generation, dump) in dumps.iter().enumerate() {
                        let iterations = dump.1 - std::mem::replace(&mut before, dump.1);
                        let after = count(came, *dump);
                        let came = after - std::mem::replace(&mut stayed, after);
                        let gone = whole(to_f64(iterations) * temporaries);
                        series.add_allocated(generation, came + gone);
                    }
                    (stack.clone(), series)
                }
            };
            observed.stacks.insert(stack, levels);
            let buffers = (1..=dumps.len()).filter_map(|rungs| self.buffer(&dumps[..rungs]));
            let buffers: Vec<Tally> = buffers.collect();
            if !buffers.is_empty() {
                observed.stacks.insert(list(), Series::new(buffers));
            }
            observed
        }
    }

    fn list() -> FoldedStack {
        FoldedStack(vec!["a".to_owned(), "list".to_owned()])
    }

    /// Takes a ladder whose iterations take so long, and the experiment at its top.
    fn finding(world: World, each: Duration, budget: Duration) -> Option<Finding> {
        let stack = FoldedStack(vec!["a".to_owned(), "b".to_owned()]);
        let start = Instant::now();
        let at = |iterations: u64| each * u32::try_from(iterations).unwrap();
        let (mut dumps, mut accused_at): (Vec<Dump>, Option<usize>) = Default::default();
        let (observed, mut findings) = loop {
            let policy = Policy {
                accuse_from: 1_600,
                accuse_anew_from: 16_000,
                ..Policy::TOP
            };
            let next = rung(dumps.len());
            let on_trial = accused_at.is_some_and(|at| dumps.len() < at + RUNGS_PER_OCTAVE);
            if at(next) > budget && !on_trial {
                let observed = world.observed(&stack, &dumps);
                let judged = judge(&observed, &Baseline::default(), &policy);
                if judged.verdict != Verdict::Regressed || accused_at.is_some() {
                    break (observed, judged.findings);
                }
                accused_at = Some(dumps.len());
            }
            dumps.push((at(next), next));
        };
        let reached: Vec<Instant> = dumps.iter().map(|(time, _)| start + *time).collect();
        let octaves = Octaves::last(&reached, &observed, &findings)?;
        let mut run = |stretch: Stretch| {
            let (now, done) = *dumps.last().unwrap();
            let least = each * u32::try_from(stretch.iterations).unwrap();
            dumps.push((now + stretch.time.max(least), done + stretch.iterations));
            let alive = world.alive(&dumps);
            let mut stacks: SmallMap<FoldedStack, SmallMap<usize, Tally>> = SmallMap::default();
            for (generation, alive) in alive.iter().enumerate() {
                stacks.or_default(stack.clone()).insert(generation, *alive);
            }
            if let Some(buffer) = world.buffer(&dumps) {
                stacks.or_default(list()).insert(0, buffer);
            }
            Snapshot {
                stretch,
                generation: dumps.len() - 1,
                rung: Rung {
                    memory: Some(Memory {
                        outside: Some(alive[0].bytes),
                        ..Memory::default()
                    }),
                    ..rung_at(done)
                },
                stacks,
            }
        };
        let slow = octaves.slow(&findings, budget).map(&mut run);
        let needs_fast = findings.iter().filter(|one| {
            let slow = slow.as_ref();
            slow.is_some_and(|slow| octaves.needs_fast(one, &slow.stretch, slow.beyond(one)))
        });
        let fast = octaves.fast(needs_fast, budget / 2).map(run);
        let followed = at(*observed.iterations.last()?);
        let experiment = Experiment {
            octaves,
            followed: followed
                + slow
                    .as_ref()
                    .map_or(Duration::ZERO, |slow| slow.stretch.time),
            slow,
            fast,
        };
        experiment.correct(&mut findings);
        let not_within = |one: &Finding| one.verdict > Verdict::Within;
        let findings = findings.into_iter().filter(not_within);
        findings.max_by_key(|one| (one.verdict, one.clock.is_some()))
    }

    fn rung_at(iterations: u64) -> Rung {
        Rung {
            iterations,
            ..Rung::default()
        }
    }

    fn paces() -> impl Iterator<Item = Duration> {
        [30, 100, 325, 700, 1_122, 2_000, 5_000]
            .into_iter()
            .map(Duration::from_micros)
    }

    const SHORT: Duration = Duration::from_secs(10);
    const LONG: Duration = Duration::from_secs(180);
    const BUDGETS: [Duration; 3] = [SHORT, Duration::from_secs(47), LONG];

    const QUEUES: &[(&str, f64, Count)] = &[
        ("a window of 10 s", 10.0, |t, _| t.floor()),
        ("a window of 60 s", 60.0, |t, _| t.floor()),
        ("a window of 60 s, ten a second", 600.0, |t, _| {
            (10.0 * t).floor()
        }),
        ("three at once, of the last 21 s", 63.0, |t, _| {
            3.0 * t.floor()
        }),
        ("the last 63 dates", 63.0, |t, _| t.floor()),
    ];

    /// The same growth in other kinds of memory.
    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Alone,
        BesideWhatGoes,
        Outside,
        Listed,
    }

    const KINDS: [Kind; 4] = [
        Kind::Alone,
        Kind::BesideWhatGoes,
        Kind::Outside,
        Kind::Listed,
    ];

    impl Kind {
        fn world(self, came: Count) -> World {
            match self {
                Kind::Alone => World::Alive(came),
                Kind::BesideWhatGoes => World::Queue(came, f64::INFINITY, 3.0),
                Kind::Outside => World::Outside(came),
                Kind::Listed => World::Listed(came),
            }
        }

        fn count(self, rate: Rate) -> f64 {
            match self {
                Kind::Alone | Kind::BesideWhatGoes | Kind::Listed => rate.objects,
                Kind::Outside => rate.bytes / to_f64(1 << 20),
            }
        }
    }

    /// Returns whether what the clock bounds is regressed.
    fn is_regressed(world: World, each: Duration, budget: Duration) -> bool {
        let found = finding(world, each, budget);
        found.is_some_and(|one| one.verdict == Verdict::Regressed)
    }

    #[test]
    fn nothing_that_the_clock_bounds_is_regressed() {
        for each in paces() {
            for budget in BUDGETS {
                for (name, alive) in BOUNDED {
                    for (world, of) in [
                        (World::Alive(*alive), "heap"),
                        (World::Outside(*alive), "outside"),
                        (World::Listed(*alive), "listed"),
                    ] {
                        let is_regressed = is_regressed(world, each, budget);
                        assert!(!is_regressed, "{name}, {of}, {each:?}, {budget:?}");
                    }
                }
                for (name, most, came) in QUEUES {
                    let world = World::Queue(*came, *most, 3.0);
                    let is_regressed = is_regressed(world, each, budget);
                    assert!(!is_regressed, "{name}, {each:?}, {budget:?}");
                }
            }
        }
    }

    #[test]
    fn unbounded_growth_with_time_is_named_with_its_rate_and_ends_up_red() {
        for (name, per_second, came) in UNBOUNDED {
            for each in paces() {
                for (budget, verdict) in
                    [(SHORT, Verdict::Inconclusive), (LONG, Verdict::Regressed)]
                {
                    for of in KINDS {
                        let found = finding(of.world(*came), each, budget);
                        let at = format!("{name}, {of:?}, {each:?}, {budget:?}");
                        // Less than the threshold asks for may not be found, whether it ends or
                        // not.
                        let is_small = per_second * each.as_secs_f64() < 1e-3
                            || per_second * budget.as_secs_f64() < 30.0;
                        let is_red = |one: &Finding| one.verdict == Verdict::Regressed;
                        let Some(found) = found.filter(|one| is_red(one) || one.clock.is_some())
                        else {
                            assert!(is_small, "{at}");
                            continue;
                        };
                        assert_eq!(found.verdict, verdict, "{at}");
                        let clock = found.clock.map(|clock| of.count(clock.per_second));
                        let is_near = |rate: f64| (0.8..1.2).contains(&(rate / per_second));
                        assert!(clock.is_some_and(is_near), "{at}: {clock:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_leak_stays_one() {
        for (name, rate, came) in LEAKS {
            for each in paces() {
                for budget in BUDGETS {
                    // A ladder that is too short for the threshold has a coarser one.
                    if rate * budget.as_secs_f64() / each.as_secs_f64() < 50.0 {
                        continue;
                    }
                    for of in KINDS {
                        let found = finding(of.world(*came), each, budget);
                        let told = found.map(|one| (one.verdict, one.clock));
                        let at = format!("{name}, {of:?}, {each:?}, {budget:?}");
                        assert_eq!(told, Some((Verdict::Regressed, None)), "{at}");
                    }
                }
            }
        }
    }

    /// A few temporaries beside what stays do not hide an experiment.
    #[test]
    fn what_hardly_ever_goes_is_told() {
        for temporaries in [1e-4, 1e-2, 1.0, 100.0] {
            let world = World::Queue(|t, _| (5.0 * t).floor(), f64::INFINITY, temporaries);
            let found = finding(world, Duration::from_micros(500), SHORT);
            let told = found.map(|one| (one.verdict, one.clock.is_some()));
            assert_eq!(told, Some((Verdict::Inconclusive, true)), "{temporaries}");
        }
    }
}
