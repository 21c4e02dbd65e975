//! The workload of `benches/slowdown.rs`: JSON, hash maps, and an echo over TCP through tokio,
//! on stacks of 25 to 30 frames. It allocates 70 times in an iteration.

use std::collections::HashMap;
use std::hint::black_box;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// The calls between an iteration and its work. They make the stacks as deep as those of a
/// service behind its middleware.
const DEPTH: u32 = 17;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    customer: String,
    lines: Vec<Line>,
    note: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    article: String,
    pieces: u32,
}

/// Sets up the workload. The returned closure runs one iteration, whose number it is given.
///
/// # Panics
///
/// If no connection can be made to this machine itself.
pub fn workload() -> impl FnMut(u64) {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime of one thread");
    let mut client = runtime
        .block_on(connect())
        .expect("a connection to this machine");
    let mut sessions: HashMap<String, Vec<u8>> = HashMap::new();
    move |i| {
        descend(DEPTH, &mut || {
            json(i);
            maps(i, &mut sessions);
            echo(i, &runtime, &mut client);
        });
    }
}

#[inline(never)]
fn descend(calls: u32, work: &mut dyn FnMut()) {
    if calls == 0 {
        work();
    } else {
        descend(calls - 1, work);
    }
    // After the call, which otherwise could become a jump.
    black_box(calls);
}

fn json(i: u64) {
    let line = |n: u64| Line {
        article: format!("article {n}"),
        pieces: 3,
    };
    let order = Order {
        id: i,
        customer: format!("customer {}", i % 100),
        lines: (0..4).map(line).collect(),
        note: Some("none".to_owned()),
    };
    let text = serde_json::to_string(&order).unwrap_or_default();
    let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let read: Option<Order> = serde_json::from_str(&text).ok();
    assert_eq!(read, Some(order));
    black_box(value);
}

fn maps(i: u64, sessions: &mut HashMap<String, Vec<u8>>) {
    for n in 0..8 {
        sessions.insert(format!("session {}", (i * 8 + n) % 1_000), vec![0; 120]);
    }
    let by_number: HashMap<u64, String> = (0..8).map(|n| (n, n.to_string())).collect();
    black_box(by_number);
}

/// Returns the client's end of a connection. The other end sends back what it receives.
async fn connect() -> std::io::Result<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (mut server, _) = listener.accept().await?;
    tokio::spawn(async move {
        loop {
            let mut message = vec![0; 8];
            if server.read_exact(&mut message).await.is_err()
                || server.write_all(&message).await.is_err()
            {
                break;
            }
        }
    });
    Ok(client)
}

fn echo(i: u64, runtime: &Runtime, client: &mut TcpStream) {
    runtime.block_on(async {
        let mut message = vec![0; 8];
        // An error here makes the assertion below fail.
        let _ = client.write_all(&i.to_le_bytes()).await;
        let _ = client.read_exact(&mut message).await;
        assert_eq!(message, i.to_le_bytes());
    });
}
