//! Pull requests from forks: what their own job may, and what the second one
//! believes.

use serde_json::{Value, json};

use crate::job::{Job, green, head, red};
use crate::server::fault::{Fault, Matcher};
use crate::server::state::{Artifact, ChangedFile, zip_of};

#[test]
fn a_forks_own_job_says_it_where_it_may() {
    let mut job = Job::new();
    job.leave(&red());
    let event = {
        let mut state = job.server.state();
        state.with_fork();
        state.without(&["pull_requests=write", "checks=write"]);
        state.pull_request_event(8)
    };
    job.event("pull_request", &event);
    let ran = job.comment(&["--on-post-error", "fail"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stdout.contains("comes from a fork"), "{ran}");
    // It leads to a heading that there is.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = ran.stdout.split_once("see docs/ci.md, \"").unwrap();
    let (heading, _) = rest.split_once('"').unwrap();
    assert!(page.contains(&format!("\n## {heading}\n")), "{heading}");
    assert!(ran.stdout.contains("::error "), "{ran}");
    assert!(job.summary().contains("keep"));
    assert_eq!(job.log(), [""; 0]);
}

#[test]
fn a_deleted_fork_is_a_fork() {
    let mut job = Job::new();
    job.leave(&red());
    let event = {
        let mut state = job.server.state();
        state.pull(7).head.repository = None;
        state.pull_request_event(7)
    };
    job.event("pull_request", &event);
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stdout.contains("comes from a fork"), "{ran}");
    assert_eq!(job.log(), [""; 0]);
}

/// A fork's report as its job left it: as an artifact, and fetched from there.
struct Second {
    job: Job,
    run: u64,
}

impl Second {
    fn new(reports: &[plimsoll_core::report::Report]) -> Self {
        let (job, run) = Job::after_fork();
        let text = job.passed_on(reports, run, 8);
        let zip = zip_of(&[("report.json", text.as_bytes())]);
        job.server
            .state()
            .add_artifact(run, "plimsoll-report-1", zip);
        Second { job, run }
    }

    /// Both steps, as the workflow has them.
    fn both(&self) -> crate::project::Ran {
        let ran = self.job.run(&["fetch", "--output", "report.json"]);
        assert_eq!(ran.status, Some(0), "{ran}");
        let mut all = self.job.run(&[
            "comment",
            "--untrusted",
            "--report",
            "report.json",
            "--timeout",
            "2s",
        ]);
        assert_eq!(all.status, Some(0), "{all}");
        all.stderr = ran.stderr + &all.stderr;
        all
    }

    fn body(&self) -> String {
        self.job.the_comment().body
    }

    fn conclusion(&self) -> String {
        let state = self.job.server.state();
        let check = state.checks.values().next_back().unwrap();
        assert_eq!(check.head_sha, head(&state, 8));
        check.conclusion.clone().unwrap()
    }

    /// Changes the report in the artifact.
    fn forge(&self, change: impl Fn(&mut Value)) {
        let mut report: Value =
            serde_json::from_str(&self.job.passed_on(&green(), self.run, 8)).unwrap();
        change(&mut report);
        let zip = zip_of(&[("report.json", report.to_string().as_bytes())]);
        self.hold(zip);
    }

    /// Replaces what the artifact holds.
    fn hold(&self, bytes: Vec<u8>) {
        let mut state = self.job.server.state();
        let artifact: &mut Artifact = state.artifacts.values_mut().next().unwrap();
        artifact.bytes = bytes;
    }
}

#[test]
fn growth_in_a_fork_is_commented_on() {
    let second = Second::new(&red());
    let ran = second.both();
    let body = second.body();
    assert!(body.contains("keeps growing"), "{body}");
    assert!(
        body.contains("Measured by this pull request's own code"),
        "{body}"
    );
    assert!(body.contains(&format!("\"run\":{}", second.run)), "{body}");
    assert_eq!(second.job.ours()[0].issue, 8);
    assert_eq!(second.conclusion(), "failure");
    // The token stays where it belongs.
    let storage = second.job.server.storage_requests();
    assert_eq!(storage.len(), 1);
    assert_eq!(storage[0].header("authorization"), None);
    // Another workflow's log is no place for notes at lines.
    assert!(!ran.stdout.contains("::error"), "{ran}");
}

