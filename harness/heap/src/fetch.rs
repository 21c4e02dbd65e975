//! Downloads profiles from servers, by HTTP.
//!
//! | what | limit |
//! |---|---|
//! | the whole transfer, redirects included | `--timeout` |
//! | the body | `--max-size` |
//! | redirects | 5; never from https to http; credentials are sent to the first origin only |
//!
//! The client is hyper with rustls: the program contains both already, for GitHub. octocrab is not
//! used here, because what it adds to a request is for GitHub.

mod address;
pub(crate) mod credentials;
mod netrc;

use std::fmt;
use std::future::Future;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, LOCATION, USER_AGENT};
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::runtime::Runtime;
use url::Url;

pub(crate) use self::address::{cleaned, is_address, parse};
use self::credentials::Credentials;
use crate::memory::Limit;
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::safe_line;

const MAX_REDIRECTS: usize = 5;
/// How many bytes of an answer that is not a profile are searched for its first line.
const LOOKED_AT: u64 = 4_096;
/// How often a wait is interrupted, to update the progress and to check for Ctrl-C.
const PERIOD: Duration = Duration::from_millis(100);

/// A request for a profile.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    pub url: Url,
}

impl Request {
    pub fn get(url: Url) -> Request {
        Request {
            method: Method::GET,
            url,
        }
    }
}

/// The limits of a transfer.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub timeout: Duration,
    /// The largest body.
    pub limit: Limit,
    /// If set, Ctrl-C ends a transfer early.
    pub interrupt: Option<Interrupt>,
}

/// Why a profile cannot be downloaded.
#[derive(Debug)]
pub(crate) enum Problem {
    Unreachable {
        why: String,
    },
    /// The server answers, but not with TLS.
    NoTls,
    /// The server requires a certificate of its clients.
    ClientCertificate {
        why: String,
    },
    /// The server's certificate is not trusted.
    Untrusted {
        why: String,
    },
    TimedOut {
        after: Duration,
    },
    Interrupted,
    Status {
        status: StatusCode,
        /// The first line of the body, escaped for output.
        line: String,
        /// The address that gave this status, if it is not the one that was requested.
        redirected_to: Option<String>,
    },
    /// There were more than [`MAX_REDIRECTS`].
    Redirects {
        to: String,
    },
    /// The redirect is to an address that is not followed.
    Redirected {
        to: String,
        why: &'static str,
    },
    TooLarge {
        bytes: u64,
        limit: Limit,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreachable { why } => write!(f, "cannot be reached: {why}"),
            Problem::NoTls => f.write_str(
                "expected TLS, found an answer without it\n  hint: the server may speak plain \
                 `http://`",
            ),
            Problem::ClientCertificate { why } => write!(
                f,
                "requires a client certificate, and plimsoll has none: {why}\n  hint: save the \
                 profiles with `curl --cert`, then run `plimsoll compare --series`"
            ),
            Problem::Untrusted { why } => write!(
                f,
                "its certificate is not trusted: {why}\n  hint: where it is signed by an \
                 authority of your own, name a file with that one's certificate in SSL_CERT_FILE"
            ),
            Problem::TimedOut { after } => write!(
                f,
                "no answer within {} s\n  hint: --timeout sets the longest transfer",
                after.as_secs_f64()
            ),
            Problem::Interrupted => f.write_str("stopped"),
            Problem::Status {
                status,
                line,
                redirected_to,
            } => {
                if let Some(to) = redirected_to {
                    write!(f, "redirected to {to}: ")?;
                }
                write!(f, "expected status 200, found {status}")?;
                match line.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": `{line}`"),
                }
            }
            Problem::Redirects { to } => write!(
                f,
                "expected at most {MAX_REDIRECTS} redirects, found another one, to {to}"
            ),
            Problem::Redirected { to, why } => write!(f, "redirected to {to}: {why}"),
            Problem::TooLarge { bytes, limit } => write!(
                f,
                "expected a profile of at most {} bytes, found one of {bytes}\n  hint: {limit}",
                limit.bytes
            ),
        }
    }
}

