//! The report of one scenario's run: the one value that every output is made from.
//!
//! Renderers take a finished [`Report`] and decide nothing.

pub mod explain;
pub mod files;
pub mod flamegraph;
pub mod folded;
pub mod json;
pub mod text;
pub mod units;
pub mod view;

use serde::Serialize;

use crate::dump::SampleInterval;
use crate::finding::each_stack_once;
pub use crate::finding::{Clock, Finding, Standing, Subject, Survivors};
use crate::growth::{Growth, Unit};
use crate::judge::{DEFAULT_THRESHOLD, Observed, iterations_to_settle};
use crate::verdict::Verdict;
pub use crate::verdict::{Rarest, Threshold, Visible};
use crate::{FoldedStack, Per, Rate, Resource, Series, Tally};

/// The outcome of one scenario in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The format of the file: [`json::VERSION`].
    pub version: u64,
    /// The run that this report belongs to.
    pub run: Run,
    /// The scenario's name.
    pub scenario: String,
    /// The verdict on it.
    pub verdict: Verdict,
    /// What it was measured with. `None` if the subject never got that far.
    #[serde(deserialize_with = "crate::required::required")]
    pub measured: Option<Measured>,
    /// The settings of the scenario's own builder, in the order of the settings' keys. Reports of
    /// older versions do not have this key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builder: Vec<BuilderSetting>,
    /// What the rungs count, and what rates are per. Reports of tests do not have this key.
    #[serde(default, skip_serializing_if = "Per::is_iteration")]
    pub per: Per,
    /// Every rung that was reached, in order.
    pub rungs: Vec<Rung>,
    /// Why the ladder ended.
    pub end: LadderEnd,
    /// The smallest growth that the run has to find.
    pub threshold: Threshold,
    /// The smallest growth that this run would have seen. `None` if it was not conclusive.
    #[serde(deserialize_with = "crate::required::required")]
    pub visible: Option<Visible>,
    /// How rare large objects may be and still be seen. `None` if everything is sampled, or if
    /// the run was not conclusive. Reports from before sampled runs do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rarest: Option<Rarest>,
    /// The findings, in order of how much they need a person.
    pub findings: Vec<Finding>,
    /// The crates of the reader's own code among those of the stacks; a function without a path
    /// stands for itself. Empty if nothing was found, or if nobody knows. Reports of older
    /// versions do not have this key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// The checks that guard the measurement itself.
    pub checks: Vec<Check>,
    /// The setting that would be enough, as far as the run could predict it: for a verdict if
    /// there is none, or for the default threshold if the run passed at a coarser one. Reports
    /// of older versions do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enough: Option<BuilderSetting>,
    /// How complete the dumps and their names were.
    pub completeness: Completeness,
    /// How the workload or the measurement failed, if it did.
    #[serde(deserialize_with = "crate::required::required")]
    pub failure: Option<Failure>,
    /// Notes for people, such as what was left out or what fell back. Each is a sentence
    /// fragment.
    pub notes: Vec<String>,
    /// The rungs between which `growth` was taken. `None` if there were too few.
    #[serde(deserialize_with = "crate::required::required")]
    pub compared: Option<Compared>,
    /// Every stack that grew or shrank between the first and the last rung of the verdict's
    /// octaves, allowed or not. The flame graph and `growth.folded` show this.
    pub growth: Vec<StackGrowth>,
}

impl Report {
    /// Returns the report of a scenario of which nothing was measured, with the threshold that is
    /// set for it.
    pub fn unmeasured(run: Run, scenario: &str, threshold: Option<u64>) -> Report {
        Report {
            version: json::VERSION,
            run,
            scenario: scenario.to_owned(),
            verdict: Verdict::Inconclusive,
            measured: None,
            builder: Vec::new(),
            per: Per::default(),
            rungs: Vec::new(),
            end: LadderEnd::Failure,
            threshold: Threshold {
                iterations: threshold.unwrap_or(DEFAULT_THRESHOLD),
                coarsened: false,
                outside: None,
            },
            visible: None,
            rarest: None,
            findings: Vec::new(),
            own: Vec::new(),
            checks: Vec::new(),
            enough: None,
            completeness: Completeness::default(),
            failure: None,
            notes: Vec::new(),
            compared: None,
            growth: Vec::new(),
        }
    }

    /// Returns what people call the scenario: what a benchmark's own harness calls it, or the
    /// scenario's name. Files and commands have the name.
    pub fn title(&self) -> &str {
        self.run.benchmark.as_deref().unwrap_or(&self.scenario)
    }

    /// Returns whether levels and rates are estimates from samples.
    pub fn is_sampled(&self) -> bool {
        let measured = self.measured.as_ref();
        measured.is_some_and(|measured| measured.sample_interval > 1)
    }

