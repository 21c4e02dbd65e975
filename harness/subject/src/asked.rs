//! Finds out what a front asks of this process, and does all but the iterations.

use std::any::Any;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::canary;
use crate::channel::{Channel, Command};
use crate::jemalloc::unprofiled;
use crate::ladder::Ladder;
use crate::sys::{self, Progress};
use crate::unwind::{self, Unwinder};
use crate::{Listed, PROTOCOL, jemalloc, messages};

/// The first argument of a subject. It is not a variable, because processes that a workload
/// starts would inherit that.
const FLAG: &str = "--plimsoll-subject";

/// The variables that configure jemalloc, with and without its prefix.
const CONFIGURATION: [&str; 2] = ["MALLOC_CONF", "_RJEM_MALLOC_CONF"];

/// The status of a process that a front has started in a way that this crate does not know.
const MISUNDERSTOOD: i32 = 2;

/// The arguments behind [`FLAG`].
#[derive(Debug)]
struct Arguments {
    /// The process ID of the front.
    front: u32,
    /// The path of the file for the number of iterations done.
    progress: String,
    /// The unwinder that walks the stacks.
    unwinder: Unwinder,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Arguments> {
        Some(Arguments {
            front: words.next()?.parse().ok()?,
            progress: words.next()?,
            unwinder: Unwinder::from_word(&words.next()?)?,
        })
    }
}

/// What the front asked this process for.
#[derive(Debug)]
pub enum Asked {
    /// All scenarios are to be listed.
    List(List),
    /// One scenario is to be measured.
    Measure(Measure),
}

/// Returns what a front asks of this process. Returns `None` if no front started it.
///
/// To be called once, before the process does anything else: descriptors, variables and the
/// profiler are put in order here. A process that no front can use is ended.
pub fn asked() -> Option<Asked> {
    let mut words = std::env::args().skip(1);
    (words.next()? == FLAG).then_some(())?;
    let Some(mut ladder) = Arguments::parse(words).and_then(begin) else {
        sys::exit_now(MISUNDERSTOOD);
    };
    let mut command = unprofiled(|| ladder.channel.command());
    if let Some(Command::Objects) = command {
        ladder.keep_objects();
        command = unprofiled(|| ladder.channel.command());
    }
    match command {
        Some(Command::List) => Some(Asked::List(List(ladder))),
        Some(Command::SetUp(scenario)) => Some(Asked::Measure(Measure { scenario, ladder })),
        _ => sys::exit_now(0),
    }
}

/// Prepares the process, and greets the front.
fn begin(arguments: Arguments) -> Option<Ladder> {
    // A program that does other things first may have threads, which may read the environment.
    if is_single_threaded() {
        for variable in CONFIGURATION {
            sys::remove_variable_before_threads(variable);
        }
    }
    // The front may have died before the kernel was asked to kill this process with it.
    if sys::die_with_parent().is_err() || std::os::unix::process::parent_id() != arguments.front {
        return None;
    }
    sys::raise_descriptor_limit();
    let socket = sys::take_descriptor(0).ok()?;
    let progress = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&arguments.progress)
        .ok()?;
    let progress = Progress::map(&progress).ok()?;
    // A backtrace allocates so much that it takes seconds under the profiler.
    messages::note_panics(|show| unprofiled(show));
    let unwinder = unprofiled(|| arguments.unwinder.install());
    if unwinder.is_err() {
        // If jemalloc refuses this hook, stacks have no births; everything else works.
        let _ = unprofiled(unwind::birth::wrap);
    }
    unwind::birth::begin();
    unprofiled(sys::notice_forks);
    let mut channel = Channel::new(UnixStream::from(socket));
    greet(&mut channel, arguments.unwinder, unwinder).ok()?;
    Some(Ladder::new(channel, progress))
}

fn is_single_threaded() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}

/// Says which subject this is: lines with a key and a value, between two lines of their own.
fn greet(
    channel: &mut Channel,
    asked_for: Unwinder,
    installed: Result<(), String>,
) -> std::io::Result<()> {
    let [leaf, middle, root] = canary::addresses();
    let unwinder = match installed {
        Ok(()) => asked_for,
        Err(_) => Unwinder::Libgcc,
    };
    channel.answer(format_args!("plimsoll-subject {PROTOCOL}"))?;
    let mut say = |key: &str, value: &dyn fmt::Display| {
        unprofiled(|| channel.answer(format_args!("{key} {value}")))
    };
    let profiles =
        jemalloc::config_prof().unwrap_or(false) && jemalloc::opt_prof().unwrap_or(false);
    say("prof", &profiles)?;
    say("active", &jemalloc::prof_active().unwrap_or(false))?;
    say("lg-sample", &jemalloc::lg_sample().unwrap_or(usize::MAX))?;
    say("jemalloc", &jemalloc::version().unwrap_or("none"))?;
    say("frames", &jemalloc::prof_bt_max().unwrap_or(128))?;
    if let Some(bytes) = calibrate() {
        say("sampled-object", &bytes)?;
    }
    say("allocates", &allocates_with_jemalloc())?;
    say("canary", &format_args!("{leaf},{middle},{root}"))?;
    say("unwind-tables", &unwind::has_tables(middle))?;
    say("unwinder", &unwinder)?;
    if let Err(reason) = installed {
        say("unwinder-reason", &reason)?;
    }
    say("objects", &true)?;
    say("target", &env!("PLIMSOLL_TARGET"))?;
    say("toolchain", &env!("PLIMSOLL_TOOLCHAIN"))?;
    channel.answer(format_args!("ready"))
}

