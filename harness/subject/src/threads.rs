//! Counts the threads that the workload has started and ended, with jemalloc's help.
//!
//! The kernel does not count the threads that a process has ever had, and a thread that ends
//! between two rungs is in no list. jemalloc has a list of thread caches for each arena, and
//! counts how often the list's mutex is locked: once for a thread's first allocation, once for
//! the thread's end, and once each time statistics are refreshed. A thread that does not
//! allocate is not counted. It cannot grow the heap either.

use crate::jemalloc;

/// Counts from one dump to the next.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// Locks for the starts and ends of threads.
    locks: u64,
    /// All locks at the last call.
    seen: Option<u64>,
}

impl Threads {
    /// Returns how many threads have started and ended so far.
    ///
    /// Statistics must have been refreshed exactly once since the last call, by other code.
    pub(crate) fn count(&mut self) -> Option<u64> {
        let before = jemalloc::thread_cache_locks().ok()?;
        jemalloc::refresh_stats().ok()?;
        let after = jemalloc::thread_cache_locks().ok()?;
        Some(self.note(before, after))
    }

    /// Takes the lock counts before and after one more refresh of the statistics.
    fn note(&mut self, before: u64, after: u64) -> u64 {
        let by_statistics = after.saturating_sub(before);
        if let Some(seen) = self.seen.replace(after) {
            self.locks += before.saturating_sub(seen + by_statistics);
        }
        self.locks / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_statistics_lock_is_no_thread() {
        let mut threads = Threads::default();
        assert_eq!(threads.note(100, 103), 0);
        assert_eq!(threads.note(106, 109), 0);
        // Sixteen threads, of which one has not ended.
        assert_eq!(threads.note(109 + 3 + 31, 146), 15);
        assert_eq!(threads.note(146 + 3 + 1, 153), 16);
        // One more arena, for a thread that does not end.
        assert_eq!(threads.note(153 + 4 + 1, 162), 16);
    }
}
