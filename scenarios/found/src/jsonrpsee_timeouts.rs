//! Calls (`jsonrpsee-core`) that a server does not answer, and that time out.
//!
//! Kept: the client's entry of each call, which only an answer removes
//! (`RequestManager::complete_pending_call`). A call that times out, or whose future is
//! dropped, leaves it.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use anyhow::ensure;
use futures_util::future::join_all;
use jsonrpsee_core::client::async_client::{Client, ClientBuilder};
use jsonrpsee_core::client::{
    ClientT, Error, ReceivedMessage, TransportReceiverT, TransportSenderT,
};
use jsonrpsee_core::params::ArrayParams;
use plimsoll::Scenario;
use tokio::runtime::Runtime;

/// A connection to a server that takes every message, and never sends one.
struct Silent;

impl TransportSenderT for Silent {
    type Error = Infallible;

    async fn send(&mut self, _: String) -> Result<(), Infallible> {
        Ok(())
    }
}

impl TransportReceiverT for Silent {
    type Error = Infallible;

    async fn receive(&mut self) -> Result<ReceivedMessage, Infallible> {
        pending().await
    }
}

struct Calls {
    runtime: Runtime,
    client: Client,
}

fn connect() -> Client {
    ClientBuilder::new()
        .request_timeout(Duration::from_millis(1))
        .build_with_tokio(Silent, Silent)
}

fn setup() -> Calls {
    let runtime = super::runtime();
    let client = runtime.block_on(async { connect() });
    Calls { runtime, client }
}

/// Ten calls at a time, so that they wait together.
fn call(calls: &mut Calls, _i: u64) -> anyhow::Result<()> {
    let client = &calls.client;
    let answers = calls.runtime.block_on(join_all(
        (0..10).map(|_| client.request::<String, _>("status", ArrayParams::new())),
    ));
    for answer in answers {
        ensure!(matches!(answer, Err(Error::RequestTimeout)), "{answer:?}");
    }
    Ok(())
}

fn call_and_connect_again(calls: &mut Calls, i: u64) -> anyhow::Result<()> {
    call(calls, i)?;
    calls.client = calls.runtime.block_on(async { connect() });
    Ok(())
}

/// One connection for all calls.
fn jsonrpsee_timeouts() -> Scenario {
    Scenario::with_state("jsonrpsee_timeouts", setup, call).max_iterations(4_096)
}

/// A new connection after calls that timed out.
fn jsonrpsee_timeouts_connect_again() -> Scenario {
    Scenario::with_state(
        "jsonrpsee_timeouts_connect_again",
        setup,
        call_and_connect_again,
    )
}

pub fn scenarios() -> [Scenario; 2] {
    [jsonrpsee_timeouts(), jsonrpsee_timeouts_connect_again()]
}
