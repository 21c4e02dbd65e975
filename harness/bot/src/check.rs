//! The check run: a verdict beside the comment, with annotations at the lines to blame.

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::Api;
use crate::marker::State;
use crate::problem::Problem;
use crate::target::{Target, percent_encoded};

/// GitHub's limit for one request.
const MAX_ANNOTATIONS_AT_ONCE: usize = 50;
/// The most annotations in total. Whoever has more to fix begins with the worst.
pub const MAX_ANNOTATIONS: usize = 200;
/// The most characters of the title.
const MAX_TITLE: usize = 255;
const UNTIL_SEEN: Duration = Duration::from_secs(2);

/// The conclusion of a check run, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    Success,
    Neutral,
    Failure,
}

impl Conclusion {
    /// Returns the conclusion for the state of a page. An `untrusted` page rests on the word
    /// of the code under review, so it is never a success.
    pub fn of(state: State, untrusted: bool) -> Self {
        match state {
            State::Green if untrusted => Conclusion::Neutral,
            State::Green => Conclusion::Success,
            State::Open => Conclusion::Neutral,
            State::Red => Conclusion::Failure,
        }
    }
}

#[derive(Debug)]
pub struct CheckRun<'a> {
    pub api: &'a Api,
    pub target: &'a Target,
    pub name: &'a str,
    pub key: &'a str,
    /// Tells the jobs of one run apart.
    pub job: &'a str,
    pub conclusion: Conclusion,
    pub title: &'a str,
    pub summary: &'a str,
    /// Annotations in the format of the API.
    pub annotations: &'a [Value],
}

/// The run and its attempt.
type Age = (u64, u64);

#[derive(Debug, Deserialize)]
struct Found {
    id: u64,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    output: Option<Output>,
}

#[derive(Debug, Default, Deserialize)]
struct Output {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    annotations_count: usize,
}

impl Found {
    /// Returns the check run if plimsoll made it with this key.
    fn ours(self, key: &str) -> Option<Ours> {
        let rest = self.external_id.as_deref()?.strip_prefix("plimsoll:")?;
        let mut parts = rest.strip_prefix(key)?.strip_prefix(':')?.split(':');
        let pull_request = parts.next()?.parse().ok()?;
        let (run, attempt) = parts.next()?.split_once('.')?;
        Some(Ours {
            id: self.id,
            pull_request,
            age: (run.parse().ok()?, attempt.parse().ok()?),
            job: parts.next()?.to_owned(),
            conclusion: match self.conclusion.as_deref() {
                Some("success") => Conclusion::Success,
                Some("failure") => Conclusion::Failure,
                _ => Conclusion::Neutral,
            },
            output: self.output.unwrap_or_default(),
        })
    }
}

/// A check run that plimsoll made.
#[derive(Debug)]
struct Ours {
    id: u64,
    /// 0 if there is no pull request.
    pull_request: u64,
    age: Age,
    job: String,
    conclusion: Conclusion,
    output: Output,
}

/// The result of posting a check run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    Created,
    Updated,
    /// GitHub does not know the commit: a force-push has removed it.
    NoCommit,
    /// A newer run has made a check run.
    Newer,
    /// Another job of the same run has made a check run.
    OtherJob {
        /// Whether the other job's result is worse. Then its check run stays.
        is_worse: bool,
    },
    /// The commit is also the last commit of another pull request, whose check run is red. A
    /// new check run would cover it.
    OtherPullRequest(u64),
}

