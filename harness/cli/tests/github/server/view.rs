//! The state as GitHub writes it in JSON: every key that its description requires,
//! and those beside them that a client may look at.

use serde_json::{Value, json};

use super::state::{
    Artifact, Branch, ChangedFile, CheckRun, Comment, Pull, Repository, Run, State, User, hash,
};

/// Where people look at it, on a GitHub of any kind.
const WEB: &str = "https://github.com";

/// A repository's links: the key without `_url`, and what follows its own address.
const LINKS: [(&str, &str); 39] = [
    ("archive", "/{archive_format}{/ref}"),
    ("assignees", "/assignees{/user}"),
    ("blobs", "/git/blobs{/sha}"),
    ("branches", "/branches{/branch}"),
    ("collaborators", "/collaborators{/collaborator}"),
    ("comments", "/comments{/number}"),
    ("commits", "/commits{/sha}"),
    ("compare", "/compare/{base}...{head}"),
    ("contents", "/contents/{+path}"),
    ("contributors", "/contributors"),
    ("deployments", "/deployments"),
    ("downloads", "/downloads"),
    ("events", "/events"),
    ("forks", "/forks"),
    ("git_commits", "/git/commits{/sha}"),
    ("git_refs", "/git/refs{/sha}"),
    ("git_tags", "/git/tags{/sha}"),
    ("hooks", "/hooks"),
    ("issue_comment", "/issues/comments{/number}"),
    ("issue_events", "/issues/events{/number}"),
    ("issues", "/issues{/number}"),
    ("keys", "/keys{/key_id}"),
    ("labels", "/labels{/name}"),
    ("languages", "/languages"),
    ("merges", "/merges"),
    ("milestones", "/milestones{/number}"),
    ("notifications", "/notifications{?since,all,participating}"),
    ("pulls", "/pulls{/number}"),
    ("releases", "/releases{/id}"),
    ("stargazers", "/stargazers"),
    ("statuses", "/statuses/{sha}"),
    ("subscribers", "/subscribers"),
    ("subscription", "/subscription"),
    ("tags", "/tags"),
    ("teams", "/teams"),
    ("trees", "/git/trees{/sha}"),
    ("", ""),
    ("git", ""),
    ("svn", ""),
];

