//! What GitHub does with a request: who may, is it sound, the work, the answer.

use serde_json::{Value, json};

use super::description::{Description, Operation};
use super::http::{Reply, Request, encode};
use super::state::{All, REPOSITORY, State, TOKEN, hash};

/// Of a comment's body, in characters.
const BODY: usize = 65_536;
/// Of titles, in characters. The description limits `summary` and `text` and not this one.
const TITLE: usize = 255;
const TITLE_IS_LONG: &str = "title is too long (maximum is 255 characters)";
/// Of an annotation's message, in bytes.
const MESSAGE: usize = 64 * 1024;
/// GitHub lists no more files of a pull request.
const FILES: usize = 3_000;

/// What has been done.
enum Done {
    /// With this status.
    One(u16, Value),
    /// Within an object, under this key; or alone, under none.
    List(&'static str, Vec<Value>),
    Deleted,
    /// What is asked for lies there.
    At(String),
}

/// Does what the request asks for, if it is to be done. Returns the answer, and what in the request
/// or the answer is against GitHub's description.
pub(crate) fn answer(state: &mut State, request: &Request, works: bool) -> (Reply, Vec<String>) {
    let (operation, mut wrong) = located(state, request);
    let reply = match operation {
        Err(reply) => reply,
        Ok(_) if !works => Reply::new(200, b""),
        Ok(operation) => {
            let done = work(state, &operation, request);
            let reply = done.map_or_else(|refused| refused, |done| done.reply(state, request));
            let own = Description::get().check(&operation, reply.status, &reply.body);
            let place = format!("the answer to {} {}", operation.method, operation.template);
            wrong.extend(own.iter().map(|what| format!("{place}: {what}")));
            reply
        }
    };
    (reply, wrong)
}

/// The operation, or what is answered without one; and what is wrong with the request.
fn located(state: &State, request: &Request) -> (Result<Operation, Reply>, Vec<String>) {
    let mut wrong = Vec::new();
    if request.header("user-agent").is_none_or(str::is_empty) {
        wrong.push("header user-agent: missing".to_owned());
    }
    let accept = request.header("accept").unwrap_or_default();
    if accept != "application/vnd.github+json" {
        wrong.push(format!("header accept: {accept:?}"));
    }
    let path = request.path.strip_prefix(&*state.prefix);
    let path = path.unwrap_or(&request.path);
    // Links to further pages have the repository's id.
    let by_name = path.strip_prefix(REPOSITORY[1]);
    let path = by_name.map_or(path.to_owned(), |rest| REPOSITORY[0].to_owned() + rest);
    let operation = match Description::get().operation(&request.method, &path) {
        Err(why) => {
            wrong.push(why);
            Err(not_found())
        }
        Ok(operation) => {
            let (more, refused) = Description::get().request(&operation, request);
            wrong.extend(more);
            let why = |what| format!("Invalid request.\n\nFor '{what}'.");
            match refused {
                Some(what) => Err(Reply::says(422, &why(what))),
                None => Ok(operation),
            }
        }
    };
    let said = |what: String| format!("{} {}: {what}", request.method, request.target);
    (operation, wrong.into_iter().map(said).collect())
}

fn work(state: &mut State, operation: &Operation, request: &Request) -> Result<Done, Reply> {
    if request.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return Err(Reply::says(401, "Bad credentials"));
    }
    let text = |name: &str| operation.parameters[name].as_str();
    if [text("owner"), text("repo")] != ["octo", "demo"] {
        return Err(not_found());
    }
    // The one number in a path; where there is none, the number of nothing.
    let numbers = operation.parameters.values();
    let id = numbers.flat_map(|text| text.parse()).next().unwrap_or(0);
    let template = &operation.template;
    let rest = template.trim_start_matches("/repos/{owner}/{repo}");
    let method = operation.method.as_str();
    permitted(state, method, rest)?;
    let body = request.json();
    Ok(match (method, rest) {
        ("get", "/issues/{issue_number}/comments") => {
            one(&state.pulls, id)?;
            let end = json!(state.issue_url(id));
            let comments = select(&state.comments, |comment| comment["issue_url"] == end);
            Done::List("", comments)
        }
        ("post", "/issues/{issue_number}/comments") => {
            one(&state.pulls, id)?;
            let author = state.author.clone();
            let id = state.add_comment(id, comment_body(&body)?, author);
            Done::One(201, one(&state.comments, id)?)
        }
        ("patch", "/issues/comments/{comment_id}") => {
            let comment = state.comments.get_mut(&id).ok_or_else(not_found)?;
            comment["body"] = json!(comment_body(&body)?);
            Done::One(200, comment.clone())
        }
        ("delete", "/issues/comments/{comment_id}") => {
            state.comments.remove(&id).ok_or_else(not_found)?;
            Done::Deleted
        }
        ("post", "/check-runs") => {
            known(state, body["head_sha"].as_str().unwrap_or_default())?;
            let new = json!({
                "id": state.id(),
                "name": null,
                "head_sha": body["head_sha"],
                "external_id": null,
                "details_url": null,
                "conclusion": null,
                "output": {"title": null, "summary": null, "annotations_count": 0},
            });
            Done::One(201, update(state, new, &body)?)
        }
        ("patch", "/check-runs/{check_run_id}") => {
            let old = one(&state.checks, id)?;
            Done::One(200, update(state, old, &body)?)
        }
        ("get", "/commits/{ref}/check-runs") => {
            known(state, text("ref"))?;
            let name = request.query("check_name");
            let mut checks = select(&state.checks, |check| {
                check["head_sha"] == text("ref") && name.is_none_or(|name| check["name"] == name)
            });
            if request.query("filter") != Some("all") {
                // The latest of each name, and one name is asked for.
                checks.drain(..checks.len().saturating_sub(1));
            }
            Done::List("check_runs", checks)
        }
        ("get", "/pulls") => {
            let open = request.query("state").unwrap_or("open");
            // `head` without an owner is overlooked, and all pull requests come back.
            let from = request.query("head").and_then(|head| head.split_once(':'));
            let mut pulls = select(&state.pulls, |pull| {
                let head = &pull["head"];
                let is_from = |(owner, branch): (&str, &str)| {
                    head["repo"]["full_name"] == format!("{owner}/demo") && head["ref"] == branch
                };
                pull["state"] == open && from.is_none_or(is_from)
            });
            // The newest first.
            pulls.reverse();
            Done::List("", pulls)
        }
        ("get", "/pulls/{pull_number}") => Done::One(200, one(&state.pulls, id)?),
        ("get", "/pulls/{pull_number}/files") => {
            one(&state.pulls, id)?;
            let files = state.files.iter().take(FILES);
            Done::List("", files.cloned().collect())
        }
        ("get", "/actions/runs/{run_id}") => Done::One(200, one(&state.runs, id)?),
        ("get", "/actions/runs/{run_id}/artifacts") => {
            let is_of = |artifact: &Value| artifact["workflow_run"]["id"] == id;
            Done::List("artifacts", select(&state.artifacts, is_of))
        }
        ("get", "/actions/artifacts") => {
            let name = request.query("name").unwrap_or_default();
            let is_called = |artifact: &Value| artifact["name"] == name;
            Done::List("artifacts", select(&state.artifacts, is_called))
        }
        ("get", "/actions/artifacts/{artifact_id}/{archive_format}") => {
            if one(&state.artifacts, id)?["expired"] == true {
                return Err(Reply::says(410, "Artifact has expired"));
            }
            // Whoever has the address may read it.
            Done::At(format!("{}/storage/{id}?sig=signed%2Fby", state.storage))
        }
        (_, rest) if rest.starts_with("/git/") => git(state, operation, &body)?,
        (method, rest) => panic!("{method} {rest}: described, and not served"),
    })
}

