//! What goes wrong between a client and GitHub, on a script.
//!
//! A [`Matcher`] says at which requests, a [`Fault`] says what. A fault happens
//! before the work, and GitHub has done nothing, or after it, and GitHub has done
//! it and the client does not know.

use std::time::Duration;

use serde_json::json;

use super::http::{Reply, Request};

/// Which requests; of those, the first, unless said otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    method: Option<String>,
    path: String,
    first: usize,
    times: usize,
    seen: usize,
}

impl Matcher {
    /// Requests of this method whose path contains `path`.
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            method: Some(method.to_owned()),
            path: path.to_owned(),
            first: 1,
            times: 1,
            seen: 0,
        }
    }

    /// Whatever the method.
    pub(crate) fn path(path: &str) -> Self {
        Self {
            method: None,
            ..Self::new("", path)
        }
    }

    /// From the `first` of them on, counted from one.
    pub(crate) fn nth(mut self, first: usize) -> Self {
        self.first = first;
        self
    }

    /// So many of them.
    pub(crate) fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// All of them.
    pub(crate) fn always(self) -> Self {
        self.times(usize::MAX)
    }

    /// Counts the request, if it is one of them.
    pub(crate) fn hits(&mut self, request: &Request) -> bool {
        let method = self.method.as_ref();
        if method.is_some_and(|method| *method != request.method)
            || !request.path.contains(&self.path)
        {
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
    /// The answer's JSON to its half, as if it were all.
    HalfJson,
    /// The whole answer's length, its first half, and the end of the connection.
    HalfBody,
    /// A byte at a time, for ever.
    Drip(Duration),
    /// First the work and then the wait, where `works`; else the other way round.
    Delay(Duration),
    Redirect(u16, To),
}

/// Where a redirection leads.
#[derive(Clone, Debug)]
pub(crate) enum To {
    /// The same under `/repositories/{id}`, as GitHub does for a renamed repository.
    Id,
    /// A path on the same host, from its root.
    Path(String),
    /// Another host's address.
    Url(String),
}

impl Fault {
    fn before(kind: Kind) -> Self {
        Self { works: false, kind }
    }

    /// The same, once the request has been carried out.
    pub(crate) fn after_work(mut self) -> Self {
        self.works = true;
        self
    }

    /// GitHub's own error, in JSON.
    pub(crate) fn status(status: u16) -> Self {
        let body = json!({"message": "Server Error", "status": status.to_string()});
        Self::answer(Reply::json(status, &body))
    }

    /// Any answer.
    pub(crate) fn answer(reply: Reply) -> Self {
        Self::before(Kind::Answer(reply))
    }

    /// The page of some 20 KB that stands in front of GitHub when it is down.
    pub(crate) fn html(status: u16) -> Self {
        let body = format!(
            "<!DOCTYPE html>\n<html><head><title>Unicorn! &middot; GitHub</title></head><body>\n\
             <p><strong>This page is taking too long to load.</strong></p>\n{}</body></html>\n",
            "<!-- hello future GitHubber! \u{1f984} -->\n".repeat(500),
        );
        let reply = Reply {
            body: body.into_bytes(),
            ..Reply::empty(status).with("Content-Type", "text/html; charset=utf-8")
        };
        Self::answer(reply)
    }

    /// A secondary limit: 403 or 429, with `retry-after` where GitHub says how long.
    pub(crate) fn secondary_limit(status: u16, retry_after: Option<u64>) -> Self {
        let body = json!({
            "documentation_url": "https://docs.github.com/free-pro-team@latest/rest/overview/\
                                  rate-limits-for-the-rest-api#about-secondary-rate-limits",
            "message": "You have exceeded a secondary rate limit. Please wait a few minutes \
                        before you try again.",
            "status": status.to_string(),
        });
        let mut reply = Reply::json(status, &body);
        if let Some(seconds) = retry_after {
            reply = reply.with("Retry-After", seconds.to_string());
        }
        Self::answer(reply)
    }

    /// The hourly limit: nothing remains until `reset`, in seconds since 1970.
    pub(crate) fn primary_limit(status: u16, reset: u64) -> Self {
        let body = json!({
            "message": "API rate limit exceeded for installation ID 1.",
            "documentation_url":
                "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
            "status": status.to_string(),
        });
        let reply = Reply::json(status, &body)
            .with("X-RateLimit-Limit", "1000")
            .with("X-RateLimit-Remaining", "0")
            .with("X-RateLimit-Reset", reset.to_string());
        Self::answer(reply)
    }

    pub(crate) fn dropped() -> Self {
        Self::before(Kind::Drop)
    }

    /// The request is carried out.
    pub(crate) fn half_json() -> Self {
        Self::before(Kind::HalfJson).after_work()
    }

    /// The request is carried out.
    pub(crate) fn half_body() -> Self {
        Self::before(Kind::HalfBody).after_work()
    }

    pub(crate) fn drip(every: Duration) -> Self {
        Self::before(Kind::Drip(every))
    }

    pub(crate) fn delay(by: Duration) -> Self {
        Self::before(Kind::Delay(by))
    }

    pub(crate) fn redirect(status: u16, to: To) -> Self {
        Self::before(Kind::Redirect(status, to))
    }
}

/// Is it an answer that tells a client to wait?
pub(crate) fn limits(reply: &Reply) -> bool {
    let spent = reply.headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("retry-after")
            || (name.eq_ignore_ascii_case("x-ratelimit-remaining") && value == "0")
    });
    matches!(reply.status, 403 | 429)
        && (spent || String::from_utf8_lossy(&reply.body).contains("rate limit"))
}
