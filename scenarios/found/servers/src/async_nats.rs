//! A client (`async-nats`) whose requests get no reply.
//!
//! Kept: an entry for each request that timed out. Only a reply takes it out of the map
//! `Multiplexer::senders`; the task that owns the map does not learn of a timeout. A request
//! with an inbox of its own unsubscribes from it, and leaves nothing.

use std::time::Duration;

use anyhow::ensure;
use async_nats::{Client, ConnectOptions, Request};
use plimsoll::Scenario;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

const INFO: &str = concat!(
    r#"INFO {"server_id":"server","server_name":"server","version":"2.12.0","proto":1,"#,
    r#""go":"go1.24","host":"127.0.0.1","port":4222,"headers":true,"#,
    r#""max_payload":1048576,"client_id":1}"#,
    "\r\n",
);

struct Requests {
    runtime: Runtime,
    client: Client,
}

/// A server that answers a ping, and forwards no message.
async fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(INFO.as_bytes()).await?;
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).await? > 0 {
        if line.starts_with(b"PING") {
            stream.write_all(b"PONG\r\n").await?;
        }
        line.clear();
    }
    Ok(())
}

async fn listen(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream));
    }
}

async fn connect() -> anyhow::Result<Client> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(listen(listener));
    let options = ConnectOptions::new().request_timeout(Some(Duration::from_millis(1)));
    Ok(options.connect(address.to_string()).await?)
}

fn setup() -> Requests {
    let runtime = super::runtime();
    let client = runtime.block_on(connect()).expect("the server listens");
    Requests { runtime, client }
}

fn request(requests: &mut Requests, _i: u64) -> anyhow::Result<()> {
    let reply = requests.client.request("status", "hello".into());
    let reply = requests.runtime.block_on(reply);
    ensure!(reply.is_err(), "a reply");
    Ok(())
}

fn request_with_inbox(requests: &mut Requests, _i: u64) -> anyhow::Result<()> {
    let request = Request::new()
        .payload("hello".into())
        .inbox(requests.client.new_inbox());
    let reply = requests.client.send_request("status", request);
    let reply = requests.runtime.block_on(reply);
    ensure!(reply.is_err(), "a reply");
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // All requests share an inbox.
        Scenario::with_state("async_nats_timeouts", setup, request).max_iterations(4_096),
        // An inbox for each request.
        Scenario::with_state("async_nats_timeouts_own_inbox", setup, request_with_inbox),
    ]
}