fn one(all: &All, id: u64) -> Result<Value, Reply> {
    all.get(&id).cloned().ok_or_else(not_found)
}

fn select(all: &All, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
    all.values().filter(|one| is_it(one)).cloned().collect()
}

/// Git's own objects, as far as a file on a branch needs them.
fn git(state: &mut State, operation: &Operation, body: &Value) -> Result<Done, Reply> {
    let given = operation.parameters.get("ref");
    let name = given.map(|name| format!("refs/{name}")).unwrap_or_default();
    let rest = operation.template.rsplit("/git/").next();
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let reference = |(name, sha): (&String, &String)| json!({"ref": name, "object": {"sha": sha, "type": "commit"}});
    let wrong = |what: &str| Err(Reply::says(422, what));
    let has = |sha: &Value, key: &str| {
        let object = sha.as_str().and_then(|sha| state.objects.get(sha));
        object.is_some_and(|object| object.get(key).is_some())
    };
    let mut entries = body["tree"].as_array().into_iter().flatten();
    let asked = (operation.method.as_str(), rest.unwrap_or_default());
    Ok(match asked {
        ("post", "trees") if !entries.all(|entry| has(&entry["sha"], "content")) => {
            return wrong("tree.sha is not a valid blob");
        }
        ("post", "commits") if !has(&body["tree"], "tree") => {
            return wrong("Tree SHA does not exist");
        }
        ("post", "blobs" | "trees" | "commits") => {
            let sha = hash(&body.to_string());
            state.objects.insert(sha.clone(), body.clone());
            Done::One(201, json!({"sha": sha}))
        }
        ("post" | "patch", _) if !has(&body["sha"], "parents") => {
            return wrong("Object does not exist");
        }
        ("post", "refs") if state.refs.contains_key(&text("ref")) => {
            return wrong("Reference already exists");
        }
        ("post", "refs") => {
            let new = (&text("ref"), &text("sha"));
            state.refs.insert(new.0.clone(), new.1.clone());
            Done::One(201, reference(new))
        }
        ("patch" | "delete", _) if !state.refs.contains_key(&name) => {
            return wrong("Reference does not exist");
        }
        // No commit here is behind another.
        ("patch", _) if body["force"] != true => return wrong("Update is not a fast forward"),
        ("patch", _) => {
            state.refs.insert(name.clone(), text("sha"));
            Done::One(200, reference((&name, &text("sha"))))
        }
        ("delete", _) => {
            state.refs.remove(&name);
            Done::Deleted
        }
        // A name matches all references that begin with it.
        ("get", "matching-refs/{ref}") => {
            let all = state
                .refs
                .iter()
                .filter(|(found, _)| found.starts_with(&name));
            Done::List("", all.map(reference).collect())
        }
        (method, rest) => panic!("{method} {rest}: described, and not served"),
    })
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
    let reply = Reply::says(403, "Resource not accessible by integration");
    Err(reply.with("X-Accepted-GitHub-Permissions", accepted))
}

