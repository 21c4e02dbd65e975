//! Payloads as GitHub sends them for an event, of what the state has. They are what
//! `GITHUB_EVENT_PATH` points to in a job.

use serde_json::{Value, json};

use super::state::{State, User, hash};

/// `pull_request`: `opened`, `synchronize`, `reopened`, `closed`.
pub(crate) fn pull_request(state: &State, number: u64, action: &str) -> Value {
    let pull = &state.pulls[&number];
    let mut event = json!({
        "action": action,
        "number": number,
        "pull_request": state.pull_json(pull),
    });
    if action == "synchronize" {
        event["before"] = json!(hash(&[b"before", pull.head.sha.as_bytes()]));
        event["after"] = json!(pull.head.sha);
    }
    sent_by(state, &pull.author, event)
}

/// `workflow_run`, which runs on the default branch with its own rights; `requested`,
/// `in_progress`, `completed`. As GitHub does, it names no pull request of a fork.
pub(crate) fn workflow_run(state: &State, run: u64, action: &str) -> Value {
    let run = &state.runs[&run];
    let url = format!("{}/actions/workflows/77001", state.at(&state.repository));
    let page = format!("https://github.com/{}", state.repository.full_name());
    let branch = &state.repository.default_branch;
    let event = json!({
        "action": action,
        "workflow_run": state.run_json(run),
        "workflow": {
            "id": 77_001,
            "node_id": "W_kwDO000000077001",
            "name": run.name,
            "path": run.path,
            "state": "active",
            "created_at": "2025-01-01T00:00:00.000Z",
            "updated_at": "2025-01-01T00:00:00.000Z",
            "url": url,
            "html_url": format!("{page}/blob/{branch}/{}", run.path),
            "badge_url": format!("{page}/workflows/{}/badge.svg", run.name),
        },
    });
    let sender = run.head.repository.as_ref().unwrap_or(&state.repository);
    sent_by(state, &sender.owner, event)
}

/// `merge_group`: a commit that a merge queue made of pull request `number` and the
/// tip of its base.
pub(crate) fn merge_group(state: &State, number: u64) -> Value {
    let pull = &state.pulls[&number];
    let sha = hash(&[b"queue", pull.head.sha.as_bytes()]);
    let base = format!("refs/heads/{}", pull.base.name);
    let head = format!(
        "refs/heads/gh-readonly-queue/{}/pr-{number}-{}",
        pull.base.name, pull.base.sha
    );
    let event = json!({
        "action": "checks_requested",
        "merge_group": {
            "head_sha": sha,
            "head_ref": head,
            "base_sha": pull.base.sha,
            "base_ref": base,
            "head_commit": commit(&sha),
        },
    });
    sent_by(state, &pull.author, event)
}

/// `push` of what a branch points to now.
pub(crate) fn push(state: &State, branch: &str) -> Value {
    let name = format!("refs/heads/{branch}");
    let after = &state.git.refs[&name];
    let before = state.git.commits[after].parents.first().cloned();
    let created = before.is_none();
    let before = before.unwrap_or_else(|| "0".repeat(40));
    let page = format!("https://github.com/{}", state.repository.full_name());
    let event = json!({
        "ref": name,
        "before": before,
        "after": after,
        "base_ref": null,
        "created": created,
        "deleted": false,
        "forced": false,
        "compare": format!("{page}/compare/{before}...{after}"),
        "commits": [commit(after)],
        "head_commit": commit(after),
        "pusher": {"name": "alice", "email": "alice@example.com"},
    });
    sent_by(state, &User::person("alice"), event)
}

/// With what all events have.
fn sent_by(state: &State, sender: &User, mut event: Value) -> Value {
    let owner = &state.repository.owner;
    event["repository"] = state.full_repository();
    event["sender"] = state.user(sender);
    if owner.kind == "Organization" {
        event["organization"] = json!({
            "login": owner.login,
            "id": owner.id,
            "url": format!("{}/orgs/{}", state.api, owner.login),
            "description": null,
        });
    }
    event
}

fn commit(sha: &str) -> Value {
    let person = json!({"name": "Alice", "email": "alice@example.com", "username": "alice"});
    json!({
        "id": sha,
        "tree_id": hash(&[b"tree of", sha.as_bytes()]),
        "distinct": true,
        "message": "a change",
        "timestamp": "2026-03-02T07:59:00Z",
        "author": person,
        "committer": person,
        "added": [],
        "removed": [],
        "modified": ["src/lib.rs"],
    })
}
