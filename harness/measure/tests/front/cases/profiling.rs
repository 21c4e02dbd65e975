//! How the front profiles: exactly where it can, sampled where it cannot.

use std::time::Instant;

use plimsoll_core::birth;
use plimsoll_core::dump::HeapDump;
use plimsoll_core::judge::Verdict;
use plimsoll_core::ladder;
use plimsoll_core::report::{LadderEnd, Report};

use super::Project;

fn interval(report: &Report) -> u64 {
    report.measured.as_ref().unwrap().sample_interval
}

pub(super) fn a_sampled_leak_is_found_with_its_error() {
    let project = Project::new("sampled_leak");
    let variables = [
        ("PLIMSOLL_SAMPLE_INTERVAL", "512"),
        ("PLIMSOLL_BUDGET", "2s"),
    ];
    project
        .run_with(&["--exact", "leak"], &variables)
        .fails_with(&["1 stack keeps growing", "sampled every 512 B", " B ± "]);
    let report = project.report("leak");
    assert_eq!(
        (report.verdict, interval(&report)),
        (Verdict::Regressed, 512)
    );
    let [finding] = report.findings.as_slice() else {
        panic!("{:?}", report.findings);
    };
    // An object of 40 bytes in every iteration, which jemalloc rounds up to 48. The
    // error holds 2.5 deviations; six times that is no chance.
    let (rate, error) = (finding.rate, finding.error);
    assert!(error.bytes > 0.0 && error.bytes < 10.0, "{finding:?}");
    assert!((rate.bytes - 48.0).abs() < 6.0 * error.bytes, "{finding:?}");
    assert!(
        (rate.objects - 1.0).abs() < 6.0 * error.objects,
        "{finding:?}"
    );
}

pub(super) fn what_is_sampled_and_does_not_grow_is_within() {
    let project = Project::new("sampled_within");
    let variables = [
        ("PLIMSOLL_SAMPLE_INTERVAL", "512"),
        ("PLIMSOLL_THRESHOLD", "10"),
        ("PLIMSOLL_BUDGET", "60s"),
        ("PLIMSOLL_VERBOSE", "1"),
    ];
    let run = project.run_with(&["--exact", "bounded"], &variables);
    assert!(run.passed, "{}", run.text);
    run.has(&["would have seen", "of 512 B or more"]);
    let report = project.report("bounded");
    assert_eq!((report.verdict, interval(&report)), (Verdict::Within, 512));
    assert!(report.visible.is_some() && report.rarest.is_some());
}

pub(super) fn what_is_too_much_for_memory_is_sampled() {
    let project = Project::new("sampled_for_memory");
    let variables = [
        ("PLIMSOLL_MEMORY_LIMIT", "128MiB"),
        ("PLIMSOLL_BUDGET", "3s"),
    ];
    project
        .run_with(&["--exact", "leaks_beside_much"], &variables)
        .fails_with(&["leaks_beside_much", "more than the 128 MiB of memory"]);
    let report = project.report("leaks_beside_much");
    assert_eq!(report.verdict, Verdict::Regressed);
    assert!(interval(&report) >= 512, "{:?}", report.measured);
    let run = project.run_with(&["--exact", "holds_much"], &variables);
    let report = project.report("holds_much");
    // On a slow machine three seconds may be too few to say so; never is it a leak.
    assert!(report.verdict <= Verdict::Inconclusive, "{}", run.text);
    assert!(interval(&report) >= 512, "{:?}", report.measured);
}

pub(super) fn an_interval_that_was_asked_for_stays() {
    let project = Project::new("fixed_interval");
    let variables = [
        ("PLIMSOLL_MEMORY_LIMIT", "128MiB"),
        ("PLIMSOLL_SAMPLE_INTERVAL", "1"),
    ];
    project
        .run_with(&["--exact", "holds_much"], &variables)
        .fails_with(&["used more than its 128 MiB of memory"]);
    assert_eq!(interval(&project.report("holds_much")), 1);
}

pub(super) fn what_is_too_slow_to_profile_exactly_is_sampled() {
    let project = Project::new("sampled_for_time");
    let unprofiled = [
        ("PLIMSOLL_ISOLATION", "off"),
        ("PLIMSOLL_MAX_ITERATIONS", "100"),
        ("PLIMSOLL_BUDGET", "1m"),
    ];
    // One iteration tells the front how slow a profile is. On a machine that does other
    // things meanwhile it may be told wrong, but not every time.
    let is_sampled = (0..5).any(|_| {
        let started = Instant::now();
        let run = project.run_with(&["--exact", "allocates_much"], &unprofiled);
        assert!(run.passed, "{}", run.text);
        // Of this machine: without a profile a ladder of 160 iterations takes a quarter
        // of it, exactly profiled several budgets.
        let budget = format!("{}ms", 6 * started.elapsed().as_millis());
        let variables = [("PLIMSOLL_BUDGET", budget.as_str())];
        let run = project.run_with(&["--exact", "allocates_much"], &variables);
        let report = project.report("allocates_much");
        let is_sampled = interval(&report) >= 512;
        if is_sampled {
            run.fails_with(&[
                "an exact profile takes",
                "160 iterations of an exact profile",
            ]);
            assert_eq!(report.verdict, Verdict::Inconclusive);
        }
        is_sampled
    });
    assert!(is_sampled);
}