#[test]
fn no_growth_in_a_fork_is_its_own_word() {
    let second = Second::new(&green());
    second.both();
    assert_eq!(second.conclusion(), "neutral");
    assert_eq!(second.job.ours(), []);
}

#[test]
fn what_it_changes_of_its_own_measure_is_listed() {
    let second = Second::new(&red());
    second.job.server.state().pull(8).files = vec![
        ChangedFile::modified("src/lib.rs"),
        ChangedFile::modified("baselines/http++echo.toml"),
        ChangedFile::modified(".github/workflows/leaks.yml"),
        ChangedFile::modified("plimsoll.toml"),
        ChangedFile::renamed("tests/leaks.rs", "old/leaks.txt"),
    ];
    second.both();
    let body = second.body();
    for path in [
        "baselines/http++echo.toml",
        ".github/workflows/leaks.yml",
        "plimsoll.toml",
        "tests/leaks.rs",
    ] {
        assert!(body.contains(path), "{path}: {body}");
    }
}

/// A report that says that nothing grows is the pull request's own word.
#[test]
fn what_it_changes_of_its_own_measure_is_said_without_growth_too() {
    for path in [
        ".github/workflows/leaks.yml",
        "baselines/a.toml",
        "Cargo.toml",
        "tests",
    ] {
        let second = Second::new(&green());
        second.job.server.state().pull(8).files = vec![ChangedFile::modified(path)];
        second.both();
        let body = second.body();
        assert!(body.contains(&format!("- `{path}`: ")), "{path}: {body}");
        assert_eq!(second.conclusion(), "neutral");
    }
}

/// A report that is not of this run is not posted, and leaves no green check.
#[track_caller]
fn refused(second: &Second, code: &str) {
    let ran = second.both();
    assert!(ran.stderr.contains(code), "expected `{code}`: {ran}");
    let passed_on = second.job.project.read("report.json");
    assert!(passed_on.contains(code), "{passed_on}");
    assert!(!passed_on.contains("lru_churn"), "{passed_on}");
    let body = second.body();
    assert!(body.contains("o result"), "{body}");
    assert!(body.contains(&format!("(`{code}`)")), "{body}");
    assert!(!body.contains("lru_churn"), "{body}");
    assert_eq!(second.conclusion(), "neutral");
}

#[test]
fn a_report_of_something_else_is_not_posted() {
    for (code, key, value) in [
        ("other-repository", "repository", json!("octo/other")),
        ("other-pull-request", "pull_request", json!(7)),
        ("other-pull-request", "pull_request", json!(null)),
        ("other-head", "head", json!("a".repeat(40))),
        ("other-run", "run", json!(1)),
        ("other-run", "attempt", json!(2)),
    ] {
        let second = Second::new(&green());
        second.forge(|report| report["source"][key] = value.clone());
        refused(&second, code);
    }
    let second = Second::new(&green());
    second.forge(|report| report["source"] = Value::Null);
    refused(&second, "no-source");
}

