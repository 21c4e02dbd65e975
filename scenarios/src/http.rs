//! What the scenarios with an HTTP server share.

use std::net::SocketAddr;

use anyhow::Context;
use axum::Router;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// Returns a runtime of one thread.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a tokio runtime with a poller starts")
}

/// Starts a server, and connects to it.
pub(crate) async fn connected(routes: Router) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.context("no loopback port")?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, routes).await });
    client(address).await
}

/// Connects to a server.
pub(crate) async fn client(address: SocketAddr) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address).await;
    let stream = stream.context("the server is not there")?;
    let (client, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(client)
}
