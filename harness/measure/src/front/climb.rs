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
}

/// What a climb needs beside its subject.
pub(crate) struct Route<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) settings: &'a Effective,
    pub(crate) baseline: &'a Baseline,
    pub(crate) normalization: &'a Normalization,
    pub(crate) today: Option<Date>,
}

/// Ends a climb before its time.
enum Stop {
    End(LadderEnd),
    Failed(Failure),
    Broken(Check),
}

/// Takes a subject up the ladder.
pub(crate) fn climb(subject: &mut Subject<'_>, route: &Route<'_>) -> Climb {
    let greeting = match subject.wait(route.settings.timeout, u64::MAX) {
        Answer::Line(line) => Greeting::parse(&line).unwrap_or_default(),
        other => {
            return Climb {
                profile: Profile::new(&Greeting::default()),
                greeting: Greeting::default(),
                end: LadderEnd::Failure,
                failure: Some(failure(subject, route, other, Phase::Starting)),
                broken: None,
            };
        }
    };
    let mut climb = Climb {
        profile: Profile::new(&greeting),
        greeting,
        end: LadderEnd::Failure,
        failure: None,
        broken: None,
    };
    let stop = match climb.greeting.profiling_problem() {
        Some(problem) => Stop::Broken(broken("profiling", problem.to_owned())),
        None => match ascend(subject, route, &mut climb.profile) {
            Ok(end) => Stop::End(end),
            Err(stop) => stop,
        },
    };
    match stop {
        Stop::End(end) => climb.end = end,
        Stop::Failed(failure) => climb.failure = Some(failure),
        Stop::Broken(check) => climb.broken = Some(check),
    }
    climb
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
    profile: &mut Profile,
) -> Result<LadderEnd, Stop> {
    let settings = route.settings;
    match subject.ask(&Command::SetUp, settings.timeout, settings.memory_limit) {
        Answer::Line(line) if line.starts_with("done") => {}
        other => {
            return Err(Stop::Failed(failure(
                subject,
                route,
                other,
                Phase::SettingUp,
            )));
        }
    }
    let descriptor_limit = observe::descriptor_limit(subject.process());
    let thread_limit = observe::thread_limit();
    let started = Instant::now();
    let mut pace = Pace::default();
    for k in 0.. {
        let done = profile.rungs.last().map_or(0, |rung| rung.iterations);
        let next = rung(k);
        if next > settings.max_iterations {
            return Ok(LadderEnd::Iterations);
        }
        if let Some(last) = profile.rungs.last() {
            let at_next = |count: u64| count.saturating_mul(next) / done.max(1);
            if at_next(last.descriptors) >= descriptor_limit.saturating_sub(16) {
                return Ok(LadderEnd::Descriptors);
            }
            if at_next(last.threads) >= thread_limit {
                return Ok(LadderEnd::Threads);
            }
        }
        // A timeout is for what hangs: a ladder that climbs ends before it.
        let ahead = pace.predict(next - done);
        if started.elapsed().saturating_add(ahead) > settings.budget
            || subject.age().saturating_add(ahead.saturating_mul(2)) > settings.timeout
        {
            return Ok(LadderEnd::Budget);
        }
        let run = Instant::now();
        match subject.ask(&Command::Run(next), settings.timeout, settings.memory_limit) {
            Answer::Line(line) if line.starts_with("done") => {}
            Answer::OutOfMemory => return Ok(LadderEnd::Memory),
            other => return Err(Stop::Failed(failure(subject, route, other, Phase::Running))),
        }
        let ran = run.elapsed();
        let rest = Instant::now();
        observe::settle(subject.process(), settings.settle);
        take_dump(subject, route, profile, next)?;
        let enough = judge::iterations_to_settle(settings.threshold, SampleInterval::default());
        if next >= enough && profile.rungs.len() > 3 * RUNGS_PER_OCTAVE && settled(profile, route) {
            return Ok(LadderEnd::Settled);
        }
        pace.note(next - done, ran, rest.elapsed());
    }
    Ok(LadderEnd::Iterations)
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
                rung.allocated = numbers.next().and_then(|number| number.parse().ok());
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
    let (observed, _) = profile.observe(route.normalization);
    let policy = Policy {
        threshold: route.settings.threshold,
        at_top: false,
        today: route.today,
    };
    // What rises outside the profile may only be filling, as a stack may.
    judge(&observed, route.baseline, &policy).verdict <= Verdict::Improved
        && profile.coverage().outcome != CheckOutcome::Failed
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
#[derive(Debug, Default)]
struct Pace {
    /// Seconds an iteration, of the last rungs.
    recent: Vec<f64>,
    between: Duration,
}

impl Pace {
    fn note(&mut self, iterations: u64, ran: Duration, between: Duration) {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        self.recent.push(ran.as_secs_f64() / iterations as f64);
        if self.recent.len() > RUNGS_PER_OCTAVE {
            self.recent.remove(0);
        }
        self.between = between;
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
