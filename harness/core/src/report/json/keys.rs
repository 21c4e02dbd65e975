//! The format, key by key. The types mirror those of [`report`](super::super) and
//! are converted by hand, so that a changed field cannot change the format
//! unseen. Keys that format 1 does not have are absent in what is read of it.

use serde::{Deserialize, Deserializer, Serialize};

use super::{ReportError, VERSION};
use crate::report::{self, CheckOutcome, LadderEnd, Standing, Subject};
use crate::{FoldedStack, Law, Rate, Tally, judge};

/// Which keys of a finding belong to which format.
const SINCE_2: &str =
    "`objects_law`, `bytes_law` and `survivors` in format 2, and none of them in format 1";

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
    let file: ReportJson =
        serde_json::from_slice(bytes).map_err(|error| ReportError::syntax(&error))?;
    file.into_report()
}

#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
pub(super) fn write(report: &report::Report) -> String {
    serde_json::to_string_pretty(&ReportJson::from_report(report)).expect("plain data serialises")
}

/// As [`write`], without white space between tokens.
#[expect(
    clippy::expect_used,
    reason = "string keys and finite floats always serialise"
)]
pub(super) fn write_line(report: &report::Report) -> String {
    serde_json::to_string(&ReportJson::from_report(report)).expect("plain data serialises")
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
struct ReportJson {
    version: u64,
    run: RunJson,
    scenario: String,
    verdict: VerdictJson,
    #[serde(deserialize_with = "nullable")]
    measured: Option<MeasuredJson>,
    /// Absent where it sets nothing: that is how reports were before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    builder: Vec<BuilderSettingJson>,
    rungs: Vec<RungJson>,
    end: EndJson,
    threshold: ThresholdJson,
    #[serde(deserialize_with = "nullable")]
    visible: Option<RateJson>,
    /// Absent in an exact run, which is written as it was before there were others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rarest: Option<RarestJson>,
    findings: Vec<FindingJson>,
    checks: Vec<CheckJson>,
    completeness: CompletenessJson,
    #[serde(deserialize_with = "nullable")]
    failure: Option<FailureJson>,
    notes: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    compared: Option<ComparedJson>,
    growth: Vec<GrowthJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunJson {
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
struct MeasuredJson {
    target: String,
    profile: String,
    toolchain: String,
    jemalloc: String,
    sample_interval: u64,
    unwinder: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BuilderSettingJson {
    key: String,
    value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RungJson {
    iterations: u64,
    live: TallyJson,
    #[serde(deserialize_with = "nullable")]
    allocated: Option<u64>,
    threads: u64,
    descriptors: u64,
    resident: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TallyJson {
    objects: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateJson {
    objects: f64,
    bytes: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThresholdJson {
    iterations: u64,
    coarsened: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RarestJson {
    bytes: u64,
    iterations: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingJson {
    verdict: VerdictJson,
    subject: SubjectJson,
    frames: Vec<FrameJson>,
    rate: RateJson,
    error: RateJson,
    law: LawJson,
    #[serde(default)]
    objects_law: Option<LawJson>,
    #[serde(default)]
    bytes_law: Option<LawJson>,
    allowed: RateJson,
    standing: StandingJson,
    #[serde(deserialize_with = "nullable")]
    moved_from: Option<Vec<String>>,
    #[serde(deserialize_with = "nullable")]
    reason: Option<String>,
    levels: Vec<TallyJson>,
    #[serde(default)]
    survivors: Option<Vec<SurvivorsJson>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SurvivorsJson {
    from: u64,
    to: u64,
    #[serde(deserialize_with = "nullable")]
    allocated: Option<u64>,
    alive: TallyJson,
}

/// One shape for every kind, so that no key is ever optional.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectJson {
    kind: KindJson,
    #[serde(deserialize_with = "nullable")]
    stack: Option<Vec<String>>,
    #[serde(deserialize_with = "nullable")]
    stacks: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameJson {
    function: String,
    #[serde(deserialize_with = "nullable")]
    file: Option<String>,
    #[serde(deserialize_with = "nullable")]
    line: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckJson {
    name: String,
    outcome: OutcomeJson,
    detail: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CompletenessJson {
    stacks: u64,
    zero_object_stacks: u64,
    truncated_stacks: u64,
    addresses: u64,
    without_debug_info: u64,
    unresolved: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureJson {
    what: String,
    #[serde(deserialize_with = "nullable")]
    iteration: Option<u64>,
    output: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComparedJson {
    before: u64,
    after: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrowthJson {
    stack: Vec<String>,
    before: TallyJson,
    after: TallyJson,
    rate: RateJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RateJson>,
}

/// The words of an enum, once for both directions.
macro_rules! words {
    ($(#[$doc:meta])* $json:ident mirrors $ours:ty { $($word:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum $json { $($word),+ }

        impl From<$ours> for $json {
            fn from(ours: $ours) -> Self {
                match ours { $(<$ours>::$word => $json::$word),+ }
            }
        }

        impl From<$json> for $ours {
            fn from(json: $json) -> Self {
                match json { $($json::$word => <$ours>::$word),+ }
            }
        }
    };
}

words!(VerdictJson mirrors judge::Verdict {
    Within, Improved, Inconclusive, Regressed, Failed, Broken,
});
words!(EndJson mirrors LadderEnd {
    Settled, Budget, OutOfReach, Iterations, Memory, Threads, Descriptors, Failure,
});
words!(LawJson mirrors Law { Linear, Stepped, Filling, Fluctuating });
words!(StandingJson mirrors Standing { New, Allowed, Exceeded, Moved, Expired, Stale });
words!(OutcomeJson mirrors CheckOutcome { Passed, Unavailable, Failed });

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindJson {
    Stack,
    Site,
    Threads,
    Descriptors,
}

impl From<Tally> for TallyJson {
    fn from(Tally { objects, bytes }: Tally) -> Self {
        TallyJson { objects, bytes }
    }
}

impl From<TallyJson> for Tally {
    fn from(TallyJson { objects, bytes }: TallyJson) -> Self {
        Tally { objects, bytes }
    }
}

impl From<Rate> for RateJson {
    fn from(Rate { objects, bytes }: Rate) -> Self {
        RateJson { objects, bytes }
    }
}

impl From<RateJson> for Rate {
    fn from(RateJson { objects, bytes }: RateJson) -> Self {
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

impl ReportJson {
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
        ReportJson {
            version: VERSION,
            run: RunJson::from_run(run),
            scenario: scenario.clone(),
            verdict: (*verdict).into(),
            measured: measured.as_ref().map(MeasuredJson::from_measured),
            builder: builder
                .iter()
                .map(BuilderSettingJson::from_setting)
                .collect(),
            rungs: rungs.iter().map(RungJson::from_rung).collect(),
            end: (*end).into(),
            threshold: ThresholdJson {
                iterations: threshold.iterations,
                coarsened: threshold.coarsened,
            },
            visible: visible.map(RateJson::from),
            rarest: rarest
                .map(|report::Rarest { bytes, iterations }| RarestJson { bytes, iterations }),
            findings: findings.iter().map(FindingJson::from_finding).collect(),
            checks: checks.iter().map(CheckJson::from_check).collect(),
            completeness: CompletenessJson::from_completeness(*completeness),
            failure: failure.as_ref().map(FailureJson::from_failure),
            notes: notes.clone(),
            compared: compared
                .map(|report::Compared { before, after }| ComparedJson { before, after }),
            growth: growth.iter().map(GrowthJson::from_growth).collect(),
        }
    }

    fn into_report(self) -> Result<report::Report, ReportError> {
        Ok(report::Report {
            run: self.run.into_run(),
            scenario: self.scenario,
            verdict: self.verdict.into(),
            measured: self.measured.map(MeasuredJson::into_measured),
            builder: self
                .builder
                .into_iter()
                .map(BuilderSettingJson::into_setting)
                .collect(),
            rungs: self.rungs.into_iter().map(RungJson::into_rung).collect(),
            end: self.end.into(),
            threshold: report::Threshold {
                iterations: self.threshold.iterations,
                coarsened: self.threshold.coarsened,
            },
            visible: self.visible.map(Rate::from),
            rarest: self
                .rarest
                .map(|RarestJson { bytes, iterations }| report::Rarest { bytes, iterations }),
            findings: self
                .findings
                .into_iter()
                .map(|finding| finding.into_finding(self.version))
                .collect::<Result<_, _>>()?,
            checks: self.checks.into_iter().map(CheckJson::into_check).collect(),
            completeness: self.completeness.into_completeness()?,
            failure: self.failure.map(FailureJson::into_failure),
            notes: self.notes,
            compared: self
                .compared
                .map(|ComparedJson { before, after }| report::Compared { before, after }),
            growth: self
                .growth
                .into_iter()
                .map(GrowthJson::into_growth)
                .collect(),
        })
    }
}

impl RunJson {
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
        RunJson {
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
        let RunJson {
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

impl MeasuredJson {
    fn from_measured(measured: &report::Measured) -> Self {
        let report::Measured {
            target,
            profile,
            toolchain,
            jemalloc,
            sample_interval,
            unwinder,
        } = measured.clone();
        MeasuredJson {
            target,
            profile,
            toolchain,
            jemalloc,
            sample_interval,
            unwinder,
        }
    }

    fn into_measured(self) -> report::Measured {
        let MeasuredJson {
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

impl BuilderSettingJson {
    fn from_setting(setting: &report::BuilderSetting) -> Self {
        let report::BuilderSetting { key, value } = setting.clone();
        BuilderSettingJson { key, value }
    }

    fn into_setting(self) -> report::BuilderSetting {
        let BuilderSettingJson { key, value } = self;
        report::BuilderSetting { key, value }
    }
}

impl RungJson {
    fn from_rung(rung: &report::Rung) -> Self {
        let report::Rung {
            iterations,
            live,
            allocated,
            threads,
            descriptors,
            resident,
        } = *rung;
        RungJson {
            iterations,
            live: live.into(),
            allocated,
            threads,
            descriptors,
            resident,
        }
    }

    fn into_rung(self) -> report::Rung {
        let RungJson {
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

impl FindingJson {
    fn from_finding(finding: &report::Finding) -> Self {
        let report::Finding {
            verdict,
            subject,
            frames,
            rate,
            error,
            law,
            objects_law,
            bytes_law,
            allowed,
            standing,
            moved_from,
            reason,
            levels,
            survivors,
        } = finding;
        FindingJson {
            verdict: (*verdict).into(),
            subject: SubjectJson::from_subject(subject),
            frames: frames.iter().map(FrameJson::from_frame).collect(),
            rate: (*rate).into(),
            error: (*error).into(),
            law: (*law).into(),
            objects_law: Some((*objects_law).into()),
            bytes_law: Some((*bytes_law).into()),
            allowed: (*allowed).into(),
            standing: (*standing).into(),
            moved_from: moved_from.as_ref().map(|stack| stack.0.clone()),
            reason: reason.clone(),
            levels: levels.iter().copied().map(TallyJson::from).collect(),
            survivors: Some(
                survivors
                    .iter()
                    .map(SurvivorsJson::from_survivors)
                    .collect(),
            ),
        }
    }

    fn into_finding(self, version: u64) -> Result<report::Finding, ReportError> {
        let law = Law::from(self.law);
        let since_2 = (self.objects_law, self.bytes_law, self.survivors);
        let (objects_law, bytes_law, survivors) = match (version, since_2) {
            (1, (None, None, None)) => (law, law, Vec::new()),
            (2.., (Some(objects), Some(bytes), Some(survivors))) => {
                (objects.into(), bytes.into(), survivors)
            }
            _ => {
                return Err(ReportError::Value {
                    at: "findings",
                    expected: SINCE_2.to_owned(),
                    found: format!("others in format {version}"),
                });
            }
        };
        Ok(report::Finding {
            verdict: self.verdict.into(),
            subject: self.subject.into_subject()?,
            frames: self.frames.into_iter().map(FrameJson::into_frame).collect(),
            rate: self.rate.into(),
            error: self.error.into(),
            law,
            objects_law,
            bytes_law,
            allowed: self.allowed.into(),
            standing: self.standing.into(),
            moved_from: self.moved_from.map(FoldedStack),
            reason: self.reason,
            levels: self.levels.into_iter().map(Tally::from).collect(),
            survivors: survivors
                .into_iter()
                .map(SurvivorsJson::into_survivors)
                .collect(),
        })
    }
}

impl SurvivorsJson {
    fn from_survivors(survivors: &report::Survivors) -> Self {
        let report::Survivors {
            from,
            to,
            allocated,
            alive,
        } = *survivors;
        SurvivorsJson {
            from,
            to,
            allocated,
            alive: alive.into(),
        }
    }

    fn into_survivors(self) -> report::Survivors {
        let SurvivorsJson {
            from,
            to,
            allocated,
            alive,
        } = self;
        report::Survivors {
            from,
            to,
            allocated,
            alive: alive.into(),
        }
    }
}

impl SubjectJson {
    fn from_subject(subject: &Subject) -> Self {
        let (kind, stack, stacks) = match subject {
            Subject::Stack(stack) => (KindJson::Stack, Some(stack.0.clone()), None),
            Subject::Site { frames, stacks } => {
                (KindJson::Site, Some(frames.0.clone()), Some(*stacks as u64))
            }
            Subject::Threads => (KindJson::Threads, None, None),
            Subject::Descriptors => (KindJson::Descriptors, None, None),
        };
        SubjectJson {
            kind,
            stack,
            stacks,
        }
    }

    fn into_subject(self) -> Result<Subject, ReportError> {
        match (self.kind, self.stack, self.stacks) {
            (KindJson::Stack, Some(stack), None) => Ok(Subject::Stack(FoldedStack(stack))),
            (KindJson::Site, Some(frames), Some(stacks)) => {
                let stacks = size("stacks", stacks)?;
                Ok(Subject::Site {
                    frames: FoldedStack(frames),
                    stacks,
                })
            }
            (KindJson::Threads, None, None) => Ok(Subject::Threads),
            (KindJson::Descriptors, None, None) => Ok(Subject::Descriptors),
            (kind, stack, stacks) => {
                let expected = match kind {
                    KindJson::Stack => "a stack alone",
                    KindJson::Site => "a stack and the number of stacks",
                    KindJson::Threads | KindJson::Descriptors => "null for both keys",
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

impl FrameJson {
    fn from_frame(frame: &crate::Frame) -> Self {
        let crate::Frame {
            function,
            file,
            line,
        } = frame.clone();
        FrameJson {
            function,
            file,
            line,
        }
    }

    fn into_frame(self) -> crate::Frame {
        let FrameJson {
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

impl CheckJson {
    fn from_check(check: &report::Check) -> Self {
        let report::Check {
            name,
            outcome,
            detail,
        } = check.clone();
        CheckJson {
            name,
            outcome: outcome.into(),
            detail,
        }
    }

    fn into_check(self) -> report::Check {
        let CheckJson {
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

impl CompletenessJson {
    fn from_completeness(completeness: report::Completeness) -> Self {
        let report::Completeness {
            stacks,
            zero_object_stacks,
            truncated_stacks,
            addresses,
            without_debug_info,
            unresolved,
        } = completeness;
        CompletenessJson {
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

impl FailureJson {
    fn from_failure(failure: &report::Failure) -> Self {
        let report::Failure {
            what,
            iteration,
            output,
        } = failure.clone();
        FailureJson {
            what,
            iteration,
            output,
        }
    }

    fn into_failure(self) -> report::Failure {
        let FailureJson {
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

impl GrowthJson {
    fn from_growth(growth: &report::StackGrowth) -> Self {
        let report::StackGrowth {
            stack,
            before,
            after,
            rate,
            error,
        } = growth;
        GrowthJson {
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
