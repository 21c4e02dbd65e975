//! Reports to print: one of each verdict, and as strange a one as proptest
//! can make.

use plimsoll_core::blame::{Blame, Origin};
use plimsoll_core::holders::{BackReference, ChainEnd, HolderLink, Holders, LinkKind};
use plimsoll_core::judge::{Policy, Verdict};
use plimsoll_core::outside::GrownMappings;
use plimsoll_core::report::LadderEnd::{Budget, Descriptors, Iterations, Settled, Threads};
use plimsoll_core::report::Standing::{Allowed, Exceeded, Expired, Moved, New, Stale};
use plimsoll_core::report::{
    BuilderSetting, Check, CheckOutcome, Clock, Compared, Completeness, Failure, Finding,
    LadderEnd, Measured, Memory, Rarest, Report, Run, Rung, StackGrowth, Subject, Survivors,
    Threshold, Visible,
};
use plimsoll_core::{FoldedStack, Frame, Lacks, Law, Per, Rate, Resource, Tally};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::sample;

/// [`regressed`], as plimsoll wrote it in format 1.
pub(crate) const REPORT_1: &str = include_str!("report-v1.json");

/// A pass, on which the others build.
pub(crate) fn within() -> Report {
    let rung = |iterations: u64| Rung {
        live: tally_of(96, 1_000),
        allocated: Some(100_096),
        resident: 12 * 1024 * 1024,
        ..sample::rung(iterations)
    };
    Report {
        run: Run {
            id: "2f0c".to_owned(),
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            package: "plimsoll-scenarios".to_owned(),
            target: "leaks".to_owned(),
            scenarios: vec!["lru_churn".to_owned(), "http_echo".to_owned()],
            selected: None,
            built_with: Vec::new(),
            benchmark: None,
            runner: plimsoll_core::report::Runner::Test,
            plimsoll: "0.1.0".to_owned(),
            files: "target/plimsoll/plimsoll-scenarios/leaks/lru_churn".to_owned(),
            baseline: "baselines/lru_churn.toml".to_owned(),
        },
        rungs: [4_096, 8_192, 16_384].map(rung).to_vec(),
        end: Settled,
        checks: vec![Check {
            name: "canary".to_owned(),
            outcome: CheckOutcome::Passed,
            detail: "64 objects of 64".to_owned(),
        }],
        completeness: Completeness {
            stacks: 500,
            addresses: 80,
            ..Completeness::default()
        },
        compared: Some(Compared {
            before: 4_096,
            after: 16_384,
        }),
        ..sample::report("2f0c", "lru_churn", Verdict::Within)
    }
}

/// Judges at the end of a ladder.
pub(crate) const POLICY: Policy = Policy {
    threshold: None,
    at_top: true,
    accuse_from: 0,
    accuse_anew_from: 0,
    outside: None,
    coarsens_to: Some(plimsoll_core::judge::COARSEST_THRESHOLD),
    today: None,
};

pub(crate) fn tally_of(size: u64, objects: u64) -> Tally {
    let bytes = objects * size;
    Tally { objects, bytes }
}

pub(crate) fn rate_of(objects: f64, bytes: f64) -> Rate {
    Rate { objects, bytes }
}

pub(crate) fn frame(function: &str, place: Option<(&str, u32)>) -> Frame {
    Frame {
        function: function.to_owned(),
        file: place.map(|(file, _)| file.to_owned()),
        line: place.map(|(_, line)| line),
    }
}

pub(crate) fn stack(names: &[&str]) -> FoldedStack {
    FoldedStack(names.iter().map(|name| (*name).to_owned()).collect())
}

/// One stack that keeps growing, by an object of 96 bytes an iteration.
pub(crate) fn finding() -> Finding {
    Finding {
        frames: vec![
            frame("lru::LruCache::put", Some(("lru-0.18.1/src/lib.rs", 212))),
            frame("lru_churn::fill", Some(("scenarios/src/lru_churn.rs", 14))),
            frame("lru_churn", None),
        ],
        levels: vec![tally_of(96, 4_096), tally_of(96, 16_384)],
        survivors: vec![
            survivors(0, 8_192, Some(8_192), 8_192),
            survivors(8_192, 16_384, Some(8_192), 8_192),
        ],
        mappings: Vec::new(),
        holders: None,
        ..sample::finding(
            "lru_churn lru_churn::fill lru::LruCache::put",
            rate_of(1.0, 96.0),
        )
    }
}

