//! The reasons why a run has nothing to show, as fixed texts.

use std::fmt;

use plimsoll_core::report::json::ReportError;
use serde::{Deserialize, Serialize};

/// The version that [`NoResult::to_file`] writes.
const VERSION: u64 = 1;
/// The most bytes of such a file. Every file that plimsoll writes is shorter.
const MAX_FILE: usize = 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoResultV1 {
    version: u64,
    no_result: String,
}

/// Defines the reasons: the name of each, its code, and its text.
macro_rules! reasons {
    ($($name:ident $code:literal: $text:literal;)+) => {
        /// The reason why there is nothing to show. The texts are fixed and quote nothing,
        /// because somebody else may have written every byte of the file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum NoResult {
            $($name,)+
        }

        impl NoResult {
            pub const ALL: [NoResult; [$($code),+].len()] = [$(NoResult::$name),+];

            /// Returns one word for the reason.
            pub fn code(self) -> &'static str {
                match self {
                    $(NoResult::$name => $code,)+
                }
            }

            /// Returns one or two sentences for the reason.
            pub fn text(self) -> &'static str {
                match self {
                    $(NoResult::$name => $text,)+
                }
            }
        }
    };
}

reasons! {
    Missing "missing":
        "The run left no report: it was cancelled, was killed, or failed before it \
         measured. Its log says which.";
    NotAReport "not-a-report": "What the run left is not a report of plimsoll.";
    TooLong "too-long": "The run's report is longer than 8 MiB.";
    TooDeep "too-deep": "The run's report is nested deeper than any that plimsoll writes.";
    NewerFormat "newer-format":
        "The run's report was written by a newer plimsoll than the one that reads it. \
         Give both jobs the same version.";
    NotConsistent "not-consistent": "The run's report contradicts itself.";
    TooMuch "too-much": "The run's report holds more than a report may.";
    OutOfRange "out-of-range": "The run's report holds numbers that no run can measure.";
    NotAFile "not-a-file": "What the run left as its report is not a regular file.";
    OtherRepository "other-repository": "The run's report names another repository.";
    OtherPullRequest "other-pull-request": "The run's report names another pull request.";
    OtherHead "other-head":
        "The run's report names another commit than the one that was to be measured.";
    OtherRun "other-run": "The run's report names another run or another attempt of it.";
    NoSource "no-source":
        "The run's report does not say what it measured. Write it in the job that \
         measures, with `plimsoll report --format json`.";
    Expired "expired": "The run's report is no longer kept. Run the measuring job again.";
    NotAnArchive "not-an-archive": "The archive with the run's report is damaged.";
    NotFetched "not-fetched":
        "GitHub did not hand out the run's report; the log of this job says why. Run it \
         again.";
    Cancelled "cancelled": "The run was cancelled, or took too long, and left no report.";
    ForkGone "fork-gone":
        "The repository that this pull request comes from was deleted, so nobody can say \
         whose code the run measured.";
}

impl NoResult {
    /// Returns the reason for a file that cannot be read. It may be shown in public, and quotes
    /// nothing from the file, of which somebody else may have written every byte.
    pub fn of(error: &ReportError) -> NoResult {
        match error {
            ReportError::TooLong { .. } => NoResult::TooLong,
            ReportError::TooDeep { .. } => NoResult::TooDeep,
            ReportError::Newer { .. } => NoResult::NewerFormat,
            ReportError::Syntax { .. } => NoResult::NotAReport,
            ReportError::Value { .. } => NoResult::NotConsistent,
            ReportError::TooMany { .. } => NoResult::TooMuch,
            ReportError::OutOfRange => NoResult::OutOfRange,
        }
    }

    /// Returns the reason with this code.
    fn from_code(code: &str) -> Option<NoResult> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// Returns a file that names the reason. The next command reads it in place of a report.
    pub fn to_file(self) -> String {
        let file = NoResultV1 {
            version: VERSION,
            no_result: self.code().to_owned(),
        };
        #[expect(clippy::expect_used, reason = "a number and a word")]
        let text = serde_json::to_string_pretty(&file).expect("plain data serialises");
        text + "\n"
    }

    /// Returns the reason that such a file names; `None` for any other file.
    pub(crate) fn from_file(bytes: &[u8]) -> Option<NoResult> {
        if bytes.len() > MAX_FILE {
            return None;
        }
        let file: NoResultV1 = serde_json::from_slice(bytes).ok()?;
        (file.version == VERSION).then_some(())?;
        Self::from_code(&file.no_result)
    }

    /// Returns the reason in a few words without formatting.
    pub fn headline(self) -> String {
        format!("No result ({})", self.code())
    }
}

impl fmt::Display for NoResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_and_a_file_lead_back_to_their_reason() {
        for reason in NoResult::ALL {
            assert_eq!(NoResult::from_code(reason.code()), Some(reason));
            assert_eq!(
                NoResult::from_file(reason.to_file().as_bytes()),
                Some(reason)
            );
        }
        assert_eq!(NoResult::from_code("@someone"), None);
    }

    #[test]
    fn what_nobody_wrote_says_nothing() {
        for file in [
            "",
            "{}",
            r#"{"version":1}"#,
            r#"{"version":2,"no_result":"missing"}"#,
            r#"{"version":1,"no_result":"@someone"}"#,
            r#"{"version":1,"no_result":"missing","scenarios":[]}"#,
            &format!(
                r#"{{"version":1,{}"no_result":"missing"}}"#,
                " ".repeat(MAX_FILE)
            ),
        ] {
            assert_eq!(NoResult::from_file(file.as_bytes()), None, "{file}");
        }
    }
}
