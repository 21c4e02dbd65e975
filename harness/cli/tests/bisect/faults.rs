//! Everything around the measuring: histories, faults, what stays as it was.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::fake::{ASKED, HELD, Repository, UNUSABLE, linear};
use crate::git::git as git_in;
use crate::project::Ran;

#[test]
fn every_place_is_found_in_few_builds_and_none_a_second_time() {
    for (commits, first_bad) in [(2, 1), (3, 2), (20, 7), (20, 19)] {
        let repository = linear(commits, first_bad);
        let find = || repository.finds("c0", &format!("c{first_bad}"));
        let steps = usize::try_from((commits - 1).next_power_of_two().ilog2()).unwrap();
        let value = find();
        let builds = repository.builds();
        assert!(builds <= steps + 3, "{commits}: {builds}");
        assert_eq!(value["builds"], builds);
        let value = find();
        assert_eq!(repository.builds(), builds);
        assert_eq!(value["builds"], 0);
        let mut tested = value["tested"].as_array().unwrap().iter();
        assert!(tested.all(|test| test["cached"] == true), "{value:#}");
    }
}

/// Each in a row of them, where none tells the others apart; so all are tried.
#[test]
fn what_cannot_be_measured_is_skipped_with_its_reason() {
    let states: Vec<&str> = UNUSABLE.iter().map(|(state, _)| *state).collect();
    let repository = Repository::history(&format!("good {} bad", states.join(" ")));
    let value = repository.comes_to("c0", 3, "one-of");
    let [candidates, tested] = ["candidates", "tested"].map(|key| value[key].as_array().unwrap());
    assert_eq!(candidates.len(), UNUSABLE.len() + 1);
    assert_eq!(tested.len(), UNUSABLE.len());
    for (at, (state, kind)) in UNUSABLE.into_iter().enumerate() {
        let commit = repository.named(&format!("c{}", at + 1));
        let test = tested.iter().find(|test| test["commit"] == *commit);
        let test = test.unwrap_or_else(|| panic!("{state}: {value:#}"));
        assert_eq!([&test["answer"], &test["kind"]], ["skip", kind]);
        assert!(!test["reason"].as_str().unwrap().is_empty());
    }
}

#[test]
fn where_git_asks_about_one_that_cannot_be_measured() {
    let repository = Repository::history("good good good good unbuildable good bad bad bad");
    let value = repository.finds("c0", "c6");
    let tested = value["tested"].as_array().unwrap();
    let skipped = tested.iter().find(|test| test["answer"] == "skip").unwrap();
    assert_eq!(skipped["commit"], repository.named("c4"));

    // git comes to the same answer by the log.
    let (top, log) = (repository.top(), repository.outer().join("log"));
    let clone = format!("clone --quiet {} scratch", top.display());
    git_in(repository.outer(), &clone);
    let steps = value["log"].as_str().unwrap();
    // A replay checks commits out, as a bisection by hand would.
    assert!(!steps.contains("--no-checkout"), "{steps}");
    fs::write(&log, steps).unwrap();
    let scratch = repository.outer().join("scratch");
    let said = git_in(&scratch, &format!("bisect replay {}", log.display()));
    let expected = format!("{} is the first bad commit", repository.named("c6"));
    assert!(said.contains(&expected), "{said}");
}

/// What it is told by the answer of one commit: a baseline that does not fit is nothing
/// to skip for; and a cache that leaks what it drops, and was larger at first, is bad.
#[test]
fn what_is_bad_without_looking_so() {
    for state in ["unfit-baseline", "late"] {
        let states = format!("good good {state} {state} bad bad");
        Repository::history(&states).finds("c0", "c2");
    }
}

/// It is copied over them: at once where no test mentions the scenario, or when the test that was
/// built does not have it.
#[test]
fn where_the_tests_of_older_commits_lack_the_scenario() {
    for (test, builds) in [("// other\n", 2), ("// no churn\n", 3)] {
        let repository = Repository::new();
        repository.write("tests/leaks.rs", test);
        repository.commit("older", "c0");
        repository.write("tests/leaks.rs", "// churn\n");
        repository.commit("bad", "c1");
        let found = " is the first commit with which churn grows past the good rate";
        let ran = repository.plimsoll("bisect c0 --scenario churn");
        ran.has(0, &[found]);
        assert_eq!(repository.builds(), builds, "{test}");
    }
}

