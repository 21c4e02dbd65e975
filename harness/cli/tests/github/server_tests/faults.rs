//! What goes wrong when it is told to.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{COMMENTS, Client, REPO, comment, post};
use crate::server::Server;
use crate::server::fault::{Fault, Matcher, To};
use crate::server::http::Reply;

fn create() -> Matcher {
    Matcher::new("POST", "/comments")
}

/// A comment is made under a fault; the answer's status and how many there are then.
#[track_caller]
fn made(fault: Fault) -> (Option<u16>, usize) {
    let server = Server::start();
    server.fault(create(), fault);
    let headers = [
        ("Accept", "application/vnd.github+json"),
        ("User-Agent", "t"),
        ("Authorization", "Bearer ghs_token"),
    ];
    let answer = Client::of(&server).exchange("POST", COMMENTS, &headers, Some(&comment("x")));
    let status = answer.ok().map(|answer| answer.status);
    // Once, unless it is said how often.
    assert_eq!(
        post(&mut Client::of(&server), COMMENTS, &comment("y")).status,
        201
    );
    let comments = server.state().comments.len() - 1;
    assert_eq!(server.requests()[0].answered, status.unwrap_or(0));
    server.assert_clean();
    (status, comments)
}

#[test]
fn before_the_work_and_after_it() {
    assert_eq!(made(Fault::status(502)), (Some(502), 0));
    assert_eq!(made(Fault::status(502).after_work()), (Some(502), 1));
    assert_eq!(made(Fault::html(502)), (Some(502), 0));
    assert_eq!(made(Fault::html(502).after_work()), (Some(502), 1));
    assert_eq!(made(Fault::dropped()), (None, 0));
    assert_eq!(made(Fault::dropped().after_work()), (None, 1));
    assert_eq!(made(Fault::answer(Reply::empty(204))), (Some(204), 0));
    assert_eq!(made(Fault::half_json()), (Some(201), 1));
}

#[test]
fn which_requests() {
    let statuses = |at: Matcher| {
        let server = Server::start();
        server.fault(at, Fault::status(500));
        let mut client = Client::of(&server);
        let statuses = (1..=5)
            .map(|_| client.get(COMMENTS).status)
            .collect::<Vec<_>>();
        post(&mut client, COMMENTS, &comment("x"));
        statuses
    };
    let get = || Matcher::new("GET", "/issues/7/");
    assert_eq!(statuses(get()), [500, 200, 200, 200, 200]);
    assert_eq!(statuses(get().nth(3)), [200, 200, 500, 200, 200]);
    assert_eq!(statuses(get().nth(2).times(3)), [200, 500, 500, 500, 200]);
    assert_eq!(statuses(Matcher::path("/issues/7/").always()), [500; 5]);
    assert_eq!(statuses(Matcher::new("PUT", "")), [200; 5]);
    assert_eq!(statuses(Matcher::path("/issues/8/")), [200; 5]);

    // The first in the script goes first, and the second counts on meanwhile.
    let server = Server::start();
    server.fault(get(), Fault::status(500));
    server.fault(get().nth(2), Fault::status(503));
    let mut client = Client::of(&server);
    assert_eq!(
        [(); 3].map(|()| client.get(COMMENTS).status),
        [500, 503, 200]
    );
}

