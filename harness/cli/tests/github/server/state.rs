//! What the server knows, for a test to set up, change in the middle and look at.
//!
//! Ids, times and hashes count up from fixed values: the same calls give the same
//! state. Hashes look like git's and are none.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Write};

use serde_json::Value;
use zip::write::{SimpleFileOptions, ZipWriter};

/// 2026-03-02T09:00:00Z.
const START: u64 = 1_772_442_000;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct User {
    pub(crate) login: String,
    pub(crate) id: u64,
    /// `User`, `Bot` or `Organization`.
    pub(crate) kind: String,
}

impl User {
    pub(crate) fn person(login: &str) -> Self {
        Self {
            login: login.to_owned(),
            id: 1_000 + login.bytes().map(u64::from).sum::<u64>(),
            kind: "User".to_owned(),
        }
    }

    /// Who a workflow's token writes as.
    pub(crate) fn actions() -> Self {
        Self {
            login: "github-actions[bot]".to_owned(),
            id: 41_898_282,
            kind: "Bot".to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repository {
    pub(crate) id: u64,
    pub(crate) owner: User,
    pub(crate) name: String,
    pub(crate) private: bool,
    pub(crate) fork: bool,
    pub(crate) default_branch: String,
}

impl Repository {
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner.login, self.name)
    }

    /// Somebody's fork of it.
    pub(crate) fn forked(&self, owner: &str) -> Self {
        let owner = User::person(owner);
        Self {
            id: self.id + owner.id,
            owner,
            fork: true,
            ..self.clone()
        }
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

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) open: bool,
    pub(crate) merged: bool,
    pub(crate) locked: bool,
    pub(crate) author: User,
    pub(crate) head: Branch,
    pub(crate) base: Branch,
    pub(crate) files: Vec<ChangedFile>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChangedFile {
    pub(crate) path: String,
    /// `added`, `removed`, `modified`, `renamed`.
    pub(crate) status: String,
    /// What a renamed file was called.
    pub(crate) previous: Option<String>,
}

impl ChangedFile {
    pub(crate) fn modified(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            status: "modified".to_owned(),
            previous: None,
        }
    }

    pub(crate) fn renamed(from: &str, to: &str) -> Self {
        Self {
            path: to.to_owned(),
            status: "renamed".to_owned(),
            previous: Some(from.to_owned()),
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
    pub(crate) created: String,
    pub(crate) updated: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) head_sha: String,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) details_url: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) started: String,
    pub(crate) completed: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    /// Of all requests, as they were sent.
    pub(crate) annotations: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) attempt: u64,
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) event: String,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) head: Branch,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Artifact {
    pub(crate) id: u64,
    pub(crate) run: u64,
    pub(crate) name: String,
    /// A zip, or with `archive: false` the file itself.
    pub(crate) bytes: Vec<u8>,
    pub(crate) expired: bool,
    pub(crate) created: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Commit {
    pub(crate) message: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
}

/// A tree's files, at any depth: path to mode and blob.
pub(crate) type Tree = BTreeMap<String, (String, String)>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Git {
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    pub(crate) trees: BTreeMap<String, Tree>,
    pub(crate) commits: BTreeMap<String, Commit>,
    /// `refs/heads/…` to a commit.
    pub(crate) refs: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) repository: Repository,
    /// Full names that it had before; requests there are sent on.
    pub(crate) former: BTreeSet<String>,
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
    /// What the token may, as `checks=write`; `write` includes `read`.
    pub(crate) permissions: BTreeSet<String>,
    /// Where it is served, with prefix, without a slash at the end.
    pub(crate) api: String,
    /// Where artifacts are served.
    pub(crate) storage: String,
    ids: u64,
    seconds: u64,
}

impl State {
    /// `octo/demo`, public, with a branch `main`, pull request 7 from a branch of
    /// its own, and a token that may all that the bot needs.
    pub(crate) fn new() -> Self {
        let repository = Repository {
            id: 123_456,
            owner: User {
                kind: "Organization".to_owned(),
                ..User::person("octo")
            },
            name: "demo".to_owned(),
            private: false,
            fork: false,
            default_branch: "main".to_owned(),
        };
        let permissions = [
            "actions=read",
            "checks=write",
            "contents=write",
            "pull_requests=write",
        ];
        let mut state = Self {
            repository: repository.clone(),
            former: BTreeSet::new(),
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
            api: String::new(),
            storage: String::new(),
            ids: 0,
            seconds: START,
        };
        let tree = state.add_tree(Tree::new());
        let main = state.add_commit("the first", &tree, &[]);
        state.git.refs.insert("refs/heads/main".to_owned(), main);
        state.with_pull(7, repository, "topic");
        state
    }

