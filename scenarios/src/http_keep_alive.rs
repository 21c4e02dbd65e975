//! An HTTP server (`axum`) and a client (`hyper`) that talk over one connection.
//!
//! What could leak: for each request, a body that is read only in part, headers in the
//! connection's buffer, a response that waits in a pipeline; for each connection, buffers that
//! grow to the largest message and keep that size.
//!
//! Healthy: there is one connection, bodies have at most 256 bytes, and the whole answer is
//! read before the next request.

use anyhow::{Context, ensure};
use axum::Router;
use axum::routing::post;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, StatusCode};
use plimsoll::Scenario;

use crate::http;
use crate::random::{every, random};

/// Sends a request to the echo route, and every eighth time one that finds no route.
pub fn http_keep_alive() -> Scenario {
    Scenario::new("http_keep_alive", || {
        let runtime = http::runtime();
        let routes = Router::new().route("/echo", post(async |body: Bytes| body));
        let mut client = runtime
            .block_on(http::connected(routes))
            .expect("a server on a loopback port is reached");
        move |i: u64| runtime.block_on(exchange(&mut client, i))
    })
}

async fn exchange(client: &mut SendRequest<Full<Bytes>>, i: u64) -> anyhow::Result<()> {
    static BODY: [u8; 256] = [b'x'; 256];
    let [length, ..] = random(i).to_le_bytes();
    let sent = Bytes::from_static(&BODY[..usize::from(length)]);
    let (path, expected) = if every(8, i) {
        ("/none", StatusCode::NOT_FOUND)
    } else {
        ("/echo", StatusCode::OK)
    };
    let request = Request::post(path)
        .header("host", "localhost")
        .body(Full::new(sent.clone()))?;
    client.ready().await.context("the connection was closed")?;
    let response = client.send_request(request).await.context("no response")?;
    let status = response.status();
    ensure!(status == expected, "{path} answered {status}");
    let received = response.into_body().collect().await;
    let received = received.context("a response cut short")?.to_bytes();
    let is_echo = expected != StatusCode::OK || received == sent;
    ensure!(is_echo, "the echo differs");
    Ok(())
}
