//! Workloads that never ran: what they keep alive is made up, and judged as a real run judges
//! what it measured.
//!
//! ```text
//! Stack, Keeps ──► Series over a ladder ──► judge, Blame ──► Report
//! ```
//!
//! Rates, errors, laws, verdicts and places to blame come from the code that real runs use. So
//! no report of the gallery contradicts itself, and a changed rule shows in its pictures.

use std::collections::BTreeMap;

use plimsoll_core::baseline::Baseline;
use plimsoll_core::blame::{Blame, Packages, SourceFiles};
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::fold::Trace;
use plimsoll_core::growth::Growth;
use plimsoll_core::judge::{Assessment, Observed, Policy, Verdict, judge};
use plimsoll_core::ladder::{RISING_OCTAVES, RUNGS_PER_OCTAVE, rung};
use plimsoll_core::report::{
    Check, CheckOutcome, Compared, Completeness, Failure, LadderEnd, Memory, Report, Run, Rung,
    StackGrowth, Subject,
};
use plimsoll_core::text::hash::fnv;
use plimsoll_core::{FoldedStack, Frame, Rate, Resource, Series, Tally, to_f64};

use crate::sample;

/// The package of every workload.
pub(crate) const PACKAGE: &str = "storefront";
pub(crate) const TARGET: &str = "leaks";

const LOCKFILE: &str = include_str!("Cargo.lock.txt");

/// What a stack keeps alive. Objects are per iteration.
#[derive(Clone, Copy)]
pub(crate) enum Keeps {
    /// Every object.
    All(f64),
    /// This share of them. Those of the last iterations are alive as well.
    Share(f64, f64),
    /// Every object, until there are so many.
    UpTo(f64, u64),
    /// One list, which gains so many elements and doubles its capacity when it is full.
    List(f64),
    /// About so many objects of the last iterations.
    Recent(u64),
}

/// A stack as text, leaf first: in each line a function and, after two spaces or more, its
/// place.
pub(crate) type Frames<'a> = &'a str;

pub(crate) struct Workload {
    name: String,
    stacks: Vec<(Vec<Frame>, u64, Keeps)>,
    threads: f64,
    descriptors: f64,
    outside: f64,
    baseline: String,
    rungs: usize,
    interval: SampleInterval,
    end: LadderEnd,
}

