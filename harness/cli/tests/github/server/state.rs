//! What the server knows, in the words in which GitHub says it, for a test to set up, change in
//! the middle and look at; and the events that say it.
//!
//! Ids and hashes count up from fixed values: the same calls give the same state. Hashes look
//! like git's and are none.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Write};

use plimsoll_core::text::hash::fnv;
use serde_json::{Value, json};
use zip::write::{SimpleFileOptions, ZipWriter};

/// The token that is accepted.
pub(crate) const TOKEN: &str = "ghs_token";
/// The paths of the repository, by its name and by its id.
pub(crate) const REPOSITORY: [&str; 2] = ["/repos/octo/demo", "/repositories/123456"];
/// Who a workflow's token writes as.
pub(crate) const ACTIONS: &str = "github-actions[bot]";

/// By number or id.
pub(crate) type All = BTreeMap<u64, Value>;

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) pulls: All,
    /// What each pull request changes.
    pub(crate) files: Vec<Value>,
    pub(crate) comments: All,
    pub(crate) checks: All,
    /// Of each check run: of all requests, as they were sent.
    pub(crate) annotations: BTreeMap<u64, Vec<Value>>,
    pub(crate) runs: All,
    pub(crate) artifacts: All,
    /// Of each artifact: a zip, or with `archive: false` the file itself.
    pub(crate) bytes: BTreeMap<u64, Vec<u8>>,
    /// Git's, as they were sent.
    pub(crate) objects: BTreeMap<String, Value>,
    /// `refs/heads/…` to a commit.
    pub(crate) refs: BTreeMap<String, String>,
    /// As whom the token writes.
    pub(crate) author: Value,
    /// What the token may, as `checks=write`.
    pub(crate) permissions: BTreeSet<&'static str>,
    /// Before every path: `/api/v3` is GitHub Enterprise Server's.
    pub(crate) prefix: String,
    /// Where it is served, with prefix, without a slash at the end.
    pub(crate) api: String,
    /// Where artifacts are served.
    pub(crate) storage: String,
    ids: u64,
}

impl State {
    /// `octo/demo` with a branch `main`, pull request 7 from a branch of
    /// its own, and a token that may all that the bot needs.
    pub(crate) fn new(prefix: &str, api: String, storage: String) -> Self {
        let permissions = "actions=read checks=write contents=write pull_requests=write";
        let mut state = Self {
            pulls: All::new(),
            files: vec![modified("src/lib.rs")],
            comments: All::new(),
            checks: All::new(),
            annotations: BTreeMap::new(),
            runs: All::new(),
            artifacts: All::new(),
            bytes: BTreeMap::new(),
            objects: BTreeMap::new(),
            refs: [("refs/heads/main".to_owned(), hash("main"))].into(),
            author: user(ACTIONS),
            permissions: permissions.split(' ').collect(),
            prefix: prefix.to_owned(),
            api,
            storage,
            ids: 5_000_000_000,
        };
        state.add_pull(7, "octo", "topic");
        state
    }