/// What is left of objects of 96 bytes that were born in an octave.
pub(crate) fn survivors(from: u64, to: u64, allocated: Option<u64>, alive: u64) -> Survivors {
    Survivors {
        from,
        to,
        allocated,
        alive: tally_of(96, alive),
    }
}

pub(crate) fn growth(names: &[&str], before: u64, after: u64, rate: f64) -> StackGrowth {
    let tally = |bytes| Tally {
        objects: bytes / 96,
        bytes,
    };
    StackGrowth {
        stack: stack(names),
        before: tally(before),
        after: tally(after),
        rate: rate_of(rate / 96.0, rate),
        error: None,
    }
}

pub(crate) fn regressed() -> Report {
    let mut report = within();
    report.verdict = Verdict::Regressed;
    report.end = Budget;
    report.rungs[2].iterations = 65_536;
    report.compared = Some(Compared {
        before: 4_096,
        after: 65_536,
    });
    report.findings = vec![finding()];
    let grown = |names: &str, before, after, rate| {
        let names: Vec<&str> = names.split(' ').collect();
        growth(&names, before, after, rate)
    };
    report.growth = vec![
        grown(
            "lru_churn lru_churn::fill lru::LruCache::put",
            393_216,
            6_291_456,
            96.0,
        ),
        grown(
            "lru_churn lru_churn::fill lru::LruCache::resize",
            4_096,
            131_072,
            2.0,
        ),
        grown(
            "lru_churn lru_churn::flush bytes::BytesMut::reserve",
            70_000,
            8_560,
            -1.0,
        ),
    ];
    report
}

pub(crate) fn failed() -> Report {
    let mut report = within();
    report.verdict = Verdict::Failed;
    report.end = LadderEnd::Failure;
    report.visible = None;
    report.failure = Some(Failure {
        what: "panicked: called `Option::unwrap()` on a `None` value".to_owned(),
        iteration: Some(12_345),
        output: "connecting\nthread 'main' panicked at scenarios/src/lru_churn.rs:17:42:\n\
                 called `Option::unwrap()` on a `None` value\n\
                 \u{1b}[31mred\u{1b}[0m and \u{1b}]0;a title\u{7}, then a line that goes on and on \
                 until it is longer than any terminal of 80 columns would show it\n"
            .to_owned(),
    });
    report
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_:<>]{0,12}",
        "[a-z:]{60,140}",
        "\\PC{0,30}",
        Just("user\u{202e}nimda\u{1b}[2J\r\n\t漢字\u{0}".to_owned()),
        Just(format!("{} {}", "x".repeat(300), "漢".repeat(100))),
    ]
}

fn rate() -> impl Strategy<Value = Rate> {
    let value = prop_oneof![
        Just(0.0),
        0.0..1e-3,
        -1e6..1e6,
        proptest::num::f64::NORMAL,
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
    ];
    (value.clone(), value).prop_map(|(objects, bytes)| Rate { objects, bytes })
}

fn tally() -> impl Strategy<Value = Tally> {
    any::<[u64; 2]>().prop_map(|[objects, bytes]| Tally { objects, bytes })
}

fn folded() -> impl Strategy<Value = FoldedStack> {
    vec(words(), 0..14).prop_map(FoldedStack)
}

fn subject() -> impl Strategy<Value = Subject> {
    let stack = folded().prop_map(Subject::Stack);
    let stacks = any::<u32>().prop_map(|n| n as usize);
    let site = (folded(), stacks).prop_map(|(frames, stacks)| Subject::Site { frames, stacks });
    let resource = one_of(&Resource::ALL).prop_map(Subject::Resource);
    prop_oneof![1 => stack, 1 => site, 2 => resource]
}

fn one_of<T: Clone + std::fmt::Debug + 'static>(all: &[T]) -> impl Strategy<Value = T> + use<T> {
    proptest::sample::select(all.to_vec())
}

/// A struct, of whose fields each is drawn.
macro_rules! drawn {
    ($name:ident { $($field:ident: $strategy:expr),* $(,)? }) => {
        ($($strategy),*).prop_map(|($($field),*)| $name { $($field),* })
    };
}

