//! A client that does what a test says and nothing else: no retry, no redirection.

use std::io::{self, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::server::Server;
use crate::server::http::{bytes, chunks, first, headers, line};

/// One connection, kept.
pub(super) struct Client {
    reader: BufReader<TcpStream>,
    host: SocketAddr,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        first(&self.headers, name)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// `422 Validation Failed: Body cannot be blank`.
    pub(super) fn said(&self) -> String {
        let body = self.json();
        let message = body["message"].as_str().expect("a message");
        let more = body["errors"][0]["message"].as_str();
        let more = more.map_or(String::new(), |more| format!(": {more}"));
        format!("{} {message}{more}", self.status)
    }

    /// The address of a relation in `Link`.
    pub(super) fn link(&self, relation: &str) -> Option<String> {
        let links = self.header("link")?.split(", ");
        let marked = format!(">; rel=\"{relation}\"");
        let mut found = links.filter_map(|link| link.strip_suffix(&marked)?.strip_prefix('<'));
        found.next().map(str::to_owned)
    }
}

impl Client {
    pub(super) fn of(server: &Server) -> Self {
        Self::to(server.address())
    }

    pub(super) fn to(host: SocketAddr) -> Self {
        let stream = TcpStream::connect(host).expect("the server to listen");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a socket's option");
        let reader = BufReader::new(stream);
        Self { reader, host }
    }

    pub(super) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    /// As the bot sends it.
    pub(super) fn send(&mut self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let headers = [
            ("Accept", "application/vnd.github+json"),
            ("User-Agent", "tests"),
            ("Authorization", "Bearer ghs_token"),
        ];
        self.exchange(method, path, &headers, body)
            .expect("an answer")
    }

    pub(super) fn exchange(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> io::Result<Answer> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host);
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = body {
            let body = body.to_string();
            text += &format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            );
            text += &format!("\r\n{body}");
        } else {
            text += "\r\n";
        }
        self.raw(text.as_bytes())
    }

    /// Bytes as they are.
    pub(super) fn raw(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.reader.get_mut().write_all(request)?;
        self.answer()
    }

    pub(super) fn answer(&mut self) -> io::Result<Answer> {
        let start = line(&mut self.reader)?.ok_or(ErrorKind::UnexpectedEof)?;
        let status = start
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or(ErrorKind::InvalidData)?;
        let headers = headers(&mut self.reader)?;
        let length = first(&headers, "content-length").map(str::parse);
        let body = match length {
            Some(length) => bytes(&mut self.reader, length.map_err(io::Error::other)?)?,
            None if status == 204 => Vec::new(),
            None => chunks(&mut self.reader)?,
        };
        Ok(Answer {
            status,
            headers,
            body,
        })
    }
}
