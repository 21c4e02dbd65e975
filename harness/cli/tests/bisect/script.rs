//! `plimsoll bisect-run`, as git's own bisection calls it.

use std::process::Command;

use crate::fake::{ASKED, Repository, linear};
use crate::git::names;
use crate::project::Ran;

fn run(repository: &Repository) -> Ran {
    repository.ask("bisect-run")
}

#[test]
fn bisect_run_says_what_git_understands() {
    let states = "good bad other both unbuildable no-project half";
    let statuses = [0, 1, 0, 1, 125, 125, 125];
    let repository = Repository::history(&format!("good {states} bad"));
    repository.git("bisect start --no-checkout HEAD c0");
    let beside = names(repository.outer());
    for (at, (state, status)) in states.split(' ').zip(statuses).enumerate() {
        repository.git(&format!("checkout --quiet c{}", at + 1));
        let ran = run(&repository);
        assert_eq!(ran.status, Some(status), "{state}: {ran}");
        assert_eq!(names(repository.outer()), beside, "{state}");
    }
}

/// The package and the test are known from the bad end.
#[test]
fn bisect_run_where_the_test_is_younger() {
    let repository = Repository::history("good good young good bad");
    repository.git("bisect start c4 c0");
    repository.git("checkout --quiet c2");
    let ran = run(&repository).has(125, &[]);
    assert!(ran.stdout.starts_with("skip "), "{ran}");
}

/// git's terms for a search that is not for what is worse.
#[test]
fn bisect_run_with_the_terms_old_and_new() {
    let (fixed, brought) = ("bad bad bad good good", "good good bad bad bad");
    for (states, terms, at, status, says) in [
        (fixed, ["old", "new"], "c2", 0, "old   "),
        (fixed, ["old", "new"], "c3", 1, "new   "),
        // What was brought is new as well; and so are terms of one's own.
        (brought, ["thin", "fat"], "c2", 1, "fat   "),
    ] {
        let repository = Repository::history(states);
        let [old, new] = terms;
        let terms = format!("--term-old={old} --term-new={new}");
        repository.git(&format!("bisect start {terms} c4 c0"));
        repository.git(&format!("checkout --quiet {at}"));
        let ran = run(&repository).has(status, &[]);
        assert!(ran.stdout.starts_with(says), "{at}: {ran}");
    }
    // With the usual terms it says how to ask.
    let repository = Repository::history("bad bad good");
    repository.git("bisect start c2 c0");
    let ran = run(&repository).has(128, &[]);
    assert!(ran.stderr.contains("git bisect old COMMIT"), "{ran}");
}

#[test]
fn bisect_run_stops_at_an_end_and_on_faults_of_its_own() {
    for state in ["unbuildable", "broken"] {
        let repository = Repository::history(&format!("good good bad {state}"));
        repository.git("bisect start c3 c0");
        run(&repository).has(129, &[]);
    }
    let repository = linear(4, 2);
    // No bisection, no such flag.
    run(&repository).has(128, &[]);
    let no_such = repository.plimsoll("bisect-run --no-such-flag");
    no_such.has(128, &[]);
    // Ends that do not differ.
    repository.git("bisect start c1 c0");
    run(&repository).has(128, &[]);
    // git itself goes along.
    let repository = linear(20, 13);
    repository.git("bisect start HEAD c0");
    let plimsoll = env!("CARGO_BIN_EXE_plimsoll");
    let mut git = Command::new("git");
    git.args(["bisect", "run", plimsoll, "bisect-run"]);
    let output = repository.with_tools(git.args(ASKED.split(' '))).output();
    let expected = format!("{} is the first bad commit", repository.named("c13"));
    Ran::of(&output.unwrap()).has(0, &[&expected]);
    assert!(repository.builds() <= 5 + 3, "{}", repository.builds());
}
