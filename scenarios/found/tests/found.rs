//! Every scenario of this package. `docs/found.md` says how to run them.

use plimsoll_found::*;

plimsoll::main!(
    cached_expired::scenarios(),
    clokwerk_once::scenarios(),
    cookie_store_deleted::scenarios(),
    eyeball_select::scenarios(),
    futures_signals_views::scenarios(),
    hyper_util_hosts::scenarios(),
    indicatif_bars::scenarios(),
    jsonrpsee_timeouts::scenarios(),
    named_lock_names::scenarios(),
    opentelemetry_gauges::scenarios(),
    postage_select::scenarios(),
    prometheus_unscraped::scenarios(),
    scc_short_threads::scenarios(),
    wasmi_modules::scenarios(),
);
