//! A client without async (`ttrpc`) whose server does not answer.
//!
//! Kept: an entry for each call that timed out. Only an answer takes it out of the map of
//! receivers (`trans_resp`); `Client::request` returns after its timeout, and leaves it. The
//! async client of the same crate removes it (`StreamRegistrationGuard`).

use std::io;
use std::os::unix::net::UnixListener;
use std::thread;

use anyhow::ensure;
use plimsoll::Scenario;
use tempfile::TempDir;
use ttrpc::{Client, Request};

struct Calls {
    folder: TempDir,
    client: Client,
}

impl Calls {
    fn connect(folder: &TempDir) -> Client {
        let address = format!("unix://{}", folder.path().join("socket").display());
        Client::connect(&address).expect("the server listens")
    }
}

/// A server that reads every message, and never sends one.
fn listen(listener: UnixListener) {
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        thread::spawn(move || io::copy(&mut stream, &mut io::sink()));
    }
}

fn setup() -> Calls {
    let folder = tempfile::tempdir().expect("a folder for the socket");
    let listener = UnixListener::bind(folder.path().join("socket")).expect("a new socket");
    thread::spawn(|| listen(listener));
    Calls {
        client: Calls::connect(&folder),
        folder,
    }
}

fn call(calls: &mut Calls, _i: u64) -> anyhow::Result<()> {
    let request = Request {
        service: "health".to_owned(),
        method: "check".to_owned(),
        timeout_nano: 100_000,
        ..Request::default()
    };
    ensure!(
        calls.client.request(request).is_err(),
        "the server answered"
    );
    Ok(())
}

fn call_and_connect_again(calls: &mut Calls, i: u64) -> anyhow::Result<()> {
    if i.is_multiple_of(100) {
        calls.client = Calls::connect(&calls.folder);
    }
    call(calls, i)
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // One connection for all calls.
        Scenario::with_state("ttrpc_timeouts", setup, call),
        // A new connection after every hundred calls.
        Scenario::with_state(
            "ttrpc_timeouts_connect_again",
            setup,
            call_and_connect_again,
        ),
    ]
}
