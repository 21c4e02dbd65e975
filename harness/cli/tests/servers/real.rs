//! A server as those of `--from`: axum under jemalloc, which dumps itself when asked.

use std::env;
use std::ffi::CString;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};

/// Makes a server of a process of these tests.
const MODE: &str = "PLIMSOLL_TEST_SERVER";

#[derive(Clone, Copy)]
pub(crate) enum Mode {
    /// More is kept from dump to dump, and ever faster: 500 objects in the first second,
    /// 1,500 in the next. A machine that stands still for a while does not make that look
    /// like what comes to an end.
    Leaking,
    /// A cache is full after the first request.
    Healthy,
    /// jemalloc does not profile.
    Off,
}

pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:40000`
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(mode: Mode) -> Server {
        Server::start_at(mode, 0)
    }

    /// On that port; 0 for any.
    pub(crate) fn start_at(mode: Mode, port: u16) -> Server {
        let (name, conf) = match mode {
            Mode::Leaking => ("leaking", "prof:true,lg_prof_sample:0"),
            Mode::Healthy => ("healthy", "prof:true,lg_prof_sample:0"),
            Mode::Off => ("off", "prof:false"),
        };
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "real::serve", "--nocapture"])
            .env(MODE, format!("{name} {port}"))
            .env("MALLOC_CONF", conf)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .map(Result::unwrap)
            .find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()))
            .expect("a server that listens");
        Server { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What lives for as long as the server.
static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

#[inline(never)]
fn leak_on_purpose(objects: usize) {
    let mut kept = KEPT.lock().unwrap();
    while kept.len() < objects {
        kept.push(vec![7; 1_024]);
    }
}

/// No test: what a process started by one does.
#[test]
fn serve() {
    let Ok(mode) = env::var(MODE) else {
        return;
    };
    let (mode, port) = mode.split_once(' ').unwrap();
    let is_leaking = mode == "leaking";
    let port: u16 = port.parse().unwrap();
    // The list itself is not to grow.
    KEPT.lock().unwrap().reserve(1 << 20);
    let start = Instant::now();
    let dump = move || {
        leak_on_purpose(match is_leaking {
            true => {
                let later = start.elapsed().as_millis().pow(2) / 2_000;
                100 + usize::try_from(later).unwrap().min(1 << 18)
            }
            false => 500,
        });
        dumped()
    };
    let refused = |status: u16, why: &'static str| {
        move |dumped: Option<Vec<u8>>| match dumped {
            Some(dump) => (StatusCode::OK, dump),
            None => (StatusCode::from_u16(status).unwrap(), why.as_bytes().into()),
        }
    };
    let databend = refused(500, "MALLOC_CONF is not set");
    let greptimedb = refused(500, r#"{"error":"Memory profiling is not enabled"}"#);
    let starrocks = refused(200, "");
    let tikv = refused(500, "memory profiling not enabled");
    let materialize = refused(403, "heap profiling not activated");
    let app = Router::new()
        .route(
            "/debug/mem/pprof/profile",
            get(async move || databend(dump())),
        )
        .route("/debug/prof/mem", post(async move || greptimedb(dump())))
        .route("/pprof/heap", get(async move || starrocks(dump())))
        .route("/debug/pprof/heap", get(async move || tikv(dump())))
        .route("/prof/heap", get(async move || materialize(dump())));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        writeln!(io::stdout(), "listening on {address}").unwrap();
        axum::serve(listener, app).await.unwrap();
    });
}

/// jemalloc's own dump of this process; none where it does not profile.
fn dumped() -> Option<Vec<u8>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = CString::new(file.path().to_str().unwrap()).unwrap();
    // SAFETY: jemalloc(3) lists `prof.dump` as writable, of type `const char *`, and
    // reads the name during the call alone.
    let done = unsafe { tikv_jemalloc_ctl::raw::write(b"prof.dump\0", path.as_ptr()) };
    done.ok().map(|()| fs::read(file.path()).unwrap())
}
