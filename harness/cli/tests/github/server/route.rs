//! What GitHub does with a request: who may, is it sound, the work, the answer.

use serde_json::{Value, json};

use super::description::{Description, Operation};
use super::http::{Reply, Request, encode};
use super::state::{CheckRun, Commit, State, hash};
use super::view;

/// Of a comment's body, in characters.
const BODY: usize = 65_536;
/// Of titles, in characters. The description limits `summary` and `text` and not this one.
const TITLE: usize = 255;
const TITLE_IS_LONG: &str = "title is too long (maximum is 255 characters)";
/// Of an annotation's message, in bytes.
const MESSAGE: usize = 64 * 1024;
/// GitHub lists no more files of a pull request.
const FILES: usize = 3_000;

/// An answer, and what a test wants to know beside it.
pub(crate) struct Answered {
    pub(crate) reply: Reply,
    /// Against GitHub's description, by the client.
    pub(crate) violations: Vec<String>,
    /// By this server.
    pub(crate) own: Vec<String>,
}

/// What has been done, by the keys of the answer that matter.
enum Done {
    /// With this status.
    One(u16, Value),
    List(Vec<Value>),
    /// Within an object, under this key.
    ListIn(&'static str, Vec<Value>),
    Deleted,
    /// What is asked for lies there.
    At(String),
}

/// Holds a request against the description, whether or not it gets to its work.
pub(crate) fn judge(state: &State, prefix: &str, request: &Request) -> Vec<String> {
    located(state, prefix, request).1
}

/// Does what the request asks for.
pub(crate) fn answer(state: &mut State, prefix: &str, request: &Request) -> Answered {
    let (operation, violations) = located(state, prefix, request);
    let (reply, own) = match operation {
        Err(reply) => (reply, Vec::new()),
        Ok(operation) => {
            let done = work(state, &operation, request);
            let reply =
                done.map_or_else(|refusal| refusal, |done| done.reply(state, prefix, request));
            let said =
                |what: &String| format!("{} {}: {what}", operation.method, operation.template);
            let wrong = Description::get().check(&operation, reply.status, &reply.body);
            (reply, wrong.iter().map(said).collect())
        }
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
    let mut wrong = Vec::new();
    if request.header("user-agent").is_none_or(str::is_empty) {
        wrong.push("header user-agent: missing".to_owned());
    }
    let accept = request.header("accept").unwrap_or_default();
    if accept != "application/vnd.github+json" {
        wrong.push(format!("header accept: {accept:?}"));
    }
    let path = match request.path.strip_prefix(prefix) {
        Some(path) => canonical(state, path),
        None => request.path.clone(),
    };
    let operation = match Description::get().operation(&request.method, &path) {
        Err(why) => {
            wrong.push(why);
            Err(not_found())
        }
        Ok(operation) => {
            let (more, refused) = Description::get().request(&operation, request);
            wrong.extend(more);
            match refused {
                Some(what) => Err(refusal(422, &format!("Invalid request.\n\nFor '{what}'."))),
                None => Ok(operation),
            }
        }
    };
    let said = |what: String| format!("{} {}: {what}", request.method, request.target);
    (operation, wrong.into_iter().map(said).collect())
}

/// The same request's address under `/repositories/{id}`, with that query.
pub(crate) fn by_id(state: &State, prefix: &str, request: &Request, query: &str) -> String {
    let path = request.path.strip_prefix(prefix).unwrap_or_default();
    // What follows `/repos/{owner}/{repo}` or `/repositories/{id}`.
    let names = if path.starts_with("/repos/") { 3 } else { 2 };
    let mut slashes = path.match_indices('/');
    let within = slashes.nth(names).map_or("", |(at, _)| &path[at..]);
    let (api, id) = (&state.api, state.repository.id);
    format!("{api}/repositories/{id}{within}{query}")
}

/// `/repositories/{id}/…` under its name. Links to further pages go there.
fn canonical(state: &State, path: &str) -> String {
    let by_id = format!("/repositories/{}/", state.repository.id);
    match path.strip_prefix(&by_id) {
        Some(rest) => format!("/repos/{}/{rest}", state.repository.full_name()),
        None => path.to_owned(),
    }
}

fn work(state: &mut State, operation: &Operation, request: &Request) -> Result<Done, Reply> {
    if request.header("authorization") != Some(&format!("Bearer {}", state.token)) {
        return Err(refusal(401, "Bad credentials"));
    }
    let text = |name: &str| operation.parameters[name].as_str();
    // The one number in a path; where there is none, the number of nothing.
    let numbers = operation.parameters.values();
    let id = numbers.flat_map(|text| text.parse()).next().unwrap_or(0);
    if format!("{}/{}", text("owner"), text("repo")) != state.repository.full_name() {
        return Err(not_found());
    }
    let template = &operation.template;
    let rest = template.trim_start_matches("/repos/{owner}/{repo}");
    let method = operation.method.as_str();
    permitted(state, method, rest)?;
    let body = request.json();
    Ok(match (method, rest) {
        ("get", "/issues/{issue_number}/comments") => {
            let issue = state.pulls.get(&id).ok_or_else(not_found)?;
            let comments = state.comments.values();
            let of_issue = comments.filter(|comment| comment.issue == issue.number);
            Done::List(of_issue.map(view::comment).collect())
        }
        ("post", "/issues/{issue_number}/comments") => {
            let pull = state.pulls.get(&id).ok_or_else(not_found)?;
            if pull.locked {
                let why = "Unable to create comment because issue is locked.";
                return Err(refusal(403, why));
            }
            let (issue, author) = (pull.number, state.author.clone());
            let id = state.add_comment_to(issue, comment_body(&body)?, Some(author));
            Done::One(201, view::comment(&state.comments[&id]))
        }
        ("patch", "/issues/comments/{comment_id}") => {
            let comment = state.comments.get_mut(&id).ok_or_else(not_found)?;
            comment_body(&body)?.clone_into(&mut comment.body);
            Done::One(200, view::comment(comment))
        }
        ("delete", "/issues/comments/{comment_id}") => {
            state.comments.remove(&id).ok_or_else(not_found)?;
            Done::Deleted
        }
        ("post", "/check-runs") => {
            let sha = body["head_sha"].as_str().unwrap_or_default();
            known(state, sha)?;
            let mut check = CheckRun {
                head_sha: sha.to_owned(),
                ..CheckRun::default()
            };
            update(&mut check, &body)?;
            check.id = state.id();
            let facts = view::check(&check);
            state.checks.insert(check.id, check);
            Done::One(201, facts)
        }
        ("patch", "/check-runs/{check_run_id}") => {
            let check = state.checks.get_mut(&id).ok_or_else(not_found)?;
            update(check, &body)?;
            Done::One(200, view::check(check))
        }
        ("get", "/commits/{ref}/check-runs") => {
            known(state, text("ref"))?;
            let name = request.query("check_name");
            let named = |check: &&CheckRun| name.is_none_or(|name| check.name == name);
            let of_commit = |check: &&CheckRun| check.head_sha == text("ref");
            let checks = state.checks.values().filter(of_commit);
            let mut checks: Vec<_> = checks.filter(named).collect();
            if request.query("filter") != Some("all") {
                // The latest of each name, and one name is asked for.
                checks.drain(..checks.len().saturating_sub(1));
            }
            Done::ListIn("check_runs", checks.into_iter().map(view::check).collect())
        }
        ("get", "/pulls") => {
            // `head` without an owner is overlooked, and all pull requests come back.
            let head = request.query("head").and_then(|head| head.split_once(':'));
            let open = request.query("state").unwrap_or("open") == "open";
            let pulls = state.pulls.values().filter(|pull| pull.open == open);
            let from = pulls.filter(|pull| {
                let from = pull.head.repository.as_ref();
                let owner = from.map(|repository| repository.owner.as_str());
                head.is_none_or(|head| (owner, &*pull.head.name) == (Some(head.0), head.1))
            });
            // The newest first.
            Done::List(from.rev().map(view::pull).collect())
        }
        ("get", "/pulls/{pull_number}") => {
            let pull = state.pulls.get(&id).ok_or_else(not_found)?;
            Done::One(200, view::pull(pull))
        }
        ("get", "/pulls/{pull_number}/files") => {
            let pull = state.pulls.get(&id).ok_or_else(not_found)?;
            Done::List(pull.files.iter().take(FILES).map(view::file).collect())
        }
        ("get", "/actions/runs/{run_id}") => {
            let run = state.runs.get(&id).ok_or_else(not_found)?;
            Done::One(200, view::run(run))
        }
        ("get", "/actions/runs/{run_id}/artifacts") => {
            let artifacts = state.artifacts.iter().rev();
            let of_run = artifacts.filter(|(_, artifact)| artifact.run == id);
            let facts = of_run.map(|(id, artifact)| view::artifact(*id, artifact));
            Done::ListIn("artifacts", facts.collect())
        }
        ("get", "/actions/artifacts") => {
            let name = request.query("name");
            let artifacts = state.artifacts.iter().rev();
            let of_name = artifacts.filter(|(_, artifact)| Some(&*artifact.name) == name);
            let facts = of_name.map(|(id, artifact)| view::artifact(*id, artifact));
            Done::ListIn("artifacts", facts.collect())
        }
        ("get", "/actions/artifacts/{artifact_id}/{archive_format}") => {
            let artifact = state.artifacts.get(&id).ok_or_else(not_found)?;
            if artifact.expired {
                return Err(refusal(410, "Artifact has expired"));
            }
            // Whoever has the address may read it.
            Done::At(format!("{}/storage/{id}?sig=signed%2Fby", state.storage))
        }
        (_, rest) if rest.starts_with("/git/") => git(state, operation, &body)?,
        (method, rest) => panic!("{method} {rest}: described, and not served"),
    })
}

/// Git's own objects, as far as a file on a branch needs them.
fn git(state: &mut State, operation: &Operation, body: &Value) -> Result<Done, Reply> {
    let text = |key: &str| body[key].as_str().unwrap_or_default();
    let given = operation.parameters.get("ref");
    let name = given.map(|name| format!("refs/{name}")).unwrap_or_default();
    let wrong = |what: &str| Err(refusal(422, what));
    let git = &mut state.git;
    let sha = hash(&body.to_string());
    let rest = operation.template.rsplit("/git/").next();
    Ok(
        match (operation.method.as_str(), rest.unwrap_or_default()) {
            ("post", "blobs") => {
                assert_eq!(text("encoding"), "utf-8", "no other is served");
                git.blobs.insert(sha.clone(), text("content").to_owned());
                Done::One(201, json!({"sha": sha}))
            }
            ("post", "trees") => {
                let mut tree = std::collections::BTreeMap::new();
                for entry in body["tree"].as_array().into_iter().flatten() {
                    let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
                    if !git.blobs.contains_key(&text("sha")) {
                        return wrong("tree.sha is not a valid blob");
                    }
                    let malformed = |part| ["", ".", ".."].contains(&part);
                    if text("path").split('/').any(malformed) {
                        return wrong("tree.path contains a malformed path component");
                    }
                    tree.insert(text("path"), text("sha"));
                }
                git.trees.insert(sha.clone(), tree);
                Done::One(201, json!({"sha": sha, "tree": []}))
            }
            ("post", "commits") => {
                if !git.trees.contains_key(text("tree")) {
                    return wrong("Tree SHA does not exist");
                }
                let parents = body["parents"].as_array().into_iter().flatten();
                let parents = parents.filter_map(Value::as_str).map(str::to_owned);
                let commit = Commit {
                    tree: text("tree").to_owned(),
                    parents: parents.collect(),
                };
                git.commits.insert(sha.clone(), commit);
                Done::One(201, json!({"sha": sha}))
            }
            ("post" | "patch", _) if !git.commits.contains_key(text("sha")) => {
                return wrong("Object does not exist");
            }
            ("post", "refs") => {
                if git.refs.contains_key(text("ref")) {
                    return wrong("Reference already exists");
                }
                let (name, sha) = (text("ref").to_owned(), text("sha").to_owned());
                git.refs.insert(name, sha);
                Done::One(201, view::reference(text("ref"), text("sha")))
            }
            ("patch", "refs/{ref}") => {
                let Some(old) = git.refs.get_mut(&name) else {
                    return wrong("Reference does not exist");
                };
                // No commit here is behind another.
                if body["force"] != json!(true) {
                    return wrong("Update is not a fast forward");
                }
                text("sha").clone_into(old);
                Done::One(200, view::reference(&name, text("sha")))
            }
            ("delete", "refs/{ref}") => match git.refs.remove(&name) {
                Some(_) => Done::Deleted,
                None => return wrong("Reference does not exist"),
            },
            // All that begin so, whole names or not.
            ("get", "matching-refs/{ref}") => {
                let matching = git
                    .refs
                    .iter()
                    .filter(|(found, _)| found.starts_with(&name));
                let facts = matching.map(|(name, sha)| view::reference(name, sha));
                Done::List(facts.collect())
            }
            (method, rest) => panic!("{method} {rest}: described, and not served"),
        },
    )
}

/// Any of the permissions that GitHub accepts. Everything can be read with any token, but an
/// artifact's contents cannot.
fn permitted(state: &State, method: &str, rest: &str) -> Result<(), Reply> {
    let accepted = match (method, rest.split('/').nth(1)) {
        (_, Some("actions")) if rest.starts_with("/actions/artifacts/") => "actions=read",
        ("get", _) => return Ok(()),
        (_, Some("issues")) => "issues=write; pull_requests=write",
        (_, Some("check-runs")) => "checks=write",
        _ => "contents=write",
    };
    let mut sets = accepted.split("; ");
    if sets.any(|permission| state.permissions.contains(permission)) {
        return Ok(());
    }
    let reply = refusal(403, "Resource not accessible by integration");
    Err(reply.with("X-Accepted-GitHub-Permissions", accepted))
}

fn known(state: &State, sha: &str) -> Result<(), Reply> {
    match state.knows_commit(sha) {
        true => Ok(()),
        false => Err(refusal(422, &format!("No commit found for SHA: {sha}"))),
    }
}

fn comment_body(body: &Value) -> Result<&str, Reply> {
    let body = body["body"].as_str().unwrap_or_default();
    if body.trim().is_empty() {
        return Err(refusal(422, "Body cannot be blank"));
    }
    if body.chars().count() > BODY {
        let why = "Body is too long (maximum is 65536 characters)";
        return Err(refusal(422, why));
    }
    Ok(body)
}

/// Lets a check run be what a request says, over what it was; nothing of it where any is wrong.
fn update(check: &mut CheckRun, body: &Value) -> Result<(), Reply> {
    let (output, status) = (&body["output"], &body["status"]);
    let annotations = output["annotations"].as_array();
    let annotations = annotations.cloned().unwrap_or_default();
    let title = output["title"].as_str().unwrap_or_default();
    let is_concluded = status != "completed" || body["conclusion"].is_string();
    let wrong = if title.chars().count() > TITLE {
        Some(TITLE_IS_LONG)
    } else if !is_concluded {
        Some("conclusion is required when status is completed")
    } else {
        annotations.iter().find_map(unsound)
    };
    if let Some(what) = wrong {
        return Err(refusal(422, what));
    }
    let set = |to: &mut Option<String>, value: &Value| {
        if let Some(value) = value.as_str() {
            *to = Some(value.to_owned());
        }
    };
    set(&mut check.details_url, &body["details_url"]);
    set(&mut check.external_id, &body["external_id"]);
    set(&mut check.conclusion, &body["conclusion"]);
    set(&mut check.title, &output["title"]);
    set(&mut check.summary, &output["summary"]);
    if let Some(name) = body["name"].as_str() {
        name.clone_into(&mut check.name);
    }
    // They add up.
    check.annotations.extend(annotations);
    Ok(())
}

/// What GitHub refuses of an annotation, beside what is described.
fn unsound(annotation: &Value) -> Option<&'static str> {
    let text = |key: &str| annotation[key].as_str().unwrap_or_default();
    let (path, message) = (text("path"), text("message"));
    let line = |key: &str| annotation[key].as_i64();
    let (start, end) = (line("start_line"), line("end_line"));
    let is_long = message.len() > MESSAGE;
    let leaves = path.split('/').any(|part| part == "..");
    let columns = start != end && annotation.get("start_column").is_some();
    let titled = text("title").chars().count() > TITLE;
    let rules = [
        (path.is_empty(), "path cannot be blank"),
        (
            path.starts_with('/'),
            "path must be relative to the repository",
        ),
        (leaves, "path must not leave the repository"),
        (start < Some(1), "start_line must be greater than 0"),
        (end < start, "end_line must not be before start_line"),
        (
            columns,
            "start_column is allowed only where start_line equals end_line",
        ),
        (message.is_empty(), "message cannot be blank"),
        (is_long, "message is too long (maximum is 64 KB)"),
        (titled, TITLE_IS_LONG),
    ];
    let mut broken = rules.into_iter().filter(|(is_broken, _)| *is_broken);
    broken.next().map(|(_, what)| what)
}

fn refusal(status: u16, message: &str) -> Reply {
    let body = json!({
        "message": message,
        "documentation_url": "https://docs.github.com/rest",
        "status": status.to_string(),
    });
    Reply::json(status, &body)
}

fn not_found() -> Reply {
    refusal(404, "Not Found")
}

impl Done {
    fn reply(self, state: &State, prefix: &str, request: &Request) -> Reply {
        let (all, key) = match self {
            Done::One(status, facts) => return Reply::json(status, &facts),
            Done::Deleted => return Reply::new(204, b""),
            Done::At(url) => return Reply::new(302, b"").with("Location", url),
            Done::List(all) => (all, None),
            Done::ListIn(key, all) => (all, Some(key)),
        };
        let total = all.len();
        let number = |name: &str, default: usize| {
            let given = request.query(name).and_then(|text| text.parse().ok());
            given.filter(|&number| number > 0).unwrap_or(default)
        };
        let (size, page) = (number("per_page", 30).min(100), number("page", 1));
        let items: Value = all.into_iter().skip((page - 1) * size).take(size).collect();
        let reply = match key {
            None => Reply::json(200, &items),
            Some(key) => Reply::json(200, &json!({"total_count": total, key: items})),
        };
        if page * size >= total {
            return reply;
        }
        let others = request.query.iter().filter(|(name, _)| name != "page");
        let query: String = others
            .map(|(name, value)| format!("{name}={}&", encode(value)))
            .collect();
        // The client has to tell the next page from others, and finds the repository by its id.
        let link = |page: usize, what: &str| {
            let url = by_id(state, prefix, request, &format!("?{query}page={page}"));
            format!("<{url}>; rel=\"{what}\"")
        };
        let last = total.div_ceil(size);
        let links = format!("{}, {}", link(last, "last"), link(page + 1, "next"));
        reply.with("Link", links)
    }
}