impl Workload {
    /// A workload that keeps nothing, on a ladder up to 65,536 iterations.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Workload {
            name: name.into(),
            stacks: Vec::new(),
            threads: 0.0,
            descriptors: 0.0,
            outside: 0.0,
            baseline: String::new(),
            rungs: 49,
            interval: SampleInterval::default(),
            end: LadderEnd::Budget,
        }
    }

    /// Adds a stack that allocates objects of `size` bytes.
    pub(crate) fn stack(mut self, frames: Frames<'_>, size: u64, keeps: Keeps) -> Self {
        self.stacks.push((parsed(frames), size, keeps));
        self
    }

    /// Adds threads and file descriptors that stay, per iteration.
    pub(crate) fn resources(mut self, threads: f64, descriptors: f64) -> Self {
        (self.threads, self.descriptors) = (threads, descriptors);
        self
    }

    /// Adds memory outside the allocator that stays, in bytes per iteration.
    pub(crate) fn outside(mut self, bytes: f64) -> Self {
        self.outside = bytes;
        self
    }

    /// Sets the entries of the baseline.
    pub(crate) fn baseline(mut self, entries: &str) -> Self {
        self.baseline = format!("format = 1\n{entries}");
        self
    }

    pub(crate) fn ladder(mut self, rungs: usize, end: LadderEnd) -> Self {
        (self.rungs, self.end) = (rungs, end);
        self
    }

    /// Samples once in so many bytes.
    pub(crate) fn sampled(mut self, every: u64) -> Self {
        self.interval = SampleInterval::new(every).unwrap_or_default();
        self
    }

    /// Judges the workload, and returns its report.
    pub(crate) fn report(self) -> Report {
        let iterations: Vec<u64> = (0..self.rungs).map(rung).collect();
        let observed = self.observed(&iterations);
        let baseline = Baseline::parse(self.baseline.as_bytes()).unwrap_or_default();
        let policy = Policy {
            at_top: self.end != LadderEnd::Settled,
            today: "2026-03-01".parse().ok(),
            ..Policy::TOP
        };
        let Assessment {
            verdict,
            mut findings,
            threshold,
            visible,
            rarest,
            ..
        } = judge(&observed, &baseline, &policy);
        let packages = Packages::of_lockfile(LOCKFILE).with_own(TARGET);
        for finding in &mut findings {
            if let (Subject::Stack(stack), false) = (&finding.subject, finding.is_unused()) {
                let mut own = self.stacks.iter();
                let own = own.find(|(frames, ..)| folded(frames) == *stack);
                let trace = Trace {
                    frames: own.map_or_else(Vec::new, |(frames, ..)| frames.clone()),
                    ..Trace::default()
                };
                finding.blame = Blame::of(&trace, &self.name, &packages, &SourceFiles::default());
                finding.frames = trace.frames;
            }
        }
        let before = self
            .rungs
            .saturating_sub(1 + RISING_OCTAVES * RUNGS_PER_OCTAVE);
        let sample = sample::report("f3a9c2", &self.name, verdict);
        let is_trusted = verdict != Verdict::Inconclusive;
        Report {
            run: Run {
                commit: Some(HEAD.to_owned()),
                package: PACKAGE.to_owned(),
                target: TARGET.to_owned(),
                files: format!("target/plimsoll/{PACKAGE}/{TARGET}/{}", self.name),
                baseline: format!("baselines/{}.toml", self.name.replace(':', "+")),
                ..sample.run
            },
            measured: sample.measured.map(|mut measured| {
                measured.sample_interval = self.interval.bytes();
                measured.unwinder = "plimsoll".to_owned();
                measured
            }),
            rungs: self.levels(&iterations, &observed),
            end: self.end,
            threshold,
            visible: visible.filter(|_| is_trusted),
            rarest: rarest.filter(|_| is_trusted),
            checks: vec![check(
                "canary",
                CheckOutcome::Passed,
                &format!("{0} of {0} objects found on their stack", self.rungs),
            )],
            completeness: Completeness {
                stacks: 412 + self.stacks.len(),
                zero_object_stacks: 167,
                addresses: 9 * self.stacks.len(),
                ..Completeness::default()
            },
            compared: Some(Compared {
                before: iterations[before],
                after: rung(self.rungs - 1),
            }),
            growth: growth(&iterations, &observed, before),
            own: match findings.is_empty() {
                true => Vec::new(),
                false => packages.own_among(self.stacks.iter().flat_map(|(frames, ..)| frames)),
            },
            findings,
            ..sample
        }
    }

    fn observed(&self, iterations: &[u64]) -> Observed {
        let levels = |first: u64, per: f64| {
            let levels = iterations.iter();
            levels.map(move |at| first + whole(per * to_f64(*at)))
        };
        let counted = |first, per| {
            let level = |objects| Tally { objects, bytes: 0 };
            Series::new(levels(first, per).map(level).collect())
        };
        let memory = |first, per| {
            let level = |bytes| Tally { objects: 0, bytes };
            Series::new(levels(first, per).map(level).collect())
        };
        Observed {
            iterations: iterations.to_vec(),
            stacks: self
                .stacks
                .iter()
                .map(|(frames, size, keeps)| {
                    let series = series(*keeps, *size, iterations, self.interval);
                    (folded(frames), series)
                })
                .collect(),
            resources: BTreeMap::from([
                (Resource::Threads, counted(3, self.threads)),
                (Resource::Descriptors, counted(9, self.descriptors)),
                (Resource::Outside, memory(6_422_528, self.outside)),
            ]),
            interval: self.interval,
            ..Observed::default()
        }
    }

    fn levels(&self, iterations: &[u64], observed: &Observed) -> Vec<Rung> {
        let level = |series: &Series, at: usize| series.levels().get(at).copied();
        let rung = |(at, iterations): (usize, &u64)| {
            // What a process of this size has from its setup.
            let setup = Tally {
                objects: 5_209,
                bytes: 1_310_720,
            };
            let stacks = observed.stacks.values();
            let levels = stacks.filter_map(|series| level(series, at));
            let live = levels.fold(setup, Tally::saturating_add);
            let resource = |of| level(&observed.resources[&of], at).unwrap_or_default();
            let outside = resource(Resource::Outside).bytes;
            let active = live.bytes + live.bytes / 8 + 262_144;
            let memory = Memory {
                active,
                metadata: 3_145_728 + live.bytes / 2,
                resident: 4_718_592 + active + live.bytes / 2,
                outside: Some(outside),
            };
            Rung {
                iterations: *iterations,
                live,
                allocated: Some(live.bytes + 84_640),
                threads: resource(Resource::Threads).objects,
                descriptors: resource(Resource::Descriptors).objects,
                resident: memory.resident + outside + 3_670_016,
                mappings: None,
                memory: Some(memory),
            }
        };
        iterations.iter().enumerate().map(rung).collect()
    }
}

/// The commit that was measured.
pub(crate) const HEAD: &str = "2bc8970d41f6c5b0e7a39d18f2c64ab05e9d7c13";

pub(crate) fn check(name: &str, outcome: CheckOutcome, detail: &str) -> Check {
    Check {
        name: name.to_owned(),
        outcome,
        detail: detail.to_owned(),
    }
}

/// Makes a report one of a workload that failed.
pub(crate) fn failed(mut report: Report, what: &str, output: &str) -> Report {
    report.verdict = Verdict::Failed;
    report.end = LadderEnd::Failure;
    (report.visible, report.rarest) = (None, None);
    report.failure = Some(Failure {
        what: what.to_owned(),
        iteration: report.rungs.last().map(|rung| rung.iterations + 421),
        output: output.to_owned(),
    });
    report
}

