//! An MCP server (`rmcp`) whose client does not answer.
//!
//! Kept: an entry for each request to the client that the server gave up on, by dropping the
//! future. Only an answer or a notification that cancels the request takes it out of
//! `local_responder_pool`, and a dropped `RequestHandle` sends none. A request with
//! `PeerRequestOptions::with_timeout` sends one.

use std::time::Duration;

use anyhow::ensure;
use plimsoll::Scenario;
use rmcp::model::{PingRequest, ServerRequest};
use rmcp::service::{PeerRequestOptions, RunningService};
use rmcp::{RoleServer, ServerHandler, serve_server};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex, sink, split};
use tokio::runtime::Runtime;
use tokio::time::timeout;

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"#,
    r#""protocolVersion":"2025-06-18","capabilities":{},"#,
    r#""clientInfo":{"name":"client","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

struct Tools;

impl ServerHandler for Tools {}

struct Session {
    runtime: Runtime,
    server: RunningService<RoleServer, Tools>,
}

/// Says hello, and from then on reads every message and never sends one.
async fn client(stream: DuplexStream) -> std::io::Result<()> {
    let (mut input, mut output) = split(stream);
    output.write_all(HELLO.as_bytes()).await?;
    tokio::io::copy(&mut input, &mut sink()).await?;
    Ok(())
}

fn serve() -> Session {
    let runtime = super::runtime();
    let (client_end, server_end) = duplex(1_024);
    runtime.spawn(client(client_end));
    let server = runtime
        .block_on(serve_server(Tools, server_end))
        .expect("the client says hello");
    Session { runtime, server }
}

fn ping_message() -> ServerRequest {
    ServerRequest::PingRequest(PingRequest::default())
}

fn ping(session: &mut Session, _i: u64) -> anyhow::Result<()> {
    let peer = session.server.peer();
    let answer = session.runtime.block_on(async {
        timeout(Duration::from_millis(1), peer.send_request(ping_message())).await
    });
    ensure!(answer.is_err(), "the client answered");
    Ok(())
}

fn ping_with_option(session: &mut Session, _i: u64) -> anyhow::Result<()> {
    let peer = session.server.peer();
    let options = PeerRequestOptions::with_timeout(Duration::from_millis(1));
    let answer = session.runtime.block_on(async {
        let request = peer.send_request_with_option(ping_message(), options);
        request.await?.await_response().await
    });
    ensure!(answer.is_err(), "the client answered");
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // The server waits with a timeout of its own.
        Scenario::with_state("rmcp_unanswered", serve, ping).max_iterations(4_096),
        // rmcp waits with a timeout.
        Scenario::with_state("rmcp_unanswered_with_option", serve, ping_with_option),
    ]
}
