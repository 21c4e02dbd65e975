//! Requests to GitHub, one after the other. Requests that may be repeated are repeated.
//!
//! octocrab makes the connection, the encryption and the credentials. Its retries, redirects
//! and typed models are not used. It would repeat a `POST` that was carried out and answered
//! with an error, and a comment of a deleted account would make a whole page unreadable.
//!
//! - 5xx, a broken connection, no answer in time, or an answer that is not JSON: a `GET` and a
//!   write that may be repeated are tried three more times, after 1, 2 and 4 s. A write that
//!   creates or adds is not repeated; the caller looks whether it was done.
//! - 403 or 429 that asks to wait: the request is repeated after the wait if the budget allows
//!   it. This is safe for every request, because the server did not carry it out. Meanwhile no
//!   other request is sent.
//! - Redirect on the same host: a `GET` follows up to three, and a download also follows them
//!   to another host. A write follows one, and only 307 or 308.
//! - 401, 403, 404, 410, 422: the request is not repeated.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use http::{HeaderMap, HeaderName, Method};
use http_body_util::{BodyExt, Limited};
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::environment::Token;
use crate::problem::{self, Problem};
use plimsoll_desk::out::Out;

/// The most bytes of an answer: 100 comments of the greatest length with four bytes per
/// character, and as much again.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// The most pages of a list. GitHub's own lists end far earlier.
const MAX_PAGES: usize = 300;
const MAX_REDIRECTS: usize = 3;
/// The seconds before the second, third and fourth try.
const AGAIN_AFTER: [f64; 3] = [1.0, 2.0, 4.0];
/// The pause between two writes that GitHub asks for if there are many.
const BETWEEN_WRITES: Duration = Duration::from_secs(1);
/// From this many writes on, there is a pause. A check run and a comment, one of them
/// repeated, need none.
const FEW_WRITES: usize = 3;
/// The first wait if a limit does not say how long it lasts. It is doubled each time.
const UNSAID_WAIT: Duration = Duration::from_secs(60);

/// The longest waits.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The longest wait for one answer.
    pub timeout: Duration,
    /// The longest wait for rate limits, in total.
    pub max_wait: Duration,
}

/// Whether writes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Real,
    /// Writes are recorded and count as done.
    DryRun,
}

/// A write that a dry run did not send.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub body: Option<Value>,
}

pub struct Api {
    runtime: Runtime,
    crab: Octocrab,
    /// `https://api.github.com`, or a server's URL with `/api/v3` behind it.
    base: String,
    token: Option<Token>,
    patience: Patience,
    mode: Mode,
    pace: RefCell<Pace>,
    calls: RefCell<Vec<Call>>,
    out: Out,
}

/// Shows nothing of the token.
impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// The state that decides when the next request may be sent.
#[derive(Debug, Default)]
struct Pace {
    /// The time spent waiting for limits.
    waited: Duration,
    blocked_until: Option<Instant>,
    writes: usize,
    last_write: Option<Instant>,
    /// How often a limit did not say how long it lasts.
    unsaid_waits: u32,
}

/// The hosts that an answer may come from.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Here,
    /// Also another host, on which GitHub keeps a file, and which must not get the token.
    Elsewhere {
        /// The most bytes of the file.
        most: usize,
    },
}

impl Kept {
    fn most(self) -> usize {
        match self {
            Kept::Here => MAX_ANSWER,
            Kept::Elsewhere { most } => most,
        }
    }
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Api {
    /// Connects to the API at `base`.
    ///
    /// # Errors
    ///
    /// If `base` is not a valid address, or if the machine has no certificates.
    pub fn new(
        base: &str,
        token: Option<Token>,
        patience: Patience,
        mode: Mode,
    ) -> anyhow::Result<Self> {
        let base = base.trim_end_matches('/').to_owned();
        let origin = origin(&base)
            .with_context(|| {
                format!(
                    "GITHUB_API_URL: expected `https://HOST` or `https://HOST/api/v3`, found `{}`",
                    plimsoll_desk::out::safe_line(&base)
                )
            })?
            .to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no runtime for network requests")?;
        let crab = {
            let _inside = runtime.enter();
            let mut builder = Octocrab::builder()
                .base_uri(origin.as_str())
                .and_then(|builder| builder.upload_uri(origin.as_str()))
                .context("the address of the API is none")?
                .set_connect_timeout(Some(patience.timeout))
                .add_header(
                    http::header::ACCEPT,
                    "application/vnd.github+json".to_owned(),
                )
                .add_header(
                    HeaderName::from_static("x-github-api-version"),
                    "2022-11-28".to_owned(),
                );
            if let Some(token) = &token {
                builder = builder.personal_token(token.secret());
            }
            builder
                .build()
                .context("no connection to GitHub can be set up")?
        };
        Ok(Api {
            runtime,
            crab,
            base,
            token,
            patience,
            mode,
            pace: RefCell::default(),
            calls: RefCell::default(),
            out: Out::new(),
        })
    }

    /// Returns the writes that a dry run did not send, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.borrow().clone()
    }

