//! Where a profile is read from: a file, standard input, a folder of dumps, or a server.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::args::HttpArgs;
use crate::dumps::{self, Files};
use crate::fetch::credentials::Credentials;
use crate::fetch::{self, Body, Limits, Problem, Request};
use crate::memory::Limit;
use crate::servers::{self, Server};
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::safe_line;
use plimsoll_desk::status::Refused;

/// How long a connection may take.
const CONNECTED: Duration = Duration::from_secs(1);

/// The place of one profile.
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
    /// A temporary file, with a name that says more than its path.
    Kept {
        path: PathBuf,
        name: String,
    },
    Server(Served),
}

/// A profile that is requested from a server.
pub(crate) struct Served {
    pub server: Option<Server>,
    /// The requests to try in this order, until one of the endpoints exists.
    requests: Vec<Request>,
    credentials: Option<Credentials>,
    timeout: Duration,
}

impl Source {
    /// Returns the sources of several dumps of one process, in their order.
    pub(crate) fn of_files(files: &Files) -> Vec<Source> {
        let source = |(number, path): (usize, &PathBuf)| match &files.server {
            Some(server) => Source::Kept {
                path: path.clone(),
                name: format!("dump {number} of {server}"),
            },
            None => Source::File(path.clone()),
        };
        (1..).zip(&files.paths).map(source).collect()
    }

    /// Returns the source that the user named. `--from` says how to read the text.
    pub(crate) fn of(text: &str, args: &HttpArgs) -> anyhow::Result<Source> {
        match args.from {
            Some(Server::Risingwave) => {
                let newest = dumps::newest(text.as_ref());
                newest.map(Source::File).with_context(|| {
                    let hint = Server::Risingwave.hint(servers::Found::Nobody);
                    let folder = safe_line(text);
                    format!("{folder}: expected a folder of dumps\n  hint: {hint}")
                })
            }
            Some(_) => Served::of(text, args.from, args).map(Source::Server),
            None => Source::named(text, args),
        }
    }

    /// Returns the source that the user named, whatever `--from` says.
    pub(crate) fn named(text: &str, args: &HttpArgs) -> anyhow::Result<Source> {
        match text {
            "-" => Ok(Source::Stdin),
            _ if fetch::is_address(text) => Served::of(text, None, args).map(Source::Server),
            _ => Ok(Source::File(text.into())),
        }
    }

    /// Returns the path of the user's own file, if the source is one.
    pub(crate) fn files(&self) -> Vec<&Path> {
        match self {
            Source::File(path) => vec![path],
            Source::Stdin | Source::Kept { .. } | Source::Server(_) => Vec::new(),
        }
    }

    /// Returns the name that is shown.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Stdin => "standard input".to_owned(),
            Source::File(path) => safe_line(&path.to_string_lossy()),
            Source::Kept { name, .. } => name.clone(),
            Source::Server(served) => served.name(),
        }
    }
}

impl Served {
    pub(crate) fn of(
        text: &str,
        server: Option<Server>,
        args: &HttpArgs,
    ) -> anyhow::Result<Served> {
        // With `--from`, users may leave out `http://`.
        let whole = match (fetch::is_address(text), server) {
            (false, Some(_)) => format!("http://{text}"),
            _ => text.to_owned(),
        };
        let url = fetch::parse(&whole).map_err(Refused::usage)?;
        let requests = match server {
            Some(server) => server.requests(&url),
            None => vec![Request::get(url.clone())],
        };
        Ok(Served {
            server,
            requests,
            credentials: Credentials::of(&url)?,
            timeout: args.timeout,
        })
    }

    pub(crate) fn name(&self) -> String {
        let first = self.requests.first();
        first.map_or_else(String::new, |request| fetch::cleaned(&request.url))
    }

    /// Returns the address of a path on the same host.
    pub(crate) fn beside(&self, path: &str) -> Option<String> {
        let url = &self.requests.first()?.url;
        Some(url.join(path).ok()?.to_string())
    }

    /// Tells whether anything accepts connections there.
    pub(crate) fn listens(&self) -> bool {
        let first = self.requests.first();
        let addresses = first.and_then(|request| request.url.socket_addrs(|| None).ok());
        let mut addresses = addresses.into_iter().flatten();
        addresses.any(|address| TcpStream::connect_timeout(&address, CONNECTED).is_ok())
    }

    /// Sends the requests, and reads the answer up to the start of the profile.
    pub(crate) fn open(
        &self,
        limit: Limit,
        interrupt: Option<&Interrupt>,
        meanwhile: &mut dyn FnMut(),
    ) -> anyhow::Result<Body> {
        let limits = Limits {
            timeout: self.timeout,
            limit,
            interrupt: interrupt.cloned(),
        };
        let mut first = None;
        for request in &self.requests {
            let sent = fetch::send(request, self.credentials.as_ref(), &limits, meanwhile);
            let problem = match sent {
                Ok(body) => return Ok(body),
                Err(problem) => problem,
            };
            let is_elsewhere = match &problem {
                Problem::Status { status, .. } => matches!(status.as_u16(), 404 | 405),
                _ => false,
            };
            // An endpoint that exists says more than one that does not.
            if !is_elsewhere {
                return Err(self.said(&problem));
            }
            first.get_or_insert(problem);
        }
        match &first {
            Some(problem) => Err(self.said(problem)),
            None => Err(Refused::usage("expected a server that has an address")),
        }
    }

    fn said(&self, problem: &Problem) -> anyhow::Error {
        let hint = servers::found(problem).and_then(|found| servers::hint(self.server, found));
        match hint {
            Some(hint) => anyhow::anyhow!("{problem}\n  hint: {hint}"),
            None => anyhow::anyhow!("{problem}"),
        }
    }
}