impl CheckRun<'_> {
    /// Creates the check run, or updates the one that an interrupted attempt left.
    pub fn post(&self) -> Result<Checked, Problem> {
        let (ours, others): (Vec<Ours>, Vec<Ours>) = self
            .list_ours()?
            .into_iter()
            .partition(|check| check.pull_request == self.pull_request());
        if let Some(red) = red(&others)
            && self.conclusion < Conclusion::Failure
        {
            return Ok(Checked::OtherPullRequest(red.pull_request));
        }
        match newest(&ours) {
            Some(prior) if prior.age == self.age() => {
                let is_worse = prior.conclusion > self.conclusion;
                let is_other = prior.job != self.job;
                if !(is_other && is_worse) {
                    self.update(prior.id)?;
                }
                return Ok(match is_other {
                    true => Checked::OtherJob { is_worse },
                    false => Checked::Updated,
                });
            }
            // Whoever posts by hand wants to replace the newer one.
            Some(prior) if prior.age > self.age() && self.target.run > 0 => {
                return Ok(Checked::Newer);
            }
            _ => {}
        }
        let mut last = Problem::Unreadable;
        for _ in 0..2 {
            match self.create() {
                Ok(id) => {
                    self.append(id, 1)?;
                    self.uncover()?;
                    return Ok(Checked::Created);
                }
                Err(Problem::Refused {
                    status: 422,
                    message,
                }) if message.contains("No commit found") => return Ok(Checked::NoCommit),
                Err(problem) if problem.is_unsure() => {
                    last = problem;
                    self.api.sleep(UNTIL_SEEN);
                    if let Some(made) = newest(&self.of_this_pull_request()?)
                        && made.age == self.age()
                    {
                        self.append(made.id, 1)?;
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

    fn pull_request(&self) -> u64 {
        self.target.pull_request.unwrap_or(0)
    }

    fn external_id(&self) -> String {
        let (pull, job) = (self.pull_request(), self.job);
        let (run, attempt) = self.age();
        format!("plimsoll:{}:{pull}:{run}.{attempt}:{job}", self.key)
    }

    /// Lists plimsoll's check runs on the commit that have this key, of every pull request.
    fn list_ours(&self) -> Result<Vec<Ours>, Problem> {
        let ours = self.list()?.into_iter();
        Ok(ours.filter_map(|check| check.ours(self.key)).collect())
    }

    fn of_this_pull_request(&self) -> Result<Vec<Ours>, Problem> {
        let mut ours = self.list_ours()?;
        ours.retain(|check| check.pull_request == self.pull_request());
        Ok(ours)
    }

    /// Copies the newest run's result to the check run that was created last, which is the one
    /// that GitHub shows.
    ///
    /// This is needed if an older run created its check run after a newer run did. The run
    /// that creates the last one sees all others.
    fn uncover(&self) -> Result<(), Problem> {
        // A check run that is posted by hand is meant to be seen.
        if self.api.is_dry_run() || self.target.run == 0 {
            return Ok(());
        }
        let ours = self.of_this_pull_request()?;
        let (Some(newest), Some(last)) = (newest(&ours), ours.iter().map(|check| check.id).max())
        else {
            return Ok(());
        };
        if last == newest.id {
            return Ok(());
        }
        let body = json!({
            "conclusion": newest.conclusion,
            "output": {
                "title": newest.output.title.as_deref().unwrap_or_default(),
                "summary": newest.output.summary.as_deref().unwrap_or_default(),
            },
        });
        self.patch(last, &body)
    }

    /// Returns how many annotations a check run has, as far as known.
    fn annotations_of(&self, id: u64) -> Result<usize, Problem> {
        let found = self.list()?.into_iter().find(|check| check.id == id);
        let output = found.and_then(|check| check.output);
        Ok(output.map_or(0, |output| output.annotations_count))
    }

    /// Lists the check runs of this name on the commit.
    fn list(&self) -> Result<Vec<Found>, Problem> {
        let path = format!(
            "/repos/{}/commits/{}/check-runs?check_name={}&filter=all&per_page=100",
            self.target.repository,
            self.target.head,
            percent_encoded(self.name)
        );
        match self.api.list_in(&path, "check_runs") {
            // The commit does not exist. The next request, which creates, will say so.
            Err(Problem::Refused { status: 422, .. } | Problem::NotFound) => Ok(Vec::new()),
            found => found,
        }
    }

    fn create(&self) -> Result<u64, Problem> {
        let mut body = self.state(0);
        body["head_sha"] = json!(self.target.head.as_str());
        let path = format!("/repos/{}/check-runs", self.target.repository);
        let made: Found = self.api.create(&path, &body)?;
        Ok(made.id)
    }

    /// Updates the verdict and the texts, but not the annotations.
    ///
    /// An interrupted attempt may have left annotations out. Nobody knows which, and adding
    /// all again would double the others.
    fn update(&self, id: u64) -> Result<(), Problem> {
        self.patch(id, &self.state(usize::MAX))
    }

    /// Adds the annotations that did not fit into the first request.
    fn append(&self, id: u64, from: usize) -> Result<(), Problem> {
        let chunks = self.chunks().count();
        for index in from..chunks {
            let body = json!({ "output": self.output(index) });
            let path = self.path(id);
            match self.api.add::<Found>(&path, &body) {
                Ok(_) => {}
                // Each request adds its annotations, even if its answer was lost. So the
                // request is repeated only if they are not there.
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
        let _: Found = self.api.change(Method::PATCH, &self.path(id), body)?;
        Ok(())
    }

    fn chunks(&self) -> std::slice::Chunks<'_, Value> {
        let most = self.annotations.len().min(MAX_ANNOTATIONS);
        self.annotations[..most].chunks(MAX_ANNOTATIONS_AT_ONCE)
    }

    fn state(&self, chunk: usize) -> Value {
        let mut state = json!({
            "name": self.name,
            "status": "completed",
            "conclusion": self.conclusion,
            "output": self.output(chunk),
            "external_id": self.external_id(),
        });
        if let Some(url) = &self.target.job_url {
            state["details_url"] = json!(url);
        }
        state
    }

    fn output(&self, chunk: usize) -> Value {
        let annotations = self.chunks().nth(chunk).unwrap_or_default();
        let title: String = self.title.chars().take(MAX_TITLE).collect();
        let mut output = json!({ "title": title, "summary": self.summary });
        if !annotations.is_empty() {
            output["annotations"] = Value::Array(annotations.to_vec());
        }
        output
    }
}

/// Returns the newest check run; of several of the same attempt, the one with the worst
/// conclusion.
fn newest(ours: &[Ours]) -> Option<&Ours> {
    ours.iter()
        .max_by_key(|check| (check.age, check.conclusion, check.id))
}

/// Returns a red check run that is the newest of its pull request.
fn red(others: &[Ours]) -> Option<&Ours> {
    others.iter().find(|check| {
        let is_newer = |other: &Ours| {
            other.pull_request == check.pull_request
                && (other.age, other.id) > (check.age, check.id)
        };
        check.conclusion == Conclusion::Failure && !others.iter().any(is_newer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_green_on_its_own_word_is_neutral() {
        let of = |state| [false, true].map(|untrusted| Conclusion::of(state, untrusted));
        assert_eq!(of(State::Green), [Conclusion::Success, Conclusion::Neutral]);
        assert_eq!(of(State::Open), [Conclusion::Neutral; 2]);
        assert_eq!(of(State::Red), [Conclusion::Failure; 2]);
    }

    fn ours(id: u64, external_id: &str, conclusion: &str) -> Option<Ours> {
        let found = json!({"id": id, "external_id": external_id, "conclusion": conclusion});
        Found::deserialize(found).unwrap().ours("default")
    }

    #[test]
    fn a_check_run_says_whose_it_is() {
        let found = ours(5, "plimsoll:default:7:500.2:c0ffee", "failure").unwrap();
        assert_eq!((found.id, found.pull_request, found.age), (5, 7, (500, 2)));
        assert_eq!(found.conclusion, Conclusion::Failure);
        assert_eq!(found.job, "c0ffee");
        for other in [
            "",
            "plimsoll:linux:7:500.2:c0ffee",
            "plimsoll:default-2:7:500.2:c0ffee",
            "plimsoll:default:7:500:c0ffee",
            "plimsoll:default:x:500.2:c0ffee",
            "plimsoll:default:7:500.2",
            "another:default:7:500.2:c0ffee",
        ] {
            assert!(ours(5, other, "failure").is_none(), "{other}");
        }
    }

    fn all(of: &[(u64, &str, &str)]) -> Vec<Ours> {
        let one = |(id, run, conclusion): &(u64, &str, &str)| {
            ours(*id, &format!("plimsoll:default:{run}:x"), conclusion).unwrap()
        };
        of.iter().map(one).collect()
    }

    #[test]
    fn the_newest_and_of_one_run_the_worst() {
        for (one, two, expected) in [
            ((1, "7:600.1", "success"), (2, "7:500.9", "failure"), 1),
            ((1, "7:500.2", "success"), (2, "7:500.1", "failure"), 1),
            ((1, "7:500.1", "failure"), (2, "7:500.1", "neutral"), 1),
            ((1, "7:500.1", "failure"), (2, "7:500.1", "failure"), 2),
        ] {
            let newest = newest(&all(&[one, two])).map(|check| check.id);
            assert_eq!(newest, Some(expected), "{one:?} {two:?}");
        }
        assert!(newest(&[]).is_none());
    }

    /// A red check run does not count any more if a newer run of its pull request is green.
    #[test]
    fn a_red_check_run_of_another_pull_request() {
        let red = |of: &[(u64, &str, &str)]| red(&all(of)).map(|check| check.pull_request);
        assert_eq!(red(&[(1, "6:400.1", "failure")]), Some(6));
        assert_eq!(red(&[(1, "6:400.1", "neutral")]), None);
        let turned = [(1, "6:400.1", "failure"), (2, "6:401.1", "success")];
        assert_eq!(red(&turned), None);
        let by_id = [(1, "6:400.1", "failure"), (2, "6:400.1", "success")];
        assert_eq!(red(&by_id), None);
        let of_others = [(1, "6:400.1", "failure"), (2, "5:401.1", "success")];
        assert_eq!(red(&of_others), Some(6));
    }
}
