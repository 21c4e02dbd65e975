//! Drives one subject up the ladder, and stops where it should.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_core::baseline::{Baseline, Date};
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::fold::Normalization;
use plimsoll_core::judge::{self, Policy, Verdict, judge};
use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, rung};
use plimsoll_core::layout;
use plimsoll_core::report::{Check, CheckOutcome, Failure, LadderEnd, Rung};

use super::observe;
use super::plan::{self, Pilot, Plan};
use super::policy::{self, Before, Limits, Next};
use super::process::{Answer, Subject, dump_command, ending};
use super::profile::{Greeting, Profile};
use super::settings::Effective;
use crate::subject::channel::Command;
use crate::subject::unwind::Walks;

/// How far a ladder came, and why no further.
#[derive(Debug)]
pub(crate) struct Climb {
    pub(crate) greeting: Greeting,
    pub(crate) profile: Profile,
    pub(crate) end: LadderEnd,
    pub(crate) failure: Option<Failure>,
    /// The check that failed, if one did.
    pub(crate) broken: Option<Check>,
    /// What would have been enough for a verdict, by the pace that it had.
    pub(crate) enough: Option<Enough>,
    /// How long it has taken, and how fast it was.
    pub(crate) pace: Pace,
    /// How long the ladder took, where that is more than its budget.
    pub(crate) overtime: Option<Duration>,
    pub(crate) plan: Plan,
}

/// A ladder that would do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enough {
    /// How it would be profiled.
    pub(crate) plan: Plan,
    pub(crate) iterations: u64,
    pub(crate) time: Duration,
}

/// What came of trying to climb.
pub(crate) enum Attempt {
    Climbed(Box<Climb>),
    /// Profiled so it will not do.
    Again(Again),
}

/// A better way to profile a scenario.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) plan: Plan,
    /// Why, where somebody needs to know.
    pub(crate) why: Option<String>,
    /// What would have been enough as it was.
    pub(crate) enough: Option<Enough>,
}

/// What a climb needs beside its subject.
pub(crate) struct Route<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) settings: &'a Effective,
    pub(crate) plan: Plan,
    pub(crate) baseline: &'a Baseline,
    pub(crate) normalization: &'a Normalization,
    pub(crate) today: Option<Date>,
}

/// Ends a climb before its time.
enum Stop {
    End(LadderEnd),
    Failed(Failure),
    Broken(Check),
    Again(Again),
}

/// Takes a subject up the ladder.
pub(crate) fn climb(subject: &mut Subject<'_>, route: &Route<'_>) -> Attempt {
    let greeting = match subject.wait(route.settings.timeout, u64::MAX) {
        Answer::Line(line) => Greeting::parse(&line).unwrap_or_default(),
        other => {
            return Attempt::Climbed(Box::new(Climb {
                profile: Profile::new(&Greeting::default(), route.plan),
                greeting: Greeting::default(),
                end: LadderEnd::Failure,
                failure: Some(failure(subject, route, other, Phase::Starting)),
                broken: None,
                enough: None,
                pace: Pace::default(),
                overtime: None,
                plan: route.plan,
            }));
        }
    };
    let mut climb = Climb {
        profile: Profile::new(&greeting, route.plan),
        greeting,
        end: LadderEnd::Failure,
        failure: None,
        broken: None,
        enough: None,
        pace: Pace::default(),
        overtime: None,
        plan: route.plan,
    };
    let stop = match climb.greeting.profiling_problem(route.plan) {
        Some(problem) => Stop::Broken(broken("profiling", problem)),
        None => match ascend(subject, route, &mut climb) {
            Ok(end) => with_every_thread(route, &climb.profile).unwrap_or(Stop::End(end)),
            Err(stop) => stop,
        },
    };
    match stop {
        Stop::End(end) => climb.end = end,
        Stop::Failed(failure) => climb.failure = Some(failure),
        Stop::Broken(check) => climb.broken = Some(check),
        Stop::Again(again) => return Attempt::Again(again),
    }
    Attempt::Climbed(Box::new(climb))
}

