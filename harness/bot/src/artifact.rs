//! The report of the measuring run, from the artifact that the run left.
//!
//! The author of the pull request controls everything in the artifact. This module only
//! downloads its bytes, up to a limit. `plimsoll-report` reads one entry of it.

use std::ops::RangeInclusive;

use plimsoll_core::report::json::MAX_BYTES;
use serde::Deserialize;

use crate::api::Api;
use crate::names::Sha;
use crate::problem::Problem;
use crate::target::{Target, percent_encoded};

/// The most bytes of the archive that is downloaded. No report compresses to more.
const MAX_ARCHIVE: usize = MAX_BYTES + 1024 * 1024;

/// An artifact in a list of the API.
#[derive(Debug, Deserialize)]
struct Listed {
    id: u64,
    name: String,
    #[serde(default)]
    expired: bool,
    workflow_run: Option<Made>,
}

/// The run that made an artifact.
#[derive(Debug, Deserialize)]
struct Made {
    repository_id: Option<u64>,
    head_repository_id: Option<u64>,
    head_branch: Option<String>,
    head_sha: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Page {
    artifacts: Vec<Listed>,
}

/// The result of a download.
#[derive(Debug, PartialEq, Eq)]
pub enum Artifact {
    /// The artifact's bytes, as downloaded.
    Bytes(Vec<u8>),
    /// The run has no artifact of that name.
    Missing,
    /// GitHub has deleted the artifact because of its age.
    Expired,
    /// The artifact is longer than any report can be.
    TooLong,
}

/// Downloads the artifact `NAME-ATTEMPT` of the run. If `or_earlier` is set and the attempt
/// left none, downloads that of the newest attempt before it.
pub fn fetch(
    api: &Api,
    target: &Target,
    name: &str,
    or_earlier: bool,
) -> Result<Artifact, Problem> {
    let path = format!(
        "/repos/{}/actions/runs/{}/artifacts?per_page=100",
        target.repository, target.run
    );
    let artifacts: Vec<Listed> = api.list_in(&path, "artifacts")?;
    let oldest = if or_earlier { 1 } else { target.attempt };
    let Some(artifact) = newest(&artifacts, name, oldest..=target.attempt) else {
        return Ok(Artifact::Missing);
    };
    if artifact.expired {
        return Ok(Artifact::Expired);
    }
    download(api, target, artifact.id)
}

/// Downloads the artifact `NAME-1` that a run of a branch left: the run of the target's base
/// commit, or else the newest run. `Missing` if no run of the branch left one.
///
/// A branch of a fork may have the same name; its runs do not count.
pub fn of_branch(
    api: &Api,
    target: &Target,
    branch: &str,
    name: &str,
) -> Result<Artifact, Problem> {
    let path = format!(
        "/repos/{}/actions/artifacts?name={}&per_page=100",
        target.repository,
        percent_encoded(&format!("{name}-1"))
    );
    let page: Page = api.get(&path)?;
    let base = target.base.as_ref().map(Sha::as_str);
    match of_base(&page.artifacts, branch, base) {
        Some(artifact) => download(api, target, artifact.id),
        None => Ok(Artifact::Missing),
    }
}

/// Returns the artifact of the commit `base` on a branch of the repository itself, or else the
/// newest of that branch.
fn of_base<'a>(artifacts: &'a [Listed], branch: &str, base: Option<&str>) -> Option<&'a Listed> {
    let of_branch = artifacts.iter().filter_map(|artifact| {
        let made = artifact.workflow_run.as_ref()?;
        let is_own = made.repository_id.is_some() && made.repository_id == made.head_repository_id;
        let is_there = is_own && !artifact.expired && made.head_branch.as_deref() == Some(branch);
        is_there.then_some((made.head_sha.as_deref() == base, artifact))
    });
    let best = of_branch.max_by_key(|(is_base, artifact)| (*is_base, artifact.id));
    best.map(|(_, artifact)| artifact)
}

fn download(api: &Api, target: &Target, artifact: u64) -> Result<Artifact, Problem> {
    let path = format!(
        "/repos/{}/actions/artifacts/{artifact}/zip",
        target.repository
    );
    match api.download(&path, MAX_ARCHIVE) {
        Ok(Some(bytes)) => Ok(Artifact::Bytes(bytes)),
        Ok(None) => Ok(Artifact::TooLong),
        Err(Problem::Gone) => Ok(Artifact::Expired),
        Err(problem) => Err(problem),
    }
}

/// Returns the artifact of the newest of these attempts; of several, the one that was made
/// last.
fn newest<'a>(
    artifacts: &'a [Listed],
    name: &str,
    attempts: RangeInclusive<u64>,
) -> Option<&'a Listed> {
    let attempt = |artifact: &Listed| -> Option<u64> {
        let rest = artifact.name.strip_prefix(name)?.strip_prefix('-')?;
        let plain = rest.bytes().all(|byte| byte.is_ascii_digit());
        let attempt = plain.then(|| rest.parse().ok()).flatten()?;
        attempts.contains(&attempt).then_some(attempt)
    };
    let numbered = artifacts
        .iter()
        .filter_map(|artifact| Some((attempt(artifact)?, artifact)));
    let newest = numbered.max_by_key(|(attempt, artifact)| (*attempt, artifact.id));
    newest.map(|(_, artifact)| artifact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_artifact_of_the_base_or_the_newest_of_its_branch() {
        let of = |(id, repository, branch, commit, expired): (u64, u64, &str, &str, bool)| Listed {
            id,
            name: "report-1".to_owned(),
            expired,
            workflow_run: Some(Made {
                repository_id: Some(1),
                head_repository_id: Some(repository),
                head_branch: Some(branch.to_owned()),
                head_sha: Some(commit.to_owned()),
            }),
        };
        let mut all = [
            (9, 2, "main", "fork", false),
            (8, 1, "main", "late", true),
            (7, 1, "topic", "other", false),
            (6, 1, "main", "newest", false),
            (5, 1, "main", "older", false),
        ]
        .map(of);
        let found =
            |all: &[Listed], branch, base| of_base(all, branch, base).map(|artifact| artifact.id);
        assert_eq!(found(&all, "main", Some("older")), Some(5));
        assert_eq!(found(&all, "main", Some("late")), Some(6));
        assert_eq!(found(&all, "main", Some("fork")), Some(6));
        assert_eq!(found(&all, "main", None), Some(6));
        assert_eq!(found(&all, "dev", Some("older")), None);
        all.iter_mut().for_each(|one| one.workflow_run = None);
        assert_eq!(found(&all, "main", None), None);
    }

    #[test]
    fn the_artifact_of_the_newest_attempt() {
        let names = "report-1 report-2 report-2 report report- report-9 report-3x report-+3 other-3 \
                     reports-3";
        let listed = |(name, id): (&str, u64)| Listed {
            id,
            name: name.to_owned(),
            expired: false,
            workflow_run: None,
        };
        let all: Vec<Listed> = names.split(' ').zip(1..).map(listed).collect();
        let newest = |attempts| newest(&all, "report", attempts).map(|found| found.id);
        assert_eq!(newest(1..=3), Some(3));
        assert_eq!(newest(1..=2), Some(3));
        assert_eq!(newest(1..=1), Some(1));
        assert_eq!(newest(3..=3), None);
        assert_eq!(newest(9..=9), Some(6));
    }
}