fn any_law() -> impl Strategy<Value = Law> {
    one_of(&[Law::Linear, Law::Stepped, Law::Filling, Law::Fluctuating])
}

fn any_frame() -> impl Strategy<Value = Frame> {
    drawn!(Frame {
        function: words(),
        file: option::of(words()),
        line: option::of(any::<u32>()),
    })
}

fn any_origin() -> impl Strategy<Value = Origin> {
    prop_oneof![
        words().prop_map(Origin::Workload),
        words().prop_map(Origin::Setup),
        Just(Origin::Thread),
    ]
}

fn any_blame() -> impl Strategy<Value = Blame> {
    drawn!(Blame {
        at: option::of(any_frame()),
        called: option::of(any_frame()),
        caller: option::of(any_frame()),
        by: option::of(any_frame()),
        origin: option::of(any_origin()),
        thread_of: option::of(words()),
        needed_by: option::of(words()),
    })
}

/// It is boxed, because what draws a finding would otherwise not fit on a stack.
fn any_holders() -> BoxedStrategy<Holders> {
    use LinkKind::{Mapped, Objects, Stack, State, Static, Tasks, ThreadLocal};

    let kinds = [Objects, Tasks, State, Static, ThreadLocal, Mapped, Stack];
    let link = drawn!(HolderLink {
        kind: one_of(&kinds),
        name: option::of(words()),
        blame: option::of(any_blame()),
        count: any::<u64>(),
        bytes: any::<u64>(),
        is_fixed: any::<bool>(),
        holds: any::<u64>(),
        through: any::<u64>(),
        of: any::<u64>(),
    });
    let link = link.boxed();
    let ends = [
        ChainEnd::Root,
        ChainEnd::Lost,
        ChainEnd::Cycle,
        ChainEnd::Unsure,
        ChainEnd::Deeper,
    ];
    drawn!(Holders {
        what: option::of(words()),
        of: any::<u64>(),
        objects: any::<u64>(),
        weak: any::<u64>(),
        chain: vec(link.clone(), 0..4),
        also: option::of(link),
        end: one_of(&ends),
        cycle: option::of(drawn!(BackReference {
            from: option::of(words()),
            to: option::of(words()),
        })),
    })
    .boxed()
}

prop_compose! {
    fn any_finding()(
        verdict in one_of(&Verdict::ALL),
        standing in one_of(&[New, Allowed, Exceeded, Moved, Expired, Stale]),
        subject in subject(),
        frames in vec(any_frame(), 0..12),
        blame in option::of(any_blame().boxed()),
        lacks in option::of(one_of(&[Lacks::SplitFiles, Lacks::DebugInfo, Lacks::Stripped])),
        clock in option::of(drawn!(Clock { per_second: rate(), followed: any::<u64>() })),
        [rate, error, allowed] in [rate(), rate(), rate()],
        [law, objects_law, bytes_law] in [any_law(), any_law(), any_law()],
        moved_from in option::of(folded()),
        reason in option::of(words()),
        levels in vec(tally(), 0..4),
        survivors in vec(drawn!(Survivors {
            from: any::<u64>(), to: any::<u64>(), allocated: option::of(any::<u64>()), alive: tally(),
        }), 0..4),
        (mappings, holders) in (vec(drawn!(GrownMappings {
            permissions: words(), name: words(), size: option::of(any::<u64>()), before: tally(), after: tally(),
        }), 0..4), option::of(any_holders())),
    ) -> Finding {
        Finding {
            verdict, subject, frames, blame, lacks, clock, rate, error, law, objects_law, bytes_law, allowed,
            standing, moved_from, reason, levels, survivors, mappings, holders,
        }
    }
}

fn any_run() -> impl Strategy<Value = Run> {
    // proptest draws at most ten values at once.
    let texts = (words(), words(), words(), words(), words(), words());
    let lists = (vec(words(), 0..4), vec(words(), 0..4));
    let options = (
        option::of(words()),
        option::of(words()),
        option::of(vec(words(), 0..4)),
        one_of(&[
            plimsoll_core::report::Runner::Test,
            plimsoll_core::report::Runner::Bench,
            plimsoll_core::report::Runner::Other,
        ]),
    );
    (texts, lists, options).prop_map(|(texts, lists, options)| {
        let (id, package, target, plimsoll, files, baseline) = texts;
        let (scenarios, built_with) = lists;
        let (commit, benchmark, selected, runner) = options;
        Run {
            id,
            commit,
            package,
            target,
            scenarios,
            selected,
            built_with,
            benchmark,
            runner,
            plimsoll,
            files,
            baseline,
        }
    })
}

