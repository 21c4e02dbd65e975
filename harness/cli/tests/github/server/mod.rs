//! A GitHub for tests: a real HTTP server on the loopback that answers as GitHub's
//! REST API does, refuses what it refuses, and fails when told to.
//!
//! ```text
//! http         bytes to Request, Reply to bytes
//! fault        what goes wrong, and at which requests
//! description  GitHub's OpenAPI description: which operation is it, is it sound
//! route        permissions, limits, the work, the answer
//! state, view  what there is, and its JSON
//! events       webhook payloads that agree with the state
//! ```
//!
//! Every request is logged and held against the description. A request that
//! GitHub's description does not know is a violation, even where it would work.

pub(crate) mod description;
pub(crate) mod events;
pub(crate) mod fault;
pub(crate) mod http;
mod route;
pub(crate) mod state;
mod view;

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use fault::{Fault, Kind, Matcher, To};
use http::{Reply, Request};
use state::State;

/// It stops when it is dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    api: SocketAddr,
    storage: SocketAddr,
    listeners: Vec<JoinHandle<()>>,
}

/// A request as it arrived, and how it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) method: String,
    /// With the server's prefix, not decoded.
    pub(crate) path: String,
    /// Decoded, in the order sent.
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case, in the order sent.
    pub(crate) headers: Vec<(String, String)>,
    /// `null` where there is none, or where it is not JSON.
    pub(crate) body: Value,
    pub(crate) at: Instant,
    /// The status sent; 0 where there is none (yet).
    pub(crate) answered: u16,
    /// When, if the answer told the client to wait.
    pub(crate) limited: Option<Instant>,
}

impl Recorded {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        http::first(&self.headers, name)
    }

    /// `POST /repos/octo/demo/check-runs 201`, for a test to compare a whole log.
    pub(crate) fn line(&self) -> String {
        format!("{} {} {}", self.method, self.path, self.answered)
    }
}

type Hook = Box<dyn FnMut(&mut State, &Recorded) + Send>;

struct Shared {
    prefix: String,
    state: Mutex<State>,
    script: Mutex<Vec<(Matcher, Fault)>>,
    hooks: Mutex<Vec<(Matcher, Hook)>>,
    log: Mutex<Log>,
    streams: Mutex<Vec<TcpStream>>,
    stopped: Mutex<bool>,
    stops: Condvar,
}

#[derive(Default)]
struct Log {
    api: Vec<Recorded>,
    storage: Vec<Recorded>,
    violations: Vec<String>,
    own: Vec<String>,
}