    /// Without these permissions, as `checks=write`.
    pub(crate) fn without(&mut self, permissions: &[&str]) -> &mut Self {
        for permission in permissions {
            assert!(
                self.permissions.remove(*permission),
                "{permission} to be granted"
            );
        }
        self
    }

    /// An open pull request from `branch` of `from` to `main`.
    pub(crate) fn with_pull(&mut self, number: u64, from: Repository, branch: &str) -> &mut Self {
        let base = self.git.refs["refs/heads/main"].clone();
        let sha = hash(&[b"head", branch.as_bytes(), from.full_name().as_bytes()]);
        let author = match from.fork {
            true => from.owner.clone(),
            false => User::person("alice"),
        };
        let pull = Pull {
            number,
            title: format!("change {number}"),
            open: true,
            merged: false,
            locked: false,
            author,
            head: Branch {
                name: branch.to_owned(),
                sha,
                repository: Some(from),
            },
            base: Branch {
                name: "main".to_owned(),
                sha: base,
                repository: Some(self.repository.clone()),
            },
            files: vec![ChangedFile::modified("src/lib.rs")],
        };
        self.pulls.insert(number, pull);
        self
    }

    /// The pull request, to be changed.
    pub(crate) fn pull(&mut self, number: u64) -> &mut Pull {
        self.pulls
            .get_mut(&number)
            .expect("the pull request to be there")
    }

    /// `count` comments that people wrote on pull request 7.
    pub(crate) fn with_foreign_comments(&mut self, count: usize) -> &mut Self {
        for index in 1..=count {
            let body = format!("comment {index} of a person");
            self.add_comment(7, &body, Some(User::person("bob")));
        }
        self
    }

    /// A comment on pull request 7 whose account has been deleted since.
    pub(crate) fn with_ghost_comment(&mut self) -> &mut Self {
        self.add_comment(7, "so long", None);
        self
    }

    /// A comment on pull request 7 by a person, with text that the bot would write.
    pub(crate) fn with_forged_comment(&mut self, body: &str) -> &mut Self {
        self.add_comment(7, body, Some(User::person("mallory")));
        self
    }

    /// Its id.
    pub(crate) fn add_comment(&mut self, issue: u64, body: &str, user: Option<User>) -> u64 {
        let (id, now) = (self.id(), self.now());
        let comment = Comment {
            id,
            issue,
            body: body.to_owned(),
            user,
            created: now.clone(),
            updated: now,
        };
        self.comments.insert(id, comment);
        id
    }

    /// A finished run, first attempt, of `leaks.yml` for a pull request; its id.
    pub(crate) fn add_run(&mut self, pull: u64) -> u64 {
        let id = self.id();
        self.add_run_of(pull, id, 1);
        id
    }

    /// The same, of that id and attempt.
    pub(crate) fn add_run_of(&mut self, pull: u64, id: u64, attempt: u64) {
        let run = Run {
            id,
            attempt,
            name: "leaks".to_owned(),
            path: ".github/workflows/leaks.yml".to_owned(),
            event: "pull_request".to_owned(),
            status: "completed".to_owned(),
            conclusion: Some("success".to_owned()),
            head: self.pull(pull).head.clone(),
        };
        self.runs.insert(id, run);
    }

    /// A check run that another process has made.
    pub(crate) fn add_check(&mut self, sha: &str, name: &str, external_id: &str, conclusion: &str) {
        let check = CheckRun {
            id: self.id(),
            head_sha: sha.to_owned(),
            name: name.to_owned(),
            external_id: Some(external_id.to_owned()),
            status: "completed".to_owned(),
            conclusion: Some(conclusion.to_owned()),
            started: self.now(),
            completed: Some(self.now()),
            title: Some("theirs".to_owned()),
            summary: Some("theirs".to_owned()),
            ..CheckRun::default()
        };
        self.checks.insert(check.id, check);
    }

