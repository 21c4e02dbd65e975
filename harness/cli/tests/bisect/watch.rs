//! Servers instead of tests: `--watch` of `check`, `verify-fix` and `bisect`.

use std::fs;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::check::branch;
use crate::fake::{Repository, row};
use crate::faults::until;
use crate::project::Ran;

/// A command line, with the command beside the repository that measures the scenario.
fn watched(repository: &Repository, line: &str) -> String {
    let watch = repository.outer().join("watch");
    format!("{line} --watch {}", watch.display())
}

/// What it says.
fn asked(repository: &Repository, line: &str) -> Ran {
    repository.plimsoll(&watched(repository, line))
}

#[test]
fn a_branch_is_checked() {
    for line in [
        "good bad 1 | churn: 1 stack grows faster than at the base on main ( | new     …;store;put | \
         before 0 B, 0.00 objects, now +80 B, 1.00 objects per http_request",
        "good little 3 | churn: unsure whether a stack grows faster | hint: watch for longer",
        "unbuildable good 3 | at  | not measured: it left no report of demo: error[E0425]",
        "good no-report 3 | in the working tree: not measured | the address is in use | logs: ",
        "good by-seconds 3 | its rates are per second, and those before it per http_request",
        "idle good 3 | its dumps have no live objects",
    ] {
        let ([base, own], status, parts) = row(line);
        asked(&branch(base, own), "check churn").has(status, &parts);
    }
    let repository = branch("good", "bad");
    let before = repository.everything();
    let value = asked(&repository, "check churn --json").has(1, &[]).json();
    assert_eq!(repository.everything(), before);
    assert_eq!(value["scenarios"][0]["per"], "http_requests_total");
    // Each side was watched twice, because something grows faster, and both are kept.
    assert_eq!(repository.builds(), 4);
    asked(&repository, "check churn").has(1, &[]);
    assert_eq!(repository.builds(), 4);
}

/// The command may have failed for another reason than the revision.
#[test]
fn what_could_not_be_measured_is_measured_again() {
    let repository = branch("no-report", "good");
    for builds in [1, 2] {
        asked(&repository, "check churn").has(3, &["the address is in use"]);
        assert_eq!(repository.builds(), builds);
    }
}

#[test]
fn a_commit_is_found_and_a_fix_verified() {
    let repository = Repository::history("good good bad bad good");
    let found = " is the first commit with which churn grows past the good rate";
    let says = [found, "rates   per http_request"];
    asked(&repository, "bisect c0 c3 --scenario churn").has(0, &says);
    let rate = "+80 B, 1.00 objects  (65,536 http_requests)";
    asked(&repository, "verify-fix c3 c4 --scenario churn").has(0, &["churn: fixed", rate]);
}

/// No commit has a test `watch`, which is what its reports are of.
#[test]
fn of_an_end_without_the_folder_the_nearest_with_it_is_named() {
    let repository = Repository::history("good");
    for (state, subject) in [("good", "c1"), ("bad", "c2")] {
        repository.write("sub/Cargo.toml", "");
        repository.write("sub/state", state);
        repository.commit(state, subject);
    }
    let bisect = |good: &str| {
        let options = "--scenario churn --manifest-path sub/Cargo.toml";
        asked(&repository, &format!("bisect {good} {options}"))
    };
    let commit = &repository.named("c1")[..9];
    let nearest = format!("the nearest revision that can be built: {commit}");
    let expected = ["there is no folder sub", &nearest];
    bisect("c0").has(129, &expected);
    bisect("c1").has(0, &[" is the first commit with which churn grows past"]);
}

#[test]
fn what_cannot_be_meant() {
    let repository = branch("good", "bad");
    let none = "expected one scenario, the one that the command measures, found 0";
    for (command, expected) in [
        ("check", none),
        ("check churn other", "found 2"),
        ("check churn --release", "cannot be used with"),
        ("check churn --budget 1s", "cannot be used with"),
    ] {
        asked(&repository, command).has(2, &[expected]);
    }
    repository.write(
        "baselines/churn.toml",
        "format = 1\n\n[measured]\ntest = \"demo/watch\"\nper = \"request\"\n\
         sample-interval = 65536\niterations = 412000\n",
    );
    let expected = [
        "churn is a scenario of `plimsoll watch`, and no test",
        "--watch 'COMMAND' measures a server",
    ];
    for command in ["check churn", "bisect HEAD~1 --scenario churn"] {
        repository.plimsoll(command).has(2, &expected);
    }
    assert_eq!(repository.builds(), 0);
}

/// A watch has the time to end its server.
#[test]
fn ctrl_c_ends_the_watch() {
    let repository = branch("slow", "good");
    let check = repository.start(&watched(&repository, "check churn"));
    until(|| repository.outer().join("builds.watched").exists());
    kill_process_group(Pid::from_child(&check), Signal::INT).unwrap();
    let check = check.wait_with_output().unwrap();
    assert_eq!(check.status.code(), Some(130), "{check:?}");
    let ended = fs::read_to_string(repository.outer().join("builds.ended"));
    assert_eq!(ended.unwrap(), "ended\n");
}
