//! The endpoint of each server's heap profile, and what to do if it does not send one.

use http::{Method, StatusCode};
use plimsoll_profile::read::ReadError;
use url::Url;

use crate::fetch::{Problem, Request};

/// A server that serves its own heap profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Server {
    /// Port 8080 of databend-query, 28002 of databend-meta
    Databend,
    /// Port 4000
    Greptimedb,
    /// No address, but the folder where its nodes put their dumps: the newest
    Risingwave,
    /// Port 8040 of a backend
    Starrocks,
    /// Port 20180
    Tikv,
    /// Port 6878
    Materialize,
}

impl Server {
    /// Returns the endpoints for profiles: the method, the path and the query.
    fn routes(self) -> Vec<(Method, &'static str, Option<&'static str>)> {
        match self {
            // Source: src/common/http/src/debug/jeprof.rs. databend-query and databend-meta
            // serve it at their admin address. The path is the one that jeprof makes of
            // `/debug/mem`.
            Server::Databend => vec![(Method::GET, "debug/mem/pprof/profile", Some("seconds=0"))],
            // Source: docs/how-to/how-to-profile-memory.md. Older versions have the second
            // endpoint.
            Server::Greptimedb => vec![
                (Method::POST, "debug/prof/mem", None),
                (Method::GET, "v1/prof/mem", None),
            ],
            // Source: be/src/http/action/pprof_actions.cpp
            Server::Starrocks => vec![(Method::GET, "pprof/heap", None)],
            // Source: src/server/status_server/mod.rs
            Server::Tikv => vec![(Method::GET, "debug/pprof/heap", None)],
            // Source: src/prof-http/src/lib.rs. The profile is in pprof's format, compressed.
            // environmentd has the first endpoint, clusterd the second.
            Server::Materialize => vec![
                (Method::GET, "prof/heap", None),
                (Method::GET, "heap", None),
            ],
            Server::Risingwave => Vec::new(),
        }
    }

    /// Returns the requests to try, in this order, until one of the endpoints exists. If the
    /// address already ends in the path of an endpoint, the path is not added again.
    pub fn requests(self, base: &Url) -> Vec<Request> {
        let request = |(method, route, query)| {
            let mut url = base.clone();
            let path = base.path().trim_end_matches('/').to_owned();
            if !path.ends_with(&format!("/{route}")) {
                url.set_path(&format!("{path}/{route}"));
            }
            if url.query().is_none() {
                url.set_query(query);
            }
            Request { method, url }
        };
        self.routes().into_iter().map(request).collect()
    }

