//! Every place that the bot can be run in: events, servers, no GitHub at all.

use std::time::{Duration, Instant};

use insta::assert_snapshot;
use plimsoll_core::report::Report;
use serde_json::Value;

use crate::job::{Job, RATE, STACK, green, red, text};
use crate::project::{finding, regressed, within};
use crate::server::Server;
use crate::server::fault::{Fault, Matcher};
use crate::server::state::{TOKEN, hash, modified, user};

#[test]
fn everything_in_order() {
    let job = Job::of(&red());
    let ran = job.comment("");
    let sha = job.state().head(7);
    assert_snapshot!(job.log().join("\n").replace(&sha, "HEAD"), @"
    GET /repos/octo/demo/pulls/7/files
    GET /repos/octo/demo/commits/HEAD/check-runs
    POST /repos/octo/demo/check-runs
    GET /repos/octo/demo/commits/HEAD/check-runs
    GET /repos/octo/demo/issues/7/comments
    POST /repos/octo/demo/issues/7/comments
    GET /repos/octo/demo/issues/7/comments
    ");
    assert!(job.summary().contains("keep"));
    let check = job.the_check();
    let place = "https://github.com/octo/demo/actions/runs/500/attempts/1";
    assert_eq!(check["head_sha"], sha);
    assert_eq!(check["name"], "plimsoll");
    assert_eq!(check["conclusion"], "failure");
    assert_eq!(check["details_url"], place);
    // The frame to blame is in `src/lib.rs`, which the pull request changes.
    let annotations = job.annotations();
    assert_eq!(annotations.len(), 1);
    assert_eq!(annotations[0]["path"], "src/lib.rs");
    assert_eq!(annotations[0]["start_line"], 7);
    assert_eq!(annotations[0]["annotation_level"], "failure");
    // It stands there once.
    assert!(!ran.stdout.contains("::error "), "{ran}");
    let ran = job.comment("--skip check");
    ran.prints("::error file=src/lib.rs,line=7,");
}

/// Files outside the workspace are tested beside the code.
#[test]
fn a_note_stays_where_the_change_is() {
    let job = Job::of(&red());
    job.state().files = vec![modified("src/other.rs")];
    let ran = job.comment("");
    assert_eq!(job.annotations(), [Value::Null; 0]);
    ran.prints("::error title=");
}

#[test]
fn the_workspace_may_be_below_the_repository() {
    let job = Job::new();
    // A workspace of its own, whose files the reports name from its root.
    let manifest = job.project.read("other/Cargo.toml") + "[workspace]\n";
    job.project.write("sub/Cargo.toml", &manifest);
    job.project.write("sub/src/lib.rs", "");
    job.leave(&red());
    let [from, to] = ["target", "sub/target"].map(|folder| job.project.path(folder));
    std::fs::rename(from, to).unwrap();
    let file = "sub/src/lib.rs";
    job.state().files = vec![modified(file)];
    let ran = job.run_in("sub", "comment --report target/plimsoll");
    ran.ends(0);
    assert_eq!(job.annotations()[0]["path"], file);
    // And the report that is handed on says so.
    let ran = job.run_in("sub", "report --format json");
    ran.prints("\"prefix\": \"sub\"");
}

/// More to note than a check run takes.
fn many() -> [Report; 2] {
    let mut many = regressed("r1", "http::echo", STACK, RATE);
    for index in 0..250_u32 {
        let mut more = finding(&format!("main leak{index}"), RATE);
        more.frames[0].line = Some(index + 10);
        many.findings.push(more);
    }
    [many, within("r1", "lru_churn")]
}

pub(crate) fn annotations_beyond_fifty_are_added_once() {
    for (fault, patches) in [
        (None, 3),
        (Some(Fault::status(502)), 4),
        (Some(Fault::dropped().after_work()), 3),
    ] {
        let job = Job::of(&many());
        if let Some(fault) = fault {
            job.fault(Matcher::new("PATCH", "/check-runs/").nth(2), fault);
        }
        let ran = job.comment("--on-post-error fail");
        assert_eq!(job.annotations().len(), 200);
        job.asked("PATCH", "/check-runs/", patches);
        // After a few writes, GitHub wants a second between two.
        let requests = job.requests().into_iter();
        let writes = requests.filter(|one| one.method != "GET");
        let writes: Vec<Instant> = writes.map(|one| one.at).collect();
        let waits = writes.windows(2).skip(2).map(|two| two[1] - two[0]);
        let waits: Vec<Duration> = waits.collect();
        let waited = |wait: &Duration| *wait > Duration::from_millis(500);
        assert!(waits.len() >= 2 && waits.iter().all(waited), "{waits:?}");
        // All that is shown stands in the check run.
        assert!(!ran.stdout.contains("::error"), "{ran}");
    }
    let ran = Job::of(&many()).comment("--skip check");
    assert_eq!(ran.stdout.matches("::error ").count(), 10, "{ran}");
}

/// A runner shows ten, and many scenarios may have one cause.
#[test]
fn one_cause_is_one_note() {
    let job = Job::new();
    let mut many = regressed("r1", "http::echo", STACK, RATE);
    many.findings.push(many.findings[0].clone());
    job.leave(&[many, regressed("r1", "lru_churn", STACK, RATE)]);
    let ran = job.comment("--skip check");
    ran.prints("title=2 scenarios");
    assert_eq!(ran.stdout.matches("::error ").count(), 1, "{ran}");
}

/// The newest report of the base branch is an artifact of its run.
#[test]
fn growth_is_compared_with_the_base_branch() {
    let none = "not compared with main: no report of it was given";
    for (reports, branch, said) in [
        (green(), "main", "New in this pull request."),
        (red(), "main", "Already on `main`."),
        (red(), "other", none),
    ] {
        let job = Job::of(&red());
        job.state().with_fork();
        job.upload_of(400, branch, "plimsoll-report-1", &job.passed_on(&reports));
        let ran = job.comment("--base-artifact plimsoll-report");
        let compared = job.says(&[said]).contains("compared with `main` at");
        assert_eq!(compared, said != none, "{said}");
        let note = "not compared with the base branch: no run of it has left";
        assert_eq!(ran.to_string().contains(note), said == none, "{ran}");
    }
    // Nothing grows, so nothing is compared.
    let job = Job::of(&green());
    job.comment("--base-artifact plimsoll-report --when always");
    job.asked("GET", "/artifacts", 0);
}

/// GitHub's fault is no reason for a red job, nor for none of the summary.
pub(crate) fn a_pull_request_that_cannot_be_looked_up_leaves_the_summary() {
    let mut job = Job::of(&red());
    job.event_of("push", |state| state.push_event());
    job.fault(Matcher::new("GET", "/pulls/7").always(), Fault::status(502));
    let ran = job.comment("--pr 7");
    ran.warns("::warning title=plimsoll::nothing could be posted");
    assert!(job.summary().contains("keeps growing"));
    assert!(job.summary().contains("Not posted: check run, comment."));
    job.comment_ends(5, "--pr 7 --on-post-error fail");
}

#[test]
fn github_enterprise_server() {
    let mut job = Job::on(Server::at("/api/v3"));
    job.set("GITHUB_SERVER_URL", "https://github.example.com");
    job.leave(&red());
    job.comment("");
    let body = job.says(&["https://github.example.com/octo/demo/actions/runs/500"]);
    assert!(!body.contains("https://github.com/octo"), "{body}");
    assert!(job.log().iter().all(|line| line.contains(" /api/v3/")));
}

#[test]
fn what_is_no_pull_request_has_a_check_run_and_no_comment() {
    for name in ["merge_group", "push"] {
        let mut job = Job::of(&red());
        job.event_of(name, |state| match name {
            "push" => state.push_event(),
            _ => state.merge_group_event(),
        });
        job.comment("");
        assert_eq!((job.ours().len(), job.count("GET", "/issues/")), (0, 0));
        let head = if name == "push" { "main" } else { "queue" };
        assert_eq!(job.the_check()["head_sha"], hash(head));
        assert!(job.summary().contains("keep"));
    }
}

/// An app, or a person, writes as another than GitHub's own bot.
#[test]
fn a_token_of_somebody_else_has_one_comment_where_its_login_is_given() {
    for login in ["our-app[bot]", "ferris"] {
        let job = Job::of(&red());
        job.state().author = user(login);
        let hint = format!("hint: --bot-login '{login}'");
        job.comment("").warns(&hint);
        let ran = job.comment(&format!("--bot-login {login}"));
        ran.prints("comment: says so already");
        assert!(!ran.stderr.contains("--bot-login"), "{ran}");
        assert_eq!(job.state().comments.len(), 1);
    }
}

#[test]
fn keys_have_comments_and_checks_of_their_own() {
    let job = Job::of(&red());
    job.comment("--key linux");
    job.comment("--key arm64");
    job.comment("--key linux");
    let ours = job.ours();
    assert_eq!(ours.len(), 2);
    for (comment, key) in ours.iter().zip(["linux", "arm64"]) {
        let first = format!("<!-- plimsoll:v1 key={key} -->\n");
        assert!(text(comment).starts_with(&first), "{comment}");
    }
    let state = job.state();
    let names: Vec<&Value> = state.checks.values().map(|check| &check["name"]).collect();
    assert_eq!(names, ["plimsoll (linux)", "plimsoll (arm64)"]);
}

#[test]
fn a_pull_request_that_is_named() {
    let mut job = Job::of(&red());
    for name in "ACTIONS EVENT_NAME EVENT_PATH REPOSITORY RUN_ID SHA".split(' ') {
        job.unset(&format!("GITHUB_{name}"));
    }
    let ran = job.comment("--repo octo/demo --pr 7");
    assert_eq!(job.ours().len(), 1);
    assert!(!ran.stdout.contains("::error"), "{ran}");
    assert_eq!(job.the_check()["head_sha"], job.state().head(7));
}

#[test]
fn outside_github_it_says_what_it_needs() {
    let mut job = Job::of(&red());
    for name in ["GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "GITHUB_REPOSITORY"] {
        job.unset(name);
    }
    let ran = job.comment_ends(2, "");
    assert_snapshot!(ran.stderr, @"
    error: this is not a GitHub Actions job, and no repository was named
      needs: GITHUB_TOKEN in the environment, --repo OWNER/NAME, and --pr N or --sha COMMIT; for another GitHub than github.com, GITHUB_API_URL
      hint: `plimsoll report --format markdown` prints the comment without posting it, and --dry-run what would be posted
    ");
    job.unset("GITHUB_TOKEN");
    let ran = job.comment_ends(2, &format!("--repo octo/demo --sha {}", "a".repeat(40)));
    ran.warns("GITHUB_TOKEN is needed");
    assert_eq!(job.requests().len(), 0);
}

#[test]
fn what_means_nothing_is_refused() {
    let mut job = Job::of(&red());
    for option in [
        "--repo octo",
        "--key a+b",
        "--sha main",
        "--max-wait soon",
        "--artifact-url javascript:alert(1)",
        "--artifact-url https://a/)[x](https://b",
    ] {
        job.comment_ends(2, option);
    }
    for (name, value) in [
        ("GITHUB_TOKEN", "ghs_blank inside"),
        ("GITHUB_API_URL", "ftp://example.com"),
        ("GITHUB_EVENT_PATH", "Cargo.toml"),
    ] {
        let ran = job.set(name, value).comment_ends(2, "");
        ran.warns(name);
        assert!(!ran.to_string().contains("ghs_"), "{ran}");
        job.set("GITHUB_TOKEN", TOKEN);
    }
    assert_eq!(job.log(), [""; 0]);
}

#[test]
fn without_a_token_there_is_the_summary() {
    let mut job = Job::of(&red());
    job.set("GITHUB_TOKEN", " \n");
    let ran = job.comment("");
    ran.warns("GITHUB_TOKEN is needed").prints("::error ");
    assert!(job.summary().contains("keep"));
    job.unset("GITHUB_TOKEN");
    job.comment_ends(5, "--on-post-error fail");
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut job = Job::of(&red());
    let ran = job.comment("--dry-run");
    for written in ["check-runs", "issues/7/comments"] {
        ran.prints(&format!("POST /repos/octo/demo/{written}"));
    }
    ran.prints("::stop-commands::");
    // What the runner would note is shown to people, and not to the runner.
    let ran = job.comment("--dry-run --skip check");
    ran.prints("\n: :error ");
    assert!(!ran.stdout.contains("\n::error "), "{ran}");
    let log = job.log();
    assert!(log.iter().all(|line| line.starts_with("GET ")), "{log:#?}");
    assert_eq!(job.summary(), "");
    // Neither does it need a token, and then it asks nothing.
    job.unset("GITHUB_TOKEN");
    let ran = job.comment("--dry-run");
    ran.prints("POST /repos/octo/demo/issues/7/comments");
    assert_eq!(job.log(), log);
}

#[test]
fn parts_can_be_left_out() {
    let job = Job::of(&red());
    let ran = job.comment("--skip=summary --skip=annotations --skip=check");
    assert_eq!(job.summary(), "");
    assert!(!ran.stdout.contains("::error"), "{ran}");
    assert_eq!(job.count("POST", "/check-runs"), 0);
    job.the_comment();
}

/// Of both scenarios, of one of them, of none.
#[test]
fn what_has_no_result_is_never_green() {
    for (reports, conclusion) in [(2, "success"), (1, "neutral"), (0, "neutral")] {
        let job = Job::of(&green()[2 - reports..]);
        job.comment("--when always");
        let body = job.says(&[]);
        assert_eq!(body.contains("no result"), reports < 2, "{body}");
        job.concludes(conclusion);
    }
}
