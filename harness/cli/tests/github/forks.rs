//! Pull requests from forks: what their own job may, and what the second one
//! believes.

use plimsoll_core::report::Report;
use serde_json::{Value, json};

use crate::job::{FORKS_RUN, Job, green, red, text};
use crate::project::Ran;
use crate::server::fault::{Fault, Matcher};
use crate::server::state::{State, modified, zip_of};

/// A fork that is gone is one as well.
#[test]
fn a_forks_own_job_says_it_where_it_may() {
    for number in [8, 7] {
        let mut job = Job::of(&red());
        job.event_of("pull_request", |state| {
            let missing = ["pull_requests=write", "checks=write"];
            state.with_fork().without(&missing);
            state.pull(7)["head"]["repo"] = Value::Null;
            state.pull_request_event(number)
        });
        let ran = job.comment("--on-post-error fail");
        ran.prints("comes from a fork, whose token may not write (see docs/ci.md, \"");
        ran.prints("::error ");
        assert!(job.summary().contains("keep"));
        assert_eq!(job.log(), [""; 0]);
    }
}

/// What is said of the files that the pull request changes.
const IN_FULL: &str = "could not be looked up in full";
const REPORT: &str = "plimsoll-report-1";
type Change = fn(&mut State);
const FETCH: &str = "fetch --output report.json";
const UNTRUSTED: &str = "comment --untrusted --timeout 2s --report report.json";

/// After a fork's run, whose report is an artifact, and is fetched from there.
impl Job {
    fn second(reports: &[Report]) -> Self {
        let job = Job::after_fork();
        job.upload(REPORT, &job.passed_on(reports));
        job
    }

    /// The same, where GitHub has something else.
    fn second_with(reports: &[Report], change: impl FnOnce(&mut State)) -> Self {
        let job = Self::second(reports);
        change(&mut job.state());
        job
    }

    /// Puts something else into the artifact.
    fn hold(&self, bytes: Vec<u8>) {
        *self.state().bytes.values_mut().next().unwrap() = bytes;
    }

    /// Both steps, as the workflow has them.
    fn both(&self) -> Ran {
        let fetched = self.run(FETCH).ends(0);
        let mut all = self.run(UNTRUSTED).ends(0);
        all.stderr = fetched.stderr + &all.stderr;
        all
    }

    /// The same; that the comment says all of these.
    #[track_caller]
    fn both_say(&self, words: &[&str]) {
        self.both();
        self.says(words);
    }