impl std::error::Error for Problem {}

/// Sends a request, and reads the answer up to the start of the body.
pub(crate) fn send(
    request: &Request,
    credentials: Option<&Credentials>,
    limits: &Limits,
    meanwhile: &mut dyn FnMut(),
) -> Result<Body, Problem> {
    let runtime = Background::new().map_err(|why| Problem::Unreachable {
        why: why.to_string(),
    })?;
    let transfer = Transfer {
        deadline: Instant::now() + limits.timeout,
        limits: limits.clone(),
    };
    let origin = request.url.origin();
    let mut at = request.clone();
    let mut redirects = 0;
    loop {
        let credentials = credentials.filter(|_| at.url.origin() == origin);
        let asked = ask(&at, credentials);
        let response = match transfer.wait(&runtime, meanwhile, asked)? {
            Ok(response) => response,
            Err(why) => return Err(problem(&why, credentials)),
        };
        let status = response.status();
        if let Some(next) = redirect(&at, &response)? {
            redirects += 1;
            if redirects > MAX_REDIRECTS {
                return Err(Problem::Redirects {
                    to: cleaned(&next.url),
                });
            }
            at = next;
            continue;
        }
        let size = response.body().size_hint().lower();
        let mut body = Body {
            incoming: response.into_body(),
            runtime,
            transfer,
            piece: Bytes::new(),
            count: 0,
        };
        if status.is_success() {
            return match size > limits.limit.bytes {
                true => Err(Problem::TooLarge {
                    bytes: size,
                    limit: limits.limit,
                }),
                false => Ok(body),
            };
        }
        let line = first_line(&mut body);
        return Err(Problem::Status {
            status,
            line: hidden(line, credentials),
            redirected_to: (redirects > 0).then(|| cleaned(&at.url)),
        });
    }
}

/// Returns the next request, if the answer is a redirect.
fn redirect(at: &Request, response: &Response<Incoming>) -> Result<Option<Request>, Problem> {
    let method = match response.status().as_u16() {
        // Browsers make these a `GET`, whatever the method was.
        301..=303 => Method::GET,
        307 | 308 => at.method.clone(),
        _ => return Ok(None),
    };
    let location = response.headers().get(LOCATION);
    let url = location.and_then(|to| at.url.join(to.to_str().ok()?).ok());
    let Some(mut url) = url else {
        return Err(Problem::Redirected {
            to: "nowhere".to_owned(),
            why: "expected an address in `Location`",
        });
    };
    // Credentials in a redirect are the server's, and must not be used.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let refused = match (at.url.scheme(), url.scheme()) {
        ("https", "http") => "from https to http, which is not followed",
        (_, "http" | "https") => return Ok(Some(Request { method, url })),
        _ => "expected an address of http or https",
    };
    Err(Problem::Redirected {
        to: cleaned(&url),
        why: refused,
    })
}

/// Returns why a request failed. `why` is the client's message.
fn problem(why: &str, credentials: Option<&Credentials>) -> Problem {
    // rustls reports this if the first bytes of an answer are not TLS.
    if why.contains("InvalidContentType") {
        return Problem::NoTls;
    }
    let why = safe_line(&hidden(why.to_owned(), credentials));
    // The alert of TLS 1.3.
    if why.contains("CertificateRequired") {
        return Problem::ClientCertificate { why };
    }
    // rustls begins its messages about certificates with this.
    match why.strip_prefix("invalid peer certificate: ") {
        Some(why) => Problem::Untrusted {
            why: why.to_owned(),
        },
        None => Problem::Unreachable { why },
    }
}

/// Hides the credentials in a text of the server.
fn hidden(text: String, credentials: Option<&Credentials>) -> String {
    credentials.map_or(text.clone(), |credentials| credentials.hidden(&text))
}

