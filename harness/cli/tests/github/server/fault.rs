//! What goes wrong between a client and GitHub, on a script.
//!
//! A [`Matcher`] says at which requests, a [`Fault`] says what. A fault happens
//! before the work, and GitHub has done nothing, or after it, and GitHub has done
//! it and the client does not know.

use super::http::{Reply, Request};

/// Which requests; of those, the first, unless said otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    /// Empty for any.
    method: &'static str,
    path: String,
    first: usize,
    times: usize,
    seen: usize,
}

impl Matcher {
    /// Requests of this method, or of any, whose path contains `path`.
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            first: 1,
            times: 1,
            seen: 0,
        }
    }

    /// From the `first` of them on, counted from one.
    pub(crate) fn nth(self, first: usize) -> Self {
        Self { first, ..self }
    }

    /// So many of them.
    pub(crate) fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// All of them.
    pub(crate) fn always(self) -> Self {
        self.times(usize::MAX)
    }

    /// Counts the request, if it is one of them.
    pub(crate) fn hits(&mut self, request: &Request) -> bool {
        let any = self.method.is_empty();
        if !(any || self.method == request.method) || !request.path.contains(&self.path) {
            return false;
        }
        self.seen += 1;
        self.seen >= self.first && self.seen - self.first < self.times
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// Whether the request is carried out all the same.
    pub(crate) works: bool,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Answer(Reply),
    /// Closes the connection without a byte.
    Drop,
    /// The whole answer's length, its first half, and the end of the connection.
    HalfBody,
    /// A blank at a time, until the client hangs up.
    Drip,
    /// No byte of an answer, until the client hangs up.
    Silence,
}

impl Fault {
    /// Instead of the request being carried out.
    pub(crate) fn before(kind: Kind) -> Self {
        Self { works: false, kind }
    }

    /// The same, once the request has been carried out.
    pub(crate) fn after_work(self) -> Self {
        Self {
            works: true,
            ..self
        }
    }

    /// Any answer.
    pub(crate) fn answer(reply: Reply) -> Self {
        Self::before(Kind::Answer(reply))
    }

    /// GitHub's own error, in JSON.
    pub(crate) fn status(status: u16) -> Self {
        Self::says(status, "Server Error")
    }

    /// The same, with that message.
    pub(crate) fn says(status: u16, message: &str) -> Self {
        Self::answer(Reply::says(status, message))
    }

    /// The page of some 20 KB that stands in front of GitHub when it is down.
    pub(crate) fn html(status: u16) -> Self {
        let body = format!(
            "<!DOCTYPE html>\n<html><body>This page is taking too long to load.\n{}</body></html>",
            "<!-- hello future GitHubber! \u{1f984} -->\n".repeat(500),
        );
        Self::answer(Reply::new(status, body.as_bytes()).with("Content-Type", "text/html"))
    }

    /// A secondary limit: 403 or 429, with `retry-after` where GitHub says how long.
    pub(crate) fn secondary_limit(status: u16, retry_after: Option<u64>) -> Self {
        let why = "You have exceeded a secondary rate limit. Please wait a few minutes.";
        let reply = Reply::says(status, why);
        Self::answer(match retry_after {
            Some(seconds) => reply.with("Retry-After", seconds.to_string()),
            None => reply,
        })
    }

    pub(crate) fn dropped() -> Self {
        Self::before(Kind::Drop)
    }

    pub(crate) fn redirect(status: u16, to: &str) -> Self {
        Self::answer(Reply::new(status, b"").with("Location", to))
    }
}

/// Is it an answer that tells a client to wait?
pub(crate) fn limits(reply: &Reply) -> bool {
    matches!(reply.status, 403 | 429) && String::from_utf8_lossy(&reply.body).contains("rate limit")
}
