//! Takes one subject up the ladder, and stops when the policy says so.
//!
//! The ladder is the series of iteration counts at which the heap is dumped; each of them is a
//! rung. Four rungs are an octave, a doubling of the iterations.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_core::baseline::{Baseline, Date};
use plimsoll_core::dump::HeapDump;
use plimsoll_core::fold::Normalization;
use plimsoll_core::judge::{Policy, Verdict, judge};
use plimsoll_core::ladder::rung;
use plimsoll_core::layout;
use plimsoll_core::report::{Check, CheckOutcome, Failure, LadderEnd, Rung, units};

use crate::clock::{Octaves, Stretch};
use crate::experiment::{Experiment, Snapshot};
use crate::observe;
use crate::pace::{Pace, Took};
use crate::place::Place;
use crate::plan::Pilot;
use crate::policy::{Again, Before, Enough, Next, Stop, Terms};
use crate::process::{Answer, Subject, dump_command, ending};
use crate::profile::{
    Allocator, Profile, allocator_problem, note_mappings, profiling_problem, stack_problem,
};
use crate::protocol::{Command, Greeting, Walks};

/// How many times slower than later iterations the first ones are, at least, if the pace is not
/// theirs.
const SLOW_BEGINNING: u64 = 4;

/// How far a ladder came, and why it went no further.
#[derive(Debug, Default)]
pub(crate) struct Climb {
    pub(crate) greeting: Greeting,
    pub(crate) profile: Profile,
    pub(crate) end: LadderEnd,
    pub(crate) failure: Option<Failure>,
    /// The check that failed, if one did.
    pub(crate) broken: Option<Check>,
    /// The ladder that would be enough for a verdict, predicted from the pace.
    pub(crate) enough: Option<Enough>,
    /// How fast iterations and dumps were.
    pub(crate) pace: Pace,
    /// How long the ladder took, if that is more than its budget.
    pub(crate) overtime: Option<Duration>,
    /// As in [`Before`].
    pub(crate) accused_at: Option<usize>,
    /// What was found after the last rung, if something had to be found out.
    pub(crate) experiment: Option<Experiment>,
    /// The time at which each rung was reached.
    reached: Vec<Instant>,
}

/// The outcome of one attempt at a ladder.
pub(crate) enum Attempt {
    Climbed(Box<Climb>),
    /// The ladder must start again with another plan for the profile.
    Again(Again),
}

/// The inputs of a climb, besides its subject.
pub(crate) struct Route<'a> {
    pub(crate) scenario: &'a str,
    pub(crate) folder: &'a Path,
    pub(crate) terms: Terms<'a>,
    pub(crate) baseline: &'a Baseline,
    pub(crate) normalization: &'a Normalization,
    pub(crate) place: &'a Place,
    pub(crate) today: Option<Date>,
}

impl Route<'_> {
    /// Returns the policy by which a ladder that ended like this is judged. `accused_at` is as
    /// in [`Before`].
    pub(crate) fn policy(&self, end: LadderEnd, accused_at: Option<usize>) -> Policy {
        Policy {
            threshold: self.terms.settings.threshold,
            outside: self.terms.settings.outside,
            at_top: end != LadderEnd::Settled,
            accuse_from: self.terms.accuse_from(end, accused_at),
            accuse_anew_from: self.terms.accuse_anew_from(end),
            coarsens_to: match end {
                LadderEnd::Memory
                | LadderEnd::Threads
                | LadderEnd::Descriptors
                | LadderEnd::Mappings => None,
                _ => Some(self.terms.settings.coarsest),
            },
            today: self.today,
        }
    }
}

