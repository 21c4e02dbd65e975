//! Runtimes, pools, schedulers, actors and buses: what current releases keep, one project in each file.

mod actix_broker;
mod bus;
mod kameo;
mod kameo_actors;
mod r2d2;
mod ractor;
mod scheduled_thread_pool;
mod tokio_cron_scheduler;
mod xtra;

use plimsoll::Scenario;

/// All scenarios of this package.
pub fn scenarios() -> Vec<Scenario> {
    [
        actix_broker::scenarios(),
        bus::scenarios(),
        kameo::scenarios(),
        kameo_actors::scenarios(),
        r2d2::scenarios(),
        ractor::scenarios(),
        scheduled_thread_pool::scenarios(),
        tokio_cron_scheduler::scenarios(),
        xtra::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A runtime of one thread.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread")
}
