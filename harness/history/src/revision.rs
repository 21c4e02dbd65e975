//! The revisions that can be measured.

use semver::Version;

use plimsoll_desk::git::Commit;

/// One point of a search.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    Commit(Commit),
    /// A snapshot of what is checked out, with what is in no commit yet.
    WorkingTree(Commit),
    /// A commit, with one of its dependencies at that version.
    Release {
        commit: Commit,
        name: String,
        version: Version,
    },
}

impl Revision {
    /// What is checked out for it.
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

    /// As people write it: `1a2b3c4d5`, `moka 0.12.8`, or `the working tree`.
    pub(crate) fn name(&self) -> String {
        match self {
            Revision::Commit(commit) => commit.short().to_owned(),
            Revision::WorkingTree(_) => "the working tree".to_owned(),
            Revision::Release { name, version, .. } => format!("{name} {version}"),
        }
    }

    /// The same where it is clear what of: `1a2b3c4d5`, or `0.12.8`.
    pub(crate) fn short(&self) -> String {
        match self {
            Revision::Commit(_) | Revision::WorkingTree(_) => self.name(),
            Revision::Release { version, .. } => version.to_string(),
        }
    }

    /// For logs: no other revision of the same search has it.
    pub(crate) fn file_name(&self) -> String {
        match self {
            Revision::Commit(commit) => commit.short().to_owned(),
            Revision::WorkingTree(_) => "working-tree".to_owned(),
            Revision::Release { name, version, .. } => format!("{name}-{version}"),
        }
    }

    /// For what is kept: no other revision of any search has it.
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

impl From<&Revision> for Revision {
    fn from(revision: &Revision) -> Self {
        revision.clone()
    }
}
