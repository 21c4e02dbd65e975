//! What goes wrong, row by row: after each, at most one comment of ours, the
//! right one.

use std::thread;
use std::time::{Duration, SystemTime};

use plimsoll_core::judge::Verdict;

use crate::job::{Job, RATE, STACK, green, head, red};
use crate::project::{Project, Ran, regressed, report};
use crate::server::fault::{Fault, Matcher, To};
use crate::server::http::Reply;
use crate::server::state::{State, User};

const COMMENTS: &str = "/issues/7/comments";

fn get_comments() -> Matcher {
    Matcher::new("GET", COMMENTS)
}

fn post_comment() -> Matcher {
    Matcher::new("POST", COMMENTS)
}

type Check = Box<dyn Fn(&Job, &Ran) + Send + Sync>;

/// What one failure has to come to.
struct Row {
    name: &'static str,
    /// Whether a comment of ours is there before.
    existing: bool,
    fault: Vec<(Matcher, Fault)>,
    then: Check,
}

fn row(
    name: &'static str,
    fault: impl IntoIterator<Item = (Matcher, Fault)>,
    then: impl Fn(&Job, &Ran) + Send + Sync + 'static,
) -> Row {
    Row {
        name,
        existing: false,
        fault: fault.into_iter().collect(),
        then: Box::new(then),
    }
}

impl Row {
    fn with_existing(mut self) -> Self {
        self.existing = true;
        self
    }

    fn run(&self) {
        let job = Job::new();
        job.leave(&red());
        if self.existing {
            let mut state = job.server.state();
            let body = "<!-- plimsoll:v1 key=default -->\n\
                        <!-- plimsoll:meta {\"run\":1,\"attempt\":1,\"sha\":\"0\"} -->\nold";
            state.add_ours(body);
        }
        for (matcher, fault) in &self.fault {
            job.server.fault(matcher.clone(), fault.clone());
        }
        let ran = job.comment(&[]);
        assert_eq!(ran.status, Some(0), "{}: {ran}", self.name);
        assert!(job.ours().len() <= 1, "{}: {:#?}", self.name, job.ours());
        // What could be said without GitHub was said.
        assert!(job.summary().contains("keep"), "{}", self.name);
        (self.then)(&job, &ran);
    }
}

/// Each waits for most of its time, so all wait together.
fn run_all(rows: &[Row]) {
    thread::scope(|scope| {
        let started: Vec<_> = rows
            .iter()
            .map(|row| (row.name, scope.spawn(|| row.run())))
            .collect();
        for (name, row) in started {
            assert!(row.join().is_ok(), "the row `{name}` failed, see above");
        }
    });
}

fn says_red(job: &Job, _: &Ran) {
    let body = job.the_comment().body;
    assert!(body.contains("keeps growing"), "{body}");
    assert!(body.contains("\"run\":500"), "{body}");
}

/// A warning that holds these words; the comment was not made.
fn warns(words: &'static [&'static str]) -> impl Fn(&Job, &Ran) + Send + Sync {
    move |job, ran| {
        for word in words {
            assert!(ran.stderr.contains(word), "expected `{word}`: {ran}");
        }
        assert_eq!(job.ours(), [], "{ran}");
    }
}

#[test]
fn reading_is_tried_again() {
    let faults: Vec<(&'static str, Fault)> = vec![
        ("500", Fault::status(500)),
        ("502", Fault::html(502)),
        ("503", Fault::status(503)),
        ("dropped before", Fault::dropped()),
        ("dropped after", Fault::dropped().after_work()),
        ("half the body", Fault::half_body()),
        ("half the JSON", Fault::half_json()),
        ("a page in place of JSON", Fault::html(200)),
        ("a slow drip", Fault::drip(Duration::from_millis(200))),
    ];
    let mut rows = Vec::new();
    for (name, fault) in &faults {
        let once = (get_comments(), fault.clone());
        rows.push(row(name, [once], says_red));
    }
    let twice = (get_comments().times(2), Fault::status(502));
    rows.push(row("twice", [twice], says_red));
    run_all(&rows);
}

