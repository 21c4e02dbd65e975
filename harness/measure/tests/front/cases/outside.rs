//! Memory that jemalloc does not manage, and mapped files.

use std::collections::BTreeMap;

use plimsoll_core::Resource::Mappings;

use super::*;

/// Pages that are mapped, alone and in one reservation; and glibc's own allocator.
pub(super) fn memory_outside_the_allocator_is_found_by_its_rate() {
    let project = Project::new("outside");
    let page = 4_090.0..=4_102.0;
    let many = "MAX_ITERATIONS=40000";
    for (scenario, set, said, bytes) in [
        ("maps_pages", many, "+4 KiB", &page),
        ("maps_pages", "MAX_ITERATIONS=400", "+4 KiB", &page),
        ("grows_reserved", "", "+4 KiB", &page),
        // 112 bytes with what glibc needs for each.
        ("glibc_leak", many, "+11", &(106.0..=118.0)),
    ] {
        let said = format!("{scenario}:\n{said}\noutside the allocator per iteration");
        let report = project.fails(scenario, set, &said);
        let finding = of(&report, Outside).unwrap_or_else(|| panic!("{scenario}: {report:?}"));
        assert_eq!(report.verdict, Regressed, "{scenario}");
        assert!(
            bytes.contains(&finding.rate.bytes),
            "{scenario}: {finding:?}"
        );
        assert!(finding.rate.objects.abs() < 1e-9, "{scenario}");
        assert_eq!(report.findings.len(), 1, "{scenario}: {report:?}");
        assert!(!finding.mappings.is_empty(), "{scenario}: {finding:?}");
    }
}

/// The workload maps files until the kernel allows no more.
pub(super) fn mapped_files_are_found_by_their_number() {
    let project = Project::new("mappings");
    let said = "maps_memfd:\n+1.00 mapped files per iteration
        mappings were added: `r--s` of `memfd:ring`, 4 KiB each";
    let report = project.fails("maps_memfd", "MAX_ITERATIONS=200000", said);
    assert_eq!(report.end, LadderEnd::Mappings);
    let finding = only_finding(&report);
    assert_eq!(finding.subject, Subject::Resource(Mappings));
    assert!((finding.rate.objects - 1.0).abs() < 0.01, "{finding:?}");
}

/// jemalloc's allocator of huge pages maps memory that no statistic has.
pub(super) fn what_cannot_be_told_is_said() {
    let project = Project::new("outside-unknown");
    let report = project.passes("bounded", "MALLOC_CONF=hpa:true", "");
    assert!(report.rungs.iter().all(|rung| rung.memory.is_some()));
    assert_eq!(report.threshold.outside, None);
    let check = check(&report, "outside");
    assert_eq!(check.outcome, CheckOutcome::Unavailable);
    assert!(check.detail.contains("`hpa:true`"), "{check:?}");
}

/// Threads, pools and large buffers that come and go: nothing of it is a finding.
pub(super) fn what_keeps_nothing_is_green() {
    let project = Project::new("healthy");
    let mut command = project.leaks(&[], "MAX_ITERATIONS=2048 BUDGET=6s");
    let run = Run::of(command.env(PROGRAM, "healthy"));
    let mut verdicts = BTreeMap::new();
    for entry in fs::read_dir(project.file("", "")).unwrap() {
        let path = entry.unwrap().path().join("report.json");
        if let Ok(bytes) = fs::read(path) {
            let report = json::parse(&bytes).unwrap();
            verdicts.insert(report.scenario, (report.verdict, report.end));
        }
    }
    let (scenarios, red) = (verdicts.len(), run.status != Some(0));
    assert!(!red && scenarios >= 11, "{}\n{verdicts:#?}", run.text);
}