fn any_measured() -> impl Strategy<Value = Measured> {
    drawn!(Measured {
        target: words(),
        profile: words(),
        toolchain: words(),
        jemalloc: words(),
        unwinder: words(),
        sample_interval: any::<u64>(),
    })
}

fn any_memory() -> impl Strategy<Value = Memory> {
    drawn!(Memory {
        active: any::<u64>(),
        metadata: any::<u64>(),
        resident: any::<u64>(),
        outside: option::of(any::<u64>()),
    })
}

fn any_rung() -> impl Strategy<Value = Rung> {
    drawn!(Rung {
        iterations: any::<u64>(),
        threads: any::<u64>(),
        descriptors: any::<u64>(),
        resident: any::<u64>(),
        live: tally(),
        allocated: option::of(any::<u64>()),
        mappings: option::of(any::<u64>()),
        memory: option::of(any_memory()),
    })
}

fn any_check() -> impl Strategy<Value = Check> {
    let outcomes = [
        CheckOutcome::Passed,
        CheckOutcome::Unavailable,
        CheckOutcome::Failed,
    ];
    drawn!(Check {
        name: words(),
        outcome: one_of(&outcomes),
        detail: words()
    })
}

fn any_growth() -> impl Strategy<Value = StackGrowth> {
    drawn!(StackGrowth {
        stack: folded(),
        before: tally(),
        after: tally(),
        rate: rate(),
        error: option::of(rate()),
    })
}

fn any_failure() -> impl Strategy<Value = Failure> {
    let output = vec(words(), 0..40).prop_map(|lines| lines.join("\n"));
    drawn!(Failure {
        what: words(),
        iteration: option::of(any::<u64>()),
        output: output
    })
}

fn any_completeness() -> impl Strategy<Value = Completeness> {
    let count = || any::<u32>().prop_map(|n| n as usize);
    drawn!(Completeness {
        stacks: count(),
        zero_object_stacks: count(),
        truncated_stacks: count(),
        addresses: count(),
        without_debug_info: count(),
        unresolved: count(),
    })
}

prop_compose! {
    /// Any report that is within the limits of the format.
    pub(crate) fn any_report()(
        (run, scenario) in (any_run(), words()),
        verdict in one_of(&Verdict::ALL),
        end in one_of(&[Settled, Budget, Iterations, LadderEnd::Memory, Threads, Descriptors, LadderEnd::Mappings, LadderEnd::Failure]),
        measured in option::of(any_measured()),
        (builder, enough) in (vec((words(), words()), 0..3), option::of((words(), words()))),
        (per, rungs) in (one_of(&["iteration", "second", "http_requests_total", "rpc{method=\"get\"}"]), vec(any_rung(), 0..4)),
        (iterations, coarsened, outside) in (1..1_000_000_u64, any::<bool>(), option::of(any::<u64>())),
        (visible, rarest) in (option::of(rate()), option::of(any::<[u64; 2]>())),
        (findings, own, growth) in (vec(any_finding().boxed(), 0..9), vec(words(), 0..3), vec(any_growth(), 0..9)),
        checks in vec(any_check(), 0..3),
        (completeness, failure) in (any_completeness(), option::of(any_failure())),
        notes in vec(words(), 0..14),
        compared in option::of(any::<[u64; 2]>()),
    ) -> Report {
        let setting = |(key, value)| BuilderSetting { key, value };
        let per: Per = per.parse().expect("a unit");
        Report {
            run, scenario, verdict, measured, builder: builder.into_iter().map(setting).collect(), rungs, end,
            threshold: Threshold { iterations, coarsened, outside },
            visible: visible.map(Visible::from),
            rarest: rarest.map(|[bytes, iterations]| Rarest { bytes, iterations }),
            findings, own, checks, enough: enough.map(setting), per, completeness, failure, notes,
            compared: compared.map(|[before, after]| Compared { before, after }),
            growth,
        }
    }
}
