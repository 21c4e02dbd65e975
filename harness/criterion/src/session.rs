//! The one session of the process: what the front asked for, and which benchmarks ran so far.
//!
//! The session begins with the first [`Criterion`](crate::Criterion). It is global, because a
//! program makes as many of those as it likes, and because its `main` may be its own.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
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
    let begin = || match asked() {
        Some(asked) => Mutex::new(Session {
            asked: Some(asked),
            names: Names::default(),
        }),
        None => without_front(),
    };
    // A benchmark that panicked ended the process; it left nothing half done.
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
pub(crate) fn benchmark<M: Measurement>(id: &str, run: impl FnOnce(&mut Bencher<'_, M>)) {
    let Some(mut measure) = meet(id) else { return };
    let mut bencher = Bencher::new(&mut measure);
    let outcome = catch_unwind(AssertUnwindSafe(|| workload_setup(|| run(&mut bencher))));
    let iterated = bencher.iterated();
    match outcome {
        Err(panic) => measure.panicked(panic),
        Ok(()) if iterated => measure.end(),
        Ok(()) => measure.fail(format_args!(
            "the benchmark's function does not call Bencher::iter or one of its kin"
        )),
    }
}

/// Returns the ladder to climb if this benchmark is the one to measure.
fn meet(id: &str) -> Option<Measure> {
    let mut session = session();
    let named = session.names.next(id);
    match session.asked.take() {
        Some(Asked::Measure(measure)) if measure.scenario() == named.name => Some(measure),
        Some(Asked::List(mut list)) => {
            list.add(&Listed {
                name: &named.name,
                title: &named.title,
                ..Listed::named(&named.name)
            });
            session.asked = Some(Asked::List(list));
            None
        }
        other => {
            session.asked = other;
            None
        }
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

/// Somebody started the program by hand.
fn without_front() -> ! {
    // If nobody can read the message, the status still tells.
    let _ = writeln!(
        io::stderr(),
        "error: no front started this program\n  \
         `cargo plimsoll bench` built it, to measure its benchmarks for leaks\n  \
         hint: run `plimsoll run PROGRAM`"
    );
    process::exit(2)
}
