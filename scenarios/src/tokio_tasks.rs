//! Tasks (`tokio`), each spawned for one piece of work: fan out, fan in, and abort.
//!
//! What could leak: a task is one allocation, which the runtime, its handle and its wakers
//! share. It is freed when the last of them lets go, even if the task is aborted while it
//! waits, or if its handle is dropped unread. An unbounded channel whose receiver goes first
//! still owns its messages.
//!
//! Healthy: every task ends in its iteration, and the iteration sees that it has ended.

use anyhow::{Context, ensure};
use plimsoll::Scenario;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::random::every;

/// Runs two producers with one unbounded channel, and every fourth time a task that waits for
/// ever and is aborted.
pub fn tokio_tasks() -> Scenario {
    Scenario::new("tokio_tasks", || {
        let runtime: Runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .expect("a tokio runtime with two workers starts");
        move |i: u64| runtime.block_on(fan(i))
    })
}

async fn fan(i: u64) -> anyhow::Result<()> {
    let (results, mut collected) = mpsc::unbounded_channel();
    let producers = [0, 1].map(|part| {
        let results = results.clone();
        tokio::spawn(async move { results.send(vec![i; 4 + part]).is_ok() })
    });
    drop(results);
    let mut numbers = 0;
    while let Some(part) = collected.recv().await {
        numbers += part.len();
    }
    ensure!(numbers == 9, "the producers sent {numbers} numbers, not 9");
    for producer in producers {
        let has_sent = producer.await.context("a producer panicked")?;
        ensure!(has_sent, "the collector was gone");
    }
    if every(4, i) {
        let waiting = tokio::spawn(std::future::pending::<()>());
        waiting.abort();
        let was_aborted = waiting.await.is_err_and(|end| end.is_cancelled());
        ensure!(was_aborted, "an aborted task ran to its end");
    }
    Ok(())
}
