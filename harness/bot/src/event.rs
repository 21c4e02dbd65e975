//! The payload of the event that started a workflow.
//!
//! Only the fields that are used. Most are optional: a deleted fork has no repository, and a
//! deleted account is `null`. <https://docs.github.com/webhooks/webhook-events-and-payloads>

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::environment::Environment;
use plimsoll_desk::status::Refused;

/// The most bytes of a payload. GitHub's own payloads have at most 25 MB.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

#[derive(Debug)]
pub enum Event {
    PullRequest(PullRequest),
    WorkflowRun(Box<WorkflowRun>),
    MergeGroup {
        head: String,
        base: Option<String>,
    },
    /// A push, or any other event about a commit.
    Other {
        head: Option<String>,
        base: Option<String>,
    },
}

#[derive(Debug, Clone, Deserialize)]
pub struct PullRequest {
    pub number: u64,
    pub head: Side,
    pub base: Side,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Side {
    pub sha: String,
    #[serde(default, rename = "ref")]
    pub branch: Option<String>,
    #[serde(default)]
    pub repo: Option<Repo>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Repo {
    pub id: u64,
}

impl PullRequest {
    /// Returns whether the commits of the pull request are in another repository. A deleted
    /// repository counts as another.
    pub fn is_from_fork(&self) -> bool {
        let id = |side: &Side| side.repo.as_ref().map(|repo| repo.id);
        id(&self.head).is_none() || id(&self.head) != id(&self.base)
    }
}

#[derive(Debug, Deserialize)]
pub struct WorkflowRun {
    pub id: u64,
    #[serde(default = "first")]
    pub run_attempt: u64,
    /// The event that started the workflow that has ended.
    pub event: String,
    pub head_branch: Option<String>,
    pub head_sha: String,
    pub head_repository: Option<HeadRepository>,
    #[serde(default)]
    pub conclusion: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct HeadRepository {
    pub id: u64,
    pub full_name: String,
}

impl WorkflowRun {
    /// Returns whether the run was ended before it had finished.
    pub fn was_cut_short(&self) -> bool {
        matches!(
            self.conclusion.as_deref(),
            Some("cancelled" | "timed_out" | "startup_failure")
        )
    }
}

fn first() -> u64 {
    1
}

/// Reads the event that the environment names. Returns `None` outside a workflow.
pub fn read(environment: &Environment) -> anyhow::Result<Option<Event>> {
    let (Some(name), Some(path)) = (&environment.event_name, &environment.event_path) else {
        return Ok(None);
    };
    let payload = payload(path).map_err(|err| {
        Refused::usage(format!(
            "GITHUB_EVENT_PATH: the event's payload cannot be read: {err:#}"
        ))
    })?;
    of(name, &payload, environment.sha.clone())
        .map(Some)
        .map_err(|err| {
            Refused::usage(format!(
                "GITHUB_EVENT_PATH: not the payload of a `{}` event: {err:#}",
                plimsoll_desk::out::safe_line(name)
            ))
        })
}

fn payload(path: &Path) -> anyhow::Result<Value> {
    let length = std::fs::metadata(path)?.len();
    anyhow::ensure!(length <= MAX_BYTES, "it has {length} bytes");
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

fn of(name: &str, payload: &Value, sha: Option<String>) -> anyhow::Result<Event> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Ok(match name {
        "pull_request" | "pull_request_target" => {
            let pull = PullRequest::deserialize(&payload["pull_request"]);
            Event::PullRequest(pull.context("`pull_request`")?)
        }
        "workflow_run" => {
            let run = WorkflowRun::deserialize(&payload["workflow_run"]);
            Event::WorkflowRun(Box::new(run.context("`workflow_run`")?))
        }
        "merge_group" => Event::MergeGroup {
            head: text(&payload["merge_group"]["head_sha"]).context("`merge_group.head_sha`")?,
            base: text(&payload["merge_group"]["base_sha"]),
        },
        "push" => Event::Other {
            head: text(&payload["after"]).or(sha),
            base: text(&payload["before"]),
        },
        _ => {
            let (head, base) = (sha, None);
            Event::Other { head, base }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(name: &str, payload: &Value) -> String {
        match of(name, payload, Some("of the job".to_owned())) {
            Err(err) => format!("error: {err:#}"),
            Ok(Event::PullRequest(pull)) => {
                format!("{} {}", pull.number, pull.is_from_fork())
            }
            Ok(Event::WorkflowRun(run)) => {
                format!("{}.{} {}", run.id, run.run_attempt, run.was_cut_short())
            }
            Ok(Event::MergeGroup { head, base }) => format!("{head} {base:?}"),
            Ok(Event::Other { head, base }) => format!("{head:?} {base:?}"),
        }
    }

    #[test]
    fn a_pull_request_from_a_fork() {
        let from = |head: Value, base: Value| {
            let side = |repo: Value| json!({"sha": "a", "ref": "topic", "repo": repo});
            let pull = json!({"number": 7, "head": side(head), "base": side(base)});
            said("pull_request", &json!({ "pull_request": pull }))
        };
        let (one, two, gone) = (json!({"id": 1}), json!({"id": 2}), json!(null));
        assert_eq!(from(one.clone(), one.clone()), "7 false");
        assert_eq!(from(two, one.clone()), "7 true");
        // A deleted repository still counts as a fork.
        assert_eq!(from(gone.clone(), one), "7 true");
        assert_eq!(from(gone.clone(), gone), "7 true");
    }

    #[test]
    fn a_run_that_did_not_come_to_its_end() {
        for (conclusion, cut_short) in [
            ("success", false),
            ("failure", false),
            ("skipped", false),
            ("cancelled", true),
            ("timed_out", true),
            ("startup_failure", true),
        ] {
            let run = json!({
                "id": 5, "run_attempt": 2, "event": "pull_request", "head_sha": "a",
                "head_branch": null, "head_repository": null, "conclusion": conclusion,
            });
            let said = said("workflow_run", &json!({ "workflow_run": run }));
            assert_eq!(said, format!("5.2 {cut_short}"), "{conclusion}");
        }
    }

    #[test]
    fn what_other_events_are_about() {
        let queue = json!({"merge_group": {"head_sha": "h", "base_sha": "b"}});
        assert_eq!(said("merge_group", &queue), "h Some(\"b\")");
        let push = json!({"before": "b", "after": "h"});
        assert_eq!(said("push", &push), "Some(\"h\") Some(\"b\")");
        assert_eq!(said("push", &json!({})), "Some(\"of the job\") None");
        assert_eq!(said("schedule", &push), "Some(\"of the job\") None");
        for name in ["pull_request", "workflow_run", "merge_group"] {
            let said = said(name, &json!({}));
            assert!(said.starts_with(&format!("error: `{name}")), "{said}");
        }
    }
}