    /// Its id.
    pub(crate) fn add_artifact(&mut self, run: u64, name: &str, bytes: Vec<u8>) -> u64 {
        let artifact = Artifact {
            id: self.id(),
            run,
            name: name.to_owned(),
            bytes,
            expired: false,
            created: self.now(),
        };
        let id = artifact.id;
        self.artifacts.insert(id, artifact);
        id
    }

    pub(crate) fn add_blob(&mut self, bytes: Vec<u8>) -> String {
        let sha = hash(&[b"blob", &bytes]);
        self.git.blobs.insert(sha.clone(), bytes);
        sha
    }

    pub(crate) fn add_tree(&mut self, tree: Tree) -> String {
        let sha = hash(&[b"tree", format!("{tree:?}").as_bytes()]);
        self.git.trees.insert(sha.clone(), tree);
        sha
    }

    pub(crate) fn add_commit(&mut self, message: &str, tree: &str, parents: &[String]) -> String {
        let parts = [b"commit", message.as_bytes(), tree.as_bytes()];
        let sha = hash(&[&parts[..], &[parents.join(" ").as_bytes()]].concat());
        let commit = Commit {
            message: message.to_owned(),
            tree: tree.to_owned(),
            parents: parents.to_vec(),
        };
        self.git.commits.insert(sha.clone(), commit);
        sha
    }

    /// The file at a path of what a reference, or a commit, points to.
    pub(crate) fn file(&self, at: &str, path: &str) -> Option<&[u8]> {
        let commit = self.git.refs.get(at).map_or(at, |sha| sha);
        let tree = &self.git.commits.get(commit)?.tree;
        let (_, blob) = self.git.trees[tree].get(path)?;
        Some(&self.git.blobs[blob])
    }

    /// Is it a commit that the repository can see? The heads of forks' pull
    /// requests are among them.
    pub(crate) fn knows_commit(&self, sha: &str) -> bool {
        self.commits.contains(sha)
            || self.git.commits.contains_key(sha)
            || self
                .pulls
                .values()
                .any(|pull| pull.head.sha == sha || pull.base.sha == sha)
            || self.runs.values().any(|run| run.head.sha == sha)
    }

    /// Whether an ancestor is behind a commit, or the commit itself.
    pub(crate) fn is_behind(&self, ancestor: &str, commit: &str) -> bool {
        let mut todo = vec![commit];
        while let Some(sha) = todo.pop() {
            if sha == ancestor {
                return true;
            }
            let parents = self
                .git
                .commits
                .get(sha)
                .map(|commit| commit.parents.iter());
            todo.extend(parents.into_iter().flatten().map(String::as_str));
        }
        false
    }

    pub(crate) fn may(&self, permission: &str) -> bool {
        self.permissions.contains(permission)
            || permission
                .strip_suffix("=read")
                .is_some_and(|area| self.permissions.contains(&format!("{area}=write")))
    }

    /// The next id; they grow over all kinds, as on GitHub over each.
    pub(crate) fn id(&mut self) -> u64 {
        self.ids += 1;
        5_000_000_000 + self.ids
    }

    /// A second later than the last.
    pub(crate) fn now(&mut self) -> String {
        self.seconds += 1;
        timestamp(self.seconds)
    }

    /// What `now` gave last.
    pub(crate) fn today(&self) -> String {
        timestamp(self.seconds)
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

/// Forty digits from what a thing is made of: FNV-1a, thrice.
pub(crate) fn hash(parts: &[&[u8]]) -> String {
    let lane = |seed: u64| {
        let mut hash = 0xcbf2_9ce4_8422_2325 ^ seed;
        for part in parts {
            for byte in part.iter().chain(&[0xff]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        format!("{hash:016x}")
    };
    let mut digits = [1, 2, 3].map(lane).concat();
    digits.truncate(40);
    digits
}

/// Seconds since 1970 as GitHub writes times.
fn timestamp(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's civil_from_days, for dates after 1970.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = years + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[test]
fn times() {
    assert_eq!(timestamp(START), "2026-03-02T09:00:00Z");
    assert_eq!(timestamp(951_782_399), "2000-02-28T23:59:59Z");
    assert_eq!(timestamp(951_782_400), "2000-02-29T00:00:00Z");
}