    /// Returns how far a finding's rate may be off, to be shown beside it. `None` if the rate
    /// is exact, or of a resource.
    pub fn error_of(&self, finding: &Finding) -> Option<Rate> {
        let is_heap = finding.subject.stack().is_some();
        (self.is_sampled() && is_heap).then_some(finding.error)
    }

    /// The same for the sum of several findings. Errors are independent, so their squares add
    /// up.
    pub(crate) fn error_of_total(&self, findings: &[&Finding]) -> Option<Rate> {
        let mut squares = Rate::default();
        for finding in each_stack_once(findings) {
            squares = squares + self.error_of(finding)?.map(|error| error * error);
        }
        self.is_sampled().then(|| squares.map(f64::sqrt))
    }

    /// Returns the mean bytes between samples. `None` if nothing was measured.
    fn interval(&self) -> Option<SampleInterval> {
        SampleInterval::new(self.measured.as_ref()?.sample_interval)
    }

    /// Returns the iterations that a sampled run needs for its threshold. `None` if the run
    /// reached them, is exact, or is of a server.
    pub(crate) fn iterations_needed(&self) -> Option<u64> {
        let interval = self.interval().filter(|_| self.per.is_iteration())?;
        let needed = iterations_to_settle(Some(self.threshold.iterations), interval);
        let reached = self.rungs.last().map_or(0, |rung| rung.iterations);
        (self.is_sampled() && reached < needed).then_some(needed)
    }
}

/// The run: what the reports of one `cargo test` have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// `NEXTEST_RUN_ID`, or an ID that the front made.
    pub id: String,
    /// The commit of the working tree, if there is one.
    #[serde(deserialize_with = "crate::required::required")]
    pub commit: Option<String>,
    /// Cargo's name of the package.
    pub package: String,
    /// Cargo's name of the test target.
    pub target: String,
    /// Every scenario of the target, run or not, in the order of `main!`.
    pub scenarios: Vec<String>,
    /// Those of them that a filter selected. `None` if the run selected all, or if it does not
    /// know: a process of nextest has one scenario. Reports of older versions do not have this
    /// key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Vec<String>>,
    /// Cargo's variables for profiles that were set, with which the program was built:
    /// `CARGO_PROFILE_RELEASE_DEBUG=1`. Reports of older versions do not have this key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub built_with: Vec<String>,
    /// What the benchmark's own harness calls the scenario, if it is a benchmark:
    /// `group/function/parameter`. Reports of tests do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
    /// What built the program. Reports of tests do not have this key.
    #[serde(default, skip_serializing_if = "Runner::is_test")]
    pub runner: Runner,
    /// The version of plimsoll that wrote the report.
    pub plimsoll: String,
    /// The folder of this scenario's files, in the target directory's `plimsoll` folder. It is
    /// relative to the workspace root if it is below that.
    pub files: String,
    /// The scenario's baseline, relative to the workspace root.
    pub baseline: String,
}

/// The command that builds and measures a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    /// `cargo test`.
    #[default]
    Test,
    /// `cargo plimsoll bench`.
    Bench,
    /// Something that plimsoll does not know: `plimsoll run` was given the program.
    Other,
}

impl Runner {
    fn is_test(&self) -> bool {
        *self == Runner::Test
    }
}

impl Run {
    /// Returns the test that has the scenario, as a baseline names it: `PACKAGE/TARGET`.
    pub fn test(&self) -> String {
        format!("{}/{}", self.package, self.target)
    }
}

/// What a scenario was measured with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The target triple.
    pub target: String,
    /// Cargo's profile, as far as the program knows it: `debug` or `release`.
    pub profile: String,
    /// `rustc`'s version.
    pub toolchain: String,
    /// jemalloc's version.
    pub jemalloc: String,
    /// Mean bytes between samples; 1 is exact.
    pub sample_interval: u64,
    /// The unwinder that walked the stacks.
    pub unwinder: String,
}

/// A setting, as it would be written in `plimsoll.toml`, without quotes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct BuilderSetting {
    /// Its key, such as `budget`.
    pub key: String,
    /// Its value, such as `20s`.
    pub value: String,
}

/// One rung of the ladder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// Iterations done.
    pub iterations: u64,
    /// What is live in the profile, without the canary.
    pub live: Tally,
    /// jemalloc's own `stats.allocated`, in bytes.
    #[serde(deserialize_with = "crate::required::required")]
    pub allocated: Option<u64>,
    /// Threads of the subject.
    pub threads: u64,
    /// Open file descriptors of the subject, without the harness's own.
    pub descriptors: u64,
    /// Resident set, in bytes. Never judged: exact profiling inflates it.
    pub resident: u64,
    /// Mappings of files. `None` if that is not known, as in reports of older versions, which do
    /// not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mappings: Option<u64>,
    /// What memory there is. `None` if that is not known, as in reports of older versions, which
    /// do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// The memory of a subject at a rung: what jemalloc says of its own, and what is outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// jemalloc's `stats.active`: pages with live objects, in bytes.
    pub active: u64,
    /// jemalloc's `stats.metadata`: what it needs for itself, in bytes. Exact profiling needs
    /// much of it.
    pub metadata: u64,
    /// jemalloc's `stats.resident`: its pages that may be resident, in bytes. Besides `active` and
    /// `metadata`, these are pages without objects that it has not yet given back.
    pub resident: u64,
    /// Memory that the process has mapped and that jemalloc does not manage, in bytes, resident
    /// or not. `None` if that cannot be told.
    #[serde(deserialize_with = "crate::required::required")]
    pub outside: Option<u64>,
}

