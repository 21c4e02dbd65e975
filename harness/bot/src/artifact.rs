//! The measuring run's report, from the artifact that it left.
//!
//! Everything in it is the pull request author's: it is read by its name from
//! the archive, up to a limit, and nothing is unpacked to where it says.

use plimsoll_core::report::json::MAX_BYTES;
use serde::Deserialize;

use crate::api::Api;
use crate::problem::Problem;
use crate::target::Target;

/// Of the archive as it is downloaded: a report never compresses to more.
const MAX_ARCHIVE: usize = MAX_BYTES + 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Listed {
    id: u64,
    name: String,
    #[serde(default)]
    expired: bool,
}

/// What became of an artifact.
#[derive(Debug, PartialEq, Eq)]
pub enum Artifact {
    /// Its bytes, as they were downloaded.
    Bytes(Vec<u8>),
    /// There is none of that name.
    Missing,
    /// GitHub keeps it no longer.
    Expired,
    /// It is longer than any report can be.
    TooLong,
}

/// Takes the artifact `NAME-ATTEMPT` of the run; or, where an earlier one may
/// stand in for it, that of the newest attempt before.
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
    let attempt = |artifact: &Listed| -> Option<u64> {
        let rest = artifact.name.strip_prefix(name)?.strip_prefix('-')?;
        let plain = rest.bytes().all(|byte| byte.is_ascii_digit());
        let attempt = plain.then(|| rest.parse().ok()).flatten()?;
        let oldest = if or_earlier { 1 } else { target.attempt };
        (oldest..=target.attempt)
            .contains(&attempt)
            .then_some(attempt)
    };
    let newest = artifacts
        .iter()
        .filter_map(|artifact| Some((attempt(artifact)?, artifact)))
        .max_by_key(|(attempt, artifact)| (*attempt, artifact.id));
    let Some((_, artifact)) = newest else {
        return Ok(Artifact::Missing);
    };
    if artifact.expired {
        return Ok(Artifact::Expired);
    }
    let path = format!(
        "/repos/{}/actions/artifacts/{}/zip",
        target.repository, artifact.id
    );
    match api.download(&path, MAX_ARCHIVE) {
        Ok(Some(bytes)) => Ok(Artifact::Bytes(bytes)),
        Ok(None) => Ok(Artifact::TooLong),
        Err(Problem::Gone) => Ok(Artifact::Expired),
        Err(problem) => Err(problem),
    }
}
