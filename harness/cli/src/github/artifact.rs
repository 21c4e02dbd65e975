//! The measuring run's report, from the artifact that it left.
//!
//! Everything in it is the pull request author's: it is read by its name from
//! the archive, up to a limit, and nothing is unpacked to where it says.

use std::io::{Cursor, Read};

use plimsoll_core::report::json::MAX_BYTES;
use serde::Deserialize;
use zip::ZipArchive;

use super::api::Api;
use super::problem::Problem;
use super::target::Target;
use crate::joined::NoResult;

/// The one file that is read.
const ENTRY: &str = "report.json";
/// Of the archive as it is downloaded: a report never compresses to more.
const MAX_ARCHIVE: usize = MAX_BYTES + 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Artifact {
    id: u64,
    name: String,
    #[serde(default)]
    expired: bool,
}

/// What an artifact held.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The file, cut one byte after what a report may have.
    Report(Vec<u8>),
    /// Nothing that can be read.
    Not(NoResult),
}

/// Takes the artifact `NAME-ATTEMPT` of the run; or, where an earlier one may
/// stand in for it, that of the newest attempt before.
pub(crate) fn fetch(
    api: &Api,
    target: &Target,
    name: &str,
    or_earlier: bool,
) -> Result<Held, Problem> {
    let path = format!(
        "/repos/{}/actions/runs/{}/artifacts?per_page=100",
        target.repository, target.run
    );
    let artifacts: Vec<Artifact> = api.list_in(&path, "artifacts")?;
    let attempt = |artifact: &Artifact| -> Option<u64> {
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
        return Ok(Held::Not(NoResult::Missing));
    };
    if artifact.expired {
        return Ok(Held::Not(NoResult::Expired));
    }
    let path = format!(
        "/repos/{}/actions/artifacts/{}/zip",
        target.repository, artifact.id
    );
    match api.download(&path, MAX_ARCHIVE) {
        Ok(Some(bytes)) => Ok(open(bytes)),
        Ok(None) => Ok(Held::Not(NoResult::TooLong)),
        Err(Problem::Gone) => Ok(Held::Not(NoResult::Expired)),
        Err(problem) => Err(problem),
    }
}

/// The report in an archive; or the report itself, where it was not archived.
pub(crate) fn open(bytes: Vec<u8>) -> Held {
    if !bytes.starts_with(b"PK") {
        return Held::Report(bytes);
    }
    let Ok(mut archive) = ZipArchive::new(Cursor::new(bytes)) else {
        return Held::Not(NoResult::NotAnArchive);
    };
    // By its exact name: `../report.json` is another.
    let Ok(entry) = archive.by_name(ENTRY) else {
        return Held::Not(NoResult::Missing);
    };
    if !entry.is_file() || entry.is_symlink() {
        return Held::Not(NoResult::NotAFile);
    }
    let mut report = Vec::new();
    match entry.take(MAX_BYTES as u64 + 1).read_to_end(&mut report) {
        Ok(_) => Held::Report(report),
        Err(_) => Held::Not(NoResult::NotAnArchive),
    }
}
