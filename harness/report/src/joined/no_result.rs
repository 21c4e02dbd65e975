//! The reasons why a run has nothing to show, as fixed texts.

use std::fmt;

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

/// The reason why there is nothing to show. The texts are fixed and quote nothing, because
/// somebody else may have written every byte of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoResult {
    Missing,
    NotAReport,
    TooLong,
    TooDeep,
    NewerFormat,
    NotConsistent,
    TooMuch,
    OutOfRange,
    NotAFile,
    OtherRepository,
    OtherPullRequest,
    OtherHead,
    OtherRun,
    NoSource,
    Expired,
    NotAnArchive,
    NotFetched,
    Cancelled,
    ForkGone,
}

impl NoResult {
    pub const ALL: [NoResult; 19] = [
        NoResult::Missing,
        NoResult::NotAReport,
        NoResult::TooLong,
        NoResult::TooDeep,
        NoResult::NewerFormat,
        NoResult::NotConsistent,
        NoResult::TooMuch,
        NoResult::OutOfRange,
        NoResult::NotAFile,
        NoResult::OtherRepository,
        NoResult::OtherPullRequest,
        NoResult::OtherHead,
        NoResult::OtherRun,
        NoResult::NoSource,
        NoResult::Expired,
        NoResult::NotAnArchive,
        NoResult::NotFetched,
        NoResult::Cancelled,
        NoResult::ForkGone,
    ];

    /// Returns the reason with this code.
    pub fn from_code(code: &str) -> Option<NoResult> {
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
    pub fn from_file(bytes: &[u8]) -> Option<NoResult> {
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

    /// Returns one word for the reason.
    pub fn code(self) -> &'static str {
        match self {
            NoResult::Missing => "missing",
            NoResult::NotAReport => "not-a-report",
            NoResult::TooLong => "too-long",
            NoResult::TooDeep => "too-deep",
            NoResult::NewerFormat => "newer-format",
            NoResult::NotConsistent => "not-consistent",
            NoResult::TooMuch => "too-much",
            NoResult::OutOfRange => "out-of-range",
            NoResult::NotAFile => "not-a-file",
            NoResult::OtherRepository => "other-repository",
            NoResult::OtherPullRequest => "other-pull-request",
            NoResult::OtherHead => "other-head",
            NoResult::OtherRun => "other-run",
            NoResult::NoSource => "no-source",
            NoResult::Expired => "expired",
            NoResult::NotAnArchive => "not-an-archive",
            NoResult::NotFetched => "not-fetched",
            NoResult::Cancelled => "cancelled",
            NoResult::ForkGone => "fork-gone",
        }
    }

    /// Returns one or two sentences for the reason.
    pub fn text(self) -> &'static str {
        match self {
            NoResult::Missing => {
                "The run left no report: it was cancelled, was killed, or failed before it \
                 measured. Its log says which."
            }
            NoResult::NotAReport => "What the run left is not a report of plimsoll.",
            NoResult::TooLong => "The run's report is longer than 8 MiB.",
            NoResult::TooDeep => "The run's report is nested deeper than any that plimsoll writes.",
            NoResult::NewerFormat => {
                "The run's report was written by a newer plimsoll than the one that reads it. \
                 Give both jobs the same version."
            }
            NoResult::NotConsistent => "The run's report contradicts itself.",
            NoResult::TooMuch => "The run's report holds more than a report may.",
            NoResult::OutOfRange => "The run's report holds numbers that no run can measure.",
            NoResult::NotAFile => "What the run left as its report is not a regular file.",
            NoResult::OtherRepository => "The run's report names another repository.",
            NoResult::OtherPullRequest => "The run's report names another pull request.",
            NoResult::OtherHead => {
                "The run's report names another commit than the one that was to be measured."
            }
            NoResult::OtherRun => "The run's report names another run or another attempt of it.",
            NoResult::NoSource => {
                "The run's report does not say what it measured. Write it in the job that \
                 measures, with `plimsoll report --format json`."
            }
            NoResult::Expired => "The run's report is no longer kept. Run the measuring job again.",
            NoResult::NotAnArchive => "The archive with the run's report is damaged.",
            NoResult::NotFetched => {
                "GitHub did not hand out the run's report; the log of this job says why. Run it \
                 again."
            }
            NoResult::Cancelled => "The run was cancelled, or took too long, and left no report.",
            NoResult::ForkGone => {
                "The repository that this pull request comes from was deleted, so nobody can say \
                 whose code the run measured."
            }
        }
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
