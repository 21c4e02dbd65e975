//! `plimsoll baseline`, the real binary over baselines and reports made by hand.

mod project;

use std::process::Command;

use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, Standing, Subject};
use plimsoll_core::{FoldedStack, Rate};
use serde_json::Value;

use project::{Project, Ran, finding, report};

const RATE: Rate = Rate {
    objects: 1.0,
    bytes: 96.0,
};

const AGREED: &str = "\
format = 1

[measured]
target = 'x86_64-unknown-linux-gnu'
profile = 'debug'
toolchain = 'rustc 1.95.0'
jemalloc = '5.3.0'
sample-interval = 1
iterations = 65536

[[allow]]
stack = [
    '...',
    'lru::fill',
    'lru::put',
]
objects = 1.0
bytes = 96.0
law = 'linear'
reason = 'the index is never pruned'
issue = 'https://example.org/issues/7'

[[allow]]
resource = 'threads'
objects = 1.0
law = 'linear'
expires = 2001-01-31
";

/// A project with that baseline, of a scenario that was measured.
fn agreed() -> Project {
    let project = Project::new();
    project.write("baselines/lru_churn.toml", AGREED);
    project.leave(&used(RATE), 0);
    project
}

/// A run that needs so much of the first allowance.
fn used(rate: Rate) -> Report {
    let mut report = report("r1", "lru_churn", Verdict::Within);
    report.findings = vec![Finding {
        verdict: Verdict::Within,
        standing: Standing::Allowed,
        allowed: RATE,
        ..finding("main lru::fill lru::put", rate)
    }];
    report
}

fn git(project: &Project, args: &[&str], day: &str) {
    let status = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(args)
        .current_dir(project.path("."))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_AUTHOR_DATE", format!("{day}T12:00:00Z"))
        .env("GIT_COMMITTER_DATE", format!("{day}T12:00:00Z"))
        .output()
        .unwrap();
    assert!(status.status.success(), "{args:?}: {status:?}");
}