pub(super) fn a_budget_that_is_too_short_by_half_is_overrun() {
    let project = Project::new("overtime");
    let short_of = |budget: &str, spend: &str| {
        let variables = [
            ("PLIMSOLL_BUDGET", budget),
            ("PLIMSOLL_SPEND_BUDGET", spend),
        ];
        project.run_with(&["--exact", "is_slow"], &variables)
    };
    // 160 iterations take 0.8 s and what a machine adds to every sleep, now more and now
    // less; but not every time.
    let is_overrun = ["600ms", "900ms", "1500ms", "3s", "6s"]
        .iter()
        .any(|budget| {
            let run = short_of(budget, "false");
            let overrun = format!("within the budget of {budget}, so the ladder went on until ");
            let report = project.report("is_slow");
            let is_overrun = report.notes.iter().any(|note| note.contains(&overrun));
            is_overrun && run.passed && report.verdict == Verdict::Within
        });
    assert!(is_overrun);
    assert!(!short_of("300ms", "true").passed);
    let report = project.report("is_slow");
    assert_eq!(
        (report.verdict, report.end),
        (Verdict::Inconclusive, LadderEnd::Budget)
    );
}

pub(super) fn a_threshold_out_of_reach_is_not_waited_for() {
    let project = Project::new("out_of_reach");
    let variables = [("PLIMSOLL_THRESHOLD", "100000"), ("PLIMSOLL_BUDGET", "30s")];
    project
        .run_with(&["--exact", "is_slow"], &variables)
        .fails_with(&[
            "was not spent",
            "1,600,000 iterations",
            "a budget of about ",
            "h would do",
        ]);
    let report = project.report("is_slow");
    assert_eq!(
        (report.verdict, report.end),
        (Verdict::Inconclusive, LadderEnd::OutOfReach)
    );
    assert!(report.rungs.len() < 4, "{:?}", report.rungs);
    let variables = [
        ("PLIMSOLL_THRESHOLD", "100000"),
        ("PLIMSOLL_BUDGET", "500ms"),
        ("PLIMSOLL_SPEND_BUDGET", "true"),
    ];
    project.run_with(&["--exact", "is_slow"], &variables);
    let report = project.report("is_slow");
    assert_eq!(
        (report.verdict, report.end),
        (Verdict::Inconclusive, LadderEnd::Budget)
    );
}

pub(super) fn threads_that_end_are_not_kept() {
    // jemalloc would list every thread that ever was, and the dumps grow with them.
    let project = Project::new("ended_threads");
    let variables = [
        ("PLIMSOLL_BUDGET", "60s"),
        ("PLIMSOLL_KEEP_RUNGS", "1"),
        ("PLIMSOLL_MAX_ITERATIONS", "512"),
    ];
    project.run_with(&["--exact", "joins"], &variables);
    let report = project.report("joins");
    let last = report.rungs.last().unwrap();
    assert_eq!(last.iterations, 512);
    let dump = plimsoll_core::layout::rung_file(&project.folder("joins"), 512);
    let dump = std::fs::read_to_string(dump).unwrap();
    let head = dump.lines().take_while(|line| !line.starts_with('@'));
    assert!(head.count() < 32, "{}", &dump[..2_000.min(dump.len())]);
}

/// Whether a run is broken because threads ended before a sample. By chance it may not be:
/// a process has its own first interval, and with one that is short enough each thread is
/// sampled, so the leak is found.
fn misses_threads(scenario: &str, advice: &str, variables: &[(&str, &str)]) -> bool {
    let project = Project::new(&format!("misses_{scenario}"));
    let run = project.run_with(&["--exact", scenario], variables);
    let report = project.report(scenario);
    let coverage = report.checks.iter().find(|check| check.name == "coverage");
    let detail = &coverage.unwrap().detail;
    let is_broken = report.verdict == Verdict::Broken;
    assert!(is_broken || !run.passed, "{}", run.text);
    assert!(interval(&report) >= 512, "{}", run.text);
    if is_broken {
        for part in ["ends before its first sample", advice] {
            assert!(detail.contains(part), "no `{part}` in {detail}");
        }
    }
    is_broken
}

