//! HTTP/1.1 as far as a REST client speaks it: requests in, answers out.
//!
//! Bodies come with a length or in chunks; connections are kept until one side
//! asks to close. What is malformed is an error and ends the connection.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::time::Instant;

use serde_json::Value;

/// More than any body that the bot may send; a client that sends more is broken.
const BODY: usize = 64 << 20;

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

    pub(crate) fn closes(&self) -> bool {
        self.header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// The value under `name`, of the first that has it.
pub(crate) fn first<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self {
            body: body.to_string().into_bytes(),
            ..Self::empty(status)
        }
        .with("Content-Type", "application/json; charset=utf-8")
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// The next request, or `None` where the other side has closed.
pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Request>> {
    let Some(start) = line(from)? else {
        return Ok(None);
    };
    let mut words = start.split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad(format!(
            "expected METHOD TARGET HTTP/1.1, found {start:?}"
        )));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (method, target, path) = (method.to_owned(), target.to_owned(), path.to_owned());
    let query = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| {
            (
                decode(&name.replace('+', " ")),
                decode(&value.replace('+', " ")),
            )
        })
        .collect();

    let headers = headers(from)?;
    let body = match (
        first(&headers, "transfer-encoding"),
        first(&headers, "content-length"),
    ) {
        (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => chunks(from)?,
        (None, Some(length)) => {
            let length = length
                .parse()
                .map_err(|_| bad(format!("a length of {length:?}")))?;
            bytes(from, length)?
        }
        (None, None) => Vec::new(),
        (coding, length) => {
            return Err(bad(format!(
                "Transfer-Encoding {coding:?} with Content-Length {length:?}"
            )));
        }
    };
    Ok(Some(Request {
        method,
        target,
        path,
        query,
        headers,
        body,
        at: Instant::now(),
    }))
}

/// The whole answer. `HEAD` is nothing the bot sends.
pub(crate) fn write(to: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut bytes = head(reply).into_bytes();
    if reply.status != 204 {
        bytes.extend(format!("Content-Length: {}\r\n", reply.body.len()).bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(&reply.body);
    // In one piece: a client that reads the head alone shall find the rest there.
    to.write_all(&bytes)?;
    to.flush()
}

/// Status line and headers, without the empty line that ends them.
pub(crate) fn head(reply: &Reply) -> String {
    let reason = match reply.status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        302 => "Found",
        403 => "Forbidden",
        404 => "Not Found",
        422 => "Unprocessable Entity",
        502 => "Bad Gateway",
        _ => "Status",
    };
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", reply.status);
    for (name, value) in &reply.headers {
        text += &format!("{name}: {value}\r\n");
    }
    text
}

/// Percent-decoded; what is no escape stays as it is.
pub(crate) fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|two| std::str::from_utf8(two).ok())
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Percent-encoded, for a query in a `Link`.
pub(crate) fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| match byte {
            byte if plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// Headers, to the empty line.
pub(crate) fn headers(from: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = line(from)?.ok_or_else(|| bad("an end in the headers"))?;
        if line.is_empty() {
            return Ok(headers);
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| bad(format!("expected NAME: VALUE, found {line:?}")))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// A body in chunks, to its trailer's end.
pub(crate) fn chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = line(from)?.ok_or_else(|| bad("an end before a chunk"))?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16)
            .map_err(|_| bad(format!("expected the size of a chunk, found {line:?}")))?;
        if size == 0 {
            headers(from)?;
            return Ok(body);
        }
        body.extend(bytes(from, size)?);
        if body.len() > BODY || !bytes(from, 2)?.eq(b"\r\n") {
            return Err(bad("a chunk that does not end where it says"));
        }
    }
}

/// Exactly `length` bytes.
pub(crate) fn bytes(from: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > BODY {
        return Err(bad(format!("a body of {length} bytes")));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(body)
}

/// Without its line end; `None` where there is nothing more.
pub(crate) fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if from.take(1 << 16).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(Some(line.to_owned())),
        None => Err(bad(format!("a line without its end: {line:?}"))),
    }
}

fn bad(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}