/// Takes a subject up the ladder.
pub(crate) fn climb(subject: &mut Subject<'_>, route: &Route<'_>) -> Attempt {
    let (greeting, failed) = match subject.greeting(route.terms.settings.timeout) {
        Ok(greeting) => (greeting, None),
        Err(answer) => {
            let failure = failure(subject, route, answer, Phase::Starting);
            (Greeting::default(), Some(Stop::Failed(failure)))
        }
    };
    let broken = |name: &str, problem: Option<String>| Some(Stop::broken(name, problem?));
    let unfit = failed
        .or_else(|| broken("allocator", allocator_problem(&greeting).map(str::to_owned)))
        .or_else(|| broken("profiling", profiling_problem(&greeting, route.terms.plan)))
        .or_else(|| broken("unwinder", stack_problem(&greeting).map(str::to_owned)));
    let mut climb = Climb {
        profile: Profile::new(&greeting, route.terms.plan),
        greeting,
        ..Climb::default()
    };
    let stop = unfit.unwrap_or_else(|| match ascend(subject, route, &mut climb) {
        Err(Stop::End(end)) => route.terms.ended(end, climb.profile.short_threads()),
        Err(stop) => stop,
    });
    match stop {
        Stop::End(end) => {
            climb.end = end;
            climb.experiment = experiment(subject, route, &mut climb);
        }
        Stop::Failed(failure) => climb.failure = Some(failure),
        Stop::Broken(check) => climb.broken = Some(check),
        Stop::Again(again) => return Attempt::Again(again),
    }
    Attempt::Climbed(Box::new(climb))
}

/// Does what the policy says, until the policy says to stop.
fn ascend(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    climb: &mut Climb,
) -> Result<Infallible, Stop> {
    let (settings, terms) = (route.terms.settings, &route.terms);
    let profile = &mut climb.profile;
    ask(subject, route, &Command::SetUp(route.scenario.to_owned())).map_err(|answer| {
        let less = match answer {
            Answer::OutOfMemory => terms.with_less_memory(None),
            _ => None,
        };
        let failed = || Stop::Failed(failure(subject, route, answer, Phase::SettingUp));
        less.unwrap_or_else(failed)
    })?;
    let threads = observe::thread_limit();
    let descriptors = observe::descriptor_limit(subject.process());
    let mappings = observe::mapping_limit();
    let started = Instant::now();
    let piloted;
    (climb.pace, piloted) = pilot(subject, route)?;
    let (mut ran, mut waited) = (Duration::ZERO, Duration::ZERO);
    let mut last: Option<Rung> = None;
    loop {
        let done = last.as_ref().map_or(piloted, |rung| rung.iterations);
        let next = rung(profile.rungs.len());
        let elapsed = started.elapsed().saturating_sub(waited);
        climb.pace.reached(done, elapsed);
        climb.enough = terms.enough(&climb.pace);
        let at = Before {
            last: last.as_ref(),
            rungs: profile.rungs.len(),
            accused_at: climb.accused_at,
            next,
            age: subject.age(),
            elapsed: started.elapsed(),
            ran,
            ahead: climb.pace.predict(next - done),
            enough: climb.enough,
            threads,
            descriptors,
            mapped: profile.mapped,
            mappings,
        };
        let is_late = match terms.next(&at, || verdict(profile, route, true)) {
            Next::Climb {
                is_late,
                accused_at,
            } => {
                climb.accused_at = accused_at;
                is_late
            }
            Next::Pilot(enough) => {
                return Err(terms.faster(timed(subject, route, profile, done), enough));
            }
            Next::Stop(stop) => return Err(stop),
        };
        let took = run(subject, route, last.as_ref(), next)?;
        ran += took.ran();
        waited += took.waited;
        climb.reached.push(Instant::now());
        climb.pace.note(next - done, took);
        let elapsed = started.elapsed();
        climb.overtime = (is_late && elapsed > settings.budget).then_some(elapsed);
        let rest = Instant::now();
        observe::settle(subject.process(), settings.settle);
        take_dump(subject, route, profile, next)?;
        last = profile.rungs.last().cloned();
        let (number, listed) = (profile.rungs.len(), profile.threads_listed);
        let accused_at = climb.accused_at;
        let after =
            |last| terms.after(last, number, accused_at, listed, || settled(profile, route));
        if let Some(stop) = last.as_ref().and_then(after) {
            return Err(stop);
        }
        climb.pace.rested(rest.elapsed());
    }
}

