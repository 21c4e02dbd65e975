//! The format. The types of [`report`](super::super) are written as they are; this module has
//! those that are checked after they are read. The schema in the tests, and a report that is
//! kept beside it, detect a changed field. Keys that format 1 does not have are absent when
//! format 1 is read.

use serde::{Deserialize, Serialize};

use super::{ReportError, VERSION};
use crate::blame::Blame;
use crate::finding::{Kind, KindAndStack};
use crate::holders::Holders;
use crate::outside::GrownMappings;
use crate::report::{
    BuilderSetting, Check, Clock, Compared, Completeness, Failure, Finding, LadderEnd, Measured,
    Rarest, Report, Run, Rung, StackGrowth, Standing, Subject, Survivors, Threshold,
};
use crate::required::required;
use crate::verdict::{Verdict, Visible};
use crate::{FoldedStack, Frame, Lacks, Law, Per, Rate, Tally};

/// Which keys of a finding belong to which format.
const SINCE_2: &str =
    "`objects_law`, `bytes_law` and `survivors` in format 2, and none of them in format 1";

/// Reads only the version, whatever else the file contains. A newer format is recognised by
/// its version and by nothing else.
pub(super) fn version(bytes: &[u8]) -> Result<u64, ReportError> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|error| ReportError::syntax(&error))?;
    Ok(head.version)
}

pub(super) fn read(bytes: &[u8]) -> Result<Report, ReportError> {
    let file: ReportJson =
        serde_json::from_slice(bytes).map_err(|error| ReportError::syntax(&error))?;
    file.into_report()
}

/// The version comes first, and then the report.
#[derive(Serialize)]
struct Written<'a> {
    version: u64,
    #[serde(flatten)]
    report: &'a Report,
}

/// Writes a report, indented or without white space between tokens.
#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
pub(super) fn write(report: &Report, is_indented: bool) -> String {
    let version = VERSION;
    let written = Written { version, report };
    let text = match is_indented {
        true => serde_json::to_string_pretty(&written),
        false => serde_json::to_string(&written),
    };
    text.expect("plain data serialises")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportJson {
    version: u64,
    run: Run,
    scenario: String,
    verdict: Verdict,
    #[serde(deserialize_with = "required")]
    measured: Option<Measured>,
    /// Absent if the builder sets nothing. Reports of older versions do not have this key.
    #[serde(default)]
    builder: Vec<BuilderSetting>,
    /// Absent if rates are per iteration. Reports of older versions do not have this key.
    #[serde(default)]
    per: Per,
    rungs: Vec<Rung>,
    end: LadderEnd,
    threshold: Threshold,
    #[serde(deserialize_with = "required")]
    visible: Option<Visible>,
    /// Absent in an exact run, whose report has the form from before sampled runs.
    #[serde(default)]
    rarest: Option<Rarest>,
    findings: Vec<FindingJson>,
    /// Absent if no crate is known to be the reader's. Reports of older versions do not have
    /// this key.
    #[serde(default)]
    own: Vec<String>,
    checks: Vec<Check>,
    /// Absent if nothing would be enough, or nothing needs to. Reports of older versions do
    /// not have this key.
    #[serde(default)]
    enough: Option<BuilderSetting>,
    completeness: Completeness,
    #[serde(deserialize_with = "required")]
    failure: Option<Failure>,
    notes: Vec<String>,
    #[serde(deserialize_with = "required")]
    compared: Option<Compared>,
    growth: Vec<StackGrowth>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingJson {
    verdict: Verdict,
    subject: KindAndStack,
    frames: Vec<Frame>,
    #[serde(default)]
    blame: Option<Blame>,
    #[serde(default)]
    lacks: Option<Lacks>,
    rate: Rate,
    error: Rate,
    law: Law,
    #[serde(default)]
    objects_law: Option<Law>,
    #[serde(default)]
    bytes_law: Option<Law>,
    #[serde(default)]
    clock: Option<Clock>,
    allowed: Rate,
    standing: Standing,
    #[serde(deserialize_with = "required")]
    moved_from: Option<FoldedStack>,
    #[serde(deserialize_with = "required")]
    reason: Option<String>,
    levels: Vec<Tally>,
    #[serde(default)]
    survivors: Option<Vec<Survivors>>,
    /// Absent if it is not about mappings. Reports of older versions do not have this key.
    #[serde(default)]
    mappings: Vec<GrownMappings>,
    /// Absent if nobody knows. Reports of older versions do not have this key.
    #[serde(default)]
    holders: Option<Holders>,
}

impl ReportJson {
    fn into_report(self) -> Result<Report, ReportError> {
        let findings = self.findings.into_iter();
        let findings = findings.map(|finding| finding.into_finding(self.version));
        Ok(Report {
            run: self.run,
            scenario: self.scenario,
            verdict: self.verdict,
            measured: self.measured,
            builder: self.builder,
            per: self.per,
            rungs: self.rungs,
            end: self.end,
            threshold: self.threshold,
            visible: self.visible.map(|seen| seen.within(f64::MAX)),
            rarest: self.rarest,
            findings: findings.collect::<Result<_, _>>()?,
            own: self.own,
            checks: self.checks,
            enough: self.enough,
            completeness: self.completeness,
            failure: self.failure,
            notes: self.notes,
            compared: self.compared,
            growth: self.growth,
        })
    }
}

impl FindingJson {
    fn into_finding(self, version: u64) -> Result<Finding, ReportError> {
        let since_2 = (self.objects_law, self.bytes_law, self.survivors);
        let (objects_law, bytes_law, survivors) = match (version, since_2) {
            (1, (None, None, None)) => (self.law, self.law, Vec::new()),
            (2.., (Some(objects), Some(bytes), Some(survivors))) => (objects, bytes, survivors),
            _ => {
                return Err(ReportError::Value {
                    at: "findings",
                    expected: SINCE_2.to_owned(),
                    found: format!("others in format {version}"),
                });
            }
        };
        Ok(Finding {
            verdict: self.verdict,
            subject: subject(self.subject)?,
            frames: self.frames,
            blame: self.blame,
            lacks: self.lacks,
            rate: self.rate,
            error: self.error,
            law: self.law,
            objects_law,
            bytes_law,
            clock: self.clock,
            allowed: self.allowed,
            standing: self.standing,
            moved_from: self.moved_from,
            reason: self.reason,
            levels: self.levels,
            survivors,
            mappings: self.mappings,
            holders: self.holders,
        })
    }
}

fn subject(file: KindAndStack) -> Result<Subject, ReportError> {
    match (file.kind, file.stack, file.stacks) {
        (Kind::Stack, Some(stack), None) => Ok(Subject::Stack(stack)),
        (Kind::Site, Some(frames), Some(stacks)) => {
            let stacks = usize::try_from(stacks).unwrap_or(usize::MAX);
            Ok(Subject::Site { frames, stacks })
        }
        (Kind::Resource(resource), None, None) => Ok(Subject::Resource(resource)),
        (kind, stack, stacks) => {
            let expected = match kind {
                Kind::Stack => "a stack alone",
                Kind::Site => "a stack and the number of stacks",
                Kind::Resource(_) => "null for both keys",
            };
            let is = |there| if there { "something" } else { "null" };
            let (stack, stacks) = (is(stack.is_some()), is(stacks.is_some()));
            Err(ReportError::Value {
                at: "subject",
                expected: expected.to_owned(),
                found: format!("{stack} in `stack` and {stacks} in `stacks`"),
            })
        }
    }
}
