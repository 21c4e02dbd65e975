//! A pool of connections (`r2d2`) for each tenant, with threads that all pools share.
//!
//! Kept: the job of every pool that was dropped, which closes idle connections every 30 s
//! (`Pool::new_inner`). Its handle is not kept, so nothing cancels it. It finds that the pool is
//! gone (`reap_connections`), and runs again in 30 s. Its `Weak` keeps the memory of the pool.

use std::convert::Infallible;
use std::sync::Arc;

use plimsoll::Scenario;
use r2d2::{Builder, ManageConnection, Pool};
use scheduled_thread_pool::ScheduledThreadPool;

struct Manager;

impl ManageConnection for Manager {
    type Connection = String;
    type Error = Infallible;

    fn connect(&self) -> Result<String, Infallible> {
        Ok("a connection".to_owned())
    }

    fn is_valid(&self, _: &mut String) -> Result<(), Infallible> {
        Ok(())
    }

    fn has_broken(&self, _: &mut String) -> bool {
        false
    }
}

pub type Threads = Arc<ScheduledThreadPool>;

pub fn threads() -> Threads {
    Arc::new(ScheduledThreadPool::new(1))
}

fn serve(threads: &Threads, pool: Builder<Manager>) -> anyhow::Result<()> {
    let pool = pool.max_size(1).thread_pool(Arc::clone(threads));
    let pool = pool.build(Manager)?;
    anyhow::ensure!(*pool.get()? == "a connection");
    Ok(())
}

pub fn tenant(threads: &mut Threads, _i: u64) -> anyhow::Result<()> {
    serve(threads, Pool::builder())
}

/// Without an idle timeout and without a lifetime there is nothing to close.
pub fn tenant_without_limits(threads: &mut Threads, _i: u64) -> anyhow::Result<()> {
    serve(
        threads,
        Pool::builder().idle_timeout(None).max_lifetime(None),
    )
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("r2d2_tenants", threads, tenant),
        Scenario::with_state(
            "r2d2_tenants_without_limits",
            threads,
            tenant_without_limits,
        ),
    ]
}
