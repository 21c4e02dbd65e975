//! A gauge (`dipstick`) that is observed while a connection lasts, and metrics with names that
//! are made at run time.
//!
//! Kept: the handle of each observation at an interval, also after it was cancelled
//! (`ObserveWhen::every` pushes it to `Attributes::tasks`); and the scores of each metric that a
//! bucket was asked for. `InnerAtomicBucket::flush` means to remove those that nobody else has,
//! which are counted once. It clones the map first, so all of them are counted twice.

use std::io;
use std::time::Duration;

use dipstick::{AtomicBucket, Cancel, Flush, InputScope, Observe};
use plimsoll::Scenario;

fn queue_length(i: u64) -> isize {
    isize::try_from(i).unwrap_or(isize::MAX)
}

/// A connection that has its queue observed until it ends.
pub fn observe(bucket: &mut AtomicBucket, i: u64) {
    let queue = bucket.gauge("queue");
    let observed = bucket.observe(queue, move |_| queue_length(i));
    observed.every(Duration::from_millis(1)).cancel();
}

pub fn observe_on_flush(bucket: &mut AtomicBucket, i: u64) -> io::Result<()> {
    let queue = bucket.gauge("queue");
    let observed = bucket.observe(queue, move |_| queue_length(i)).on_flush();
    bucket.flush()?;
    observed.cancel();
    Ok(())
}

/// A metric for each client, which is dropped at once. The bucket is flushed now and then.
pub fn clients(bucket: &mut AtomicBucket, i: u64) -> io::Result<()> {
    bucket.counter(&format!("client-{i}")).count(1);
    match i % 100 {
        0 => bucket.flush(),
        _ => Ok(()),
    }
}

pub fn clients_renewed(bucket: &mut AtomicBucket, i: u64) -> io::Result<()> {
    clients(bucket, i)?;
    if i.is_multiple_of(100) {
        *bucket = AtomicBucket::new();
    }
    Ok(())
}

/// A bucket that is written to `Void`.
pub fn setup() -> AtomicBucket {
    AtomicBucket::new()
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // Observed at an interval.
        Scenario::with_state("dipstick_observed", setup, observe),
        // Observed whenever the bucket is flushed.
        Scenario::with_state("dipstick_observed_on_flush", setup, observe_on_flush),
        // One bucket for all clients.
        Scenario::with_state("dipstick_clients", setup, clients),
        // A new bucket after it was flushed.
        Scenario::with_state("dipstick_clients_renewed", setup, clients_renewed),
    ]
}
