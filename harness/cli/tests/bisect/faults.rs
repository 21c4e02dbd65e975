//! Everything around the measuring: histories, faults, what stays as it was.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fake::{Repository, UNUSABLE};
use crate::git::{everything_and_times, git as git_in, names};

/// A history of so many commits, bad from that one on.
fn linear(commits: usize, first_bad: usize) -> Repository {
    let states: Vec<&str> = (0..commits)
        .map(|at| if at < first_bad { "good" } else { "bad" })
        .collect();
    Repository::history(&states)
}

#[track_caller]
fn found(value: &Value, expected: &str) {
    assert_eq!(value["result"], "found", "{value:#}");
    assert_eq!(value["first_bad"]["commit"], expected, "{value:#}");
}

#[test]
fn every_place_is_found_in_few_builds() {
    for (commits, first_bad) in [(2, 1), (3, 1), (3, 2), (20, 1), (20, 7), (20, 19), (33, 16)] {
        let repository = linear(commits, first_bad);
        let good = repository.named("c0");
        let (ran, value) = repository.bisect(&[&good]);
        assert_eq!(ran.status, Some(0), "{ran}");
        found(&value, &repository.named(&format!("c{first_bad}")));
        let between = commits - 1;
        let steps = usize::try_from(between.next_power_of_two().ilog2()).unwrap();
        assert!(
            repository.builds() <= steps + 3,
            "{commits}: {}",
            repository.builds()
        );
        assert_eq!(value["builds"], repository.builds());
    }
}