    /// What is said on a pull request.
    fn said_on(&self, pull: u64) -> Vec<String> {
        let (mut ours, url) = (self.ours(), self.state().issue_url(pull));
        ours.retain(|comment| comment["issue_url"] == url);
        let texts = ours.iter().map(|comment| text(comment).to_owned());
        texts.collect()
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
    let second = Job::second(&red());
    let ran = second.both();
    let run = format!("\"run\":{FORKS_RUN}");
    let own = "Measured by this pull request's own code";
    let body = second.says(&["keeps growing", own, &run]);
    assert!(!body.contains(IN_FULL), "{body}");
    assert_eq!(second.said_on(8).len(), 1);
    assert_eq!(second.the_check()["head_sha"], second.state().head(8));
    second.concludes("failure");
    // That the token stays where it belongs is seen by the server.
    second.asked("GET", "/storage/", 1);
    // Another workflow's log is no place for notes at lines.
    assert!(!ran.stdout.contains("::error"), "{ran}");
}

#[test]
fn no_growth_in_a_fork_is_its_own_word() {
    let second = Job::second(&green());
    second.both();
    second.concludes("neutral");
    assert!(second.ours().is_empty());
}

/// Also where its report says that nothing grows, which is its own word.
#[test]
fn what_it_changes_of_its_own_measure_is_listed() {
    let second = Job::second_with(&green(), |state| {
        state.files = vec![
            modified("src/lib.rs"),
            modified("baselines/http++echo.toml"),
            modified(".github/workflows/leaks.yml"),
            json!({"filename": "a.txt", "previous_filename": "tests/leaks.rs", "status": "renamed"}),
        ];
    });
    second.both_say(&[
        "- `baselines/http++echo.toml`: ",
        "- `.github/workflows/leaks.yml`: ",
        "- `tests/leaks.rs`: ",
    ]);
}

#[test]
fn a_report_of_something_else_is_not_posted() {
    let second = Job::second(&green());
    for (place, value, code) in [
        ("/source/head", json!("a".repeat(40)), "other-head"),
        ("/source", Value::Null, "no-source"),
    ] {
        let mut report = second.passed_on(&green());
        *report.pointer_mut(place).unwrap() = value;
        second.upload(REPORT, &report);
        second.refuses(code);
    }
}

#[test]
fn what_has_moved_on_is_left_alone() {
    let moved: [Change; 3] = [
        |state| state.pull(8)["head"]["sha"] = json!("b".repeat(40)),
        |state| state.pull(8)["state"] = json!("closed"),
        // The same owner and branch, and not the same repository.
        |state| state.pull(8)["head"]["repo"]["id"] = json!(1),
    ];
    for moved in moved {
        let second = Job::second_with(&red(), moved);
        second.both().warns("moved on");
        assert_eq!((second.ours().len(), second.checks()), (0, 0));
    }
}

#[test]
fn how_a_run_ended_and_what_is_left_of_it() {
    let gone = |state: &mut State| state.pull(8)["head"]["repo"] = Value::Null;
    let empty = |state: &mut State| state.artifacts.clear();
    let all = |_: &mut State| {};
    let (skipped, again) = (json!({"conclusion": "skipped"}), json!({"run_attempt": 3}));
    let failed_again = json!({"run_attempt": 3, "conclusion": "failure"});
    let rows: [(Change, Value, &str); 6] = [
        // A fork may have been deleted after the event, or before.
        (gone, json!({}), "(`fork-gone`)"),
        (gone, json!({"head_repository": null}), "(`fork-gone`)"),
        // GitHub takes a job that was skipped for one that passed.
        (empty, skipped, "(`missing`)"),
        (empty, json!({"conclusion": "cancelled"}), "(`cancelled`)"),
        // An earlier attempt stands in only where the run succeeded. Which artifact is taken is
        // tested beside the code.
        (all, again, "keeps growing"),
        (all, failed_again, "(`missing`)"),
    ];
    for (state, run, said) in rows {
        let mut second = Job::second_with(&red(), state);
        second.finished(run);
        second.both_say(&[said]);
        let is_red = said == "keeps growing";
        second.concludes(if is_red { "failure" } else { "neutral" });
    }
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
        let words: Vec<&str> = text.split_whitespace().collect();
        let (text, run) = (words.join(" "), "github.event.workflow_run");
        let expected = format!(
            "if: >- {run}.event == 'pull_request' && {run}.path == '.github/workflows/{first}' \
             && {run}.conclusion != 'action_required' runs-on:"
        );
        let count = text.matches(" if: >- ").count();
        assert_eq!(text.matches(&expected).count(), count, "{path}");
        assert!(count > 0, "{path}");
    }
}

#[test]
fn a_run_that_no_pull_request_started() {
    let mut second = Job::second(&red());
    second.finished(json!({"event": "push"}));
    second.both().warns("started by `push`");
    assert_eq!(second.log(), [""; 0]);
}

#[test]
fn untrusted_and_workflow_run_go_together() {
    Job::of(&red()).comment_ends(2, "--untrusted");
    let second = Job::second(&red());
    second.leave(&red());
    second.comment_ends(2, "").warns("add --untrusted");
    // To name the pull request makes the report no better; a folder has been unpacked by
    // somebody.
    for options in ["--pr 8", "--untrusted"] {
        second.comment_ends(2, options);
    }
    assert_eq!(second.log(), [""; 0]);
}

#[test]
fn what_a_fork_measured_is_its_word_wherever_it_is_posted_from() {
    let mut job = Job::of(&green());
    job.state().with_fork();
    job.event("workflow_dispatch", &json!({}));
    job.comment("--pr 8");
    job.concludes("neutral");
}

pub(crate) fn an_artifact_that_holds_no_report() {
    let outside: [(&str, &[u8]); 2] = [("../report.json", b"{}"), ("a/report.json", b"{}")];
    for (bytes, code) in [
        (zip_of(&[("other.json", b"{}")]), "missing"),
        (zip_of(&outside), "missing"),
        (b"PK\x03\x04 and no archive".to_vec(), "not-an-archive"),
        (zip_of(&[("report.json", b"no json")]), "not-a-report"),
        // 64 MB of zeros in some 64 KB: it is read no further than a report may be.
        (zip_of(&[("report.json", &vec![0; 64 << 20])]), "too-long"),
        (vec![b' '; 12 << 20], "too-long"),
    ] {
        let second = Job::second(&green());
        second.hold(bytes);
        second.refuses(code);
    }
    let expired = Job::second_with(&red(), |state| {
        state.artifacts.values_mut().next().unwrap()["expired"] = json!(true);
    });
    expired.refuses("expired");
}

