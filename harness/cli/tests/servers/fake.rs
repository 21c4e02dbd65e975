//! Servers that answer with what a test says, byte for byte.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub(crate) struct Fake {
    /// `127.0.0.1:40000`
    pub(crate) address: String,
    scheme: &'static str,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// Hands each request's head to `answer`, which writes what it likes.
    pub(crate) fn new(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> Fake {
        Fake::start("http", |stream| stream, answer)
    }

    /// Starts a server that answers everybody in the same way, over TLS.
    pub(crate) fn with_tls(config: ServerConfig, answer: Vec<u8>) -> Fake {
        let config = Arc::new(config);
        let accept = move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            StreamOwned::new(connection, stream)
        };
        Fake::start("https", accept, move |_, stream| {
            let _ = stream.write_all(&answer);
            // Without it, what was sent might have been cut by somebody.
            stream.conn.send_close_notify();
            let _ = stream.flush();
        })
    }

    fn start<S: Read>(
        scheme: &'static str,
        accept: impl Fn(TcpStream) -> S + Send + 'static,
        answer: impl Fn(&str, &mut S) + Send + 'static,
    ) -> Fake {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        // Ends with the tests.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = accept(stream.unwrap());
                let head = head(&mut stream);
                seen.lock().unwrap().push(head.clone());
                answer(&head, &mut stream);
            }
        });
        Fake {
            address,
            scheme,
            requests,
        }
    }

    /// One that has the same for everybody.
    pub(crate) fn with(status: &str, headers: &str, body: impl Into<Vec<u8>>) -> Fake {
        let answer = whole(status, headers, &body.into());
        Fake::new(move |_, stream| {
            let _ = stream.write_all(&answer);
        })
    }

    /// The heads of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }
}

/// `status` is `200 OK`; headers end in `\r\n`.
pub(crate) fn whole(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Up to the empty line; of TLS, its first byte.
fn head(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    let ends = |head: &[u8]| head.ends_with(b"\r\n\r\n") || head == [0x16];
    while !ends(&head) && stream.read(&mut byte).is_ok_and(|read| read > 0) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}