    /// Returns a hint that uses the server's own terms.
    pub fn hint(self, found: Found<'_>) -> &'static str {
        match (self, found) {
            // The endpoint exists only with the feature `memory-profiling`
            // (src/common/http/src/debug/jeprof.rs).
            (Server::Databend, Found::Status(StatusCode::NOT_FOUND)) => {
                "this Databend was built without its feature `memory-profiling`, or this is not \
                 its `admin_api_address`"
            }
            (Server::Databend, Found::Nobody) => {
                "`admin_api_address` in Databend's configuration says where it listens"
            }
            (Server::Databend, _) => {
                "start Databend with MALLOC_CONF=prof:true, without prof_active:false in it"
            }

            // Source: src/servers/src/http/mem_prof.rs
            (Server::Greptimedb, Found::Status(StatusCode::NOT_IMPLEMENTED)) => {
                "this GreptimeDB was built without its feature `mem-prof`; its official images \
                 have it"
            }
            (Server::Greptimedb, Found::Nobody | Found::Status(StatusCode::NOT_FOUND)) => {
                "`http.addr` in GreptimeDB's configuration says where it listens, by default \
                 127.0.0.1:4000"
            }
            (Server::Greptimedb, _) => {
                "start GreptimeDB with MALLOC_CONF=prof:true; with prof_active:false in it, `curl \
                 -X POST …/debug/prof/mem/activate` or `memory.enable_heap_profiling = true` \
                 switches it on"
            }

            (Server::Starrocks, Found::Nobody | Found::Status(StatusCode::NOT_FOUND)) => {
                "`be_http_port` in be.conf says where a backend listens"
            }
            // Source: bin/start_backend.sh, which sets prof_active:false. If jemalloc refuses to
            // dump, the server answers 200, with an empty body or `dump jemalloc prof file failed`.
            (Server::Starrocks, _) => {
                "start the backend with `prof:true,prof_active:true` in JEMALLOC_CONF, or activate \
                 profiling with the SQL statement ADMIN EXECUTE ON <be_id> \
                 'System.print(HeapProf.getInstance().enable_prof())'"
            }

            (Server::Tikv, Found::Nobody | Found::Status(StatusCode::NOT_FOUND)) => {
                "`server.status-addr` in TiKV's configuration says where it listens"
            }
            // Before 7.5, a request returned only what was allocated while it was served.
            (Server::Tikv, _) => {
                "start TiKV with MALLOC_CONF=prof:true,prof_active:false, and with \
                 `memory.enable-heap-profiling = true` in its configuration, the default; it has to \
                 be TiKV 7.5 or later, with its feature `mem-profiling`"
            }

            (Server::Materialize, Found::Status(StatusCode::BAD_REQUEST)) => {
                "this Materialize was built without heap profiling"
            }
            (Server::Materialize, Found::Nobody | Found::Status(StatusCode::NOT_FOUND)) => {
                "the internal HTTP address (`--internal-http-listen-addr`) serves profiles"
            }
            (Server::Materialize, _) => {
                "activate profiling with `curl -d action=activate` and the address of the page: \
                 …:6878/prof/ of environmentd, …:6878/ of clusterd"
            }

            // Source: src/common/heap_profiling/src/profile_service.rs
            (Server::Risingwave, _) => {
                "start the nodes with MALLOC_CONF=prof:true, and dump on the dashboard's page \
                 `Heap Profiling`; `server.heap_profiling.dir` says where dumps are put"
            }
        }
    }
}

/// What was found instead of a profile.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// No server answers.
    Nobody,
    Status(StatusCode),
    /// The answer is something else, or empty.
    NoProfile(&'a ReadError),
    /// The profile has no objects: jemalloc samples none while its `prof.active` is false.
    NoObjects,
}

/// Returns a hint for the user, if there is one.
pub(crate) fn hint(server: Option<Server>, found: Found<'_>) -> Option<&'static str> {
    // A sentence is taken for folded stacks, and has an error in its first line.
    let is_other = |err: &ReadError| {
        matches!(
            err,
            ReadError::Empty | ReadError::Unknown(_) | ReadError::Text { line: 1, .. }
        )
    };
    match (found, server) {
        (Found::Status(StatusCode::UNAUTHORIZED), _) => Some(
            "credentials are taken from the address, from PLIMSOLL_HTTP_TOKEN, from \
             PLIMSOLL_HTTP_USER and PLIMSOLL_HTTP_PASSWORD, or from ~/.netrc",
        ),
        (Found::Status(_) | Found::Nobody | Found::NoObjects, Some(server)) => {
            Some(server.hint(found))
        }
        // A profile that was recognised and has an error gets no hint.
        (Found::NoProfile(err), Some(server)) if is_other(err) => Some(server.hint(found)),
        (Found::Status(StatusCode::METHOD_NOT_ALLOWED), None) => {
            Some("--from says what kind of server it is, and how its profile is asked for")
        }
        (Found::NoProfile(err), None) if is_other(err) => Some(
            "the program has to run under jemalloc with `prof:true` in MALLOC_CONF; --from knows \
             some servers",
        ),
        (Found::NoObjects, None) => Some(
            "jemalloc samples no objects with `prof_active:false` in MALLOC_CONF, until the program \
             activates its profiler",
        ),
        _ => None,
    }
}

/// Returns what a problem has found instead of a profile.
pub(crate) fn found(problem: &Problem) -> Option<Found<'static>> {
    match problem {
        Problem::Unreachable { .. } => Some(Found::Nobody),
        Problem::Status { status, .. } => Some(Found::Status(*status)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use insta::assert_snapshot;

    use super::*;

    fn asked(server: Server, base: &str) -> String {
        let requests = server.requests(&base.parse().unwrap());
        let lines = requests
            .iter()
            .map(|request| format!("{} {}", request.method, request.url));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_server_is_asked_in_its_way() {
        let servers = Server::value_variants().iter();
        let all: Vec<String> = servers
            .map(|server| asked(*server, "http://host:1"))
            .collect();
        assert_snapshot!(all.join("\n"), @r"
        GET http://host:1/debug/mem/pprof/profile?seconds=0
        POST http://host:1/debug/prof/mem
        GET http://host:1/v1/prof/mem

        GET http://host:1/pprof/heap
        GET http://host:1/debug/pprof/heap
        GET http://host:1/prof/heap
        GET http://host:1/heap
        ");
    }

    #[test]
    fn an_address_may_have_a_path() {
        let tikv = asked(Server::Tikv, "http://proxy/store-1/");
        assert_eq!(tikv, "GET http://proxy/store-1/debug/pprof/heap");
        let path = "http://host/debug/mem/pprof/profile?seconds=5";
        assert_eq!(asked(Server::Databend, path), format!("GET {path}"));
    }
}
