//! `plimsoll merge`, the real binary over reports made by hand.

mod project;

use insta::assert_snapshot;
use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, json};

use project::{Project, Ran, regressed, report};

const RATE: Rate = Rate {
    objects: 1.0,
    bytes: 96.0,
};

/// Leaves a shard's report as its runner would.
fn leave(project: &Project, shard: &str, report: &Report) {
    let path = format!("{shard}/demo/leaks/{}/report.json", report.scenario);
    project.write(&path.replace("::", "++"), &json::to_string(report));
}

/// Two shards, a scenario each.
fn two_shards() -> Project {
    let project = Project::new();
    leave(&project, "one", &report("r1", "lru_churn", Verdict::Within));
    let echo = regressed("r2", "http::echo", "main echo", RATE);
    leave(&project, "two", &echo);
    project
}

/// What the next command makes of it.
fn shown(project: &Project) -> Ran {
    project.plimsoll(&["report", "--format", "text", "merged.json"])
}

#[test]
fn shards_make_a_whole() {
    let project = two_shards();
    assert_snapshot!(project.plimsoll(&["merge", "one", "two", "--output", "merged.json"]), @"--- 0");
    let text = shown(&project).to_string();
    assert!(
        text.contains("2 scenarios: 1 within, 1 regressed (runs r1, r2)"),
        "{text}"
    );
}

#[test]
fn the_order_is_nothing() {
    let project = two_shards();
    let one = project.plimsoll(&["merge", "one", "two"]);
    let other = project.plimsoll(&["merge", "two", "one"]);
    assert_eq!(one.status, Some(0), "{one}");
    assert_eq!(one.stdout, other.stdout);
}

#[test]
fn what_is_in_no_shard_is_missed() {
    let project = two_shards();
    assert_snapshot!(project.plimsoll(&["merge", "one", "--output", "merged.json"]), @"
    --- 5
    error: 1 scenario has no result in any shard
      http::echo: it left no report in this run
      hint: name the folder of each shard separately
    ");
    // For the comment to say so.
    let text = shown(&project).to_string();
    assert!(text.contains("http::echo: no result"), "{text}");
}

#[test]
fn a_folder_with_all_shards_is_not_a_shard() {
    let project = two_shards();
    project.write("all/readme", "");
    leave(
        &project,
        "all/one",
        &report("r1", "lru_churn", Verdict::Within),
    );
    leave(
        &project,
        "all/two",
        &report("r2", "http::echo", Verdict::Within),
    );
    let ran = project.plimsoll(&["merge", "all", "--output", "merged.json"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(
        ran.stderr.contains("1 report of other runs left out"),
        "{ran}"
    );
    assert!(ran.stderr.contains("of each shard separately"), "{ran}");
}

#[test]
fn a_shard_without_tests() {
    let project = two_shards();
    project.write("three/readme", "");
    let merge = ["merge", "one", "three", "two", "--output", "merged.json"];
    assert_snapshot!(project.plimsoll(&merge), @"
    --- 0
    note: three: no reports, as of a shard without tests
    ");
    assert_snapshot!(project.plimsoll(&["merge", "three"]), @"
    --- 5
    note: three: no reports, as of a shard without tests
    error: none of them contains a report
      hint: name the folder target/plimsoll of each shard
    ");
    let ran = project.plimsoll(&["merge", "four"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(
        ran.stderr.contains("four: there is no such file or folder"),
        "{ran}"
    );
}

#[test]
fn of_two_results_the_worse_counts() {
    let project = two_shards();
    leave(&project, "two", &report("r2", "lru_churn", Verdict::Broken));
    let ran = project.plimsoll(&["merge", "two", "one", "--output", "merged.json"]);
    assert_snapshot!(ran, @"
    --- 0
    warning: lru_churn (demo, leaks) is within in one and broken in two: the worse counts
    ");
    assert!(shown(&project).stdout.contains("1 broken"));
    // The same report twice is no conflict.
    leave(
        &project,
        "three",
        &report("r1", "lru_churn", Verdict::Within),
    );
    let ran = project.plimsoll(&["merge", "one", "three", "--output", "merged.json"]);
    assert!(!ran.stderr.contains("warning"), "{ran}");
}

#[test]
fn as_bad_as_each_other_in_any_order() {
    let project = two_shards();
    let mut other = report("r2", "lru_churn", Verdict::Within);
    other.notes.push("another".to_owned());
    leave(&project, "two", &other);
    let one = project.plimsoll(&["merge", "one", "two"]);
    let two = project.plimsoll(&["merge", "two", "one"]);
    assert!(
        one.stderr.contains("is within in one and within in two"),
        "{one}"
    );
    assert_eq!(one.stdout, two.stdout);
}

#[test]
fn shards_of_different_commits() {
    let project = two_shards();
    let mut old = report("r1", "lru_churn", Verdict::Within);
    old.run.commit = Some("aaaa".to_owned());
    leave(&project, "one", &old);
    let mut new = report("r2", "http::echo", Verdict::Within);
    new.run.commit = Some("bbbb".to_owned());
    leave(&project, "two", &new);
    assert_snapshot!(project.plimsoll(&["merge", "one", "two"]), @"
    --- 5
    error: the reports are of different commits
      aaaa: one
      bbbb: two
      hint: join the shards of one run
    ");
}

#[test]
fn shards_of_different_builds() {
    let project = two_shards();
    let mut new = report("r2", "http::echo", Verdict::Within);
    new.run.scenarios.push("third".to_owned());
    leave(&project, "two", &new);
    assert_snapshot!(project.plimsoll(&["merge", "one", "two"]), @"
    --- 5
    error: the test target leaks of demo has other scenarios in one than in two
      third is in two alone
      hint: join the shards of one build
    ");
}

#[test]
fn joined_reports_are_joined_again() {
    let project = two_shards();
    for shard in ["one", "two"] {
        let name = format!("{shard}.json");
        let args = ["report", shard, "--format", "json", "--output", &name];
        assert_eq!(project.plimsoll(&args).status, Some(0));
    }
    let files = project.plimsoll(&["merge", "one.json", "two.json"]);
    let folders = project.plimsoll(&["merge", "one", "two"]);
    assert_eq!(files.status, Some(0), "{files}");
    assert_eq!(files.stdout, folders.stdout);
    // And with what they are of: nothing was measured twice.
    let both = project.plimsoll(&["merge", "one.json", "two", "one"]);
    assert_eq!((both.stdout, both.stderr.as_str()), (folders.stdout, ""));
}
