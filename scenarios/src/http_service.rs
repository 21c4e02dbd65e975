//! A whole service: an HTTP server (`axum`) with sessions, a cache of rendered pages
//! (`lru`), a database (SQLite), metrics (`prometheus`) and a task in the background, and a
//! client (`hyper`) that sends it bodies of random size over one connection.
//!
//! What could leak: a session that is not closed, an entry that the cache loses, a statement
//! or a row, a message that the task never receives.
//!
//! Healthy: 256 pages from about iteration 420 on, 128 rows, four counters, and up to 64
//! sessions at a time, each closed after at most some hundred requests.
//!
//! [`serve`] is the same service as a process of its own, with its metrics and its heap
//! profile, and [`load`] is its client.

use std::collections::VecDeque;
use std::ffi::CString;
use std::hint::black_box;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use anyhow::{Context, ensure};
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, StatusCode};
use lru::LruCache;
use plimsoll::Scenario;
use prometheus::{IntCounterVec, Opts, Registry, TextEncoder};
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::http;
use crate::random::{every, random};

/// What the service never frees, in one of a hundred requests at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loses {
    /// Nothing: the service is healthy.
    Nothing,
    /// A session, on the stack on which others come and go.
    Sessions,
}

/// Sends one request to the service.
pub fn http_service() -> Scenario {
    service("http_service", Loses::Nothing)
}

/// Sends one request to the service that leaks sessions.
pub fn http_service_that_loses_sessions() -> Scenario {
    service("loses_sessions", Loses::Sessions)
}

fn service(name: &'static str, loses: Loses) -> Scenario {
    Scenario::new(name, move || {
        let runtime = http::runtime();
        let connected = async {
            let routes = Router::new().route("/{number}", post(handled));
            http::connected(routes.with_state(Service::start(loses, 64)?)).await
        };
        let mut client = runtime
            .block_on(connected)
            .expect("a server on a loopback port is reached");
        move |i: u64| runtime.block_on(exchange(&mut client, i))
    })
}

/// Serves requests at an address, prints `listening on ADDRESS` (port 0 is any free one), and
/// never returns. Beside the service's own path there are `/metrics`, with the counter
/// `http_requests_total`, and jemalloc's heap profile at `/debug/pprof/heap`, with births.
///
/// # Errors
///
/// If the port is not free, or the service cannot start.
pub fn serve(loses: Loses, address: &str) -> anyhow::Result<()> {
    plimsoll_ages::install();
    http::runtime().block_on(async {
        let routes = Router::new()
            .route("/{number}", post(handled))
            .route("/metrics", get(metrics))
            .route("/debug/pprof/heap", get(heap));
        let routes = routes.with_state(Service::start(loses, 8)?);
        let listener = tokio::net::TcpListener::bind(address).await?;
        writeln!(io::stdout(), "listening on {}", listener.local_addr()?)?;
        Ok(axum::serve(listener, routes).await?)
    })
}

/// Sends requests with these numbers to [`serve`], one after the other.
///
/// # Errors
///
/// If the service is not there, or gives a wrong answer.
pub fn load(server: SocketAddr, requests: Range<u64>) -> anyhow::Result<()> {
    http::runtime().block_on(async {
        let mut client = http::client(server).await?;
        for i in requests {
            exchange(&mut client, i).await?;
        }
        Ok(())
    })
}

