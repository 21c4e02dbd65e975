//! What the server knows, for a test to set up, change in the middle and look at.
//!
//! Ids and hashes count up from fixed values: the same calls give the same state. Hashes look
//! like git's and are none.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Write};

use plimsoll_text::hash::fnv;
use serde_json::Value;
use zip::write::{SimpleFileOptions, ZipWriter};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct User {
    pub(crate) login: String,
    /// `User` or `Bot`.
    pub(crate) kind: String,
}

impl User {
    pub(crate) fn person(login: &str) -> Self {
        Self {
            login: login.to_owned(),
            kind: "User".to_owned(),
        }
    }

    /// Who a workflow's token writes as.
    pub(crate) fn actions() -> Self {
        Self::bot("github-actions[bot]")
    }

    pub(crate) fn bot(login: &str) -> Self {
        Self {
            kind: "Bot".to_owned(),
            ..Self::person(login)
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repository {
    pub(crate) id: u64,
    pub(crate) owner: String,
}

impl Repository {
    pub(crate) fn full_name(&self) -> String {
        format!("{}/demo", self.owner)
    }
}

/// One end of a pull request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branch {
    pub(crate) name: String,
    pub(crate) sha: String,
    /// `None` once a fork is deleted.
    pub(crate) repository: Option<Repository>,
}

#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    pub(crate) open: bool,
    pub(crate) locked: bool,
    pub(crate) head: Branch,
    pub(crate) base: Branch,
    pub(crate) files: Vec<ChangedFile>,
}

#[derive(Clone, Debug)]
pub(crate) struct ChangedFile {
    pub(crate) path: String,
    /// What a renamed file was called.
    pub(crate) previous: Option<String>,
}

impl ChangedFile {
    pub(crate) fn modified(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            previous: None,
        }
    }

    pub(crate) fn renamed(from: &str, to: &str) -> Self {
        Self {
            previous: Some(from.to_owned()),
            ..Self::modified(to)
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    pub(crate) issue: u64,
    pub(crate) body: String,
    /// `None` once the account is deleted.
    pub(crate) user: Option<User>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) head_sha: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) details_url: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    /// Of all requests, as they were sent.
    pub(crate) annotations: Vec<Value>,
}

#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) attempt: u64,
    pub(crate) event: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) head: Branch,
}

#[derive(Clone, Debug)]
pub(crate) struct Artifact {
    pub(crate) run: u64,
    pub(crate) name: String,
    /// A zip, or with `archive: false` the file itself.
    pub(crate) bytes: Vec<u8>,
    pub(crate) expired: bool,
    /// Of the run that made it.
    pub(crate) branch: String,
    pub(crate) commit: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Git {
    pub(crate) blobs: BTreeMap<String, String>,
    /// The blob at each path.
    pub(crate) trees: BTreeMap<String, BTreeMap<String, String>>,
    pub(crate) commits: BTreeMap<String, Commit>,
    /// `refs/heads/…` to a commit.
    pub(crate) refs: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) repository: Repository,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) comments: BTreeMap<u64, Comment>,
    pub(crate) checks: BTreeMap<u64, CheckRun>,
    pub(crate) runs: BTreeMap<u64, Run>,
    pub(crate) artifacts: BTreeMap<u64, Artifact>,
    pub(crate) git: Git,
    /// Commits there are beside those of pull requests and of `git`.
    pub(crate) commits: BTreeSet<String>,
    pub(crate) token: String,
    /// As whom the token writes.
    pub(crate) author: User,
    /// What the token may, as `checks=write`.
    pub(crate) permissions: BTreeSet<String>,
    /// Where it is served, with prefix, without a slash at the end.
    pub(crate) api: String,
    /// Where artifacts are served.
    pub(crate) storage: String,
    ids: u64,
}

impl State {
    /// `octo/demo` with a branch `main`, pull request 7 from a branch of
    /// its own, and a token that may all that the bot needs.
    pub(crate) fn new(api: String, storage: String) -> Self {
        let repository = Repository {
            id: 123_456,
            owner: "octo".to_owned(),
        };
        let permissions = [
            "actions=read",
            "checks=write",
            "contents=write",
            "pull_requests=write",
        ];
        let mut state = Self {
            repository: repository.clone(),
            pulls: BTreeMap::new(),
            comments: BTreeMap::new(),
            checks: BTreeMap::new(),
            runs: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            git: Git::default(),
            commits: BTreeSet::new(),
            token: "ghs_token".to_owned(),
            author: User::actions(),
            permissions: permissions.map(str::to_owned).into(),
            api,
            storage,
            ids: 5_000_000_000,
        };
        let main = hash("main");
        state.commits.insert(main.clone());
        state.git.refs.insert("refs/heads/main".to_owned(), main);
        state.with_pull(7, repository, "topic");
        state
    }

