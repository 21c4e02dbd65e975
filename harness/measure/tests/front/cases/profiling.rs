//! How the front profiles: exactly where it can, sampled where it cannot.

use std::fs;
use std::time::Instant;

use plimsoll_core::birth;
use plimsoll_core::dump::HeapDump;
use plimsoll_core::growth::Unit;
use plimsoll_core::judge::Verdict::{Broken, Failed, Inconclusive, Regressed, Within};
use plimsoll_core::ladder;
use plimsoll_core::layout::rung_file;
use plimsoll_core::report::{LadderEnd, Report};

use super::{Project, check, ended, only_finding};

fn interval(report: &Report) -> u64 {
    report.measured.as_ref().unwrap().sample_interval
}

pub(super) fn a_sampled_leak_is_found_with_its_error() {
    let project = Project::new("sampled_leak");
    let set = "SAMPLE_INTERVAL=512 MAX_ITERATIONS=32768";
    let said = "keeps growing by\none sample every 512 B\nB ±";
    let report = project.fails("leak", set, said);
    assert_eq!((report.verdict, interval(&report)), (Regressed, 512));
    let finding = only_finding(&report);
    // An object of 40 bytes in every iteration, which jemalloc rounds up to 48. The
    // error holds 2.5 deviations; six times that is no chance.
    let (rate, error) = (finding.rate, finding.error);
    assert!(error.bytes > 0.0 && error.bytes < 10.0, "{finding:?}");
    assert!((rate.bytes - 48.0).abs() < 6.0 * error.bytes, "{finding:?}");
    let is_one = (rate.objects - 1.0).abs() < 6.0 * error.objects;
    assert!(is_one, "{finding:?}");
}

pub(super) fn what_is_sampled_and_does_not_grow_is_within() {
    let project = Project::new("sampled_within");
    let set = "SAMPLE_INTERVAL=512 THRESHOLD=10 VERBOSE=1 MAX_ITERATIONS=40000";
    let report = project.passes("bounded", set, "would have seen\nof 512 B or more");
    assert_eq!((report.verdict, interval(&report)), (Within, 512));
    assert!(report.visible.is_some() && report.rarest.is_some());
}

pub(super) fn what_is_too_much_for_memory_is_sampled() {
    let project = Project::new("sampled_for_memory");
    let fails = |set: &str, said: &str| {
        let set = format!("MEMORY_LIMIT=128MiB {set}");
        project.fails("leaks_beside_much", &set, said)
    };
    let report = fails(
        "BUDGET=3s",
        "leaks_beside_much\nmore than the 128 MiB of memory",
    );
    assert_eq!(report.verdict, Regressed);
    assert!(interval(&report) >= 512, "{:?}", report.measured);
    // An interval that was asked for stays.
    let report = fails("SAMPLE_INTERVAL=1", "used more than its 128 MiB of memory");
    assert_eq!(interval(&report), 1);
}

pub(super) fn what_is_too_slow_to_profile_exactly_is_sampled() {
    let project = Project::new("sampled_for_time");
    let unprofiled = "ISOLATION=off MAX_ITERATIONS=100";
    // One iteration tells the front how slow a profile is. On a machine that does other things
    // meanwhile it may be told wrong, so there are several budgets, and the likeliest is first.
    let eighths_of_time = [12, 17, 8, 24, 6, 34, 4, 48, 3].repeat(3);
    let is_sampled = eighths_of_time.into_iter().any(|eighths| {
        let started = Instant::now();
        project.exact("allocates_much", unprofiled).passes("");
        // Of this machine: a ladder of 160 iterations fits into it without a profile, and not
        // with an exact one.
        let budget = eighths * started.elapsed().as_millis() / 8;
        let run = project.exact("allocates_much", &format!("BUDGET={budget}ms"));
        let report = project.report("allocates_much");
        let is_sampled = interval(&report) >= 512;
        if is_sampled {
            run.fails("an exact profile takes\n160 iterations of an exact profile");
            assert_eq!(report.verdict, Inconclusive);
        }
        is_sampled
    });
    assert!(is_sampled);
}

pub(super) fn a_budget_that_is_too_short_by_half_is_overrun() {
    let project = Project::new("overtime");
    // 160 iterations take 0.8 s and what a machine adds to every sleep, now more and now
    // less; but not every time.
    let is_overrun = ["600ms", "900ms", "1500ms", "3s", "6s", "12s", "24s"]
        .iter()
        .any(|budget| {
            let run = project.exact("is_slow", &format!("BUDGET={budget} SPEND_BUDGET=false"));
            let overrun = format!("within the budget of {budget}, so the ladder went on until ");
            let report = project.report("is_slow");
            let is_overrun = report.notes.iter().any(|note| note.contains(&overrun));
            is_overrun && run.status == Some(0) && report.verdict == Within
        });
    assert!(is_overrun);
    let report = project.fails("is_slow", "BUDGET=300ms SPEND_BUDGET=true", "");
    assert_eq!(ended(&report), (Inconclusive, LadderEnd::Budget));
}

pub(super) fn a_threshold_out_of_reach_is_not_waited_for() {
    let project = Project::new("out_of_reach");
    let said = "was not spent\n1,600,000 iterations\na budget of about\nh would do";
    let set = "THRESHOLD=100000 BUDGET=30s MAX_ITERATIONS=10000000";
    let report = project.fails("is_slow", set, said);
    assert_eq!(ended(&report), (Inconclusive, LadderEnd::OutOfReach));
    assert!(report.rungs.len() < 4, "{:?}", report.rungs);
}

