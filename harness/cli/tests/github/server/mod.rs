//! A GitHub for tests: a real HTTP server on the loopback that answers as GitHub's
//! REST API does, refuses what it refuses, and fails when told to.
//!
//! ```text
//! http         bytes to Request, Reply to bytes
//! fault        what goes wrong, and at which requests
//! description  GitHub's OpenAPI description: which operation is it, is it sound
//! route        permissions, limits, the work, the answer
//! state        what there is, as answers and events say it
//! ```
//!
//! Every request is logged and held against the description. A request that
//! GitHub's description does not know is a violation, even where it would work.

mod description;
pub(crate) mod fault;
pub(crate) mod http;
mod route;
pub(crate) mod state;
mod tests;

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fault::{Fault, Kind, Matcher};
use http::{Reply, Request};
use state::State;

/// It stops when it is dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
}

/// What happens at a request, and what goes wrong with it.
type Act = Box<dyn FnMut(&mut State) -> Option<Fault> + Send>;

struct Shared {
    state: Mutex<State>,
    script: Mutex<Vec<(Matcher, Act)>>,
    log: Mutex<Log>,
    stopped: AtomicBool,
}

#[derive(Default)]
struct Log {
    /// In the order they came.
    requests: Vec<Request>,
    /// When an answer told a client to wait.
    limits: Vec<Instant>,
    violations: Vec<String>,
}

impl Server {
    /// As GitHub itself, with what [`State::new`] has.
    pub(crate) fn start() -> Self {
        Self::at("")
    }

    /// With a prefix before every path: `/api/v3` is GitHub Enterprise Server's.
    pub(crate) fn at(prefix: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its number");
        let api = format!("http://{address}{prefix}");
        // Another host, as far as a client can tell.
        let storage = format!("http://localhost:{}", address.port());
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(prefix, api, storage)),
            script: Mutex::default(),
            log: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let server = Arc::clone(&shared);
        thread::spawn(move || listen(&listener, &server));
        Self { shared, address }
    }

    /// What `GITHUB_API_URL` says: with the prefix, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        self.state().api.clone()
    }

    /// What there is. The server waits while a test holds it.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }

    /// Adds to the script; of several faults that match, the first one happens.
    /// Paths of downloads begin with `/storage/`.
    pub(crate) fn fault(&self, at: Matcher, fault: Fault) {
        let act = move |_: &mut State| Some(fault.clone());
        lock(&self.shared.script).push((at, Box::new(act)));
    }

    /// Calls `hook` when a request has arrived and before anything is done about it.
    pub(crate) fn on_request(&self, at: Matcher, hook: impl Fn(&mut State) + Send + 'static) {
        let act = move |state: &mut State| {
            hook(state);
            None
        };
        lock(&self.shared.script).push((at, Box::new(act)));
    }

    /// In the order they came.
    pub(crate) fn requests(&self) -> Vec<Request> {
        lock(&self.shared.log).requests.clone()
    }

    /// What either side did against GitHub's description, or against good sense.
    pub(crate) fn violations(&self) -> Vec<String> {
        lock(&self.shared.log).violations.clone()
    }

    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.violations(), [""; 0]);
    }

    /// That no request came within `wait` of an answer that said to wait, and that
    /// there was such an answer.
    #[track_caller]
    pub(crate) fn assert_waited(&self, wait: Duration) {
        let limits = lock(&self.shared.log).limits.clone();
        assert!(!limits.is_empty(), "expected an answer that says to wait");
        for request in self.requests() {
            for limit in &limits {
                let (line, since) = (request.line(), request.at.checked_duration_since(*limit));
                let waited = since.is_none_or(|since| since >= wait);
                assert!(waited, "{line}: {since:?} after a limit");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, which then sees that it is over.
        drop(TcpStream::connect(self.address));
    }
}

/// A test that failed while it held the lock has said so already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let shared = Arc::clone(shared);
        // Ends with the client, which every test outlives.
        thread::spawn(move || shared.serve(&stream));
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        // Small answers go out at once.
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        let mut writer = stream;
        while let Some(request) = http::read(&mut reader)? {
            lock(&self.log).requests.push(request.clone());
            let fault = self.script(&request);
            // GitHub's own answer, where it comes to that.
            let works = fault.as_ref().is_none_or(|fault| fault.works);
            let own = match request.path.strip_prefix("/storage/") {
                Some(id) => self.stored(&request, id),
                None => self.answer(&request, works),
            };
            let (reply, cut) = match fault.map(|fault| fault.kind) {
                None => (own, false),
                Some(Kind::Drop) => return Ok(()),
                Some(Kind::Answer(reply)) => (reply, false),
                Some(Kind::HalfBody) => (own, true),
                Some(Kind::Silence) => {
                    http::read(&mut reader)?;
                    return Ok(());
                }
                // Blanks before a JSON value that never comes.
                Some(Kind::Drip) => {
                    Reply::new(200, b"  ").write(writer, true)?;
                    loop {
                        thread::sleep(Duration::from_millis(200));
                        writer.write_all(b" ")?;
                    }
                }
            };
            if fault::limits(&reply) {
                lock(&self.log).limits.push(Instant::now());
            }
            reply.write(writer, cut)?;
            if cut {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Lets happen what is to happen, and says what goes wrong.
    fn script(&self, request: &Request) -> Option<Fault> {
        let mut faults = Vec::new();
        for (at, act) in lock(&self.script).iter_mut() {
            if at.hits(request) {
                faults.extend(act(&mut lock(&self.state)));
            }
        }
        faults.into_iter().next()
    }

    fn answer(&self, request: &Request, works: bool) -> Reply {
        let (reply, wrong) = route::answer(&mut lock(&self.state), request, works);
        lock(&self.log).violations.extend(wrong);
        reply
    }

    /// The other host: whoever has the address may read, and a token is refused.
    fn stored(&self, request: &Request, id: &str) -> Reply {
        if request.header("authorization").is_some() {
            let violation = format!("{}: the token went to the storage", request.path);
            lock(&self.log).violations.push(violation);
        }
        let state = lock(&self.state);
        let bytes = id.parse().ok().and_then(|id| state.bytes.get(&id));
        match bytes.filter(|_| request.query("sig") == Some("signed/by")) {
            Some(bytes) => Reply::new(200, bytes),
            None => Reply::new(404, b""),
        }
    }
}
