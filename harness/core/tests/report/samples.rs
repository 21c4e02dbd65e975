//! Reports to print: one of each verdict, and as strange a one as proptest
//! can make.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{
    BuilderSetting, Check, CheckOutcome, Compared, Completeness, Failure, Finding, LadderEnd,
    Measured, Rarest, Report, Run, Rung, StackGrowth, Standing, Subject, Survivors, Threshold,
};
use plimsoll_core::{FoldedStack, Frame, Law, Rate, Tally};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::sample;

/// [`regressed`], as plimsoll wrote it in format 1.
pub(crate) const REPORT_1: &str = include_str!("report-v1.json");

/// A pass, on which the others build.
pub(crate) fn within() -> Report {
    let rung = |iterations: u64, objects: u64| Rung {
        iterations,
        live: Tally {
            objects,
            bytes: objects * 96,
        },
        allocated: Some(objects * 96 + 4096),
        threads: 1,
        descriptors: 3,
        resident: 12 * 1024 * 1024,
    };
    Report {
        run: Run {
            id: "2f0c".to_owned(),
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            package: "plimsoll-scenarios".to_owned(),
            target: "leaks".to_owned(),
            scenarios: vec!["lru_churn".to_owned(), "http_echo".to_owned()],
            plimsoll: "0.1.0".to_owned(),
            files: "target/plimsoll/plimsoll-scenarios/leaks/lru_churn".to_owned(),
            baseline: "baselines/lru_churn.toml".to_owned(),
        },
        rungs: vec![rung(4_096, 1_000), rung(8_192, 1_000), rung(16_384, 1_000)],
        end: LadderEnd::Settled,
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
        subject: Subject::Stack(stack(&[
            "lru_churn",
            "lru_churn::fill",
            "lru::LruCache::put",
        ])),
        frames: vec![
            frame("lru::LruCache::put", Some(("lru-0.18.1/src/lib.rs", 212))),
            frame("lru_churn::fill", Some(("scenarios/src/lru_churn.rs", 14))),
            frame("lru_churn", None),
        ],
        levels: vec![
            Tally {
                objects: 4_096,
                bytes: 393_216,
            },
            Tally {
                objects: 16_384,
                bytes: 1_572_864,
            },
        ],
        survivors: vec![
            survivors(0, 8_192, Some(8_192), 8_192),
            survivors(8_192, 16_384, Some(8_192), 8_192),
        ],
        ..sample::finding("", RATE)
    }
}

const RATE: Rate = Rate {
    objects: 1.0,
    bytes: 96.0,
};

/// What is left of objects of 96 bytes that were born in an octave.
pub(crate) fn survivors(from: u64, to: u64, allocated: Option<u64>, alive: u64) -> Survivors {
    Survivors {
        from,
        to,
        allocated,
        alive: Tally {
            objects: alive,
            bytes: alive * 96,
        },
    }
}

pub(crate) fn growth(names: &[&str], before: u64, after: u64, rate: f64) -> StackGrowth {
    StackGrowth {
        stack: stack(names),
        before: Tally {
            objects: before / 96,
            bytes: before,
        },
        after: Tally {
            objects: after / 96,
            bytes: after,
        },
        rate: Rate {
            objects: rate / 96.0,
            bytes: rate,
        },
        error: None,
    }
}

