//! A WebDAV server (`dav-server`) with files and locks in memory (`MemFs`, `MemLs`).
//!
//! Kept, each in the tree of `MemLs`:
//!
//! - a lock that has expired: nothing reads `DavLock::timeout_at`. The file stays locked, too;
//! - the lock of a file that was deleted while it was locked: `Tree::delete_subtree` unlinks the
//!   node from its parent, and leaves it in the map `Tree::nodes`;
//! - a node for each folder above a lock that was unlocked: `MemLs::unlock` removes the file's
//!   node alone.

use anyhow::{Context, ensure};
use bytes::Bytes;
use dav_server::DavHandler;
use dav_server::memfs::MemFs;
use dav_server::memls::MemLs;
use http::request::Builder;
use http::{Method, Request};
use http_body_util::Full;
use plimsoll::Scenario;
use tokio::runtime::Runtime;

const EXCLUSIVE: &str = concat!(
    r#"<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:">"#,
    "<D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>",
);

const SHARED: &str = concat!(
    r#"<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:">"#,
    "<D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>",
);

struct Server {
    runtime: Runtime,
    files: Box<MemFs>,
    handler: DavHandler,
}

fn handler(files: &MemFs) -> DavHandler {
    DavHandler::builder()
        .filesystem(Box::new(files.clone()))
        .locksystem(MemLs::new())
        .build_handler()
}

fn serve() -> Server {
    let files = MemFs::new();
    Server {
        runtime: super::runtime(),
        handler: handler(&files),
        files,
    }
}

fn method(name: &str) -> Method {
    Method::from_bytes(name.as_bytes()).expect("a token")
}

impl Server {
    /// Returns the token of the lock, if the response has one.
    fn request(&self, request: Builder, body: &'static str) -> anyhow::Result<Option<String>> {
        let request: Request<_> = request.body(Full::new(Bytes::from(body)))?;
        let response = self.runtime.block_on(self.handler.handle(request));
        ensure!(response.status().is_success(), "{:?}", response.status());
        let token = response.headers().get("lock-token");
        token
            .map(|token| Ok(token.to_str()?.to_owned()))
            .transpose()
    }

    fn create(&self, path: &str) -> anyhow::Result<()> {
        let request = Request::builder().method(Method::PUT).uri(path);
        self.request(request, "hello")?;
        Ok(())
    }

    fn lock_for(&self, path: &str, time: &str, lock: &'static str) -> anyhow::Result<String> {
        let request = Request::builder()
            .method(method("LOCK"))
            .uri(path)
            .header("depth", "0")
            .header("timeout", time);
        self.request(request, lock)?.context("a token")
    }

    fn lock(&self, path: &str) -> anyhow::Result<String> {
        self.lock_for(path, "Second-60", EXCLUSIVE)
    }

    fn unlock(&self, path: &str, token: &str) -> anyhow::Result<()> {
        let request = Request::builder()
            .method(method("UNLOCK"))
            .uri(path)
            .header("lock-token", token);
        self.request(request, "")?;
        Ok(())
    }

    fn delete(&self, path: &str) -> anyhow::Result<()> {
        let request = Request::builder().method(Method::DELETE).uri(path);
        self.request(request, "")?;
        Ok(())
    }

    fn delete_locked(&self, path: &str, token: &str) -> anyhow::Result<()> {
        let request = Request::builder()
            .method(Method::DELETE)
            .uri(path)
            .header("if", format!("({token})"));
        self.request(request, "")?;
        Ok(())
    }
}

/// A file is created, locked and deleted, with its lock.
fn delete_locked(server: &mut Server, i: u64) -> anyhow::Result<()> {
    let path = format!("/draft-{i}");
    server.create(&path)?;
    let token = server.lock(&path)?;
    server.delete_locked(&path, &token)
}

/// New locks after a hundred files, for the same files. Nobody holds a lock then.
fn delete_locked_renewed(server: &mut Server, i: u64) -> anyhow::Result<()> {
    if i.is_multiple_of(100) {
        server.handler = handler(&server.files);
    }
    delete_locked(server, i)
}

/// A file is created, locked, unlocked and deleted.
fn delete_unlocked(server: &mut Server, i: u64) -> anyhow::Result<()> {
    let path = format!("/draft-{i}");
    server.create(&path)?;
    let token = server.lock(&path)?;
    server.unlock(&path, &token)?;
    server.delete(&path)
}

/// The same, in a folder that is created and deleted.
fn delete_folder(server: &mut Server, i: u64) -> anyhow::Result<()> {
    let folder = format!("/user-{i}");
    let request = Request::builder().method(method("MKCOL")).uri(&folder);
    server.request(request, "")?;
    let path = format!("{folder}/draft");
    server.create(&path)?;
    let token = server.lock(&path)?;
    server.unlock(&path, &token)?;
    server.delete(&folder)
}

fn serve_plan() -> Server {
    let server = serve();
    server.create("/plan").expect("a new file");
    server
}

/// A client shares the lock of a file, for no time at all, and goes.
fn expire(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    server.lock_for("/plan", "Second-0", SHARED)?;
    Ok(())
}

/// A client shares the lock of a file, and unlocks it.
fn unlock(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    let token = server.lock_for("/plan", "Second-60", SHARED)?;
    server.unlock("/plan", &token)
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // Files are deleted while they are locked.
        Scenario::with_state("dav_server_locked", serve, delete_locked),
        Scenario::with_state("dav_server_locked_renewed", serve, delete_locked_renewed),
        // Files are unlocked first.
        Scenario::with_state("dav_server_unlocked", serve, delete_unlocked),
        // Files are unlocked first, each in a folder of its own.
        Scenario::with_state("dav_server_folders", serve, delete_folder),
        // Locks expire. Each request visits all of them.
        Scenario::with_state("dav_server_expired", serve_plan, expire).max_iterations(4_096),
        // Locks are unlocked.
        Scenario::with_state("dav_server_shared", serve_plan, unlock),
    ]
}
