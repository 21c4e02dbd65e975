//! A whole service: an HTTP server (`axum`) with sessions, a cache of rendered pages
//! (`lru`), a database (SQLite), metrics (`prometheus`) and a task in the background, and a
//! client (`hyper`) that sends it bodies of random size over one connection.
//!
//! What could leak: a session that is not closed, an entry that the cache loses, a statement
//! or a row, a message that the task never receives.
//!
//! Healthy: 256 pages from about iteration 420 on, 128 rows, four counters, and up to 64
//! sessions at a time, each closed after at most some hundred requests.

use std::collections::VecDeque;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use anyhow::{Context, ensure};
use axum::Router;
use axum::extract::State;
use axum::routing::post;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, StatusCode};
use lru::LruCache;
use plimsoll::Scenario;
use prometheus::{IntCounterVec, Opts, Registry};
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::http;
use crate::random::{every, random};

/// What the service never frees, in one of a hundred requests at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loses {
    /// Nothing: the service is healthy.
    Nothing,
    /// An audit record, on a stack of its own.
    AuditRecords,
    /// A session, on the stack on which up to 64 sessions come and go.
    Sessions,
}

/// Sends one request to the service.
pub fn http_service() -> Scenario {
    service("http_service", Loses::Nothing)
}

/// Sends one request to the service that leaks something.
pub fn http_service_that_loses(what: Loses) -> Scenario {
    service(
        match what {
            Loses::Nothing => "loses_nothing",
            Loses::AuditRecords => "loses_audit_records",
            Loses::Sessions => "loses_sessions",
        },
        what,
    )
}

fn service(name: &'static str, loses: Loses) -> Scenario {
    Scenario::new(name, move || {
        let runtime = http::runtime();
        let connected = async {
            let routes = Router::new().route("/{number}", post(handled));
            http::connected(routes.with_state(Service::start(loses)?)).await
        };
        let mut client = runtime
            .block_on(connected)
            .expect("a server on a loopback port is reached");
        move |i: u64| runtime.block_on(exchange(&mut client, i))
    })
}

/// The state that requests share.
struct Service {
    pages: Mutex<LruCache<u64, String>>,
    database: Mutex<Connection>,
    sessions: Mutex<VecDeque<Box<Session>>>,
    requests: IntCounterVec,
    events: mpsc::Sender<String>,
    loses: Loses,
}

struct Session {
    user: u64,
    token: [u8; 48],
}

impl Service {
    /// Starts the service and its task in the background.
    fn start(loses: Loses) -> anyhow::Result<Arc<Service>> {
        let database = Connection::open_in_memory()?;
        database.execute_batch("create table visits (page integer primary key, times integer)")?;
        let requests = IntCounterVec::new(Opts::new("requests", "by kind"), &["kind"])?;
        Registry::new().register(Box::new(requests.clone()))?;
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
        let session = self.open_session(number);
        self.close_old_sessions(number);
        if self.loses == Loses::AuditRecords && is_lost(number) {
            self.keep_audit_record(session);
        }
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
    fn open_session(&self, user: u64) -> u64 {
        let token = random(user).to_le_bytes().repeat(6);
        let mut session = Box::new(Session {
            user,
            token: [0; 48],
        });
        session.token.copy_from_slice(&token);
        if self.loses == Loses::Sessions && is_lost(user) {
            return Box::leak(session).user;
        }
        let user = session.user;
        if let Ok(mut sessions) = self.sessions.lock() {
            sessions.push_back(session);
        }
        user
    }

    /// Closes old sessions. Leaves up to 64, and the number changes every 16 requests.
    fn close_old_sessions(&self, number: u64) {
        let left = (random(number / 16) % 65) as usize;
        if let Ok(mut sessions) = self.sessions.lock() {
            while sessions.len() > left {
                let closed = sessions.pop_front();
                black_box(closed.map(|session| session.token));
            }
        }
    }

    #[inline(never)]
    fn keep_audit_record(&self, user: u64) {
        black_box(Box::leak(Box::new([user; 8])));
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
