//! Jobs (`tokio-cron-scheduler`) that are added and removed, and schedulers that are replaced.
//!
//! Kept: the closure of every notification whose job was removed. `JobDeleter` removes the job,
//! and `NotificationDeleter` what the store has of its notifications, but
//! `SimpleNotificationCode` listens for notifications that are removed one by one
//! (`notify_delete_tx`).
//!
//! Also kept: every scheduler, after `shutdown` and after it was dropped. `shutdown` ends the
//! task that ticks. Eleven others wait for messages, and one of these (`JobRunner`) owns the
//! scheduler, with all senders: so none of them ends.

use std::time::Duration;

use plimsoll::Scenario;
use tokio::runtime::{Builder, Runtime};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

pub struct Jobs {
    runtime: Runtime,
    scheduler: JobScheduler,
}

fn jobs(runtime: Runtime) -> Jobs {
    let scheduler = runtime.block_on(JobScheduler::new());
    Jobs {
        runtime,
        scheduler: scheduler.expect("a scheduler in memory"),
    }
}

pub fn setup() -> Jobs {
    jobs(super::runtime())
}

/// A notification is added with a receiver that blocks, so another thread has to answer.
pub fn setup_with_worker() -> Jobs {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    jobs(runtime.expect("a runtime of one worker"))
}

fn reminder(i: u64) -> Result<Job, JobSchedulerError> {
    let text = format!("reminder {i}");
    Job::new_one_shot(Duration::from_secs(3_600), move |_, _| drop(text.clone()))
}

pub fn remove(jobs: &mut Jobs, i: u64) -> Result<(), JobSchedulerError> {
    jobs.runtime.block_on(async {
        let id = jobs.scheduler.add(reminder(i)?).await?;
        jobs.scheduler.remove(&id).await
    })
}

pub fn remove_notified(jobs: &mut Jobs, i: u64) -> Result<(), JobSchedulerError> {
    jobs.runtime.block_on(async {
        let mut job = reminder(i)?;
        let text = format!("reminder {i} was sent");
        job.on_done_notification_add(
            &jobs.scheduler,
            Box::new(move |_, _, _| {
                let text = text.clone();
                Box::pin(async move { drop(text) })
            }),
        )
        .await?;
        let id = jobs.scheduler.add(job).await?;
        jobs.scheduler.remove(&id).await
    })
}

/// The configuration is loaded again: a new scheduler has the jobs.
pub fn replace(jobs: &mut Jobs, i: u64) -> Result<(), JobSchedulerError> {
    jobs.runtime.block_on(async {
        jobs.scheduler.shutdown().await?;
        jobs.scheduler = JobScheduler::new().await?;
        jobs.scheduler.add(reminder(i)?).await?;
        jobs.scheduler.start().await
    })
}

/// The scheduler's tasks end with their runtime.
pub fn replace_with_runtime(jobs: &mut Jobs, i: u64) -> Result<(), JobSchedulerError> {
    *jobs = setup();
    jobs.runtime.block_on(async {
        jobs.scheduler.add(reminder(i)?).await?;
        jobs.scheduler.start().await
    })
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A notification for each job, and none.
        Scenario::with_state(
            "tokio_cron_scheduler_notified",
            setup_with_worker,
            remove_notified,
        ),
        Scenario::with_state("tokio_cron_scheduler_removed", setup, remove),
        // A scheduler that is replaced, and one with a runtime of its own.
        Scenario::with_state("tokio_cron_scheduler_replaced", setup, replace).max_iterations(4_096),
        Scenario::with_state(
            "tokio_cron_scheduler_own_runtime",
            setup,
            replace_with_runtime,
        ),
    ]
}