async fn metrics(State(service): State<Arc<Service>>) -> Result<String, StatusCode> {
    let families = service.registry.gather();
    let text = TextEncoder::new().encode_to_string(&families);
    text.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns jemalloc's dump of this process.
async fn heap() -> Result<Vec<u8>, StatusCode> {
    let dump = || -> anyhow::Result<Vec<u8>> {
        let path = std::env::temp_dir().join(format!("service.{}.heap", std::process::id()));
        let name = CString::new(path.to_str().context("a name in UTF-8")?)?;
        // SAFETY: jemalloc(3): `prof.dump` takes a `const char *`, the name of a file, and reads
        // it during the call only.
        let dumped = unsafe { tikv_jemalloc_ctl::raw::write(b"prof.dump\0", name.as_ptr()) };
        dumped.map_err(|error| anyhow::anyhow!("no dump: {error}"))?;
        let dump = std::fs::read(&path);
        std::fs::remove_file(&path)?;
        Ok(dump?)
    };
    dump().map_err(|_| StatusCode::SERVICE_UNAVAILABLE)
}

/// The state that requests share.
struct Service {
    pages: Mutex<LruCache<u64, String>>,
    database: Mutex<Connection>,
    sessions: Mutex<VecDeque<Box<Session>>>,
    most_sessions: u64,
    registry: Registry,
    requests: IntCounterVec,
    events: mpsc::Sender<String>,
    loses: Loses,
}

struct Session {
    user: u64,
    token: [u8; 48],
}

impl Service {
    /// Starts the service and its task in the background. So many sessions may be open.
    fn start(loses: Loses, most_sessions: u64) -> anyhow::Result<Arc<Service>> {
        let database = Connection::open_in_memory()?;
        database.execute_batch("create table visits (page integer primary key, times integer)")?;
        let requests = Opts::new("http_requests_total", "Requests, by kind.");
        let requests = IntCounterVec::new(requests, &["kind"])?;
        let registry = Registry::new();
        registry.register(Box::new(requests.clone()))?;
        let (events, mut taken) = mpsc::channel::<String>(16);
        tokio::spawn(async move {
            while let Some(event) = taken.recv().await {
                black_box(event.len());
            }
        });
        Ok(Arc::new(Service {
            pages: Mutex::new(LruCache::new(
                NonZeroUsize::new(256).context("there are pages")?,
            )),
            database: Mutex::new(database),
            sessions: Mutex::default(),
            most_sessions,
            registry,
            requests,
            events,
            loses,
        }))
    }

    async fn answer(&self, number: u64, body: &Bytes) -> anyhow::Result<String> {
        let kind = ["get", "put", "post", "delete"][(random(number) % 4) as usize];
        self.requests.with_label_values(&[kind]).inc();
        let page = random(number) % 128;
        self.database
            .lock()
            .map_err(|_| anyhow::anyhow!("the database is poisoned"))?
            .prepare_cached(
                "insert into visits values (?1, 1) on conflict do update set times = times + 1",
            )?
            .execute([i64::try_from(page)?])?;
        self.open_session(number);
        self.close_old_sessions(number);
        self.events.send(format!("{kind} {page}")).await?;
        Ok(self.rendered(random(number ^ 1) % 400, body))
    }

    fn rendered(&self, page: u64, body: &Bytes) -> String {
        let Ok(mut pages) = self.pages.lock() else {
            return String::new();
        };
        let rendered = pages.get_or_insert(page, || format!("page {page}"));
        format!("{rendered}: {} bytes", body.len())
    }

    #[inline(never)]
    fn open_session(&self, user: u64) {
        let token = random(user).to_le_bytes().repeat(6);
        let mut session = Box::new(Session {
            user,
            token: [0; 48],
        });
        session.token.copy_from_slice(&token);
        if self.loses == Loses::Sessions && is_lost(user) {
            Box::leak(session);
        } else if let Ok(mut sessions) = self.sessions.lock() {
            sessions.push_back(session);
        }
    }

    /// Closes old sessions. How many it leaves changes every 16 requests.
    fn close_old_sessions(&self, number: u64) {
        let left = random(number / 16) % (self.most_sessions + 1);
        if let Ok(mut sessions) = self.sessions.lock() {
            while sessions.len() as u64 > left {
                let closed = sessions.pop_front();
                black_box(closed.map(|session| (session.user, session.token)));
            }
        }
    }
}

/// Returns `true` for one request in a hundred, at random.
fn is_lost(number: u64) -> bool {
    random(number ^ 0x5EED).is_multiple_of(100)
}

async fn handled(
    State(service): State<Arc<Service>>,
    axum::extract::Path(number): axum::extract::Path<u64>,
    body: Bytes,
) -> Result<String, StatusCode> {
    let answer = service.answer(number, &body).await;
    answer.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

async fn exchange(client: &mut SendRequest<Full<Bytes>>, i: u64) -> anyhow::Result<()> {
    static BODY: [u8; 4_096] = [b'x'; 4_096];
    let length = match every(16, i) {
        true => random(i) % 4_096,
        false => random(i) % 256,
    };
    let body = Bytes::from_static(&BODY[..usize::try_from(length)?]);
    let request = Request::post(format!("/{i}"))
        .header("host", "localhost")
        .body(Full::new(body))?;
    client.ready().await.context("the connection was closed")?;
    let response = client.send_request(request).await.context("no response")?;
    let status = response.status();
    ensure!(status == StatusCode::OK, "request {i} answered {status}");
    let received = response.into_body().collect().await?.to_bytes();
    let is_right = received.ends_with(format!(": {length} bytes").as_bytes());
    ensure!(is_right, "the answer to request {i} differs");
    Ok(())
}