fn broken(name: &str, detail: String) -> Check {
    Check {
        name: name.to_owned(),
        outcome: CheckOutcome::Failed,
        detail,
    }
}

fn ascend(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    climb: &mut Climb,
) -> Result<LadderEnd, Stop> {
    let settings = route.settings;
    let profile = &mut climb.profile;
    match subject.ask(&Command::SetUp, settings.timeout, settings.memory_limit) {
        Answer::Line(line) if line.starts_with("done") => {}
        other => {
            let again = match other {
                Answer::OutOfMemory => with_less_memory(route, profile),
                _ => None,
            };
            let failed = |subject| Stop::Failed(failure(subject, route, other, Phase::SettingUp));
            return Err(again.unwrap_or_else(|| failed(subject)));
        }
    }
    let limits = Limits {
        budget: settings.budget,
        timeout: settings.timeout,
        max_iterations: settings.max_iterations,
        spend_budget: settings.spend_budget,
        threads: observe::thread_limit(),
        descriptors: observe::descriptor_limit(subject.process()),
    };
    let to_settle = judge::iterations_to_settle(settings.threshold, route.plan.interval());
    let to_trust = judge::iterations_to_settle(settings.threshold, SampleInterval::default());
    let started = Instant::now();
    let mut ran = Duration::ZERO;
    climb.pace = pilot(subject, route, profile)?;
    for k in 0.. {
        let last = profile.rungs.last();
        let done = last.map_or(0, |rung| rung.iterations);
        let next = rung(k);
        climb.pace.reached(done, started.elapsed());
        climb.enough = climb.pace.enough(route);
        let at = Before {
            done,
            next,
            age: subject.age(),
            elapsed: started.elapsed(),
            ran,
            ahead: climb.pace.predict(next - done),
            threads: last.map_or(0, |rung| rung.threads),
            descriptors: last.map_or(0, |rung| rung.descriptors),
        };
        if let Some(enough) = climb.enough
            && is_out_of_reach(route, &enough, next)
        {
            if let Some(again) = with_less_time(subject, route, profile, &enough, done) {
                return Err(again);
            }
            return Ok(LadderEnd::OutOfReach);
        }
        let is_late = match limits.next(&at, || verdict(profile, route, Top::From(to_trust))) {
            Next::End(end) => return Ok(end),
            Next::Climb { is_late } => is_late,
        };
        let run = Instant::now();
        let waited = observe::waited(subject.process());
        match subject.ask(&Command::Run(next), settings.timeout, settings.memory_limit) {
            Answer::Line(line) if line.starts_with("done") => {}
            Answer::OutOfMemory => {
                let needed =
                    judge::iterations_to_conclude(settings.threshold, route.plan.interval());
                return match with_less_memory(route, profile).filter(|_| done < needed) {
                    Some(again) => Err(again),
                    None => Ok(LadderEnd::Memory),
                };
            }
            other => return Err(Stop::Failed(failure(subject, route, other, Phase::Running))),
        }
        let running = run.elapsed();
        let waited = observe::waited(subject.process()).saturating_sub(waited);
        ran += running.saturating_sub(waited);
        let took = started.elapsed();
        climb.overtime = (is_late && took > settings.budget).then_some(took);
        let rest = Instant::now();
        observe::settle(subject.process(), settings.settle);
        take_dump(subject, route, profile, next)?;
        let live = profile.rungs.last().map_or(0, |rung| rung.threads);
        if plan::fills_with_threads(route.plan, next, profile.threads_listed, live) {
            let plan = Plan {
                keeps_stacks: false,
                ..route.plan
            };
            return Err(Stop::Again(Again {
                plan,
                why: None,
                enough: None,
            }));
        }
        if next >= to_settle
            && profile.rungs.len() > 3 * RUNGS_PER_OCTAVE
            && settled(profile, route)
        {
            return Ok(LadderEnd::Settled);
        }
        climb.pace.note(next - done, running, rest.elapsed());
    }
    Ok(LadderEnd::Iterations)
}

