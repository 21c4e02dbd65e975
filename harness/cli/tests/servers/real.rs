//! A server as those of `--from`: axum under jemalloc, which dumps itself when asked.

use std::env;
use std::ffi::CString;
use std::fs;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::time::Instant;

use axum::Router;
use axum::routing::{get, post};

use crate::Started;

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
}

/// Starts the server on that port; 0 for any.
pub(crate) fn start(mode: Mode, port: u16) -> Started {
    let name = match mode {
        Mode::Leaking => "leaking",
        Mode::Healthy => "healthy",
    };
    Started::new("real::serve", MODE, &format!("{name} {port}"))
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
    let app = Router::new()
        .route("/debug/mem/pprof/profile", get(async move || dump()))
        .route("/debug/prof/mem", post(async move || dump()))
        .route("/pprof/heap", get(async move || dump()))
        .route("/debug/pprof/heap", get(async move || dump()));
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

/// jemalloc's own dump of this process.
fn dumped() -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = CString::new(file.path().to_str().unwrap()).unwrap();
    // SAFETY: jemalloc(3) lists `prof.dump` as writable, of type `const char *`, and
    // reads the name during the call alone.
    unsafe { tikv_jemalloc_ctl::raw::write(b"prof.dump\0", path.as_ptr()) }.unwrap();
    fs::read(file.path()).unwrap()
}
