//! Pull requests from forks: what their own job may, and what the second one
//! believes.

use std::ops::{Deref, DerefMut};

use plimsoll_core::report::Report;
use serde_json::{Value, json};

use crate::job::{FORKS_RUN, Job, green, head, red};
use crate::project::Ran;
use crate::server::fault::{Fault, Matcher};
use crate::server::state::{ChangedFile, State, zip_of};

/// A fork that is gone is one as well.
#[test]
fn a_forks_own_job_says_it_where_it_may() {
    for number in [8, 7] {
        let mut job = Job::of(&red());
        let event = {
            let mut state = job.server.state();
            state
                .with_fork()
                .without(&["pull_requests=write", "checks=write"]);
            state.pull(7).head.repository = None;
            state.pull_request_event(number)
        };
        job.event("pull_request", &event);
        let ran = job.comment(&["--on-post-error", "fail"]);
        ran.prints("comes from a fork")
            .prints("(see docs/ci.md, \"")
            .prints("::error ");
        assert!(job.summary().contains("keep"));
        assert_eq!(job.log(), [""; 0]);
    }
}

/// A fork's report as its job left it: as an artifact, and fetched from there.
struct Second(Job);

impl Deref for Second {
    type Target = Job;

    fn deref(&self) -> &Job {
        &self.0
    }
}

impl DerefMut for Second {
    fn deref_mut(&mut self) -> &mut Job {
        &mut self.0
    }
}

const UNTRUSTED: [&str; 6] = [
    "comment",
    "--untrusted",
    "--timeout",
    "2s",
    "--report",
    "report.json",
];

impl Second {
    fn new(reports: &[Report]) -> Self {
        let second = Second(Job::after_fork());
        second
            .server
            .state()
            .add_artifact(FORKS_RUN, "plimsoll-report-1", Vec::new());
        second.forge(reports, |_| {});
        second
    }

    /// The same, where GitHub has something else.
    fn with(reports: &[Report], change: impl FnOnce(&mut State)) -> Self {
        let second = Self::new(reports);
        change(&mut second.server.state());
        second
    }

    /// Leaves another artifact.
    fn holding(bytes: Vec<u8>) -> Self {
        let second = Self::new(&green());
        second.hold(bytes);
        second
    }

    /// Both steps, as the workflow has them.
    fn both(&self) -> Ran {
        let fetched = self.run(&["fetch", "--output", "report.json"]).ends(0);
        let mut all = self.run(&UNTRUSTED).ends(0);
        all.stderr = fetched.stderr + &all.stderr;
        all
    }

    #[track_caller]
    fn concludes(&self, conclusion: &str) {
        let (check, found) = self.the_check();
        assert_eq!(check.head_sha, head(&self.server.state(), 8));
        assert_eq!(found, conclusion);
    }

    /// A report of these, with a change, as a zip.
    fn forge(&self, reports: &[Report], change: impl Fn(&mut Value)) {
        let text = self.passed_on(reports, FORKS_RUN, 8);
        let mut report: Value = serde_json::from_str(&text).unwrap();
        change(&mut report);
        self.hold(zip_of(&[("report.json", report.to_string().as_bytes())]));
    }

    fn hold(&self, bytes: Vec<u8>) {
        let mut state = self.server.state();
        state.artifacts.values_mut().next().unwrap().bytes = bytes;
    }

    /// A report that is not of this run is not posted, and leaves no green check.
    #[track_caller]
    fn refuses(&self, code: &str) {
        self.both().warns(code);
        let passed_on = self.project.read("report.json");
        assert!(passed_on.contains(code), "{passed_on}");
        let body = self.says(&["o result", &format!("(`{code}`)")]);
        for text in [passed_on, body] {
            assert!(!text.contains("lru_churn"), "{text}");
        }
        self.concludes("neutral");
    }
}

#[test]
fn growth_in_a_fork_is_commented_on() {
    let second = Second::new(&red());
    let ran = second.both();
    let run = format!("\"run\":{FORKS_RUN}");
    second.says(&[
        "keeps growing",
        "Measured by this pull request's own code",
        &run,
    ]);
    assert_eq!(second.the_comment().issue, 8);
    second.concludes("failure");
    // The token stays where it belongs.
    let storage = second.server.storage_requests();
    assert_eq!(storage.len(), 1);
    assert_eq!(storage[0].header("authorization"), None);
    // Another workflow's log is no place for notes at lines.
    assert!(!ran.stdout.contains("::error"), "{ran}");
}

#[test]
fn no_growth_in_a_fork_is_its_own_word() {
    let second = Second::new(&green());
    second.both();
    second.concludes("neutral");
    assert_eq!(second.ours(), []);
}

