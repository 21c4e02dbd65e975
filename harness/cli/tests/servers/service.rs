//! A whole service under load: axum with sessions, a cache of pages, SQLite and a heap endpoint.

use std::env;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use plimsoll_scenarios::{Loses, load, serve};

use crate::{plimsoll, said, says};

/// Makes a process of these tests the service: `healthy`, or `leaking`.
const MODE: &str = "PLIMSOLL_TEST_SERVICE";

/// So many requests are sent over one connection.
const REQUESTS: u64 = 1_000;

/// The service as a process, and a thread that sends it requests until it is dropped.
struct Service {
    child: Child,
    address: SocketAddr,
    has_ended: Arc<AtomicBool>,
    load: Option<JoinHandle<()>>,
}

impl Service {
    fn start(mode: &str) -> Service {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "service::served", "--nocapture"])
            .env(MODE, mode)
            .env("MALLOC_CONF", "prof:true,lg_prof_sample:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .map(Result::unwrap)
            .find_map(|line| Some(line.split_once("listening on ")?.1.parse().unwrap()))
            .expect("a service that listens");
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let load = thread::spawn(move || {
            let mut sent = 0;
            while !ended.load(Ordering::Relaxed) {
                load(address, sent..sent + REQUESTS).unwrap();
                sent += REQUESTS;
            }
        });
        Service {
            child,
            address,
            has_ended,
            load: Some(load),
        }
    }

    fn heap(&self) -> String {
        format!("http://{}/debug/pprof/heap", self.address)
    }

    /// Watches it for so long, by requests if `is_by_requests`.
    fn watch(&self, length: &str, is_by_requests: bool) -> Command {
        let heap = self.heap();
        let mut arguments = vec!["watch", &heap, "--for", length, "--inuse-objects"];
        if is_by_requests {
            arguments.extend(["--per", "http_requests_total"]);
        }
        plimsoll(&arguments)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
        let ended = self.load.take().map(JoinHandle::join);
        let _ = self.child.kill();
        let _ = self.child.wait();
        assert!(
            thread::panicking() || ended.is_some_and(|ended| ended.is_ok()),
            "the load ended early"
        );
    }
}

/// No test: what a process started by one does.
#[test]
fn served() {
    match env::var(MODE).as_deref() {
        Ok("leaking") => serve(Loses::Sessions).unwrap(),
        Ok(_) => serve(Loses::Nothing).unwrap(),
        Err(_) => {}
    }
}

#[test]
fn a_healthy_service_is_within() {
    let service = Service::start("healthy");
    says(&mut service.watch("20s", true), 0, &["within"]);
}

/// A session is lost in one of a hundred requests, on the stack on which up to eight come and go.
#[test]
fn a_lost_session_is_named_by_requests_by_seconds_and_by_its_age() {
    let service = Service::start("leaking");
    let mut by_seconds = service.watch("20s", false);
    let by_seconds = thread::spawn(move || said(&mut by_seconds));
    let by_requests = said(&mut service.watch("20s", true));
    for ((text, status), unit) in [
        (by_requests, "http_request"),
        (by_seconds.join().unwrap(), "hour"),
    ] {
        assert_eq!(status, 1, "{text}");
        let first = text
            .lines()
            .find(|line| line.contains(" yes "))
            .unwrap_or_default();
        assert!(first.contains("open_session"), "{text}");
        assert!(text.contains(unit), "{text}");
    }
    let (text, status) = said(&mut plimsoll(&["show", "--ages", &service.heap()]));
    assert_eq!(status, 0, "{text}");
    let leaks: Vec<&str> = text.split("\nleaks ").skip(1).collect();
    assert!(
        leaks
            .first()
            .is_some_and(|leak| leak.contains("open_session")),
        "{text}"
    );
}
