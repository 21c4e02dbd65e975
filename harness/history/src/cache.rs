//! Caches measurements by revision, toolchain and scenario.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::measure::{Cause, Unusable};
use crate::revision::Revision;
use plimsoll_core::text::hash::fnv;
use plimsoll_desk::atomic;

/// The format of the file. Files in another format are ignored.
const VERSION: u64 = 1;

/// A folder with one file for each revision and length of the climb.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
}

/// Why a revision could not be measured, if another attempt would give the same result.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnusableV1 {
    version: u64,
    kind: Cause,
    why: String,
}

/// A cached result: the content of a `report.json`, unchanged, or why there is none.
pub(crate) type Kept = Result<Vec<u8>, Unusable>;

impl Cache {
    /// Opens the cache in a folder. `parts` is everything that a measurement depends on,
    /// except the revision and the length of the climb.
    pub(crate) fn new(dir: PathBuf, parts: &[&str]) -> Cache {
        let key = fnv(parts.join("\0").as_bytes());
        Cache {
            dir: dir.join(format!("{key:016x}")),
        }
    }

    /// Returns the cache for measurements that also depend on `part`.
    pub(crate) fn of(&self, part: &str) -> Cache {
        Cache {
            dir: self.dir.join(format!("{:016x}", fnv(part.as_bytes()))),
        }
    }

    pub(crate) fn get(&self, revision: &Revision, climb: &str) -> Option<Kept> {
        if let Ok(bytes) = fs::read(self.path(revision, climb)) {
            return Some(Ok(bytes));
        }
        let text = fs::read_to_string(self.path(revision, "unusable")).ok()?;
        let file: UnusableV1 = serde_json::from_str(&text).ok()?;
        let unusable = Unusable::new(file.kind, file.why);
        (file.version == VERSION).then_some(Err(unusable))
    }

    pub(crate) fn put(&self, revision: &Revision, climb: &str, report: &str) -> anyhow::Result<()> {
        atomic::write(&self.path(revision, climb), report)
    }

    pub(crate) fn put_unusable(&self, revision: &Revision, why: &Unusable) -> anyhow::Result<()> {
        // Later, the network may be back or the machine less busy.
        if !why.cause.lasts() {
            return Ok(());
        }
        let file = UnusableV1 {
            version: VERSION,
            kind: why.cause,
            why: why.why.clone(),
        };
        let text = serde_json::to_string_pretty(&file)?;
        atomic::write(&self.path(revision, "unusable"), &(text + "\n"))
    }

    pub(crate) fn forget_unusable(&self, revision: &Revision) {
        let _ = fs::remove_file(self.path(revision, "unusable"));
    }

    fn path(&self, revision: &Revision, climb: &str) -> PathBuf {
        self.dir.join(format!("{}.{climb}.json", revision.key()))
    }
}