/// Sends a command to the subject, within the scenario's limits of time and memory.
fn ask(subject: &mut Subject<'_>, route: &Route<'_>, command: &Command) -> Result<(), Answer> {
    let settings = route.terms.settings;
    match subject.ask(command, settings.timeout, settings.memory_limit) {
        Answer::Line(line) if line.starts_with("done") => Ok(()),
        other => Err(other),
    }
}

/// Runs the workload up to an iteration, and returns how long that took.
fn run(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    last: Option<&Rung>,
    until: u64,
) -> Result<Took, Stop> {
    let (started, waited) = (Instant::now(), observe::waited(subject.process()));
    ask(subject, route, &Command::Run(until)).map_err(|answer| match answer {
        Answer::OutOfMemory => route.terms.out_of_memory(last),
        other => Stop::Failed(failure(subject, route, other, Phase::Running)),
    })?;
    let all = started.elapsed();
    let waited = observe::waited(subject.process()).saturating_sub(waited);
    Ok(Took {
        all,
        waited: waited.min(all),
    })
}

/// Runs a few iterations before the first rung, to measure how long they take. Returns how many.
///
/// The first iteration is unlike all others. Where the next ones connect or fill a pool, they are
/// far slower than those that follow. So while a ladder at their pace is out of reach, more
/// iterations run, and a pace that is several times faster replaces theirs.
fn pilot(subject: &mut Subject<'_>, route: &Route<'_>) -> Result<(Pace, u64), Stop> {
    let (terms, started) = (&route.terms, Instant::now());
    let (mut pace, mut done) = (Pace::default(), 0);
    for until in [1, 4, 8, 12, 15] {
        let is_enough = done >= 4
            && (terms.may_reach(&pace, rung(0)) || started.elapsed() > terms.settings.budget / 2);
        if is_enough || until > terms.settings.max_iterations {
            break;
        }
        let mut these = Pace::default();
        these.note(until - done, run(subject, route, None, until)?);
        if done < 4 || these.predict(SLOW_BEGINNING) < pace.predict(1) {
            pace = these;
        }
        done = until;
    }
    Ok((pace, done))
}

/// Times one iteration with the profile and one without it. Returns `None` if the subject
/// fails. The subject cannot be used afterwards.
fn timed(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    profile: &Profile,
    done: u64,
) -> Option<Pilot> {
    let mut timed = |command: &Command| {
        let started = Instant::now();
        ask(subject, route, command).ok()?;
        Some(started.elapsed().as_secs_f64())
    };
    let exact = timed(&Command::Run(done + 1))?;
    // No profile contains what is allocated from here on.
    timed(&Command::Profile(false))?;
    Some(Pilot {
        exact,
        inactive: timed(&Command::Run(done + 2))?,
        object: profile.mean_object.unwrap_or(64.0),
    })
}