fn known(state: &State, sha: &str) -> Result<(), Reply> {
    match state.knows_commit(sha) {
        true => Ok(()),
        false => Err(Reply::says(422, &format!("No commit found for SHA: {sha}"))),
    }
}

fn comment_body(body: &Value) -> Result<&str, Reply> {
    let body = body["body"].as_str().unwrap_or_default();
    if body.trim().is_empty() {
        return Err(Reply::says(422, "Body cannot be blank"));
    }
    if body.chars().count() > BODY {
        let why = "Body is too long (maximum is 65536 characters)";
        return Err(Reply::says(422, why));
    }
    Ok(body)
}

/// Lets a check run be what a request says, over what it was; nothing of it where any is wrong.
fn update(state: &mut State, mut check: Value, body: &Value) -> Result<Value, Reply> {
    let new = body["output"]["annotations"].as_array();
    let new = new.map_or(&[][..], Vec::as_slice);
    let wrong = if is_long(&body["output"]["title"]) {
        Some(TITLE_IS_LONG)
    } else if body["status"] == "completed" && !body["conclusion"].is_string() {
        Some("conclusion is required when status is completed")
    } else {
        new.iter().find_map(unsound)
    };
    if let Some(what) = wrong {
        return Err(Reply::says(422, what));
    }
    let places = "/name /details_url /external_id /conclusion /output/title /output/summary";
    for place in places.split(' ') {
        if let (Some(new), Some(old)) = (body.pointer(place), check.pointer_mut(place)) {
            *old = new.clone();
        }
    }
    let id = check["id"].as_u64().unwrap_or_default();
    // They add up.
    let annotations = state.annotations.entry(id).or_default();
    annotations.extend_from_slice(new);
    check["output"]["annotations_count"] = json!(annotations.len());
    state.checks.insert(id, check.clone());
    Ok(check)
}