#[test]
fn a_revision_without_a_lock_file_has_that_of_the_working_tree() {
    let repository = Repository::new();
    repository.write(".gitignore", "target\nCargo.lock\n");
    repository.commit("good", "c0");
    repository.commit("bad", "c1");
    repository.finds("c0", "c1");
}

#[test]
fn a_build_and_a_test_that_take_too_long_are_ended() {
    let repository = Repository::history("good slow endless bad");
    let value = repository.comes_to("c0 --timeout 5s", 3, "one-of");
    let tested = value["tested"].as_array().unwrap().iter();
    let kinds: BTreeSet<&str> = tested.map(|test| test["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["hangs", "not built in time"]));
    nothing_runs(&repository);
}

#[test]
fn an_end_that_cannot_be_measured_stops_it_and_the_nearest_that_can_be_built_is_named() {
    for row in [
        "unbuildable good bad | does not build | c1 | 2",
        "unbuildable unbuildable unbuildable unbuildable good bad | does not build | c4 | 5",
        // The good end was measured by then.
        "good bad bad no-scenario unbuildable | does not build | c2 | 4",
        "unbuildable unbuildable unbuildable | does not build | of 2 others that were tried, up to \
         the other end, none can be built | 3",
        // What the workload does is another matter.
        "failed good bad | workload failed: panicked | hint: name another commit for it | 1",
        "good bad hung | hangs: hung | hint: name another commit for it | 2",
    ] {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [states, why, hint, builds] = cells[..] else {
            panic!("{row}")
        };
        let repository = Repository::history(states);
        // So is the working tree.
        repository.write("state", "bad\n");
        let before = repository.everything();
        let ran = repository.bisect("c0").0.has(129, &[why]);
        assert_eq!(repository.everything(), before, "{states}");
        let is_commit = hint.len() == 2;
        let expected = if is_commit {
            &repository.named(hint)[..9]
        } else {
            hint
        };
        assert!(ran.stderr.trim_end().ends_with(expected), "{row}: {ran}");
        let built = repository.builds();
        assert_eq!(built.to_string(), builds, "{row}");
        // Named in its place, nothing that was tried is tried again.
        if is_commit && states.starts_with("unbuildable") {
            repository.comes_to(expected, 0, "found");
            continue;
        }
        // An end is tried again: what was in the way may be gone.
        repository.bisect("c0").0.has(129, &[why]);
        assert!(repository.builds() > built, "{row}");
    }
}

#[test]
fn a_skip_says_whether_it_was_known_and_why_it_is_one() {
    let repository = Repository::history("good lockfile unbuildable bad");
    for known in [false, true] {
        let (ran, value) = repository.bisect("c0");
        let why = "failed to select a version for the requirement; required by package `demo`";
        let ran = ran.has(3, &[why]);
        for (subject, lasts) in [("c1", false), ("c2", true)] {
            let start = format!("skip  {}  ", &repository.named(subject)[..9]);
            let line = ran.stderr.lines().find(|line| line.starts_with(&start));
            let line = line.unwrap_or_else(|| panic!("{subject}: {ran}"));
            assert_eq!(line.contains("(measured before)"), known && lasts, "{line}");
        }
        assert_eq!(value["tested"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn a_second_leak_is_not_the_answer_unless_it_is_asked_for() {
    let repository = Repository::history("good bad bad both both");
    repository.finds("c0", "c1");
    repository.finds("c0 --stack push", "c3");
}

/// Where it grows at the earlier end alone, the question is which commit fixed it.
#[test]
fn which_commit_mended_it() {
    let repository = Repository::history("bad bad bad good good good");
    let value = repository.finds("c0", "c3");
    assert_eq!(value["change"], "fixed", "{value:#}");
    let says = [
        " is the first commit with which churn no longer grows past the good rate\n",
        "  change  fixed\n",
    ];
    repository.ask("bisect c0").has(0, &says);
    let repository = Repository::history("bad bad unbuildable good good");
    let value = repository.comes_to("c0", 3, "one-of");
    assert_eq!(value["change"], "fixed");
    // What is brought goes before what is fixed.
    let repository = Repository::history("other other bad bad");
    assert_eq!(repository.finds("c0", "c2")["change"], "brought");
}

#[test]
fn ends_that_do_not_differ() {
    for (state, word) in [("good", "grows"), ("bad", "as fast")] {
        let repository = Repository::history(&format!("{state} {state} {state}"));
        repository.comes_to("c0", 3, "no-difference");
        assert_eq!(repository.builds(), 2);
        repository.ask("bisect HEAD~2").has(3, &[word, "hint:"]);
    }
}

#[test]
fn a_merge_and_what_came_with_it() {
    let repository = Repository::history("good good");
    repository.git("checkout --quiet -b side");
    repository.commit("good", "s0");
    repository.commit("bad", "s1");
    repository.commit("bad", "s2");
    repository.git("checkout --quiet main");
    repository.write("main.txt", "");
    repository.git("add --all");
    repository.git("commit --quiet --message m0");
    repository.git("merge --quiet --no-ff --message merged side");
    repository.commit("bad", "m1");
    repository.finds("c0", "s1");
    let value = repository.finds("c0 --first-parent", "merged");
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
    repository.finds("c0 -- crates/cache", "c6");
    repository.refuses("c0 -- no/such/folder", 2, "no/such/folder");
}

#[test]
fn histories_that_lack_something() {
    let repository = linear(9, 4);
    let from = repository.top();
    let clone = format!("clone --quiet --depth 3 file://{} shallow", from.display());
    git_in(repository.outer(), &clone);
    let mut shallow = repository.command(&format!("bisect c0 {ASKED}"));
    shallow.current_dir(repository.outer().join("shallow"));
    Ran::of(&shallow.output().unwrap()).has(2, &["shallow", "--unshallow"]);

    // Rewritten: nothing in common.
    repository.git("checkout --quiet --orphan other");
    repository.commit("bad", "rewritten");
    repository.refuses("c0", 2, "no commit in common");
    repository.git("checkout --quiet main");
    repository.refuses("no-such-tag", 2, "no commit `no-such-tag`");
    repository.refuses("HEAD HEAD", 2, "both ends");
    repository.refuses("HEAD HEAD~3", 2, "comes after");
}

#[test]
fn a_good_end_on_another_branch() {
    // Main goes on bad, and the branch fixed it.
    let repository = Repository::history("good bad bad bad");
    repository.git("checkout --quiet -b release c1");
    repository.commit("good", "released");
    repository.git("checkout --quiet main");
    repository.comes_to("release", 3, "bad-merge-base");
}

#[test]
fn submodules_come_along() {
    let repository = Repository::new();
    let sub = repository.outer().join("sub");
    fs::create_dir(&sub).unwrap();
    git_in(&sub, "init --quiet");
    let at = |state: &str| {
        fs::write(sub.join("state"), format!("{state}\n")).unwrap();
        git_in(&sub, "add --all");
        git_in(&sub, &format!("commit --quiet --message {state}"));
    };
    at("good");
    repository.git(&format!("submodule --quiet add {} sub", sub.display()));
    repository.commit("good", "c0");
    repository.commit("good", "c1");
    at("bad");
    repository.git("submodule --quiet update --remote");
    repository.commit("good", "c2");
    repository.commit("good", "c3");
    // Whether a file may be a submodule's address is the user's to say.
    let allow = "config --file .gitconfig protocol.file.allow always";
    git_in(repository.outer(), allow);
    repository.finds("c0", "c2");
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Goes on with cargo otherwise, and finds it.
#[track_caller]
fn resumes(repository: &Repository, from: &str, to: &str, subject: &str) -> Value {
    let cargo = repository.outer().join("cargo");
    let text = fs::read_to_string(&cargo).unwrap();
    fs::write(&cargo, text.replacen(from, to, 1)).unwrap();
    let ran = repository.plimsoll("bisect --resume --json");
    let value = ran.has(0, &[]).json();
    assert_eq!(value["result"], "found", "{value:#}");
    assert_eq!(value["first_bad"]["commit"], repository.named(subject));
    value
}

/// Asserts that no program of the repository runs, nor one that such a program has started.
#[track_caller]
fn nothing_runs(repository: &Repository) {
    let running = Ran::of(&Command::new("ps").args(["-eo", "args"]).output().unwrap());
    running.lacks(&[repository.outer().to_str().unwrap()]);
}

#[test]
fn stopped_it_leaves_nothing_behind_and_goes_on_later() {
    let repository = Repository::history("good good good good slow bad bad bad bad");
    let before = repository.everything();
    let mut child = repository.start(&format!("bisect c0 {ASKED}"));
    // The ends, and the first step, which is slow.
    until(|| repository.builds() == 3);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(repository.everything(), before);
    nothing_runs(&repository);

    // Now it builds at once.
    let builds = repository.builds();
    resumes(&repository, "sh -c 'sleep 1000; :'", "state=good #", "c5");
    assert!(repository.builds() - builds <= 3, "{}", repository.builds());
    repository.plimsoll("bisect --resume").has(2, &[]);
}

#[test]
fn a_worktree_that_was_left_is_found() {
    let repository = linear(4, 2);
    let path = repository.outer().join(".repo.plimsoll-bisect");
    let add = format!("worktree add --quiet --detach {} c0", path.display());
    repository.git(&add);
    repository.refuses("c0", 2, "--remove-stale");
    repository.finds("c0 --remove-stale", "c2");
    assert!(!path.exists());
    // A folder that git knows nothing of, too.
    fs::create_dir(&path).unwrap();
    repository.finds("c0 --remove-stale", "c2");
}

/// Where others can make folders, the worktree's name is one that they can guess.
#[test]
fn a_worktree_that_others_could_have_made() {
    let repository = linear(2, 1);
    let cache = repository.outer().join("cache");
    let search = |status: i32, says: &[&str]| {
        let line = format!("XDG_CACHE_HOME={} bisect HEAD~1", cache.display());
        repository.ask(&line).has(status, says);
    };
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let built_in_cache = || {
        let all = repository.built();
        let of_cache = |one: &&String| one.contains("/cache/plimsoll/.repo.plimsoll-bisect-");
        (all.iter().filter(of_cache).count(), all.len())
    };

    // A link to what is somebody else's.
    let elsewhere = repository.outer().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let beside = repository.outer().join(".repo.plimsoll-bisect");
    symlink(&elsewhere, &beside).unwrap();
    search(0, &[]);
    let (of_cache, all) = built_in_cache();
    assert!(of_cache > 0 && of_cache == all, "{of_cache} of {all}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    let made = fs::metadata(cache.join("plimsoll")).unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o700);
    fs::remove_file(&beside).unwrap();

    // Nothing is there yet, and anybody may take it away again.
    fs::remove_dir_all(repository.top().join("target")).unwrap();
    mode(repository.outer(), 0o777);
    search(0, &[]);
    let (again, all) = built_in_cache();
    assert!(again > of_cache && again == all, "{again} of {all}");

    mode(&cache.join("plimsoll"), 0o777);
    search(2, &["no other user can write to"]);

    // In a folder like /tmp nobody can.
    mode(repository.outer(), 0o1777);
    fs::remove_dir_all(repository.top().join("target")).unwrap();
    search(0, &[]);
    let (of_cache, now) = built_in_cache();
    assert!(now > all && of_cache == again);
}

/// Into a folder, and back: each revision is built, and its test run, where it is there.
#[test]
fn a_workspace_that_moved_in_its_repository() {
    let repository = Repository::new();
    let moved = |from: &str, to: &str| {
        fs::create_dir_all(repository.top().join("rust")).unwrap();
        for name in ["Cargo.toml", "Cargo.lock", "src", "tests", "state"] {
            repository.git(&format!("mv {from}{name} {to}{name}"));
        }
        repository.git("commit --quiet --message moved");
    };
    let commit = |state: &str, name: &str| {
        repository.write("rust/state", &format!("{state}\n"));
        repository.write("rust/src/edited.rs", name);
        repository.git("add --all");
        let line = format!("commit --quiet --message {name}");
        git_in(&repository.top(), &line);
    };
    repository.commit("good", "c0");
    repository.commit("good", "c1");
    moved("", "rust/");
    for (state, name) in [("good", "c2"), ("bad", "c3"), ("bad", "c4")] {
        commit(state, name);
    }
    repository.finds("c0 --manifest-path rust/Cargo.toml", "c3");

    // The bad end does not have the folder that the good one has.
    commit("good", "d0");
    moved("rust/", "");
    repository.commit("bad", "d1");
    repository.commit("bad", "d2");
    repository.finds("d0", "d1");
}

#[test]
fn what_people_read() {
    let repository = linear(6, 3);
    let parts = [
        "is the first commit with which churn grows past the good rate",
        "subject c3",
        "before  0 B, 0.00 objects",
        "after   +80 B, 1.00 objects",
        "src/edited.rs",
        "growth.svg",
        HELD,
    ];
    let text = repository.ask("bisect c0").has(0, &parts);
    let mut lines = text.stdout.lines();
    let fits = |line: &str| line.chars().count() <= 100 || line.trim() == HELD;
    assert!(lines.all(fits), "{text}");
    let steps = ["about 2 steps", "about 1 step"];
    let counted = steps.iter().any(|steps| text.stderr.contains(steps));
    assert!(counted, "{text}");
    let parts = ["| Subject | `c3` |", &format!("Its objects: `{HELD}`")];
    let markdown = repository.ask("bisect --format markdown c0").has(0, &parts);
    assert!(markdown.stdout.starts_with("### "), "{markdown}");
    let svg = repository.top().join("target/plimsoll-bisect/growth.svg");
    assert!(fs::read_to_string(svg).unwrap().contains("store"));
}

#[test]
fn what_ctrl_c_ended_is_not_held_against_the_commit() {
    let repository = Repository::history("good good good good slow-metadata bad bad bad bad");
    let child = repository.start(&format!("bisect c0 {ASKED}"));
    let reached = repository.outer().join("builds.metadata");
    until(|| reached.exists());
    // As a terminal does it: to the whole group.
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    fs::remove_file(&reached).unwrap();
    let mended = "[ \"$state\" = slow-metadata ] && state=good\ntarget=$";
    let value = resumes(&repository, "target=$", mended, "c5");
    let mut tested = value["tested"].as_array().unwrap().iter();
    assert!(tested.all(|test| test["answer"] != "skip"), "{value:#}");
}

#[test]
fn a_first_bad_commit_with_other_names_has_its_own_rate() {
    let value = Repository::history("good good renamed renamed bad bad").finds("c0", "c2");
    assert_eq!(value["first_bad"]["before"]["bytes"], 0.0, "{value:#}");
    assert_eq!(value["first_bad"]["after"]["bytes"], 80.0, "{value:#}");
}

#[test]
fn what_is_set_around_it_is_measured_anew() {
    let repository = linear(4, 2);
    repository.ask("bisect c0");
    let builds = repository.builds();
    let fewer = repository.ask("PLIMSOLL_MAX_ITERATIONS=5000 bisect c0");
    fewer.has(0, &[]);
    assert!(repository.builds() > builds);
}

#[test]
fn what_the_machine_did_is_not_held_against_the_commit() {
    let history = |state| Repository::history(&format!("good good {state} bad bad"));
    history("full").refuses("c0", 129, "the disk is full");
    // Ended for want of memory: tried again the next time.
    let repository = history("killed");
    for _ in 0..2 {
        let builds = repository.builds();
        let value = repository.comes_to("c0", 3, "one-of");
        assert_eq!(value["tested"][0]["kind"], "build killed");
        assert!(repository.builds() > builds);
    }
}

#[test]
fn an_answer_is_said_though_its_files_cannot_be_written() {
    let repository = linear(4, 2);
    for option in ["--flamegraph", "--log"] {
        let (ran, value) = repository.bisect(&format!("c0 {option} Cargo.toml/file"));
        let ran = ran.has(129, &[]);
        assert!(ran.stderr.contains("Cargo.toml/file"), "{ran}");
        assert_eq!(value["first_bad"]["commit"], repository.named("c2"));
    }
}

#[test]
fn what_is_not_there_is_named_and_what_is() {
    let repository = linear(2, 1);
    let bisect = |options: &str| repository.plimsoll(&format!("bisect HEAD~1 {options}"));
    bisect("--test soak").has(2, &["is called `soak`"]);
    bisect("--scenario fill").has(129, &["no `fill`, but churn"]);
}
