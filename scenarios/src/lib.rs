//! Workloads on real crates that plimsoll measures, one in each file.
//!
//! Every file says what the workload is, what could leak in it, and why it is healthy or what
//! is known to grow. `tests/leaks.rs` lists all of them. Accepted growth stands in
//! `baselines/`.
//!
//! An iteration depends only on its number, and allocates at most some twenty times.
//! Everything that it starts ends in the same iteration, if a user's program could wait for
//! that. Caches are full long before 4,000 iterations, because a cache that still fills looks
//! like a leak.

/// The page has code for workloads, which has to compile.
#[cfg(doctest)]
#[doc = include_str!("../../docs/scenarios.md")]
mod recipes {}

mod connection_pool;
mod dashmap_sessions;
mod hashbrown_occupancy;
mod http;
mod http_keep_alive;
mod http_new_connections;
mod http_service;
mod json_round_trip;
mod lasso_paths;
mod lru_churn;
mod metrics_recorder;
mod moka_churn;
mod plimsoll_dump;
mod prometheus_customers;
mod random;
mod rayon_sort;
mod regex_threads;
mod rusqlite_statements;
mod thread_locals;
mod tokio_pipeline;
mod tokio_tasks;
mod tracing_spans;

pub use connection_pool::connection_pool;
pub use dashmap_sessions::dashmap_sessions;
pub use hashbrown_occupancy::hashbrown_occupancy;
pub use http_keep_alive::http_keep_alive;
pub use http_new_connections::http_new_connections;
pub use http_service::{Loses, http_service, http_service_that_loses_sessions, load, serve};
pub use json_round_trip::json_round_trip;
pub use lasso_paths::lasso_paths;
pub use lru_churn::lru_churn;
pub use metrics_recorder::metrics_recorder;
pub use moka_churn::moka_churn;
pub use plimsoll_dump::plimsoll_dump;
pub use prometheus_customers::prometheus_customers;
pub use rayon_sort::rayon_sort;
pub use regex_threads::regex_threads;
pub use rusqlite_statements::rusqlite_statements;
pub use thread_locals::thread_locals;
pub use tokio_pipeline::tokio_pipeline;
pub use tokio_tasks::tokio_tasks;
pub use tracing_spans::tracing_spans;