fn parsed(frames: Frames<'_>) -> Vec<Frame> {
    let lines = frames
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let frame = |line: &str| {
        let (function, place) = line.split_once("  ").unwrap_or((line, ""));
        let place = place.trim().rsplit_once(':');
        Frame {
            function: function.to_owned(),
            file: place.map(|(file, _)| file.to_owned()),
            line: place.and_then(|(_, line)| line.parse().ok()),
        }
    };
    lines.map(frame).collect()
}

fn folded(frames: &[Frame]) -> FoldedStack {
    let names = frames.iter().rev().map(|frame| frame.function.clone());
    FoldedStack(names.collect())
}

/// Returns the series of a stack, as dumps would have it.
fn series(keeps: Keeps, size: u64, iterations: &[u64], interval: SampleInterval) -> Series {
    let mut alive = Vec::new();
    for at in 0..iterations.len() {
        let born = |generation| alive_of(keeps, size, iterations, at, generation);
        let sampled = (0..=at).map(|generation| sampled(born(generation), generation, interval));
        alive.push(sampled.collect::<Vec<Tally>>());
    }
    let mut series = Series::of_births(interval, &alive);
    if interval.is_exact() {
        for generation in 0..iterations.len() {
            series.add_allocated(generation, born(keeps, iterations, generation));
        }
    }
    series
}

/// Returns the objects that a stack allocates between two rungs.
fn born(keeps: Keeps, iterations: &[u64], generation: usize) -> u64 {
    let until = |generation: usize| match keeps {
        Keeps::All(per) | Keeps::Share(per, _) => whole(per * to_f64(iterations[generation])),
        Keeps::UpTo(per, most) => whole(per * to_f64(iterations[generation])).min(most),
        Keeps::Recent(_) => 3 * iterations[generation],
        Keeps::List(per) => u64::from(capacity(per, iterations[generation]).ilog2()),
    };
    until(generation) - generation.checked_sub(1).map_or(0, until)
}

fn alive_of(keeps: Keeps, size: u64, iterations: &[u64], at: usize, generation: usize) -> Tally {
    let born = born(keeps, iterations, generation);
    let objects = match keeps {
        Keeps::All(_) | Keeps::UpTo(..) => born,
        Keeps::Share(_, share) => {
            let stay = whole(share * to_f64(born));
            let recent = if generation == at { 64 } else { 0 };
            (stay + recent).min(born)
        }
        Keeps::Recent(about) if generation == at => {
            let noise = fnv(&at.to_le_bytes()) % about.max(1);
            (about / 2 + noise).min(born)
        }
        Keeps::Recent(_) => 0,
        Keeps::List(per) => {
            let capacities = |at: usize| capacity(per, iterations[at]);
            let is_latest = capacities(generation) == capacities(at)
                && generation.checked_sub(1).map(capacities) != Some(capacities(at));
            let bytes = if is_latest { size * capacities(at) } else { 0 };
            return Tally {
                objects: is_latest.into(),
                bytes,
            };
        }
    };
    Tally {
        objects,
        bytes: size * objects,
    }
}

/// Returns the capacity of a list that doubles.
fn capacity(per: f64, iterations: u64) -> u64 {
    whole(per * to_f64(iterations)).max(2).next_power_of_two()
}

/// Returns what a sampler would see of the objects of one generation: about their share, and
/// the same at every rung.
fn sampled(alive: Tally, generation: usize, interval: SampleInterval) -> Tally {
    let Some(size) = alive.bytes.checked_div(alive.objects) else {
        return alive;
    };
    let probability = interval.probability(to_f64(size));
    let expected = to_f64(alive.objects) * probability;
    let spread = (expected * (1.0 - probability)).sqrt();
    let draw = to_f64(fnv(&(generation + 7).to_le_bytes()) % 2_001) / 1_000.0 - 1.0;
    let objects = whole((expected + draw * spread).round()).min(alive.objects);
    Tally {
        objects,
        bytes: size * objects,
    }
}

fn growth(iterations: &[u64], observed: &Observed, before: usize) -> Vec<StackGrowth> {
    let change = |(stack, series): (&FoldedStack, &Series)| {
        let growth = Growth::of(iterations, series);
        let level = |at: usize| series.levels().get(at).copied().unwrap_or_default();
        let (before, after) = (level(before), level(iterations.len() - 1));
        (before != after || growth.rate() != Rate::default()).then(|| StackGrowth {
            stack: stack.clone(),
            before,
            after,
            rate: growth.rate(),
            error: (!series.interval().is_exact()).then(|| growth.error()),
        })
    };
    observed.stacks.iter().filter_map(change).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of objects, from a positive number within range"
)]
fn whole(value: f64) -> u64 {
    value.floor() as u64
}