impl Rung {
    /// Returns what the subject has of a resource. `None` if that is not known.
    pub fn resource(&self, resource: Resource) -> Option<Tally> {
        let amount = match resource {
            Resource::Threads => self.threads,
            Resource::Descriptors => self.descriptors,
            Resource::Mappings => self.mappings?,
            Resource::Outside => self.memory?.outside?,
        };
        Some(match resource.unit() {
            Unit::Objects => Tally {
                objects: amount,
                bytes: 0,
            },
            Unit::Bytes => Tally {
                objects: 0,
                bytes: amount,
            },
        })
    }
}

/// Why a ladder ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum LadderEnd {
    /// Nothing grows, and enough was seen to say so.
    Settled,
    /// The next rung would overrun the time budget.
    Budget,
    /// The time budget is too small to find growth at the threshold, and was not spent.
    OutOfReach,
    /// `max_iterations` was reached.
    Iterations,
    /// The memory limit was reached.
    Memory,
    /// The next rung could need more threads than the subject may have.
    Threads,
    /// The next rung could need more open files than the subject may have.
    Descriptors,
    /// The next rung could need more mappings than the subject may have.
    Mappings,
    /// The workload failed, or the measurement did.
    #[default]
    Failure,
}

/// The name of the check that the baseline can be read.
pub const BASELINE: &str = "baseline";

/// The name of the check that the load of a server ran as long as it had to.
pub const LOAD: &str = "load";

/// One check of the measurement itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// `canary`, `coverage`, [`BASELINE`], …
    pub name: String,
    /// The outcome.
    pub outcome: CheckOutcome,
    /// What was expected and what was found. A hint may follow. Each is on a line of its own.
    pub detail: String,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// As expected.
    Passed,
    /// The check was not possible; the detail says why.
    Unavailable,
    /// The measurement cannot be trusted.
    Failed,
}

/// How complete the last dump and its names were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Completeness {
    /// Stacks with a record.
    pub stacks: usize,
    /// Stacks without a live object.
    pub zero_object_stacks: usize,
    /// Stacks that were cut at jemalloc's `prof_bt_max`.
    pub truncated_stacks: usize,
    /// Distinct addresses of growing stacks.
    pub addresses: usize,
    /// Addresses among them that have a name from a symbol table only.
    pub without_debug_info: usize,
    /// Addresses among them that have no name.
    pub unresolved: usize,
}

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// One line: "panicked: …", "killed by signal 11 (SIGSEGV)", "hung: …".
    pub what: String,
    /// The iteration that it had reached. `None` if the setup failed.
    #[serde(deserialize_with = "crate::required::required")]
    pub iteration: Option<u64>,
    /// The tail of what the subject printed.
    pub output: String,
}

/// The two rungs *before* and *after*: the first and the last of the octaves that the verdict
/// uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Iterations done at *before*.
    pub before: u64,
    /// Iterations done at *after*.
    pub after: u64,
}

impl StackGrowth {
    /// Returns how each stack changed between the rung number `before` and the last one. Stacks
    /// that stayed as they were are left out.
    pub fn of(observed: &Observed, before: usize) -> Vec<StackGrowth> {
        let change = |(stack, series): (&FoldedStack, &Series)| {
            let growth = Growth::of(&observed.iterations, series);
            let is_exact = series.interval().is_exact();
            let before = series.levels().get(before).copied().unwrap_or_default();
            let after = series.levels().last().copied().unwrap_or_default();
            (before != after || growth.rate() != Rate::default()).then(|| StackGrowth {
                stack: stack.clone(),
                before,
                after,
                rate: growth.rate(),
                error: (!is_exact).then(|| growth.error()),
            })
        };
        observed.stacks.iter().filter_map(change).collect()
    }
}

/// How one stack changed between *before* and *after*.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct StackGrowth {
    /// The stack, as names.
    pub stack: FoldedStack,
    /// What was live at the first rung of the verdict's octaves.
    pub before: Tally,
    /// What was live at the last rung.
    pub after: Tally,
    /// The rate per iteration over the last octave, as for a finding: if objects come and go,
    /// of those that stay. Negative if the stack shrank.
    pub rate: Rate,
    /// How far the rate may be off, as for a finding. `None` if every object was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Rate>,
}
