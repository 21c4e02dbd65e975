//! Servers and brokers: what current releases keep, one project in each file.

mod async_lsp;
mod async_nats;
mod dav_server;
mod mini_redis;
mod rmcp;
#[expect(clippy::result_large_err, reason = "the error is the crate's own")]
mod rumqttd;
mod socketioxide;
mod ttrpc;
mod zeromq;

use plimsoll::Scenario;

/// All scenarios of this package.
pub fn scenarios() -> Vec<Scenario> {
    [
        async_lsp::scenarios(),
        async_nats::scenarios(),
        dav_server::scenarios(),
        mini_redis::scenarios(),
        rmcp::scenarios(),
        rumqttd::scenarios(),
        socketioxide::scenarios(),
        ttrpc::scenarios(),
        zeromq::scenarios(),
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
