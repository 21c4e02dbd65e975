//! Growth that plimsoll found in current releases of crates, one crate in each file.
//!
//! Every file has two scenarios: one that grows, and one that does not, with what its user can
//! do. `docs/found.md` says more of each. What grows is accepted in `baselines/`, so that a run
//! tells when a release no longer keeps it.

mod cached_expired;
mod clokwerk_once;
mod cookie_store_deleted;
mod eyeball_select;
mod futures_signals_views;
mod hyper_util_hosts;
mod indicatif_bars;
mod jsonrpsee_timeouts;
mod named_lock_names;
mod opentelemetry_gauges;
mod postage_select;
mod prometheus_unscraped;
mod scc_short_threads;
mod wasmi_modules;

pub use cached_expired::{cached_expired, cached_expired_evicted};
pub use clokwerk_once::{clokwerk_once, clokwerk_once_one_job};
pub use cookie_store_deleted::{cookie_store_deleted, cookie_store_deleted_rebuilt};
pub use eyeball_select::{eyeball_select, eyeball_select_in_task};
pub use futures_signals_views::{futures_signals_views, futures_signals_views_touched};
pub use hyper_util_hosts::{hyper_util_hosts, hyper_util_hosts_with_timer};
pub use indicatif_bars::{indicatif_bars, indicatif_bars_removed};
pub use jsonrpsee_timeouts::{jsonrpsee_timeouts, jsonrpsee_timeouts_connect_again};
pub use named_lock_names::{named_lock_names, named_lock_names_shared};
pub use opentelemetry_gauges::{opentelemetry_gauges, opentelemetry_gauges_shared};
pub use postage_select::{postage_select, postage_select_in_task};
pub use prometheus_unscraped::{prometheus_unscraped, prometheus_unscraped_with_upkeep};
pub use scc_short_threads::{scc_short_threads, scc_short_threads_accelerated};
pub use wasmi_modules::{wasmi_modules, wasmi_modules_engine_renewed};

/// A runtime of one thread.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread")
}
