//! A server (`socketioxide`) whose clients connect to a namespace of their own.
//!
//! Kept: the namespace of every path that matched `SocketIo::dyn_ns`, after its last client has
//! gone. `Client::sock_connect` puts it into the map `nsps`, and only `SocketIo::delete_ns` or
//! `SocketIo::close` takes it out. Rooms, and clients that go without a word, leave nothing.

use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use engineioxide::service::NotFoundService;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use plimsoll::Scenario;
use socketioxide::SocketIo;
use socketioxide::extract::SocketRef;
use socketioxide::service::SocketIoService;
use tokio::runtime::Runtime;
use tokio::time::sleep;
use tower_service::Service;

struct Server {
    runtime: Runtime,
    service: SocketIoService<NotFoundService>,
    io: SocketIo,
}

fn serve() -> Server {
    let (service, io) = SocketIo::builder()
        .ping_interval(Duration::from_millis(20))
        .ping_timeout(Duration::from_millis(20))
        .build_svc();
    Server {
        runtime: super::runtime(),
        service,
        io,
    }
}

/// A handler for all paths below `/order`.
fn serve_orders() -> Server {
    let server = serve();
    let connected = async |_: SocketRef| {};
    server.io.dyn_ns("/order/{id}", connected).expect("a path");
    server
}

/// The same, and a namespace goes with its client.
fn serve_orders_deleted() -> Server {
    let server = serve();
    let connected = async |socket: SocketRef| {
        socket.on_disconnect(async |socket: SocketRef, io: SocketIo| io.delete_ns(socket.ns()));
    };
    server.io.dyn_ns("/order/{id}", connected).expect("a path");
    server
}

/// One namespace, with a room for each client.
fn serve_rooms() -> Server {
    let server = serve();
    server.io.ns("/", async |socket: SocketRef| {
        socket.join(format!("order-{}", socket.id));
    });
    server
}

/// Long polling: each message is an HTTP request.
async fn request(
    service: &mut SocketIoService<NotFoundService>,
    method: Method,
    session: &str,
    message: String,
) -> anyhow::Result<String> {
    let request = Request::builder()
        .method(method)
        .uri(format!(
            "http://localhost/socket.io/?EIO=4&transport=polling{session}"
        ))
        .body(Full::new(Bytes::from(message)))?;
    let response = service.call(request).await?;
    let status = response.status();
    ensure!(status.is_success(), "{status}");
    let body = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8_lossy(&body).into_owned())
}

async fn open(service: &mut SocketIoService<NotFoundService>) -> anyhow::Result<String> {
    let opened = request(service, Method::GET, "", String::new()).await?;
    let (_, id) = opened.split_once(r#""sid":""#).context("a session")?;
    let (id, _) = id.split_once('"').context("its id")?;
    Ok(format!("&sid={id}"))
}

/// A client connects to a namespace, disconnects, and closes its session.
async fn visit(
    service: &mut SocketIoService<NotFoundService>,
    namespace: &str,
) -> anyhow::Result<()> {
    let session = open(service).await?;
    request(service, Method::POST, &session, format!("40{namespace}")).await?;
    let connected = request(service, Method::GET, &session, String::new()).await?;
    ensure!(connected.contains(r#"{"sid":"#), "{connected}");
    request(service, Method::POST, &session, format!("41{namespace}")).await?;
    request(service, Method::POST, &session, "1".to_owned()).await?;
    Ok(())
}

fn visit_order(server: &mut Server, i: u64) -> anyhow::Result<()> {
    let namespace = format!("/order/{i},");
    server
        .runtime
        .block_on(visit(&mut server.service, &namespace))
}

fn visit_room(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    server.runtime.block_on(visit(&mut server.service, ""))
}

/// A client that connects, and is not heard of again.
fn go_silently(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    server.runtime.block_on(async {
        let session = open(&mut server.service).await?;
        request(&mut server.service, Method::POST, &session, "40".to_owned()).await?;
        // Nothing above waits: without this, the runtime would not run the server's tasks.
        sleep(Duration::from_millis(1)).await;
        Ok(())
    })
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A namespace for each order.
        Scenario::with_state("socketioxide_namespaces", serve_orders, visit_order),
        // A namespace for each order, which is deleted.
        Scenario::with_state(
            "socketioxide_namespaces_deleted",
            serve_orders_deleted,
            visit_order,
        ),
        // A room for each order.
        Scenario::with_state("socketioxide_rooms", serve_rooms, visit_room),
        Scenario::with_state("socketioxide_silent_clients", serve_rooms, go_silently),
    ]
}
