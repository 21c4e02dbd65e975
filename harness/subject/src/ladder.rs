//! The subject's side of the ladder: iterations and dumps, as the front asks for them.

use std::any::Any;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{fmt, io, ptr};

use crate::canary::{self, Canary};
use crate::channel::{Channel, Command};
use crate::jemalloc::unprofiled;
use crate::sys::{self, Progress};
use crate::threads::Threads;
use crate::{jemalloc, messages, objects, stop, unwind};

/// Where the front finds what it needs in the memory of the stopped process.
struct Stopped {
    table: objects::Place,
    threads: stop::Place,
    thread_local_bytes: u64,
    page: usize,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stopped {
            table,
            threads,
            thread_local_bytes,
            page,
        } = self;
        let [places, in_a_part] = objects::Place::OBJECTS;
        let (walks, of_walks) = plimsoll_unwind::last_walks();
        write!(
            f,
            "stopped {} {places} {} {in_a_part} {} {} {} {} {} {} {} {thread_local_bytes} \
             {walks} {of_walks} {page}",
            table.objects,
            table.parts,
            table.words,
            table.taken,
            table.left_out,
            threads.address,
            threads.threads,
            threads.bytes_of_each,
            threads.running,
        )
    }
}

/// The status of a process whose workload failed: that of a panic.
const FAILED: i32 = 101;

/// One iteration of a workload. It takes the iteration's number; an error fails the scenario.
type Iteration<'a> = dyn FnMut(u64) -> Result<(), String> + 'a;

/// A subject that has greeted its front.
#[derive(Debug)]
pub(crate) struct Ladder {
    pub(crate) channel: Channel,
    progress: Progress,
    threads: Threads,
    canary: Canary,
    /// Iterations done.
    done: u64,
}

impl Ladder {
    pub(crate) fn new(channel: Channel, progress: Progress) -> Ladder {
        Ladder {
            channel,
            progress,
            threads: Threads::default(),
            canary: Canary::of_profile(),
            done: 0,
        }
    }

    /// Answers that the workload is set up, and does what the front says, until it says that the
    /// ladder ends.
    pub(crate) fn climb(&mut self, iteration: &mut Iteration<'_>) {
        self.leave_if_forked();
        self.answer_done();
        // Reading a command allocates a dump's path. If that were sampled now and then, it would
        // look like an allocation of the workload.
        while let Some(command) = unprofiled(|| self.channel.command()) {
            match command {
                Command::Run(until) => {
                    let ran = self.iterate(iteration, until);
                    self.leave_if_forked();
                    match ran {
                        Ok(()) => self.answer_done(),
                        Err(message) => self.fail(format_args!("{message}")),
                    }
                }
                Command::Profile(on) => {
                    let _ = jemalloc::set_prof_active(on);
                    self.answer_done();
                }
                Command::Dump(path) => self.dump(&path),
                Command::Stop => self.stop(ptr::from_ref(&iteration).addr() as u64),
                Command::End => return,
                Command::List | Command::SetUp(_) | Command::Objects => break,
            }
        }
        // The front is gone, or is none.
        sys::exit_now(FAILED)
    }

    /// Runs the workload until `until` iterations are done.
    fn iterate(&mut self, iteration: &mut Iteration<'_>, until: u64) -> Result<(), String> {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            unwind::end_stacks_here!();
            while self.done < until {
                if unwind::wants_refresh() {
                    unprofiled(unwind::refresh);
                }
                iteration(self.done)?;
                if sys::was_forked() {
                    break;
                }
                self.done += 1;
                self.progress.set(self.done);
                objects::set_iteration(self.done);
            }
            Ok(())
        }));
        match ran {
            Ok(outcome) => outcome.map_err(|error: String| messages::returned(&error)),
            Err(panic) => Err(messages::panicked(&*panic)),
        }
    }

    fn dump(&mut self, path: &std::ffi::CStr) {
        unprofiled(unwind::refresh);
        unwind::end_stacks_here!();
        canary::root(self.canary);
        let allocated = jemalloc::stats_allocated().unwrap_or(0);
        let threads = self.threads.count().unwrap_or(0);
        if let Err(error) = jemalloc::dump(path) {
            return self.answer(format_args!("undumped {error}"));
        }
        unwind::birth::next_generation();
        let walks = unwind::walks();
        // The dump has the mappings of this moment.
        let [active, metadata, resident, mapped] = jemalloc::memory().unwrap_or_default();
        self.answer(format_args!(
            "dumped {allocated} {threads} {active} {metadata} {resident} {mapped} {walks}"
        ));
    }

    /// Keeps a table of the objects that are alive, and answers.
    pub(crate) fn keep_objects(&mut self) {
        match unprofiled(objects::keep) {
            Ok(()) => self.answer_done(),
            Err(reason) => self.answer(format_args!("unable {reason}")),
        }
    }

    /// Stops all other threads, and answers with the process's memory. `frame` is the address from
    /// which on this thread's stack is the workload's.
    fn stop(&mut self, frame: u64) {
        let answer = |ladder: &mut Ladder| {
            // The mappings as well: in emulation, a process alone knows its own.
            let [memory, maps] =
                ["/proc/self/mem", "/proc/self/maps"].map(|path| unprofiled(|| File::open(path)));
            let (memory, maps) = (memory?, maps?);
            let table = objects::place().ok_or(io::ErrorKind::NotFound)?;
            let thread_local_bytes = sys::thread_local_bytes();
            let page = jemalloc::page().unwrap_or(1 << 12);
            // From here on, another thread may have a lock of the allocator and never give it back.
            let answer = Stopped {
                table,
                threads: stop::stop_all(frame)?,
                thread_local_bytes,
                page,
            };
            ladder
                .channel
                .answer_with(format_args!("{answer}"), [&memory, &maps])
        };
        if let Err(error) = answer(self) {
            self.answer(format_args!("unable {error}"));
        }
    }

    fn answer_done(&mut self) {
        let done = self.done;
        self.answer(format_args!("done {done}"));
    }

    fn answer(&mut self, answer: fmt::Arguments<'_>) {
        if self.channel.answer(answer).is_err() {
            sys::exit_now(FAILED);
        }
    }

    /// Answers that the workload failed, and ends the process.
    pub(crate) fn fail(&mut self, message: fmt::Arguments<'_>) -> ! {
        sys::flush_output();
        self.answer(format_args!("failed {message}"));
        sys::exit_now(FAILED)
    }

    /// Answers that the workload panicked, and ends the process.
    pub(crate) fn panicked(&mut self, panic: &(dyn Any + Send)) -> ! {
        self.fail(format_args!("{}", messages::panicked(panic)))
    }

    /// Exits if this process was forked by the workload and returned from it. It would otherwise
    /// answer the front in addition to the subject.
    pub(crate) fn leave_if_forked(&self) {
        if sys::was_forked() {
            self.progress.add_stray();
            sys::exit_now(FAILED);
        }
    }
}