/// Tells growth with time from growth with iterations, if something looks like a leak.
///
/// Returns `None` if an experiment would show nothing, or if the subject fails. The subject cannot
/// be used afterwards.
fn experiment(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    climb: &mut Climb,
) -> Option<Experiment> {
    let settings = route.terms.settings;
    let is_cut_short = matches!(climb.end, LadderEnd::Budget | LadderEnd::Iterations);
    let may_tell = is_cut_short && !settings.spend_budget;
    may_tell.then_some(())?;
    let (observed, _) = climb.profile.observe(route.normalization);
    let policy = route.policy(climb.end, climb.accused_at);
    let findings = judge(&observed, route.baseline, &policy).findings;
    let octaves = Octaves::last(&climb.reached, &observed, &findings)?;
    let first = *climb.reached.first()?;
    let limit = |age| {
        let left = settings.timeout.saturating_sub(age);
        settings.budget.min(left / 2)
    };
    let mut done = climb.profile.rungs.last()?.iterations;
    let slow = octaves.slow(&findings, limit(subject.age()));
    let mut experiment = Experiment {
        octaves,
        slow: None,
        fast: None,
        followed: first.elapsed(),
    };
    let Some(slow) = slow else {
        return Some(experiment);
    };
    let rungs = climb.profile.rungs.len();
    let slow = stretch(subject, route, &climb.profile, (slow, rungs), &mut done)?;
    experiment.followed = first.elapsed();
    let octaves = &experiment.octaves;
    let needs_fast = findings
        .iter()
        .filter(|finding| octaves.needs_fast(finding, &slow.stretch, slow.beyond(finding)));
    let fast = octaves.fast(needs_fast, limit(subject.age()) / 2);
    let fast = fast.filter(|fast| done + fast.iterations <= settings.max_iterations);
    experiment.slow = Some(slow);
    if let Some(fast) = fast {
        let fast = (fast, rungs + 1);
        experiment.fast = Some(stretch(subject, route, &climb.profile, fast, &mut done)?);
    }
    Some(experiment)
}

/// Runs the iterations of a stretch, as far as the scenario may have more, spread over its time.
/// Returns what is alive then.
fn stretch(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    profile: &Profile,
    (planned, generation): (Stretch, usize),
    done: &mut u64,
) -> Option<Snapshot> {
    let settings = route.terms.settings;
    let (started, before) = (Instant::now(), *done);
    for (time, iterations) in planned.parts() {
        thread::sleep(time.saturating_sub(started.elapsed()));
        let until = (before + iterations).min(settings.max_iterations);
        if until > *done {
            ask(subject, route, &Command::Run(until)).ok()?;
            *done = until;
        }
    }
    let stretch = Stretch {
        iterations: *done - before,
        time: started.elapsed(),
    };
    observe::settle(subject.process(), settings.settle);
    let dumped = dump(subject, route, *done).ok()?;
    fs::remove_file(dump_path(route)).ok()?;
    let dump = HeapDump::parse(&dumped.dump).ok()?;
    let mut rung = dumped.rung;
    note_mappings(&mut rung, dump.maps()?, dumped.allocator);
    Some(Snapshot {
        stretch,
        generation,
        stacks: profile.fold(&dump, route.normalization),
        rung,
    })
}

/// A dump, with what the kernel and the subject say beside it.
struct Dumped {
    dump: Vec<u8>,
    rung: Rung,
    threads_ended: u64,
    allocator: Option<Allocator>,
    walks: Walks,
}

/// The dump that is being taken. Its path is the same for all dumps: the subject allocates it, and
/// must not grow with it.
fn dump_path(route: &Route<'_>) -> PathBuf {
    route.folder.join(".dump")
}

fn unwritable(route: &Route<'_>, error: &std::io::Error) -> Stop {
    let path = dump_path(route);
    let problem = format!("{} cannot be written or read: {error}", path.display());
    Stop::broken("dump", problem)
}

/// Takes a dump, and adds it to the profile.
fn take_dump(
    subject: &mut Subject<'_>,
    route: &Route<'_>,
    profile: &mut Profile,
    iterations: u64,
) -> Result<(), Stop> {
    let dumped = dump(subject, route, iterations)?;
    let kept = layout::rung_file(route.folder, iterations);
    fs::rename(dump_path(route), kept).map_err(|error| unwritable(route, &error))?;
    profile.threads_ended = dumped.threads_ended;
    profile.walks = dumped.walks;
    profile
        .add(&dumped.dump, dumped.rung, dumped.allocator)
        .map_err(Stop::Broken)?;
    if !route.terms.settings.keep_rungs {
        forget_rung(route.folder, profile);
    }
    Ok(())
}

