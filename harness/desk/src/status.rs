use std::fmt;
use std::process::ExitCode;

use plimsoll_core::judge::Verdict;

/// The exit status of the process.
///
/// | status | meaning |
/// |---|---|
/// | 0 | within, or improved; for a command without a verdict: done |
/// | 1 | regressed |
/// | 2 | invalid arguments |
/// | 3 | inconclusive, failed, or it does not build |
/// | 4 | broken |
/// | 5 | an error of plimsoll itself |
///
/// `bisect-run` translates these for `git bisect run`: see `Skip`, `StopUsage` and `Stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    Passed,
    Regressed,
    Usage,
    NoVerdict,
    Broken,
    OwnFailure,
    /// The command cannot continue. This ends `git bisect run`, which would take any status
    /// below 128 for an answer.
    Stop,
    /// Tells `git bisect run` to skip this commit.
    Skip,
    /// Invalid arguments, like [`ExitStatus::Usage`], for `git bisect run`, which would take 2
    /// for an answer.
    StopUsage,
    /// A signal asked the process to end.
    Interrupted,
}

impl ExitStatus {
    /// Returns the number that the process ends with.
    pub fn code(self) -> u8 {
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

/// An error with an exit status of its own. The status of any other error is
/// [`ExitStatus::OwnFailure`].
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

    /// Returns an error without a message, because everything is printed already.
    pub fn quiet(status: ExitStatus) -> anyhow::Error {
        Self::with_status(status, String::new())
    }

    /// Returns an error for invalid arguments.
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
