//! How many threads the workload has started and ended, as jemalloc sees them.
//!
//! The kernel does not count the threads that a process has ever had, and those that end
//! between two rungs are in no list. jemalloc keeps a list of its threads' caches by
//! arena, with a mutex of which it counts how often it is locked: once for a thread's
//! first allocation, once for its end, and once each time that statistics are brought up
//! to date. A thread that does not allocate is not counted, and need not be.

use crate::jemalloc;

/// Counts from one dump to the next.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// Locks that came of threads' starts and ends.
    locks: u64,
    /// All locks, when they were last looked at.
    seen: Option<u64>,
}

impl Threads {
    /// The threads that have started and ended so far. For when statistics have been
    /// brought up to date once since the last call, for other reasons.
    pub(crate) fn count(&mut self) -> Option<u64> {
        let before = jemalloc::thread_cache_locks().ok()?;
        jemalloc::refresh_stats().ok()?;
        let after = jemalloc::thread_cache_locks().ok()?;
        Some(self.note(before, after))
    }

    /// Takes in how often the mutex had been locked before and after statistics were
    /// brought up to date once more.
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
        // An arena more, of a thread that lives on.
        assert_eq!(threads.note(153 + 4 + 1, 162), 16);
    }
}
