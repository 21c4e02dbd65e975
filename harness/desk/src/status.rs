use std::fmt;
use std::process::ExitCode;

use plimsoll_core::judge::Verdict;

/// What the process exits with.
///
/// | status | meaning |
/// |---|---|
/// | 0 | within, or improved; for a command that decides nothing: done |
/// | 1 | regressed |
/// | 2 | usage |
/// | 3 | inconclusive, failed, or it does not build |
/// | 4 | broken |
/// | 5 | plimsoll's own failure |
///
/// These are plimsoll's; what `git bisect run` is told is translated from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    Passed,
    Regressed,
    Usage,
    NoVerdict,
    Broken,
    OwnFailure,
    /// What is under way cannot go on; above all that `git bisect run` takes for
    /// an answer.
    Stop,
    /// `git bisect run` is to skip this commit.
    Skip,
    /// As [`ExitStatus::Usage`], where 2 would be an answer.
    StopUsage,
    /// Somebody asked it to end.
    Interrupted,
}

impl ExitStatus {
    fn code(self) -> u8 {
        match self {
            ExitStatus::Passed => 0,
            ExitStatus::Regressed => 1,
            ExitStatus::Usage => 2,
            ExitStatus::NoVerdict => 3,
            ExitStatus::Broken => 4,
            ExitStatus::OwnFailure => 5,
            ExitStatus::Skip => 125,
            ExitStatus::StopUsage => 128,
            ExitStatus::Stop => 129,
            ExitStatus::Interrupted => 130,
        }
    }
}

impl From<Verdict> for ExitStatus {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Within | Verdict::Improved => ExitStatus::Passed,
            Verdict::Regressed => ExitStatus::Regressed,
            Verdict::Inconclusive | Verdict::Failed => ExitStatus::NoVerdict,
            Verdict::Broken => ExitStatus::Broken,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status.code())
    }
}

/// An error with a status of its own; any other is plimsoll's own failure.
#[derive(Debug)]
pub struct Refused {
    status: ExitStatus,
    message: String,
}

impl Refused {
    pub fn with_status(status: ExitStatus, message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self {
            status,
            message: message.into(),
        })
    }

    /// Where all is said already.
    pub fn quiet(status: ExitStatus) -> anyhow::Error {
        Self::with_status(status, String::new())
    }

    /// What the command line asks for is impossible as it stands.
    pub fn usage(message: impl Into<String>) -> anyhow::Error {
        Self::with_status(ExitStatus::Usage, message)
    }

    pub fn status(&self) -> ExitStatus {
        self.status
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}