    /// Takes these permissions from the token.
    pub(crate) fn without(&mut self, permissions: &[&'static str]) {
        for permission in permissions {
            let had = self.permissions.remove(permission);
            assert!(had, "{permission} to be granted");
        }
    }

    /// An open pull request from a branch of that owner's repository to `main`.
    pub(crate) fn add_pull(&mut self, number: u64, owner: &str, branch: &str) {
        let end = |owner: &str, branch: &str, sha: &str| {
            let id = if owner == "octo" { 123_456 } else { 123_457 };
            let repo = json!({"id": id, "full_name": format!("{owner}/demo")});
            json!({"ref": branch, "sha": sha, "repo": repo})
        };
        let pull = json!({
            "number": number,
            "state": "open",
            "head": end(owner, branch, &hash(&format!("{owner} {branch}"))),
            "base": end("octo", "main", &hash("main")),
        });
        self.pulls.insert(number, pull);
    }

    /// Pull request 8, from the branch `topic` of mallory's fork.
    pub(crate) fn with_fork(&mut self) -> &mut Self {
        self.add_pull(8, "mallory", "topic");
        self
    }

    /// The pull request, to be changed.
    pub(crate) fn pull(&mut self, number: u64) -> &mut Value {
        self.pulls.get_mut(&number).expect("a pull request")
    }

    /// The commit that a pull request's check run is on.
    pub(crate) fn head(&self, pull: u64) -> String {
        let head = self.pulls[&pull]["head"]["sha"].as_str();
        head.expect("a commit").to_owned()
    }

    /// A comment on a pull request; its id.
    pub(crate) fn add_comment(&mut self, pull: u64, body: &str, user: Value) -> u64 {
        let id = self.id();
        let issue = self.issue_url(pull);
        let comment = json!({"id": id, "issue_url": issue, "body": body, "user": user});
        self.comments.insert(id, comment);
        id
    }

    /// What a comment says of the pull request that it is on.
    pub(crate) fn issue_url(&self, pull: u64) -> String {
        format!("{}{}/issues/{pull}", self.api, REPOSITORY[0])
    }

    /// A comment on pull request 7 that our bot has written; its id.
    pub(crate) fn add_ours(&mut self, body: &str) -> u64 {
        self.add_comment(7, body, user(ACTIONS))
    }

    /// A finished run of that id and attempt for a pull request.
    pub(crate) fn add_run(&mut self, pull: u64, id: u64, attempt: u64) {
        let head = &self.pulls[&pull]["head"];
        let run = json!({
            "id": id,
            "run_attempt": attempt,
            "event": "pull_request",
            "conclusion": "success",
            "head_branch": head["ref"],
            "head_sha": head["sha"],
            "head_repository": head["repo"],
        });
        self.runs.insert(id, run);
    }

    /// A check run of pull request 7's head that another process has made, and that failed.
    pub(crate) fn add_check(&mut self, external_id: &str) {
        let id = self.id();
        let check = json!({
            "id": id,
            "head_sha": self.head(7),
            "name": "plimsoll",
            "external_id": external_id,
            "conclusion": "failure",
            "output": {"title": "theirs", "summary": "theirs", "annotations_count": 0},
        });
        self.checks.insert(id, check);
    }

    /// What a run of a branch has left.
    pub(crate) fn add_artifact(&mut self, run: u64, branch: &str, name: &str, bytes: Vec<u8>) {
        let id = self.id();
        let run = json!({
            "id": run,
            "repository_id": 1,
            "head_repository_id": 1,
            "head_branch": branch,
            "head_sha": "",
        });
        let artifact = json!({"id": id, "name": name, "expired": false, "workflow_run": run});
        self.artifacts.insert(id, artifact);
        self.bytes.insert(id, bytes);
    }

    /// The file at a path of what a reference points to.
    pub(crate) fn file(&self, at: &str, path: &str) -> Option<&str> {
        let object = |sha: &Value| self.objects.get(sha.as_str()?);
        let tree = object(&self.objects.get(&self.refs[at])?["tree"])?["tree"].as_array()?;
        let entry = tree.iter().find(|entry| entry["path"] == path)?;
        object(&entry["sha"])?["content"].as_str()
    }

    /// Is it a commit that the repository can see? The heads of forks' pull
    /// requests are among them.
    pub(crate) fn knows_commit(&self, sha: &str) -> bool {
        self.refs.values().any(|commit| commit == sha)
            || self.pulls.values().any(|pull| pull["head"]["sha"] == sha)
            || self.runs.values().any(|run| run["head_sha"] == sha)
    }

    /// The next id; they grow over all kinds, as on GitHub over each.
    pub(crate) fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// The event `pull_request`.
    pub(crate) fn pull_request_event(&self, number: u64) -> Value {
        json!({"action": "synchronize", "number": number, "pull_request": self.pulls[&number]})
    }

    /// The event `workflow_run`.
    pub(crate) fn workflow_run_event(&self, id: u64) -> Value {
        json!({"action": "completed", "workflow_run": self.runs[&id]})
    }

    /// The event `merge_group`: a commit that a merge queue made of a pull request and `main`.
    pub(crate) fn merge_group_event(&mut self) -> Value {
        let (name, head) = ("refs/heads/gh-readonly-queue/main/pr-7", hash("queue"));
        self.refs.insert(name.to_owned(), head.clone());
        let group = json!({"head_sha": head, "base_sha": hash("main")});
        json!({"action": "checks_requested", "merge_group": group})
    }

    /// The event `push`, of what `main` points to.
    pub(crate) fn push_event(&self) -> Value {
        json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": hash("main")})
    }
}

pub(crate) fn user(login: &str) -> Value {
    let is_bot = login.ends_with("[bot]");
    json!({"login": login, "type": if is_bot { "Bot" } else { "User" }})
}

/// A file that a pull request changes.
pub(crate) fn modified(path: &str) -> Value {
    json!({"filename": path, "status": "modified"})
}

/// An artifact as `upload-artifact` makes it.
pub(crate) fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, SimpleFileOptions::default())
            .expect("a zip in memory");
        zip.write_all(bytes).expect("a zip in memory");
    }
    zip.finish().expect("a zip in memory").into_inner()
}

/// Forty digits from what a thing is made of.
pub(crate) fn hash(of: &str) -> String {
    format!("{:016x}", fnv(of.as_bytes())).repeat(3)[..40].to_owned()
}