/// Also where its report says that nothing grows, which is its own word.
#[test]
fn what_it_changes_of_its_own_measure_is_listed() {
    for reports in [red(), green()] {
        let second = Second::with(&reports, |state| {
            state.pull(8).files = vec![
                ChangedFile::modified("src/lib.rs"),
                ChangedFile::modified("baselines/http++echo.toml"),
                ChangedFile::modified(".github/workflows/leaks.yml"),
                ChangedFile::renamed("tests/leaks.rs", "old/leaks.txt"),
            ];
        });
        second.both();
        for path in [
            "baselines/http++echo.toml",
            ".github/workflows/leaks.yml",
            "tests/leaks.rs",
        ] {
            second.says(&[&format!("- `{path}`: ")]);
        }
    }
}

#[test]
fn a_report_of_something_else_is_not_posted() {
    let second = Second::new(&green());
    second.forge(&green(), |report| {
        report["source"]["head"] = json!("a".repeat(40))
    });
    second.refuses("other-head");
    let second = Second::new(&green());
    second.forge(&green(), |report| report["source"] = Value::Null);
    second.refuses("no-source");
    // Nor where nobody fetched it.
    let report = second.passed_on(&green(), FORKS_RUN, 8);
    second
        .project
        .write("report.json", &report.replace("octo/demo", "octo/other"));
    second.run(&UNTRUSTED).ends(0);
    second.says(&["(`other-repository`)"]);
}

#[test]
fn what_has_moved_on_is_left_alone() {
    let moved: [fn(&mut State); 3] = [
        |state| state.pull(8).head.sha = "b".repeat(40),
        |state| state.pull(8).open = false,
        // The same owner and branch, and not the same repository.
        |state| state.pull(8).head.repository.as_mut().unwrap().id += 1,
    ];
    for moved in moved {
        let second = Second::with(&red(), moved);
        second.both().warns("moved on");
        assert_eq!((second.ours(), second.checks()), (Vec::new(), 0));
    }
}

/// It may have been deleted before the event, or after.
#[test]
fn a_fork_that_is_gone_leaves_no_result() {
    for before in [true, false] {
        let mut second = Second::with(&green(), |state| state.pull(8).head.repository = None);
        if before {
            second.finished(|run| run.head.repository = None);
        }
        second.both();
        second.says(&["(`fork-gone`)"]);
        second.concludes("neutral");
    }
}

/// GitHub takes a job that was skipped for one that passed.
#[test]
fn a_run_that_was_skipped_is_no_result() {
    let mut second = Second::with(&red(), |state| state.artifacts.clear());
    second.finished(|run| run.conclusion = Some("skipped".to_owned()));
    second.both();
    second.says(&["(`missing`)"]);
}

