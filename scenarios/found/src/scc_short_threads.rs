//! A shared index (`scc`) that short-lived threads write to, one after another.
//!
//! Kept: the slots of removed entries. A slot is used again once the global epoch has moved on
//! (`Bucket::clear_unreachable_entries`). A thread moves it on after every 128th guard that it
//! drops (`sdd`, `Collector::CADENCE`), and these threads end before that.

use std::sync::Arc;
use std::thread;

use plimsoll::Scenario;
use scc::{Guard, HashIndex};

type Index = Arc<HashIndex<u64, [u8; 40]>>;

fn setup() -> Index {
    // More buckets, so that the lists of each are shorter.
    Arc::new(HashIndex::with_capacity(1_000))
}

/// A connection with a thread of its own, which adds two sessions and removes the oldest two.
fn connection(index: &mut Index, i: u64) {
    let index = Arc::clone(index);
    let thread = thread::spawn(move || {
        for n in [2 * i, 2 * i + 1] {
            let _ = index.insert_sync(n % 1_000, [1; 40]);
            index.remove_sync(&((n + 500) % 1_000));
        }
    });
    thread.join().expect("it does not panic");
}

fn connection_and_epoch(index: &mut Index, i: u64) {
    connection(index, i);
    let guard = Guard::new();
    guard.accelerate();
}

/// No thread lives long enough.
fn scc_short_threads() -> Scenario {
    Scenario::with_state("scc_short_threads", setup, connection)
}

/// A thread that lives on asks for the next epoch.
fn scc_short_threads_accelerated() -> Scenario {
    Scenario::with_state("scc_short_threads_accelerated", setup, connection_and_epoch)
}

pub fn scenarios() -> [Scenario; 2] {
    [scc_short_threads(), scc_short_threads_accelerated()]
}