#[test]
fn reading_ends_somewhere() {
    let rows = [row(
        "502 for ever",
        [(get_comments().always(), Fault::html(502))],
        |job, ran| {
            warns(&["the comment could not be posted", "GitHub failed (502)"])(job, ran);
            assert!(!ran.stderr.contains("<html"), "{ran}");
            assert_eq!(job.count("GET", COMMENTS), 4);
            // The check run does not depend on it.
            assert_eq!(job.server.state().checks.len(), 1);
        },
    )];
    run_all(&rows);
}

#[test]
fn creating_is_never_repeated_blindly() {
    let kinds: Vec<(&'static str, Fault)> = vec![
        ("500", Fault::status(500)),
        ("502", Fault::html(502)),
        ("503", Fault::status(503)),
        ("dropped", Fault::dropped()),
        ("a slow drip", Fault::drip(Duration::from_millis(300))),
        ("no JSON", Fault::html(201)),
    ];
    let mut rows = Vec::new();
    for (name, fault) in &kinds {
        rows.push(row(name, [(post_comment(), fault.clone())], |job, ran| {
            says_red(job, ran);
            assert_eq!(job.count("POST", COMMENTS), 2, "{:#?}", job.log());
        }));
        let done = fault.clone().after_work();
        rows.push(row(name, [(post_comment(), done)], |job, ran| {
            says_red(job, ran);
            assert_eq!(job.count("POST", COMMENTS), 1, "{:#?}", job.log());
        }));
    }
    rows.push(row(
        "twice, then not again",
        [(post_comment().always(), Fault::status(502))],
        |job, ran| {
            warns(&["the comment could not be posted"])(job, ran);
            assert_eq!(job.count("POST", COMMENTS), 2);
        },
    ));
    rows.push(row(
        "carried out late, after it was looked for",
        [(post_comment(), Fault::late(Duration::from_secs(5)))],
        says_red,
    ));
    run_all(&rows);
}

#[test]
fn changing_is_repeated() {
    let kinds: Vec<(&'static str, Fault)> = vec![
        ("500", Fault::status(500)),
        ("502 after the work", Fault::html(502).after_work()),
        ("dropped", Fault::dropped()),
        ("dropped after the work", Fault::dropped().after_work()),
    ];
    let mut rows = Vec::new();
    for (name, fault) in &kinds {
        let at = Matcher::new("PATCH", "/issues/comments/");
        rows.push(
            row(name, [(at, fault.clone())], |job, ran| {
                says_red(job, ran);
                assert_eq!(job.count("PATCH", "/issues/comments/"), 2);
                assert_eq!(job.count("POST", COMMENTS), 0);
            })
            .with_existing(),
        );
    }
    run_all(&rows);
}

#[test]
fn what_the_token_may_not() {
    let at_all = || Matcher::path("/repos/").always();
    let mut rows = vec![
        row(
            "401",
            [(
                at_all(),
                Fault::answer(crate::server::http::Reply::json(
                    401,
                    &serde_json::json!({"message": "Bad credentials"}),
                )),
            )],
            |job, ran| {
                warns(&["GitHub rejected the token (401)"])(job, ran);
                assert_eq!(job.count("GET", COMMENTS), 1);
            },
        ),
        row(
            "404",
            [(Matcher::path(COMMENTS).always(), Fault::status(404))],
            |job, ran| {
                warns(&["the comment could not be posted: not found (404)"])(job, ran);
                assert_eq!(job.server.state().checks.len(), 1);
            },
        ),
        row(
            "410",
            [(Matcher::path(COMMENTS).always(), Fault::status(410))],
            |job, ran| {
                warns(&["it is gone (410)"])(job, ran);
                assert_eq!(job.server.state().checks.len(), 1);
            },
        ),
    ];
    rows.push(row(
        "422",
        [(post_comment().always(), Fault::status(422))],
        |job, ran| {
            warns(&["refused (422)"])(job, ran);
            assert_eq!(job.count("POST", COMMENTS), 1);
        },
    ));
    run_all(&rows);
}

