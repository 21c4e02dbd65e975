//! A server over time.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::fake::{Fake, whole};
use crate::real::{Mode, start};
use crate::series::assert_fits_the_schema;
use crate::{ends, given_time, interrupt, own_port, plimsoll, says, watched, watched_until};

/// `plimsoll watch`, so long and so often.
fn watch(every: &str, length: &str, arguments: &[&str]) -> Command {
    let pace = ["watch", "--every", every, "--for", length];
    plimsoll(&[&pace, arguments].concat())
}

#[test]
fn a_server_that_leaks() {
    let server = start(Mode::Leaking, 0);
    let folder = tempfile::tempdir().unwrap();
    let [picture, dumps] = ["growth.svg", "dumps"].map(|name| folder.path().join(name));
    let path = picture.to_str().unwrap();
    let from = ["--from", "greptimedb", &server.address, "--json"];
    let arguments = [&from[..], &["--flamegraph", path]].concat();
    let expected = ["\"verdict\": \"regressed\"", "leak_on_purpose"];
    let text = ends(watched(10, "300ms", &dumps, &arguments), 1, &expected);
    let (start, end) = (text.find('{').unwrap(), text.rfind("\n}").unwrap());
    let json = serde_json::from_str(&text[start..end + 2]).unwrap();
    assert_fits_the_schema(&json);
    let picture = fs::read_to_string(picture).unwrap();
    assert!(picture.contains("leak_on_purpose"));

    // What it kept says the same afterwards.
    let compare = ["compare", dumps.to_str().unwrap()];
    says(&mut plimsoll(&compare), 0, &["per hour", "leak_on_purpose"]);
}

#[test]
fn what_may_grow_so_much_an_hour() {
    let server = start(Mode::Leaking, 0);
    // Two seconds from the start, 2 KiB a millisecond: 7 GiB an hour.
    let from = ["--from", "tikv", &server.address, "--allow", "1TiB"];
    let folder = tempfile::tempdir().unwrap();
    ends(watched(7, "300ms", folder.path(), &from), 0, &["within"]);
}

#[test]
fn a_healthy_server() {
    let server = start(Mode::Healthy, 0);
    let from = ["--from", "starrocks", &server.address];
    let folder = tempfile::tempdir().unwrap();
    let expected = ["within: no stack keeps growing"];
    ends(watched(10, "300ms", folder.path(), &from), 0, &expected);
}

#[test]
fn what_is_wrong_at_first_is_not_waited_for() {
    let server = Fake::with("403 Forbidden", "", "heap profiling not activated");
    let command = ["watch", "--from", "materialize", &server.address];
    says(&mut plimsoll(&command), 5, &["action=activate"]);
}

/// Keeps 64 bytes of each request. There are more requests at each look at its metrics.
#[test]
fn growth_by_a_counter() {
    let looks = AtomicU32::new(0);
    let server = Fake::new(move |head, stream| {
        let page = head.starts_with("GET /metrics ");
        let looks = looks.fetch_add(u32::from(page), Ordering::Relaxed);
        let requests = 100.0 * 1.06_f64.powi(looks.try_into().unwrap());
        let body = match page {
            true => format!(
                "http_requests_total{{code=\"200\"}} {requests}\nhttp_requests_total{{code=\"500\"}} 9\n"
            ),
            false => format!("main;leak {:.0}\nmain;cache 50000\n", 64.0 * requests),
        };
        let _ = stream.write_all(&whole("200 OK", "", body.as_bytes()));
    });
    let url = server.url("/heap");
    let folder = tempfile::tempdir().unwrap();
    let dumps = folder.path().to_str().unwrap();
    let per_for = |time: &str, counter: &str, more: &[&str]| {
        let arguments = ["watch", &url, "--per", counter, "--for", time];
        plimsoll(&[&arguments, more].concat())
    };
    let per = |counter: &str, more: &[&str]| per_for("3s", counter, more);
    let times = ["3s", "15s", "60s"];
    let counter = r#"http_requests_total{code="200"}"#;
    let said = [" per http_requests_total{code=\"200\"}, linear: main;leak"];
    let told = given_time(times, 1, |time| {
        let _ = fs::remove_dir_all(dumps);
        per_for(time, counter, &["--out", dumps])
    });
    ends(told, 1, &said);
    let kept = [
        "per http_requests_total_code__200__",
        "linear      yes  main;leak",
    ];
    says(&mut plimsoll(&["compare", dumps]), 0, &kept);
    let allowed = |time: &str| per_for(time, counter, &["--allow", "100"]);
    ends(given_time(times, 0, allowed), 0, &["within"]);

    // What is wrong at first is not waited for.
    let close = "did you mean `http_requests_total`?";
    let unknown = ["/metrics: expected the counter", close];
    says(&mut per("http_request_count", &[]), 5, &unknown);
    let no_metrics = ["Prometheus's text format", "`main;leak"];
    says(&mut per(counter, &["--metrics", &url]), 5, &no_metrics);
    says(&mut per("rate(up[1m])", &[]), 2, &["expected a counter"]);
    says(&mut per(counter, &["--every", "1s"]), 2, &["--every"]);
}