/// What the workflows leave out would be silent.
#[test]
fn the_second_workflow_leaves_out_what_waits_and_what_is_not_the_first() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let template = "harness/cli/src/init/templates/leaks-comment.yml";
    for (path, first) in [
        (".github/workflows/leaks-comment.yml", "leaks.yml"),
        (template, "leaks-measure.yml"),
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
fn a_run_that_no_pull_request_started() {
    let mut second = Second::new(&red());
    second.finished(|run| run.event = "push".to_owned());
    second.both().warns("started by `push`");
    assert_eq!(second.log(), [""; 0]);
}

#[test]
fn untrusted_and_workflow_run_go_together() {
    Job::of(&red()).comment_ends(2, &["--untrusted"]);
    let second = Second::new(&red());
    second.leave(&red());
    second.comment_ends(2, &[]).warns("add --untrusted");
    // To name the pull request makes the report no better.
    second.comment_ends(2, &["--pr", "8"]);
    // A folder has been unpacked by somebody.
    second.comment_ends(2, &["--untrusted"]);
    assert_eq!(second.log(), [""; 0]);
}

/// Which artifact is taken is tested beside the code.
#[test]
fn an_earlier_attempt_stands_in_only_where_the_run_succeeded() {
    for (conclusion, said) in [("success", "keeps growing"), ("failure", "no result")] {
        let mut second = Second::new(&red());
        second.finished(|run| {
            run.attempt = 3;
            run.conclusion = Some(conclusion.to_owned());
        });
        second.both();
        second.says(&[said, "\"attempt\":3"]);
    }
}

#[test]
fn what_a_fork_measured_is_its_word_wherever_it_is_posted_from() {
    let mut job = Job::of(&green());
    job.server.state().with_fork();
    job.event("workflow_dispatch", &json!({}));
    job.comment(&["--pr", "8"]);
    assert_eq!(job.the_check().1, "neutral");
}

#[test]
fn an_artifact_that_holds_no_report() {
    for (bytes, code) in [
        (zip_of(&[("other.json", b"{}")]), "missing"),
        (
            zip_of(&[("../report.json", b"{}"), ("a/report.json", b"{}")]),
            "missing",
        ),
        (b"PK\x03\x04 and no archive".to_vec(), "not-an-archive"),
        (zip_of(&[("report.json", b"no json")]), "not-a-report"),
        // 64 MB of zeros in some 64 KB: it is read no further than a report may be.
        (zip_of(&[("report.json", &vec![0; 64 << 20])]), "too-long"),
        (vec![b' '; 12 << 20], "too-long"),
    ] {
        Second::holding(bytes).refuses(code);
    }
    let expire = |state: &mut State| state.artifacts.values_mut().next().unwrap().expired = true;
    Second::with(&red(), expire).refuses("expired");
}

#[test]
fn an_artifact_that_is_not_archived() {
    let second = Second::new(&red());
    second.hold(second.passed_on(&red(), FORKS_RUN, 8).into_bytes());
    second.both();
    second.says(&["keeps growing"]);
}

#[test]
fn storage_that_fails_is_asked_again() {
    let second = Second::new(&red());
    let at = || Matcher::new("GET", "/storage/");
    second.server.fault(at(), Fault::status(503));
    // In trouble, and says that it is not.
    second.server.fault(at().nth(2), Fault::html(200));
    second.both();
    second.says(&["keeps growing"]);

    second.server.fault(at().always(), Fault::html(200));
    second.run(&["fetch", "--output", "report.json"]).ends(5);
    let passed_on = second.project.read("report.json");
    assert!(passed_on.contains("not-fetched"), "{passed_on}");
}

#[test]
fn an_artifact_that_is_not_handed_out() {
    let second = Second::with(&red(), |state| state.without(&["actions=read"]));
    second
        .run(&["fetch", "--output", "report.json"])
        .ends(5)
        .warns("actions");
    second.run(&UNTRUSTED).ends(0);
    second.says(&["(`not-fetched`)"]);
    second.concludes("neutral");
    second
        .run(&["report", "report.json"])
        .ends(5)
        .warns("not-fetched");
}

#[test]
fn a_link_in_place_of_the_report() {
    let second = Second::new(&green());
    second.project.write("secret.json", "{\"password\": 1}");
    let link = second.project.path("report.json");
    std::os::unix::fs::symlink(second.project.path("secret.json"), link).unwrap();
    let ran = second.run(&UNTRUSTED).ends(0);
    assert!(!ran.to_string().contains("password"), "{ran}");
    second.says(&["o result", "not-a-file"]);
}

#[test]
fn a_missing_permission_in_the_second_job() {
    let second = Second::with(&red(), |state| state.without(&["pull_requests=write"]));
    second.both().warns("pull-requests: write");
    second.concludes("failure");
}

/// The same branch to two bases: one head, two pull requests.
#[test]
fn the_report_names_one_of_two_pull_requests() {
    let second = Second::with(&red(), |state| {
        let mut other = state.pulls[&8].clone();
        other.number = 6;
        state.pulls.insert(6, other);
    });
    second.both();
    assert_eq!(second.the_comment().issue, 8);
    // Nor of another, where that is named.
    second
        .run(&[&UNTRUSTED[..], &["--pr", "6"]].concat())
        .ends(0);
    let ours = second.ours();
    assert_eq!((ours.len(), ours[1].issue), (2, 6));
    assert!(ours[1].body.contains("(`other-pull-request`)"));
}

#[test]
fn what_it_changes_may_be_more_than_is_listed() {
    let says = |second: &Second| {
        second.both();
        second
            .the_comment()
            .body
            .contains("could not be looked up in full")
    };
    // GitHub lists 3,000 files, in the order of their names.
    let names = (0..3_000).map(|n| ChangedFile::modified(&format!("a/{n:04}.txt")));
    let names: Vec<ChangedFile> = names.collect();
    assert!(says(
        &Second::with(&red(), |state| state.pull(8).files = names)
    ));
    let second = Second::new(&red());
    second
        .server
        .fault(Matcher::path("/pulls/8/files").always(), Fault::status(403));
    assert!(says(&second));
    assert!(!says(&Second::new(&red())));
}

#[test]
fn a_lookup_that_fails_is_a_warning() {
    let second = Second::new(&red());
    second
        .project
        .write("report.json", &second.passed_on(&red(), FORKS_RUN, 8));
    second
        .server
        .fault(Matcher::new("GET", "/pulls").always(), Fault::status(403));
    second
        .run(&UNTRUSTED)
        .ends(0)
        .warns("nothing could be posted");
    second
        .run(&[&UNTRUSTED[..], &["--on-post-error", "fail"]].concat())
        .ends(5);
}

#[test]
fn reports_of_different_changes_are_not_joined() {
    for (key, value, said) in [
        ("head", json!("a".repeat(40)), "`other-run`"),
        ("pull_request", json!(7), "`other-run`"),
        ("run", json!(1), "`other-run`"),
        ("attempt", json!(9), "`other-run`"),
        ("prefix", json!("sub"), "keeps growing"),
    ] {
        let job = Job::after_fork();
        let report = job.passed_on(&red(), FORKS_RUN, 8);
        let mut other: Value = serde_json::from_str(&report).unwrap();
        other["source"][key] = value;
        job.project.write("report.json", &report);
        job.project.write("two.json", &other.to_string());
        job.run(&[&UNTRUSTED[..], &["two.json"]].concat()).ends(0);
        let body = job.says(&[said]);
        assert_eq!(
            body.contains("`other-run`"),
            said == "`other-run`",
            "{key}: {body}"
        );
    }
}
