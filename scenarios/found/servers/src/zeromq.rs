//! A socket that receives (`zeromq`), and peers that come and go.
//!
//! Kept: the identity of every peer that was connected, in the queue
//! `GenericSocketBackend::round_robin`. Only sending takes identities out of it, and a PULL
//! socket never sends; a ROUTER socket sends to the peer that is named.

use plimsoll::Scenario;
use tokio::runtime::Runtime;
use zeromq::{PullSocket, PushSocket, Socket, SocketRecv, SocketSend, ZmqResult};

struct Sink {
    runtime: Runtime,
    pull: PullSocket,
    address: String,
    push: Option<PushSocket>,
}

fn bind() -> Sink {
    let runtime = super::runtime();
    let mut pull = PullSocket::new();
    let endpoint = runtime
        .block_on(pull.bind("tcp://127.0.0.1:0"))
        .expect("a port of this machine");
    Sink {
        runtime,
        pull,
        address: endpoint.to_string(),
        push: None,
    }
}

async fn connect(address: &str) -> ZmqResult<PushSocket> {
    let mut push = PushSocket::new();
    push.connect(address).await?;
    Ok(push)
}

/// A peer connects, sends a message, and goes.
fn send_and_go(sink: &mut Sink, _i: u64) -> ZmqResult<()> {
    sink.runtime.block_on(async {
        let mut push = connect(&sink.address).await?;
        push.send("hello".into()).await?;
        sink.pull.recv().await?;
        push.close().await;
        Ok(())
    })
}

/// A peer stays connected for all messages.
fn send(sink: &mut Sink, _i: u64) -> ZmqResult<()> {
    sink.runtime.block_on(async {
        let push = match &mut sink.push {
            Some(push) => push,
            None => sink.push.insert(connect(&sink.address).await?),
        };
        push.send("hello".into()).await?;
        sink.pull.recv().await?;
        Ok(())
    })
}

/// A new socket after a hundred peers.
fn send_and_go_and_bind_again(sink: &mut Sink, i: u64) -> ZmqResult<()> {
    if i.is_multiple_of(100) {
        *sink = bind();
    }
    send_and_go(sink, i)
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A peer for each message.
        Scenario::with_state("zeromq_peers", bind, send_and_go),
        // A peer for each message, and a new socket after a hundred.
        Scenario::with_state("zeromq_peers_bind_again", bind, send_and_go_and_bind_again),
        // One peer for all messages.
        Scenario::with_state("zeromq_one_peer", bind, send),
    ]
}