pub(super) fn threads_that_end_before_a_sample_are_told() {
    let scenario = "short_threads";
    let project = Project::new(scenario);
    project.run_with(&["--exact", scenario], &[("PLIMSOLL_BUDGET", "3s")]);
    let report = project.report(scenario);
    assert_eq!((report.verdict, interval(&report)), (Verdict::Regressed, 1));
    let [finding] = report.findings.as_slice() else {
        panic!("{:?}", report.findings);
    };
    assert!((finding.rate.objects - 3.0).abs() < 1e-9, "{finding:?}");

    let variables = [
        ("PLIMSOLL_SAMPLE_INTERVAL", "4096"),
        ("PLIMSOLL_MAX_ITERATIONS", "16384"),
        ("PLIMSOLL_BUDGET", "60s"),
    ];
    assert!((0..5).any(|_| misses_threads(scenario, "`sample-interval = 1`", &variables)));
    // An exact profile of it takes more memory than there is.
    let variables = [
        ("PLIMSOLL_MEMORY_LIMIT", "128MiB"),
        ("PLIMSOLL_MAX_ITERATIONS", "16384"),
        ("PLIMSOLL_BUDGET", "60s"),
    ];
    let scenario = "short_threads_beside_much";
    assert!((0..10).any(|_| misses_threads(scenario, "raise `memory-limit`", &variables)));
}

/// On a machine whose pace changes, what comes with time is no line over iterations: that is
/// no leak, and no clock either.
pub(super) fn a_clock_is_told_from_a_leak() {
    let grows_with_time = |scenario: &str| {
        let project = Project::new(&format!("clock_{scenario}"));
        let variables = [("PLIMSOLL_BUDGET", "1500ms")];
        let run = project.run_with(&["--exact", scenario], &variables);
        let report = project.report(scenario);
        let told = "grows with time, not with iterations";
        let notes = report.notes.iter().filter(|note| note.contains(told));
        let is_told = notes.count() > 0;
        assert!(
            !is_told || report.verdict == Verdict::Regressed,
            "{}",
            run.text
        );
        (report.verdict == Verdict::Regressed).then_some(is_told)
    };
    let clock = (0..5).find_map(|_| grows_with_time("by_the_clock"));
    assert_eq!(clock, Some(true));
    assert_eq!(grows_with_time("leak"), Some(false));
}

pub(super) fn both_unwinders_tell_when_objects_were_born() {
    let project = Project::new("births");
    // Of the first hundred: those until the first rung, those from there to the second...
    let mut until = 0;
    let expected: Vec<u64> = (0..)
        .map(|k| {
            let before = std::mem::replace(&mut until, ladder::rung(k).min(100));
            until - before
        })
        .take_while(|born| *born > 0)
        .collect();
    for unwinder in ["plimsoll", "libgcc", "compare"] {
        let path = project.root.join(unwinder);
        let variables = [
            ("PLIMSOLL_UNWINDER", unwinder),
            ("PLIMSOLL_TEST_DUMP", path.to_str().unwrap()),
            ("PLIMSOLL_MAX_ITERATIONS", "128"),
            ("PLIMSOLL_BUDGET", "60s"),
            ("PLIMSOLL_KEEP_RUNGS", "1"),
        ];
        project.run_with(&["--exact", "keeps_deep_down"], &variables);
        let report = project.report("keeps_deep_down");
        assert_eq!(report.measured.as_ref().unwrap().unwinder, unwinder);
        assert!(report.verdict < Verdict::Failed, "{report:?}");
        assert_eq!(report.completeness.truncated_stacks, 1);

        let dump = HeapDump::parse(&std::fs::read(&path).unwrap()).unwrap();
        let mut found = vec![0; expected.len()];
        for record in dump.records() {
            let (stack, generation) = birth::split(record.stack);
            // As many frames as `prof_bt_max` is by default, with the birth.
            if stack.len() >= 127 {
                assert_eq!(stack.len(), 127, "{unwinder}");
                found[generation.unwrap()] += record.counts.inuse.objects;
            }
        }
        assert_eq!(found, expected, "{unwinder}");
        // Nothing of the harness is taken for what allocates.
        let leaf = &report.findings[0].frames[0].function;
        assert!(
            leaf.contains("keeps_deep_down::deeper"),
            "{unwinder}: {leaf}"
        );

        // What is left for others is as jemalloc writes it.
        let folder = project.folder("keeps_deep_down");
        let rung =
            |rung: usize| plimsoll_core::layout::rung_file(&folder, report.rungs[rung].iterations);
        let after = report.rungs.len() - 1;
        for file in [
            folder.join("before.heap"),
            folder.join("after.heap"),
            rung(0),
            rung(after),
        ] {
            let dump = HeapDump::parse(&std::fs::read(&file).unwrap()).unwrap();
            assert!(
                !dump.has_births() && dump.maps().is_some(),
                "{}",
                file.display()
            );
            let live = dump.inuse();
            assert_eq!(dump.totals().unwrap().inuse, live, "{}", file.display());
        }
    }
}