impl Log {
    fn of(&mut self, side: Side) -> &mut Vec<Recorded> {
        match side {
            Side::Api => &mut self.api,
            Side::Storage => &mut self.storage,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Api,
    Storage,
}

/// What is left of a request once its fault is through with it.
enum Outcome {
    Reply(Reply),
    Drop,
    HalfBody(Reply),
    Drip(Duration),
}

impl Server {
    /// As GitHub itself, with what [`State::new`] has.
    pub(crate) fn start() -> Self {
        Self::at("")
    }

    /// With a prefix before every path: `/api/v3` is GitHub Enterprise Server's.
    pub(crate) fn at(prefix: &str) -> Self {
        let bind = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let address = listener.local_addr().expect("its number");
            (listener, address)
        };
        let ((api_listener, api), (storage_listener, storage)) = (bind(), bind());
        let mut state = State::new();
        state.api = format!("http://{api}{prefix}");
        state.storage = format!("http://{storage}");
        let shared = Arc::new(Shared {
            prefix: prefix.to_owned(),
            state: Mutex::new(state),
            script: Mutex::default(),
            hooks: Mutex::default(),
            log: Mutex::default(),
            streams: Mutex::default(),
            stopped: Mutex::new(false),
            stops: Condvar::new(),
        });
        let sides = [(api_listener, Side::Api), (storage_listener, Side::Storage)];
        let listeners = sides.map(|(listener, side)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || listen(&listener, &shared, side))
        });
        Self {
            shared,
            api,
            storage,
            listeners: listeners.into(),
        }
    }

    /// What `GITHUB_API_URL` says: with the prefix, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.api, self.shared.prefix)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.api
    }

    /// What there is. The server waits while a test holds it.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }

    /// Adds to the script; of several faults that match, the first one happens.
    /// Paths of downloads begin with `/storage/`.
    pub(crate) fn fault(&self, at: Matcher, fault: Fault) {
        lock(&self.shared.script).push((at, fault));
    }

    /// Calls `hook` when a request has arrived and before anything is done about it.
    pub(crate) fn on_request(
        &self,
        at: Matcher,
        hook: impl FnMut(&mut State, &Recorded) + Send + 'static,
    ) {
        lock(&self.shared.hooks).push((at, Box::new(hook)));
    }

    /// All to the API, in the order they came.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.log).api.clone()
    }

    /// All to where artifacts lie.
    pub(crate) fn storage_requests(&self) -> Vec<Recorded> {
        lock(&self.shared.log).storage.clone()
    }

    /// What clients did against GitHub's description, or against good sense.
    pub(crate) fn violations(&self) -> Vec<String> {
        lock(&self.shared.log).violations.clone()
    }

    /// What this server did against GitHub's description.
    pub(crate) fn self_violations(&self) -> Vec<String> {
        lock(&self.shared.log).own.clone()
    }

    /// That neither side went against the description.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.violations(), [""; 0], "of the client");
        assert_eq!(self.self_violations(), [""; 0], "of the server");
    }

    /// That no request came within `wait` of an answer that said to wait, and that
    /// there was such an answer.
    #[track_caller]
    pub(crate) fn assert_waited(&self, wait: Duration) {
        let requests = self.requests();
        let limits: Vec<_> = requests
            .iter()
            .filter_map(|request| request.limited)
            .collect();
        assert!(!limits.is_empty(), "expected an answer that says to wait");
        for request in &requests {
            for limit in &limits {
                let since = request.at.checked_duration_since(*limit);
                assert!(
                    since.is_none_or(|since| since >= wait),
                    "{}: {since:?} after a limit, expected {wait:?}",
                    request.line()
                );
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        *lock(&self.shared.stopped) = true;
        self.shared.stops.notify_all();
        for address in [self.api, self.storage] {
            // Wakes its listener, which then sees that it is over.
            drop(TcpStream::connect(address));
        }
        for stream in lock(&self.shared.streams).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for listener in self.listeners.drain(..) {
            let _ = listener.join();
        }
    }
}

/// A test that failed while it held the lock has said so already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>, side: Side) {
    let mut connections = Vec::new();
    while let Ok((stream, _)) = listener.accept() {
        {
            // Under this lock a connection is either seen by `drop` or not begun.
            let stopped = lock(&shared.stopped);
            let Ok(copy) = stream.try_clone() else { break };
            if *stopped {
                break;
            }
            lock(&shared.streams).push(copy);
        }
        let shared = Arc::clone(shared);
        connections.push(thread::spawn(move || {
            // A client that goes away, or sends what is no HTTP, has its own tests.
            let _ = shared.serve(&stream, side);
            let _ = stream.shutdown(Shutdown::Both);
        }));
    }
    for connection in connections {
        let _ = connection.join();
    }
}

impl Shared {
    /// Sleeps, unless it is over; then `false`.
    fn sleep(&self, duration: Duration) -> bool {
        let stopped = lock(&self.stopped);
        let (stopped, _) = self
            .stops
            .wait_timeout_while(stopped, duration, |stopped| !*stopped)
            .unwrap_or_else(PoisonError::into_inner);
        !*stopped
    }

