//! Requests that are timed (`tracing-timing`), each on a thread of its own.
//!
//! Kept: a histogram of each event for each thread that has ended. Threads are numbered, and
//! nothing removes the entry of a number from the map of threads (`WriterState::tls`).
//! `force_synchronize` drops the histograms, and leaves the entries.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use plimsoll::Scenario;
use tracing::dispatcher::with_default;
use tracing::{Dispatch, info, info_span};
use tracing_timing::{Builder, Histogram, SubscriberDowncaster, TimingSubscriber, group};

pub struct Server {
    dispatch: Dispatch,
    timing: SubscriberDowncaster<group::ByName, group::ByMessage>,
}

pub struct Pool {
    server: Server,
    requests: SyncSender<()>,
    answers: Receiver<()>,
}

pub fn setup() -> Server {
    let timing: TimingSubscriber = Builder::default()
        .build(|| Histogram::new_with_max(60_000_000, 2).expect("two digits are allowed"));
    Server {
        timing: timing.downcaster(),
        dispatch: Dispatch::new(timing),
    }
}

/// A server with one thread that handles all requests.
pub fn setup_pool() -> Pool {
    let server = setup();
    let (requests, received) = sync_channel(0);
    let (answer, answers) = sync_channel(0);
    let dispatch = server.dispatch.clone();
    thread::spawn(move || {
        for () in received {
            with_default(&dispatch, handle);
            answer.send(()).expect("the pool waits for it");
        }
    });
    Pool {
        server,
        requests,
        answers,
    }
}

fn handle() {
    info_span!("request").in_scope(|| info!("parsed"));
}

fn synchronize(server: &Server) {
    let timing = server.timing.downcast(&server.dispatch);
    timing
        .expect("it is a `TimingSubscriber`")
        .force_synchronize();
}

pub fn request(server: &mut Server, _i: u64) {
    let dispatch = server.dispatch.clone();
    let thread = thread::spawn(move || with_default(&dispatch, handle));
    thread.join().expect("no panic");
}

pub fn request_synchronized(server: &mut Server, i: u64) {
    request(server, i);
    if i.is_multiple_of(10) {
        synchronize(server);
    }
}

pub fn request_pooled(pool: &mut Pool, i: u64) {
    pool.requests.send(()).expect("the thread lives");
    pool.answers.recv().expect("the thread lives");
    if i.is_multiple_of(10) {
        synchronize(&pool.server);
    }
}

pub fn subscriber(_: &mut (), i: u64) {
    request_synchronized(&mut setup(), i);
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A thread for each request.
        Scenario::with_state("tracing_timing_threads", setup, request).max_iterations(4_096),
        // The same, with `force_synchronize` now and then.
        Scenario::with_state(
            "tracing_timing_threads_synchronized",
            setup,
            request_synchronized,
        )
        .max_iterations(4_096),
        // One thread for all requests.
        Scenario::with_state("tracing_timing_pool", setup_pool, request_pooled),
        // A subscriber for each request.
        Scenario::with_state("tracing_timing_subscribers", || (), subscriber).max_iterations(4_096),
    ]
}
