//! What GitHub does with a request: who may, is it sound, the work, the answer.

mod actions;
mod checks;
mod comments;
mod git;
mod pulls;

use serde_json::{Value, json};

use super::description::{Description, Operation, Stranger};
use super::http::{Reply, Request, encode};
use super::state::State;

/// An answer, and what a test wants to know beside it.
pub(crate) struct Answered {
    pub(crate) reply: Reply,
    /// Against GitHub's description, by the client.
    pub(crate) violations: Vec<String>,
    /// By this server.
    pub(crate) own: Vec<String>,
}

/// What a handler has in hand.
pub(crate) struct Call<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) request: &'a Request,
    pub(crate) operation: &'a Operation,
    pub(crate) body: Value,
}

/// A handler's answer; the error is one too.
pub(crate) type Handled = Result<Reply, Reply>;

/// Holds a request against the description, whether or not it gets to its work.
pub(crate) fn judge(state: &State, prefix: &str, request: &Request) -> Vec<String> {
    located(state, prefix, request).1
}

/// Does what the request asks for.
pub(crate) fn answer(state: &mut State, prefix: &str, request: &Request) -> Answered {
    let (operation, violations) = located(state, prefix, request);
    let reply = match &operation {
        Ok(operation) => work(state, operation, request),
        Err(reply) => Err(reply.clone()),
    };
    let reply = reply.unwrap_or_else(|refusal| refusal);
    let own = match &operation {
        Ok(operation) => Description::get()
            .answer(operation, reply.status, &reply.body)
            .into_iter()
            .map(|what| format!("{} {}: {what}", operation.method, operation.template))
            .collect(),
        Err(_) => Vec::new(),
    };
    Answered {
        reply,
        violations,
        own,
    }
}

/// The operation, or what is answered without one; and what is wrong with the request.
fn located(
    state: &State,
    prefix: &str,
    request: &Request,
) -> (Result<Operation, Reply>, Vec<String>) {
    let mut violations = Vec::new();
    let mut wrong = |what: &str| {
        violations.push(format!("{} {}: {what}", request.method, request.target));
    };
    if request.header("user-agent").is_none_or(str::is_empty) {
        wrong("header user-agent: missing");
        let body = b"\r\nRequest forbidden by administrative rules. Please make sure your request \
                     has a User-Agent header (https://docs.github.com/en/rest/overview/\
                     resources-in-the-rest-api#user-agent-required).\r\n";
        let reply = Reply {
            body: body.to_vec(),
            ..Reply::empty(403).with("Content-Type", "text/plain; charset=utf-8")
        };
        return (Err(reply), violations);
    }
    let accept = request.header("accept").unwrap_or_default();
    if accept != "application/vnd.github+json" {
        wrong(&format!(
            "header accept: expected \"application/vnd.github+json\", found {accept:?}"
        ));
    }
    let Some(path) = request.path.strip_prefix(prefix) else {
        wrong(&format!("a path outside of {prefix}"));
        return (Err(not_found()), violations);
    };
    let path = match canonical(state, path) {
        Ok(path) => path,
        // What the client did is all right; it is not the place any more.
        Err(moved) => return (Err(*moved.into_reply(state, request)), violations),
    };
    let description = Description::get();
    let operation = match description.operation(&request.method, &path) {
        Ok(operation) => operation,
        Err(Stranger::Path) => {
            wrong("no such path in the description");
            return (Err(not_found()), violations);
        }
        Err(Stranger::Method(methods)) => {
            wrong(&format!("expected one of {methods:?} at this path"));
            return (Err(not_found()), violations);
        }
    };
    let found = description.request(&operation, request);
    for what in found.url.iter().chain(&found.unknown) {
        wrong(what);
    }
    for what in &found.body {
        wrong(what);
    }
    match found.body.first() {
        Some(what) => (Err(unsound(request, what)), violations),
        None => (Ok(operation), violations),
    }
}

/// A path that is served under another address.
struct Moved(String);

impl Moved {
    fn into_reply(self, state: &State, request: &Request) -> Box<Reply> {
        // A body has to go with the request, so a write keeps its method.
        let status = if request.method == "GET" { 301 } else { 307 };
        let url = address(state, &self.0, request);
        let body = json!({
            "message": "Moved Permanently",
            "url": url,
            "documentation_url": DOCUMENTATION,
        });
        Box::new(Reply::json(status, &body).with("Location", url))
    }
}

/// Where a request's path within the repository is, whatever the repository's name.
fn address(state: &State, rest: &str, request: &Request) -> String {
    let query = request
        .target
        .find('?')
        .map_or("", |at| &request.target[at..]);
    format!(
        "{}/repositories/{}{rest}{query}",
        state.api, state.repository.id
    )
}

