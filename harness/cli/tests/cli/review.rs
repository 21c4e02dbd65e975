//! `plimsoll review`, the real binary on a terminal of its own.

use std::io::{Read, Write};
use std::process::Stdio;

use insta::assert_snapshot;
use plimsoll_core::report::{Standing, Subject};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::project::{
    self, BASELINE, PLIMSOLL, Project, RATE, finding, growth, regressed, stack, unused, within,
};

/// Types lines and then Ctrl-D into a command line of `plimsoll`. Asserts how it ends, and returns
/// what it shows, without what was typed.
#[track_caller]
fn typed_into(project: &Project, line: &str, typed: &[&str], status: i32) -> String {
    let (mut keyboard, side) = project::terminal();
    let mut modes = tcgetattr(&side).unwrap();
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&side, OptionalActions::Now, &modes).unwrap();
    let lines: String = typed.iter().map(|line| format!("{line}\n")).collect();
    // It waits there for whoever reads.
    write!(keyboard, "{lines}\u{4}").unwrap();
    let mut command = project.command(PLIMSOLL);
    project::say(command.env("NO_COLOR", "1"), line.split(' '));
    let end = || Stdio::from(side.try_clone().unwrap());
    command.stdin(end()).stdout(end()).stderr(end());
    let mut child = command.spawn().unwrap();
    drop((command, side));
    let mut screen = Vec::new();
    // An error is how a terminal says that nobody is left on it.
    let _ = keyboard.read_to_end(&mut screen);
    let screen = String::from_utf8(screen).unwrap().replace('\r', "");
    assert_eq!(child.wait().unwrap().code(), Some(status), "{screen}");
    screen
}

const AGREED: &str = "\
format = 1

# pools
[[allow]]
stack = ['main', 'old::pool'] # the first
objects = 1.0
bytes = 8.0
law = 'linear'
";

/// Two stacks that grow, an allowance that nothing uses, and another scenario.
fn grown() -> Project {
    let stacks = ["main lru::fill lru::put", "main index::add"];
    let mut one = regressed("r1", "lru_churn", stacks[0], RATE);
    one.growth = stacks.map(|names| growth(names, RATE)).to_vec();
    one.findings.push(finding(stacks[1], RATE));
    let pool = Subject::Stack(stack("main old::pool"));
    one.findings.push(unused(pool, Standing::Stale));
    let project = Project::with(&[one, regressed("r1", "http::echo", "main echo", RATE)]);
    project.write(BASELINE, AGREED);
    project
}

#[test]
fn one_finding_at_a_time() {
    let project = grown();
    let typed = ["r", "a cache, by design", "a", "s", "a", "s"];
    let seen = typed_into(&project, "review", &typed, 0);
    let (first, rest) = seen.split_once("2 of 4").unwrap();
    let (tree, finding) = first.split_once("\n\n").unwrap();
    assert!(tree.ends_with("› lru::put"), "{tree}");
    let (_, asked) = finding.trim_end().rsplit_once("\n\n").unwrap();
    assert_snapshot!(asked, @"allow this growth? [a,s,r,i,e,q,?] why it may grow: allow this growth? [a,s,r,i,e,q,?]");
    let (_, third) = rest.split_once("3 of 4: lru_churn\n").unwrap();
    let (third, last) = third.split_once("4 of 4: http::echo").unwrap();
    assert_snapshot!(third, @"
      an allowance of 0 B per iteration is no longer needed
        old::pool
        └ main

    take the allowance out? [a,s,q,?]
    ");
    let done = "lru_churn: accepted 1 allowance, removed 1; commit the file\n";
    assert!(last.ends_with(done), "{seen}");
    let written = project.read(BASELINE);
    assert_eq!(written.matches("[[allow]]").count(), 1, "{written}");
    for part in [
        "[measured]\n",
        "    \"lru::put\",\n",
        "reason = \"a cache, by design\"\n",
    ] {
        assert!(written.contains(part), "{written}");
    }
    assert!(!project.exists("baselines/http++echo.toml"));

    // What was accepted since the run is not asked about again.
    let seen = typed_into(&project, "CI=1 review lru_churn --dry-run", &["a"], 0);
    assert!(seen.contains("1 of 1: lru_churn"), "{seen}");
    let done = "lru_churn: would accept 1 allowance\n";
    assert!(seen.ends_with(done), "{seen}");
    assert_eq!(project.read(BASELINE), written);
}

#[test]
fn nothing_is_written_before_the_last_answer() {
    let project = grown();
    let seen = typed_into(&project, "review", &["a"], 130);
    let ended = "error: nothing was written: the input ended";
    assert!(seen.contains(ended), "{seen}");
    assert_eq!(project.read(BASELINE), AGREED);
    assert_eq!(project.files("baselines").len(), 1);
}

#[test]
fn what_has_expired_and_needs_a_reason() {
    let project = Project::expired(RATE);
    project.write("plimsoll.toml", "require-reason = true\n");
    let typed = ["a", "9999-01-01", "a", "it echoes", "a"];
    typed_into(&project, "review", &typed, 0);
    let written = project.read(BASELINE);
    for line in ["reason = \"it echoes\"\n", "expires = 9999-01-01\n"] {
        assert!(written.contains(line), "{written}");
    }
}

#[test]
fn without_a_terminal() {
    let project = grown();
    assert_snapshot!(project.typed("review lru_churn"), @"
    --- 2
    error: cannot ask: there is no terminal
      expected standard input and output to be a terminal
      hint: `plimsoll accept lru_churn --dry-run` shows what can be accepted, `plimsoll accept lru_churn` accepts all of it
    ");
    let says = ["and `plimsoll review` where you work"];
    project.says("CI=true review", 2, &says);
}

#[test]
fn nothing_to_review() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let seen = typed_into(&project, "review", &[], 0);
    assert_eq!(seen, "nothing to accept in the last run\n");
}
