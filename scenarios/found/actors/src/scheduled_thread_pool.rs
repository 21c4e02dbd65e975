//! Timeouts (`scheduled-thread-pool`) of requests that are answered in time.
//!
//! Kept: a job that was cancelled, with its closure, until its own time. `JobHandle::cancel`
//! sets a flag, which a worker reads after it has taken the job from the heap
//! (`Worker::run_job`). With many requests and long timeouts, most of the heap is such jobs.

use std::collections::BTreeMap;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plimsoll::Scenario;
use scheduled_thread_pool::ScheduledThreadPool;

const TIMEOUT: Duration = Duration::from_secs(3_600);

struct Request {
    _path: String,
}

fn request(i: u64) -> Request {
    Request {
        _path: format!("/orders/{i}"),
    }
}

pub fn pool() -> ScheduledThreadPool {
    ScheduledThreadPool::new(2)
}

/// The timeout is set, the request is answered, and the timeout is cancelled.
pub fn answer(pool: &mut ScheduledThreadPool, i: u64) {
    let request = request(i);
    let timeout = pool.execute_after(TIMEOUT, move || drop(request));
    timeout.cancel();
}

/// The requests that wait for an answer, by the time at which they time out.
pub struct Waiting {
    _pool: ScheduledThreadPool,
    requests: Arc<Mutex<BTreeMap<(Instant, u64), Request>>>,
}

pub fn waiting() -> Waiting {
    let pool = pool();
    let requests: Arc<Mutex<BTreeMap<_, Request>>> = Arc::default();
    let due = Arc::clone(&requests);
    pool.execute_with_fixed_delay(Duration::ZERO, Duration::from_millis(100), move || {
        let mut due = due.lock().expect("no panic");
        *due = due.split_off(&(Instant::now(), 0));
    });
    Waiting {
        _pool: pool,
        requests,
    }
}

pub fn answer_from_map(waiting: &mut Waiting, i: u64) {
    let key = (Instant::now() + TIMEOUT, i);
    let mut requests = waiting.requests.lock().expect("no panic");
    requests.insert(key, request(i));
    requests.remove(&key).expect("it waits");
}

/// The job has run when `receive` returns.
pub fn execute(pool: &mut ScheduledThreadPool, i: u64) {
    let (done, receive) = sync_channel(1);
    let request = request(i);
    pool.execute(move || {
        drop(request);
        done.send(i).expect("it is received");
    });
    assert_eq!(receive.recv(), Ok(i));
}

/// The job is dropped, with its sender, at its next time.
pub fn repeat_and_cancel(pool: &mut ScheduledThreadPool, i: u64) {
    let (ran, receive) = channel();
    let job = pool.execute_at_fixed_rate(Duration::ZERO, Duration::from_millis(1), move || {
        ran.send(i).expect("it is received");
    });
    assert_eq!(receive.recv(), Ok(i));
    job.cancel();
    while receive.recv().is_ok() {}
}

pub fn quiet_pool() -> ScheduledThreadPool {
    std::panic::set_hook(Box::new(|_| {}));
    pool()
}

pub fn fail(pool: &mut ScheduledThreadPool, _i: u64) {
    let (done, receive) = channel::<()>();
    pool.execute(move || {
        let _done = done;
        panic!("a job that fails");
    });
    assert!(receive.recv().is_err());
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A job for each timeout.
        Scenario::with_state("scheduled_thread_pool_timeouts", pool, answer),
        // A map of the requests that wait, and one job that looks for those that are due.
        Scenario::with_state("scheduled_thread_pool_one_job", waiting, answer_from_map),
        Scenario::with_state("scheduled_thread_pool_executed", pool, execute),
        Scenario::with_state("scheduled_thread_pool_repeated", pool, repeat_and_cancel),
        Scenario::with_state("scheduled_thread_pool_panicked", quiet_pool, fail),
    ]
}
