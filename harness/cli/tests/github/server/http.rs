//! HTTP/1.1 as the bot speaks it: requests with a length in, answers out.
//!
//! Connections are kept until one side closes. A malformed request ends its connection.

use std::io::{self, BufRead, ErrorKind, Write};
use std::time::Instant;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// As sent: path and query, not decoded.
    pub(crate) target: String,
    /// Not decoded, without the query.
    pub(crate) path: String,
    /// Decoded, in the order sent.
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case, in the order sent.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// When the last byte had arrived.
    pub(crate) at: Instant,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        first(&self.headers, name)
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        first(&self.query, name)
    }

    /// `null` where there is none or it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// `POST /repos/octo/demo/check-runs`, for a test to compare a whole log.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

fn first<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut found = pairs.iter().filter(|(key, _)| key == name);
    found.next().map(|(_, value)| value.as_str())
}

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: &[u8]) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.to_vec(),
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let reply = Self::new(status, body.to_string().as_bytes());
        reply.with("Content-Type", "application/json; charset=utf-8")
    }

    /// GitHub's own error.
    pub(crate) fn says(status: u16, message: &str) -> Self {
        Self::json(status, &json!({ "message": message }))
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// In one piece: a client that reads the head finds the rest there. A body that is `cut`
    /// has its whole length in the head.
    pub(crate) fn write(&self, mut to: impl Write, cut: bool) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Status\r\n", self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if self.status != 204 {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        let mut bytes = (head + "\r\n").into_bytes();
        let length = self.body.len() / if cut { 2 } else { 1 };
        bytes.extend(&self.body[..length]);
        to.write_all(&bytes)
    }
}

/// The next request, or `None` where the other side has closed.
pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let bad = || io::Error::from(ErrorKind::InvalidData);
    let words: Vec<&str> = head.first().ok_or_else(bad)?.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else {
        return Err(bad());
    };
    let headers = head[1..].iter().filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let headers: Vec<_> = headers.collect();
    let length = first(&headers, "content-length").unwrap_or("0");
    let mut body = vec![0; length.parse().map_err(|_| bad())?];
    from.read_exact(&mut body)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let query = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    Ok(Some(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query
            .map(|(name, value)| (decode(name), decode(value)))
            .collect(),
        target: target.to_owned(),
        headers,
        body,
        at: Instant::now(),
    }))
}

pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
