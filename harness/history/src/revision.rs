//! The revisions that can be measured.

use semver::Version;

use plimsoll_desk::git::Commit;

/// A revision: one candidate of a search.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    Commit(Commit),
    /// A snapshot of the working tree, including uncommitted changes.
    WorkingTree(Commit),
    /// A commit with one of its dependencies at this version.
    Release {
        commit: Commit,
        name: String,
        version: Version,
    },
}

impl Revision {
    /// Returns the commit that is checked out for it.
    pub(crate) fn commit(&self) -> &Commit {
        match self {
            Revision::Commit(commit)
            | Revision::WorkingTree(commit)
            | Revision::Release { commit, .. } => commit,
        }
    }

    pub(crate) fn version(&self) -> Option<&Version> {
        match self {
            Revision::Commit(_) | Revision::WorkingTree(_) => None,
            Revision::Release { version, .. } => Some(version),
        }
    }

    /// Returns the name for people: `1a2b3c4d5`, `moka 0.12.8`, or `the working tree`.
    pub(crate) fn name(&self) -> String {
        match self {
            Revision::Commit(commit) => commit.short().to_owned(),
            Revision::WorkingTree(_) => "the working tree".to_owned(),
            Revision::Release { name, version, .. } => format!("{name} {version}"),
        }
    }

    /// Returns a shorter name, for places where the dependency is known: `1a2b3c4d5`, or
    /// `0.12.8`.
    pub(crate) fn short(&self) -> String {
        match self {
            Revision::Commit(_) | Revision::WorkingTree(_) => self.name(),
            Revision::Release { version, .. } => version.to_string(),
        }
    }

    /// Returns a file name for logs. It is unique within a search.
    pub(crate) fn file_name(&self) -> String {
        match self {
            Revision::Commit(commit) => commit.short().to_owned(),
            Revision::WorkingTree(_) => "working-tree".to_owned(),
            Revision::Release { name, version, .. } => format!("{name}-{version}"),
        }
    }

    /// Returns a key for the cache. It is unique among all searches.
    pub(crate) fn key(&self) -> String {
        match self {
            Revision::Commit(commit) | Revision::WorkingTree(commit) => commit.to_string(),
            Revision::Release { commit, .. } => format!("{commit}.{}", self.file_name()),
        }
    }
}

impl From<&Commit> for Revision {
    fn from(commit: &Commit) -> Self {
        Revision::Commit(commit.clone())
    }
}
