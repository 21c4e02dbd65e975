//! The one session of the process: what the front asked for, and which benchmarks ran so far.
//!
//! The session begins with the first [`Criterion`](crate::Criterion). It is global, because a
//! program makes as many of those as it likes, and because its `main` may be its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use plimsoll_subject::{Asked, Listed, Measure, asked, workload_setup};

use crate::Bencher;
use crate::measurement::Measurement;
use crate::names::Names;

struct Session {
    /// `None` as soon as the measured benchmark runs, or the list is complete.
    asked: Option<Asked>,
    names: Names,
}

static SESSION: OnceLock<Mutex<Session>> = OnceLock::new();

fn session() -> MutexGuard<'static, Session> {
    let begin = || {
        #[cfg(all(feature = "front", target_os = "linux"))]
        crate::front::guard();
        Mutex::new(Session {
            asked: Some(asked().unwrap_or_else(|| without_front())),
            names: Names::default(),
        })
    };
    // No benchmark runs while the lock is held, so a panic leaves nothing half done.
    SESSION
        .get_or_init(begin)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Begins the session, if no other `Criterion` has.
pub(crate) fn begin() {
    drop(session());
}

/// Lists the benchmark, or runs it if it is the one to measure. Then the process ends.
pub(crate) fn benchmark<M: Measurement>(id: &str, function: impl FnOnce(&mut Bencher<'_, M>)) {
    if let Some(measure) = next(id) {
        run(measure, function);
    }
}

/// Names the next benchmark of the program, and lists it if the front asked for the list.
/// Returns its measurement if it is the one to measure.
pub(crate) fn next(id: &str) -> Option<Measure> {
    let mut session = session();
    let named = session.names.next(id);
    if let Some(Asked::List(list)) = &mut session.asked {
        list.add(&Listed {
            title: &named.title,
            ..Listed::named(&named.name)
        });
    }
    let is_asked = |asked: &mut Asked| matches!(asked, Asked::Measure(measure) if measure.scenario() == named.name);
    match session.asked.take_if(is_asked) {
        Some(Asked::Measure(measure)) => Some(measure),
        _ => None,
    }
}

/// Runs a benchmark, drops its function, and ends the process.
pub(crate) fn run<M: Measurement>(
    mut measure: Measure,
    function: impl FnOnce(&mut Bencher<'_, M>),
) -> ! {
    let mut bencher = Bencher::new(&mut measure);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        workload_setup(|| function(&mut bencher));
    }));
    let iterated = bencher.iterated();
    match outcome {
        Err(panic) => measure.panicked(panic),
        Ok(()) if iterated => measure.end(),
        Ok(()) => measure.fail(format_args!(
            "the benchmark's function does not call Bencher::iter or one of its kin"
        )),
    }
}

/// Ends the session and the process: no benchmark comes after this.
pub(crate) fn end() {
    let asked = session().asked.take();
    match asked {
        Some(Asked::List(list)) => list.end(),
        Some(Asked::Measure(measure)) => {
            measure.fail(format_args!("there is no benchmark of this name"))
        }
        None => {}
    }
}

/// Somebody started the program by hand, or `cargo test` did.
fn without_front() -> ! {
    #[cfg(all(feature = "front", target_os = "linux"))]
    crate::front::run();
    #[cfg(not(all(feature = "front", target_os = "linux")))]
    needs_front()
}

#[cfg(not(all(feature = "front", target_os = "linux")))]
fn needs_front() -> ! {
    use std::io::{self, Write};

    // If nobody can read the message, the status still tells.
    let _ = writeln!(
        io::stderr(),
        "error: no front started this program\n  \
         `cargo plimsoll bench` built it, to measure its benchmarks for leaks\n  \
         hint: run `plimsoll run PROGRAM`"
    );
    std::process::exit(2)
}