/// What depends on the day on which the test runs is left out.
fn without_days(ran: &Ran) -> String {
    let shown = ran.to_string();
    let lines = shown.lines().map(|line| {
        let line = match line.split_once("today is ") {
            Some((start, _)) => format!("{start}today is DAY"),
            None => line.to_owned(),
        };
        match (line.find(", in "), line.find("age: ")) {
            (Some(end), _) if line.ends_with(" days") => format!("{}, in N days", &line[..end]),
            (_, Some(start)) if line.contains(" days, ") => {
                let (_, rest) = line.split_once(" days, ").unwrap();
                format!("{}age: N days, {rest}", &line[..start])
            }
            _ => line,
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn list() {
    let project = agreed();
    project.write(
        "other/baselines/http++echo.toml",
        "format = 1\n[[allow]]\nstack = ['a', 'b']\nobjects = 0.5\nbytes = 4\nlaw = 'stepped'\n\
         expires = 9999-12-31\n",
    );
    assert_snapshot!(without_days(&project.plimsoll(&["baseline", "list"])), @"
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
        expired: it held until 2001-01-31
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
}

#[test]
fn nothing_agreed() {
    let project = Project::new();
    assert_snapshot!(project.plimsoll(&["baseline", "list"]), @"
    0 baselines, 0 allowances
    --- 0
    ");
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    0 baselines, 0 allowances
    --- 0
    ");
    assert_snapshot!(project.plimsoll(&["baseline", "show", "lru_churn"]), @"
    lru_churn: no baseline, nothing may grow
    --- 0
    ");
}

#[test]
fn show() {
    let project = agreed();
    project.write("baselines/pool.toml", "format = 1\n");
    assert_snapshot!(project.plimsoll(&["baseline", "show", "lru_churn"]), @"
    baselines/lru_churn.toml: 2 allowances (debug, 65,536 iterations, exact)
      lru::put
        └ lru::fill
        └ ...
        allows 96 B, 1.00 objects per iteration, linear
        needs 96 B, 1.00 objects
        reason: the index is never pruned
        issue: https://example.org/issues/7
        age: unknown, not committed
      threads
        allows 1.00 threads per iteration, linear
        needs: unknown, no result of it in the newest run
        reason: none
        expired: it held until 2001-01-31
        age: unknown, not committed

    --- 0
    ");
}

#[test]
fn a_name_that_no_scenario_has_is_warned_of() {
    let project = agreed();
    assert_snapshot!(project.plimsoll(&["baseline", "show", "lru_chrun"]), @"
    lru_chrun: no baseline, nothing may grow
    --- 0
    warning: no measured test has a scenario `lru_chrun`
      expected one of http::echo, lru_churn
    ");
    let ran = project.plimsoll(&["baseline", "show", "http::echo"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran}");
}

#[test]
fn ages_are_gits() {
    let project = agreed();
    git(&project, &["init", "--quiet"], "2001-01-01");
    git(&project, &["add", "baselines"], "2001-01-01");
    git(
        &project,
        &["commit", "--quiet", "-m", "agree"],
        "2001-01-02",
    );
    project.write(
        "baselines/lru_churn.toml",
        &AGREED.replace("never", "hardly"),
    );
    git(&project, &["commit", "--quiet", "-am", "why"], "2001-02-03");
    project.write(
        "baselines/lru_churn.toml",
        &(AGREED.replace("never", "hardly")
            + "\n[[allow]]\nresource = 'descriptors'\nobjects = 1\nlaw = 'linear'\n"),
    );
    let ran = project.plimsoll(&["baseline", "list"]);
    let shown = without_days(&ran);
    let ages: Vec<&str> = shown.lines().filter(|line| line.contains("age:")).collect();
    assert_snapshot!(ages.join("\n"), @"
        age: N days, as it is since 2001-02-03
        age: N days, as it is since 2001-01-02
        age: unknown, not committed
    ");
}

#[test]
fn check() {
    let project = agreed();
    assert_snapshot!(without_days(&project.plimsoll(&["baseline", "check"])), @"
    1 baseline, 2 allowances: 1 error, 1 warning
    --- 1
    error: baselines/lru_churn.toml:23: the allowance of threads has expired
      it held until 2001-01-31, today is DAY
      hint: fix the growth, or accept it again after a run: `plimsoll accept lru_churn --expires YYYY-MM-DD`
    warning: baselines/lru_churn.toml:23: the allowance of threads has no reason
      who reviews it cannot know why it may grow
      hint: write `reason = \"…\"` below it
    ");
    project.write(
        "baselines/lru_churn.toml",
        &AGREED.replace("2001-01-31", "9999-12-31"),
    );
    let ran = project.plimsoll(&["baseline", "check"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stdout.ends_with(": 1 warning\n"), "{ran}");
}

#[test]
fn what_ends_in_any_frames_is_called_by_the_last_that_has_a_name() {
    let project = agreed();
    let agreed = AGREED.split("\n[[allow]]\nresource").next().unwrap();
    let any = agreed.replace("    'lru::put',\n", "    '...',\n");
    let any = any.replace("reason =", "expires = 2001-01-31\nreason =");
    project.write("baselines/lru_churn.toml", &any);
    let ran = project.plimsoll(&["baseline", "check"]);
    let what = "lru_churn.toml:11: the allowance of lru::fill has expired\n";
    assert!(ran.stderr.contains(what), "{ran}");
    let ran = project.plimsoll(&["baseline", "list"]);
    assert!(ran.stdout.contains("\n  lru::fill (3 frames)\n"), "{ran}");
}

#[test]
fn a_reason_that_is_required() {
    let project = agreed();
    let agreed = AGREED.replace("2001-01-31", "9999-12-31");
    project.write("baselines/lru_churn.toml", &agreed);
    project.write("plimsoll.toml", "require-reason = true\n");
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    1 baseline, 2 allowances: 1 error
    --- 1
    error: baselines/lru_churn.toml:23: the allowance of threads has no reason
      expected one: `require-reason = true`
      hint: write `reason = \"…\"` below it
    ");
    let ran = project.plimsoll_with(
        &["baseline", "check"],
        &[("PLIMSOLL_REQUIRE_REASON", "false")],
    );
    assert_eq!(ran.status, Some(0), "{ran}");
    project.write("baselines/lru_churn.toml", &(agreed + "reason = ' '\n"));
    let ran = project.plimsoll(&["baseline", "check"]);
    assert_eq!(ran.status, Some(1), "{ran}");
    project.write("plimsoll.toml", "require-reason = 'yes'\n");
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    --- 5
    error: plimsoll.toml:1: `require-reason`: unexpected value
      expected `true` or `false`
      found the string `yes`
    ");
}

#[test]
fn what_cannot_be_read() {
    let project = agreed();
    project.write("baselines/newer.toml", "format = 2\n");
    project.write("baselines/lru_churn.toml", "format = 1\n[[alow]]\n");
    project.write("baselines/a b.toml", "format = 1\n");
    // Neither is a baseline.
    project.write("baselines/.lru_churn.toml.x.tmp", "");
    project.write("baselines/README.md", "");
    let problems = "
    error: baselines/a b.toml: no scenario can be called `a b`
      hint: remove or rename the file
    error: baselines/lru_churn.toml:2: unknown key `alow`
      expected one of `format`, `measured`, `allow`
      hint: did you mean `allow`?
    error: baselines/newer.toml:1: written by a newer plimsoll
      expected format 1 or older, found 2
      hint: upgrade, or remove the file and re-record with `plimsoll accept newer`
    ";
    let problems: String = problems
        .lines()
        .skip(1)
        .map(|line| line.get(4..).unwrap_or_default().to_owned() + "\n")
        .collect();
    let problems = problems.trim_end();
    let ran = project.plimsoll(&["baseline", "check"]);
    assert_eq!((ran.status, ran.stderr.trim_end()), (Some(1), problems));
    let ran = project.plimsoll(&["baseline", "list"]);
    assert_eq!((ran.status, ran.stderr.trim_end()), (Some(5), problems));
    assert_snapshot!(ran.stdout, @"
    baselines/a b.toml: cannot be read

    baselines/lru_churn.toml: cannot be read

    baselines/newer.toml: cannot be read

    3 baselines, 0 allowances
    ");
    let ran = project.plimsoll(&["baseline", "show", "lru_churn"]);
    assert_eq!(ran.status, Some(5), "{ran}");
}

#[test]
fn a_folder_is_no_baseline() {
    let project = agreed();
    std::fs::create_dir(project.path("baselines/lru.toml")).unwrap();
    let ran = project.plimsoll(&["baseline", "check"]);
    assert_eq!(ran.status, Some(1), "{ran}");
    let problem = "error: baselines/lru.toml: expected a file, found ";
    assert!(ran.stderr.contains(problem), "{ran}");
}

#[cfg(unix)]
#[test]
fn what_is_no_file() {
    let project = agreed();
    let pipe = |path: &str| {
        let status = Command::new("mkfifo").arg(project.path(path)).status();
        assert!(status.unwrap().success());
    };
    std::fs::remove_file(project.path("baselines/lru_churn.toml")).unwrap();
    pipe("baselines/lru_churn.toml");
    std::os::unix::fs::symlink("lru_churn.toml", project.path("baselines/linked.toml")).unwrap();
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    2 baselines, 0 allowances: 2 errors
    --- 1
    error: baselines/linked.toml: expected a file, found a pipe, a socket or a device
    error: baselines/lru_churn.toml: expected a file, found a pipe, a socket or a device
    ");
    let mut grown = used(RATE);
    grown.verdict = Verdict::Regressed;
    grown.findings[0].verdict = Verdict::Regressed;
    grown.findings[0].standing = Standing::New;
    project.leave(&grown, 0);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    --- 5
    error: cannot read baselines/lru_churn.toml: expected a file, found a pipe, a socket or a device
    ");
    pipe("plimsoll.toml");
    assert_snapshot!(project.plimsoll(&["config", "show"]), @"
    --- 5
    error: plimsoll.toml: expected a file, found a pipe, a socket or a device
    ");
}

#[test]
fn a_scenario_that_no_test_has() {
    let project = agreed();
    project.write("baselines/lru_churn.toml", "format = 1\n");
    project.write("baselines/renamed.toml", "format = 1\n");
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    2 baselines, 0 allowances: 1 error
    --- 1
    error: baselines/renamed.toml: no measured test has a scenario `renamed`
      expected one of http::echo, lru_churn
      hint: `git rm baselines/renamed.toml`, or give the file the scenario's new name
    ");
    // Another package has its baselines in the same folder, and was not measured.
    project.write("other/tests/leaks-too.rs", "plimsoll::main!(renamed());\n");
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    2 baselines, 0 allowances: 1 warning
    --- 0
    warning: baselines/renamed.toml: no measured test has a scenario `renamed`
      expected one of http::echo, lru_churn
      hint: one of these may have it, measure them: other (test target leaks_too)
    ");
    let mut other = report("r2", "renamed", Verdict::Within);
    other.run.package = "other".to_owned();
    other.run.target = "leaks_too".to_owned();
    other.run.scenarios = vec!["renamed".to_owned()];
    project.leave(&other, 1);
    let ran = project.plimsoll(&["baseline", "check"]);
    assert_snapshot!(ran, @"
    2 baselines, 0 allowances
    --- 0
    ");
    // Nobody can tell where nothing was measured.
    std::fs::remove_dir_all(project.path("target")).unwrap();
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    2 baselines, 0 allowances
    --- 0
    note: nothing was measured here, so neither the scenarios nor their needs are known
      hint: measure with `cargo test`
    ");
}

#[test]
fn a_scenario_that_two_tests_have() {
    let project = agreed();
    let agreed = AGREED.split("\n[[allow]]\nresource").next().unwrap();
    project.write("baselines/lru_churn.toml", agreed);
    project.write(
        "other/tests/leaks-too.rs",
        "plimsoll::main!(lru_churn());\n",
    );
    let mut other = used(RATE);
    other.run.package = "other".to_owned();
    other.run.target = "leaks_too".to_owned();
    project.leave(&other, 1);
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    1 baseline, 1 allowance: 1 warning
    --- 0
    warning: baselines/lru_churn.toml: what one test uses of this file, others take for stale
      a scenario `lru_churn` is in demo (test target leaks) and in other (test target leaks_too)
      hint: rename one, or give its package a plimsoll.toml, and so baselines of its own
    ");
    // Nothing is accepted that could be taken for another's.
    project.write("baselines/lru_churn.toml", "format = 1\n");
    let ran = project.plimsoll(&["baseline", "check"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran}");
}

#[test]
fn what_is_not_needed() {
    let project = agreed();
    let agreed = AGREED.split("\n[[allow]]\nresource").next().unwrap();
    project.write("baselines/lru_churn.toml", agreed);
    let mut stale = used(Rate::default());
    stale.verdict = Verdict::Improved;
    stale.findings[0].verdict = Verdict::Improved;
    stale.findings[0].standing = Standing::Stale;
    stale.findings[0].levels.clear();
    stale.findings[0].subject = Subject::Stack(FoldedStack(
        ["...", "lru::fill", "lru::put"].map(str::to_owned).to_vec(),
    ));
    project.leave(&stale, 0);
    assert_snapshot!(project.plimsoll(&["baseline", "check"]), @"
    1 baseline, 1 allowance: 1 warning
    --- 0
    warning: baselines/lru_churn.toml:11: nothing uses the allowance of lru::put any more
      hint: take it out with `plimsoll accept lru_churn`
    ");
    let half = |error: f64| {
        let mut report = used(Rate {
            objects: 0.3,
            bytes: 30.0,
        });
        report.findings[0].error = Rate {
            objects: 0.01,
            bytes: error,
        };
        project.leave(&report, 0);
        project.plimsoll(&["baseline", "check"])
    };
    assert_snapshot!(half(2.5), @"
    1 baseline, 1 allowance: 1 warning
    --- 0
    warning: baselines/lru_churn.toml:11: the allowance of lru::put is more than twice what it needs
      it allows 96 B, 1.00 objects, the newest run needed 32.5 B, 0.31 objects
      hint: `objects = 0.31`, `bytes = 32.5` would do, and `plimsoll accept lru_churn --lower` writes it
    ");
    let enough = half(18.5);
    assert_eq!((enough.status, enough.stderr.as_str()), (Some(0), ""));
    let nothing = project.plimsoll(&["accept", "--lower"]);
    assert_eq!(
        nothing.stdout,
        "nothing to accept in any scenario of the last run\n"
    );

    half(2.5);
    let unasked = project.plimsoll(&["accept", "lru_churn"]);
    assert!(unasked.stdout.contains("nothing to accept"), "{unasked}");
    let lowered = project.plimsoll(&["accept", "--lower"]);
    assert_eq!(lowered.status, Some(0), "{lowered}");
    let written = project.read("baselines/lru_churn.toml");
    let (_, allowance) = written.split_once("[[allow]]").unwrap();
    let rate = agreed.replace("objects = 1.0", "objects = 0.31");
    let rate = rate.replace("bytes = 96.0", "bytes = 32.5");
    let (_, expected) = rate.split_once("[[allow]]").unwrap();
    assert_eq!(allowance, expected);
    let again = project.plimsoll(&["accept", "--lower", "lru_churn"]);
    assert!(again.stdout.contains("nothing to accept"), "{again}");
    assert_eq!(project.read("baselines/lru_churn.toml"), written);
}

#[test]
fn several_stacks_of_one_allowance() {
    let project = agreed();
    let mut report = used(Rate {
        objects: 0.9,
        bytes: 90.0,
    });
    report.findings[0].subject = Subject::Site {
        frames: FoldedStack(vec!["lru::put".to_owned()]),
        stacks: 2,
    };
    let stack = |caller: &str| plimsoll_core::report::StackGrowth {
        stack: FoldedStack(
            [caller, "lru::fill", "lru::put"]
                .map(str::to_owned)
                .to_vec(),
        ),
        before: plimsoll_core::Tally::default(),
        after: plimsoll_core::Tally {
            objects: 10,
            bytes: 100,
        },
        rate: RATE,
        error: None,
    };
    report.growth = vec![stack("one"), stack("two")];
    project.leave(&report, 0);
    let ran = project.plimsoll(&["baseline", "show", "lru_churn"]);
    assert!(ran.stdout.contains("needs 90 B, 0.90 objects\n"), "{ran}");
}

#[test]
fn json() {
    let project = agreed();
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schema/baselines-v1.schema.json"
    );
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    project.write("baselines/newer.toml", "format = 2\n");
    let printed = |command: &str, status: i32| -> Value {
        let ran = project.plimsoll(&["baseline", command, "--json"]);
        assert_eq!(ran.status, Some(status), "{ran}");
        let value: Value = serde_json::from_str(&ran.stdout).unwrap();
        let errors = schema.iter_errors(&value).map(|err| err.to_string());
        assert_eq!(errors.collect::<Vec<_>>(), [""; 0]);
        value
    };
    let list = printed("list", 5);
    let one = &list["baselines"][0]["allowances"][0];
    assert_eq!(one["stack"][2], "lru::put");
    assert_eq!(one["need"]["rate"]["bytes"], 96.0);
    assert_eq!(
        (&one["line"], &one["age_in_days"]),
        (&11.into(), &Value::Null)
    );
    let expired = &list["baselines"][0]["allowances"][1];
    assert!(expired["days_left"].as_i64().unwrap() < -9_000);
    let check = printed("check", 1);
    assert_eq!(check["passed"], false);
    let rules: Vec<&str> = check["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["expired", "no-reason", "newer-format"]);
}

#[test]
fn what_a_file_says_is_escaped() {
    let project = Project::new();
    project.write(
        "baselines/lru_churn.toml",
        "format = 1\n[[allow]]\nstack = [\"a\\u001b[31m\"]\nobjects = 1\nbytes = 1\n\
         law = 'linear'\nreason = \"\\u001b]0;x\\n\"\nexpires = 2001-01-01\n",
    );
    for command in [&["list"][..], &["check"], &["show", "lru_churn"]] {
        let args: Vec<&str> = [&["baseline"], command].concat();
        let ran = project.plimsoll(&args);
        assert!(!ran.to_string().contains('\u{1b}'), "{ran}");
        assert!(ran.to_string().contains("\\u{1b}"), "{ran}");
    }
}

#[test]
fn another_manifest() {
    let project = agreed();
    let manifest = project.path("Cargo.toml");
    let elsewhere = Project::new();
    let ran = elsewhere.plimsoll(&[
        "baseline",
        "list",
        "--manifest-path",
        manifest.to_str().unwrap(),
    ]);
    assert!(ran.stdout.ends_with("1 baseline, 2 allowances\n"), "{ran}");
}
