//! A concurrent cache (`moka`) of sessions, far smaller than the number of users.
//!
//! What could leak: `moka` does its work late. It logs reads and writes, and any thread may
//! apply the log later. Evicted entries wait for `crossbeam-epoch` before they are freed. An
//! entry that gets lost between the map, the log and the queues stays for ever.
//!
//! Healthy, but not flat: at most 64 entries, and what the log and the epochs hold, which
//! goes up and down from iteration to iteration. The scenario does not call
//! `run_pending_tasks`, because a service would not call it.

use std::sync::Arc;

use moka::sync::Cache;
use plimsoll::Scenario;

use crate::random::{every, random};

/// Looks up popular and unpopular users, and loads those that are missing.
pub fn moka_churn() -> Scenario {
    Scenario::new("moka_churn", || {
        let sessions: Cache<u64, Arc<[u8]>> = Cache::new(64);
        move |i: u64| {
            // Half of the lookups go to 32 users, the others to 100,000.
            let popular = random(i).is_multiple_of(2);
            let user = random(i ^ 0x5e55) % if popular { 32 } else { 100_000 };
            let session = sessions.get_with(user, || Arc::from([0_u8; 120].as_slice()));
            debug_assert_eq!(session.len(), 120);
            if every(16, i) {
                sessions.invalidate(&user);
            }
        }
    })
}
