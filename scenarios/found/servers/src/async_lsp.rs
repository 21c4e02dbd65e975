//! A language server (`async-lsp`) whose client does not answer a request.
//!
//! Kept: an entry for each request that the server gave up on, by a timeout or because the
//! future was dropped. Only an answer removes it from `MainLoop::outgoing`
//! (`dispatch_message`); the main loop does not learn that nobody waits.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use anyhow::ensure;
use async_lsp::router::Router;
use async_lsp::{ClientSocket, MainLoop};
use lsp_types::request::WorkspaceFoldersRequest;
use plimsoll::Scenario;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, sink};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

type Answer = Pin<Box<dyn Future<Output = ()>>>;

struct Server {
    runtime: Runtime,
    client: ClientSocket,
    /// The client's end of the connection, which stays open.
    _input: DuplexStream,
    asked: Option<Answer>,
}

/// A client that reads every message, and never sends one.
fn serve() -> Server {
    let runtime = super::runtime();
    let (main, client) = MainLoop::new_server(|_| Router::<(), async_lsp::ResponseError>::new(()));
    let (input, server_input) = duplex(1_024);
    runtime.spawn(main.run_buffered(server_input.compat(), sink().compat_write()));
    Server {
        runtime,
        client,
        _input: input,
        asked: None,
    }
}

async fn ask(client: ClientSocket) {
    let _ = client.request::<WorkspaceFoldersRequest>(()).await;
}

/// The server asks the client, and gives up.
fn give_up(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    let asked = ask(server.client.clone());
    let answer = server
        .runtime
        .block_on(async { timeout(Duration::from_millis(1), asked).await });
    ensure!(answer.is_err(), "the client answered");
    Ok(())
}

/// The server asks again only after the answer to what it asked before.
fn keep_asking(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    let client = server.client.clone();
    let asked = server.asked.get_or_insert_with(|| Box::pin(ask(client)));
    let answer = server
        .runtime
        .block_on(async { timeout(Duration::from_millis(1), asked).await });
    ensure!(answer.is_err(), "the client answered");
    Ok(())
}

struct Answering {
    runtime: Runtime,
    client: ClientSocket,
}

/// A client that answers each request.
async fn answer_all(mut stream: DuplexStream) -> anyhow::Result<()> {
    let mut buffer = [0; 1_024];
    loop {
        let read = stream.read(&mut buffer).await?;
        ensure!(read > 0, "the server has gone");
        let message = String::from_utf8_lossy(&buffer[..read]);
        let Some((_, id)) = message.split_once("\"id\":") else {
            continue;
        };
        let id: String = id.chars().take_while(char::is_ascii_digit).collect();
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#);
        let message = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(message.as_bytes()).await?;
    }
}

fn serve_answering() -> Answering {
    let runtime = super::runtime();
    let (main, client) = MainLoop::new_server(|_| Router::<(), async_lsp::ResponseError>::new(()));
    let (client_end, server_end) = duplex(1_024);
    let (input, output) = tokio::io::split(server_end);
    runtime.spawn(main.run_buffered(input.compat(), output.compat_write()));
    runtime.spawn(answer_all(client_end));
    Answering { runtime, client }
}

fn ask_and_wait(server: &mut Answering, _i: u64) -> anyhow::Result<()> {
    let asked = server.client.request::<WorkspaceFoldersRequest>(());
    server.runtime.block_on(asked)?;
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A request in each iteration, without an answer.
        Scenario::with_state("async_lsp_unanswered", serve, give_up).max_iterations(4_096),
        // The same, but one request at a time.
        Scenario::with_state("async_lsp_unanswered_once", serve, keep_asking),
        Scenario::with_state("async_lsp_answered", serve_answering, ask_and_wait),
    ]
}
