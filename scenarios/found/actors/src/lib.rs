//! Runtimes, pools, schedulers, actors and buses:
//! what current releases keep, one project in each file.

pub mod actix_broker;
pub mod bus;
pub mod kameo;
pub mod kameo_actors;
pub mod r2d2;
pub mod ractor;
pub mod scheduled_thread_pool;
pub mod tokio_cron_scheduler;
pub mod xtra;

/// A runtime of one thread.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread")
}
