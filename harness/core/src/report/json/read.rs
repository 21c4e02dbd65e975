//! Reads a report. The types of [`report`](super::super) are read as they are; this module has
//! those that are checked after they are read. The schema in the tests, and a report that is
//! kept beside it, detect a changed field. Keys that format 1 does not have are absent when
//! format 1 is read.

use serde::Deserialize;

use super::{Limits, MAX_BYTES, MAX_DEPTH, ReportError, VERSION, Written};
use crate::blame::Blame;
use crate::finding::{Kind, KindAndStack};
use crate::holders::Holders;
use crate::outside::GrownMappings;
use crate::report::{
    BuilderSetting, Check, Clock, Compared, Completeness, Failure, Finding, LadderEnd, Measured,
    Rarest, Report, Run, Rung, StackGrowth, Standing, Subject, Survivors, Threshold,
};
pub use crate::required::required;
use crate::verdict::{Verdict, Visible};
use crate::{FoldedStack, Frame, Lacks, Law, Per, Rate, Tally};
use plimsoll_text::escape;

/// Which keys of a finding belong to which format.
const SINCE_2: &str =
    "`objects_law`, `bytes_law` and `survivors` in format 2, and none of them in format 1";

/// Reads a report.
///
/// # Errors
///
/// If the file is anything that [`to_string`](super::to_string) would not have written.
pub fn parse(bytes: &[u8]) -> Result<Report, ReportError> {
    parse_within(bytes, &Limits::FORMAT)
}

/// Refuses a file that is too long, or nested too deep for a recursive parser.
///
/// # Errors
///
/// If the file is too long or nested too deep.
pub fn check_size(bytes: &[u8]) -> Result<(), ReportError> {
    if bytes.len() > MAX_BYTES {
        return Err(ReportError::TooLong {
            limit: MAX_BYTES,
            found: bytes.len(),
        });
    }
    check_depth(bytes)
}

/// Reads a report under other limits than those of the format.
///
/// # Errors
///
/// If the file is anything that [`to_string_within`](super::to_string_within) would not have written.
pub fn parse_within(bytes: &[u8], limits: &Limits) -> Result<Report, ReportError> {
    check_size(bytes)?;
    match version(bytes)? {
        1..=VERSION => {}
        found if found > VERSION => {
            return Err(ReportError::Newer {
                expected: VERSION,
                found,
            });
        }
        found => {
            return Err(ReportError::Value {
                at: "version",
                expected: format!("1 to {VERSION}"),
                found: found.to_string(),
            });
        }
    }
    let report = read(bytes)?;
    limits.check(&report)?;
    Ok(report)
}

/// The same as [`to_string_within`](super::to_string_within), but on one line, without white
/// space between tokens and without a newline at the end.
#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
pub fn to_line_within(report: &Report, limits: &Limits) -> String {
    let report = &limits.cut(report);
    let version = VERSION;
    serde_json::to_string(&Written { version, report }).expect("plain data serialises")
}

/// Reads only the version, whatever else the file contains. A newer format is recognised by
/// its version and by nothing else.
fn version(bytes: &[u8]) -> Result<u64, ReportError> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|error| syntax(&error))?;
    Ok(head.version)
}

fn read(bytes: &[u8]) -> Result<Report, ReportError> {
    let file: ReportJson = serde_json::from_slice(bytes).map_err(|error| syntax(&error))?;
    file.into_report()
}

fn syntax(error: &serde_json::Error) -> ReportError {
    let mut message = error.to_string();
    // serde_json writes the place at the end of its message; this error has it as numbers.
    if let Some(place) = message.rfind(" at line ") {
        message.truncate(place);
    }
    // The message quotes keys and words of the file, of any length.
    let message = escape::cut_middle(&escape::terminal(&message), 200);
    ReportError::Syntax {
        line: error.line(),
        column: error.column(),
        message,
    }
}

/// Refuses a file that is nested too deep, before a recursive parser reads it.
fn check_depth(bytes: &[u8]) -> Result<(), ReportError> {
    let mut depth = 0_usize;
    let mut line = 1;
    let mut in_string = false;
    let mut escaped = false;
    for byte in bytes {
        match byte {
            b'\n' => line += 1,
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(ReportError::TooDeep {
                        limit: MAX_DEPTH,
                        line,
                    });
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
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
