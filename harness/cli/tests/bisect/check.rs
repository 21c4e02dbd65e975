//! `plimsoll check`: the working tree against another revision.

use std::fs;

use crate::fake::Repository;

fn check(repository: &Repository, args: &[&str]) -> (i32, String) {
    let args = [&["check", "--overlay", "never"], args].concat();
    let ran = repository.plimsoll(&args);
    (
        ran.status.unwrap_or(-1),
        format!("{}{}", ran.stdout, ran.stderr),
    )
}

const LOGS: &str = "\n  logs: target/plimsoll-bisect/logs\n";

/// A branch of one commit on a main branch of one.
fn branch(main: &str, own: &str) -> Repository {
    let repository = Repository::history(&[main]);
    repository.git_line("checkout --quiet -b feature");
    repository.commit(own, "own");
    repository
}

#[track_caller]
fn says(repository: &Repository, args: &[&str], status: i32, parts: &[&str]) -> String {
    let before = repository.everything();
    let (found, text) = check(repository, args);
    assert_eq!(found, status, "{text}");
    for part in parts {
        assert!(text.contains(part), "expected {part:?} in: {text}");
    }
    assert_eq!(repository.everything(), before);
    text
}

#[test]
fn a_branch_that_leaks() {
    let repository = branch("good", "bad");
    let text = says(
        &repository,
        &[],
        1,
        &[
            "churn: 1 stack grows faster than at the base on main (",
            "new     …;store;put",
            "before 0 B, 0.00 objects, now +80 B, 1.00 objects",
            "flame graph: target/plimsoll/check/churn.svg",
        ],
    );
    let svg = fs::read_to_string(repository.top().join("target/plimsoll/check/churn.svg"));
    assert!(svg.unwrap().contains("put"), "{text}");
    let (status, text) = check(&repository, &["--json"]);
    assert_eq!(status, 1, "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], 1);
    let scenario = &value["scenarios"][0];
    assert_eq!(scenario["result"], "regressed");
    assert_eq!(scenario["differences"][0]["kind"], "new");
    assert_eq!(scenario["differences"][0]["after"]["bytes"], 80.0);
}

#[test]
fn what_differs_is_shown() {
    for (base, own, status, parts) in [
        (
            "half",
            "bad",
            1,
            &["grew    …;store;put", "before +8 B"][..],
        ),
        (
            "bad",
            "half",
            0,
            &["nothing grows faster", "shrank  …;store;put"],
        ),
        ("bad", "good", 0, &["gone    …;store;put", "now 0 B"]),
        (
            "bad",
            "other",
            1,
            &["new     …;log;push", "gone    …;store;put"],
        ),
        ("bad", "bad", 0, &["nothing grows faster"]),
        (
            "unbuildable",
            "good",
            3,
            &["churn: cannot be compared, at ", "cannot find value", LOGS],
        ),
        (
            "broken",
            "good",
            3,
            &["churn: cannot be compared, at ", "canary", LOGS],
        ),
        ("good", "broken", 3, &["in the working tree: ", "canary"]),
        (
            "good",
            "unbuildable",
            3,
            &["the working tree cannot be measured", LOGS],
        ),
        (
            "good",
            "no-scenario",
            3,
            &["the working tree's test has no scenarios"],
        ),
    ] {
        let text = says(&branch(base, own), &[], status, parts);
        assert!(base != own || !text.contains("flame graph"), "{text}");
    }
}

#[test]
fn the_working_tree_as_it_is() {
    let repository = Repository::history(&["good"]);
    let (status, text) = check(&repository, &[]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("is the commit that is checked out"), "{text}");
    repository.write("state", "bad\n");
    says(&repository, &[], 1, &["new     …;store;put"]);
    repository.write("state", "half\n");
    says(&repository, &[], 1, &["now +8 B"]);
}

#[test]
fn a_new_file_counts_whatever_git_shows() {
    let repository = Repository::history(&["good"]);
    repository.git_line("config status.showUntrackedFiles no");
    repository.write("sub/state", "bad\n");
    says(&repository, &[], 1, &["new     …;store;put"]);
}

/// Everything is built from one folder into one other, so that dependencies are built once:
/// of two copies of a workspace that cargo builds into one folder, it takes one for the other.
#[test]
fn the_working_tree_is_built_where_the_revision_is() {
    let together = |repository: &Repository| {
        let built = repository.built_from();
        assert_eq!(built.len(), 1, "{built:?}");
        assert!(built.values().all(|from| from.len() == 1), "{built:?}");
    };
    let repository = Repository::history(&["good"]);
    repository.write("state", "bad\n");
    says(&repository, &[], 1, &["new     …;store;put"]);
    together(&repository);
    // Where git's own bisection has a patched commit checked out.
    let repository = Repository::history(&["good", "good", "bad"]);
    repository.git_line("bisect start HEAD HEAD~2");
    repository.write("state", "bad\n");
    let args = ["bisect-run", "--scenario", "churn", "--overlay", "never"];
    let ran = repository.plimsoll(&args);
    assert_eq!(ran.status, Some(1), "{ran}");
    assert!(ran.stdout.starts_with("bad   the working tree"), "{ran}");
    together(&repository);
}

#[test]
fn every_kind_of_change_counts_and_nothing_that_is_built_or_ignored() {
    let repository = Repository::history(&["good"]);
    // What cargo builds is in no snapshot, though nobody told git to ignore it.
    repository.write(".gitignore", "cache\n");
    repository.git_line("commit --quiet --all --message ignored");
    repository.write("target/debug/large", "built");
    repository.write("cache/kept", "ignored");
    let (status, text) = check(&repository, &["--baseline-rev", "HEAD"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("is the commit that is checked out"), "{text}");
    let grows = |repository: &Repository| {
        says(
            repository,
            &["--baseline-rev", "HEAD"],
            1,
            &["new     …;store;put"],
        );
    };
    // Staged, and changed again; a new file with any name; a file that is gone.
    repository.write("state", "good\n\n");
    repository.git_line("add state");
    repository.write("state", "bad\n");
    repository.write("tests/a \"new\"\nfile.rs", "");
    fs::remove_file(repository.top().join("src/edited.rs")).unwrap();
    grows(&repository);
    let snapshot = repository.git_line("rev-list --all --objects");
    assert!(!snapshot.contains("large"), "{snapshot}");
    // The same content was measured before.
    let builds = repository.builds();
    grows(&repository);
    assert_eq!(repository.builds(), builds + 1);
}

#[test]
fn what_no_commit_of_a_submodule_has_is_not_passed_over() {
    let repository = Repository::history(&["good"]);
    let inner = Repository::history(&["good"]);
    let path = inner.top().to_string_lossy().into_owned();
    repository.git(&["submodule", "--quiet", "add", &path, "inner"]);
    repository.git_line("commit --quiet --all --message inner");
    repository.write("inner/state", "bad\n");
    let (status, text) = check(&repository, &["--baseline-rev", "HEAD~1"]);
    assert_eq!(status, 2, "{text}");
    let expected = "expected submodules without uncommitted changes, found changes in inner";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn what_was_measured_of_commits_is_kept() {
    let repository = branch("good", "half");
    assert_eq!(check(&repository, &[]).0, 1);
    let builds = repository.builds();
    assert_eq!(check(&repository, &[]).0, 1);
    // The list of scenarios is asked for again, and nothing else.
    assert_eq!(repository.builds(), builds + 1);
}

#[test]
fn another_revision() {
    let repository = Repository::history(&["good", "half", "bad"]);
    says(
        &repository,
        &["--baseline-rev", "HEAD~1"],
        1,
        &["grew", "than at HEAD~1 ("],
    );
    says(
        &repository,
        &["--baseline-rev", "HEAD~2", "churn"],
        1,
        &["new"],
    );
    let refused = |args: &[&str], part: &str| {
        let (status, text) = check(&repository, args);
        assert_eq!(status, 2, "{text}");
        assert!(text.contains(part), "{text}");
    };
    refused(
        &["--baseline-rev", "nowhere"],
        "there is no commit `nowhere`",
    );
    refused(
        &["--baseline-rev", "HEAD~1", "other"],
        "expected some of: churn",
    );
}

#[test]
fn what_the_branch_brings_is_new() {
    let new = ["churn: new, there is nothing to compare it with at the base on main ("];
    // The test is there and has others; or what the scenario tests is not there yet.
    let text = says(&branch("no-scenario", "good"), &[], 0, &new);
    assert!(!text.contains("churn: cannot be compared"), "{text}");
    let repository = Repository::new();
    let test = fs::read_to_string(repository.top().join("tests/leaks.rs")).unwrap();
    repository.write("tests/leaks.rs", &test.replace("churn", "other"));
    repository.commit("unbuildable", "c0");
    repository.git_line("checkout --quiet -b feature");
    repository.write("tests/leaks.rs", &test);
    repository.commit("bad", "own");
    says(&repository, &[], 0, &new);
    let (status, text) = check(&repository, &["--json"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("\"result\": \"new\""), "{text}");
}