    fn serve(&self, stream: &TcpStream, side: Side) -> io::Result<()> {
        // Small answers go out at once.
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        let mut writer = stream;
        while let Some(request) = http::read(&mut reader)? {
            let index = self.record(&request, side);
            let outcome = self.outcome(&request, side, index);
            let note = |status: u16, reply: Option<&Reply>| {
                let mut log = lock(&self.log);
                let recorded = &mut log.of(side)[index];
                recorded.answered = status;
                recorded.limited = reply
                    .filter(|reply| fault::limits(reply))
                    .map(|_| Instant::now());
            };
            match outcome {
                Outcome::Drop => return Ok(()),
                Outcome::Reply(reply) => {
                    // Before the client can have it, so that a test that has the
                    // answer finds it in the log.
                    note(reply.status, Some(&reply));
                    http::write(&mut writer, &reply)?;
                }
                Outcome::HalfBody(reply) => {
                    note(reply.status, None);
                    let head = http::head(&reply);
                    write!(writer, "{head}Content-Length: {}\r\n\r\n", reply.body.len())?;
                    return writer.write_all(&reply.body[..reply.body.len() / 2]);
                }
                Outcome::Drip(every) => {
                    note(200, None);
                    let head = Reply::empty(200)
                        .with("Content-Type", "application/json; charset=utf-8")
                        .with("Transfer-Encoding", "chunked");
                    write!(writer, "{}\r\n", http::head(&head))?;
                    // Blanks before a JSON value that never comes.
                    while self.sleep(every) {
                        writer.write_all(b"1\r\n \r\n")?;
                    }
                    return Ok(());
                }
            }
            if request.closes() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn record(&self, request: &Request, side: Side) -> usize {
        let recorded = Recorded {
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            headers: request.headers.clone(),
            body: request.json(),
            at: request.at,
            answered: 0,
            limited: None,
        };
        let mut log = lock(&self.log);
        let requests = log.of(side);
        requests.push(recorded);
        requests.len() - 1
    }

    /// Hooks, then the fault, around the work.
    fn outcome(&self, request: &Request, side: Side, index: usize) -> Outcome {
        let recorded = lock(&self.log).of(side)[index].clone();
        for (matcher, hook) in lock(&self.hooks).iter_mut() {
            if matcher.hits(request) {
                hook(&mut lock(&self.state), &recorded);
            }
        }
        let mut fault = None;
        for (matcher, candidate) in lock(&self.script).iter_mut() {
            // Each counts on, whichever happens.
            if matcher.hits(request) && fault.is_none() {
                fault = Some(candidate.clone());
            }
        }
        let Some(Fault { works, kind }) = fault else {
            return Outcome::Reply(self.work(request, side));
        };
        if let Kind::Delay(by) = kind {
            if works {
                let reply = self.work(request, side);
                self.sleep(by);
                return Outcome::Reply(reply);
            }
            self.sleep(by);
            return Outcome::Reply(self.work(request, side));
        }
        let reply = if works {
            Some(self.work(request, side))
        } else {
            self.judge(request, side);
            None
        };
        match kind {
            Kind::Answer(reply) => Outcome::Reply(reply),
            Kind::Drop => Outcome::Drop,
            Kind::HalfJson => {
                let mut reply = reply.unwrap_or_else(|| Reply::empty(200));
                reply.body.truncate(reply.body.len() / 2);
                Outcome::Reply(reply)
            }
            Kind::HalfBody => Outcome::HalfBody(reply.unwrap_or_else(|| Reply::empty(200))),
            Kind::Drip(every) => Outcome::Drip(every),
            Kind::Redirect(status, to) => {
                let to = match to {
                    To::Id => route::by_id(&lock(&self.state), &self.prefix, request),
                    To::Path(path) => format!("http://{}{path}", self.host()),
                    To::Url(url) => url,
                };
                Outcome::Reply(Reply::empty(status).with("Location", to))
            }
            Kind::Delay(_) => unreachable!("answered above"),
        }
    }

    fn host(&self) -> String {
        let state = lock(&self.state);
        state.api.split('/').nth(2).unwrap_or_default().to_owned()
    }

    /// Holds a request against the description, without doing it.
    fn judge(&self, request: &Request, side: Side) {
        if side == Side::Api {
            let violations = route::judge(&lock(&self.state), &self.prefix, request);
            lock(&self.log).violations.extend(violations);
        }
    }

    fn work(&self, request: &Request, side: Side) -> Reply {
        if side == Side::Storage {
            return self.stored(request);
        }
        let answered = route::answer(&mut lock(&self.state), &self.prefix, request);
        let mut log = lock(&self.log);
        log.violations.extend(answered.violations);
        log.own.extend(answered.own);
        let remaining = 1_000_usize.saturating_sub(log.api.len());
        answered
            .reply
            .with("X-GitHub-Media-Type", "github.v3; format=json")
            .with("X-RateLimit-Limit", "1000")
            .with("X-RateLimit-Remaining", remaining.to_string())
    }

    /// The other host: whoever has the address may read, and a token is refused.
    fn stored(&self, request: &Request) -> Reply {
        if request.header("authorization").is_some() {
            let violation = format!("{}: the token went to the storage", request.path);
            lock(&self.log).violations.push(violation);
            return Reply::empty(400);
        }
        let state = lock(&self.state);
        let artifact = request
            .path
            .strip_prefix("/storage/")
            .filter(|_| request.method == "GET" && request.query("sig") == Some("signed/by"))
            .and_then(|id| state.artifacts.get(&id.parse().ok()?));
        match artifact {
            Some(artifact) => Reply {
                body: artifact.bytes.clone(),
                ..Reply::empty(200).with("Content-Type", "application/zip")
            },
            None => Reply::empty(404),
        }
    }
}
