//! One profile from a server.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::fake::{Fake, whole};
use crate::{file, plimsoll, said, says};

/// A profile, as folded stacks.
const PROFILE: &str = "main;leak 4096\n";

/// That it fails, and that its message has all of these in it.
#[track_caller]
fn fails(arguments: &[&str], expected: &[&str]) {
    let show = [&["show"], arguments].concat();
    says(&mut plimsoll(&show), 5, expected);
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn what_is_no_profile() {
    for row in [
        "200 OK | <!DOCTYPE html>\n<title>In\x1b[2J</title> | found `<!DOCTYPE html>` | prof:true",
        "200 OK | <?xml version=\"1.0\"?>\n<svg></svg> | found a picture | `jeprof=true`",
        "400 Bad Request | \n  no\x1b[2J such thing\nmore | found 400 Bad Request: `no such thing`",
        "302 Found\r\nlocation: file:///etc/passwd |  | redirected to file:///etc/passwd",
        "302 Found |  | expected an address in `Location`",
        "200 OK\r\ncontent-length: 9000000000 |  | found one of 9000000000 | the limit is  | \
         --max-size sets another",
        "200 OK\r\ncontent-length: 1000 | main;leak 1\n | broke off after 12 bytes",
    ] {
        let cells: Vec<&str> = row.split(" | ").collect();
        let answer = format!("HTTP/1.1 {}\r\n\r\n{}", cells[0], cells[1]);
        let server = Fake::new(move |_, stream| {
            let _ = stream.write_all(answer.as_bytes());
        });
        fails(&[&server.url("/")], &cells[2..]);
    }
    let packed = gzip(PROFILE);
    let server = Fake::with("200 OK", "", &packed[..packed.len() / 2]);
    let why = "gzip, found what cannot be unpacked";
    fails(&[&server.url("/")], &[why]);
}

#[test]
fn nobody_there() {
    let from = ["--from", "tikv", "127.0.0.1:1"];
    fails(&from, &["cannot be reached", "server.status-addr"]);
}

#[test]
fn plain_where_tls_was_expected() {
    let server = Fake::with("200 OK", "", PROFILE);
    let address = format!("https://{}/", server.address);
    let text = says(&mut plimsoll(&["show", &address]), 5, &[]).stderr;
    // On a machine without certificates, that comes first.
    let why = ["found an answer without it", "no certificates"];
    assert!(why.iter().any(|why| text.contains(why)), "{text}");
}

#[test]
fn redirects_come_to_an_end() {
    let server = Fake::with("302 Found", "location: /again?token=secret\r\n", "");
    let url = server.url("/");
    fails(&[&url], &["at most 5 redirects", "/again?token=…"]);
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn credentials_stay_with_their_host() {
    let other = Fake::with("200 OK", "", PROFILE);
    let to = format!("location: {}\r\n", other.url("/"));
    let server = Fake::with("307 Temporary Redirect", &to, "");
    let mut show = plimsoll(&["show", &server.url("/")]);
    says(show.env("PLIMSOLL_HTTP_TOKEN", "t0ken"), 0, &[]);
    assert!(server.requests()[0].contains("authorization: Bearer t0ken\r\n"));
    assert!(!other.requests()[0].contains("authorization"));
    // A token that is no text is not sent at all.
    show.env("PLIMSOLL_HTTP_TOKEN", OsStr::from_bytes(b"t0k\xffen"));
    says(&mut show, 2, &["PLIMSOLL_HTTP_TOKEN: expected text"]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_password_is_never_shown() {
    // It says everything that it was told.
    let server = Fake::new(|head, stream| {
        let answer = whole("401 Unauthorized", "", head.replace("\r\n", " ").as_bytes());
        let _ = stream.write_all(&answer);
    });
    let with_password = format!("http://user:s3cret@{}/?key=s3cret", server.address);
    let folder = tempfile::tempdir().unwrap();
    let entry = "machine 127.0.0.1 login user password s3cret";
    let netrc = file(&folder, "netrc", entry);
    let encoded = "dXNlcjpzM2NyZXQ=";
    let url = server.url("/");
    let user = ("PLIMSOLL_HTTP_USER", "user");
    let password = ("PLIMSOLL_HTTP_PASSWORD", "s3cret");
    for (arguments, env) in [
        (&["show", &with_password][..], &[][..]),
        (&["show", "--from", "tikv", &with_password], &[]),
        (&["watch", &with_password], &[]),
        (&["compare", &with_password, &with_password], &[]),
        (&["show", "http://user:s3cret@[1"], &[]),
        (&["show", &url], &[("PLIMSOLL_HTTP_TOKEN", "s3cret")]),
        (&["show", &url], &[user, password]),
        (&["show", &url], &[("NETRC", &netrc)]),
    ] {
        let said = said(plimsoll(arguments).envs(env.iter().copied()));
        assert_ne!(said.status, Some(0), "{said}");
        said.lacks(&["s3cret", encoded]);
    }
    let requests = server.requests().concat();
    let basic = format!("authorization: Basic {encoded}\r\n");
    assert_eq!(requests.matches(&basic).count(), 6);
    assert!(requests.contains("authorization: Bearer s3cret\r\n"));
}

#[test]
fn netrc() {
    let server = Fake::with("200 OK", "", PROFILE);
    let folder = tempfile::tempdir().unwrap();
    let netrc = file(&folder, "netrc", "default login a password b");
    let mut show = plimsoll(&["show", &server.url("/")]);
    says(show.env("NETRC", &netrc), 0, &[]);
    assert!(server.requests()[0].contains("authorization: Basic YTpi\r\n"));

    fs::set_permissions(&netrc, fs::Permissions::from_mode(0o644)).unwrap();
    says(&mut show, 2, &["chmod 600"]);
    let gone = "/nonexistent/netrc";
    says(show.env("NETRC", gone), 5, &[gone]);
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
    let (start, url) = (Instant::now(), server.url("/"));
    fails(&["--timeout", "1s", &url], &["within 1 s", "--timeout"]);
    assert!(start.elapsed() < Duration::from_secs(30));

    let server = Fake::new(|_, _| thread::sleep(Duration::from_secs(3)));
    fails(&["--timeout", "500ms", &server.url("/")], &["within 0.5 s"]);
}

#[test]
fn an_endless_body() {
    let server = Fake::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let part = PROFILE.repeat(1_000);
        while stream.write_all(part.as_bytes()).is_ok() {}
    });
    let most = ["--max-size", "1MB", &server.url("/")];
    fails(&most, &["at most 1000000 bytes"]);
    // Compressed, it may end.
    let server = Fake::with("200 OK", "", gzip(&PROFILE.repeat(100_000)));
    let most = ["--max-size", "1MB", &server.url("/")];
    fails(&most, &["at most 1000000 bytes"]);
}

#[test]
fn compares_a_file_with_a_server() {
    let server = Fake::with("200 OK", "content-encoding: gzip\r\n", gzip(PROFILE));
    let folder = tempfile::tempdir().unwrap();
    let before = file(&folder, "before", "main;leak 96\n");
    let url = server.url("/");
    for after in [&[url.as_str()][..], &["--from", "tikv", &server.address]] {
        let compare = [&["compare", &before], after].concat();
        says(&mut plimsoll(&compare), 0, &["+3.91 KiB"]);
    }
}

#[test]
fn the_newest_of_risingwave() {
    let folder = tempfile::tempdir().unwrap();
    let mut show = plimsoll(&["show", "--from", "risingwave"]);
    show.arg(folder.path());
    says(&mut show, 5, &["server.heap_profiling.dir"]);
    let newest = "2025-01-01-00-00-00.auto.heap";
    for (name, seconds) in [(newest, 2), ("old.manual.heap", 1)] {
        let path = file(&folder, name, PROFILE);
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(written).unwrap();
    }
    says(&mut show, 0, &[newest]);
}