#[test]
fn a_missing_permission_is_named() {
    let job = Job::new();
    job.leave(&red());
    job.server
        .state()
        .without(&["pull_requests=write", "checks=write"]);
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    // As it is pasted into the job; and where somebody looks.
    for permission in ["checks: write", "pull-requests: write"] {
        let lines = format!("add to the job:%0A    permissions:%0A      {permission}\n");
        assert!(ran.stderr.contains(&lines), "{ran}");
    }
    assert_eq!(
        ran.stderr.matches("::warning title=plimsoll::").count(),
        2,
        "{ran}"
    );
    let summary = job.summary();
    assert!(
        summary.contains("Not posted: check run, comment."),
        "{summary}"
    );
    assert_eq!(job.ours(), []);
    let ran = job.comment(&["--on-post-error", "fail"]);
    assert_eq!(ran.status, Some(5), "{ran}");
}

#[test]
fn a_locked_conversation() {
    let job = Job::new();
    job.leave(&red());
    job.server.state().pull(7).locked = true;
    job.server.state().without(&["pull_requests=write"]);
    job.server
        .state()
        .permissions
        .insert("issues=write".to_owned());
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(job.ours(), []);
    assert_eq!(job.server.state().checks.len(), 1);
    assert!(
        ran.stderr.contains("the comment could not be posted"),
        "{ran}"
    );
}

#[test]
fn limits_are_waited_for() {
    let reset = || {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        now.as_secs() + 2
    };
    let waited = |seconds: u64| {
        move |job: &Job, ran: &Ran| {
            says_red(job, ran);
            job.server.assert_waited(Duration::from_secs(seconds));
            assert!(ran.stderr.contains("rate limit: waiting"), "{ran}");
        }
    };
    let rows = [
        row(
            "403, on reading",
            [(get_comments(), Fault::secondary_limit(403, Some(2)))],
            waited(2),
        ),
        row(
            "429, on creating",
            [(post_comment(), Fault::secondary_limit(429, Some(1)))],
            waited(1),
        ),
        row(
            "twice",
            [(
                post_comment().times(2),
                Fault::secondary_limit(403, Some(1)),
            )],
            waited(1),
        ),
        row(
            "until a reset",
            [(get_comments(), Fault::primary_limit(403, reset()))],
            waited(1),
        ),
        row(
            "longer than there is patience",
            [(get_comments(), Fault::secondary_limit(403, Some(3600)))],
            |job, ran| {
                warns(&["asks to wait for 3600 s, longer than --max-wait"])(job, ran);
                assert_eq!(job.count("GET", COMMENTS), 1);
            },
        ),
    ];
    run_all(&rows);
}