/// Sends a request. The error is the client's message.
async fn ask(
    request: &Request,
    credentials: Option<&Credentials>,
) -> Result<Response<Incoming>, String> {
    let mut url = request.url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let mut built = http::Request::builder()
        .method(request.method.clone())
        .uri(url.as_str())
        .header(ACCEPT, "*/*")
        .header(USER_AGENT, concat!("plimsoll/", env!("CARGO_PKG_VERSION")));
    if request.method == Method::POST {
        built = built.header(CONTENT_LENGTH, 0);
    }
    if let Some(credentials) = credentials {
        built = built.header(AUTHORIZATION, credentials.header());
    }
    let built = built.body(Empty::<Bytes>::new());
    let built = built.map_err(|err| err.to_string())?;
    let client = Client::builder(TokioExecutor::new());
    let response = if url.scheme() == "https" {
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(|err| format!("no certificates to trust: {err}"))?
            .https_only()
            .enable_http1()
            .build();
        client.build(connector).request(built).await
    } else {
        client.build(HttpConnector::new()).request(built).await
    };
    response.map_err(|err| innermost(&err))
}

/// Returns the message of the innermost cause, which is the most specific.
fn innermost(err: &dyn std::error::Error) -> String {
    let mut last = err;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// Returns the first line of a body that is not empty.
fn first_line(body: &mut Body) -> String {
    let mut beginning = Vec::new();
    // The beginning may be there even if the transfer broke off.
    let _ = body.take(LOOKED_AT).read_to_end(&mut beginning);
    let text = String::from_utf8_lossy(&beginning);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    safe_line(line.unwrap_or_default())
}

/// A runtime that is dropped without waiting. A name lookup cannot be stopped, and its time is
/// over.
struct Background(Option<Runtime>);

impl Background {
    fn new() -> io::Result<Background> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().map(Some).map(Background)
    }

    fn block_on<F: Future>(&self, future: F) -> Option<F::Output> {
        let runtime = self.0.as_ref()?;
        Some(runtime.block_on(future))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// The limits and the deadline of a transfer.
struct Transfer {
    deadline: Instant,
    limits: Limits,
}

impl Transfer {
    fn wait<F: Future>(
        &self,
        runtime: &Background,
        meanwhile: &mut dyn FnMut(),
        future: F,
    ) -> Result<F::Output, Problem> {
        let mut future = std::pin::pin!(future);
        loop {
            let interrupt = self.limits.interrupt.as_ref();
            if interrupt.is_some_and(|interrupt| interrupt.check().is_err()) {
                return Err(Problem::Interrupted);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Problem::TimedOut {
                    after: self.limits.timeout,
                });
            }
            let a_while = async { tokio::time::timeout(left.min(PERIOD), future.as_mut()).await };
            if let Some(Ok(done)) = runtime.block_on(a_while) {
                return Ok(done);
            }
            meanwhile();
        }
    }
}

/// The body of an answer, read as it arrives.
pub(crate) struct Body {
    incoming: Incoming,
    runtime: Background,
    transfer: Transfer,
    /// The bytes that arrived and were not read yet.
    piece: Bytes,
    /// The number of bytes that arrived.
    count: u64,
}

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let next = self.incoming.frame();
            let frame = self.transfer.wait(&self.runtime, &mut || (), next);
            let Some(frame) = frame.map_err(io::Error::other)? else {
                return Ok(0);
            };
            let broke_off = |why| {
                let (count, why) = (self.count, innermost(&why));
                io::Error::other(format!("the transfer broke off after {count} bytes: {why}"))
            };
            let frame = frame.map_err(broke_off)?;
            self.piece = frame.into_data().unwrap_or_default();
            self.count += self.piece.len() as u64;
            let limit = self.transfer.limits.limit;
            if self.count > limit.bytes {
                let bytes = self.count;
                return Err(io::Error::other(Problem::TooLarge { bytes, limit }));
            }
        }
        let length = self.piece.len().min(into.len());
        into[..length].copy_from_slice(&self.piece.split_to(length));
        Ok(length)
    }
}
