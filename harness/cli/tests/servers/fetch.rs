//! One profile from a server.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::fake::{Fake, whole};
use crate::real::{Mode, Server};
use crate::{plimsoll, said};

/// A profile, as folded stacks.
const PROFILE: &str = "main;leak 4096\n";

#[track_caller]
fn shows(arguments: &[&str]) {
    let (text, status) = said(&mut plimsoll(&[&["show"], arguments].concat()));
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("leak"), "{text}");
}

/// That it fails, and that its message has all of these in it.
#[track_caller]
fn fails(arguments: &[&str], expected: &[&str]) {
    let (text, status) = said(&mut plimsoll(&[&["show"], arguments].concat()));
    assert_eq!(status, 5, "{text}");
    for part in expected {
        assert!(text.contains(part), "expected {part:?} in: {text}");
    }
}

#[test]
fn each_server_in_its_way() {
    let server = Server::start(Mode::Leaking);
    for from in ["databend", "greptimedb", "starrocks", "tikv", "materialize"] {
        shows(&["--from", from, &server.address]);
    }
    shows(&[&format!("http://{}/debug/pprof/heap", server.address)]);
}

#[test]
fn an_older_greptimedb() {
    let server = Fake::new(|head, stream| {
        let answer = match head.starts_with("GET /v1/prof/mem ") {
            true => whole("200 OK", "", PROFILE.as_bytes()),
            false => whole("404 Not Found", "", b""),
        };
        let _ = stream.write_all(&answer);
    });
    shows(&["--from", "greptimedb", &server.address]);
}

#[test]
fn a_server_that_does_not_profile() {
    let server = Server::start(Mode::Off);
    let off = |from: &str, expected: &[&str]| fails(&["--from", from, &server.address], expected);
    off("databend", &["500", "MALLOC_CONF=prof:true"]);
    off(
        "greptimedb",
        &[
            "Memory profiling is not enabled",
            "/debug/prof/mem/activate",
        ],
    );
    off("starrocks", &["found nothing", "JEMALLOC_CONF"]);
    off("tikv", &["memory.enable-heap-profiling = true"]);
    off("materialize", &["403 Forbidden", "action=activate"]);
}

#[test]
fn a_server_without_the_feature() {
    let server = Fake::with(
        "501 Not Implemented",
        "",
        "The 'mem-prof' feature is disabled",
    );
    fails(
        &["--from", "greptimedb", &server.address],
        &[
            "501 Not Implemented",
            "The 'mem-prof' feature is disabled",
            "official images",
        ],
    );
    let server = Fake::with("404 Not Found", "", "");
    fails(
        &["--from", "databend", &server.address],
        &["404 Not Found", "memory-profiling"],
    );
}

#[test]
fn a_page_is_no_profile() {
    let server = Fake::with(
        "200 OK",
        "",
        "<!DOCTYPE html>\n<title>Sign in\u{1b}[2J</title>",
    );
    fails(
        &[&server.url("/")],
        &["found `<!DOCTYPE html>`", "prof:true"],
    );
    let server = Fake::with("400 Bad Request", "", "\n  no\u{1b}[2J such thing\nmore");
    fails(
        &[&server.url("/")],
        &["found 400 Bad Request: `no such thing`"],
    );
}

#[test]
fn nobody_there() {
    // A port that was free a moment ago.
    let address = Fake::with("200 OK", "", "").address;
    let (host, _) = address.split_once(':').unwrap();
    fails(
        &["--from", "tikv", &format!("{host}:1")],
        &["cannot be reached", "server.status-addr"],
    );
}

#[test]
fn plain_where_tls_was_expected() {
    let server = Fake::with("200 OK", "", PROFILE);
    let address = format!("https://{}/", server.address);
    let (text, status) = said(&mut plimsoll(&["show", &address]));
    assert_eq!(status, 5, "{text}");
    // On a machine without certificates, that comes first.
    assert!(
        text.contains("found an answer without it") || text.contains("no certificates"),
        "{text}"
    );
}