#[test]
fn nothing_of_the_users_is_touched() {
    let repository = linear(9, 4);
    repository.write("src/lib.rs", "// changed\n");
    repository.write("staged.rs", "");
    repository.git(&["add", "staged.rs"]);
    repository.write("untracked.rs", "");
    // And a bisection of their own is under way.
    repository.git(&["bisect", "start", "--no-checkout", "HEAD", "HEAD~6"]);
    let before = everything_and_times(&repository.top());
    let (good, bad) = (repository.named("c0"), repository.named("c8"));
    let (ran, value) = repository.bisect(&[&good, &bad]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c4"));
    assert_eq!(everything_and_times(&repository.top()), before);
}

#[test]
fn the_log_replays() {
    let repository = linear(12, 5);
    let (_, value) = repository.bisect(&[&repository.named("c0")]);
    let scratch = repository.outer().join("scratch");
    let top = repository.top();
    git_in(
        repository.outer(),
        &["clone", "--quiet", &top.to_string_lossy(), "scratch"],
    );
    let log = repository.outer().join("log");
    fs::write(&log, value["log"].as_str().unwrap()).unwrap();
    let said = git_in(&scratch, &["bisect", "replay", &log.to_string_lossy()]);
    let expected = format!("{} is the first bad commit", repository.named("c5"));
    let said = said + &git_in(&scratch, &["bisect", "log"]);
    assert!(
        said.contains(&expected)
            || said.contains(&format!("first bad commit: [{}]", repository.named("c5"))),
        "{said}"
    );
}

#[test]
fn what_cannot_be_measured_is_skipped_with_its_reason() {
    for (state, kind) in UNUSABLE.into_iter().chain([("newer", "other harness")]) {
        // In the middle, where the search begins.
        let mut states = vec!["good"; 4];
        states.push(state);
        states.extend(["good", "bad", "bad", "bad"]);
        let repository = Repository::history(&states);
        let (ran, value) = repository.bisect(&[&repository.named("c0")]);
        assert_eq!(ran.status, Some(0), "{state}: {ran}");
        found(&value, &repository.named("c6"));
        let tested = value["tested"].as_array().unwrap();
        let skipped = tested.iter().find(|test| test["answer"] == "skip").unwrap();
        assert_eq!(skipped["kind"], kind, "{state}");
        assert_eq!(skipped["commit"], repository.named("c4").as_str());
        assert!(!skipped["reason"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_baseline_that_does_not_fit_is_nothing_to_skip_for() {
    let repository = Repository::history(&["good", "good", "unfit-baseline", "bad"]);
    let (ran, value) = repository.bisect(&[&repository.named("c0")]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c2"));
}

#[test]
fn an_end_that_cannot_be_measured_stops_it() {
    for (state, kind) in UNUSABLE {
        for states in [[state, "good", "bad"], ["good", "bad", state]] {
            let repository = Repository::history(&states);
            let before = repository.everything();
            // The working tree is another matter.
            repository.write("state", "bad\n");
            let good = repository.named("c0");
            let (ran, _) = repository.bisect(&[&good]);
            assert_eq!(ran.status, Some(129), "{state}: {ran}");
            assert!(ran.stderr.contains(kind), "{state}: {ran}");
            repository.git(&["checkout", "--quiet", "state"]);
            assert_eq!(repository.everything(), before, "{state}");
        }
    }
}

#[test]
fn of_an_end_that_cannot_be_built_the_nearest_that_can_be_is_named() {
    #[track_caller]
    fn says(states: &[&str], hint: &str, builds: usize) {
        let repository = Repository::history(states);
        let (ran, _) = repository.bisect(&[&repository.named("c0")]);
        assert_eq!(ran.status, Some(129), "{ran}");
        let nearest = |name: &str| match name.starts_with('c') {
            true => repository.named(name)[..9].to_owned(),
            false => name.to_owned(),
        };
        let hint = nearest(hint);
        assert!(
            ran.stderr.trim_end().ends_with(&hint),
            "expected {hint}: {ran}"
        );
        assert_eq!(repository.builds(), builds, "{ran}");
        // Named in its place, nothing that was tried is tried again.
        if hint.len() == 9 && states[0] == "unbuildable" {
            let (ran, value) = repository.bisect(&[&hint]);
            assert_eq!(ran.status, Some(0), "{ran}");
            assert_eq!(value["result"], "found");
        }
    }
    let old = "unbuildable";
    says(&[old, "good", "bad"], "c1", 2);
    says(
        &[old, old, old, old, old, "good", "good", "good", "bad"],
        "c5",
        7,
    );
    // The good end was measured by then.
    says(&["good", "bad", "bad", "no-scenario", old], "c2", 4);
    says(
        &[old, old, old],
        "of 2 others that were tried, up to the other end, none can be built",
        3,
    );
    // What the workload does is another matter.
    says(
        &["failed", "good", "bad"],
        "hint: name another commit for it",
        1,
    );
}

#[test]
fn a_skip_says_whether_it_was_known_and_why_it_is_one() {
    let repository = Repository::history(&["good", "lockfile", "unbuildable", "bad"]);
    for known in [false, true] {
        let (ran, value) = repository.bisect(&[&repository.named("c0")]);
        assert_eq!(ran.status, Some(3), "{ran}");
        for (index, kind, lasts) in [(1, "lockfile", false), (2, "unbuildable", true)] {
            let id = &repository.named(&format!("c{index}"))[..9];
            let start = format!("skip  {id}  ");
            let line = ran.stderr.lines().find(|line| line.starts_with(&start));
            let line = line.unwrap_or_else(|| panic!("{kind}: {ran}"));
            assert_eq!(line.contains("(measured before)"), known && lasts, "{line}");
        }
        assert_eq!(value["tested"].as_array().unwrap().len(), 2);
        assert!(
            ran.stderr.contains(
                "failed to select a version for the requirement; required by package `demo`"
            ),
            "{ran}"
        );
    }
}

#[test]
fn bisect_run_says_what_git_understands() {
    let cases = UNUSABLE.map(|(state, _)| (state, 125));
    let answers = [
        ("good", 0),
        ("bad", 1),
        ("other", 0),
        ("both", 1),
        ("half", 125),
    ];
    for (state, status) in cases.into_iter().chain(answers) {
        let repository = Repository::history(&["good", "good", state, "bad", "bad"]);
        let (good, bad) = (repository.named("c0"), repository.named("c4"));
        repository.git(&["bisect", "start", &bad, &good]);
        repository.git(&["checkout", "--quiet", &repository.named("c2")]);
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
    repository.git(&["bisect", "start"]);
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

fn run(repository: &Repository) -> crate::fake::Ran {
    repository.plimsoll(&["bisect-run", "--scenario", "churn", "--overlay", "never"])
}

#[test]
fn bisect_run_stops_at_an_end_and_on_faults_of_its_own() {
    for (state, _) in UNUSABLE {
        if state == "no-project" {
            continue;
        }
        let repository = Repository::history(&["good", "good", "bad", state]);
        let (good, bad) = (repository.named("c0"), repository.named("c3"));
        repository.git(&["bisect", "start", &bad, &good]);
        let ran = run(&repository);
        assert_eq!(ran.status, Some(129), "{state}: {ran}");
    }
    let repository = linear(4, 2);
    // No bisection, no such flag, no such scenario name.
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
    let output = Command::new("git")
        .args([
            "bisect",
            "run",
            env!("CARGO_BIN_EXE_plimsoll"),
            "bisect-run",
        ])
        .args(["--scenario", "churn", "--overlay", "never"])
        .current_dir(repository.top())
        .env("CARGO", repository.outer().join("cargo"))
        .env("TEMPLATES", repository.outer().join("templates"))
        .env("BUILDS", repository.outer().join("builds"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = format!("{} is the first bad commit", repository.named("c13"));
    assert!(said.contains(&expected), "{said}");
    assert!(repository.builds() <= 5 + 3, "{}", repository.builds());
}

#[test]
fn a_second_leak_is_not_the_answer() {
    let mut states = vec!["good"; 3];
    states.extend(["other"; 5]);
    states.extend(["both"; 4]);
    let repository = Repository::history(&states);
    let good = repository.named("c3");
    // From where the first is there already: it does not differ.
    let (ran, value) = repository.bisect(&[&good]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c8"));
    assert_eq!(value["stack"].as_array().unwrap().last().unwrap(), "put");
}

/// Where it grows at the earlier end alone, the question is which commit mended it.
#[test]
fn which_commit_mended_it() {
    for states in [
        &["bad", "bad", "bad", "good", "good", "good", "good"][..],
        &["bad", "bad", "unbuildable", "good", "good"],
        &["bad", "good"],
    ] {
        let mended = states.iter().position(|state| *state == "good").unwrap();
        let repository = Repository::history(states);
        let (ran, value) = repository.bisect(&[&repository.named("c0")]);
        assert_eq!(value["change"], "fixed", "{ran}");
        if states.contains(&"unbuildable") {
            assert_eq!(value["result"], "one-of", "{ran}");
            continue;
        }
        assert_eq!(ran.status, Some(0), "{ran}");
        found(&value, &repository.named(&format!("c{mended}")));
        let ran = repository.plimsoll(&[
            "bisect",
            &repository.named("c0"),
            "--scenario",
            "churn",
            "--overlay",
            "never",
        ]);
        for part in [
            " is the first commit after which churn no longer grows past the good rate\n",
            "  change  fixed\n",
        ] {
            assert!(ran.stdout.contains(part), "no {part:?} in {ran}");
        }
    }
    // What is brought goes before what is mended.
    let repository = Repository::history(&["other", "other", "bad", "bad"]);
    let (_, value) = repository.bisect(&[&repository.named("c0")]);
    assert_eq!(value["change"], "brought");
    found(&value, &repository.named("c2"));
}

#[test]
fn ends_that_do_not_differ() {
    for (states, word) in [
        (["good", "good", "good"], "grows"),
        (["bad", "bad", "bad"], "as fast"),
    ] {
        let repository = Repository::history(&states);
        let (ran, value) = repository.bisect(&[&repository.named("c0")]);
        assert_eq!(ran.status, Some(3), "{ran}");
        assert_eq!(value["result"], "no-difference");
        assert_eq!(repository.builds(), 2);
        let ran = repository.plimsoll(&[
            "bisect",
            "HEAD~2",
            "--scenario",
            "churn",
            "--overlay",
            "never",
        ]);
        assert!(ran.stdout.contains(word), "{ran}");
        assert!(ran.stdout.contains("hint:"), "{ran}");
    }
}

#[test]
fn where_only_skipped_ones_are_left_it_is_one_of_them() {
    let states = ["good", "good", "unbuildable", "unbuildable", "bad", "bad"];
    let repository = Repository::history(&states);
    let (ran, value) = repository.bisect(&[&repository.named("c0")]);
    assert_eq!(ran.status, Some(3), "{ran}");
    assert_eq!(value["result"], "one-of");
    let mut candidates: Vec<&str> = value["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    let mut expected = ["c2", "c3", "c4"].map(|name| repository.named(name));
    candidates.sort_unstable();
    expected.sort_unstable();
    assert_eq!(candidates, expected);
}

#[test]
fn a_merge_and_what_came_with_it() {
    let repository = Repository::history(&["good", "good"]);
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.commit("good", "s0");
    let culprit = repository.commit("bad", "s1");
    repository.commit("bad", "s2");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("main.txt", "");
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "--message", "m0"]);
    repository.git(&[
        "merge",
        "--quiet",
        "--no-ff",
        "--message",
        "the merge",
        "side",
    ]);
    let merge = repository.id("HEAD");
    repository.commit("bad", "m1");
    let good = repository.named("c0");
    let (_, value) = repository.bisect(&[&good]);
    found(&value, &culprit);
    let (_, value) = repository.bisect(&[&good, "--first-parent"]);
    found(&value, &merge);
    assert!(!value["first_bad"]["files"].as_array().unwrap().is_empty());
}

#[test]
fn only_commits_that_change_a_path() {
    let repository = Repository::new();
    repository.commit("good", "c0");
    for at in 1..9 {
        let folder = if at % 3 == 0 { "crates/cache" } else { "docs" };
        repository.write(&format!("{folder}/{at}.rs"), "");
        repository.commit(if at < 6 { "good" } else { "bad" }, &format!("c{at}"));
    }
    let good = repository.named("c0");
    let (ran, value) = repository.bisect(&[&good, "--", "crates/cache"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c6"));
    let (ran, _) = repository.bisect(&[&good, "--", "no/such/folder"]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert!(ran.stderr.contains("no/such/folder"), "{ran}");
}

#[test]
fn histories_that_lack_something() {
    let repository = linear(9, 4);
    let top = repository.top().to_string_lossy().into_owned();
    let url = format!("file://{top}");
    let good = repository.named("c0");
    git_in(
        repository.outer(),
        &["clone", "--quiet", "--depth", "3", &url, "shallow"],
    );
    let shallow = repository.outer().join("shallow");
    let ran = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(args)
            .args(["--scenario", "churn", "--overlay", "never"])
            .current_dir(&shallow)
            .env("CARGO", repository.outer().join("cargo"))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (status, said) = ran(&["bisect", &good]);
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("shallow") && said.contains("--unshallow"),
        "{said}"
    );

    // Rewritten: nothing in common.
    repository.git(&["checkout", "--quiet", "--orphan", "other"]);
    repository.commit("bad", "rewritten");
    let (ran, _) = repository.bisect(&[&good]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert!(ran.stderr.contains("no commit in common"), "{ran}");
    repository.git(&["checkout", "--quiet", "main"]);

    for (args, word) in [
        (vec!["no-such-tag"], "no commit `no-such-tag`"),
        (vec!["HEAD", "HEAD"], "both ends"),
        (vec!["HEAD", "HEAD~3"], "comes after"),
    ] {
        let (ran, _) = repository.bisect(&args);
        assert_eq!(ran.status, Some(2), "{ran}");
        assert!(ran.stderr.contains(word), "{ran}");
    }
}

#[test]
fn a_good_end_on_another_branch() {
    // c0 good, c1 bad; main goes on bad, `release` mended it.
    let repository = Repository::history(&["good", "bad", "bad"]);
    repository.git(&["branch", "release", "HEAD~1"]);
    repository.git(&["checkout", "--quiet", "release"]);
    repository.commit("good", "mended");
    repository.git(&["checkout", "--quiet", "main"]);
    let (ran, value) = repository.bisect(&["release"]);
    assert_eq!(ran.status, Some(3), "{ran}");
    assert_eq!(value["result"], "bad-merge-base", "{value:#}");
    // And one that branched off while all was well.
    let repository = Repository::history(&["good", "good", "good", "bad"]);
    repository.git(&["checkout", "--quiet", "-b", "release", "HEAD~2"]);
    repository.commit("good", "released");
    repository.git(&["checkout", "--quiet", "main"]);
    let (ran, value) = repository.bisect(&["release"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c3"));
}

#[test]
fn submodules_come_along() {
    let repository = Repository::new();
    let sub = repository.outer().join("sub");
    fs::create_dir(&sub).unwrap();
    git_in(&sub, &["init", "--quiet"]);
    let at = |state: &str| {
        fs::write(sub.join("state"), state).unwrap();
        git_in(&sub, &["add", "--all"]);
        git_in(
            &sub,
            &["commit", "--quiet", "--allow-empty", "--message", state],
        );
    };
    at("good\n");
    repository.git(&["submodule", "--quiet", "add", &sub.to_string_lossy(), "sub"]);
    repository.commit("good", "c0");
    for index in 1..8 {
        if index == 5 {
            at("bad\n");
            repository.git(&["submodule", "--quiet", "update", "--remote"]);
        }
        repository.commit("good", &format!("c{index}"));
    }
    // Whether a file may be a submodule's address is the user's to say.
    git_in(
        repository.outer(),
        &[
            "config",
            "--file",
            ".gitconfig",
            "protocol.file.allow",
            "always",
        ],
    );
    let (ran, value) = repository.bisect(&[&repository.named("c0")]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c5"));
}

#[test]
fn a_second_time_nothing_is_built() {
    let repository = linear(16, 9);
    let good = repository.named("c0");
    repository.bisect(&[&good]);
    let builds = repository.builds();
    let (ran, value) = repository.bisect(&[&good]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c9"));
    assert_eq!(repository.builds(), builds);
    assert_eq!(value["builds"], 0);
    let tested = value["tested"].as_array().unwrap();
    assert!(
        tested.iter().all(|test| test["cached"] == true),
        "{value:#}"
    );
}

#[test]
fn stopped_it_leaves_nothing_behind_and_goes_on_later() {
    for signal in ["INT", "TERM"] {
        let mut states = vec!["good"; 8];
        states.extend(["slow", "bad", "bad", "bad", "bad", "bad", "bad", "bad"]);
        let repository = Repository::history(&states);
        let before = repository.everything();
        let good = repository.named("c0");
        let args = [
            "bisect",
            &good,
            "--scenario",
            "churn",
            "--overlay",
            "never",
            "--json",
        ];
        let mut child = repository.start(&args);
        let began = Instant::now();
        // The ends, the first step, and the one that is slow: at least three.
        while repository.builds() < 3 {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{}",
                repository.builds()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(200));
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &id])
                .status()
                .unwrap()
                .success()
        );
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130));
        assert_eq!(repository.everything(), before);
        let running = Command::new("ps").args(["-eo", "args"]).output().unwrap();
        let running = String::from_utf8_lossy(&running.stdout).into_owned();
        let ours = repository.outer().to_string_lossy().into_owned();
        assert!(!running.contains(&ours), "{running}");

        // Now it builds at once.
        let builds = repository.builds();
        let cargo = repository.outer().join("cargo");
        let text = fs::read_to_string(&cargo)
            .unwrap()
            .replace("sleep 1000", "state=good");
        fs::write(&cargo, text).unwrap();
        let ran = repository.plimsoll(&["bisect", "--resume", "--json"]);
        assert_eq!(ran.status, Some(0), "{ran}");
        let value: Value = serde_json::from_str(&ran.stdout).unwrap();
        found(&value, &repository.named("c9"));
        assert!(repository.builds() - builds <= 3, "{}", repository.builds());
        let ran = repository.plimsoll(&["bisect", "--resume"]);
        assert_eq!(ran.status, Some(2), "{ran}");
    }
}

#[test]
fn a_worktree_that_was_left_is_found() {
    let repository = linear(4, 2);
    let path = repository.outer().join(".repo.plimsoll-bisect");
    let good = repository.named("c0");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        &path.to_string_lossy(),
        &good,
    ]);
    let (ran, _) = repository.bisect(&[&good]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert!(ran.stderr.contains("--remove-stale"), "{ran}");
    let (ran, value) = repository.bisect(&[&good, "--remove-stale"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c2"));
    assert!(!path.exists());
    // A folder that git knows nothing of, too.
    fs::create_dir(&path).unwrap();
    let (ran, _) = repository.bisect(&[&good, "--remove-stale"]);
    assert_eq!(ran.status, Some(0), "{ran}");
}

/// Where others can make folders, the worktree's name is one that they can guess.
#[cfg(unix)]
#[test]
fn a_worktree_that_others_could_have_made() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let repository = linear(4, 2);
    let cache = repository.outer().join("cache");
    let in_cache = || {
        let args = [
            "bisect",
            "HEAD~3",
            "--scenario",
            "churn",
            "--overlay",
            "never",
        ];
        repository.plimsoll_with(&args, ("XDG_CACHE_HOME", &cache.to_string_lossy()))
    };
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let built_in_cache = || {
        let text = fs::read_to_string(repository.outer().join("builds")).unwrap();
        let of_cache = |line: &str| line.contains("/cache/plimsoll/.repo.plimsoll-bisect-");
        (
            text.lines().filter(|line| of_cache(line)).count(),
            text.lines().count(),
        )
    };

    // A link to what is somebody else's.
    let elsewhere = repository.outer().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let beside = repository.outer().join(".repo.plimsoll-bisect");
    symlink(&elsewhere, &beside).unwrap();
    let ran = in_cache();
    assert_eq!(ran.status, Some(0), "{ran}");
    let (of_cache, all) = built_in_cache();
    assert!(of_cache > 0 && of_cache == all, "{of_cache} of {all}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    let made = fs::metadata(cache.join("plimsoll")).unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o700);
    fs::remove_file(&beside).unwrap();

    // Nothing is there yet, and anybody may take it away again.
    fs::remove_dir_all(repository.top().join("target")).unwrap();
    mode(repository.outer(), 0o777);
    let ran = in_cache();
    assert_eq!(ran.status, Some(0), "{ran}");
    let (again, all) = built_in_cache();
    assert!(again > of_cache && again == all, "{again} of {all}");

    mode(&cache.join("plimsoll"), 0o777);
    let ran = in_cache();
    assert_eq!(ran.status, Some(2), "{ran}");
    assert!(ran.stderr.contains("no other user can write to"), "{ran}");

    // In a folder like /tmp nobody can.
    mode(repository.outer(), 0o1777);
    fs::remove_dir_all(repository.top().join("target")).unwrap();
    let ran = in_cache();
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(built_in_cache().1 > all);
    assert_eq!(built_in_cache().0, again);
}

#[test]
fn a_workspace_that_moved_in_its_repository() {
    let repository = Repository::new();
    repository.commit("good", "c0");
    repository.commit("good", "c1");
    // From the top into a folder, with what its state is.
    fs::create_dir(repository.top().join("rust")).unwrap();
    repository.git(&[
        "mv",
        "Cargo.toml",
        "Cargo.lock",
        "src",
        "tests",
        "state",
        "rust/",
    ]);
    repository.git(&["commit", "--quiet", "--message", "moved"]);
    for (state, name) in [("good", "c2"), ("bad", "c3"), ("bad", "c4")] {
        repository.write("rust/state", &format!("{state}\n"));
        repository.write("rust/src/edited.rs", name);
        repository.git(&["add", "--all"]);
        repository.git(&["commit", "--quiet", "--message", name]);
    }
    let good = repository.named("c0");
    let ran = repository.plimsoll(&[
        "bisect",
        &good,
        "--manifest-path",
        "rust/Cargo.toml",
        "--scenario",
        "churn",
        "--overlay",
        "never",
        "--json",
    ]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    found(&value, &repository.named("c3"));
}

#[test]
fn what_people_read() {
    let repository = linear(6, 3);
    let good = repository.named("c0");
    let common = [&*good, "--scenario", "churn", "--overlay", "never"];
    let text = repository.plimsoll(&[&["bisect"], &common[..]].concat());
    for part in [
        "is the first commit after which churn grows past the good rate",
        "subject c3",
        "before  0 B, 0.00 objects",
        "after   +80 B, 1.00 objects",
        "src/edited.rs",
        "growth.svg",
    ] {
        assert!(text.stdout.contains(part), "{part}: {text}");
    }
    assert!(
        text.stdout.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert!(
        text.stderr.contains("about 2 steps") || text.stderr.contains("about 1 step"),
        "{text}"
    );
    let markdown =
        repository.plimsoll(&[&["bisect", "--format", "markdown"], &common[..]].concat());
    assert!(markdown.stdout.starts_with("### "), "{markdown}");
    assert!(markdown.stdout.contains("| Subject | `c3` |"), "{markdown}");
    let svg = repository.top().join("target/plimsoll-bisect/growth.svg");
    assert!(fs::read_to_string(svg).unwrap().contains("store"));
}

#[test]
fn a_test_runs_where_its_own_files_are() {
    // The workspace was in a folder that the bad end does not have.
    let repository = Repository::new();
    fs::create_dir(repository.top().join("rust")).unwrap();
    let moved = ["Cargo.toml", "Cargo.lock", "src", "tests"];
    repository.commit("good", "before");
    repository.git(&[&["mv"], &moved[..], &["state", "rust/"]].concat());
    repository.git(&["commit", "--quiet", "--message", "c0"]);
    repository.git(&["mv", "rust/Cargo.toml", "rust/Cargo.lock", "."]);
    repository.git(&["mv", "rust/src", "rust/tests", "rust/state", "."]);
    repository.git(&["commit", "--quiet", "--message", "c1"]);
    let culprit = repository.commit("bad", "c2");
    repository.commit("bad", "c3");
    let (ran, value) = repository.bisect(&[&repository.named("c0")]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &culprit);
}

#[test]
fn what_ctrl_c_ended_is_not_held_against_the_commit() {
    let mut states = vec!["good"; 4];
    states.extend(["slow-metadata", "bad", "bad", "bad", "bad"]);
    let repository = Repository::history(&states);
    let good = repository.named("c0");
    let args = ["bisect", &good, "--scenario", "churn", "--overlay", "never"];
    let child = repository.start_alone(&args);
    let began = Instant::now();
    let reached = repository.outer().join("builds.metadata");
    while !reached.exists() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    // As a terminal does it: to the whole group.
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    fs::remove_file(&reached).unwrap();
    let cargo = repository.outer().join("cargo");
    let text = fs::read_to_string(&cargo).unwrap();
    let mended = "[ \"$state\" = slow-metadata ] && state=good\ntarget=$";
    fs::write(&cargo, text.replacen("target=$", mended, 1)).unwrap();
    let ran = repository.plimsoll(&["bisect", "--resume", "--json"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    found(&value, &repository.named("c5"));
    let tested = value["tested"].as_array().unwrap();
    assert!(tested.iter().all(|test| test["answer"] != "skip"), "{ran}");
}

#[test]
fn a_first_bad_commit_with_other_names_has_its_own_rate() {
    let states = ["good", "good", "renamed", "renamed", "bad", "bad"];
    let repository = Repository::history(&states);
    let (ran, value) = repository.bisect(&[&repository.named("c0")]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c2"));
    assert_eq!(value["first_bad"]["before"]["bytes"], 0.0, "{value:#}");
    assert_eq!(value["first_bad"]["after"]["bytes"], 80.0, "{value:#}");
}

#[test]
fn what_is_set_around_it_is_measured_anew() {
    let repository = linear(4, 2);
    let good = repository.named("c0");
    let args = ["bisect", &good, "--scenario", "churn", "--overlay", "never"];
    repository.plimsoll(&args);
    for (name, value) in [
        ("PLIMSOLL_MAX_ITERATIONS", "5000"),
        ("PLIMSOLL_MALLOC_CONF", "tcache:false"),
        ("CARGO_PROFILE_DEV_OPT_LEVEL", "1"),
        ("CARGO_BUILD_TARGET", "x86_64-unknown-linux-musl"),
        ("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-cpu=native"),
    ] {
        let builds = repository.builds();
        let ran = repository.plimsoll_with(&args, (name, value));
        assert_eq!(ran.status, Some(0), "{ran}");
        assert!(repository.builds() > builds, "{name}");
    }
    // These change nothing of what is found.
    for (name, value) in [("PLIMSOLL_VERBOSE", "1"), ("CARGO_BUILD_JOBS", "1")] {
        let builds = repository.builds();
        repository.plimsoll_with(&args, (name, value));
        assert_eq!(repository.builds(), builds, "{name}");
    }
}

#[test]
fn what_the_machine_did_is_not_held_against_the_commit() {
    let history = |state| Repository::history(&["good", "good", state, "bad", "bad"]);
    let repository = history("full");
    let (ran, _) = repository.bisect(&[&repository.named("c0")]);
    assert_eq!(ran.status, Some(129), "{ran}");
    assert!(ran.stderr.contains("the disk is full"), "{ran}");
    // Ended for want of memory: tried again the next time.
    let repository = history("killed");
    for _ in 0..2 {
        let builds = repository.builds();
        let (_, value) = repository.bisect(&[&repository.named("c0")]);
        assert_eq!(value["result"], "one-of", "{value:#}");
        assert_eq!(value["tested"][0]["kind"], "build killed");
        assert!(repository.builds() > builds);
    }
}

#[test]
fn an_answer_is_said_though_its_files_cannot_be_written() {
    let repository = linear(4, 2);
    let good = repository.named("c0");
    for option in ["--flamegraph", "--log"] {
        let (ran, value) = repository.bisect(&[&good, option, "Cargo.toml/file"]);
        found(&value, &repository.named("c2"));
        assert_eq!(ran.status, Some(129), "{ran}");
        assert!(ran.stderr.contains("Cargo.toml/file"), "{ran}");
    }
}

#[test]
fn what_is_not_there_is_named_and_what_is() {
    let repository = linear(2, 1);
    let ran = repository.plimsoll(&["bisect", "HEAD~1", "--test", "soak"]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert!(ran.stderr.contains("is called `soak`"), "{ran}");
    let other = [
        "bisect",
        "HEAD~1",
        "--scenario",
        "fill",
        "--overlay",
        "never",
    ];
    let ran = repository.plimsoll(&other);
    assert!(ran.stderr.contains("no `fill`, but churn"), "{ran}");
}

#[test]
fn a_growth_that_begins_late_is_bad() {
    // Say a cache that leaks what it drops, and was larger at first.
    let states = ["good", "good", "late", "late", "late", "bad", "bad", "bad"];
    let repository = Repository::history(&states);
    let (ran, value) = repository.bisect(&[&repository.named("c0")]);
    assert_eq!(ran.status, Some(0), "{ran}");
    found(&value, &repository.named("c2"));
}
