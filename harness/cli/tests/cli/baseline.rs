//! `plimsoll baseline`, the real binary over baselines and reports made by hand.

use insta::assert_snapshot;
use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, Standing, Subject};
use serde_json::Value;

use crate::project::{
    self, BASELINE, Project, RATE, finding, of_test, rate, report, stack, unused, within,
};
use crate::schema::Schema;

const PUT: &str = "\
format = 1

[measured]
target = 'x86_64-unknown-linux-gnu'
profile = 'debug'
toolchain = 'rustc 1.95.0'
jemalloc = '5.3.0'
sample-interval = 1
iterations = 65536

[[allow]]
stack = ['...', 'lru::fill', 'lru::put']
objects = 1.0
bytes = 96.0
law = 'linear'
reason = 'the index is never pruned'
issue = 'https://example.org/issues/7'
";
const THREADS: &str = "
[[allow]]
resource = 'threads'
objects = 1.0
law = 'linear'
expires = 2001-01-31
";

/// With a baseline of a scenario that was measured, and that needs all of its first allowance.
fn with(baseline: &str) -> Project {
    let project = Project::with(&[used(RATE)]);
    project.write(BASELINE, baseline);
    project
}

fn agreed() -> Project {
    with(&(PUT.to_owned() + THREADS))
}

/// A run that needs so much of the first allowance.
fn used(rate: Rate) -> Report {
    let mut report = within("r1", "lru_churn");
    report.findings = vec![Finding {
        verdict: Verdict::Within,
        standing: Standing::Allowed,
        allowed: RATE,
        ..finding("main lru::fill lru::put", rate)
    }];
    report
}

/// What depends on the day on which the test runs is left out.
fn without_days(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if let Some((start, _)) = line.split_once("today is ") {
            format!("{start}today is DAY\n")
        } else if let Some((start, rest)) = line.split_once(" days") {
            let start = start.trim_end_matches(|char: char| char.is_ascii_digit() || char == ',');
            format!("{start}N days{rest}\n")
        } else {
            format!("{line}\n")
        }
    });
    lines.collect()
}

