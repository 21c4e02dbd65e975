use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;

use plimsoll_core::settings::Unwinder;

use super::canary::{self, Canary};
use super::channel::{Channel, Command};
use super::threads::Threads;
use super::unwind;
use crate::jemalloc;
use crate::sys::{self, Progress};
use crate::workload::{Setup, Workload};

/// The variables that configure jemalloc, with and without its prefix.
pub(crate) const CONFIGURATION: [&str; 2] = ["MALLOC_CONF", "_RJEM_MALLOC_CONF"];

/// Arguments that the front passes to a subject.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The scenario to run.
    pub(crate) scenario: String,
    /// The process ID of the front.
    pub(crate) front: u32,
    /// The path of the file for the number of iterations done.
    pub(crate) progress: String,
    /// The unwinder that walks the stacks.
    pub(crate) unwinder: Unwinder,
}

impl Arguments {
    /// The first argument of a subject. It is not a variable, because processes that a workload
    /// starts would inherit that.
    pub(crate) const FLAG: &'static str = "--plimsoll-subject";

    /// Parses the arguments of a subject. Returns `None` if the program was started as the
    /// front.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Arguments> {
        (arguments.next()? == Self::FLAG).then_some(())?;
        Some(Arguments {
            scenario: arguments.next()?,
            front: arguments.next()?.parse().ok()?,
            progress: arguments.next()?,
            unwinder: Unwinder::from_word(&arguments.next()?)?,
        })
    }
}

/// Where the workload panicked; the message comes with the panic itself.
static PANIC_LOCATION: Mutex<Option<String>> = Mutex::new(None);

/// Runs this process as the subject, until the front has no more commands.
pub(crate) fn run(arguments: &Arguments, setup: impl FnOnce(&str) -> Option<Setup>) -> ExitCode {
    for variable in CONFIGURATION {
        sys::remove_variable_before_threads(variable);
    }
    // The front may have died before the kernel was asked to kill this process with it.
    if sys::die_with_parent().is_err() || std::os::unix::process::parent_id() != arguments.front {
        return ExitCode::FAILURE;
    }
    sys::raise_descriptor_limit();
    let Ok(socket) = sys::take_descriptor(0) else {
        return ExitCode::FAILURE;
    };
    let mut channel = Channel::new(UnixStream::from(socket));
    // This is the first call of the project's code. Until here the process has one thread.
    // jemalloc's variables and the socket are out of the way now, so processes that this code
    // starts do not inherit them.
    let setup = setup(&arguments.scenario);
    let (Some(setup), Some(progress)) = (setup, map_progress(&arguments.progress)) else {
        return ExitCode::FAILURE;
    };
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let (Ok(mut location), Some(found)) = (PANIC_LOCATION.try_lock(), panic.location()) {
            *location = Some(found.to_string());
        }
        // A backtrace allocates so much that it takes seconds under the profiler.
        unprofiled(|| previous(panic));
    }));
    let unwinder = match arguments.unwinder {
        Unwinder::Plimsoll => unprofiled(unwind::install),
        Unwinder::Libgcc => Err(String::new()),
        Unwinder::Compare => unprofiled(unwind::install_comparison),
    };
    if unwinder.is_err() {
        // If jemalloc refuses this hook, stacks have no births; everything else works.
        let _ = unprofiled(unwind::birth::wrap);
    }
    unwind::birth::begin();
    unprofiled(sys::notice_forks);
    let unwinder = (arguments.unwinder, unwinder);
    match serve(&mut channel, setup, &progress, unwinder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Calls a function; its allocations on this thread are not profiled.
fn unprofiled<T>(something: impl FnOnce() -> T) -> T {
    let was_profiled = jemalloc::set_thread_profiled(false);
    let answer = something();
    if was_profiled.is_ok() {
        let _ = jemalloc::set_thread_profiled(true);
    }
    answer
}

fn map_progress(path: &str) -> Option<Progress> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    Progress::map(&file).ok()
}

