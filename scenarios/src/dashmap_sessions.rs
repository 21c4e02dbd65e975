//! A sharded map (`dashmap`) of sessions that log in and out on two threads.
//!
//! What could leak: an entry that one thread replaces while another removes it; a shard that
//! grows because of tombstones. `dashmap` never shrinks a shard by itself, so an unbounded set
//! of keys would stay as empty buckets.
//!
//! Healthy: 512 users, some of whom are logged in. The shards have the size of their fullest
//! moment, which comes early.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::Context;
use dashmap::DashMap;
use plimsoll::Scenario;

use crate::random::random;

const USERS: u64 = 512;

struct Session {
    user: String,
    requests: u64,
}

type Sessions = Arc<DashMap<u64, Session>>;

/// Logs a batch of users in. At the same time, a second thread handles a batch of requests and
/// logouts. The iteration waits for both.
pub fn dashmap_sessions() -> Scenario {
    Scenario::new("dashmap_sessions", || {
        // Four shards, whatever the number of cores, so that they fill at the same pace on
        // every machine.
        let sessions: Sessions = Arc::new(DashMap::with_shard_amount(4));
        let (jobs, todo) = sync_channel(1);
        let (done, answers) = sync_channel(1);
        let shared = Arc::clone(&sessions);
        thread::spawn(move || log_out(&shared, &todo, &done));
        move |i: u64| -> anyhow::Result<()> {
            jobs.send(i).context("the second thread is gone")?;
            for step in 0..4 {
                let user = random(16 * i + step) % USERS;
                sessions.insert(
                    user,
                    Session {
                        user: format!("user-{user:08}"),
                        requests: 0,
                    },
                );
            }
            answers.recv().context("the second thread is gone")
        }
    })
}

/// Does the second thread's part of each iteration, until the first thread hangs up.
fn log_out(sessions: &Sessions, todo: &Receiver<u64>, done: &SyncSender<()>) {
    for i in todo {
        for step in 8..12 {
            let user = random(16 * i + step) % USERS;
            if let Some(mut session) = sessions.get_mut(&user) {
                session.requests += 1;
            }
            sessions.remove_if(&user, |_, session| !session.user.is_empty());
        }
        if done.send(()).is_err() {
            return;
        }
    }
}