/// Doubles with every dump, however late; the fourth of them is none.
#[test]
fn a_dump_that_is_missing() {
    let asked = AtomicU32::new(0);
    let server = Fake::new(move |_, stream| {
        let dump = asked.fetch_add(1, Ordering::Relaxed);
        let answer = match dump {
            3 => whole("503 Service Unavailable", "", b"busy"),
            _ => {
                let body = format!(
                    "main;leak {}\nmain;cache 50000\n",
                    4_096_u64 << dump.min(40)
                );
                whole("200 OK", "", body.as_bytes())
            }
        };
        let _ = stream.write_all(&answer);
    });
    let url = server.url("/");
    let missing = ["a dump is missing", "503 Service Unavailable: `busy`"];
    let folder = tempfile::tempdir().unwrap();
    let arguments = [&url, "--fail-on", "growth > 1GiB"];
    let watched = watched(6, "200ms", folder.path(), &arguments);
    ends(watched, 1, &missing);
}

#[test]
fn a_condition() {
    let server = Fake::with("200 OK", "", "main;cache 50000\n");
    let url = server.url("/");
    let watch = |condition: &str| watch("100ms", "400ms", &[&url, "--fail-on", condition]);
    // What is kept nowhere has no path.
    let first = " from dump 1 of http://127.0.0.1";
    let arguments = [&url, "--every", "100ms", "--fail-on", "growth > 1MiB"];
    let told = watched_until(|| server.requests().len() >= 6, &arguments);
    ends(told, 0, &[first]);
    let asked = server.requests().len();
    let why = "expected a profile with inuse_objects";
    says(&mut watch("growth > 1 object"), 2, &[why]);
    assert_eq!(server.requests().len(), asked + 1, "the first dump tells");
    says(&mut watch("growth >"), 2, &[]);
}

#[test]
fn a_server_that_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let dumps = folder.path().to_str().unwrap();
    let port = own_port(3);
    let server = start(Mode::Leaking, port);
    let address = server.address.clone();
    let mut watched = watch(
        "200ms",
        "1h",
        &["--from", "databend", &address, "--out", dumps],
    )
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    while fs::read_dir(dumps).unwrap().count() < 4 {
        assert!(watched.try_wait().unwrap().is_none(), "it ended early");
        thread::sleep(Duration::from_millis(20));
    }
    drop(server);
    let server = start(Mode::Leaking, port);
    let mut lines = BufReader::new(watched.stderr.take().unwrap()).lines();
    let is_told = lines.any(|line| line.unwrap().contains("restarted since the last dump"));
    watched.kill().unwrap();
    watched.wait().unwrap();
    drop(server);
    assert!(is_told);
}

#[test]
fn ctrl_c_is_the_end_of_it() {
    let server = Fake::with("200 OK", "", "main;cache 50000\n");
    let url = server.url("/");
    let watched = watch("100ms", "1h", &[&url])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while server.requests().len() < 6 {
        thread::sleep(Duration::from_millis(20));
    }
    interrupt(&watched);
    let ended = watched.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{text}");
    assert!(text.contains("no stack keeps growing"), "{text}");

    // Two dumps, and no more.
    let asked = AtomicU32::new(0);
    let busy = Fake::new(move |_, stream| {
        let answer = match asked.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => whole("200 OK", "", b"main;cache 50000\n"),
            _ => whole("503 Service Unavailable", "", b"busy"),
        };
        let _ = stream.write_all(&answer);
    });
    let arguments = [&busy.url("/"), "--every", "100ms"];
    let told = watched_until(|| busy.requests().len() >= 4, &arguments);
    ends(told, 3, &["too few to tell a leak"]);
    says(&mut watch("100ms", "10ms", &[&url]), 2, &[]);
}