/// Runs the few iterations before the first rung, to see how long they take.
fn pilot(subject: &mut Subject<'_>, route: &Route<'_>, profile: &Profile) -> Result<Pace, Stop> {
    let settings = route.settings;
    let mut pace = Pace::default();
    let mut done = 0;
    for until in [1, 4] {
        if until > settings.max_iterations {
            break;
        }
        let run = Instant::now();
        match subject.ask(
            &Command::Run(until),
            settings.timeout,
            settings.memory_limit,
        ) {
            Answer::Line(line) if line.starts_with("done") => {}
            Answer::OutOfMemory => {
                return Err(
                    with_less_memory(route, profile).unwrap_or(Stop::End(LadderEnd::Memory))
                );
            }
            other => return Err(Stop::Failed(failure(subject, route, other, Phase::Running))),
        }
        // The first is like no other.
        pace = Pace::default();
        pace.note(until - done, run.elapsed(), Duration::ZERO);
        done = until;
    }
    Ok(pace)
}

/// Whether what has to be found cannot be within the budget.
///
/// Where a profile is sampled and no threshold was set, a leak that is much larger
/// than the coarsest one would still be found, so the budget is spent.
fn is_out_of_reach(route: &Route<'_>, enough: &Enough, next: u64) -> bool {
    let settings = route.settings;
    let is_asked_for = settings.threshold.is_some() || route.plan.is_exact();
    is_asked_for
        && !settings.spend_budget
        && route.plan.may_be_sampled()
        && next < enough.iterations
        && enough.iterations <= settings.max_iterations
        && enough.time / policy::PATIENCE > settings.budget
}

/// Begins again with a profile that takes less memory, if there is one and it may be
/// chosen.
///
/// Where what the workload itself keeps comes near the limit, none would do.
fn with_less_memory(route: &Route<'_>, profile: &Profile) -> Option<Stop> {
    let limit = route.settings.memory_limit;
    let kept = profile.rungs.last().map_or(0, |rung| rung.live.bytes);
    (route.settings.plan.is_none() && kept < limit / 2).then_some(())?;
    let limit = limit >> 20;
    if !route.plan.may_be_sampled() {
        let detail = format!(
            "threads end before their first sample, so no sampled profile has them, and an exact \
             one takes more than the {limit} MiB of memory there are: raise `memory-limit`, or \
             have the workload use threads again"
        );
        return Some(Stop::Broken(broken("coverage", detail)));
    }
    let plan = route.plan.coarser()?;
    let profile = match route.plan.is_exact() {
        true => "an exact profile".to_owned(),
        false => format!("a sample every {} bytes", route.plan.interval()),
    };
    let why = format!("{profile} takes more than the {limit} MiB of memory there are");
    Some(Stop::Again(Again {
        plan,
        why: Some(why),
        enough: None,
    }))
}

/// Begins again exactly, if that may be chosen, where threads ended before a sampled
/// profile could have them.
fn with_every_thread(route: &Route<'_>, profile: &Profile) -> Option<Stop> {
    route.settings.plan.is_none().then_some(())?;
    let threads = profile.short_threads()?;
    let plan = route.plan.with_every_thread()?;
    let why = format!(
        "measured again with an exact profile: with a sample every {} bytes, memory grew outside \
         the profile while {threads} threads started and ended, and a thread that ends before its \
         first sample is in no sampled profile",
        route.plan.interval()
    );
    Some(Stop::Again(Again {
        plan,
        why: Some(why),
        enough: None,
    }))
}

/// By how much a sampled ladder should be faster than it must be: paces differ.
const MARGIN: f64 = 1.5;