/// The same request's address under `/repositories/{id}`.
pub(crate) fn by_id(state: &State, prefix: &str, request: &Request) -> String {
    let path = request.path.strip_prefix(prefix).unwrap_or(&request.path);
    address(state, within(path), request)
}

/// What follows `/repos/{owner}/{repo}` or `/repositories/{id}`.
fn within(path: &str) -> &str {
    let names = if path.starts_with("/repos/") { 3 } else { 2 };
    path.match_indices('/')
        .nth(names)
        .map_or("", |(at, _)| &path[at..])
}

/// `/repositories/{id}/…` under its name. Links to further pages go there.
fn canonical(state: &State, path: &str) -> Result<String, Moved> {
    if let Some(rest) = path.strip_prefix("/repositories/") {
        let (id, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if id == state.repository.id.to_string() {
            return Ok(format!("/repos/{}{rest}", state.repository.full_name()));
        }
    }
    if let Some(rest) = path.strip_prefix("/repos/") {
        let former = |name: &&String| {
            let after = rest.strip_prefix(name.as_str());
            after.is_some_and(|after| after.is_empty() || after.starts_with('/'))
        };
        if let Some(name) = state.former.iter().find(former) {
            return Err(Moved(rest[name.len()..].to_owned()));
        }
    }
    Ok(path.to_owned())
}

fn work(state: &mut State, operation: &Operation, request: &Request) -> Handled {
    admitted(state, request)?;
    let parameter = |name: &str| operation.parameters[name].to_ascii_lowercase();
    let named = format!("{}/{}", parameter("owner"), parameter("repo"));
    if named != state.repository.full_name().to_ascii_lowercase() {
        return Err(not_found());
    }
    let rest = operation
        .template
        .trim_start_matches("/repos/{owner}/{repo}");
    permitted(state, &operation.method, rest)?;
    let call = Call {
        body: request.json(),
        state,
        request,
        operation,
    };
    match (operation.method.as_str(), rest) {
        ("get", "") => Ok(Reply::json(200, &call.state.full_repository())),
        ("get", "/issues/{issue_number}/comments") => comments::list(&call),
        ("post", "/issues/{issue_number}/comments") => comments::create(call),
        ("patch", "/issues/comments/{comment_id}") => comments::update(call),
        ("delete", "/issues/comments/{comment_id}") => comments::delete(call),
        ("post", "/check-runs") => checks::create(call),
        ("patch", "/check-runs/{check_run_id}") => checks::update(call),
        ("get", "/commits/{ref}/check-runs") => checks::list(&call),
        ("get", "/pulls") => pulls::list(&call),
        ("get", "/pulls/{pull_number}") => pulls::get(&call),
        ("get", "/pulls/{pull_number}/files") => pulls::files(&call),
        ("get", "/commits/{commit_sha}/pulls") => pulls::of_commit(&call),
        ("get", "/actions/runs/{run_id}") => actions::run(&call),
        ("get", "/actions/runs/{run_id}/artifacts") => actions::artifacts(&call),
        ("get", "/actions/artifacts/{artifact_id}/{archive_format}") => actions::download(&call),
        ("post", "/git/blobs") => git::blob(call),
        ("post", "/git/trees") => git::tree(call),
        ("post", "/git/commits") => git::commit(call),
        ("post", "/git/refs") => git::create_ref(call),
        ("get", "/git/ref/{ref}") => git::get_ref(&call),
        ("get", "/git/matching-refs/{ref}") => git::matching_refs(&call),
        ("patch", "/git/refs/{ref}") => git::update_ref(call),
        ("delete", "/git/refs/{ref}") => git::delete_ref(call),
        (method, rest) => panic!("{method} {rest}: described, and not served"),
    }
}

fn admitted(state: &State, request: &Request) -> Result<(), Reply> {
    let given = request.header("authorization").map(|value| {
        let (scheme, token) = value.split_once(' ').unwrap_or_default();
        (scheme.to_ascii_lowercase(), token)
    });
    match given {
        None => Err(refusal(401, "Requires authentication")),
        Some((scheme, token))
            if ["bearer", "token"].contains(&scheme.as_str()) && token == state.token =>
        {
            Ok(())
        }
        Some(_) => Err(refusal(401, "Bad credentials")),
    }
}

/// Any of the permissions that GitHub accepts; what is public can be read with any
/// token, but an artifact's contents cannot.
fn permitted(state: &State, method: &str, rest: &str) -> Result<(), Reply> {
    let download = rest.starts_with("/actions/artifacts/");
    let reads = method == "get";
    if reads && !state.repository.private && !download {
        return Ok(());
    }
    let areas: &[&str] = match rest {
        "" => &["metadata"],
        _ if rest.starts_with("/issues/") => &["issues", "pull_requests"],
        _ if rest.contains("/check-runs") || rest == "/check-runs" => &["checks"],
        _ if rest.starts_with("/pulls") => &["pull_requests"],
        _ if rest.ends_with("/pulls") => &["pull_requests", "contents"],
        _ if rest.starts_with("/actions/") => &["actions"],
        _ => &["contents"],
    };
    // Every installation token may read metadata.
    if areas == ["metadata"] {
        return Ok(());
    }
    let access = if reads { "read" } else { "write" };
    let accepted: Vec<_> = areas
        .iter()
        .map(|area| format!("{area}={access}"))
        .collect();
    if accepted.iter().any(|permission| state.may(permission)) {
        return Ok(());
    }
    Err(refusal(403, "Resource not accessible by integration")
        .with("X-Accepted-GitHub-Permissions", accepted.join("; ")))
}

const DOCUMENTATION: &str = "https://docs.github.com/rest";

pub(crate) fn refusal(status: u16, message: &str) -> Reply {
    let body = json!({
        "message": message,
        "documentation_url": DOCUMENTATION,
        "status": status.to_string(),
    });
    Reply::json(status, &body)
}

pub(crate) fn not_found() -> Reply {
    refusal(404, "Not Found")
}

/// `Validation Failed`, for a reason that is data.
pub(crate) fn invalid(resource: &str, field: &str, code: &str, message: &str) -> Reply {
    let body = json!({
        "message": "Validation Failed",
        "errors": [{
            "resource": resource,
            "code": code,
            "field": field,
            "message": message,
        }],
        "documentation_url": DOCUMENTATION,
        "status": "422",
    });
    Reply::json(422, &body)
}

/// For a body that does not fit its schema.
fn unsound(request: &Request, what: &str) -> Reply {
    match serde_json::from_slice::<Value>(&request.body) {
        Err(_) if !request.body.is_empty() => refusal(400, "Problems parsing JSON"),
        _ => refusal(422, &format!("Invalid request.\n\nFor '{what}'.")),
    }
}

impl Call<'_> {
    pub(crate) fn text(&self, parameter: &str) -> &str {
        &self.operation.parameters[parameter]
    }

    /// A number in the path; what is none is the number of nothing.
    pub(crate) fn number(&self, parameter: &str) -> u64 {
        self.text(parameter).parse().unwrap_or(0)
    }

    /// A page of a list, with links to the others.
    pub(crate) fn page(&self, items: Vec<Value>) -> Reply {
        let (items, link) = self.cut(items);
        linked(Reply::json(200, &Value::Array(items)), link)
    }

    /// The same, for a list within an object.
    pub(crate) fn page_in(&self, key: &str, items: Vec<Value>) -> Reply {
        let total = items.len();
        let (items, link) = self.cut(items);
        linked(
            Reply::json(200, &json!({"total_count": total, key: items})),
            link,
        )
    }

    fn cut(&self, items: Vec<Value>) -> (Vec<Value>, Option<String>) {
        let number = |name: &str, default: usize| {
            let given = self.request.query(name).and_then(|text| text.parse().ok());
            given.filter(|&number| number > 0).unwrap_or(default)
        };
        let size = number("per_page", 30).min(100);
        let (page, last) = (number("page", 1), items.len().div_ceil(size).max(1));
        let mut links = Vec::new();
        let mut add = |page: usize, relation: &str| {
            links.push(format!("<{}>; rel=\"{relation}\"", self.url_of(page)));
        };
        if page > 1 {
            add((page - 1).min(last), "prev");
        }
        if page < last {
            add(page + 1, "next");
            add(last, "last");
        }
        if page > 1 {
            add(1, "first");
        }
        let items = items
            .into_iter()
            .skip((page - 1).saturating_mul(size))
            .take(size)
            .collect();
        (items, (!links.is_empty()).then(|| links.join(", ")))
    }

    /// GitHub's links name the repository by its id.
    fn url_of(&self, page: usize) -> String {
        let prefix = self.state.api.splitn(4, '/').nth(3).unwrap_or_default();
        let path = self.request.path.trim_start_matches('/');
        let path = path
            .strip_prefix(prefix)
            .unwrap_or(path)
            .trim_start_matches('/');
        let mut query: Vec<_> = self
            .request
            .query
            .iter()
            .filter(|(name, _)| name != "page")
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        query.push(format!("page={page}"));
        format!(
            "{}/repositories/{}{}?{}",
            self.state.api,
            self.state.repository.id,
            within(&format!("/{path}")),
            query.join("&")
        )
    }
}

fn linked(reply: Reply, link: Option<String>) -> Reply {
    match link {
        Some(link) => reply.with("Link", link),
        None => reply,
    }
}