impl State {
    pub(crate) fn user(&self, user: &User) -> Value {
        let User { login, id, kind } = user;
        let url = format!(
            "{}/users/{}",
            self.api,
            login.replace('[', "%5B").replace(']', "%5D")
        );
        let page = match login.strip_suffix("[bot]") {
            Some(app) => format!("{WEB}/apps/{app}"),
            None => format!("{WEB}/{login}"),
        };
        json!({
            "login": login,
            "id": id,
            "node_id": node("U", *id),
            "avatar_url": format!("https://avatars.githubusercontent.com/u/{id}?v=4"),
            "gravatar_id": "",
            "url": url,
            "html_url": page,
            "followers_url": format!("{url}/followers"),
            "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"),
            "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"),
            "organizations_url": format!("{url}/orgs"),
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events{{/privacy}}"),
            "received_events_url": format!("{url}/received_events"),
            "type": kind,
            "user_view_type": "public",
            "site_admin": false,
        })
    }

    pub(crate) fn at(&self, repository: &Repository) -> String {
        format!("{}/repos/{}", self.api, repository.full_name())
    }

    pub(crate) fn repository_json(&self, of: &Repository) -> Value {
        let (full_name, url) = (of.full_name(), self.at(of));
        let page = format!("{WEB}/{full_name}");
        let mut json = json!({
            "id": of.id,
            "node_id": node("R", of.id),
            "name": of.name,
            "full_name": full_name,
            "private": of.private,
            "visibility": if of.private { "private" } else { "public" },
            "owner": self.user(&of.owner),
            "html_url": page,
            "description": null,
            "fork": of.fork,
            "created_at": "2024-01-01T00:00:00Z",
            "updated_at": self.today(),
            "pushed_at": self.today(),
            "homepage": null,
            "size": 100,
            "stargazers_count": 0,
            "watchers_count": 0,
            "language": "Rust",
            "has_issues": true,
            "has_projects": false,
            "has_downloads": true,
            "has_wiki": false,
            "has_pages": false,
            "has_discussions": false,
            "forks_count": 0,
            "mirror_url": null,
            "archived": false,
            "disabled": false,
            "open_issues_count": 1,
            "license": null,
            "allow_forking": true,
            "is_template": false,
            "web_commit_signoff_required": false,
            "topics": [],
            "forks": 0,
            "open_issues": 1,
            "watchers": 0,
            "default_branch": of.default_branch,
            "clone_url": format!("{page}.git"),
            "ssh_url": format!("git@github.com:{full_name}.git"),
        });
        for (key, rest) in LINKS {
            let (key, link) = match key {
                "" => ("url".to_owned(), url.clone()),
                "git" => (
                    "git_url".to_owned(),
                    format!("git://github.com/{full_name}.git"),
                ),
                "svn" => ("svn_url".to_owned(), page.clone()),
                key => (format!("{key}_url"), format!("{url}{rest}")),
            };
            json[key] = json!(link);
        }
        json
    }

    /// As `GET /repos/{owner}/{repo}` has it.
    pub(crate) fn full_repository(&self) -> Value {
        let mut json = self.repository_json(&self.repository);
        json["network_count"] = json!(0);
        json["subscribers_count"] = json!(0);
        json
    }

    fn branch(&self, branch: &Branch) -> Value {
        let owner = branch
            .repository
            .as_ref()
            .map(|repository| &repository.owner);
        let login = owner.map_or("unknown repository", |owner| owner.login.as_str());
        json!({
            "label": format!("{login}:{}", branch.name),
            "ref": branch.name,
            "sha": branch.sha,
            "user": owner.map(|owner| self.user(owner)),
            "repo": branch.repository.as_ref().map(|repository| self.repository_json(repository)),
        })
    }

    /// As a list has it.
    pub(crate) fn pull_simple(&self, pull: &Pull) -> Value {
        let (number, at) = (pull.number, self.at(&self.repository));
        let url = format!("{at}/pulls/{number}");
        let page = format!("{WEB}/{}/pull/{number}", self.repository.full_name());
        let issue = format!("{at}/issues/{number}");
        let statuses = format!("{at}/statuses/{}", pull.head.sha);
        let closed = (!pull.open).then(|| self.today());
        let links = json!({
            "self": {"href": url},
            "html": {"href": page},
            "issue": {"href": issue},
            "comments": {"href": format!("{issue}/comments")},
            "review_comments": {"href": format!("{url}/comments")},
            "review_comment": {"href": format!("{at}/pulls/comments{{/number}}")},
            "commits": {"href": format!("{url}/commits")},
            "statuses": {"href": statuses},
        });
        json!({
            "url": url,
            "id": 2_000_000_000 + number,
            "node_id": node("PR", number),
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "issue_url": issue,
            "number": number,
            "state": if pull.open { "open" } else { "closed" },
            "locked": pull.locked,
            "active_lock_reason": pull.locked.then_some("resolved"),
            "title": pull.title,
            "user": self.user(&pull.author),
            "body": null,
            "created_at": "2026-03-01T12:00:00Z",
            "updated_at": self.today(),
            "closed_at": closed,
            "merged_at": pull.merged.then(|| self.today()),
            "merge_commit_sha": hash(&[b"merge", pull.head.sha.as_bytes()]),
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "labels": [],
            "milestone": null,
            "draft": false,
            "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": format!("{at}/pulls/comments{{/number}}"),
            "comments_url": format!("{issue}/comments"),
            "statuses_url": statuses,
            "head": self.branch(&pull.head),
            "base": self.branch(&pull.base),
            "_links": links,
            "author_association": "CONTRIBUTOR",
            "auto_merge": null,
        })
    }

    /// As `GET …/pulls/{pull_number}` and a webhook have it.
    pub(crate) fn pull_json(&self, pull: &Pull) -> Value {
        let mut json = self.pull_simple(pull);
        let comments = self
            .comments
            .values()
            .filter(|comment| comment.issue == pull.number);
        let more = json!({
            "merged": pull.merged,
            "mergeable": pull.open.then_some(true),
            "rebaseable": pull.open.then_some(true),
            "mergeable_state": if pull.open { "clean" } else { "unknown" },
            "merged_by": pull.merged.then(|| self.user(&self.repository.owner)),
            "comments": comments.count(),
            "review_comments": 0,
            "maintainer_can_modify": false,
            "commits": 1,
            "additions": pull.files.len(),
            "deletions": pull.files.len(),
            "changed_files": pull.files.len(),
        });
        for (key, value) in more.as_object().expect("an object") {
            json[key] = value.clone();
        }
        json
    }

    /// As a run, a check run and some webhooks have it.
    pub(crate) fn pull_minimal(&self, pull: &Pull) -> Value {
        let end = |branch: &Branch| {
            json!({
                "ref": branch.name,
                "sha": branch.sha,
                "repo": branch.repository.as_ref().map(|repository| json!({
                    "id": repository.id,
                    "url": self.at(repository),
                    "name": repository.name,
                })),
            })
        };
        json!({
            "url": format!("{}/pulls/{}", self.at(&self.repository), pull.number),
            "id": 2_000_000_000 + pull.number,
            "number": pull.number,
            "head": end(&pull.head),
            "base": end(&pull.base),
        })
    }

    /// Open pull requests of a commit, without those of forks: GitHub leaves them
    /// out wherever it derives pull requests from a commit.
    pub(crate) fn pulls_of<'a>(&'a self, sha: &'a str) -> impl Iterator<Item = &'a Pull> {
        self.pulls.values().filter(move |pull| {
            let own = |repository: &Repository| repository.id == self.repository.id;
            pull.open && pull.head.sha == sha && pull.head.repository.as_ref().is_some_and(own)
        })
    }

    pub(crate) fn comment_json(&self, comment: &Comment) -> Value {
        let (id, issue, at) = (comment.id, comment.issue, self.at(&self.repository));
        let full_name = self.repository.full_name();
        let url = format!("{at}/issues/comments/{id}");
        json!({
            "url": url,
            "html_url": format!("{WEB}/{full_name}/pull/{issue}#issuecomment-{id}"),
            "issue_url": format!("{at}/issues/{issue}"),
            "id": id,
            "node_id": node("IC", id),
            "user": comment.user.as_ref().map(|user| self.user(user)),
            "created_at": comment.created,
            "updated_at": comment.updated,
            "body": comment.body,
            "author_association": "NONE",
            "performed_via_github_app": null,
            "reactions": {
                "url": format!("{url}/reactions"),
                "total_count": 0,
                "+1": 0,
                "-1": 0,
                "laugh": 0,
                "hooray": 0,
                "confused": 0,
                "heart": 0,
                "rocket": 0,
                "eyes": 0,
            },
        })
    }

    pub(crate) fn check_json(&self, check: &CheckRun) -> Value {
        let url = format!("{}/check-runs/{}", self.at(&self.repository), check.id);
        let page = format!("{WEB}/{}/runs/{}", self.repository.full_name(), check.id);
        json!({
            "id": check.id,
            "node_id": node("CR", check.id),
            "name": check.name,
            "head_sha": check.head_sha,
            "external_id": check.external_id.as_deref().unwrap_or(""),
            "url": url,
            "html_url": page,
            "details_url": check.details_url.as_ref().unwrap_or(&page),
            "status": check.status,
            "conclusion": check.conclusion,
            "started_at": check.started,
            "completed_at": check.completed,
            "output": {
                "title": check.title,
                "summary": check.summary,
                "text": check.text,
                "annotations_count": check.annotations.len(),
                "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": {"id": 900_001},
            "app": {
                "id": 15_368,
                "slug": "github-actions",
                "client_id": "Iv1.05c79e9ad1f6bdfa",
                "node_id": node("A", 15_368),
                "owner": self.user(&User {
                    kind: "Organization".to_owned(),
                    ..User::person("github")
                }),
                "name": "GitHub Actions",
                "description": "Automate your workflow from idea to production",
                "external_url": "https://help.github.com/en/actions",
                "html_url": format!("{WEB}/apps/github-actions"),
                "created_at": "2018-07-30T09:30:17Z",
                "updated_at": "2024-04-10T20:33:16Z",
                "permissions": {"checks": "write", "contents": "write", "pull_requests": "write"},
                "events": ["check_run", "workflow_run"],
            },
            "pull_requests": self
                .pulls_of(&check.head_sha)
                .map(|pull| self.pull_minimal(pull))
                .collect::<Vec<_>>(),
        })
    }

    pub(crate) fn file_json(&self, file: &ChangedFile, sha: &str) -> Value {
        let (path, at) = (&file.path, self.at(&self.repository));
        let page = format!("{WEB}/{}", self.repository.full_name());
        let escaped: Vec<_> = path.split('/').map(super::http::encode).collect();
        let escaped = escaped.join("/");
        let mut json = json!({
            "sha": hash(&[b"file", path.as_bytes()]),
            "filename": path,
            "status": file.status,
            "additions": 1,
            "deletions": 1,
            "changes": 2,
            "blob_url": format!("{page}/blob/{sha}/{escaped}"),
            "raw_url": format!("{page}/raw/{sha}/{escaped}"),
            "contents_url": format!("{at}/contents/{escaped}?ref={sha}"),
            "patch": "@@ -1 +1 @@\n-old\n+new",
        });
        if let Some(previous) = &file.previous {
            json["previous_filename"] = json!(previous);
        }
        json
    }

    pub(crate) fn run_json(&self, run: &Run) -> Value {
        let url = format!("{}/actions/runs/{}", self.at(&self.repository), run.id);
        let page = format!(
            "{WEB}/{}/actions/runs/{}",
            self.repository.full_name(),
            run.id
        );
        let at = self.at(&self.repository);
        let actor = run.head.repository.as_ref().unwrap_or(&self.repository);
        let actor = self.user(&actor.owner);
        json!({
            "id": run.id,
            "name": run.name,
            "node_id": node("WFR", run.id),
            "head_branch": run.head.name,
            "head_sha": run.head.sha,
            "path": run.path,
            "display_title": "a change",
            "run_number": 42,
            "run_attempt": run.attempt,
            "event": run.event,
            "status": run.status,
            "conclusion": run.conclusion,
            "workflow_id": 77_001,
            "check_suite_id": 900_001,
            "check_suite_node_id": node("CS", 900_001),
            "url": url,
            "html_url": page,
            "pull_requests": self
                .pulls_of(&run.head.sha)
                .map(|pull| self.pull_minimal(pull))
                .collect::<Vec<_>>(),
            "created_at": "2026-03-02T08:00:00Z",
            "updated_at": self.today(),
            "run_started_at": "2026-03-02T08:00:00Z",
            "actor": actor,
            "triggering_actor": actor,
            "jobs_url": format!("{url}/jobs"),
            "logs_url": format!("{url}/logs"),
            "check_suite_url": format!("{at}/check-suites/900001"),
            "artifacts_url": format!("{url}/artifacts"),
            "cancel_url": format!("{url}/cancel"),
            "rerun_url": format!("{url}/rerun"),
            "previous_attempt_url": (run.attempt > 1)
                .then(|| format!("{url}/attempts/{}", run.attempt - 1)),
            "workflow_url": format!("{at}/actions/workflows/77001"),
            "head_commit": {
                "id": run.head.sha,
                "tree_id": hash(&[b"tree of", run.head.sha.as_bytes()]),
                "message": "a change",
                "timestamp": "2026-03-02T07:59:00Z",
                "author": {"name": "Alice", "email": "alice@example.com"},
                "committer": {"name": "GitHub", "email": "noreply@github.com"},
            },
            "repository": self.repository_json(&self.repository),
            "head_repository": run
                .head
                .repository
                .as_ref()
                .map(|repository| self.repository_json(repository)),
        })
    }

    pub(crate) fn artifact_json(&self, artifact: &Artifact) -> Value {
        let run = &self.runs[&artifact.run];
        let url = format!(
            "{}/actions/artifacts/{}",
            self.at(&self.repository),
            artifact.id
        );
        let head = run.head.repository.as_ref().unwrap_or(&self.repository);
        json!({
            "id": artifact.id,
            "node_id": node("ART", artifact.id),
            "name": artifact.name,
            "size_in_bytes": artifact.bytes.len(),
            "url": url,
            "archive_download_url": format!("{url}/zip"),
            "expired": artifact.expired,
            "digest": format!("sha256:{}", hash(&[&artifact.bytes])),
            "created_at": artifact.created,
            "updated_at": artifact.created,
            "expires_at": "2026-06-01T00:00:00Z",
            "workflow_run": {
                "id": run.id,
                "repository_id": self.repository.id,
                "head_repository_id": head.id,
                "head_branch": run.head.name,
                "head_sha": run.head.sha,
            },
        })
    }

    pub(crate) fn ref_json(&self, name: &str, sha: &str) -> Value {
        let at = self.at(&self.repository);
        json!({
            "ref": name,
            "node_id": hash(&[b"node", name.as_bytes()]),
            "url": format!("{at}/git/{name}"),
            "object": {
                "sha": sha,
                "type": "commit",
                "url": format!("{at}/git/commits/{sha}"),
            },
        })
    }
}

/// A node id, which is opaque.
pub(crate) fn node(kind: &str, id: u64) -> String {
    format!("{kind}_kwDO{id:012}")
}