    /// Without these permissions, as `checks=write`.
    pub(crate) fn without(&mut self, permissions: &[&str]) {
        for permission in permissions {
            let had = self.permissions.remove(*permission);
            assert!(had, "{permission} to be granted");
        }
    }

    /// An open pull request from `branch` of `from` to `main`.
    pub(crate) fn with_pull(&mut self, number: u64, from: Repository, branch: &str) {
        let pull = Pull {
            number,
            open: true,
            locked: false,
            head: Branch {
                name: branch.to_owned(),
                sha: hash(&format!("{} {branch}", from.full_name())),
                repository: Some(from),
            },
            base: Branch {
                name: "main".to_owned(),
                sha: self.git.refs["refs/heads/main"].clone(),
                repository: Some(self.repository.clone()),
            },
            files: vec![ChangedFile::modified("src/lib.rs")],
        };
        self.pulls.insert(number, pull);
    }

    /// Pull request 8, from the branch `topic` of mallory's fork.
    pub(crate) fn with_fork(&mut self) -> &mut Self {
        let fork = Repository {
            id: self.repository.id + 1,
            owner: "mallory".to_owned(),
        };
        self.with_pull(8, fork, "topic");
        self
    }

    /// The pull request, to be changed.
    pub(crate) fn pull(&mut self, number: u64) -> &mut Pull {
        self.pulls
            .get_mut(&number)
            .expect("the pull request to be there")
    }

    /// A comment on pull request 7; its id.
    pub(crate) fn add_comment(&mut self, body: &str, user: Option<User>) -> u64 {
        self.add_comment_to(7, body, user)
    }

    pub(crate) fn add_comment_to(&mut self, issue: u64, body: &str, user: Option<User>) -> u64 {
        let id = self.id();
        let comment = Comment {
            id,
            issue,
            body: body.to_owned(),
            user,
        };
        self.comments.insert(id, comment);
        id
    }

    /// A comment on pull request 7 that our bot has written; its id.
    pub(crate) fn add_ours(&mut self, body: &str) -> u64 {
        self.add_comment(body, Some(User::actions()))
    }

    /// A finished run of that id and attempt for a pull request.
    pub(crate) fn add_run(&mut self, pull: u64, id: u64, attempt: u64) {
        let run = Run {
            id,
            attempt,
            event: "pull_request".to_owned(),
            conclusion: Some("success".to_owned()),
            head: self.pull(pull).head.clone(),
        };
        self.runs.insert(id, run);
    }

    /// A check run of pull request 7's head that another process has made, and that failed.
    pub(crate) fn add_check(&mut self, external_id: &str) {
        let check = CheckRun {
            id: self.id(),
            head_sha: self.pulls[&7].head.sha.clone(),
            name: "plimsoll".to_owned(),
            external_id: Some(external_id.to_owned()),
            conclusion: Some("failure".to_owned()),
            title: Some("theirs".to_owned()),
            summary: Some("theirs".to_owned()),
            ..CheckRun::default()
        };
        self.checks.insert(check.id, check);
    }

    pub(crate) fn add_artifact(&mut self, run: u64, name: &str, bytes: Vec<u8>) {
        let artifact = Artifact {
            run,
            name: name.to_owned(),
            bytes,
            expired: false,
            branch: String::new(),
            commit: String::new(),
        };
        let id = self.id();
        self.artifacts.insert(id, artifact);
    }

    /// The file at a path of what a reference points to.
    pub(crate) fn file(&self, at: &str, path: &str) -> Option<&str> {
        let tree = &self.git.commits.get(&self.git.refs[at])?.tree;
        Some(&self.git.blobs[self.git.trees[tree].get(path)?])
    }

    /// Is it a commit that the repository can see? The heads of forks' pull
    /// requests are among them.
    pub(crate) fn knows_commit(&self, sha: &str) -> bool {
        self.commits.contains(sha)
            || self.git.commits.contains_key(sha)
            || self.pulls.values().any(|pull| pull.head.sha == sha)
            || self.runs.values().any(|run| run.head.sha == sha)
    }

    /// The next id; they grow over all kinds, as on GitHub over each.
    pub(crate) fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }
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
