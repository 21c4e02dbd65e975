//! A client (`hyper-util`) that asks one host after another, each once.
//!
//! Kept: the pool's entry of every host, with its closed connection. The pool looks for idle
//! connections only if it has a timer (`PoolInner::spawn_idle_interval`), or when the same
//! host is asked again (`IdlePopper::pop`).

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use plimsoll::Scenario;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

struct Crawl {
    runtime: Runtime,
    client: Client<HttpConnector, Empty<Bytes>>,
    port: u16,
}

/// Answers each connection once, keeps it open for a moment, and closes it.
async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut request = [0; 1_024];
            let _ = stream.read(&mut request).await?;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                .await?;
            tokio::time::sleep(Duration::from_millis(2)).await;
            std::io::Result::Ok(())
        });
    }
}

fn setup(timer: bool) -> Crawl {
    let runtime = super::runtime();
    let listener = runtime
        .block_on(TcpListener::bind("0.0.0.0:0"))
        .expect("a port of this machine");
    let port = listener.local_addr().expect("a bound address").port();
    runtime.spawn(serve(listener));

    let mut client = Client::builder(TokioExecutor::new());
    if timer {
        client
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_millis(100));
    }
    Crawl {
        runtime,
        client: client.build_http(),
        port,
    }
}

fn ask(crawl: &mut Crawl, i: u64) -> anyhow::Result<()> {
    // Each of these addresses is this machine, and a host of its own to the client.
    let [.., a, b, c] = i.to_be_bytes();
    let host = format!("http://127.{}.{b}.{c}:{}/", 1 + a % 250, crawl.port);
    crawl.runtime.block_on(async {
        let response = crawl.client.get(host.parse()?).await?;
        response.into_body().collect().await?;
        Ok(())
    })
}

/// Without a timer, as the shortest example builds a client.
fn hyper_util_hosts() -> Scenario {
    Scenario::with_state("hyper_util_hosts", || setup(false), ask).max_iterations(4_096)
}

/// With a timer: the pool drops connections after 100 ms.
fn hyper_util_hosts_with_timer() -> Scenario {
    Scenario::with_state("hyper_util_hosts_with_timer", || setup(true), ask)
}

pub fn scenarios() -> [Scenario; 2] {
    [hyper_util_hosts(), hyper_util_hosts_with_timer()]
}