#[test]
fn a_report_that_was_not_fetched_is_checked_all_the_same() {
    let second = Second::new(&green());
    let report = second.job.passed_on(&green(), second.run, 8);
    let forged = report.replace("octo/demo", "octo/other");
    second.job.project.write("forged.json", &forged);
    let ran = second
        .job
        .run(&["comment", "--untrusted", "--report", "forged.json"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(second.body().contains("o result"), "{}", second.body());
}

#[test]
fn a_head_that_has_moved_on_is_left_alone() {
    let second = Second::new(&red());
    second.job.server.state().pull(8).head.sha = "b".repeat(40);
    let ran = second.both();
    assert!(ran.stderr.contains("moved on"), "{ran}");
    assert_eq!(second.job.ours(), []);
    assert!(second.job.server.state().checks.is_empty());

    let second = Second::new(&red());
    second.job.server.state().pull(8).open = false;
    second.both();
    assert_eq!(second.job.ours(), []);
}

/// It may have been deleted before the event, or after.
#[test]
fn a_fork_that_is_gone_leaves_no_result() {
    for before in [true, false] {
        let mut second = Second::new(&green());
        let event = {
            let mut state = second.job.server.state();
            let mut event = state.workflow_run_event(second.run);
            if before {
                event["workflow_run"]["head_repository"] = Value::Null;
            }
            state.pull(8).head.repository = None;
            event
        };
        second.job.event("workflow_run", &event);
        second.both();
        let body = second.body();
        assert!(body.contains("(`fork-gone`)"), "{body}");
        assert_eq!(second.conclusion(), "neutral");
    }
}

/// GitHub takes a job that was skipped for one that passed.
#[test]
fn a_run_that_was_skipped_is_no_result() {
    let (mut job, run) = Job::after_fork();
    let event = {
        let mut state = job.server.state();
        state.runs.get_mut(&run).unwrap().conclusion = Some("skipped".to_owned());
        state.workflow_run_event(run)
    };
    job.event("workflow_run", &event);
    let ran = job.run(&["fetch", "--output", "report.json"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let ran = job.run(&["comment", "--untrusted", "--report", "report.json"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let body = job.the_comment().body;
    assert!(body.contains("(`missing`)"), "{body}");
}

/// What the workflows leave out would be silent.
#[test]
fn the_second_workflow_leaves_out_what_waits_and_what_is_not_the_first() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    for (path, first) in [
        (".github/workflows/leaks-comment.yml", "leaks.yml"),
        (
            "harness/cli/src/init/templates/leaks-comment.yml",
            "leaks-measure.yml",
        ),
        ("docs/ci.md", "leaks-measure.yml"),
    ] {
        let text = std::fs::read_to_string(format!("{root}{path}")).unwrap();
        let conditions: Vec<&str> = text.split("    if: >-\n").skip(1).collect();
        assert!(!conditions.is_empty(), "{path}");
        for condition in conditions {
            let (condition, _) = condition.split_once("    runs-on:").unwrap();
            let run = "github.event.workflow_run";
            let expected = format!(
                "{run}.event == 'pull_request' && {run}.path == '.github/workflows/{first}' && \
                 {run}.conclusion != 'action_required'"
            );
            let found: Vec<&str> = condition.split_whitespace().collect();
            assert_eq!(found.join(" "), expected, "{path}");
        }
    }
}

#[test]
fn a_branch_of_that_name_in_another_fork_is_another() {
    // The event's owner, with a second fork: same owner and branch, not the same
    // repository.
    let second = Second::new(&red());
    {
        let mut state = second.job.server.state();
        let head = &mut state.pull(8).head;
        if let Some(repository) = &mut head.repository {
            repository.id += 1;
        }
    }
    let ran = second.both();
    assert!(ran.stderr.contains("moved on"), "{ran}");
    assert_eq!(second.job.ours(), []);
}

#[test]
fn a_run_that_no_pull_request_started() {
    let mut second = Second::new(&red());
    let event = {
        let mut state = second.job.server.state();
        let run = state.runs.get_mut(&second.run).unwrap();
        run.event = "push".to_owned();
        state.workflow_run_event(second.run)
    };
    second.job.event("workflow_run", &event);
    let ran = second.both();
    assert!(ran.stderr.contains("started by `push`"), "{ran}");
    assert_eq!(second.job.log(), [""; 0]);
}

#[test]
fn untrusted_and_workflow_run_go_together() {
    let job = Job::new();
    job.leave(&red());
    let ran = job.comment(&["--untrusted"]);
    assert_eq!(ran.status, Some(2), "{ran}");
    let second = Second::new(&red());
    second.job.leave(&red());
    let ran = second.job.comment(&[]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert!(ran.stderr.contains("add --untrusted"), "{ran}");
    // To name the pull request makes the report no better.
    let ran = second.job.comment(&["--pr", "8"]);
    assert_eq!(ran.status, Some(2), "{ran}");
    // A folder has been unpacked by somebody.
    let ran = second.job.comment(&["--untrusted"]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert_eq!(second.job.log(), [""; 0]);
}

#[test]
fn the_artifact_of_the_newest_attempt() {
    let mut second = Second::new(&red());
    let event = {
        let mut state = second.job.server.state();
        state.runs.get_mut(&second.run).unwrap().attempt = 3;
        state.workflow_run_event(second.run)
    };
    second.job.event("workflow_run", &event);
    let mut text: Value =
        serde_json::from_str(&second.job.passed_on(&red(), second.run, 8)).unwrap();
    text["source"]["attempt"] = json!(2);
    let zip = zip_of(&[("report.json", text.to_string().as_bytes())]);
    {
        let mut state = second.job.server.state();
        state.add_artifact(second.run, "plimsoll-report-2", zip);
        // Of an attempt that has not been, of another run, and of no attempt.
        for name in ["plimsoll-report-9", "plimsoll-report", "plimsoll-report-2x"] {
            state.add_artifact(second.run, name, b"nothing".to_vec());
        }
        state.add_artifact(second.run + 1, "plimsoll-report-3", b"nothing".to_vec());
    }
    second.both();
    let body = second.body();
    assert!(body.contains("keeps growing"), "{body}");
    assert!(body.contains("\"attempt\":3"), "{body}");
}

#[test]
fn an_earlier_attempt_stands_in_only_where_the_run_succeeded() {
    for (conclusion, counts) in [("success", true), ("failure", false), ("cancelled", false)] {
        let mut second = Second::new(&red());
        let event = {
            let mut state = second.job.server.state();
            let run = state.runs.get_mut(&second.run).unwrap();
            run.attempt = 2;
            run.conclusion = Some(conclusion.to_owned());
            state.workflow_run_event(second.run)
        };
        second.job.event("workflow_run", &event);
        second.both();
        let body = second.body();
        assert_eq!(
            body.contains("keeps growing"),
            counts,
            "{conclusion}: {body}"
        );
        assert_eq!(body.contains("no result"), !counts, "{conclusion}: {body}");
    }
}

#[test]
fn what_a_fork_measured_is_its_word_wherever_it_is_posted_from() {
    let mut job = Job::new();
    job.leave(&green());
    {
        let mut state = job.server.state();
        state.with_fork();
    }
    job.event("workflow_dispatch", &json!({}));
    let ran = job.comment(&["--pr", "8"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let state = job.server.state();
    let check = state.checks.values().next_back().unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("neutral"), "{ran}");
}

#[test]
fn an_artifact_that_holds_no_report() {
    let second = Second::new(&red());
    second.hold(zip_of(&[("other.json", b"{}")]));
    refused(&second, "missing");
    let second = Second::new(&red());
    second.hold(zip_of(&[
        ("../report.json", b"{}"),
        ("a/report.json", b"{}"),
    ]));
    refused(&second, "missing");
    let second = Second::new(&red());
    second.hold(b"PK\x03\x04 and no archive".to_vec());
    refused(&second, "not-an-archive");
    let second = Second::new(&red());
    second.hold(zip_of(&[("report.json", b"no json")]));
    refused(&second, "not-a-report");
    let second = Second::new(&red());
    second.job.server.state().artifacts.clear();
    refused(&second, "missing");
    let second = Second::new(&red());
    for artifact in second.job.server.state().artifacts.values_mut() {
        artifact.expired = true;
    }
    refused(&second, "expired");
}

#[test]
fn an_artifact_that_is_not_archived() {
    let second = Second::new(&red());
    let text = second.job.passed_on(&red(), second.run, 8);
    second.hold(text.into_bytes());
    second.both();
    assert!(second.body().contains("keeps growing"));
}

#[test]
fn a_bomb_is_read_no_further_than_a_report_may_be() {
    // 64 MB of zeros in some 64 KB.
    let second = Second::new(&red());
    second.hold(zip_of(&[("report.json", &vec![0; 64 << 20])]));
    refused(&second, "too-long");
    let second = Second::new(&red());
    second.hold(vec![b' '; 12 << 20]);
    refused(&second, "too-long");
}

#[test]
fn storage_that_fails_is_asked_again() {
    let second = Second::new(&red());
    let at = || Matcher::new("GET", "/storage/");
    second.job.server.fault(at(), Fault::status(503));
    // In trouble, and says that it is not.
    second.job.server.fault(at().nth(2), Fault::html(200));
    second.both();
    assert!(second.body().contains("keeps growing"));

    let second = Second::new(&red());
    second.job.server.fault(at().always(), Fault::html(200));
    let ran = second.job.run(&["fetch", "--output", "report.json"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    let passed_on = second.job.project.read("report.json");
    assert!(passed_on.contains("not-fetched"), "{passed_on}");
}

#[test]
fn an_artifact_that_is_not_handed_out() {
    let second = Second::new(&red());
    second.job.server.state().without(&["actions=read"]);
    let ran = second.job.run(&["fetch", "--output", "report.json"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(ran.stderr.contains("actions"), "{ran}");
    let ran = second
        .job
        .run(&["comment", "--untrusted", "--report", "report.json"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        second.body().contains("(`not-fetched`)"),
        "{}",
        second.body()
    );
    assert_eq!(second.conclusion(), "neutral");
    let ran = second.job.run(&["report", "report.json"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(ran.stderr.contains("not-fetched"), "{ran}");
}

#[test]
fn a_link_in_place_of_the_report() {
    let second = Second::new(&green());
    second.job.project.write("secret.json", "{\"password\": 1}");
    let link = second.job.project.path("link.json");
    std::os::unix::fs::symlink(second.job.project.path("secret.json"), link).unwrap();
    let ran = second
        .job
        .run(&["comment", "--untrusted", "--report", "link.json"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(!ran.to_string().contains("password"), "{ran}");
    assert!(second.body().contains("o result"), "{}", second.body());
    assert!(second.body().contains("not-a-file"), "{}", second.body());
}

#[test]
fn a_missing_permission_in_the_second_job() {
    let second = Second::new(&red());
    second.job.server.state().without(&["pull_requests=write"]);
    let ran = second.both();
    assert!(ran.stderr.contains("pull-requests: write"), "{ran}");
    assert_eq!(second.conclusion(), "failure");
}

#[test]
fn the_report_names_one_of_two_pull_requests() {
    // The same branch to two bases: one head, two pull requests.
    let second = Second::new(&red());
    {
        let mut state = second.job.server.state();
        let mut other = state.pulls[&8].clone();
        other.number = 6;
        state.pulls.insert(6, other);
    }
    second.both();
    assert_eq!(second.job.the_comment().issue, 8);
}

#[test]
fn what_it_changes_may_be_more_than_is_listed() {
    let unsure = "could not be looked up in full";
    // GitHub lists 3,000 files, in the order of their names.
    let second = Second::new(&red());
    second.job.server.state().pull(8).files = (0..3_000)
        .map(|n| ChangedFile::modified(&format!("a/{n:04}.txt")))
        .collect();
    second.both();
    assert!(second.body().contains(unsure), "{}", second.body());

    let second = Second::new(&red());
    let files = Matcher::path("/pulls/8/files").always();
    second.job.server.fault(files, Fault::status(403));
    second.both();
    assert!(second.body().contains(unsure), "{}", second.body());

    let second = Second::new(&red());
    second.both();
    assert!(!second.body().contains(unsure), "{}", second.body());
}

#[test]
fn a_lookup_that_fails_is_a_warning() {
    let (job, run) = Job::after_fork();
    let report = job.passed_on(&red(), run, 8);
    job.project.write("report.json", &report);
    let pulls = Matcher::new("GET", "/pulls").always();
    job.server.fault(pulls, Fault::status(403));
    let args = ["comment", "--untrusted", "--report", "report.json"];
    let ran = job.run(&args);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stderr.contains("nothing could be posted"), "{ran}");
    let ran = job.run(&[&args[..], &["--on-post-error", "fail"]].concat());
    assert_eq!(ran.status, Some(5), "{ran}");
}

#[test]
fn reports_of_different_changes_are_not_joined() {
    for (key, value, accepted) in [
        ("head", json!("a".repeat(40)), false),
        ("pull_request", json!(7), false),
        ("run", json!(1), false),
        ("attempt", json!(9), false),
        ("prefix", json!("sub"), true),
    ] {
        let (job, run) = Job::after_fork();
        let report = job.passed_on(&red(), run, 8);
        let mut other: Value = serde_json::from_str(&report).unwrap();
        other["source"][key] = value;
        job.project.write("one.json", &report);
        job.project.write("two.json", &other.to_string());
        let args = ["comment", "--untrusted", "--report", "one.json", "two.json"];
        let ran = job.run(&args);
        assert_eq!(ran.status, Some(0), "{ran}");
        let body = job.the_comment().body;
        assert_eq!(body.contains("keeps growing"), accepted, "{key}: {body}");
        assert_eq!(body.contains("`other-run`"), !accepted, "{key}: {body}");
    }
}