/// Makes the profiler walk stacks as in a measured process, if `MALLOC_CONF` has switched it on.
/// For a debugger.
///
/// # Errors
///
/// Why libgcc walks the stacks.
pub fn walk_as_measured() -> Result<(), String> {
    match jemalloc::opt_prof() {
        Ok(true) => Unwinder::Plimsoll.install(),
        _ => Ok(()),
    }
}

/// A list of scenarios.
#[derive(Debug)]
pub struct List(Ladder);

impl List {
    /// Adds a scenario.
    pub fn add(&mut self, scenario: &Listed<'_>) {
        let Listed {
            name,
            title,
            ignored,
            settings,
        } = *scenario;
        self.say("scenario", name);
        if title != name {
            self.say("title", title);
        }
        if let Some(reason) = ignored {
            self.say("ignored", reason);
        }
        for (key, value) in settings {
            self.say("set", &format!("{key} {value}"));
        }
    }

    fn say(&mut self, key: &str, value: &str) {
        // An error means that the front is gone, which ends this process soon.
        let _ = self.0.channel.answer(format_args!("{key} {value}"));
    }

    /// Ends the list and the process.
    pub fn end(self) -> ! {
        let List(mut ladder) = self;
        sys::flush_output();
        let _ = ladder.channel.answer(format_args!("done 0"));
        sys::exit_now(0)
    }
}

/// The measurement of one scenario.
#[derive(Debug)]
pub struct Measure {
    scenario: String,
    ladder: Ladder,
}

impl Measure {
    /// Returns the name of the scenario to measure.
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// Sets the workload up. If that panics, tells the front so and ends the process.
    ///
    /// No stack in the profile is longer than from here.
    pub fn set_up<T>(&mut self, setup: impl FnOnce() -> T) -> T {
        let setup = || {
            unwind::end_stacks_here!();
            setup()
        };
        let made = catch_unwind(AssertUnwindSafe(setup));
        self.ladder.leave_if_forked();
        made.unwrap_or_else(|panic| self.ladder.panicked(&*panic))
    }

    /// Tells the front that the workload is set up, and runs iterations and dumps the heap as the
    /// front asks. Returns when the front ends the ladder.
    ///
    /// `iteration` takes the number of the iteration. An error fails the scenario.
    pub fn climb(&mut self, mut iteration: impl FnMut(u64) -> Result<(), String>) {
        self.ladder.climb(&mut iteration);
    }

    /// Ends the process, as the front has asked.
    pub fn end(self) -> ! {
        self.end_with(|| {})
    }

    /// Drops the workload, and ends the process. The workload's destructors may have files to
    /// remove.
    pub fn end_with(mut self, drop: impl FnOnce()) -> ! {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(drop)) {
            self.ladder.panicked(&*panic);
        }
        sys::flush_output();
        sys::exit_now(0)
    }

    /// Says that the workload failed, and ends the process.
    pub fn fail(mut self, message: fmt::Arguments<'_>) -> ! {
        self.ladder.fail(message)
    }

    /// Says that the workload panicked, and ends the process.
    pub fn panicked(mut self, panic: Box<dyn Any + Send>) -> ! {
        self.ladder.panicked(&*panic)
    }
}

/// Tells whether what Rust code allocates is jemalloc's. A program may declare another global
/// allocator.
fn allocates_with_jemalloc() -> bool {
    const BYTES: usize = 1 << 20;
    let Ok(before) = jemalloc::thread_allocated() else {
        return true;
    };
    drop(std::hint::black_box(Vec::<u8>::with_capacity(BYTES)));
    jemalloc::thread_allocated().is_ok_and(|after| after - before >= BYTES as u64)
}

/// Measures what one sampled small object adds to `stats.allocated`, in bytes: nothing in
/// jemalloc 5.3.1, a page-aligned 16 KiB in 5.3.0.
fn calibrate() -> Option<i64> {
    const OBJECTS: usize = 64;
    let mut objects: [Option<Box<[u8; canary::BYTES]>>; OBJECTS] = [const { None }; OBJECTS];
    let before = jemalloc::stats_allocated().ok()?;
    for object in &mut objects {
        *object = Some(std::hint::black_box(Box::new([0; canary::BYTES])));
    }
    let after = jemalloc::stats_allocated().ok()?;
    std::hint::black_box(&objects);
    let grown = i64::try_from(after).ok()? - i64::try_from(before).ok()?;
    Some(grown.max(0) / i64::try_from(OBJECTS).ok()?)
}