fn is_long(title: &Value) -> bool {
    let title = title.as_str().unwrap_or_default();
    title.chars().count() > TITLE
}

/// What GitHub refuses of an annotation, beside what is described.
fn unsound(annotation: &Value) -> Option<&'static str> {
    let text = |key: &str| annotation[key].as_str().unwrap_or_default();
    let (path, message) = (text("path"), text("message"));
    let line = |key: &str| annotation[key].as_i64();
    let (start, end) = (line("start_line"), line("end_line"));
    let absolute = path.starts_with('/');
    let leaves = path.split('/').any(|part| part == "..");
    let columns = start != end && annotation.get("start_column").is_some();
    let message_is_long = "message is too long (maximum is 64 KB)";
    let of_one = "start_column is allowed only where start_line equals end_line";
    let rules = [
        (path.is_empty(), "path cannot be blank"),
        (absolute, "path must be relative to the repository"),
        (leaves, "path must not leave the repository"),
        (start < Some(1), "start_line must be greater than 0"),
        (end < start, "end_line must not be before start_line"),
        (columns, of_one),
        (message.is_empty(), "message cannot be blank"),
        (message.len() > MESSAGE, message_is_long),
        (is_long(&annotation["title"]), TITLE_IS_LONG),
    ];
    let mut broken = rules.into_iter().filter(|(is_broken, _)| *is_broken);
    broken.next().map(|(_, what)| what)
}

fn not_found() -> Reply {
    Reply::says(404, "Not Found")
}

impl Done {
    fn reply(self, state: &State, request: &Request) -> Reply {
        let (key, all) = match self {
            Done::One(status, facts) => return Reply::json(status, &facts),
            Done::Deleted => return Reply::new(204, b""),
            Done::At(url) => return Reply::new(302, b"").with("Location", url),
            Done::List(key, all) => (key, all),
        };
        let total = all.len();
        let number = |name: &str, default: usize| {
            let given = request.query(name).and_then(|text| text.parse().ok());
            given.filter(|&number| number > 0).unwrap_or(default)
        };
        let (size, page) = (number("per_page", 30).min(100), number("page", 1));
        let items: Value = all.into_iter().skip((page - 1) * size).take(size).collect();
        let reply = match key {
            "" => Reply::json(200, &items),
            key => Reply::json(200, &json!({"total_count": total, key: items})),
        };
        if page * size >= total {
            return reply;
        }
        let others = request.query.iter().filter(|(name, _)| name != "page");
        let query: String = others
            .map(|(name, value)| format!("{name}={}&", encode(value)))
            .collect();
        // The client has to tell the next page from others, and finds the repository by its id.
        let path = request.path.strip_prefix(&*state.prefix);
        let mut starts = REPOSITORY.iter();
        let within = starts.find_map(|start| path?.strip_prefix(start));
        let (within, next) = (within.unwrap_or_default(), page + 1);
        let next = format!("{}{}{within}?{query}page={next}", state.api, REPOSITORY[1]);
        reply.with("Link", format!("<{next}>; rel=\"next\""))
    }
}