/// Takes a dump, which is left at [`dump_path`].
fn dump(subject: &mut Subject<'_>, route: &Route<'_>, iterations: u64) -> Result<Dumped, Stop> {
    let process = subject.process();
    let rung = Rung {
        iterations,
        threads: observe::threads(process),
        descriptors: observe::descriptors(process),
        resident: observe::resident(process),
        ..Rung::default()
    };
    let path = dump_path(route);
    let command = dump_command(&path).map_err(|error| unwritable(route, &error))?;
    let line = match subject.ask(&command, route.terms.settings.timeout, u64::MAX) {
        Answer::Line(line) => line,
        other => return Err(Stop::Failed(failure(subject, route, other, Phase::Dumping))),
    };
    let Some(numbers) = line.strip_prefix("dumped ") else {
        // Without a free descriptor, jemalloc cannot open the file.
        if observe::has_no_descriptor_left(process) {
            let files = units::count(rung.descriptors);
            return Err(Stop::Failed(Failure {
                what: format!("has {files} files open, as many as it may: a dump needs one"),
                iteration: Some(iterations),
                output: subject.output_tail(),
            }));
        }
        let reason = line.strip_prefix("undumped ").unwrap_or(&line);
        let problem = format!(
            "at {iterations} iterations jemalloc could not write {}: {reason}",
            path.display()
        );
        return Err(Stop::broken("dump", problem));
    };
    let mut numbers = numbers.split(' ');
    let mut number = || numbers.next().and_then(|number| number.parse().ok());
    let (allocated, threads_ended) = (number(), number().unwrap_or(0));
    let allocator = Allocator::parse(&mut number);
    Ok(Dumped {
        dump: fs::read(&path).map_err(|error| unwritable(route, &error))?,
        rung: Rung { allocated, ..rung },
        threads_ended,
        allocator,
        walks: Walks::parse(&mut number),
    })
}

/// Removes the dump that can no longer become the *before* dump of the verdict.
fn forget_rung(folder: &Path, profile: &Profile) {
    let old = profile.before().and_then(|before| before.checked_sub(1));
    if let Some(rung) = old.and_then(|old| profile.rungs.get(old)) {
        let _ = fs::remove_file(layout::rung_file(folder, rung.iterations));
    }
}

/// Returns whether nothing grows, so that the ladder can end early.
fn settled(profile: &mut Profile, route: &Route<'_>) -> bool {
    // Growth outside the profile may be a cache that is filling, so the ladder goes on to find
    // out.
    verdict(profile, route, false) <= Verdict::Improved
        && profile.coverage().outcome != CheckOutcome::Failed
}

/// Returns the verdict on the stacks so far, however short the ladder is. `at_top` says whether
/// the ladder ends here.
fn verdict(profile: &mut Profile, route: &Route<'_>, at_top: bool) -> Verdict {
    let (observed, _) = profile.observe(route.normalization);
    let policy = Policy {
        at_top,
        accuse_from: 0,
        ..route.policy(LadderEnd::Budget, None)
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
        Answer::Foreign(what) => what,
        Answer::Exited(status) => ending(status),
        Answer::OutOfMemory => {
            let limit = route.terms.settings.memory_limit >> 20;
            format!("used more than its {limit} MiB of memory")
        }
        Answer::Closed => "closed the channel to the harness and kept running".to_owned(),
        Answer::Forked => "a process that the workload forked returned from the workload; it must \
                           end with exec or _exit"
            .to_owned(),
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

/// Returns the dumps of the first and the last rung that the verdict uses.
pub(crate) fn before_and_after(folder: &Path, profile: &Profile) -> Option<(PathBuf, PathBuf)> {
    let file = |rung: &Rung| layout::rung_file(folder, rung.iterations);
    let before = &profile.rungs[profile.before()?];
    Some((file(before), file(profile.rungs.last()?)))
}
