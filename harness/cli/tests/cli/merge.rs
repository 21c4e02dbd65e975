//! `plimsoll merge`, the real binary over reports made by hand.

use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, json};

use crate::project::{Project, RATE, regressed, report, within};

/// Leaves a shard's report as its runner would.
fn leave(project: &Project, shard: &str, report: &Report) {
    let path = format!("{shard}/demo/leaks/{}/report.json", report.scenario);
    project.write(&path.replace("::", "++"), &json::to_string(report));
}

/// Two shards, a scenario each.
fn two_shards() -> Project {
    let project = Project::new();
    leave(&project, "one", &within("r1", "lru_churn"));
    let echo = regressed("r2", "http::echo", "main echo", RATE);
    leave(&project, "two", &echo);
    project
}

#[test]
fn what_is_in_no_shard_is_missed() {
    let project = two_shards();
    assert_snapshot!(project.typed("merge one --output merged.json"), @"
    --- 5
    error: 1 scenario has no result in any shard
      http::echo: it left no report in this run
      hint: name the folder of each shard separately
    ");
    // For the comment to say so.
    project.says("report merged.json", 0, &["http::echo: no result"]);
}

#[test]
fn a_folder_with_all_shards_is_not_a_shard() {
    let project = two_shards();
    leave(&project, "all/one", &within("r1", "lru_churn"));
    leave(&project, "all/two", &within("r2", "http::echo"));
    let says = "1 report of other runs left out";
    project.says("merge all", 5, &[says, "of each shard separately"]);
}

#[test]
fn a_shard_without_tests() {
    let project = two_shards();
    project.write("three/readme", "");
    let merge = "merge one three two --output merged.json";
    assert_snapshot!(project.said(&[merge, "merge three"]), @"
    > merge one three two --output merged.json
    --- 0
    note: three: no reports, as of a shard without tests
    > merge three
    --- 5
    note: three: no reports, as of a shard without tests
    error: none of them contains a report
      hint: name the folder target/plimsoll of each shard
    ");
    let whole = ["2 scenarios: 1 within, 1 regressed (runs r1, r2)"];
    project.says("report merged.json", 0, &whole);
    project.says("merge four", 5, &["four: there is no such file or folder"]);
}

#[test]
fn of_two_results_the_worse_counts() {
    let project = two_shards();
    leave(&project, "two", &report("r2", "lru_churn", Verdict::Broken));
    assert_snapshot!(project.typed("merge two one --output merged.json"), @"
    --- 0
    warning: lru_churn (demo, leaks) is within in one and broken in two: the worse counts
    ");
    project.says("report merged.json", 0, &["1 broken"]);
}

#[test]
fn shards_are_of_one_commit_and_one_build() {
    let project = two_shards();
    let mut new = within("r2", "http::echo");
    new.run.scenarios.push("third".to_owned());
    leave(&project, "two", &new);
    assert_snapshot!(project.typed("merge one two"), @"
    --- 5
    error: the test target leaks of demo has other scenarios in one than in two
      third is in two alone
      hint: join the shards of one build
    ");
    for (shard, mut report, commit) in [
        ("one", within("r1", "lru_churn"), "aaaa"),
        ("two", within("r2", "http::echo"), "bbbb"),
    ] {
        report.run.commit = Some(commit.to_owned());
        leave(&project, shard, &report);
    }
    assert_snapshot!(project.typed("merge one two"), @"
    --- 5
    error: the reports are of different commits
      aaaa: one
      bbbb: two
      hint: join the shards of one run
    ");
}

#[test]
fn joined_reports_are_joined_again() {
    let project = two_shards();
    for shard in ["one", "two"] {
        let report = format!("report {shard} --format json --output {shard}.json");
        project.ok(&report);
    }
    let folders = project.typed("merge one two");
    let files = project.ok("merge one.json two.json");
    assert_eq!(files.stdout, folders.stdout);
    // And with what they are of: nothing was measured twice.
    let both = project.typed("merge one.json two one");
    assert_eq!((both.stdout, both.stderr.as_str()), (folders.stdout, ""));
}