#[test]
fn a_page_in_place_of_json() {
    let server = Server::start();
    server.fault(Matcher::path(""), Fault::html(502));
    let answer = Client::of(&server).get(COMMENTS);
    assert_eq!(
        answer.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(answer.body.len() > 15_000, "{}", answer.body.len());
    assert!(answer.body.starts_with(b"<!DOCTYPE html>"));
}

#[test]
fn half_an_answer() {
    let server = Server::start();
    server.state().with_foreign_comments(1);
    server.fault(Matcher::path(""), Fault::half_json());
    server.fault(Matcher::path("").nth(2), Fault::half_body());
    let mut client = Client::of(&server);
    let half = client.get(COMMENTS);
    assert_eq!(half.status, 200);
    let error = serde_json::from_slice::<serde_json::Value>(&half.body).unwrap_err();
    assert!(error.is_eof(), "{error}");

    let request = format!(
        "GET {COMMENTS} HTTP/1.1\r\nUser-Agent: t\r\nAccept: application/vnd.github+json\r\n\
         Authorization: Bearer ghs_token\r\n\r\n"
    );
    let error = client.raw(request.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn slow_answers() {
    let server = Server::start();
    let wait = Duration::from_millis(150);
    server.fault(create(), Fault::delay(wait));
    server.fault(create().nth(2), Fault::delay(wait).after_work());
    let mut client = Client::of(&server);
    for count in 1..=2 {
        let before = Instant::now();
        assert_eq!(post(&mut client, COMMENTS, &comment("x")).status, 201);
        assert!(before.elapsed() >= wait);
        assert_eq!(server.state().comments.len(), count);
    }
}

#[test]
fn an_answer_that_never_ends() {
    let server = Server::start();
    server.fault(create(), Fault::drip(Duration::from_millis(5)).after_work());
    let waiting = {
        let mut client = Client::of(&server);
        let body = comment("x").to_string();
        let request = format!(
            "POST {COMMENTS} HTTP/1.1\r\nUser-Agent: t\r\nAccept: application/vnd.github+json\r\n\
             Authorization: Bearer ghs_token\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        std::thread::spawn(move || {
            let before = Instant::now();
            let error = client.raw(request.as_bytes()).unwrap_err();
            (error, before.elapsed())
        })
    };
    let wait = Duration::from_millis(300);
    std::thread::sleep(wait);
    assert_eq!(server.state().comments.len(), 1);
    assert!(!waiting.is_finished(), "it should drip on");
    server.assert_clean();
    // And yet the server stops when it is told to.
    drop(server);
    let (_, took) = waiting.join().unwrap();
    assert!(took >= wait - Duration::from_millis(50), "{took:?}");
}

#[test]
fn redirections() {
    let (server, other) = (Server::at("/api/v3"), Server::start());
    let path = format!("/api/v3{COMMENTS}");
    let mut client = Client::of(&server);
    let mut to = |status: u16, to: To| {
        server.fault(Matcher::path(""), Fault::redirect(status, to));
        let answer = client.get(&format!("{path}?page=1"));
        assert_eq!(answer.status, status);
        answer.header("location").unwrap().to_owned()
    };
    let base = server.url();
    assert_eq!(
        to(301, To::Id),
        format!("{base}/repositories/123456/issues/7/comments?page=1")
    );
    assert_eq!(
        to(307, To::Path("/x".to_owned())),
        format!("http://{}/x", server.address())
    );
    assert_eq!(to(308, To::Url(other.url())), other.url());
}

#[test]
fn limits_that_say_to_wait() {
    let server = Server::start();
    let get = || Matcher::new("GET", "");
    server.fault(get(), Fault::secondary_limit(403, Some(7)));
    server.fault(get().nth(2), Fault::secondary_limit(429, None));
    server.fault(get().nth(3), Fault::primary_limit(403, 1_900_000_000));
    server.fault(get().nth(4), Fault::status(403));
    let mut client = Client::of(&server);
    let [first, second, third, fourth] = [(); 4].map(|()| client.get(COMMENTS));
    assert_eq!(
        (first.status, first.header("retry-after")),
        (403, Some("7"))
    );
    assert_eq!((second.status, second.header("retry-after")), (429, None));
    assert!(second.said().contains("secondary rate limit"));
    assert_eq!(third.header("x-ratelimit-remaining"), Some("0"));
    assert_eq!(third.header("x-ratelimit-reset"), Some("1900000000"));
    assert_eq!(fourth.status, 403);
    let limited: Vec<_> = server
        .requests()
        .iter()
        .map(|one| one.limited.is_some())
        .collect();
    assert_eq!(limited, [true, true, true, false]);
}

#[test]
fn waiting_is_measured() {
    let server = Server::start();
    server.fault(
        Matcher::path("/pulls"),
        Fault::secondary_limit(403, Some(1)),
    );
    let mut client = Client::of(&server);
    client.get(REPO);
    client.get(&format!("{REPO}/pulls"));
    server.assert_waited(Duration::from_secs(60));
    std::thread::sleep(Duration::from_millis(60));
    client.get(REPO);
    server.assert_waited(Duration::from_millis(60));
    let early = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        server.assert_waited(Duration::from_secs(60));
    }));
    assert!(early.is_err(), "a request came too early and was not seen");
    let quiet = std::panic::catch_unwind(|| Server::start().assert_waited(Duration::ZERO));
    assert!(quiet.is_err(), "no limit, and nothing to wait for");
}

#[test]
fn storage_fails_too() {
    let server = Server::start();
    let run = server.state().add_run(7);
    let id = server.state().add_artifact(run, "a", b"zip".to_vec());
    server.fault(Matcher::path("/storage/"), Fault::status(503));
    let location = {
        let answer = Client::of(&server).get(&format!("{REPO}/actions/artifacts/{id}/zip"));
        answer
            .header("location")
            .unwrap()
            .trim_start_matches("http://")
            .to_owned()
    };
    let (host, target) = location.split_at(location.find('/').unwrap());
    let mut storage = Client::to(host.parse().unwrap());
    let mut get = || storage.exchange("GET", target, &[], None).unwrap();
    assert_eq!(get().status, 503);
    assert_eq!(get().body, b"zip");
    assert_eq!(server.storage_requests()[0].body, json!(null));
    server.assert_clean();
}
