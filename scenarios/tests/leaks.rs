//! Every scenario of this crate. `cargo test --test leaks` fails on growth that
//! is not accepted in `baselines/`.

use plimsoll_scenarios::*;

plimsoll::main!(
    // Caches and maps.
    lru_churn(),
    moka_churn(),
    hashbrown_occupancy(),
    dashmap_sessions(),
    // Async.
    tokio_pipeline(),
    tokio_tasks(),
    http_keep_alive(),
    http_new_connections(),
    // Threads.
    rayon_sort(),
    regex_threads(),
    thread_locals(),
    connection_pool(),
    // Text, data and what watches them.
    json_round_trip(),
    rusqlite_statements(),
    tracing_spans(),
    metrics_recorder(),
    plimsoll_dump(),
    // Known to grow; see their baselines.
    prometheus_customers(),
    lasso_paths(),
);