#[test]
fn a_limit_that_does_not_say_how_long() {
    // A minute, for which there is no time: nothing more is asked meanwhile.
    let job = Job::new();
    job.leave(&red());
    let at = Matcher::path("/repos/").nth(2);
    job.server.fault(at, Fault::secondary_limit(429, None));
    let ran = job.comment(&["--max-wait", "10s"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stderr.contains("asks to wait for 60 s"), "{ran}");
    assert_eq!(job.server.requests().len(), 2, "{:#?}", job.log());
    assert!(job.summary().contains("keep"));
}

#[test]
fn redirects() {
    let rows = [
        row(
            "reading, 301",
            [(get_comments(), Fault::redirect(301, To::Id))],
            says_red,
        ),
        row(
            "reading, 302",
            [(get_comments(), Fault::redirect(302, To::Id))],
            says_red,
        ),
        row(
            "writing, 307",
            [(post_comment(), Fault::redirect(307, To::Id))],
            says_red,
        ),
        row(
            "writing, 308",
            [(post_comment(), Fault::redirect(308, To::Id))],
            says_red,
        ),
        row(
            "reading, to another host",
            [(get_comments().always(), Fault::redirect(302, To::Elsewhere))],
            warns(&["redirected to where the token does not belong"]),
        ),
        row(
            "writing, to another host",
            [(post_comment().always(), Fault::redirect(307, To::Elsewhere))],
            warns(&["redirected to where the token does not belong"]),
        ),
        row(
            "in circles",
            [(get_comments().always(), Fault::redirect(302, To::Itself))],
            warns(&["too often"]),
        ),
    ];
    run_all(&rows);
}

#[test]
fn an_unknown_commit_has_no_check_run() {
    let job = Job::new();
    job.leave(&red());
    let gone = Matcher::path("/check-runs").always();
    let reply =
        serde_json::json!({"message": format!("No commit found for SHA: {}", "a".repeat(40))});
    let fault = Fault::answer(Reply::json(422, &reply));
    job.server.fault(gone, fault);
    let ran = job.comment(&["--on-post-error", "fail"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stderr.contains("does not know the commit"), "{ran}");
    says_red(&job, &ran);
}

#[test]
fn a_check_run_is_never_doubled() {
    thread::scope(|scope| {
        for after in [false, true] {
            scope.spawn(move || {
                let job = Job::new();
                job.leave(&red());
                let fault = match after {
                    true => Fault::status(502).after_work(),
                    false => Fault::status(502),
                };
                job.server.fault(Matcher::new("POST", "/check-runs"), fault);
                let ran = job.comment(&[]);
                assert_eq!(ran.status, Some(0), "{ran}");
                assert_eq!(job.server.state().checks.len(), 1);
            });
        }
    });
}

#[test]
fn our_comment_among_many() {
    let job = Job::new();
    job.leave(&red());
    let id = {
        let mut state = job.server.state();
        for index in 0..250 {
            state.add_comment(&format!("comment {index}"), Some(User::person("bob")));
        }
        state.add_comment("so long", None);
        let forged = "<!-- plimsoll:v1 key=default -->\nI am the bot";
        state.add_comment(forged, Some(User::person("mallory")));
        let body = "<!-- plimsoll:v1 key=default -->\nan old one, without a second line";
        state.add_ours(body)
    };
    let before = job.server.state().comments.clone();
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let comment = job.the_comment();
    assert_eq!(comment.id, id);
    assert!(comment.body.contains("keeps growing"), "{}", comment.body);
    // Nobody else's was touched.
    let after = job.server.state().comments.clone();
    for (other, comment) in before {
        assert!(other == id || after[&other] == comment);
    }
    // Three pages, before and after.
    assert_eq!(job.count("GET", "/comments"), 6, "{:#?}", job.log());
}

#[test]
fn a_forged_marker_is_nobodys() {
    let job = Job::new();
    job.leave(&red());
    let forged = "<!-- plimsoll:v1 key=default -->\n\
                  <!-- plimsoll:meta {\"run\":99999,\"attempt\":1,\"sha\":\"0\"} -->\nno leaks";
    job.server
        .state()
        .add_comment(forged, Some(User::person("mallory")));
    let other_bot = User {
        login: "other[bot]".to_owned(),
        ..User::actions()
    };
    job.server.state().add_comment(forged, Some(other_bot));
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let state = job.server.state();
    let untouched = state
        .comments
        .values()
        .filter(|comment| comment.body == forged);
    assert_eq!(untouched.count(), 2);
    assert_eq!(state.comments.len(), 3);
}

#[test]
fn two_of_ours_become_one() {
    let job = Job::new();
    job.leave(&red());
    let sha = head(&job.server.state(), 7);
    let body = |run: u64| {
        format!(
            "<!-- plimsoll:v1 key=default -->\n\
             <!-- plimsoll:meta {{\"run\":{run},\"attempt\":1,\"sha\":\"{sha}\"}} -->\nrun {run}"
        )
    };
    let (low, newer) = {
        let mut state = job.server.state();
        state.add_run(7, 900, 1);
        let low = state.add_ours(&body(3));
        state.add_ours(&body(4));
        (low, body(900))
    };
    job.comment(&[]);
    assert_eq!(job.the_comment().id, low);
    // A newer run's that is not the lowest stays, in the lowest.
    job.server.state().add_ours(&newer);
    let ran = job.comment(&[]);
    let comment = job.the_comment();
    assert_eq!((comment.id, comment.body.as_str()), (low, newer.as_str()));
    assert!(ran.stdout.contains("it is of a newer run"), "{ran}");
}

#[test]
fn what_a_person_has_put_before_the_marker_stays() {
    for typed in ["Flaky, see #12.\r\n\r\n", "Flaky, see #12: "] {
        let mut job = Job::new();
        job.leave(&red());
        job.comment(&[]);
        let id = job.the_comment().id;
        job.server.state().add_run(7, 500, 1);
        let edit = |state: &mut State| {
            let body = &mut state.comments.get_mut(&id).unwrap().body;
            *body = format!("{typed}{body}");
        };
        edit(&mut job.server.state());
        job.set("GITHUB_RUN_ID", "600");
        let ran = job.comment(&[]);
        assert!(ran.stdout.contains("comment: brought up to date"), "{ran}");
        let comment = job.the_comment();
        assert_eq!(comment.id, id);
        assert!(comment.body.starts_with(typed), "{}", comment.body);
        assert!(comment.body.contains("\"run\":600"), "{}", comment.body);
        job.server.state().add_run(7, 600, 1);
        let ran = job.comment(&[]);
        assert!(ran.stdout.contains("comment: says so already"), "{ran}");
        assert_eq!(job.the_comment().id, id);
    }
}

/// The same, where another workflow repeats what somebody has written.
#[test]
fn what_another_workflow_repeats_is_not_ours() {
    let job = Job::new();
    job.leave(&red());
    let sha = head(&job.server.state(), 7);
    let marker = |run: u64| {
        format!(
            "<!-- plimsoll:v1 key=default -->\n\
             <!-- plimsoll:meta {{\"run\":{run},\"attempt\":1,\"sha\":\"{sha}\"}} -->\nno leaks"
        )
    };
    let repeated = [
        format!("You wrote:\n{}", marker(1)),
        format!("You wrote:\n> {}", marker(500).replace('\n', "\n> ")),
        "You wrote: <!-- plimsoll:v1 key=default -->".to_owned(),
    ];
    for body in &repeated {
        job.server.state().add_ours(body);
    }
    // Of this very run; but there is one that begins with the marker.
    let ran = job.comment(&[]);
    assert!(ran.stdout.contains("comment: made"), "{ran}");
    let echoed = format!("You wrote:\n{}", marker(500));
    let state = || job.server.state();
    state().add_ours(&echoed);
    let ran = job.comment(&[]);
    assert!(ran.stdout.contains("comment: says so already"), "{ran}");
    for body in repeated.iter().chain([&echoed]) {
        assert!(
            state()
                .comments
                .values()
                .any(|comment| comment.body == *body)
        );
    }
}

/// Another workflow has written, as the same bot, what somebody made up.
#[test]
fn a_run_that_is_not_this_pull_requests_silences_nobody() {
    let job = Job::new();
    job.leave(&red());
    let sha = head(&job.server.state(), 7);
    let other = {
        let mut state = job.server.state();
        state.with_fork();
        state.add_run(8, 700, 1);
        state.pull(8).head.sha.clone()
    };
    // None such; this one, in an attempt that was not; that of another pull request.
    for (run, attempt, sha) in [(99_999, 1, &sha), (500, 3, &sha), (700, 1, &other)] {
        let mut state = job.server.state();
        let echoed = format!(
            "<!-- plimsoll:v1 key=default -->\n<!-- plimsoll:meta \
             {{\"run\":{run},\"attempt\":{attempt},\"sha\":\"{sha}\"}} -->\nno leaks"
        );
        state.add_ours(&echoed);
    }
    let ran = job.comment(&[]);
    assert!(ran.stdout.contains("comment: made"), "{ran}");
    let ours = job.ours();
    let red = ours
        .iter()
        .filter(|comment| comment.body.contains("keeps growing"));
    assert_eq!(red.count(), 1);
    let others = ours
        .iter()
        .filter(|comment| comment.body.ends_with("no leaks"));
    assert_eq!(others.count(), 3, "not ours to change");
}

#[test]
fn two_runs_racing() {
    // Whichever of the two is first, what stands is the newer run's.
    for own in [400_u64, 600] {
        let mut job = Job::new();
        job.leave(&red());
        job.set("GITHUB_RUN_ID", &own.to_string());
        let sha = head(&job.server.state(), 7);
        let other = format!(
            "<!-- plimsoll:v1 key=default -->\n\
             <!-- plimsoll:meta {{\"run\":500,\"attempt\":1,\"sha\":\"{sha}\"}} -->\nrun 500"
        );
        job.server.on_request(post_comment(), move |state| {
            state.add_ours(&other);
        });
        let ran = job.comment(&[]);
        assert_eq!(ran.status, Some(0), "{ran}");
        let body = job.the_comment().body;
        let newer = if own > 500 { "\"run\":600" } else { "run 500" };
        assert!(body.contains(newer), "{own}: {body}");
    }
}

/// An older run has looked before the newer one writes, and writes after it.
#[test]
fn an_older_run_that_writes_late_does_not_stand() {
    let mut job = Job::new();
    job.leave(&red());
    job.comment(&[]);
    let id = job.the_comment().id;
    job.set("GITHUB_RUN_ID", "600");
    let list = Matcher::new("GET", COMMENTS).nth(2);
    job.server.on_request(list, move |state| {
        let older = "<!-- plimsoll:v1 key=default -->\n\
                     <!-- plimsoll:meta {\"run\":590,\"attempt\":1,\"sha\":\"0\"} -->\nrun 590";
        state.comments.get_mut(&id).unwrap().body = older.to_owned();
    });
    job.comment(&[]);
    let body = job.the_comment().body;
    assert!(body.contains("\"run\":600"), "{body}");
}

/// GitHub shows the check run that was made last.
#[test]
fn a_check_run_that_is_made_late_covers_no_newer_one() {
    let job = Job::new();
    job.leave(&green());
    let create = Matcher::new("POST", "/check-runs");
    job.server.on_request(create, |state| {
        let newer = state.checks.values().next().is_none();
        assert!(newer, "asked once");
        let sha = head(state, 7);
        state.add_check(&sha, "plimsoll", "plimsoll:default:7:900.1:x", "failure");
    });
    job.comment(&[]);
    let state = job.server.state();
    let conclusions: Vec<_> = state
        .checks
        .values()
        .map(|check| check.conclusion.as_deref())
        .collect();
    assert_eq!(conclusions, [Some("failure"), Some("failure")]);
}

/// A matrix whose jobs have one key.
#[test]
fn of_two_jobs_of_one_run_the_worse_stays() {
    for red_first in [true, false] {
        let job = Job::new();
        let mut stderr = String::new();
        for is_red in [red_first, !red_first] {
            let report = match is_red {
                true => regressed("r1", "http::echo", STACK, RATE),
                false => report("r2", "http::echo", Verdict::Within),
            };
            let one = Project::new();
            one.leave(&report, 0);
            let text = one.plimsoll(&["report", "--format", "json"]).stdout;
            job.project.write("one.json", &text);
            let ran = job.run(&["comment", "--report", "one.json", "--when", "always"]);
            assert_eq!(ran.status, Some(0), "{ran}");
            stderr = ran.stderr;
        }
        assert!(stderr.contains("--key linux"), "{stderr}");
        let body = job.the_comment().body;
        assert!(body.contains("keeps growing"), "{red_first}: {body}");
        let state = job.server.state();
        let check = state.checks.values().next_back().unwrap();
        assert_eq!(check.conclusion.as_deref(), Some("failure"), "{red_first}");
    }
}

/// Its check run is known by the commit, which another pull request may end with as well.
#[test]
fn a_red_check_is_covered_by_no_other_pull_request() {
    let job = Job::new();
    job.leave(&green());
    {
        let mut state = job.server.state();
        let sha = head(&state, 7);
        state.add_check(&sha, "plimsoll", "plimsoll:default:6:400.1:x", "failure");
    }
    let ran = job.comment(&[]);
    assert!(
        ran.stderr
            .contains("pull request 6 has the same head commit"),
        "{ran}"
    );
    assert_eq!(job.server.state().checks.len(), 1);
    // What is red itself covers nothing.
    job.leave(&red());
    job.comment(&[]);
    assert_eq!(job.server.state().checks.len(), 2);
}

#[test]
fn by_hand_is_newer_than_any_run() {
    let mut job = Job::new();
    job.leave(&red());
    job.comment(&[]);
    job.unset("GITHUB_RUN_ID");
    job.leave(&green());
    let ran = job.comment(&["--pr", "7"]);
    assert!(ran.stdout.contains("comment: brought up to date"), "{ran}");
    assert!(ran.stdout.contains("check run: made"), "{ran}");
    let state = job.server.state();
    let shown = state.checks.values().next_back().unwrap();
    assert_eq!(shown.conclusion.as_deref(), Some("success"));
}

#[test]
fn a_comment_that_is_deleted_meanwhile() {
    let job = Job::new();
    job.leave(&red());
    let body = "<!-- plimsoll:v1 key=default -->\nold";
    let id = job.server.state().add_ours(body);
    let patch = Matcher::new("PATCH", "/issues/comments/");
    job.server.on_request(patch, move |state| {
        state.comments.remove(&id);
    });
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    says_red(&job, &ran);
    assert!(job.the_comment().id > id);
}

#[test]
fn the_same_once_more() {
    let job = Job::new();
    job.leave(&red());
    job.comment(&[]);
    let first = job.the_comment();
    let ran = job.comment(&[]);
    assert!(ran.stdout.contains("comment: says so already"), "{ran}");
    assert_eq!(job.the_comment(), first);
    assert_eq!(job.count("PATCH", "/issues/comments/"), 0);
    // Of the same run and attempt there is one check run, however often.
    assert_eq!(job.server.state().checks.len(), 1);
}

#[test]
fn red_turns_green() {
    let mut job = Job::new();
    job.leave(&red());
    job.comment(&[]);
    let red = job.the_comment();
    job.set("GITHUB_RUN_ID", "501");
    job.server.state().add_run(7, 501, 1);
    job.leave(&green());
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let green = job.the_comment();
    assert_eq!(green.id, red.id);
    assert!(!green.body.contains("keeps growing"), "{}", green.body);
    // What is late does not come back.
    job.set("GITHUB_RUN_ID", "499");
    let ran = job.comment(&[]);
    assert!(
        ran.stdout
            .contains("comment: left alone, it is of a newer run"),
        "{ran}"
    );
    assert_eq!(job.the_comment().body, green.body);
}

#[test]
fn green_makes_no_comment() {
    let job = Job::new();
    job.leave(&green());
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(job.ours(), []);
    let check = job.server.state().checks.values().next().cloned().unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    job.comment(&["--when", "always"]);
    job.the_comment();
    let job = Job::new();
    job.leave(&red());
    job.comment(&["--when", "never"]);
    assert_eq!(job.ours(), []);
}

#[test]
fn a_limit_of_no_seconds_is_no_reason_to_hurry() {
    let job = Job::new();
    job.leave(&red());
    let limit = Fault::secondary_limit(403, Some(0));
    job.server.fault(get_comments().times(50), limit);
    let ran = job.comment(&["--max-wait", "2s"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stderr.contains("longer than --max-wait"), "{ran}");
    assert!(job.count("GET", COMMENTS) <= 3, "{:#?}", job.log());
    assert_eq!(job.ours(), []);
}

#[test]
fn a_dry_run_waits_for_limits_too() {
    let job = Job::new();
    job.leave(&red());
    let limit = Fault::secondary_limit(403, Some(1));
    job.server.fault(get_comments(), limit);
    let ran = job.comment(&["--dry-run"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    job.server.assert_waited(Duration::from_secs(1));
}

/// One page of comments that has the one of that id, old, and leads elsewhere.
fn page_with(id: u64, next: Option<String>) -> Fault {
    let page = serde_json::json!([{
        "id": id,
        "body": "<!-- plimsoll:v1 key=default -->\nold",
        "user": { "login": "github-actions[bot]", "type": "Bot" },
    }]);
    let reply = Reply::json(200, &page);
    Fault::answer(match next {
        Some(next) => reply.with("Link", format!("<{next}>; rel=\"next\"")),
        None => reply,
    })
}

/// With one of our comments on pull request 7, and its id.
fn with_comment() -> (Job, u64) {
    let job = Job::new();
    job.leave(&red());
    let body = "<!-- plimsoll:v1 key=default -->\nold";
    let id = job.server.state().add_ours(body);
    (job, id)
}

#[test]
fn one_comment_on_two_pages_is_no_double() {
    let (job, id) = with_comment();
    let next = format!(
        "{}/repos/octo/demo{COMMENTS}?per_page=100&page=2",
        job.server.url()
    );
    job.server.fault(get_comments(), page_with(id, Some(next)));
    job.server.fault(get_comments().nth(2), page_with(id, None));
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    says_red(&job, &ran);
    assert_eq!(job.count("DELETE", "/comments/"), 0, "{:#?}", job.log());
}

#[test]
fn pages_in_circles() {
    let (job, id) = with_comment();
    let next = format!(
        "{}/repos/octo/demo{COMMENTS}?per_page=100",
        job.server.url()
    );
    let page = page_with(id, Some(next));
    job.server.fault(get_comments().always(), page);
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stderr.contains("the comment could not be posted"),
        "{ran}"
    );
    assert!(job.count("GET", COMMENTS) < 5);
    assert_eq!(job.the_comment().id, id);
}

#[test]
fn a_list_that_lags_behind() {
    // What was deleted is listed still, and what is made is not yet.
    let job = Job::new();
    job.leave(&red());
    job.server
        .fault(get_comments().times(8), page_with(4_000, None));
    let ran = job.comment(&[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(job.count("POST", COMMENTS), 1, "{:#?}", job.log());
    says_red(&job, &ran);
}

#[test]
fn who_is_blocked_is_not_told_of_a_lock() {
    let job = Job::new();
    job.leave(&red());
    let reply = Reply::json(403, &serde_json::json!({ "message": "User is blocked" }));
    job.server.fault(post_comment(), Fault::answer(reply));
    let ran = job.comment(&[]);
    assert!(ran.stderr.contains("(403): User is blocked"), "{ran}");
}

#[test]
fn only_a_download_may_lead_elsewhere() {
    // Whatever the repository is called.
    let mut job = Job::new();
    job.leave(&red());
    job.set("GITHUB_REPOSITORY", "octo/artifacts");
    let to = To::Elsewhere;
    job.server
        .fault(get_comments().always(), Fault::redirect(302, to));
    let ran = job.comment(&[]);
    assert!(
        ran.stderr
            .contains("the comment could not be posted: redirected to where the token"),
        "{ran}"
    );
}
