//! A server (`mini-redis`) with clients that come and go.
//!
//! Kept: a broadcast channel of 1,024 slots for every name that a client subscribed to, after
//! the last client has unsubscribed and gone. `Db::subscribe` puts the channel into a map of
//! the server, and nothing takes it out. Values that expire, connections that end, and clients
//! that go in the middle of a command leave nothing.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use mini_redis::client::{self, Client};
use mini_redis::server;
use plimsoll::Scenario;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

struct Server {
    runtime: Runtime,
    address: SocketAddr,
}

fn serve() -> Server {
    let runtime = super::runtime();
    let listener = runtime
        .block_on(TcpListener::bind("127.0.0.1:0"))
        .expect("a port of this machine");
    let address = listener.local_addr().expect("a bound address");
    runtime.spawn(server::run(listener, pending::<()>()));
    Server { runtime, address }
}

/// Two clients: one subscribes, gets a message, unsubscribes, and both go.
fn subscribe(server: &mut Server, channel: u64) -> mini_redis::Result<()> {
    let channel = format!("user-{channel}");
    server.runtime.block_on(async {
        let mut publisher = client::connect(server.address).await?;
        let subscriber = client::connect(server.address).await?;
        let mut subscriber = subscriber.subscribe(vec![channel.clone()]).await?;
        publisher.publish(&channel, "hello".into()).await?;
        subscriber.next_message().await?;
        subscriber.unsubscribe(&[channel]).await
    })
}

fn subscribe_each(server: &mut Server, i: u64) -> mini_redis::Result<()> {
    subscribe(server, i)
}

fn subscribe_one_of_16(server: &mut Server, i: u64) -> mini_redis::Result<()> {
    subscribe(server, i % 16)
}

fn connect_once() -> (Server, Client) {
    let server = serve();
    let client = server
        .runtime
        .block_on(client::connect(server.address))
        .expect("the server listens");
    (server, client)
}

/// A value of its own, which expires.
fn set((server, client): &mut (Server, Client), i: u64) -> mini_redis::Result<()> {
    let key = format!("session-{i}");
    let set = client.set_expires(&key, "hello".into(), Duration::from_millis(2));
    server.runtime.block_on(set)
}

/// A client that goes in the middle of a command.
fn go_early(server: &mut Server, _i: u64) -> std::io::Result<()> {
    server.runtime.block_on(async {
        let mut stream = TcpStream::connect(server.address).await?;
        stream.write_all(b"*3\r\n$3\r\nset\r\n$5\r\nhe").await
    })
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A channel for each client.
        Scenario::with_state("mini_redis_channels", serve, subscribe_each).max_iterations(4_096),
        // Clients share 16 channels.
        Scenario::with_state("mini_redis_channels_shared", serve, subscribe_one_of_16),
        // How many are alive at a time depends on the machine, and a table keeps room for the most.
        Scenario::with_state("mini_redis_expiring", connect_once, set).max_iterations(65_536),
        Scenario::with_state("mini_redis_half_commands", serve, go_early),
    ]
}
