//! `plimsoll check`: the working tree against another revision.

use std::fs;

use crate::fake::{HELD, Repository, row};
use crate::project::Ran;

/// What `plimsoll check` says with these options.
fn check(repository: &Repository, options: &str) -> Ran {
    repository.plimsoll(&format!("check --overlay never {options}"))
}

/// A branch of one commit on a main branch of one.
pub(crate) fn branch(main: &str, own: &str) -> Repository {
    let repository = Repository::history(main);
    repository.git("checkout --quiet -b feature");
    repository.commit(own, "own");
    repository
}

#[test]
fn a_branch_that_leaks() {
    let repository = branch("good", "bad");
    let parts = [
        "churn: 1 stack grows faster than at the base on main (",
        "new     …;store;put",
        "before 0 B, 0.00 objects, now +80 B, 1.00 objects",
        HELD,
        "flame graph: target/plimsoll/check/churn.svg",
        "for `plimsoll report --base-report`: target/plimsoll/check/base.json\n",
    ];
    let before = repository.everything();
    check(&repository, "").has(1, &parts);
    assert_eq!(repository.everything(), before);
    let folder = repository.top().join("target/plimsoll/check");
    let read = |name| fs::read_to_string(folder.join(name)).unwrap();
    let of_base: serde_json::Value = serde_json::from_str(&read("base.json")).unwrap();
    let scenario = ["scenario", "verdict"].map(|key| &of_base["scenarios"][0][key]);
    assert_eq!(scenario, ["churn", "within"]);
    assert!(read("churn.svg").contains("put"));
    let value = check(&repository, "--json").has(1, &[]).json();
    assert_eq!(value["version"], 1);
    let scenario = &value["scenarios"][0];
    assert_eq!(scenario["result"], "regressed");
    assert_eq!(scenario["differences"][0]["kind"], "new");
    assert_eq!(scenario["differences"][0]["after"]["bytes"], 80.0);
    assert_eq!(scenario["differences"][0]["holder"], HELD);
}

#[test]
fn what_differs_is_shown() {
    for line in [
        "bad half 0 | nothing grows faster | shrank  …;store;put",
        "good little 3 | churn: unsure whether a stack grows faster | perhaps …;store;put | \
         hint: measure for longer",
        "bad other 1 | new     …;log;push | gone    …;store;put",
        "unbuildable good 3 | churn: cannot be compared, at  | cannot find value | LOGS",
        "good broken 3 | in the working tree:  | canary",
        "good unbuildable 3 | the working tree cannot be measured | LOGS",
        "good no-scenario 3 | the working tree's test has no scenarios",
    ] {
        let line = line.replace("LOGS", "\n  logs: target/plimsoll-bisect/logs\n");
        let ([base, own], status, parts) = row(&line);
        check(&branch(base, own), "").has(status, &parts);
    }
    let same = check(&branch("bad", "bad"), "").has(0, &["nothing grows faster"]);
    same.lacks(&["flame graph"]);
}

#[test]
fn the_working_tree_as_it_is() {
    let repository = Repository::history("good");
    for (state, says) in [("bad\n", "new     …;store;put"), ("half\n", "now +8 B")] {
        repository.write("state", state);
        check(&repository, "").has(1, &[says]);
    }
    // A new file counts whatever git shows.
    repository.write("state", "good\n");
    repository.git("config status.showUntrackedFiles no");
    repository.write("sub/state", "bad\n");
    check(&repository, "").has(1, &["new     …;store;put"]);
}

/// Everything is built from one folder into one other, so that dependencies are built once:
/// of two copies of a workspace that cargo builds into one folder, it takes one for the other.
#[test]
fn the_working_tree_is_built_where_the_revision_is() {
    let together = |repository: &Repository| {
        let built = repository.built();
        assert!(built.iter().all(|one| *one == built[0]), "{built:?}");
    };
    let repository = Repository::history("good");
    repository.write("state", "bad\n");
    check(&repository, "").has(1, &["new     …;store;put"]);
    together(&repository);
    // Where git's own bisection has a patched commit checked out.
    let repository = Repository::history("good good bad");
    repository.git("bisect start HEAD HEAD~2");
    repository.write("state", "bad\n");
    let ran = repository.ask("bisect-run").has(1, &[]);
    assert!(ran.stdout.starts_with("bad   the working tree"), "{ran}");
    together(&repository);
}

#[test]
fn every_kind_of_change_counts_and_nothing_that_is_built_or_ignored() {
    let repository = Repository::history("good");
    // What cargo builds is in no snapshot, though nobody told git to ignore it.
    repository.write(".gitignore", "cache\n");
    repository.git("commit --quiet --all --message ignored");
    repository.write("target/debug/large", "built");
    repository.write("cache/kept", "ignored");
    let head = "--baseline-rev HEAD";
    check(&repository, head).has(2, &["is the commit that is checked out"]);
    // Staged, and changed again; a new file with any name; a file that is gone.
    repository.write("state", "good\n\n");
    repository.git("add state");
    repository.write("state", "bad\n");
    repository.write("tests/a \"new\"\nfile.rs", "");
    fs::remove_file(repository.top().join("src/edited.rs")).unwrap();
    let before = repository.everything();
    check(&repository, head).has(1, &["new     …;store;put"]);
    assert_eq!(repository.everything(), before);
    let snapshot = repository.git("rev-list --all --objects");
    assert!(!snapshot.contains("large"), "{snapshot}");
    // The same content was measured before; only the list of scenarios is asked for again.
    let builds = repository.builds();
    check(&repository, head).has(1, &["new     …;store;put"]);
    assert_eq!(repository.builds(), builds + 1);
}

#[test]
fn what_no_commit_of_a_submodule_has_is_not_passed_over() {
    let repository = Repository::history("good");
    let inner = Repository::history("good");
    let add = format!("submodule --quiet add {} inner", inner.top().display());
    repository.git(&add);
    repository.git("commit --quiet --all --message inner");
    repository.write("inner/state", "bad\n");
    let expected = "expected submodules without uncommitted changes, found changes in inner";
    check(&repository, "--baseline-rev HEAD~1").has(2, &[expected]);
}

#[test]
fn another_revision() {
    let repository = Repository::history("good half bad");
    let check = |options: &str| check(&repository, &format!("--baseline-rev {options}"));
    let grew = ["grew    …;store;put", "than at HEAD~1 (", "before +8 B"];
    check("HEAD~1").has(1, &grew);
    check("HEAD~2 churn").has(1, &["new"]);
    check("nowhere").has(2, &["there is no commit `nowhere`"]);
    check("HEAD~1 other").has(2, &["expected some of: churn"]);
}

#[test]
fn what_the_branch_brings_is_new() {
    let new = ["churn: new, there is nothing to compare it with at the base on main ("];
    // The test is there and has others; or what the scenario tests is not there yet.
    let said = check(&branch("no-scenario", "good"), "").has(0, &new);
    said.lacks(&["churn: cannot be compared"]);
    let repository = Repository::new();
    repository.write("tests/leaks.rs", "// other\n");
    repository.commit("unbuildable", "c0");
    repository.git("checkout --quiet -b feature");
    repository.write("tests/leaks.rs", "// churn\n");
    repository.commit("bad", "own");
    check(&repository, "").has(0, &new);
    check(&repository, "--json").has(0, &["\"result\": \"new\""]);
}
