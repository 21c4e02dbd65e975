//! Every place that the bot can be run in: events, servers, no GitHub at all.

use insta::assert_snapshot;
use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Report;

use crate::job::{Job, RATE, STACK, green, head, red};
use crate::project::{finding, regressed, report};
use crate::server::Server;
use crate::server::fault::{Fault, Matcher};
use crate::server::state::{ChangedFile, User};

#[test]
fn everything_in_order() {
    let job = Job::new();
    job.leave(&red());
    let ran = job.comment(&[]);
    let sha = head(&job.server.state(), 7);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_snapshot!(job.log().join("\n").replace(&sha, "HEAD"), @"
    GET /repos/octo/demo/pulls/7/files 200
    GET /repos/octo/demo/commits/HEAD/check-runs 200
    POST /repos/octo/demo/check-runs 201
    GET /repos/octo/demo/commits/HEAD/check-runs 200
    GET /repos/octo/demo/issues/7/comments 200
    POST /repos/octo/demo/issues/7/comments 201
    GET /repos/octo/demo/issues/7/comments 200
    ");
    assert!(job.summary().contains("keep"));
    let check = job.server.state().checks.values().next().cloned().unwrap();
    assert_eq!(check.head_sha, sha);
    assert_eq!(check.name, "plimsoll");
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert_eq!(
        check.details_url.as_deref(),
        Some("https://github.com/octo/demo/actions/runs/500/attempts/1")
    );
    // The frame to blame is in `src/lib.rs`, which the pull request changes.
    assert_eq!(check.annotations.len(), 1);
    assert_eq!(check.annotations[0]["path"], "src/lib.rs");
    assert_eq!(check.annotations[0]["start_line"], 7);
    assert_eq!(check.annotations[0]["annotation_level"], "failure");
    // It stands there once.
    assert!(!ran.stdout.contains("::error "), "{ran}");
    let ran = job.comment(&["--skip", "check"]);
    let annotation = ran.stdout.lines().find(|line| line.starts_with("::error "));
    assert!(
        annotation.is_some_and(|line| line.contains("file=src/lib.rs,line=7,")),
        "{ran}"
    );
}

#[test]
fn a_note_stays_where_the_change_is() {
    let job = Job::new();
    let mut elsewhere = regressed("r1", "http::echo", STACK, RATE);
    for (frame, file) in elsewhere.findings[0].frames.iter_mut().zip([
        "../../etc/passwd",
        "/etc/passwd",
        "src/other.rs",
    ]) {
        frame.file = Some(file.to_owned());
    }
    job.leave(&[elsewhere, report("r1", "lru_churn", Verdict::Within)]);
    let ran = job.comment(&[]);
    let check = job.server.state().checks.values().next().cloned().unwrap();
    assert_eq!(check.annotations, Vec::<serde_json::Value>::new());
    assert!(!ran.stdout.contains("file="), "{ran}");
    assert!(ran.stdout.contains("::error title="), "{ran}");
}

#[test]
fn the_workspace_may_be_below_the_repository() {
    let job = Job::new();
    // A workspace of its own, whose files the reports name from its root.
    let manifest = job.project.read("other/Cargo.toml") + "[workspace]\n";
    job.project.write("sub/Cargo.toml", &manifest);
    job.project.write("sub/src/lib.rs", "");
    for report in red() {
        let from = job.project.leave(&report, 0);
        let root = job.project.path("");
        let to = root.join("sub").join(from.strip_prefix(&root).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(from, to).unwrap();
    }
    let file = "sub/src/lib.rs";
    job.server.state().pull(7).files = vec![ChangedFile::modified(file)];
    let args = ["comment", "--report", "target/plimsoll"];
    let ran = job.run_in("sub", &args);
    assert_eq!(ran.status, Some(0), "{ran}");
    let check = job.server.state().checks.values().next().cloned().unwrap();
    assert_eq!(check.annotations[0]["path"], file);
    // And the report that is handed on says so.
    let ran = job.run_in("sub", &["report", "--format", "json"]);
    assert!(ran.stdout.contains("\"prefix\": \"sub\""), "{ran}");
}

/// More to note than a check run takes.
fn many() -> [Report; 2] {
    let mut many = regressed("r1", "http::echo", STACK, RATE);
    for index in 0..250_u32 {
        let mut more = finding(&format!("main leak{index}"), RATE);
        more.frames[0].line = Some(index + 10);
        many.findings.push(more);
    }
    [many, report("r1", "lru_churn", Verdict::Within)]
}

#[test]
fn annotations_are_added_once() {
    for (fault, patches) in [
        (Fault::status(502), 4),
        (Fault::status(502).after_work(), 3),
        (Fault::dropped().after_work(), 3),
    ] {
        let job = Job::new();
        job.leave(&many());
        let second = Matcher::new("PATCH", "/check-runs/").nth(2);
        job.server.fault(second, fault);
        let ran = job.comment(&["--on-post-error", "fail"]);
        assert_eq!(ran.status, Some(0), "{ran}");
        let check = job.server.state().checks.values().next().cloned().unwrap();
        assert_eq!(check.annotations.len(), 200);
        assert_eq!(job.count("PATCH", "/check-runs/"), patches);
    }
}

/// A runner shows ten, and the first scenario may have more.
#[test]
fn every_scenario_has_one_note_before_any_has_two() {
    let job = Job::new();
    let mut many = regressed("r1", "http::echo", STACK, RATE);
    many.findings.push(many.findings[0].clone());
    job.leave(&[many, regressed("r1", "lru_churn", STACK, RATE)]);
    let ran = job.comment(&["--skip", "check"]);
    let notes = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("::error "));
    let named = |line: &str| {
        ["http", "lru"]
            .into_iter()
            .find(|name| line.contains(&format!("title={name}")))
    };
    let named: Vec<_> = notes.filter_map(named).collect();
    assert_eq!(named, ["lru", "http", "http"], "{ran}");
}

/// GitHub's fault is no reason for a red job, nor for none of the summary.
#[test]
fn a_pull_request_that_cannot_be_looked_up_leaves_the_summary() {
    let mut job = Job::new();
    job.leave(&red());
    let event = job.server.state().push_event();
    job.event("push", &event);
    job.server
        .fault(Matcher::new("GET", "/pulls/7").always(), Fault::status(502));
    let ran = job.comment(&["--pr", "7"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stderr
            .contains("::warning title=plimsoll::nothing could be posted"),
        "{ran}"
    );
    assert!(job.summary().contains("keeps growing"));
    assert!(job.summary().contains("Not posted: check run, comment."));
    let ran = job.comment(&["--pr", "7", "--on-post-error", "fail"]);
    assert_eq!(ran.status, Some(5), "{ran}");
}

#[test]
fn more_than_fifty_annotations() {
    let job = Job::new();
    job.leave(&many());
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let check = job.server.state().checks.values().next().cloned().unwrap();
    assert_eq!(check.annotations.len(), 200);
    assert_eq!(job.count("PATCH", "/check-runs/"), 3);
    let commands = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("::error"));
    assert_eq!(
        commands.count(),
        0,
        "all that is shown stands in the check run"
    );
    let ran = job.comment(&["--skip", "check"]);
    assert_eq!(ran.stdout.matches("::error ").count(), 10, "{ran}");
}

#[test]
fn github_enterprise_server() {
    let mut job = Job::on(Server::at("/api/v3"));
    job.set("GITHUB_SERVER_URL", "https://github.example.com");
    job.leave(&red());
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let body = job.the_comment().body;
    assert!(
        body.contains("https://github.example.com/octo/demo/actions/runs/500"),
        "{body}"
    );
    assert!(!body.contains("https://github.com/octo"), "{body}");
    assert!(job.log().iter().all(|line| line.contains(" /api/v3/")));
}

#[test]
fn a_merge_queue_has_no_comment() {
    let mut job = Job::new();
    job.leave(&red());
    let event = job.server.state().merge_group_event();
    let sha = event["merge_group"]["head_sha"]
        .as_str()
        .unwrap()
        .to_owned();
    job.server.state().commits.insert(sha.clone());
    job.event("merge_group", &event);
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(job.count("GET", "/issues/"), 0);
    assert_eq!(job.ours(), []);
    let check = job.server.state().checks.values().next().cloned().unwrap();
    assert_eq!(check.head_sha, sha);
    assert!(job.summary().contains("keep"));
}

#[test]
fn a_push_has_no_comment() {
    let mut job = Job::new();
    job.leave(&red());
    let event = job.server.state().push_event();
    job.event("push", &event);
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(job.ours(), []);
    let state = job.server.state();
    let check = state.checks.values().next().unwrap();
    assert_eq!(check.head_sha, event["after"].as_str().unwrap());
}

/// An app, or a person, writes as another than GitHub's own bot.
#[test]
fn a_token_of_somebody_else_has_one_comment_where_its_login_is_given() {
    let bot = User {
        login: "our-app[bot]".to_owned(),
        ..User::actions()
    };
    for author in [bot, User::person("ferris")] {
        let job = Job::new();
        job.leave(&red());
        job.server.state().author = author.clone();
        let ran = job.comment(&[]);
        let hint = format!("hint: --bot-login '{}'", author.login);
        assert!(ran.stderr.contains(&hint), "{ran}");
        let ran = job.comment(&["--bot-login", &author.login]);
        assert!(ran.stdout.contains("comment: says so already"), "{ran}");
        assert!(!ran.stderr.contains("--bot-login"), "{ran}");
        assert_eq!(job.server.state().comments.len(), 1);
    }
}

#[test]
fn a_newer_attempt_wins() {
    let mut job = Job::new();
    job.leave(&red());
    job.set("GITHUB_RUN_ATTEMPT", "2");
    job.comment(&[]);
    let second = job.the_comment();
    assert!(second.body.contains("\"attempt\":2"), "{}", second.body);
    job.set("GITHUB_RUN_ATTEMPT", "1");
    let ran = job.comment(&[]);
    assert_eq!(job.the_comment(), second);
    assert!(ran.stdout.contains("check run: left alone"), "{ran}");
    job.set("GITHUB_RUN_ATTEMPT", "3");
    job.comment(&[]);
    assert!(job.the_comment().body.contains("\"attempt\":3"));
    // A check run for each attempt that was not late, as GitHub itself has it.
    assert_eq!(job.server.state().checks.len(), 2);
}

#[test]
fn keys_have_comments_and_checks_of_their_own() {
    let job = Job::new();
    job.leave(&red());
    job.comment(&["--key", "linux"]);
    job.comment(&["--key", "arm64"]);
    job.comment(&["--key", "linux"]);
    let firsts: Vec<String> = job
        .ours()
        .iter()
        .map(|comment| comment.body.lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(
        firsts,
        [
            "<!-- plimsoll:v1 key=linux -->",
            "<!-- plimsoll:v1 key=arm64 -->"
        ]
    );
    let state = job.server.state();
    let names: Vec<&str> = state.checks.values().map(|check| &*check.name).collect();
    assert_eq!(names, ["plimsoll (linux)", "plimsoll (arm64)"]);
}

#[test]
fn a_matrix_in_one_comment() {
    let job = Job::new();
    for (name, target) in [
        ("x86", "x86_64-unknown-linux-gnu"),
        ("arm", "aarch64-unknown-linux-gnu"),
    ] {
        let mut reports = if name == "arm" { red() } else { green() };
        for report in &mut reports {
            report.measured.as_mut().unwrap().target = target.to_owned();
            report.run.id = name.to_owned();
        }
        let project = crate::project::Project::new();
        for report in &reports {
            project.leave(report, 0);
        }
        let ran = project.plimsoll(&["report", "--format", "json"]);
        job.project.write(&format!("{name}.json"), &ran.stdout);
    }
    let ran = job.run(&["comment", "--report", "x86.json", "arm.json"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let body = job.the_comment().body;
    assert!(
        body.contains("http::echo (aarch64-unknown-linux-gnu)"),
        "{body}"
    );
    assert!(body.contains("1 of 4 scenarios"), "{body}");
}

#[test]
fn a_pull_request_that_is_named() {
    let mut job = Job::new();
    job.leave(&red());
    for name in [
        "GITHUB_ACTIONS",
        "GITHUB_EVENT_NAME",
        "GITHUB_EVENT_PATH",
        "GITHUB_REPOSITORY",
        "GITHUB_RUN_ID",
        "GITHUB_SHA",
    ] {
        job.unset(name);
    }
    let ran = job.comment(&["--repo", "octo/demo", "--pr", "7"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(job.ours().len(), 1);
    assert!(!ran.stdout.contains("::error"), "{ran}");
    let state = job.server.state();
    assert_eq!(
        state.checks.values().next().unwrap().head_sha,
        head(&state, 7)
    );
}

#[test]
fn outside_github_it_says_what_it_needs() {
    let mut job = Job::new();
    job.leave(&red());
    for name in ["GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "GITHUB_REPOSITORY"] {
        job.unset(name);
    }
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert_snapshot!(ran.stderr, @"
    error: this is not a GitHub Actions job, and no repository was named
      needs: GITHUB_TOKEN in the environment, --repo OWNER/NAME, and --pr N or --sha COMMIT; for another GitHub than github.com, GITHUB_API_URL
      hint: `plimsoll report --format markdown` prints the comment without posting it, and --dry-run what would be posted
    ");
    job.unset("GITHUB_TOKEN");
    let sha = "a".repeat(40);
    let ran = job.comment(&["--repo", "octo/demo", "--sha", &sha]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert!(ran.stderr.contains("GITHUB_TOKEN is needed"), "{ran}");
    assert_eq!(job.server.requests().len(), 0);
}

#[test]
fn words_that_mean_nothing() {
    let mut job = Job::new();
    job.leave(&red());
    for args in [
        &["--repo", "octo"][..],
        &["--key", "a b"],
        &["--key", "-->"],
        &["--sha", "main"],
        &["--pr", "seven"],
        &["--max-wait", "soon"],
        &["--when", "sometimes"],
        &["--artifact-url", "javascript:alert(1)"],
        &["--artifact-url", "https://a/)[x](https://b"],
    ] {
        let ran = job.comment(args);
        assert_eq!(ran.status, Some(2), "{args:?}: {ran}");
    }
    job.set("GITHUB_API_URL", "ftp://example.com");
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(2), "{ran}");
    job.project.write("event.json", "{}");
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(2), "{ran}");
    assert!(ran.stderr.contains("GITHUB_EVENT_PATH"), "{ran}");
    assert_eq!(job.server.requests().len(), 0);
}

#[test]
fn without_a_token_there_is_the_summary() {
    let mut job = Job::new();
    job.leave(&red());
    job.unset("GITHUB_TOKEN");
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stderr.contains("GITHUB_TOKEN is needed"), "{ran}");
    assert!(job.summary().contains("keep"));
    assert!(ran.stdout.contains("::error "), "{ran}");
    assert_eq!(job.comment(&["--on-post-error", "fail"]).status, Some(5));
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut job = Job::new();
    job.leave(&red());
    let ran = job.comment(&["--dry-run"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stdout.contains("POST /repos/octo/demo/check-runs"),
        "{ran}"
    );
    assert!(
        ran.stdout
            .contains("POST /repos/octo/demo/issues/7/comments"),
        "{ran}"
    );
    assert!(ran.stdout.contains("::stop-commands::"), "{ran}");
    // What the runner would note is shown to people, and not to the runner.
    let ran = job.comment(&["--dry-run", "--skip", "check"]);
    let mut stopped: Option<&str> = None;
    let mut shown = 0;
    for line in ran.stdout.lines() {
        match (stopped, line.strip_prefix("::stop-commands::")) {
            (None, Some(word)) => stopped = Some(word),
            (Some(word), _) if line == format!("::{word}::") => stopped = None,
            (Some(_), _) => shown += usize::from(line.starts_with(": :error ")),
            (None, None) => assert!(!line.starts_with("::"), "{ran}"),
        }
    }
    assert!(shown > 0 && stopped.is_none(), "{ran}");
    assert!(
        job.log().iter().all(|line| line.starts_with("GET ")),
        "{:#?}",
        job.log()
    );
    assert_eq!(job.summary(), "");
    // Neither does it need a token, and then it asks nothing.
    job.unset("GITHUB_TOKEN");
    let before = job.server.requests().len();
    let ran = job.comment(&["--dry-run"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stdout
            .contains("POST /repos/octo/demo/issues/7/comments"),
        "{ran}"
    );
    assert_eq!(job.server.requests().len(), before);
}

#[test]
fn parts_can_be_left_out() {
    let job = Job::new();
    job.leave(&red());
    let ran = job.comment(&[
        "--skip",
        "summary",
        "--skip",
        "annotations",
        "--skip",
        "check",
    ]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(job.summary(), "");
    assert!(!ran.stdout.contains("::error"), "{ran}");
    assert_eq!(job.count("POST", "/check-runs"), 0);
    job.the_comment();
}

#[test]
fn no_report_is_never_green() {
    let job = Job::new();
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let body = job.the_comment().body;
    assert!(body.contains("o result"), "{body}");
    let state = job.server.state();
    let check = state.checks.values().next().unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("neutral"));
}

#[test]
fn a_scenario_without_a_result_is_never_green() {
    let job = Job::new();
    job.leave(&[report("r1", "lru_churn", Verdict::Within)]);
    job.comment(&[]);
    let body = job.the_comment().body;
    assert!(body.contains("no result"), "{body}");
    let state = job.server.state();
    let check = state.checks.values().next().unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("neutral"));
}

#[test]
fn what_cannot_be_judged_is_neutral_and_what_is_broken_is_not() {
    for (verdict, conclusion) in [
        (Verdict::Within, "success"),
        (Verdict::Improved, "success"),
        (Verdict::Inconclusive, "neutral"),
        (Verdict::Regressed, "failure"),
        (Verdict::Failed, "failure"),
        (Verdict::Broken, "failure"),
    ] {
        let job = Job::new();
        let mut found = report("r1", "http::echo", verdict);
        if verdict == Verdict::Regressed {
            found.findings.push(finding(
                STACK,
                Rate {
                    objects: 1.0,
                    bytes: 8.0,
                },
            ));
        }
        job.leave(&[found, report("r1", "lru_churn", Verdict::Within)]);
        job.comment(&[]);
        let state = job.server.state();
        let check = state.checks.values().next().unwrap();
        assert_eq!(check.conclusion.as_deref(), Some(conclusion), "{verdict}");
    }
}

#[test]
fn a_token_that_is_none() {
    for token in ["ghs_first\nghs_second", "ghs_blank inside", "ghs_\u{fc}ber"] {
        let mut job = Job::new();
        job.leave(&green());
        job.set("GITHUB_TOKEN", token);
        let ran = job.comment(&[]);
        assert_eq!(ran.status, Some(2), "{ran}");
        assert!(ran.stderr.contains("GITHUB_TOKEN is not a token"), "{ran}");
        assert!(!ran.to_string().contains("ghs_"), "{ran}");
    }
    let mut job = Job::new();
    job.leave(&green());
    job.set("GITHUB_TOKEN", " \n");
    let ran = job.comment(&[]);
    assert!(ran.stderr.contains("GITHUB_TOKEN is needed"), "{ran}");
    assert_eq!(job.log(), [""; 0]);
}