/// Begins again with a profile that is fast enough for the ladder, if there is one
/// and it may be chosen.
///
/// A sampled ladder is longer, so this is for iterations that allocate so much that
/// an exact one has too few rungs for any verdict; no threshold was set, which would
/// need them all.
fn with_less_time(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    profile: &Profile,
    enough: &Enough,
    done: u64,
) -> Option<Stop> {
    let settings = route.settings;
    let is_free = settings.plan.is_none() && settings.threshold.is_none();
    (is_free && route.plan.is_exact() && route.plan.may_be_sampled()).then_some(())?;
    let mut timed = |command: &Command| {
        let run = Instant::now();
        let answer = subject.ask(command, settings.timeout, settings.memory_limit);
        let is_done = matches!(&answer, Answer::Line(line) if line.starts_with("done"));
        is_done.then(|| run.elapsed().as_secs_f64())
    };
    // What is allocated meanwhile is in no profile, and the subject not used again.
    let from = done.max(4);
    let exact = timed(&Command::Run(from + 1))?;
    timed(&Command::Profile(false))?;
    let inactive = timed(&Command::Run(from + 2))?;
    let pilot = Pilot {
        exact,
        inactive,
        object: profile.mean_object.unwrap_or(64.0),
    };
    #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
    let seconds = settings.budget.as_secs_f64() / MARGIN / enough.iterations as f64;
    let why = format!(
        "an exact profile takes {exact:.2} s an iteration, which is too long for the budget"
    );
    Some(Stop::Again(Again {
        plan: pilot.plan_for(seconds)?,
        why: Some(why),
        enough: Some(*enough),
    }))
}

/// Dumps, observes, and takes in what the dump says.
fn take_dump(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    profile: &mut Profile,
    iterations: u64,
) -> Result<(), Stop> {
    let process = subject.process();
    let mut rung = Rung {
        iterations,
        live: plimsoll_core::Tally::default(),
        allocated: None,
        threads: observe::threads(process),
        descriptors: observe::descriptors(process),
        resident: observe::resident(process),
    };
    // Always the same path: the subject holds it, and must not grow by it.
    let path = route.folder.join(".dump");
    let kept = layout::rung_file(route.folder, iterations);
    let unwritable = |error: std::io::Error| {
        broken(
            "dump",
            format!("{} cannot be written or read: {error}", path.display()),
        )
    };
    let command = dump_command(&path).map_err(|error| Stop::Broken(unwritable(error)))?;
    match subject.ask(&command, route.settings.timeout, u64::MAX) {
        Answer::Line(line) => match line.strip_prefix("dumped ") {
            Some(numbers) => {
                let mut numbers = numbers.split(' ');
                let mut number = || numbers.next().and_then(|number| number.parse().ok());
                rung.allocated = number();
                profile.threads_ended = number().unwrap_or(0);
                profile.walks = Walks::parse(numbers);
            }
            None => {
                let reason = line.strip_prefix("undumped ").unwrap_or(&line);
                return Err(Stop::Broken(broken(
                    "dump",
                    format!(
                        "at {iterations} iterations jemalloc could not write {}: {reason}",
                        path.display()
                    ),
                )));
            }
        },
        other => return Err(Stop::Failed(failure(subject, route, other, Phase::Dumping))),
    }
    let dump = fs::rename(&path, &kept)
        .and_then(|()| fs::read(&kept))
        .map_err(|error| Stop::Broken(unwritable(error)))?;
    profile.add(&dump, rung).map_err(Stop::Broken)?;
    if !route.settings.keep_rungs {
        forget_rung(route.folder, profile);
    }
    Ok(())
}

/// Removes the dump that can no longer become *before*.
fn forget_rung(folder: &Path, profile: &Profile) {
    let old = profile.before().and_then(|before| before.checked_sub(1));
    if let Some(rung) = old.and_then(|old| profile.rungs.get(old)) {
        let _ = fs::remove_file(layout::rung_file(folder, rung.iterations));
    }
}

/// Whether nothing grows, so that there is no need to go on.
fn settled(profile: &mut Profile, route: &Route<'_>) -> bool {
    // What rises outside the profile may only be filling, as a stack may.
    verdict(profile, route, Top::Ahead) <= Verdict::Improved
        && profile.coverage().outcome != CheckOutcome::Failed
}

/// Where a ladder would end.
#[derive(Clone, Copy)]
enum Top {
    /// Not here.
    Ahead,
    /// Here, and what grows is called a leak from so many iterations on.
    From(u64),
}