fn serve(
    channel: &mut Channel,
    setup: Setup,
    progress: &Progress,
    (asked_for, unwinder): (Unwinder, Result<(), String>),
) -> std::io::Result<()> {
    let [leaf, middle, root] = canary::addresses();
    // The reason contains spaces, so it comes last.
    let (unwinder, reason) = match &unwinder {
        Ok(()) => (asked_for, ""),
        Err(reason) => (Unwinder::Libgcc, reason.as_str()),
    };
    let unwinder = unwinder.as_str();
    channel.answer(format_args!(
        "ready\tprof={}\tactive={}\tlg_sample={}\tversion={}\tbt_max={}\tsampled={}\tcanary={leaf},{middle},{root}\ttables={}\tunwinder={unwinder}\treason={reason}",
        jemalloc::config_prof().unwrap_or(false) && jemalloc::opt_prof().unwrap_or(false),
        jemalloc::prof_active().unwrap_or(false),
        jemalloc::lg_sample().unwrap_or(usize::MAX),
        jemalloc::version().unwrap_or("none"),
        jemalloc::prof_bt_max().unwrap_or(128),
        calibrate().map_or(-1, |bytes| bytes),
        unwind::has_tables(middle),
    ))?;
    let canary = Canary::at(jemalloc::lg_sample().unwrap_or(0));
    let mut setup = Some(setup);
    let mut workload: Option<Workload> = None;
    let mut done = 0;
    let mut threads = Threads::default();
    // Reading a command allocates a dump's path. If that were sampled now and then, it would
    // look like an allocation of the workload.
    while let Some(command) = unprofiled(|| channel.command()) {
        match (command, &mut workload) {
            (Command::SetUp, _) => {
                let Some(setup) = setup.take() else { break };
                let setup = || {
                    unwind::end_stacks_here!();
                    setup()
                };
                let made = catch_unwind(AssertUnwindSafe(setup));
                leave_if_forked(progress);
                let made = made.map_err(|panic| panic_message(&*panic));
                report(channel, made.map(|made| workload = Some(made)), 0)?;
            }
            (Command::Run(until), Some(workload)) => {
                let ran = iterate(workload, &mut done, until, progress);
                leave_if_forked(progress);
                report(channel, ran, done)?;
            }
            (Command::Profile(on), _) => {
                let _ = jemalloc::set_prof_active(on);
                channel.answer(format_args!("done {done}"))?;
            }
            (Command::Dump(path), _) => {
                unprofiled(unwind::refresh);
                unwind::end_stacks_here!();
                canary::root(canary);
                let allocated = jemalloc::stats_allocated().unwrap_or(0);
                let threads = threads.count().unwrap_or(0);
                match jemalloc::dump(&path) {
                    Ok(()) => {
                        unwind::birth::next_generation();
                        let walks = unwind::walks();
                        // The dump has the mappings of this moment.
                        let [active, metadata, resident, mapped] =
                            jemalloc::memory().unwrap_or_default();
                        channel.answer(format_args!(
                            "dumped {allocated} {threads} {active} {metadata} {resident} {mapped} \
                             {walks}"
                        ))?;
                    }
                    Err(error) => channel.answer(format_args!("undumped {error}"))?,
                }
            }
            (Command::Run(_) | Command::End, _) => break,
        }
    }
    // The workload's destructors may have files to remove.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(workload)));
    sys::flush_output();
    if let Err(panic) = dropped {
        channel.answer(format_args!("failed {}", panic_message(&*panic)))?;
        sys::exit_now(101);
    }
    sys::exit_now(0)
}

/// Answers how many iterations are done, or why the workload failed.
fn report(channel: &mut Channel, ran: Result<(), String>, done: u64) -> std::io::Result<()> {
    let Err(message) = ran else {
        return channel.answer(format_args!("done {done}"));
    };
    sys::flush_output();
    channel.answer(format_args!("failed {message}"))
}

/// Exits if this process was forked by the workload and returned from it. It would otherwise
/// answer the front in addition to the subject.
fn leave_if_forked(progress: &Progress) {
    if sys::was_forked() {
        progress.add_stray();
        sys::exit_now(101);
    }
}

