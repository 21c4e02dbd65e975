//! Servers and brokers:
//! what current releases keep, one project in each file.

pub mod async_lsp;
pub mod async_nats;
pub mod dav_server;
pub mod mini_redis;
pub mod rmcp;
#[expect(clippy::result_large_err, reason = "the error is the crate's own")]
pub mod rumqttd;
pub mod socketioxide;
pub mod ttrpc;
pub mod zeromq;

/// A runtime of one thread.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread")
}