/// What the stacks say so far, of a ladder that ends here or goes on.
fn verdict(profile: &mut Profile, route: &Route<'_>, top: Top) -> Verdict {
    let (observed, _) = profile.observe(route.normalization);
    let policy = Policy {
        threshold: route.settings.threshold,
        at_top: matches!(top, Top::From(_)),
        accuse_from: match top {
            Top::Ahead => 0,
            Top::From(iterations) => iterations,
        },
        today: route.today,
    };
    judge(&observed, route.baseline, &policy).verdict
}

/// What a subject was doing when it failed.
#[derive(Clone, Copy)]
enum Phase {
    Starting,
    SettingUp,
    Running,
    Dumping,
}

fn failure(subject: &Subject<'_>, route: &Route<'_>, answer: Answer, phase: Phase) -> Failure {
    let seconds = subject.age().as_secs_f64();
    let what = match answer {
        Answer::Line(line) => line.strip_prefix("failed ").unwrap_or(&line).to_owned(),
        Answer::Exited(status) => ending(status),
        Answer::OutOfMemory => format!(
            "used more than its {} MiB of memory",
            route.settings.memory_limit >> 20
        ),
        Answer::Closed => "closed the channel to the harness, and went on".to_owned(),
        Answer::TimedOut => {
            format!("hung: no answer {seconds:.1} s after it was started, which is its timeout")
        }
    };
    let (what, iteration) = match phase {
        Phase::Starting => (format!("{what}, before the workload was set up"), None),
        Phase::SettingUp => (what, None),
        Phase::Running => (what, Some(subject.iterations())),
        Phase::Dumping => (format!("{what}, during a dump"), Some(subject.iterations())),
    };
    Failure {
        what,
        iteration,
        output: subject.output_tail(),
    }
}

/// How long iterations and what is between them take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    /// Seconds an iteration, of the last rungs.
    recent: Vec<f64>,
    between: Duration,
    /// Iterations so far, and the time that they took with all their dumps.
    done: u64,
    elapsed: Duration,
}

impl Pace {
    fn reached(&mut self, done: u64, elapsed: Duration) {
        self.done = done;
        self.elapsed = elapsed;
    }

    fn note(&mut self, iterations: u64, ran: Duration, between: Duration) {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        self.recent.push(ran.as_secs_f64() / iterations as f64);
        if self.recent.len() > RUNGS_PER_OCTAVE {
            self.recent.remove(0);
        }
        self.between = between;
    }

    /// How long the whole ladder takes that is enough for a verdict.
    fn enough(&self, route: &Route<'_>) -> Option<Enough> {
        let (settings, interval) = (route.settings, route.plan.interval());
        let iterations = judge::iterations_to_conclude(settings.threshold, interval);
        Some(Enough {
            plan: route.plan,
            iterations,
            time: self.until(iterations)?,
        })
    }

    /// How long a ladder of so many iterations takes, if they go on as fast as the fastest
    /// of the last octave.
    pub(crate) fn until(&self, iterations: u64) -> Option<Duration> {
        let fastest = self.recent.iter().copied().reduce(f64::min)?;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let seconds = fastest * iterations.saturating_sub(self.done) as f64;
        let ahead = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Some(self.elapsed.saturating_add(ahead))
    }

    /// How long the next rung will take: the slowest pace of the last octave.
    fn predict(&self, iterations: u64) -> Duration {
        let slowest = self.recent.iter().copied().fold(0.0, f64::max);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let seconds = slowest * iterations as f64;
        Duration::try_from_secs_f64(seconds)
            .unwrap_or(Duration::MAX)
            .saturating_add(self.between)
    }
}

/// The dumps of the first and the last rung that the verdict uses.
pub(crate) fn before_and_after(folder: &Path, profile: &Profile) -> Option<(PathBuf, PathBuf)> {
    let file = |rung: &Rung| layout::rung_file(folder, rung.iterations);
    Some((
        file(&profile.rungs[profile.before()?]),
        file(profile.rungs.last()?),
    ))
}
