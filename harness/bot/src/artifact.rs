//! The report of the measuring run, from the artifact that the run left.
//!
//! The author of the pull request controls everything in the artifact. This module only
//! downloads its bytes, up to a limit. `plimsoll-report` reads one entry of it.

use std::ops::RangeInclusive;

use plimsoll_core::report::json::MAX_BYTES;
use serde::Deserialize;

use crate::api::Api;
use crate::problem::Problem;
use crate::target::Target;

/// The most bytes of the archive that is downloaded. No report compresses to more.
const MAX_ARCHIVE: usize = MAX_BYTES + 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Listed {
    id: u64,
    name: String,
    #[serde(default)]
    expired: bool,
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
    fn the_artifact_of_the_newest_attempt() {
        let names = "report-1 report-2 report-2 report report- report-9 report-3x report-+3 other-3 \
                     reports-3";
        let listed = |(name, id): (&str, u64)| Listed {
            id,
            name: name.to_owned(),
            expired: false,
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
