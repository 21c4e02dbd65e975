//! `plimsoll bisect-run`, as git's own bisection calls it.

use std::process::Command;

use crate::fake::{ASKED, Ran, Repository, UNUSABLE, linear};
use crate::git::names;

fn run(repository: &Repository) -> Ran {
    repository.ask(&["bisect-run"])
}

#[test]
fn bisect_run_says_what_git_understands() {
    let unusable = UNUSABLE.map(|(state, _)| (state, 125));
    let answers = [
        ("good", 0),
        ("bad", 1),
        ("other", 0),
        ("both", 1),
        ("half", 125),
    ];
    let cases: Vec<(&str, i32)> = unusable.into_iter().chain(answers).collect();
    let mut states = vec!["good"];
    states.extend(cases.iter().map(|(state, _)| *state));
    states.push("bad");
    let repository = Repository::history(&states);
    let last = format!("c{}", states.len() - 1);
    let (good, bad) = (repository.named("c0"), repository.named(&last));
    repository.git(&["bisect", "start", "--no-checkout", &bad, &good]);
    for (at, (state, status)) in cases.into_iter().enumerate() {
        let commit = repository.named(&format!("c{}", at + 1));
        repository.git(&["checkout", "--quiet", &commit]);
        let ran = run(&repository);
        assert_eq!(ran.status, Some(status), "{state}: {ran}");
        assert_eq!(names(repository.outer()), "cargo repo templates", "{state}");
    }
}

/// The package and the test are known from the bad end.
#[test]
fn bisect_run_where_the_test_is_younger() {
    let repository = Repository::history(&["good", "good", "young", "good", "bad"]);
    let (good, bad) = (repository.named("c0"), repository.named("c4"));
    repository.git(&["bisect", "start", &bad, &good]);
    repository.git(&["checkout", "--quiet", &repository.named("c2")]);
    let ran = run(&repository);
    assert_eq!(ran.status, Some(125), "{ran}");
    assert!(ran.stdout.starts_with("skip "), "{ran}");
}

/// git's terms for a search that is not for what is worse.
#[test]
fn bisect_run_with_the_terms_old_and_new() {
    let states = ["bad", "bad", "bad", "good", "good"];
    let repository = Repository::history(&states);
    let (first, last) = (repository.named("c0"), repository.named("c4"));
    let at = |name: &str| repository.git(&["checkout", "--quiet", &repository.named(name)]);
    repository.git_line("bisect start");
    repository.git(&["bisect", "old", &first]);
    repository.git(&["bisect", "new", &last]);
    for (name, status, says) in [("c2", 0, "old   "), ("c3", 1, "new   ")] {
        at(name);
        let ran = run(&repository);
        assert_eq!(ran.status, Some(status), "{name}: {ran}");
        assert!(ran.stdout.starts_with(says), "{name}: {ran}");
    }
    // What was brought is new as well; and so are terms of one's own.
    let states = ["good", "good", "bad", "bad"];
    let repository = Repository::history(&states);
    let (first, last) = (repository.named("c0"), repository.named("c3"));
    repository.git(&[
        "bisect",
        "start",
        "--term-old=thin",
        "--term-new=fat",
        &last,
        &first,
    ]);
    repository.git(&["checkout", "--quiet", &repository.named("c2")]);
    let ran = run(&repository);
    assert_eq!((ran.status, &ran.stdout[..6]), (Some(1), "fat   "), "{ran}");
    // With the usual terms it says how to ask.
    let repository = Repository::history(&["bad", "bad", "good"]);
    let (first, last) = (repository.named("c0"), repository.named("c2"));
    repository.git(&["bisect", "start", &last, &first]);
    let ran = run(&repository);
    assert_eq!(ran.status, Some(128), "{ran}");
    assert!(ran.stderr.contains("git bisect old COMMIT"), "{ran}");
}

#[test]
fn bisect_run_stops_at_an_end_and_on_faults_of_its_own() {
    for state in ["unbuildable", "broken"] {
        let repository = Repository::history(&["good", "good", "bad", state]);
        let (good, bad) = (repository.named("c0"), repository.named("c3"));
        repository.git(&["bisect", "start", &bad, &good]);
        let ran = run(&repository);
        assert_eq!(ran.status, Some(129), "{state}: {ran}");
    }
    let repository = linear(4, 2);
    // No bisection, no such flag.
    assert_eq!(run(&repository).status, Some(128));
    let ran = repository.plimsoll(&["bisect-run", "--no-such-flag"]);
    assert_eq!(ran.status, Some(128), "{ran}");
    // Ends that do not differ.
    let good = repository.named("c0");
    repository.git(&["bisect", "start", &repository.named("c1"), &good]);
    assert_eq!(run(&repository).status, Some(128));
    // git itself goes along.
    let repository = linear(20, 13);
    repository.git(&["bisect", "start", "HEAD", &repository.named("c0")]);
    let mut git = Command::new("git");
    git.args([
        "bisect",
        "run",
        env!("CARGO_BIN_EXE_plimsoll"),
        "bisect-run",
    ]);
    let output = repository.with_tools(git.args(ASKED)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = format!("{} is the first bad commit", repository.named("c13"));
    assert!(said.contains(&expected), "{said}");
    assert!(repository.builds() <= 5 + 3, "{}", repository.builds());
}