pub(super) fn a_slow_beginning_is_not_the_pace() {
    let project = Project::new("slow_beginning");
    let report = project.passes("starts_slowly", "BUDGET=2s", "");
    assert_eq!((report.verdict, interval(&report)), (Within, 1));
}

pub(super) fn threads_that_end_are_not_kept() {
    // jemalloc would list every thread that ever was, and the dumps grow with them.
    let (project, scenario) = (Project::new("ended_threads"), "short_threads");
    let report = project.fails(scenario, "KEEP_RUNGS=1 MAX_ITERATIONS=512", "");
    assert_eq!(report.rungs.last().unwrap().iterations, 512);
    let dump = fs::read_to_string(rung_file(&project.file(scenario, ""), 512)).unwrap();
    let head = dump.lines().take_while(|line| !line.starts_with('@'));
    assert!(head.count() < 32, "{}", &dump[..2_000.min(dump.len())]);
}

pub(super) fn threads_that_end_before_a_sample_are_told() {
    let project = Project::new("short_threads");
    let measured = |set: &str| project.fails("short_threads", set, "");
    let report = measured("");
    assert_eq!((report.verdict, interval(&report)), (Regressed, 1));
    let finding = only_finding(&report);
    assert!((finding.rate.objects - 3.0).abs() < 1e-9, "{finding:?}");

    // By chance a run may not be broken: a process has its own first interval, and with one that is
    // short enough each thread is sampled, so the leak is found.
    let set = "SAMPLE_INTERVAL=4096 MAX_ITERATIONS=16384";
    let mut reports = (0..5).map(|_| measured(set));
    let report = reports.find(|report| report.verdict == Broken).unwrap();
    let check = check(&report, "coverage");
    let told = "ends before its first sample is in no sampled profile; set `sample-interval = 1`";
    assert!(check.detail.contains(told), "{check:?}");
}

/// On a machine whose pace changes, what comes with time may be no line over iterations. Then it is
/// no leak, and no clock either.
pub(super) fn a_clock_is_told_from_a_leak() {
    let measured = |scenario: &str, set: &str| {
        let project = Project::new(&format!("clock_{scenario}"));
        let set = format!("BUDGET=1500ms MAX_ITERATIONS=10000000 {set}");
        let run = project.exact(scenario, &set);
        (project.report(scenario), run.text)
    };
    let sampled = "SAMPLE_INTERVAL=64";
    for (scenario, set, per_second) in [
        ("by_the_clock", sampled, 100.0),
        ("by_the_clock_beside_what_goes", "", 100.0),
        ("maps_by_the_clock", "", 100.0),
        ("ticks", "", 50.0),
    ] {
        let clock = (0..8).find_map(|_| {
            let (report, text) = measured(scenario, set);
            let clock = report.findings.first()?.clock?;
            Some((clock, report, text))
        });
        let (clock, report, text) = clock.unwrap_or_else(|| panic!("{scenario}"));
        assert_eq!(report.verdict, Inconclusive, "{text}");
        let found = match report.findings[0].subject.unit() {
            Some(Unit::Bytes) => clock.per_second.bytes / f64::from(1 << 20),
            _ => clock.per_second.objects,
        };
        assert!((0.5..1.2).contains(&(found / per_second)), "{text}");
        assert!(clock.followed < 60, "{text}");
        let enough = report.enough.unwrap();
        assert_eq!((&*enough.key, &*enough.value), ("budget", "3m"));
    }
    let (report, text) = measured("leak", sampled);
    assert_eq!(report.verdict, Regressed, "{text}");
    assert!(report.findings.iter().all(|one| one.clock.is_none()));
}

pub(super) fn both_unwinders_tell_when_objects_were_born() {
    let scenario = "keeps_deep_down";
    let project = Project::new("births");
    // Of the first hundred: those until the first rung, those from there to the second...
    let mut until = 0;
    let born = (0..).map(|k| {
        let before = std::mem::replace(&mut until, ladder::rung(k).min(100));
        until - before
    });
    let expected: Vec<u64> = born.take_while(|born| *born > 0).collect();
    let parsed = |path| HeapDump::parse(&fs::read(path).unwrap()).unwrap();
    for unwinder in ["plimsoll", "libgcc", "compare"] {
        let path = project.root.join(unwinder);
        let set = format!("UNWINDER={unwinder} MAX_ITERATIONS=128 KEEP_RUNGS=1");
        let mut command = project.leaks(&["--exact", scenario], &set);
        command.env("PLIMSOLL_TEST_DUMP", &path).output().unwrap();
        let report = project.report(scenario);
        assert_eq!(report.measured.as_ref().unwrap().unwinder, unwinder);
        assert!(report.verdict < Failed, "{report:?}");
        assert_eq!(report.completeness.truncated_stacks, 1);

        let mut found = vec![0; expected.len()];
        for record in parsed(path).records() {
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
        let rung = |rung: usize| report.rungs[rung].iterations;
        let folder = project.file(scenario, "");
        for file in [
            folder.join("before.heap"),
            folder.join("after.heap"),
            rung_file(&folder, rung(0)),
            rung_file(&folder, rung(report.rungs.len() - 1)),
        ] {
            let name = file.display().to_string();
            let dump = parsed(file);
            assert!(!dump.has_births() && dump.maps().is_some(), "{name}");
            assert_eq!(dump.totals().unwrap().inuse, dump.inuse(), "{name}");
        }
    }
}
