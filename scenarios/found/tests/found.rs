//! Every scenario of this package. `docs/found.md` says how to run them.

use plimsoll_found::*;

plimsoll::main!(
    cached_expired(),
    cached_expired_evicted(),
    clokwerk_once(),
    clokwerk_once_one_job(),
    cookie_store_deleted(),
    cookie_store_deleted_rebuilt(),
    eyeball_select(),
    eyeball_select_in_task(),
    futures_signals_views(),
    futures_signals_views_touched(),
    hyper_util_hosts(),
    hyper_util_hosts_with_timer(),
    indicatif_bars(),
    indicatif_bars_removed(),
    jsonrpsee_timeouts(),
    jsonrpsee_timeouts_connect_again(),
    named_lock_names(),
    named_lock_names_shared(),
    opentelemetry_gauges(),
    opentelemetry_gauges_shared(),
    postage_select(),
    postage_select_in_task(),
    prometheus_unscraped(),
    prometheus_unscraped_with_upkeep(),
    scc_short_threads(),
    scc_short_threads_accelerated(),
    wasmi_modules(),
    wasmi_modules_engine_renewed(),
);