    pub fn is_dry_run(&self) -> bool {
        self.mode == Mode::DryRun
    }

    /// Returns whether nothing is sent at all: a dry run without a token does not read either.
    fn is_offline(&self) -> bool {
        self.is_dry_run() && self.token.is_none()
    }

    /// Reads one object.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Problem> {
        if self.is_offline() {
            return Err(Problem::NotFound);
        }
        self.repeatedly(Method::GET, &self.url(path), None, Kept::Here, |answer| {
            json(&answer.body)
        })
    }

    /// Reads all pages of a list.
    pub fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Problem> {
        self.pages(path, json::<Vec<T>>)
    }

    /// Reads all pages of a list, as [`list`](Self::list) does, if each page is an object that
    /// has the list under `key`.
    pub fn list_in<T: DeserializeOwned>(&self, path: &str, key: &str) -> Result<Vec<T>, Problem> {
        self.pages(path, |body| {
            let mut object: serde_json::Map<String, Value> = json(body)?;
            let list = object.remove(key).ok_or(Problem::Unreadable)?;
            serde_json::from_value(list).map_err(|_| Problem::Unreadable)
        })
    }

    fn pages<T>(
        &self,
        path: &str,
        read: impl Fn(&[u8]) -> Result<Vec<T>, Problem>,
    ) -> Result<Vec<T>, Problem> {
        if self.is_offline() {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        let mut url = self.url(path);
        let mut seen = BTreeSet::new();
        while seen.len() < MAX_PAGES && seen.insert(url.clone()) {
            let (page, next) = self.repeatedly(Method::GET, &url, None, Kept::Here, |answer| {
                Ok((read(&answer.body)?, answer.next_page()))
            })?;
            all.extend(page);
            match next {
                None => return Ok(all),
                Some(next) if origin(&next) == origin(&self.base) => url = next,
                Some(_) => return Err(Problem::Redirected),
            }
        }
        // The pages form a circle or have no end. Half a list is refused, because the caller
        // would take its missing entries for absent.
        Err(Problem::Unreadable)
    }

    /// Creates something that must not be created twice, so the request is not repeated after
    /// an error. If [`Problem::is_unsure`], the caller has to look whether it was created.
    pub fn create<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Problem> {
        self.once_only(Method::POST, path, body)
    }

    /// Adds to something what must not be added twice. Sends the request as
    /// [`create`](Self::create) does.
    pub fn add<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Problem> {
        self.once_only(Method::PATCH, path, body)
    }

    fn once_only<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<T, Problem> {
        if let Some(made_up) = self.recorded(&method, path, Some(body)) {
            return made_up;
        }
        let answer = self.send_to(&method, &self.url(path), Some(body), Kept::Here)?;
        json(&accepted(answer, self.token.as_ref())?.body)
    }

    /// Changes something to a state that a second request would not change.
    pub fn change<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<T, Problem> {
        if let Some(made_up) = self.recorded(&method, path, Some(body)) {
            return made_up;
        }
        self.repeatedly(method, &self.url(path), Some(body), Kept::Here, |answer| {
            json(&answer.body)
        })
    }

    /// Deletes something. Succeeds if it does not exist.
    pub fn delete(&self, path: &str) -> Result<(), Problem> {
        let method = Method::DELETE;
        if self.recorded::<Value>(&method, path, None).is_some() {
            return Ok(());
        }
        match self.repeatedly(method, &self.url(path), None, Kept::Here, |_| Ok(())) {
            Err(Problem::NotFound | Problem::Gone) => Ok(()),
            // GitHub's answer for a git reference that does not exist.
            Err(Problem::Refused {
                status: 422,
                message,
            }) if message.contains("not exist") => Ok(()),
            done => done,
        }
    }

    /// Reads a file that GitHub keeps on another host, which does not get the token. Returns
    /// `None` if the file is longer than the limit.
    pub fn download(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, Problem> {
        if self.is_offline() {
            return Err(Problem::NotFound);
        }
        let most = MAX_ANSWER.min(limit);
        let kept = Kept::Elsewhere { most };
        self.repeatedly(Method::GET, &self.url(path), None, kept, |answer| {
            // An empty answer or an HTML page comes from a storage that has a problem. A
            // report or its archive never begins with `<`.
            match answer.body.trim_ascii_start().first() {
                None | Some(b'<') => Err(Problem::Unreadable),
                Some(_) => Ok((answer.body.len() <= limit).then(|| answer.body.clone())),
            }
        })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// In a dry run, records the write and makes up its answer.
    fn recorded<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Option<Result<T, Problem>> {
        if !self.is_dry_run() {
            return None;
        }
        self.calls.borrow_mut().push(Call {
            method: method.clone(),
            path: path.to_owned(),
            body: body.cloned(),
        });
        // The fields that callers read.
        let answer = serde_json::json!({ "id": 0, "sha": "0".repeat(40), "body": "" });
        Some(serde_json::from_value(answer).map_err(|_| Problem::Unreadable))
    }

    fn repeatedly<T>(
        &self,
        method: Method,
        url: &str,
        body: Option<&Value>,
        kept: Kept,
        read: impl Fn(&Answer) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut pauses = AGAIN_AFTER.into_iter();
        loop {
            let done = self
                .send_to(&method, url, body, kept)
                .and_then(|answer| accepted(answer, self.token.as_ref()))
                .and_then(|answer| read(&answer));
            match (done, pauses.next()) {
                (Err(problem), Some(pause)) if problem.is_unsure() => {
                    self.sleep(Duration::from_secs_f64(pause * (1.0 + 0.25 * jitter())));
                }
                (done, _) => return done,
            }
        }
    }

    /// Sends one request. Waits for limits before it, and follows redirects.
    fn send_to(
        &self,
        method: &Method,
        url: &str,
        body: Option<&Value>,
        kept: Kept,
    ) -> Result<Answer, Problem> {
        let mut url = url.to_owned();
        let mut redirects = 0;
        loop {
            self.await_turn(method)?;
            let answer = self.once(method, &url, body, kept.most())?;
            if let Some(wait) = self.asks_to_wait(&answer) {
                self.block(wait);
                continue;
            }
            if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let to = answer.header("location").ok_or(Problem::Unreadable)?;
            let to = resolve(to, &url).ok_or(Problem::Redirected)?;
            let here = origin(&to) == origin(&self.base);
            let elsewhere =
                matches!(kept, Kept::Elsewhere { .. }) && gets_no_token(&to, &self.base);
            let allowed = match *method {
                Method::GET => redirects < MAX_REDIRECTS && (here || elsewhere),
                _ => redirects < 1 && here && matches!(answer.status, 307 | 308),
            };
            if !allowed {
                return Err(Problem::Redirected);
            }
            redirects += 1;
            url = to;
        }
    }

    fn once(
        &self,
        method: &Method,
        url: &str,
        body: Option<&Value>,
        most: usize,
    ) -> Result<Answer, Problem> {
        if method != Method::GET {
            let mut pace = self.pace.borrow_mut();
            pace.last_write = Some(Instant::now());
            pace.writes += 1;
        }
        let crab = &self.crab;
        let request = async {
            // Lets the connection pool notice a connection that was closed meanwhile.
            tokio::task::yield_now().await;
            let response = match *method {
                Method::GET => crab._get(url).await,
                Method::POST => crab._post(url, body).await,
                Method::PATCH => crab._patch(url, body).await,
                Method::DELETE => crab._delete(url, None::<&()>).await,
                _ => unreachable!("the bot sends no other request"),
            };
            let mut response = response.map_err(|err| self.unreachable(&err))?;
            let headers = std::mem::take(response.headers_mut());
            let status = response.status().as_u16();
            // One byte more than allowed, so that the caller can see that the answer is too
            // long.
            let body = Limited::new(response.into_body(), most.saturating_add(1));
            let body = match body.collect().await {
                Ok(body) => body.to_bytes().to_vec(),
                Err(err) if err.is::<http_body_util::LengthLimitError>() => {
                    vec![0; most.saturating_add(1)]
                }
                Err(err) => return Err(self.unreachable(err.as_ref())),
            };
            Ok(Answer {
                status,
                headers,
                body,
            })
        };
        let timeout = self.patience.timeout;
        self.runtime
            .block_on(async { tokio::time::timeout(timeout, request).await })
            .unwrap_or(Err(Problem::TimedOut { after: timeout }))
    }

    /// Describes an error by its last cause. octocrab's own text says little.
    fn unreachable(&self, err: &(dyn std::error::Error + 'static)) -> Problem {
        let mut last = err;
        while let Some(source) = last.source() {
            last = source;
        }
        let why = scrubbed(last.to_string(), self.token.as_ref());
        let why = plimsoll_desk::out::safe_line(&why);
        Problem::Unreachable { why }
    }

    /// Returns how long the answer asks to wait, if it does.
    fn asks_to_wait(&self, answer: &Answer) -> Option<Duration> {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        match limit(answer, now)? {
            Limit::For(wait) => Some(wait),
            Limit::Unsaid => {
                let mut pace = self.pace.borrow_mut();
                let doubled = 2_u32.saturating_pow(pace.unsaid_waits);
                pace.unsaid_waits += 1;
                Some(UNSAID_WAIT.saturating_mul(doubled))
            }
        }
    }

    fn block(&self, wait: Duration) {
        // No limit of GitHub lasts longer than an hour.
        let wait = wait.min(Duration::from_secs(2 * 3600));
        self.pace.borrow_mut().blocked_until = Some(Instant::now() + wait);
    }

    /// Waits until a request may be sent.
    fn await_turn(&self, method: &Method) -> Result<(), Problem> {
        let now = Instant::now();
        let (limit, write, waited) = {
            let pace = self.pace.borrow();
            let until = |at: Option<Instant>| at.map_or(Duration::ZERO, |at| at - now.min(at));
            let last = pace.last_write.filter(|_| pace.writes >= FEW_WRITES);
            let write = last.map(|last| last + BETWEEN_WRITES);
            (until(pace.blocked_until), until(write), pace.waited)
        };
        if limit > Duration::ZERO {
            if waited + limit > self.patience.max_wait {
                return Err(Problem::Limited { wait: limit });
            }
            self.out.note(&format!(
                "GitHub's rate limit: waiting for {} s",
                limit.as_secs_f64().ceil()
            ));
            self.pace.borrow_mut().waited += limit;
            // A little longer, because the clocks may differ.
            self.sleep(limit + Duration::from_millis(50));
        } else if method != Method::GET {
            self.sleep(write);
        }
        Ok(())
    }

    /// Returns how long one request may take.
    pub fn timeout(&self) -> Duration {
        self.patience.timeout
    }

    /// Waits. Connections can be closed meanwhile.
    pub fn sleep(&self, duration: Duration) {
        if duration > Duration::ZERO {
            self.runtime
                .block_on(async { tokio::time::sleep(duration).await });
        }
    }
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the address behind `rel="next"`.
    fn next_page(&self) -> Option<String> {
        self.header("link")?.split(',').find_map(|part| {
            let (address, parameters) = part.trim().strip_prefix('<')?.split_once('>')?;
            let next = parameters.split(';').any(|parameter| {
                let parameter = parameter.trim();
                parameter == "rel=\"next\"" || parameter == "rel=next"
            });
            next.then(|| address.to_owned())
        })
    }
}

/// How long nothing may be requested.
#[derive(Debug, PartialEq, Eq)]
enum Limit {
    For(Duration),
    Unsaid,
}

/// Returns the limit that an answer describes. `now` is the time since 1970.
fn limit(answer: &Answer, now: Duration) -> Option<Limit> {
    let exhausted = answer.header("x-ratelimit-remaining") == Some("0");
    let says_so = || {
        let message = problem::message(&answer.body, None).to_lowercase();
        message.contains("rate limit") || message.contains("abuse detection")
    };
    let limited = match answer.status {
        429 => true,
        403 => answer.header("retry-after").is_some() || exhausted || says_so(),
        _ => false,
    };
    if !limited {
        return None;
    }
    let seconds = |name: &str| answer.header(name)?.trim().parse::<u64>().ok();
    if let Some(seconds) = seconds("retry-after") {
        // At least one second: a wait of zero would repeat the request without end.
        return Some(Limit::For(Duration::from_secs(seconds.max(1))));
    }
    if let Some(reset) = seconds("x-ratelimit-reset").filter(|_| exhausted) {
        // One second more, because the header has whole seconds and the clocks may differ.
        let wait = Duration::from_secs(reset).saturating_sub(now);
        return Some(Limit::For(wait.saturating_add(Duration::from_secs(1))));
    }
    Some(Limit::Unsaid)
}

/// Returns the answer if its status means success, and otherwise the problem.
fn accepted(answer: Answer, token: Option<&Token>) -> Result<Answer, Problem> {
    let message = || problem::message(&answer.body, token);
    match answer.status {
        200..=299 => Ok(answer),
        401 => Err(Problem::Rejected),
        // The space keeps `blocked` from matching.
        403 if message().contains(" locked") => Err(Problem::Locked),
        403 => Err(Problem::Forbidden {
            needs: answer
                .header("x-accepted-github-permissions")
                .map(|needs| scrubbed(plimsoll_desk::out::safe_line(needs.trim()), token)),
            message: message(),
        }),
        404 => Err(Problem::NotFound),
        410 => Err(Problem::Gone),
        status @ 500.. => Err(Problem::Server { status }),
        status => Err(Problem::Refused {
            status,
            message: message(),
        }),
    }
}

/// Replaces the token in a text that may have echoed it.
fn scrubbed(text: String, token: Option<&Token>) -> String {
    token.map_or(text.clone(), |token| token.scrub(&text))
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|_| Problem::Unreadable)
}

/// Returns `https://host:port` of an address.
fn origin(url: &str) -> Option<&str> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = &rest[..end];
    // No user name and password, with which the real host would differ from the one that a
    // reader sees.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
    (!host.is_empty() && host.bytes().all(plain)).then(|| &url[..url.len() - rest.len() + end])
}

/// Returns the address that a redirect from `from` leads to.
fn resolve(to: &str, from: &str) -> Option<String> {
    match to.starts_with('/') && !to.starts_with("//") {
        true => Some(format!("{}{to}", origin(from)?)),
        false => origin(to).map(|_| to.to_owned()),
    }
}

/// Returns whether octocrab sends no token to an address.
///
/// octocrab compares only hosts and ports. So an address of the same host without encryption
/// is refused: the token would be readable for everybody.
fn gets_no_token(to: &str, base: &str) -> bool {
    let host = |url: &str| Some(origin(url)?.split_once("://")?.1.to_ascii_lowercase());
    let weaker = base.starts_with("https://") && !to.starts_with("https://");
    host(to).is_some() && host(to) != host(base) && !weaker
}

/// Returns a random number from 0 to 1, so that jobs that failed together do not try again at
/// the same time.
fn jitter() -> f64 {
    let [byte, ..] = RandomState::new().build_hasher().finish().to_le_bytes();
    f64::from(byte) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_by_their_links() {
        let next = |link: &str| {
            let headers = headers(&[("link", link)]);
            answer(200, headers, "").next_page()
        };
        let to = |page, rel| format!("<https://a/repositories/1/x?page={page}>; rel=\"{rel}\"");
        let found = next(&format!("{}, {}", to(1, "prev"), to(3, "next")));
        assert_eq!(found.as_deref(), Some("https://a/repositories/1/x?page=3"));
        assert_eq!(next(&to(9, "last")), None);
        assert_eq!(next("nonsense"), None);
    }

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let all = all.iter();
        all.map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    fn answer(status: u16, headers: HeaderMap, message: &str) -> Answer {
        Answer {
            status,
            headers,
            body: serde_json::json!({ "message": message }).to_string().into(),
        }
    }

    #[test]
    fn limits_say_how_long_or_not() {
        let none = HeaderMap::new;
        let retry = |after: &str| headers(&[("retry-after", after)]);
        let reset = |remaining: &str, at: &str| {
            let remaining = ("x-ratelimit-remaining", remaining);
            headers(&[remaining, ("x-ratelimit-reset", at)])
        };
        let secondary = "You have exceeded a secondary rate limit";
        let abuse = "the abuse detection mechanism";
        let seconds = |seconds| Some(Limit::For(Duration::from_secs(seconds)));
        for (status, headers, message, expected) in [
            (200, none(), "", None),
            (403, none(), "Resource not accessible", None),
            (403, reset("1", "1100"), "Resource not accessible", None),
            (422, retry("7"), secondary, None),
            (503, retry("7"), "", None),
            (429, none(), "", Some(Limit::Unsaid)),
            (403, none(), secondary, Some(Limit::Unsaid)),
            (403, none(), abuse, Some(Limit::Unsaid)),
            (403, retry("soon"), "", Some(Limit::Unsaid)),
            (403, retry("7"), "", seconds(7)),
            (429, retry("7"), "", seconds(7)),
            (429, retry("0"), "", seconds(1)),
            (403, reset("0", "1100"), "", seconds(101)),
            (403, reset("0", "900"), "", seconds(1)),
            (403, reset("0", "never"), "", Some(Limit::Unsaid)),
            (429, reset("5", "1100"), "", Some(Limit::Unsaid)),
        ] {
            let case = format!("{status} {headers:?} {message}");
            let found = limit(&answer(status, headers, message), Duration::from_secs(1000));
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn what_an_answer_says() {
        let said = |(status, message)| {
            let found = accepted(answer(status, HeaderMap::new(), message), None);
            let sure = |problem: &Problem| if problem.is_unsure() { "unsure: " } else { "" };
            found.map_or_else(
                |problem| format!("{}{problem}", sure(&problem)),
                |answer| format!("accepted {}", answer.status),
            )
        };
        let successes = [(200, ""), (299, "")];
        let denied = [(403, "issue is locked."), (403, "User is blocked")];
        let others = [401, 403, 300, 404, 410, 422, 499, 500, 599].map(|status| (status, "m"));
        let all = successes.into_iter().chain(denied).chain(others).map(said);
        insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n"), @"
        accepted 200
        accepted 299
        the conversation is locked
        the token may not do that (403): User is blocked
        GitHub rejected the token (401)
          hint: set GITHUB_TOKEN to `${{ github.token }}` in the step's `env`
        the token may not do that (403): m
        refused (300): m
        not found (404): it is not there, or the token may not see it
        it is gone (410)
        refused (422): m
        refused (499): m
        unsure: GitHub failed (500)
        unsure: GitHub failed (599)
        ");
        let needs = "issues=write; pull_requests=write,checks=read";
        let needs = headers(&[("x-accepted-github-permissions", needs)]);
        let found = accepted(answer(403, needs, "m"), None).err().unwrap();
        insta::assert_snapshot!(found, @"
        the token may not do that (403)
          hint: add to the job:
            permissions:
              pull-requests: write
              checks: read
        ");
    }

    #[test]
    fn hosts_are_what_they_look_like() {
        for (address, expected) in [
            ("https://api.github.com/x", Some("https://api.github.com")),
            ("http://127.0.0.1:8080?x", Some("http://127.0.0.1:8080")),
            ("https://api.github.com@evil.example/x", None),
            ("https:///x", None),
            ("/x", None),
        ] {
            assert_eq!(origin(address), expected, "{address}");
        }
        assert_eq!(resolve("/y", "https://a/x").as_deref(), Some("https://a/y"));
        let elsewhere = resolve("https://b/y", "https://a/x");
        assert_eq!(elsewhere.as_deref(), Some("https://b/y"));
        assert_eq!(resolve("//b/y", "https://a/x"), None);
    }

    #[test]
    fn where_files_are_kept_there_is_no_token() {
        let base = "https://api.github.com";
        assert!(gets_no_token("https://blob.example/x?sig=1", base));
        assert!(!gets_no_token("http://blob.example/x?sig=1", base));
        assert!(!gets_no_token("http://api.github.com/x", base));
        assert!(!gets_no_token("https://API.github.com/x", base));
        assert!(gets_no_token("http://127.0.0.1:2/x", "http://127.0.0.1:1"));
    }
}
