//! The check run: a verdict beside the commit, with notes at the lines to blame.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::annotations::Annotation;
use super::api::{Api, Method};
use super::problem::Problem;
use super::target::{Target, percent_encoded};

/// In one request.
const MAX_ANNOTATIONS_AT_ONCE: usize = 50;
/// In all: who has more to fix begins with the worst.
pub(crate) const MAX_ANNOTATIONS: usize = 200;
/// Of the title, in characters.
const MAX_TITLE: usize = 255;
const UNTIL_SEEN: Duration = Duration::from_secs(2);

/// What a check run concludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conclusion {
    Success,
    Neutral,
    Failure,
}

impl Conclusion {
    fn as_str(self) -> &'static str {
        match self {
            Conclusion::Success => "success",
            Conclusion::Neutral => "neutral",
            Conclusion::Failure => "failure",
        }
    }
}

pub(crate) struct CheckRun<'a> {
    pub(crate) api: &'a Api,
    pub(crate) target: &'a Target,
    pub(crate) name: &'a str,
    pub(crate) key: &'a str,
    pub(crate) conclusion: Conclusion,
    pub(crate) title: &'a str,
    pub(crate) summary: &'a str,
    pub(crate) annotations: &'a [Annotation],
}

/// Run and attempt.
type Age = (u64, u64);

#[derive(Debug, Deserialize)]
struct Found {
    id: u64,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    output: Option<Output>,
}

#[derive(Debug, Deserialize)]
struct Output {
    #[serde(default)]
    annotations_count: usize,
}

/// What became of the check run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    Created,
    Updated,
    /// GitHub does not know the commit: a force-push has taken it away.
    NoCommit,
    /// There is one of a newer run.
    Newer,
}

impl CheckRun<'_> {
    /// Makes it, or brings up to date what an interrupted attempt has left.
    pub(crate) fn post(&self) -> Result<Checked, Problem> {
        match self.find()? {
            Some((id, age)) if age == self.age() => {
                self.update(id)?;
                return Ok(Checked::Updated);
            }
            Some((_, age)) if age > self.age() => return Ok(Checked::Newer),
            _ => {}
        }
        let mut last = Problem::Unreadable;
        for _ in 0..2 {
            match self.create() {
                Ok(id) => {
                    self.append(id, 1)?;
                    return Ok(Checked::Created);
                }
                Err(Problem::Refused {
                    status: 422,
                    message,
                }) if message.contains("No commit found") => return Ok(Checked::NoCommit),
                Err(problem) if problem.is_unsure() => {
                    last = problem;
                    self.api.sleep(UNTIL_SEEN);
                    if let Some((id, age)) = self.find()?
                        && age == self.age()
                    {
                        self.append(id, 1)?;
                        return Ok(Checked::Created);
                    }
                }
                Err(problem) => return Err(problem),
            }
        }
        Err(last)
    }

    fn age(&self) -> Age {
        (self.target.run, self.target.attempt)
    }

    /// The newest of ours on that commit, with its run and attempt.
    fn find(&self) -> Result<Option<(u64, Age)>, Problem> {
        let prefix = format!("plimsoll:{}:", self.key);
        let ours = self.list()?.into_iter().filter_map(|check| {
            let (run, attempt) = check
                .external_id
                .as_deref()?
                .strip_prefix(&prefix)?
                .split_once('.')?;
            Some((check.id, (run.parse().ok()?, attempt.parse().ok()?)))
        });
        Ok(ours.max_by_key(|(id, age)| (*age, *id)))
    }

    /// How many annotations one has, as far as is known.
    fn annotations_of(&self, id: u64) -> Result<usize, Problem> {
        let found = self.list()?.into_iter().find(|check| check.id == id);
        let output = found.and_then(|check| check.output);
        Ok(output.map_or(0, |output| output.annotations_count))
    }

    /// Those of that name on that commit.
    fn list(&self) -> Result<Vec<Found>, Problem> {
        let path = format!(
            "/repos/{}/commits/{}/check-runs?check_name={}&filter=all&per_page=100",
            self.target.repository,
            self.target.head,
            percent_encoded(self.name)
        );
        match self.api.list_in(&path, "check_runs") {
            // No such commit: what is made next will say so.
            Err(Problem::Refused { status: 422, .. } | Problem::NotFound) => Ok(Vec::new()),
            found => found,
        }
    }

    fn create(&self) -> Result<u64, Problem> {
        let mut body = self.state(0);
        body["head_sha"] = json!(self.target.head.as_str());
        body["external_id"] = json!(format!(
            "plimsoll:{}:{}.{}",
            self.key, self.target.run, self.target.attempt
        ));
        if let Some(url) = &self.target.job_url {
            body["details_url"] = json!(url);
        }
        let path = format!("/repos/{}/check-runs", self.target.repository);
        let made: Found = self.api.create(&path, &body)?;
        Ok(made.id)
    }

    /// What an attempt has left may lack annotations; which, nobody knows, and
    /// adding all of them again would double them. The verdict counts.
    fn update(&self, id: u64) -> Result<(), Problem> {
        let mut body = self.state(usize::MAX);
        if let Some(url) = &self.target.job_url {
            body["details_url"] = json!(url);
        }
        self.patch(id, &body)
    }

    /// Adds the annotations that did not fit into the first request.
    fn append(&self, id: u64, from: usize) -> Result<(), Problem> {
        let chunks = self.chunks().count();
        for index in from..chunks {
            let body = json!({ "output": self.output(index) });
            let path = self.path(id);
            let done: Result<Found, Problem> = self.api.add(&path, &body);
            match done {
                Ok(_) => {}
                // It adds each time, also where the answer was lost.
                Err(problem) if problem.is_unsure() => {
                    self.api.sleep(UNTIL_SEEN);
                    let before = index * MAX_ANNOTATIONS_AT_ONCE;
                    if self.annotations_of(id)? <= before {
                        let _: Found = self.api.add(&path, &body)?;
                    }
                }
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
    }

    fn path(&self, id: u64) -> String {
        format!("/repos/{}/check-runs/{id}", self.target.repository)
    }

    fn patch(&self, id: u64, body: &Value) -> Result<(), Problem> {
        let _: Found = self.api.change(Method::Patch, &self.path(id), body)?;
        Ok(())
    }

    fn chunks(&self) -> std::slice::Chunks<'_, Annotation> {
        let most = self.annotations.len().min(MAX_ANNOTATIONS);
        self.annotations[..most].chunks(MAX_ANNOTATIONS_AT_ONCE)
    }

    fn state(&self, chunk: usize) -> Value {
        json!({
            "name": self.name,
            "status": "completed",
            "conclusion": self.conclusion.as_str(),
            "output": self.output(chunk),
        })
    }

    fn output(&self, chunk: usize) -> Value {
        let annotations = self.chunks().nth(chunk).unwrap_or_default();
        let annotations: Vec<Value> = annotations.iter().map(Annotation::as_json).collect();
        let title: String = self.title.chars().take(MAX_TITLE).collect();
        let mut output = json!({ "title": title, "summary": self.summary });
        if !annotations.is_empty() {
            output["annotations"] = Value::Array(annotations);
        }
        output
    }
}
