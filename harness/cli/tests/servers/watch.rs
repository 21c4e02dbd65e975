//! A server over time.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::fake::{Fake, whole};
use crate::real::{Mode, Server};
use crate::series::assert_fits_the_schema;
use crate::{plimsoll, said};

#[test]
fn a_server_that_leaks() {
    let server = Server::start(Mode::Leaking);
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("growth.svg");
    let dumps = folder.path().join("dumps");
    let (text, status) = said(&mut plimsoll(&[
        "watch",
        "--from",
        "greptimedb",
        &server.address,
        "--every",
        "300ms",
        "--for",
        "3s",
        "--json",
        "--out",
        dumps.to_str().unwrap(),
        "--flamegraph",
        picture.to_str().unwrap(),
    ]));
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("\"verdict\": \"regressed\""), "{text}");
    assert!(text.contains("leak_on_purpose"), "{text}");
    let (start, end) = (text.find('{').unwrap(), text.rfind("\n}").unwrap());
    let json = serde_json::from_str(&text[start..end + 2]).unwrap();
    assert_fits_the_schema(&json);
    assert!(
        fs::read_to_string(picture)
            .unwrap()
            .contains("leak_on_purpose")
    );

    // What it kept says the same afterwards.
    let (text, status) = said(&mut plimsoll(&["compare", dumps.to_str().unwrap()]));
    assert_eq!(status, 0, "{text}");
    assert!(
        text.contains("per dump") && text.contains("leak_on_purpose"),
        "{text}"
    );
}

#[test]
fn what_may_grow_so_much_an_hour() {
    let server = Server::start(Mode::Leaking);
    // Two seconds from the start, 2 KiB a millisecond: 7 GiB an hour.
    let (text, status) = said(&mut plimsoll(&[
        "watch",
        "--from",
        "tikv",
        &server.address,
        "--every",
        "300ms",
        "--for",
        "2s",
        "--allow",
        "1TiB",
    ]));
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("within"), "{text}");
}

#[test]
fn a_healthy_server() {
    let server = Server::start(Mode::Healthy);
    let watch = [
        "watch",
        "--from",
        "starrocks",
        &server.address,
        "--every",
        "300ms",
        "--for",
        "3s",
    ];
    let (text, status) = said(&mut plimsoll(&watch));
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("within: no stack keeps growing"), "{text}");
}

#[test]
fn what_is_wrong_at_first_is_not_waited_for() {
    let server = Server::start(Mode::Off);
    let (text, status) = said(&mut plimsoll(&[
        "watch",
        "--from",
        "materialize",
        &server.address,
    ]));
    assert_eq!(status, 5, "{text}");
    assert!(text.contains("action=activate"), "{text}");
}

/// Gains more with every dump; the fourth of them is none.
#[test]
fn a_dump_that_is_missing() {
    let asked = AtomicU32::new(0);
    let server = Fake::new(move |_, stream| {
        let dump = asked.fetch_add(1, Ordering::Relaxed);
        let answer = match dump {
            3 => whole("503 Service Unavailable", "", b"busy"),
            _ => {
                let body = format!("main;leak {}\nmain;cache 50000\n", 4_096 * dump.pow(2));
                whole("200 OK", "", body.as_bytes())
            }
        };
        let _ = stream.write_all(&answer);
    });
    let (text, status) = said(&mut plimsoll(&[
        "watch",
        &server.url("/"),
        "--every",
        "200ms",
        "--for",
        "2s",
        "--fail-on",
        "growth > 1GiB",
    ]));
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("a dump is missing"), "{text}");
    assert!(text.contains("503 Service Unavailable: `busy`"), "{text}");
}

#[test]
fn a_condition() {
    let server = Fake::with("200 OK", "", "main;cache 50000\n");
    let watch = |condition: &str| {
        said(&mut plimsoll(&[
            "watch",
            &server.url("/"),
            "--every",
            "100ms",
            "--for",
            "400ms",
            "--fail-on",
            condition,
        ]))
    };
    let (text, status) = watch("growth > 1MiB");
    assert_eq!(status, 0, "{text}");
    // What is kept nowhere has no path.
    assert!(text.contains(" from dump 1 of http://127.0.0.1"), "{text}");
    let asked = server.requests().len();
    let (text, status) = watch("growth > 1 object");
    assert_eq!(status, 2, "{text}");
    assert!(
        text.contains("expected a profile with inuse_objects"),
        "{text}"
    );
    assert_eq!(server.requests().len(), asked + 1, "the first dump tells");
    let (text, status) = watch("growth >");
    assert_eq!(status, 2, "{text}");
}

#[test]
fn a_server_that_is_started_again() {
    let server = Server::start(Mode::Leaking);
    let port = server.port();
    let address = server.address.clone();
    let again = thread::spawn(move || {
        thread::sleep(Duration::from_millis(2_000));
        drop(server);
        Server::start_at(Mode::Leaking, port)
    });
    let (text, _) = said(&mut plimsoll(&[
        "watch", "--from", "databend", &address, "--every", "200ms", "--for", "6s",
    ]));
    drop(again.join().unwrap());
    assert!(text.contains("restarted since the last dump"), "{text}");
}

#[test]
fn ctrl_c_is_the_end_of_it() {
    let server = Fake::with("200 OK", "", "main;cache 50000\n");
    let watch = plimsoll(&["watch", &server.url("/"), "--every", "100ms", "--for", "1h"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while server.requests().len() < 6 {
        thread::sleep(Duration::from_millis(20));
    }
    let id = watch.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let ended = watch.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{text}");
    assert!(text.contains("no stack keeps growing"), "{text}");

    let watch = |length: &str| {
        let url = server.url("/");
        said(&mut plimsoll(&[
            "watch", &url, "--every", "100ms", "--for", length,
        ]))
    };
    let (text, status) = watch("200ms");
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("too few to tell a leak"), "{text}");
    assert_eq!(watch("10ms").1, 2);
}