#[test]
fn an_artifact_that_is_not_archived() {
    let second = Job::second(&red());
    second.hold(second.passed_on(&red()).to_string().into_bytes());
    second.both_say(&["keeps growing"]);
}

pub(crate) fn storage_that_fails_is_asked_again() {
    let second = Job::second(&red());
    let at = || Matcher::new("GET", "/storage/");
    second.fault(at(), Fault::status(503));
    // In trouble, and says that it is not.
    second.fault(at().nth(2), Fault::html(200));
    second.both_say(&["keeps growing"]);

    second.fault(at().always(), Fault::html(200));
    second.run(FETCH).ends(5);
    let passed_on = second.project.read("report.json");
    assert!(passed_on.contains("not-fetched"), "{passed_on}");
}

#[test]
fn an_artifact_that_is_not_handed_out() {
    let second = Job::second_with(&red(), |state| state.without(&["actions=read"]));
    second.run(FETCH).ends(5).warns("actions");
    second.run(UNTRUSTED).ends(0);
    second.says(&["(`not-fetched`)"]);
    second.concludes("neutral");
    let ran = second.run("report report.json").ends(5);
    ran.warns("not-fetched");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_report() {
    let second = Job::second(&green());
    second.project.write("secret.json", "{\"password\": 1}");
    let link = second.project.path("report.json");
    std::os::unix::fs::symlink(second.project.path("secret.json"), link).unwrap();
    second.run(UNTRUSTED).ends(0).lacks(&["password"]);
    second.says(&["o result", "not-a-file"]);
}

/// The same branch to two bases: one head, two pull requests.
#[test]
fn the_report_names_one_of_two_pull_requests() {
    let second = Job::second_with(&red(), |state| {
        let mut other = state.pulls[&8].clone();
        other["number"] = json!(6);
        state.pulls.insert(6, other);
    });
    second.both();
    assert_eq!(second.said_on(8).len(), 1);
    // Nor of another, where that is named.
    second.run(&format!("{UNTRUSTED} --pr 6")).ends(0);
    assert!(second.said_on(6)[0].contains("(`other-pull-request`)"));
    assert_eq!(second.ours().len(), 2);
}

#[test]
fn what_it_changes_may_be_more_than_is_listed() {
    // GitHub lists 3,000 files, in the order of their names.
    let names = (0..3_000).map(|n| modified(&format!("a/{n:04}.txt")));
    let many = Job::second_with(&red(), |state| state.files = names.collect());
    let refused = Job::second(&red());
    let files = Matcher::new("", "/pulls/8/files");
    refused.fault(files.always(), Fault::status(403));
    for second in [many, refused] {
        second.both_say(&[IN_FULL]);
    }
}

#[test]
fn a_lookup_that_fails_is_a_warning() {
    let second = Job::second(&red());
    let report = second.passed_on(&red()).to_string();
    second.project.write("report.json", &report);
    let pulls = Matcher::new("GET", "/pulls");
    second.fault(pulls.always(), Fault::status(403));
    let ran = second.run(UNTRUSTED).ends(0);
    ran.warns("nothing could be posted");
    let strict = format!("{UNTRUSTED} --on-post-error fail");
    second.run(&strict).ends(5);
}

#[test]
fn reports_of_different_changes_are_not_joined() {
    let other_run = "`other-run`";
    for (key, value, is_other) in [
        ("head", json!("a".repeat(40)), true),
        ("pull_request", json!(7), true),
        ("run", json!(1), true),
        ("attempt", json!(9), true),
        ("prefix", json!("sub"), false),
    ] {
        let job = Job::after_fork();
        let report = job.passed_on(&red());
        let mut other = report.clone();
        other["source"][key] = value;
        job.project.write("report.json", &report.to_string());
        job.project.write("two.json", &other.to_string());
        job.run(&format!("{UNTRUSTED} two.json")).ends(0);
        let body = job.says(&[if is_other { other_run } else { "keeps growing" }]);
        assert_eq!(body.contains(other_run), is_other, "{key}: {body}");
    }
}
