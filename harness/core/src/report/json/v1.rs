//! Format 1, key by key. The types mirror those of [`report`](super::super) and
//! are converted by hand, so that a changed field cannot change the format
//! unseen.

use serde::{Deserialize, Deserializer, Serialize};

use super::{ReportError, VERSION};
use crate::report::{self, CheckOutcome, LadderEnd, Standing, Subject};
use crate::{FoldedStack, Law, Rate, Tally, judge};

/// Only the version, whatever else there is: a newer format is recognised by
/// it, and by nothing else.
pub(super) fn version(bytes: &[u8]) -> Result<u64, ReportError> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    match serde_json::from_slice::<Head>(bytes) {
        Ok(head) => Ok(head.version),
        Err(error) => Err(ReportError::syntax(&error)),
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<report::Report, ReportError> {
    let file: ReportV1 =
        serde_json::from_slice(bytes).map_err(|error| ReportError::syntax(&error))?;
    file.into_report()
}

#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
pub(super) fn write(report: &report::Report) -> String {
    serde_json::to_string_pretty(&ReportV1::from_report(report)).expect("plain data serialises")
}

/// As [`write`], without white space between tokens.
#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
pub(super) fn write_line(report: &report::Report) -> String {
    serde_json::to_string(&ReportV1::from_report(report)).expect("plain data serialises")
}

/// With this, serde misses an absent key instead of taking it for `null`.
fn nullable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportV1 {
    version: u64,
    run: RunV1,
    scenario: String,
    verdict: VerdictV1,
    #[serde(deserialize_with = "nullable")]
    measured: Option<MeasuredV1>,
    /// Absent where it sets nothing: that is how reports were before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    builder: Vec<BuilderSettingV1>,
    rungs: Vec<RungV1>,
    end: EndV1,
    threshold: ThresholdV1,
    #[serde(deserialize_with = "nullable")]
    visible: Option<RateV1>,
    /// Absent in an exact run, which is written as it was before there were others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rarest: Option<RarestV1>,
    findings: Vec<FindingV1>,
    checks: Vec<CheckV1>,
    completeness: CompletenessV1,
    #[serde(deserialize_with = "nullable")]
    failure: Option<FailureV1>,
    notes: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    compared: Option<ComparedV1>,
    growth: Vec<GrowthV1>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunV1 {
    id: String,
    #[serde(deserialize_with = "nullable")]
    commit: Option<String>,
    package: String,
    target: String,
    scenarios: Vec<String>,
    plimsoll: String,
    files: String,
    baseline: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredV1 {
    target: String,
    profile: String,
    toolchain: String,
    jemalloc: String,
    sample_interval: u64,
    unwinder: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuilderSettingV1 {
    key: String,
    value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RungV1 {
    iterations: u64,
    live: TallyV1,
    #[serde(deserialize_with = "nullable")]
    allocated: Option<u64>,
    threads: u64,
    descriptors: u64,
    resident: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TallyV1 {
    objects: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateV1 {
    objects: f64,
    bytes: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThresholdV1 {
    iterations: u64,
    coarsened: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RarestV1 {
    bytes: u64,
    iterations: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingV1 {
    verdict: VerdictV1,
    subject: SubjectV1,
    frames: Vec<FrameV1>,
    rate: RateV1,
    error: RateV1,
    law: LawV1,
    allowed: RateV1,
    standing: StandingV1,
    #[serde(deserialize_with = "nullable")]
    moved_from: Option<Vec<String>>,
    #[serde(deserialize_with = "nullable")]
    reason: Option<String>,
    levels: Vec<TallyV1>,
}

/// One shape for every kind, so that no key is ever optional.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectV1 {
    kind: KindV1,
    #[serde(deserialize_with = "nullable")]
    stack: Option<Vec<String>>,
    #[serde(deserialize_with = "nullable")]
    stacks: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameV1 {
    function: String,
    #[serde(deserialize_with = "nullable")]
    file: Option<String>,
    #[serde(deserialize_with = "nullable")]
    line: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckV1 {
    name: String,
    outcome: OutcomeV1,
    detail: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CompletenessV1 {
    stacks: u64,
    zero_object_stacks: u64,
    truncated_stacks: u64,
    addresses: u64,
    without_debug_info: u64,
    unresolved: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureV1 {
    what: String,
    #[serde(deserialize_with = "nullable")]
    iteration: Option<u64>,
    output: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComparedV1 {
    before: u64,
    after: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrowthV1 {
    stack: Vec<String>,
    before: TallyV1,
    after: TallyV1,
    rate: RateV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RateV1>,
}

/// The words of an enum, once for both directions.
macro_rules! words {
    ($(#[$doc:meta])* $v1:ident mirrors $ours:ty { $($word:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum $v1 { $($word),+ }

        impl From<$ours> for $v1 {
            fn from(ours: $ours) -> Self {
                match ours { $(<$ours>::$word => $v1::$word),+ }
            }
        }

        impl From<$v1> for $ours {
            fn from(v1: $v1) -> Self {
                match v1 { $($v1::$word => <$ours>::$word),+ }
            }
        }
    };
}

words!(VerdictV1 mirrors judge::Verdict {
    Within, Improved, Inconclusive, Regressed, Failed, Broken,
});
words!(EndV1 mirrors LadderEnd {
    Settled, Budget, OutOfReach, Iterations, Memory, Threads, Descriptors, Failure,
});
words!(LawV1 mirrors Law { Linear, Stepped, Filling, Fluctuating });
words!(StandingV1 mirrors Standing { New, Allowed, Exceeded, Moved, Expired, Stale });
words!(OutcomeV1 mirrors CheckOutcome { Passed, Unavailable, Failed });

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindV1 {
    Stack,
    Site,
    Threads,
    Descriptors,
}

impl From<Tally> for TallyV1 {
    fn from(Tally { objects, bytes }: Tally) -> Self {
        TallyV1 { objects, bytes }
    }
}

impl From<TallyV1> for Tally {
    fn from(TallyV1 { objects, bytes }: TallyV1) -> Self {
        Tally { objects, bytes }
    }
}

impl From<Rate> for RateV1 {
    fn from(Rate { objects, bytes }: Rate) -> Self {
        RateV1 { objects, bytes }
    }
}

impl From<RateV1> for Rate {
    fn from(RateV1 { objects, bytes }: RateV1) -> Self {
        Rate { objects, bytes }
    }
}

/// A count that is a `usize` here and a `u64` in the file.
fn size(at: &'static str, count: u64) -> Result<usize, ReportError> {
    usize::try_from(count).map_err(|_| ReportError::Value {
        at,
        expected: format!("at most {}", usize::MAX),
        found: count.to_string(),
    })
}

impl ReportV1 {
    fn from_report(report: &report::Report) -> Self {
        // Taken apart, so that a new field is an error here and not forgotten.
        let report::Report {
            run,
            scenario,
            verdict,
            measured,
            builder,
            rungs,
            end,
            threshold,
            visible,
            rarest,
            findings,
            checks,
            completeness,
            failure,
            notes,
            compared,
            growth,
        } = report;
        ReportV1 {
            version: VERSION,
            run: RunV1::from_run(run),
            scenario: scenario.clone(),
            verdict: (*verdict).into(),
            measured: measured.as_ref().map(MeasuredV1::from_measured),
            builder: builder.iter().map(BuilderSettingV1::from_setting).collect(),
            rungs: rungs.iter().map(RungV1::from_rung).collect(),
            end: (*end).into(),
            threshold: ThresholdV1 {
                iterations: threshold.iterations,
                coarsened: threshold.coarsened,
            },
            visible: visible.map(RateV1::from),
            rarest: rarest
                .map(|report::Rarest { bytes, iterations }| RarestV1 { bytes, iterations }),
            findings: findings.iter().map(FindingV1::from_finding).collect(),
            checks: checks.iter().map(CheckV1::from_check).collect(),
            completeness: CompletenessV1::from_completeness(*completeness),
            failure: failure.as_ref().map(FailureV1::from_failure),
            notes: notes.clone(),
            compared: compared
                .map(|report::Compared { before, after }| ComparedV1 { before, after }),
            growth: growth.iter().map(GrowthV1::from_growth).collect(),
        }
    }

    fn into_report(self) -> Result<report::Report, ReportError> {
        Ok(report::Report {
            run: self.run.into_run(),
            scenario: self.scenario,
            verdict: self.verdict.into(),
            measured: self.measured.map(MeasuredV1::into_measured),
            builder: self
                .builder
                .into_iter()
                .map(BuilderSettingV1::into_setting)
                .collect(),
            rungs: self.rungs.into_iter().map(RungV1::into_rung).collect(),
            end: self.end.into(),
            threshold: report::Threshold {
                iterations: self.threshold.iterations,
                coarsened: self.threshold.coarsened,
            },
            visible: self.visible.map(Rate::from),
            rarest: self
                .rarest
                .map(|RarestV1 { bytes, iterations }| report::Rarest { bytes, iterations }),
            findings: self
                .findings
                .into_iter()
                .map(FindingV1::into_finding)
                .collect::<Result<_, _>>()?,
            checks: self.checks.into_iter().map(CheckV1::into_check).collect(),
            completeness: self.completeness.into_completeness()?,
            failure: self.failure.map(FailureV1::into_failure),
            notes: self.notes,
            compared: self
                .compared
                .map(|ComparedV1 { before, after }| report::Compared { before, after }),
            growth: self.growth.into_iter().map(GrowthV1::into_growth).collect(),
        })
    }
}

impl RunV1 {
    fn from_run(run: &report::Run) -> Self {
        let report::Run {
            id,
            commit,
            package,
            target,
            scenarios,
            plimsoll,
            files,
            baseline,
        } = run.clone();
        RunV1 {
            id,
            commit,
            package,
            target,
            scenarios,
            plimsoll,
            files,
            baseline,
        }
    }

    fn into_run(self) -> report::Run {
        let RunV1 {
            id,
            commit,
            package,
            target,
            scenarios,
            plimsoll,
            files,
            baseline,
        } = self;
        report::Run {
            id,
            commit,
            package,
            target,
            scenarios,
            plimsoll,
            files,
            baseline,
        }
    }
}

impl MeasuredV1 {
    fn from_measured(measured: &report::Measured) -> Self {
        let report::Measured {
            target,
            profile,
            toolchain,
            jemalloc,
            sample_interval,
            unwinder,
        } = measured.clone();
        MeasuredV1 {
            target,
            profile,
            toolchain,
            jemalloc,
            sample_interval,
            unwinder,
        }
    }

    fn into_measured(self) -> report::Measured {
        let MeasuredV1 {
            target,
            profile,
            toolchain,
            jemalloc,
            sample_interval,
            unwinder,
        } = self;
        report::Measured {
            target,
            profile,
            toolchain,
            jemalloc,
            sample_interval,
            unwinder,
        }
    }
}

impl BuilderSettingV1 {
    fn from_setting(setting: &report::BuilderSetting) -> Self {
        let report::BuilderSetting { key, value } = setting.clone();
        BuilderSettingV1 { key, value }
    }

    fn into_setting(self) -> report::BuilderSetting {
        let BuilderSettingV1 { key, value } = self;
        report::BuilderSetting { key, value }
    }
}

impl RungV1 {
    fn from_rung(rung: &report::Rung) -> Self {
        let report::Rung {
            iterations,
            live,
            allocated,
            threads,
            descriptors,
            resident,
        } = *rung;
        RungV1 {
            iterations,
            live: live.into(),
            allocated,
            threads,
            descriptors,
            resident,
        }
    }

    fn into_rung(self) -> report::Rung {
        let RungV1 {
            iterations,
            live,
            allocated,
            threads,
            descriptors,
            resident,
        } = self;
        report::Rung {
            iterations,
            live: live.into(),
            allocated,
            threads,
            descriptors,
            resident,
        }
    }
}

impl FindingV1 {
    fn from_finding(finding: &report::Finding) -> Self {
        let report::Finding {
            verdict,
            subject,
            frames,
            rate,
            error,
            law,
            allowed,
            standing,
            moved_from,
            reason,
            levels,
        } = finding;
        FindingV1 {
            verdict: (*verdict).into(),
            subject: SubjectV1::from_subject(subject),
            frames: frames.iter().map(FrameV1::from_frame).collect(),
            rate: (*rate).into(),
            error: (*error).into(),
            law: (*law).into(),
            allowed: (*allowed).into(),
            standing: (*standing).into(),
            moved_from: moved_from.as_ref().map(|stack| stack.0.clone()),
            reason: reason.clone(),
            levels: levels.iter().copied().map(TallyV1::from).collect(),
        }
    }

    fn into_finding(self) -> Result<report::Finding, ReportError> {
        Ok(report::Finding {
            verdict: self.verdict.into(),
            subject: self.subject.into_subject()?,
            frames: self.frames.into_iter().map(FrameV1::into_frame).collect(),
            rate: self.rate.into(),
            error: self.error.into(),
            law: self.law.into(),
            allowed: self.allowed.into(),
            standing: self.standing.into(),
            moved_from: self.moved_from.map(FoldedStack),
            reason: self.reason,
            levels: self.levels.into_iter().map(Tally::from).collect(),
        })
    }
}

impl SubjectV1 {
    fn from_subject(subject: &Subject) -> Self {
        let (kind, stack, stacks) = match subject {
            Subject::Stack(stack) => (KindV1::Stack, Some(stack.0.clone()), None),
            Subject::Site { frames, stacks } => {
                (KindV1::Site, Some(frames.0.clone()), Some(*stacks as u64))
            }
            Subject::Threads => (KindV1::Threads, None, None),
            Subject::Descriptors => (KindV1::Descriptors, None, None),
        };
        SubjectV1 {
            kind,
            stack,
            stacks,
        }
    }

    fn into_subject(self) -> Result<Subject, ReportError> {
        match (self.kind, self.stack, self.stacks) {
            (KindV1::Stack, Some(stack), None) => Ok(Subject::Stack(FoldedStack(stack))),
            (KindV1::Site, Some(frames), Some(stacks)) => {
                let stacks = size("stacks", stacks)?;
                Ok(Subject::Site {
                    frames: FoldedStack(frames),
                    stacks,
                })
            }
            (KindV1::Threads, None, None) => Ok(Subject::Threads),
            (KindV1::Descriptors, None, None) => Ok(Subject::Descriptors),
            (kind, stack, stacks) => {
                let expected = match kind {
                    KindV1::Stack => "a stack alone",
                    KindV1::Site => "a stack and the number of stacks",
                    KindV1::Threads | KindV1::Descriptors => "null for both keys",
                };
                let is = |there| if there { "something" } else { "null" };
                Err(ReportError::Value {
                    at: "subject",
                    expected: expected.to_owned(),
                    found: format!(
                        "{} in `stack` and {} in `stacks`",
                        is(stack.is_some()),
                        is(stacks.is_some())
                    ),
                })
            }
        }
    }
}

impl FrameV1 {
    fn from_frame(frame: &crate::Frame) -> Self {
        let crate::Frame {
            function,
            file,
            line,
        } = frame.clone();
        FrameV1 {
            function,
            file,
            line,
        }
    }

    fn into_frame(self) -> crate::Frame {
        let FrameV1 {
            function,
            file,
            line,
        } = self;
        crate::Frame {
            function,
            file,
            line,
        }
    }
}

impl CheckV1 {
    fn from_check(check: &report::Check) -> Self {
        let report::Check {
            name,
            outcome,
            detail,
        } = check.clone();
        CheckV1 {
            name,
            outcome: outcome.into(),
            detail,
        }
    }

    fn into_check(self) -> report::Check {
        let CheckV1 {
            name,
            outcome,
            detail,
        } = self;
        report::Check {
            name,
            outcome: outcome.into(),
            detail,
        }
    }
}

impl CompletenessV1 {
    fn from_completeness(completeness: report::Completeness) -> Self {
        let report::Completeness {
            stacks,
            zero_object_stacks,
            truncated_stacks,
            addresses,
            without_debug_info,
            unresolved,
        } = completeness;
        CompletenessV1 {
            stacks: stacks as u64,
            zero_object_stacks: zero_object_stacks as u64,
            truncated_stacks: truncated_stacks as u64,
            addresses: addresses as u64,
            without_debug_info: without_debug_info as u64,
            unresolved: unresolved as u64,
        }
    }

    fn into_completeness(self) -> Result<report::Completeness, ReportError> {
        Ok(report::Completeness {
            stacks: size("completeness.stacks", self.stacks)?,
            zero_object_stacks: size("zero_object_stacks", self.zero_object_stacks)?,
            truncated_stacks: size("truncated_stacks", self.truncated_stacks)?,
            addresses: size("addresses", self.addresses)?,
            without_debug_info: size("without_debug_info", self.without_debug_info)?,
            unresolved: size("unresolved", self.unresolved)?,
        })
    }
}

impl FailureV1 {
    fn from_failure(failure: &report::Failure) -> Self {
        let report::Failure {
            what,
            iteration,
            output,
        } = failure.clone();
        FailureV1 {
            what,
            iteration,
            output,
        }
    }

    fn into_failure(self) -> report::Failure {
        let FailureV1 {
            what,
            iteration,
            output,
        } = self;
        report::Failure {
            what,
            iteration,
            output,
        }
    }
}

impl GrowthV1 {
    fn from_growth(growth: &report::StackGrowth) -> Self {
        let report::StackGrowth {
            stack,
            before,
            after,
            rate,
            error,
        } = growth;
        GrowthV1 {
            stack: stack.0.clone(),
            before: (*before).into(),
            after: (*after).into(),
            rate: (*rate).into(),
            error: error.map(Into::into),
        }
    }

    fn into_growth(self) -> report::StackGrowth {
        report::StackGrowth {
            stack: FoldedStack(self.stack),
            before: self.before.into(),
            after: self.after.into(),
            rate: self.rate.into(),
            error: self.error.map(Into::into),
        }
    }
}
