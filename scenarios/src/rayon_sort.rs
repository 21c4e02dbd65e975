//! Parallel iterators (`rayon`) on a pool of two threads.
//!
//! What could leak: jobs are on the caller's stack and in a deque whose buffer grows to the
//! deepest recursion; work from other threads goes through a queue of linked blocks; old
//! buffers wait for `crossbeam-epoch`. If one piece of a collected result fails, the other
//! pieces have to be freed.
//!
//! Healthy: the input always has the same small sizes.

use anyhow::ensure;
use plimsoll::Scenario;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::random::{every, random};

/// Maps and sorts 64 numbers; every eighth time the map fails in the middle.
pub fn rayon_sort() -> Scenario {
    Scenario::new("rayon_sort", || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .expect("a pool of two threads starts");
        move |i: u64| pool.install(|| map_and_sort(i))
    })
}

fn map_and_sort(i: u64) -> anyhow::Result<()> {
    let mut numbers: Vec<u64> = (0..64_u32)
        .into_par_iter()
        .with_min_len(16)
        .map(|k| random(64 * i + u64::from(k)))
        .collect();
    numbers.par_sort_unstable();
    ensure!(numbers.is_sorted(), "not sorted");
    if every(8, i) {
        let odd: Result<Vec<Box<u64>>, u64> = (0..8)
            .into_par_iter()
            .map(|k| if k == 5 { Err(k) } else { Ok(Box::new(k)) })
            .collect();
        ensure!(odd == Err(5), "the failure was lost");
    }
    Ok(())
}
