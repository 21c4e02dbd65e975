//! Growth that plimsoll found in current releases of crates, one crate in each file.
//!
//! Every file has two scenarios: one that grows, and one that does not, with what its user can
//! do. `docs/found.md` says more of each. What grows is accepted in `baselines/`, so that a run
//! tells when a release no longer keeps it.

pub mod cached_expired;
pub mod clokwerk_once;
pub mod cookie_store_deleted;
pub mod eyeball_select;
pub mod futures_signals_views;
pub mod hyper_util_hosts;
pub mod indicatif_bars;
pub mod jsonrpsee_timeouts;
pub mod named_lock_names;
pub mod opentelemetry_gauges;
pub mod postage_select;
pub mod prometheus_unscraped;
pub mod scc_short_threads;
pub mod wasmi_modules;

/// A runtime of one thread.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread")
}