#[test]
fn redirects_are_followed() {
    let server = Fake::new(|head, stream| {
        let answer = match head.starts_with("GET /there ") {
            true => whole("200 OK", "", PROFILE.as_bytes()),
            false => whole("302 Found", "location: /there\r\n", b""),
        };
        let _ = stream.write_all(&answer);
    });
    shows(&[&server.url("/here")]);
}

#[test]
fn redirects_come_to_an_end() {
    let server = Fake::with("302 Found", "location: /again?token=secret\r\n", "");
    let url = server.url("/");
    fails(&[&url], &["at most 5 redirects", "/again?token=…"]);
    assert_eq!(server.requests().len(), 6);

    let server = Fake::with("302 Found", "location: file:///etc/passwd\r\n", "");
    fails(&[&server.url("/")], &["redirected to file:///etc/passwd"]);
    let server = Fake::with("302 Found", "", "");
    fails(&[&server.url("/")], &["expected an address in `Location`"]);
}

#[test]
fn credentials_stay_with_their_host() {
    let other = Fake::with("200 OK", "", PROFILE);
    let to = format!("location: {}\r\n", other.url("/"));
    let server = Fake::with("307 Temporary Redirect", &to, "");
    let (text, status) =
        said(plimsoll(&["show", &server.url("/")]).env("PLIMSOLL_HTTP_TOKEN", "t0ken"));
    assert_eq!(status, 0, "{text}");
    assert!(server.requests()[0].contains("authorization: Bearer t0ken\r\n"));
    assert!(!other.requests()[0].contains("authorization"));
}

#[cfg(unix)]
#[test]
fn a_credential_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;

    let server = Fake::with("200 OK", "", PROFILE);
    let token = std::ffi::OsStr::from_bytes(b"t0k\xffen");
    let (text, status) =
        said(plimsoll(&["show", &server.url("/")]).env("PLIMSOLL_HTTP_TOKEN", token));
    assert_eq!(status, 2, "{text}");
    assert!(
        text.contains("PLIMSOLL_HTTP_TOKEN: expected text"),
        "{text}"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn a_password_is_never_shown() {
    // It says everything that it was told.
    let server = Fake::new(|head, stream| {
        let answer = whole("401 Unauthorized", "", head.replace("\r\n", " ").as_bytes());
        let _ = stream.write_all(&answer);
    });
    let with_password = format!("http://user:s3cret@{}/?key=s3cret", server.address);
    let netrc = tempfile::NamedTempFile::new().unwrap();
    fs::write(netrc.path(), "machine 127.0.0.1 login user password s3cret").unwrap();
    let encoded = "dXNlcjpzM2NyZXQ=";
    let mut commands = [
        plimsoll(&["show", &with_password]),
        plimsoll(&["show", "--from", "tikv", &with_password]),
        plimsoll(&["watch", &with_password]),
        plimsoll(&["compare", &with_password, &with_password]),
        plimsoll(&["show", "http://user:s3cret@[1"]),
        plimsoll(&["show", &server.url("/")]),
        plimsoll(&["show", &server.url("/")]),
        plimsoll(&["show", &server.url("/")]),
    ];
    commands[5].env("PLIMSOLL_HTTP_TOKEN", "s3cret");
    commands[6]
        .env("PLIMSOLL_HTTP_USER", "user")
        .env("PLIMSOLL_HTTP_PASSWORD", "s3cret");
    commands[7].env("NETRC", netrc.path());
    for command in &mut commands {
        let (text, status) = said(command);
        assert_ne!(status, 0, "{text}");
        assert!(
            !text.contains("s3cret") && !text.contains(encoded),
            "{text}"
        );
    }
    let requests = server.requests();
    let basic = format!("authorization: Basic {encoded}\r\n");
    assert_eq!(
        requests.iter().filter(|head| head.contains(&basic)).count(),
        6
    );
    assert!(
        requests
            .iter()
            .any(|head| head.contains("authorization: Bearer s3cret\r\n"))
    );
}

#[test]
fn netrc() {
    let server = Fake::with("200 OK", "", PROFILE);
    let netrc = tempfile::NamedTempFile::new().unwrap();
    fs::write(netrc.path(), "default login a password b").unwrap();
    let mut show = plimsoll(&["show", &server.url("/")]);
    show.env("NETRC", netrc.path());
    let (text, status) = said(&mut show);
    assert_eq!(status, 0, "{text}");
    assert!(server.requests()[0].contains("authorization: Basic YTpi\r\n"));

    fs::set_permissions(netrc.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let (text, status) = said(&mut show);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("chmod 600"), "{text}");

    let (text, status) = said(show.env("NETRC", "/nonexistent/netrc"));
    assert_eq!(status, 5, "{text}");
    assert!(text.contains("/nonexistent/netrc"), "{text}");
}

#[test]
fn a_slow_server() {
    let server = Fake::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nheap_v2/1\n");
        // As long as the other side listens.
        while stream.write_all(b"  t*: 1: 1 [0: 0]\n").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let start = Instant::now();
    fails(
        &["--timeout", "1s", &server.url("/")],
        &["within 1 s", "--timeout"],
    );
    assert!(start.elapsed() < Duration::from_secs(30));

    let server = Fake::new(|_, _| thread::sleep(Duration::from_secs(3)));
    fails(&["--timeout", "500ms", &server.url("/")], &["within 0.5 s"]);
}

#[test]
fn an_endless_body() {
    let server = Fake::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream
            .write_all(&PROFILE.repeat(1_000).into_bytes())
            .is_ok()
        {}
    });
    fails(
        &["--max-size", "1MB", &server.url("/")],
        &["at most 1000000 bytes"],
    );
    let server = Fake::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9000000000\r\n\r\n");
    });
    fails(
        &[&server.url("/")],
        &["found one of 9000000000", "--max-size"],
    );
}

