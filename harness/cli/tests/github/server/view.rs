//! The state as GitHub says it: the keys of an answer or an event that somebody looks at.

use serde_json::{Value, json};

use super::state::{
    Artifact, Branch, ChangedFile, CheckRun, Comment, Pull, Repository, Run, State, hash,
};

impl State {
    /// The event `pull_request`.
    pub(crate) fn pull_request_event(&self, number: u64) -> Value {
        json!({"action": "synchronize", "number": number, "pull_request": pull(&self.pulls[&number])})
    }

    /// The event `workflow_run`. As GitHub does, it names no pull request of a fork.
    pub(crate) fn workflow_run_event(&self, id: u64) -> Value {
        json!({"action": "completed", "workflow_run": run(&self.runs[&id])})
    }

    /// The event `merge_group`: a commit that a merge queue made of pull request 7 and the tip
    /// of its base.
    pub(crate) fn merge_group_event(&self) -> Value {
        let pull = &self.pulls[&7];
        json!({
            "action": "checks_requested",
            "merge_group": {"head_sha": hash("queue"), "base_sha": pull.base.sha},
        })
    }

    /// The event `push`, of what `main` points to now.
    pub(crate) fn push_event(&self) -> Value {
        let name = "refs/heads/main";
        json!({"ref": name, "before": "0".repeat(40), "after": self.git.refs[name]})
    }
}

fn repository(of: &Repository) -> Value {
    json!({
        "id": of.id,
        "name": "demo",
        "full_name": of.full_name(),
        "owner": {"login": of.owner},
    })
}

fn branch(of: &Branch) -> Value {
    let repository = of.repository.as_ref().map(repository);
    json!({"ref": of.name, "sha": of.sha, "repo": repository})
}

pub(super) fn pull(of: &Pull) -> Value {
    json!({
        "number": of.number,
        "state": if of.open { "open" } else { "closed" },
        "locked": of.locked,
        "head": branch(&of.head),
        "base": branch(&of.base),
    })
}

pub(super) fn comment(of: &Comment) -> Value {
    let user = of.user.as_ref();
    let user = user.map(|user| json!({"login": user.login, "type": user.kind}));
    json!({"id": of.id, "body": of.body, "user": user})
}

pub(super) fn check(of: &CheckRun) -> Value {
    json!({
        "id": of.id,
        "name": of.name,
        "head_sha": of.head_sha,
        "external_id": of.external_id,
        "details_url": of.details_url,
        "status": "completed",
        "conclusion": of.conclusion,
        "output": {
            "title": of.title,
            "summary": of.summary,
            "annotations_count": of.annotations.len(),
        },
    })
}

pub(super) fn file(of: &ChangedFile) -> Value {
    let renamed = of.previous.is_some();
    let mut file = json!({
        "filename": of.path,
        "status": if renamed { "renamed" } else { "modified" },
    });
    if renamed {
        file["previous_filename"] = json!(of.previous);
    }
    file
}

pub(super) fn run(of: &Run) -> Value {
    json!({
        "id": of.id,
        "run_attempt": of.attempt,
        "event": of.event,
        "status": "completed",
        "conclusion": of.conclusion,
        "head_branch": of.head.name,
        "head_sha": of.head.sha,
        "head_repository": of.head.repository.as_ref().map(repository),
        "pull_requests": [],
    })
}

pub(super) fn artifact(id: u64, of: &Artifact) -> Value {
    json!({
        "id": id,
        "name": of.name,
        "size_in_bytes": of.bytes.len(),
        "expired": of.expired,
        "workflow_run": {
            "id": of.run,
            "repository_id": 1,
            "head_repository_id": 1,
            "head_branch": of.branch,
            "head_sha": of.commit,
        },
    })
}

pub(super) fn reference(name: &str, sha: &str) -> Value {
    json!({"ref": name, "object": {"sha": sha, "type": "commit"}})
}
