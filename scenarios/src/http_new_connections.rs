//! An HTTP server and a client (`hyper`) with a new connection for every request.
//!
//! What could leak: everything that belongs to a connection: its socket, its task on either
//! side, its read buffer, its half-closed state. A server that keeps a list of its connections
//! has to remove closed ones.
//!
//! Healthy: both tasks of a connection end in its iteration. There are some thousand
//! connections a second. Loopback ports can be used again after a second (`tcp_tw_reuse`),
//! long before they run out.

use anyhow::{Context, ensure};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, client, server};
use hyper_util::rt::TokioIo;
use plimsoll::Scenario;
use tokio::net::{TcpListener, TcpStream};

use crate::http;

/// Connects, accepts, asks, answers, and closes on both sides.
pub fn http_new_connections() -> Scenario {
    Scenario::new("http_new_connections", || {
        let runtime = http::runtime();
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("there is a loopback port to listen on");
        move |_: u64| runtime.block_on(connection(&listener))
    })
}

async fn connection(listener: &TcpListener) -> anyhow::Result<()> {
    let address = listener.local_addr()?;
    let client = TcpStream::connect(address).await;
    let client = client.context("the server is not there")?;
    let accepted = listener.accept().await;
    let (server, _) = accepted.context("the connection did not arrive")?;
    let http = server::conn::http1::Builder::new();
    let server = tokio::spawn(http.serve_connection(TokioIo::new(server), service_fn(answer)));
    let (mut requests, client) = client::conn::http1::handshake(TokioIo::new(client)).await?;
    let client = tokio::spawn(client);

    let request = Request::get("/")
        .header("host", "localhost")
        .header("connection", "close")
        .body(Empty::<Bytes>::new())?;
    let response = requests.send_request(request).await;
    let response = response.context("no response")?;
    let status = response.status();
    ensure!(status == StatusCode::OK, "the server answered {status}");
    let body = response.into_body().collect().await;
    let body = body.context("a response cut short")?;
    ensure!(body.to_bytes() == "hello", "a wrong answer");

    drop(requests);
    client
        .await?
        .context("the client's side of the connection")?;
    server.await?.context("the server's side of the connection")
}

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    Ok(Response::new(Full::from("hello")))
}