/// Runs the workload until `until` iterations are done.
fn iterate(
    workload: &mut Workload,
    done: &mut u64,
    until: u64,
    progress: &Progress,
) -> Result<(), String> {
    let ran = catch_unwind(AssertUnwindSafe(|| {
        unwind::end_stacks_here!();
        while *done < until {
            if unwind::wants_refresh() {
                unprofiled(unwind::refresh);
            }
            workload(*done)?;
            if sys::was_forked() {
                break;
            }
            *done += 1;
            progress.set(*done);
        }
        Ok(())
    }));
    match ran {
        Ok(outcome) => outcome.map_err(|error: String| returned(&error)),
        Err(panic) => Err(panic_message(&*panic)),
    }
}

/// Returns the line about an error that an iteration returned. What does not fit into a line,
/// such as a backtrace, is printed as it is.
fn returned(error: &str) -> String {
    let line = one_line(error);
    if line != error {
        // An error means that the workload has closed its own stderr.
        let _ = writeln!(std::io::stderr(), "returned an error: {error}");
    }
    format!("returned an error: {line}")
}

/// Returns the message of an error or a panic on one line, without its backtrace. Of an error
/// of `anyhow` or `eyre`, the causes follow.
fn one_line(message: &str) -> String {
    /// A longer message is not prose, so only its first line is.
    const MOST_LINES: usize = 4;
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.take_while(|line| !begins_backtrace(line)).collect();
    let causes = lines.iter().position(|line| *line == "Caused by:");
    match (causes, lines.as_slice()) {
        (_, []) => String::new(),
        (Some(at), [first, ..]) => {
            let causes = lines[at + 1..].iter().map(|cause| without_number(cause));
            let chain: Vec<&str> = std::iter::once(*first).chain(causes).collect();
            chain.join(": ")
        }
        (None, [first, rest @ ..]) => match rest.len() < MOST_LINES {
            true => lines.join(" "),
            false => (*first).to_owned(),
        },
    }
}

/// Returns whether a line is the heading of a backtrace, as `anyhow`, `eyre` and others write
/// it, or of the place that `eyre` adds.
fn begins_backtrace(line: &str) -> bool {
    let heading = line.trim_matches(['━', ' ', ':']).to_lowercase();
    matches!(
        heading.as_str(),
        "stack backtrace" | "backtrace" | "location"
    )
}

/// Returns a cause without its number in the list: `0: no such file`.
fn without_number(cause: &str) -> &str {
    match cause.split_once(": ") {
        Some((number, cause)) if number.parse::<u32>().is_ok() => cause,
        _ => cause,
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a value that is no text");
    let location = PANIC_LOCATION.lock().ok();
    match location.and_then(|mut location| location.take()) {
        Some(location) => format!("panicked at {location}: {}", one_line(text)),
        None => format!("panicked: {}", one_line(text)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        for (message, expected) in [
            ("\"no more\"", "\"no more\""),
            ("", ""),
            (
                "channel closed\n\nStack backtrace:\n   0: anyhow::error\n             at src/a.rs:1",
                "channel closed",
            ),
            (
                "no config\n\nCaused by:\n    0: cannot read x\n    1: no such file\n\n\
                 Stack backtrace:\n   0: anyhow::error",
                "no config: cannot read x: no such file",
            ),
            (
                "no config\n\nCaused by:\n    no such file\n\nLocation:\n    src/a.rs:1:2",
                "no config: no such file",
            ),
            (
                "called `Result::unwrap()` on an `Err` value: closed\n\n\
                 ━━━━ BACKTRACE ━━━━\n   0: x",
                "called `Result::unwrap()` on an `Err` value: closed",
            ),
            (
                "assertion `left == right` failed\n  left: 1\n right: 2",
                "assertion `left == right` failed left: 1 right: 2",
            ),
            ("Many {\n a: 1,\n b: 2,\n c: 3,\n}", "Many {"),
        ] {
            assert_eq!(one_line(message), expected, "{message:?}");
        }
    }
}