#[test]
fn list() {
    let project = agreed();
    project.write(
        "other/baselines/http++echo.toml",
        "format = 1\n[[allow]]\nstack = ['a', 'b']\nobjects = 0.5\nbytes = 4\nlaw = 'stepped'\n\
         expires = 9999-12-31\n",
    );
    let list = project.typed("baseline list").to_string();
    assert_snapshot!(without_days(&list), @"
    baselines/lru_churn.toml: 2 allowances (debug, 65,536 iterations, exact)
      lru::put (3 frames)
        allows 96 B, 1.00 objects per iteration, linear
        needs 96 B, 1.00 objects
        reason: the index is never pruned
        issue: https://example.org/issues/7
        age: unknown, not committed
      threads
        allows 1.00 threads per iteration, linear
        needs: unknown, no result of it in the newest run
        reason: none
        expired: its last day was 2001-01-31
        age: unknown, not committed

    other/baselines/http++echo.toml: 1 allowance
      b (2 frames)
        allows 4 B, 0.50 objects per iteration, stepped
        needs: unknown, no result of it in the newest run
        reason: none
        expires: 9999-12-31, in N days
        age: unknown, not committed

    2 baselines, 3 allowances
    --- 0
    ");
    // One alone has its frames.
    project.write("baselines/pool.toml", "format = 1\n");
    let show = project.ok("baseline show lru_churn").stdout;
    let (put, rest) = show.split_once("    allows").unwrap();
    assert_snapshot!(put, @"
    baselines/lru_churn.toml: 2 allowances (debug, 65,536 iterations, exact)
      lru::put
        └ lru::fill
        └ ...
    ");
    let (_, listed) = list.split_once("    allows").unwrap();
    assert_eq!(listed.split_once("other/").unwrap().0, rest);
}

#[test]
fn without_baselines_nothing_may_grow() {
    let lines = ["baseline list", "baseline check", "baseline show lru_churn"];
    assert_snapshot!(Project::new().said(&lines), @"
    > baseline list
    0 baselines, 0 allowances
    --- 0
    > baseline check
    0 baselines, 0 allowances
    --- 0
    > baseline show lru_churn
    lru_churn: no baseline, nothing may grow
    --- 0
    ");
    // A name that no scenario has is warned of.
    let warns =
        ["warning: no measured test has a scenario `lru_chrun`\n  expected one of http::echo, lr"];
    agreed().says("baseline show lru_chrun", 0, &warns);
    let nothing = ["http::echo: no baseline, nothing may grow\n--- 0\n"];
    let ran = agreed().says("baseline show http::echo", 0, &nothing);
    assert_eq!(ran.stderr, "");
}

#[test]
fn ages_are_gits() {
    let project = agreed();
    project.git("init --quiet", "2001-01-01");
    project.git("add baselines", "2001-01-01");
    project.git("commit --quiet -m agree", "2001-01-02");
    project.replace(BASELINE, "never", "hardly");
    project.git("commit --quiet -am why", "2001-02-03");
    let descriptors = "\n[[allow]]\nresource = 'descriptors'\nobjects = 1\nlaw = 'linear'\n";
    project.append(BASELINE, descriptors);
    let shown = without_days(&project.typed("baseline list").stdout);
    let ages: Vec<&str> = shown.lines().filter(|line| line.contains("age:")).collect();
    assert_snapshot!(ages.join("\n"), @"
        age: N days, unchanged since 2001-02-03
        age: N days, unchanged since 2001-01-02
        age: unknown, not committed
    ");
}

#[test]
fn check() {
    let project = agreed();
    let checked = project.typed("baseline check").to_string();
    assert_snapshot!(without_days(&checked), @"
    1 baseline, 2 allowances: 1 error, 1 warning
    --- 1
    error: baselines/lru_churn.toml:19: the allowance of threads has expired
      its last day was 2001-01-31, and today is DAY
      hint: fix the growth, or accept it again after a run: `plimsoll accept lru_churn --expires YYYY-MM-DD`
    warning: baselines/lru_churn.toml:19: the allowance of threads has no reason
      a reviewer cannot know why this growth is accepted
      hint: write `reason = \"…\"` below it
    ");
    project.replace(BASELINE, "2001-01-31", "9999-12-31");
    project.says("baseline check", 0, &["allowances: 1 warning\n"]);
}

#[test]
fn what_ends_in_any_frames_is_called_by_the_last_that_has_a_name() {
    let project = with(PUT);
    project.replace(BASELINE, "'lru::put'", "'...'");
    project.replace(BASELINE, "reason =", "expires = 2001-01-31\nreason =");
    let what = "lru_churn.toml:11: the allowance of lru::fill has expired\n";
    project.says("baseline check", 1, &[what]);
    project.says("baseline list", 0, &["\n  lru::fill (3 frames)\n"]);
}

#[test]
fn a_reason_that_is_required() {
    let project = agreed();
    project.replace(BASELINE, "2001-01-31", "9999-12-31");
    project.write("plimsoll.toml", "require-reason = true\n");
    let says =
        ["threads has no reason\n  `require-reason = true` needs one\n  hint: write `reason"];
    project.says("baseline check", 1, &says);
    project.ok("PLIMSOLL_REQUIRE_REASON=false baseline check");
    project.append(BASELINE, "reason = ' '\n");
    project.says("baseline check", 1, &[]);
    project.write("plimsoll.toml", "require-reason = 'yes'\n");
    let says = ["error: plimsoll.toml:1: `require-reason`: unexpected value"];
    project.says("baseline check", 5, &says);
}

#[test]
fn what_cannot_be_read() {
    let project = agreed();
    project.write("baselines/newer.toml", "format = 2\n");
    project.write(BASELINE, "format = 1\n[[alow]]\n");
    project.write("baselines/a b.toml", "format = 1\n");
    // Neither is a baseline.
    project.write("baselines/.lru_churn.toml.x.tmp", "");
    project.write("baselines/README.md", "");
    let checked = project.says("baseline check", 1, &[]).stderr;
    assert_snapshot!(checked, @"
    error: baselines/a b.toml: no scenario can be called `a b`
      hint: remove or rename the file
    error: baselines/lru_churn.toml:2: unknown key `alow`
      expected one of `format`, `measured`, `allow`
      hint: did you mean `allow`?
    error: baselines/newer.toml:1: written by a newer plimsoll
      expected format 1 or older, found 2
      hint: upgrade, or remove the file and re-record with `plimsoll accept newer`
    ");
    let listed = project.typed("baseline list");
    assert_eq!(listed.stderr, checked);
    let says = "lru_churn.toml: cannot be read\n";
    listed.has(5, &[says, "3 baselines, 0 allowances\n"]);
    project.says("baseline show lru_churn", 5, &[]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file() {
    let project = Project::with(&[project::regressed("r1", "lru_churn", "main", RATE)]);
    let pipe = |path: &str| project.run("mkfifo", &[path], &[]).has(0, &[]);
    std::fs::create_dir_all(project.path("baselines/http++echo.toml")).unwrap();
    pipe(BASELINE);
    std::os::unix::fs::symlink("lru_churn.toml", project.path("baselines/linked.toml")).unwrap();
    pipe("plimsoll.toml");
    let lines = ["accept lru_churn", "config show"];
    assert_snapshot!(project.said(&lines), @"
    > accept lru_churn
    --- 5
    error: cannot read baselines/lru_churn.toml: expected a file, found a pipe, a socket or a device
    > config show
    --- 5
    error: plimsoll.toml: expected a file, found a pipe, a socket or a device
    ");
    std::fs::remove_file(project.path("plimsoll.toml")).unwrap();
    assert_snapshot!(project.typed("baseline check"), @"
    3 baselines, 0 allowances: 3 errors
    --- 1
    error: baselines/http++echo.toml: expected a file, found a folder
    error: baselines/linked.toml: expected a file, found a pipe, a socket or a device
    error: baselines/lru_churn.toml: expected a file, found a pipe, a socket or a device
    ");
}

#[test]
fn a_scenario_that_no_test_has() {
    let project = with("format = 1\n");
    project.write("baselines/renamed.toml", "format = 1\n");
    assert_snapshot!(project.typed("baseline check"), @"
    2 baselines, 0 allowances: 1 error
    --- 1
    error: baselines/renamed.toml: no measured test has a scenario `renamed`
      expected one of http::echo, lru_churn
      hint: `git rm baselines/renamed.toml`, or give the file the scenario's new name
    ");
    // Another package has its baselines in the same folder, and was not measured.
    project.write("other/tests/leaks-too.rs", "plimsoll::main!(renamed());\n");
    let says = ["may have it; measure them: other (test target leaks_too)\n"];
    project.says("baseline check", 0, &says);
    let mut other = of_test("other", "leaks_too", within("r2", "renamed"));
    other.run.scenarios = vec!["renamed".to_owned()];
    project.leave(&other, 1);
    let fine = "2 baselines, 0 allowances\n--- 0\n";
    assert_eq!(project.typed("baseline check").to_string(), fine);
    // Nobody can tell where nothing was measured.
    std::fs::remove_dir_all(project.path("target")).unwrap();
    let says = ["note: nothing was measured here, so neither the scenarios nor their needs are"];
    project.says("baseline check", 0, &says);
}

#[test]
fn a_scenario_that_two_tests_have() {
    let project = with(PUT);
    let test = "plimsoll::main!(lru_churn());\n";
    project.write("other/tests/leaks-too.rs", test);
    project.leave(&of_test("other", "leaks_too", used(RATE)), 1);
    assert_snapshot!(project.typed("baseline check"), @"
    1 baseline, 1 allowance: 1 warning
    --- 0
    warning: baselines/lru_churn.toml: several tests share this file, and an allowance that one needs is stale for another
      a scenario `lru_churn` is in demo (test target leaks) and in other (test target leaks_too)
      hint: rename one, or give its package a plimsoll.toml, and so baselines of its own
    ");
    // Nothing is accepted that could be taken for another's.
    project.write(BASELINE, "format = 1\n");
    let ran = project.ok("baseline check");
    assert_eq!(ran.stderr, "");
}

#[test]
fn what_is_not_needed() {
    let project = with(PUT);
    let put = Subject::Stack(stack("... lru::fill lru::put"));
    let mut stale = report("r1", "lru_churn", Verdict::Improved);
    stale.findings = vec![unused(put, Standing::Stale)];
    project.leave(&stale, 0);
    assert_snapshot!(project.typed("baseline check"), @"
    1 baseline, 1 allowance: 1 warning
    --- 0
    warning: baselines/lru_churn.toml:11: the allowance of lru::put is no longer needed
      hint: remove it with `plimsoll accept lru_churn`
    ");
    let half = |error: f64| {
        let mut report = used(rate(0.3, 30.0));
        report.findings[0].error = rate(0.01, error);
        project.leave(&report, 0);
        project.ok("baseline check")
    };
    assert_snapshot!(half(2.5), @"
    1 baseline, 1 allowance: 1 warning
    --- 0
    warning: baselines/lru_churn.toml:11: the allowance of lru::put is more than twice what it needs
      it allows 96 B, 1.00 objects, the newest run needed 32.5 B, 0.31 objects
      hint: `objects = 0.31`, `bytes = 32.5` is enough; `plimsoll accept lru_churn --lower` writes it
    ");
    assert_eq!(half(18.5).stderr, "");
    let nothing = "nothing to accept in any scenario of the last run\n";
    assert_eq!(project.typed("accept --lower").stdout, nothing);

    half(2.5);
    let unasked = project.typed("accept lru_churn");
    unasked.has(0, &["lru_churn: nothing to accept, it is within\n"]);
    project.ok("accept --lower");
    let lower = PUT.replace("objects = 1.0", "objects = 0.31");
    let lower = lower.replace("bytes = 96.0", "bytes = 32.5");
    let written = project.read(BASELINE);
    assert!(written.ends_with(lower.split_once("[[allow]]").unwrap().1));
    let again = project.typed("accept --lower lru_churn");
    again.has(0, &["nothing to accept"]);
    assert_eq!(project.read(BASELINE), written);
}

#[test]
fn json() {
    let project = agreed();
    let schema = include_str!("../../schema/baselines-v1.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    project.write("baselines/newer.toml", "format = 2\n");
    let printed = |command: &str, status: i32| -> Value {
        let line = format!("baseline {command} --json");
        let value = project.says(&line, status, &[]).json();
        assert_eq!(Schema::of(&schema).errors(&value), [""; 0]);
        value
    };
    let list = printed("list", 5);
    let [put, threads] = [0, 1].map(|at| &list["baselines"][0]["allowances"][at]);
    assert_eq!(put["stack"][2], "lru::put");
    assert_eq!(put["need"]["rate"]["bytes"], 96.0);
    assert_eq!(put["line"], 11);
    assert_eq!(put["age_in_days"], Value::Null);
    assert!(threads["days_left"].as_i64().unwrap() < -9_000);
    let check = printed("check", 1);
    assert_eq!(check["passed"], false);
    let problems = check["problems"].as_array().unwrap().iter();
    let rules: Vec<&str> = problems.map(|one| one["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["expired", "no-reason", "newer-format"]);
}

#[test]
fn what_a_file_says_is_escaped() {
    let project = Project::new();
    project.write(
        BASELINE,
        "format = 1\n[[allow]]\nstack = [\"a\\u001b[31m\"]\nobjects = 1\nbytes = 1\n\
         law = 'linear'\nreason = \"\\u001b]0;x\\n\"\nexpires = 2001-01-01\n",
    );
    for (command, status) in [("list", 0), ("check", 1), ("show lru_churn", 0)] {
        let said = project.says(&format!("baseline {command}"), status, &["\\u{1b}"]);
        said.lacks(&["\u{1b}"]);
    }
}

#[test]
fn another_manifest() {
    let project = agreed();
    let manifest = project.path("Cargo.toml");
    let line = format!("baseline list --manifest-path {}", manifest.display());
    Project::new().says(&line, 0, &["1 baseline, 2 allowances\n"]);
}