pub(crate) fn regressed() -> Report {
    let mut report = within();
    report.verdict = Verdict::Regressed;
    report.end = LadderEnd::Budget;
    if let Some(last) = report.rungs.last_mut() {
        last.iterations = 65_536;
    }
    report.compared = Some(Compared {
        before: 4_096,
        after: 65_536,
    });
    report.findings = vec![finding()];
    let root = "lru_churn";
    report.growth = vec![
        growth(
            &[root, "lru_churn::fill", "lru::LruCache::put"],
            393_216,
            6_291_456,
            96.0,
        ),
        growth(
            &[root, "lru_churn::fill", "lru::LruCache::resize"],
            4_096,
            131_072,
            2.0,
        ),
        growth(
            &[root, "lru_churn::flush", "bytes::BytesMut::reserve"],
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
    (any::<u64>(), any::<u64>()).prop_map(|(objects, bytes)| Tally { objects, bytes })
}

fn folded() -> impl Strategy<Value = FoldedStack> {
    vec(words(), 0..14).prop_map(FoldedStack)
}

fn subject() -> impl Strategy<Value = Subject> {
    prop_oneof![
        folded().prop_map(Subject::Stack),
        (folded(), any::<u32>()).prop_map(|(frames, stacks)| Subject::Site {
            frames,
            stacks: stacks as usize
        }),
        Just(Subject::Threads),
        Just(Subject::Descriptors),
    ]
}

fn any_finding() -> impl Strategy<Value = Finding> {
    let frame = (words(), option::of(words()), option::of(any::<u32>())).prop_map(
        |(function, file, line)| Frame {
            function,
            file,
            line,
        },
    );
    let law = proptest::sample::select(vec![
        Law::Linear,
        Law::Stepped,
        Law::Filling,
        Law::Fluctuating,
    ]);
    let octave = (any::<[u64; 2]>(), option::of(any::<u64>()), tally()).prop_map(
        |([from, to], allocated, alive)| Survivors {
            from,
            to,
            allocated,
            alive,
        },
    );
    let standing = proptest::sample::select(vec![
        Standing::New,
        Standing::Allowed,
        Standing::Exceeded,
        Standing::Moved,
        Standing::Expired,
        Standing::Stale,
    ]);
    (
        (
            proptest::sample::select(Verdict::ALL.to_vec()),
            subject(),
            vec(frame, 0..12),
        ),
        (
            rate(),
            rate(),
            [law.clone(), law.clone(), law],
            rate(),
            standing,
        ),
        (
            option::of(folded()),
            option::of(words()),
            vec(tally(), 0..4),
            vec(octave, 0..4),
        ),
    )
        .prop_map(
            |(
                (verdict, subject, frames),
                (rate, error, [law, objects_law, bytes_law], allowed, standing),
                (moved_from, reason, levels, survivors),
            )| {
                Finding {
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
                }
            },
        )
}

/// Any report that is within the limits of the format.
pub(crate) fn any_report() -> impl Strategy<Value = Report> {
    let end = proptest::sample::select(vec![
        LadderEnd::Settled,
        LadderEnd::Budget,
        LadderEnd::Iterations,
        LadderEnd::Memory,
        LadderEnd::Threads,
        LadderEnd::Descriptors,
        LadderEnd::Failure,
    ]);
    let outcome = proptest::sample::select(vec![
        CheckOutcome::Passed,
        CheckOutcome::Unavailable,
        CheckOutcome::Failed,
    ]);
    let setting = (words(), words()).prop_map(|(key, value)| BuilderSetting { key, value });
    let rung = (any::<[u64; 5]>(), tally(), any::<bool>()).prop_map(|(n, live, known)| Rung {
        iterations: n[0],
        live,
        allocated: known.then_some(n[1]),
        threads: n[2],
        descriptors: n[3],
        resident: n[4],
    });
    let check = (words(), outcome, words()).prop_map(|(name, outcome, detail)| Check {
        name,
        outcome,
        detail,
    });
    let growth = (folded(), tally(), tally(), rate(), option::of(rate())).prop_map(
        |(stack, before, after, rate, error)| StackGrowth {
            stack,
            before,
            after,
            rate,
            error,
        },
    );
    let failure = (words(), option::of(any::<u64>()), vec(words(), 0..40)).prop_map(
        |(what, iteration, output)| Failure {
            what,
            iteration,
            output: output.join("\n"),
        },
    );
    let completeness = any::<[u32; 6]>().prop_map(|n| Completeness {
        stacks: n[0] as usize,
        zero_object_stacks: n[1] as usize,
        truncated_stacks: n[2] as usize,
        addresses: n[3] as usize,
        without_debug_info: n[4] as usize,
        unresolved: n[5] as usize,
    });
    let compared = option::of((any::<u64>(), any::<u64>()))
        .prop_map(|n| n.map(|(before, after)| Compared { before, after }));
    (
        (vec(words(), 10), option::of(words()), vec(words(), 0..4)),
        (
            proptest::sample::select(Verdict::ALL.to_vec()),
            any::<bool>(),
            vec(setting, 0..3),
            vec(rung, 0..4),
            end,
        ),
        (
            1..1_000_000_u64,
            any::<bool>(),
            option::of(rate()),
            option::of((any::<u64>(), any::<u64>())),
            vec(any_finding(), 0..9),
        ),
        (
            vec(check, 0..3),
            completeness,
            option::of(failure),
            vec(words(), 0..14),
        ),
        (compared, vec(growth, 0..9), any::<u64>()),
    )
        .prop_map(
            |(
                (words, commit, scenarios),
                (verdict, measured, builder, rungs, end),
                (iterations, coarsened, visible, rarest, findings),
                (checks, completeness, failure, notes),
                (compared, growth, sample_interval),
            )| {
                let word = |index: usize| words[index].clone();
                Report {
                    run: Run {
                        id: word(0),
                        commit,
                        package: word(1),
                        target: word(2),
                        scenarios,
                        plimsoll: word(3),
                        files: word(4),
                        baseline: word(5),
                    },
                    scenario: word(6),
                    verdict,
                    measured: measured.then(|| Measured {
                        target: word(7),
                        profile: word(8),
                        toolchain: word(9),
                        jemalloc: word(0),
                        sample_interval,
                        unwinder: word(1),
                    }),
                    builder,
                    rungs,
                    end,
                    threshold: Threshold {
                        iterations,
                        coarsened,
                    },
                    visible,
                    rarest: rarest.map(|(bytes, iterations)| Rarest { bytes, iterations }),
                    findings,
                    checks,
                    completeness,
                    failure,
                    notes,
                    compared,
                    growth,
                }
            },
        )
}