#[test]
fn what_is_compressed() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(PROFILE.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let server = Fake::with("200 OK", "content-encoding: gzip\r\n", packed.clone());
    shows(&[&server.url("/")]);

    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&PROFILE.repeat(1_000_000).into_bytes())
        .unwrap();
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1_000_000);
    let server = Fake::with("200 OK", "", bomb);
    fails(
        &["--max-size", "1MB", &server.url("/")],
        &["at most 1000000 bytes"],
    );

    let server = Fake::with("200 OK", "", &packed[..packed.len() / 2]);
    fails(&[&server.url("/")], &["gzip"]);
}

#[test]
fn a_body_that_breaks_off() {
    let server = Fake::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nmain;leak 1\n");
    });
    fails(&[&server.url("/")], &["broke off after 12 bytes"]);
}

#[test]
fn compares_a_file_with_a_server() {
    let server = Fake::with("200 OK", "", PROFILE);
    let before = tempfile::NamedTempFile::new().unwrap();
    fs::write(before.path(), "main;leak 96\n").unwrap();
    let before = before.path().to_str().unwrap();
    for after in [
        vec![server.url("/")],
        vec![
            "--from".to_owned(),
            "tikv".to_owned(),
            server.address.clone(),
        ],
    ] {
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        let (text, status) = said(&mut plimsoll(&[&["compare", before], &after[..]].concat()));
        assert_eq!(status, 0, "{text}");
        assert!(text.contains("+3.91 KiB"), "{text}");
    }
}

#[test]
fn the_newest_of_risingwave() {
    let folder = tempfile::tempdir().unwrap();
    let show = |folder: &str| said(&mut plimsoll(&["show", "--from", "risingwave", folder]));
    let (text, status) = show(folder.path().to_str().unwrap());
    assert_eq!(status, 5, "{text}");
    assert!(text.contains("server.heap_profiling.dir"), "{text}");
    for (name, seconds) in [("2025-01-01-00-00-00.auto.heap", 2), ("old.manual.heap", 1)] {
        let path = folder.path().join(name);
        fs::write(&path, PROFILE).unwrap();
        let written = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(written).unwrap();
    }
    let (text, status) = show(folder.path().to_str().unwrap());
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("2025-01-01-00-00-00.auto.heap"), "{text}");
}
