//! A server over time.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::fake::{Fake, whole};
use crate::series::assert_fits_the_schema;
use crate::systems::{jemalloc, moved, used};
use crate::{given_time, plimsoll, says, watched, watched_until};

/// A server that answers so to each request, counted from 0.
fn counting(answer: impl Fn(u32) -> Vec<u8> + Send + 'static) -> Fake {
    let asked = AtomicU32::new(0);
    Fake::new(move |_, stream| {
        let _ = stream.write_all(&answer(asked.fetch_add(1, Ordering::Relaxed)));
    })
}

fn busy() -> Vec<u8> {
    whole("503 Service Unavailable", "", b"busy")
}

/// What leaks doubles with every dump, however late that is.
#[test]
fn a_server_that_leaks() {
    let server = counting(|dump| {
        let text = format!("main;leak {}\nmain;cache 50000\n", 4_096_u64 << dump);
        whole("200 OK", "", text.as_bytes())
    });
    let folder = tempfile::tempdir().unwrap();
    let [picture, dumps] = ["growth.svg", "dumps"].map(|name| folder.path().join(name));
    let path = picture.to_str().unwrap();
    let from = ["--from", "greptimedb", &server.address, "--json"];
    let arguments = [&from[..], &["--flamegraph", path]].concat();
    let told = watched(10, "100ms", &dumps, &arguments).has(1, &[]);
    assert_eq!(told.json()["verdict"], "regressed", "{told}");
    assert_fits_the_schema(&told.json());
    assert!(fs::read_to_string(picture).unwrap().contains("leak"));

    // What it kept says the same afterwards.
    let compare = ["compare", dumps.to_str().unwrap()];
    says(&mut plimsoll(&compare), 0, &["per hour", "yes  main;leak"]);
}

/// Dumps that are missing cost nothing else, and those of another process are not mixed in.
#[test]
fn a_server_that_is_busy_and_started_again() {
    let server = counting(|dump| {
        let text = jemalloc(1 << dump);
        match dump {
            3 => busy(),
            0..8 => whole("200 OK", "", text.as_bytes()),
            _ => whole("200 OK", "", moved(&text).as_bytes()),
        }
    });
    let arguments = [&server.url("/"), "--fail-on", "growth > 1GiB"];
    let folder = tempfile::tempdir().unwrap();
    let told = watched(14, "100ms", folder.path(), &arguments);
    let expected = [
        "a dump is missing: ",
        "503 Service Unavailable: `busy`",
        "restarted since the last dump; 7 dumps of the previous process",
    ];
    told.has(1, &expected);
}

/// Keeps 64 bytes of each request. There are more requests at each look at its metrics.
#[test]
fn growth_by_a_counter() {
    let looks = AtomicU32::new(0);
    let server = Fake::new(move |head, stream| {
        let page = head.starts_with("GET /metrics ");
        let requests = used(looks.fetch_add(u32::from(page), Ordering::Relaxed));
        let body = match page {
            true => format!(
                "http_requests_total{{code=\"200\"}} {requests}\nhttp_requests_total{{code=\"500\"}} 9\n"
            ),
            false => format!("main;leak {}\nmain;cache 50000\n", 64 * requests),
        };
        let _ = stream.write_all(&whole("200 OK", "", body.as_bytes()));
    });
    let url = server.url("/heap");
    let folder = tempfile::tempdir().unwrap();
    let dumps = folder.path().to_str().unwrap();
    let per = |time: &str, counter: &str, more: &[&str]| {
        let arguments = ["watch", &url, "--per", counter, "--for", time];
        plimsoll(&[&arguments, more].concat())
    };
    let times = ["3s", "15s", "60s"];
    let counter = r#"http_requests_total{code="200"}"#;
    let said = [" per http_requests_total{code=\"200\"}, linear: main;leak"];
    let told = given_time(times, 1, |time| {
        let _ = fs::remove_dir_all(dumps);
        per(time, counter, &["--out", dumps])
    });
    told.has(1, &said);
    let kept = [
        "per http_requests_total_code__200__",
        "linear      yes  main;leak",
    ];
    says(&mut plimsoll(&["compare", dumps]), 0, &kept);
    let allowed = |time: &str| per(time, counter, &["--allow", "100"]);
    given_time(times, 0, allowed).has(0, &["within"]);

    let close = "did you mean `http_requests_total`?";
    let unknown = ["/metrics: expected the counter", close];
    let no_metrics = ["Prometheus's text format", "`main;leak"];
    for (counter, more, status, expected) in [
        ("http_request_count", &[][..], 5, &unknown[..]),
        (counter, &["--metrics", &url], 5, &no_metrics),
        ("rate(up[1m])", &[], 2, &["expected a counter"]),
        (counter, &["--every", "1s"], 2, &["--every"]),
    ] {
        says(&mut per("3s", counter, more), status, expected);
    }
}

/// Ctrl-C ends it, and what was seen until then is judged.
#[test]
fn nothing_grows_until_ctrl_c() {
    let server = Fake::with("200 OK", "", "main;cache 50000\n");
    let url = server.url("/");
    let arguments = [&url, "--every", "100ms", "--fail-on", "growth > 1MiB"];
    let told = watched_until(|| server.requests().len() >= 6, &arguments);
    // What is kept nowhere has no path.
    let expected = [" from dump 1 of http://127.0.0.1", "no stack keeps growing"];
    told.has(0, &expected);

    let asked = server.requests().len();
    let watch = |condition| plimsoll(&["watch", "--for", "400ms", &url, "--fail-on", condition]);
    let why = "expected a profile with inuse_objects";
    says(&mut watch("growth > 1 object"), 2, &[why]);
    assert_eq!(server.requests().len(), asked + 1, "the first dump tells");
    says(&mut watch("growth >"), 2, &[]);
}

#[test]
fn two_dumps_are_too_few() {
    let server = counting(|dump| match dump {
        0 | 1 => whole("200 OK", "", b"main;cache 50000\n"),
        _ => busy(),
    });
    let arguments = [&server.url("/"), "--every", "100ms"];
    let told = watched_until(|| server.requests().len() >= 4, &arguments);
    told.has(3, &["too few to tell a leak"]);
    let mut short = plimsoll(&["watch", "--every", "100ms", "--for", "10ms", "localhost"]);
    says(&mut short, 2, &[]);
}
