//! Traces (`fastrace`) that end on another thread, or with their thread.
//!
//! Kept: an `ActiveCollector` for each trace whose end the collector does not see, in a map of
//! the static `GLOBAL_COLLECTOR`. There are two ways to that:
//!
//! - A thread-local holds the root span. If the span is dropped after the thread-local that sends
//!   commands, `send_command` does nothing.
//! - The channel of the thread (10,240 commands) is full when the thread ends, as the collector is
//!   busy in `Reporter::report`. `Drop` of `spsc::Sender` drops the commands that do not fit.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fastrace::collector::{Config, Reporter, SpanRecord};
use fastrace::prelude::*;
use plimsoll::Scenario;

/// Held while the server that takes the traces does not answer.
static SERVER: Mutex<()> = Mutex::new(());

/// Whether the reporter waits for the server.
static WAITS: AtomicBool = AtomicBool::new(false);

static REPORTS: AtomicU64 = AtomicU64::new(0);

/// Takes every trace.
struct Exporter;

impl Reporter for Exporter {
    fn report(&mut self, _: Vec<SpanRecord>) {
        WAITS.store(true, Ordering::SeqCst);
        let server = SERVER.lock();
        WAITS.store(false, Ordering::SeqCst);
        REPORTS.fetch_add(1, Ordering::SeqCst);
        drop(server);
    }
}

/// It reports when this says so, and not by the clock.
pub fn setup() {
    let never = Duration::from_secs(24 * 60 * 60);
    fastrace::set_reporter(Exporter, Config::default().report_interval(never));
}

fn root() -> Span {
    Span::root("request", SpanContext::random())
}

fn handle(i: u64) {
    let root = root();
    let _parent = root.set_local_parent();
    let _local =
        LocalSpan::enter_with_local_parent("handle").with_property(|| ("request", i.to_string()));
    let query = Span::enter_with_parent("query", &root);
    query.add_event(Event::new("rows"));
}

fn report(i: u64) {
    if i.is_multiple_of(10) {
        fastrace::flush();
    }
}

thread_local! {
    /// The trace of this thread.
    static TRACE: RefCell<Option<Span>> = const { RefCell::new(None) };
}

/// A thread that has a trace as long as it lives.
pub fn thread_trace(_: &mut (), i: u64) {
    let thread = thread::spawn(|| TRACE.with_borrow_mut(|trace| *trace = Some(root())));
    thread.join().expect("no panic");
    report(i);
}

/// The same, and the thread ends its trace itself.
pub fn thread_trace_taken(_: &mut (), i: u64) {
    let thread = thread::spawn(|| {
        TRACE.with_borrow_mut(|trace| *trace = Some(root()));
        drop(TRACE.take());
    });
    thread.join().expect("no panic");
    report(i);
}

/// A trace of a thousand spans more than the channel of a thread has room for.
fn many() {
    let root = root();
    for _ in 0..11_240 {
        drop(Span::enter_with_parent("row", &root));
    }
}

/// Makes the reporter wait until the guard is dropped.
fn stop_server() -> (MutexGuard<'static, ()>, JoinHandle<()>) {
    let server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let collector = thread::spawn(fastrace::flush);
    while !WAITS.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    (server, collector)
}

/// A thread that ends after a long trace, while the reporter waits for its server.
pub fn busy(_: &mut (), _i: u64) {
    let (server, collector) = stop_server();
    let reports = REPORTS.load(Ordering::SeqCst);
    thread::spawn(many).join().expect("no panic");
    drop(server);
    collector.join().expect("no panic");
    // After its report comes that of fastrace's own thread, which the full channel has woken.
    while REPORTS.load(Ordering::SeqCst) < reports + 2 {
        thread::yield_now();
    }
}

/// The same, and the thread has its trace reported before it ends.
pub fn busy_flushed(_: &mut (), _i: u64) {
    let (server, collector) = stop_server();
    let (tell, done) = sync_channel(0);
    let thread = thread::spawn(move || {
        many();
        tell.send(()).expect("the workload waits for it");
        fastrace::flush();
    });
    done.recv().expect("the thread lives");
    drop(server);
    collector.join().expect("no panic");
    thread.join().expect("no panic");
    fastrace::flush();
}

pub fn request(_: &mut (), i: u64) {
    handle(i);
    report(i);
}

pub fn request_cancelled(_: &mut (), i: u64) {
    let root = root();
    let _child = Span::enter_with_parent("query", &root);
    root.cancel();
    drop(root);
    report(i);
}

pub fn request_on_thread(_: &mut (), i: u64) {
    thread::spawn(move || handle(i)).join().expect("no panic");
    report(i);
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A thread-local ends the trace.
        Scenario::with_state("fastrace_thread_trace", setup, thread_trace),
        // The thread ends the trace.
        Scenario::with_state("fastrace_thread_trace_taken", setup, thread_trace_taken),
        // A thread ends while the reporter is busy.
        Scenario::with_state("fastrace_busy", setup, busy)
            .threshold(10)
            .budget(Duration::from_secs(60))
            .max_iterations(192),
        // A thread ends after its trace was reported.
        Scenario::with_state("fastrace_busy_flushed", setup, busy_flushed)
            .threshold(10)
            .budget(Duration::from_secs(60))
            .max_iterations(192),
        // Traces with spans, properties and events.
        Scenario::with_state("fastrace_requests", setup, request),
        // Traces that are not wanted.
        Scenario::with_state("fastrace_cancelled", setup, request_cancelled),
        // A thread for each trace.
        Scenario::with_state("fastrace_threads", setup, request_on_thread).max_iterations(4_096),
    ]
}
