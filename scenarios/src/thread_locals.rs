//! Threads that are spawned, use thread-locals of both kinds, and are joined.
//!
//! What could leak: a `thread_local!` is dropped by a destructor that runs when its thread
//! ends. A value of the `thread_local` crate belongs to the object and stays when its thread
//! has ended, so the next thread has to get its slot. A thread that is never joined keeps its
//! stack.
//!
//! Healthy: there are two threads at a time, and both are joined. So the `thread_local` crate
//! gives out the same few slots.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use anyhow::ensure;
use plimsoll::Scenario;
use thread_local::ThreadLocal;

thread_local! {
    static SCRATCH: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Two threads fill their own scratch space, and count in a shared object.
pub fn thread_locals() -> Scenario {
    Scenario::new("thread_locals", || {
        let counts: Arc<ThreadLocal<Cell<u64>>> = Arc::new(ThreadLocal::new());
        move |i: u64| -> anyhow::Result<()> {
            let threads = [0, 1].map(|thread| {
                let counts = Arc::clone(&counts);
                std::thread::spawn(move || work(&counts, 2 * i + thread))
            });
            for (thread, sum) in (0..).zip(threads) {
                let (sum, expected) = (sum.join().ok(), 16 * (2 * i + thread));
                ensure!(sum == Some(expected), "the thread's sum is {sum:?}");
            }
            Ok(())
        }
    })
}

fn work(counts: &ThreadLocal<Cell<u64>>, number: u64) -> u64 {
    let count = counts.get_or_default();
    count.set(count.get() + 1);
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.resize(16, number);
        scratch.iter().sum()
    })
}
