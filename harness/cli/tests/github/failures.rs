//! What goes wrong, row by row: after each, at most one comment of ours, the
//! right one.

use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::job::{Job, RATE, STACK, green, joined, red, text};
use crate::project::{regressed, within};
use crate::server::fault::{Fault, Kind, Matcher};
use crate::server::http::Reply;
use crate::server::state::{ACTIONS, State, user};

const COMMENTS: &str = "/issues/7/comments";
/// A comment of ours from before there was a second line.
const OLD: &str = "<!-- plimsoll:v1 key=default -->\nold";

const NEWER: &str = "comment: left alone, it is of a newer run";
/// What the comment of this run says.
const CURRENT: [&str; 2] = ["keeps growing", "\"run\":500"];

fn get() -> Matcher {
    Matcher::new("GET", COMMENTS)
}

fn post() -> Matcher {
    Matcher::new("POST", COMMENTS)
}

fn patch() -> Matcher {
    Matcher::new("PATCH", "/issues/comments/")
}

/// A comment of ours that a run has made for a commit.
fn ours_of(run: u64, attempt: u64, sha: &str) -> String {
    format!(
        "<!-- plimsoll:v1 key=default -->\n<!-- plimsoll:meta \
         {{\"run\":{run},\"attempt\":{attempt},\"sha\":\"{sha}\"}} -->\nrun {run}"
    )
}

const WAITS: &str = "rate limit: waiting";

/// One failure.
struct Row {
    name: &'static str,
    at: Matcher,
    fault: Fault,
    /// How many requests of a method are made for the comment.
    asked: &'static str,
    /// What is said. Unless that is a wait, there is no comment in the end.
    said: &'static str,
}

/// In the end, the comment stands, and was made once.
fn row(name: &'static str, at: Matcher, fault: Fault) -> Row {
    let (asked, said) = ("POST 1", "");
    Row {
        name,
        at,
        fault,
        asked,
        said,
    }
}

impl Row {
    fn gives(mut self, asked: &'static str, said: &'static str) -> Self {
        (self.asked, self.said) = (asked, said);
        self
    }

    fn run(&self) {
        let job = Job::of(&red());
        if self.asked.starts_with("PATCH") {
            job.state().add_ours(&ours_of(1, 1, "0"));
        }
        job.fault(self.at.clone(), self.fault.clone());
        let ran = job.comment("");
        // What could be said without GitHub was said, and the check run depends on nothing.
        assert!(job.summary().contains("keep"));
        assert_eq!(job.checks(), 1);
        ran.warns(self.said);
        if self.said.is_empty() || self.said == WAITS {
            job.says(&CURRENT);
        } else {
            assert!(!ran.stderr.contains("<html"), "{ran}");
            assert!(job.ours().is_empty(), "{ran}");
        }
        if self.said == WAITS {
            job.assert_waited(Duration::from_secs(1));
        }
        let (method, count) = self.asked.split_once(' ').unwrap();
        job.asked(method, "/comments", count.parse().unwrap());
    }
}

/// What fails at any request is tested in `any_request`.
pub(crate) fn each_failure_comes_to_one_comment_or_a_warning() {
    let (page, failed) = (Fault::html(200), Fault::html(502));
    let half = Fault::before(Kind::HalfBody).after_work();
    let locked = Fault::says(403, "Unable to create comment because issue is locked.");
    let limit = |status, seconds| Fault::secondary_limit(status, Some(seconds));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let reset = (now.unwrap().as_secs() + 2).to_string();
    let hourly = Reply::says(403, "API rate limit exceeded for installation ID 1.");
    let hourly = hourly.with("X-RateLimit-Remaining", "0");
    let hourly = Fault::answer(hourly.with("X-RateLimit-Reset", reset));
    let to = Fault::redirect;
    let itself = format!("/repos/octo/demo{COMMENTS}");
    let (itself, by_id) = (itself.as_str(), "/repositories/123456/issues/7/comments");
    let away = "http://127.0.0.2:9/x";
    let refused = "the comment could not be posted: redirected to where the token";
    let anything = || Matcher::new("", COMMENTS).always();
    let rows = [
        // Reading is tried again.
        row("half the body", get(), half),
        row("a page in place of JSON", get(), page.clone()),
        row("a slow drip", get(), Fault::before(Kind::Drip)),
        row("silence", get(), Fault::before(Kind::Silence)),
        row("twice", get().times(2), failed.clone()),
        row("for ever", get().always(), failed.clone()).gives("GET 4", "GitHub failed (502)"),
        // Creating is never repeated blindly.
        row("not done", post(), failed.clone()).gives("POST 2", ""),
        row("done, and failed", post(), failed.clone().after_work()),
        row("done, no JSON", post(), page.after_work()),
        row("never done", post().always(), failed).gives("POST 2", "GitHub failed (502)"),
        row("422", post().always(), Fault::status(422)).gives("POST 1", "refused (422)"),
        row("locked", post(), locked).gives("POST 1", "the conversation is locked"),
        // Changing is repeated.
        row("changed", patch(), Fault::dropped().after_work()).gives("PATCH 2", ""),
        // Limits are waited for.
        row("403, on reading", get(), limit(403, 1)).gives("POST 1", WAITS),
        row("429, on creating", post(), limit(429, 1)).gives("POST 2", WAITS),
        row("limited twice", post().times(2), limit(403, 1)).gives("POST 3", WAITS),
        row("until a reset", get(), hourly).gives("POST 1", WAITS),
        row("too long", get(), limit(403, 3600)).gives("GET 1", "3600 s, longer than --max-wait"),
        // Redirects are followed on the same host.
        row("reading, 301", get(), to(301, by_id)),
        row("reading, 302", get(), to(302, by_id)),
        row("writing, 307", post(), to(307, by_id)).gives("POST 2", ""),
        row("writing, 308", post(), to(308, by_id)).gives("POST 2", ""),
        row("writing, 302", post(), to(302, by_id)).gives("POST 1", refused),
        row("writing, twice", post().always(), to(307, itself)).gives("POST 2", refused),
        row("reading, elsewhere", get(), to(302, away)).gives("GET 1", refused),
        row("writing, elsewhere", post(), to(307, away)).gives("POST 1", refused),
        row("in circles", get().always(), to(302, itself)).gives("GET 4", "too often"),
        // What is refused is not asked again.
        row("401", anything(), Fault::status(401)).gives("GET 1", "rejected the token (401)"),
        row("404", anything(), Fault::status(404)).gives("GET 1", "posted: not found (404)"),
    ];
    // Each waits for most of its time, so all wait together.
    thread::scope(|scope| {
        let rows = rows.each_ref();
        let started = rows.map(|row| (row.name, scope.spawn(|| row.run())));
        for (name, row) in started {
            assert!(row.join().is_ok(), "the row `{name}` failed, see above");
        }
    });
}

#[test]
fn a_missing_permission_is_named() {
    let job = Job::of(&red());
    let missing = ["pull_requests=write", "checks=write"];
    job.state().without(&missing);
    let ran = job.comment("");
    // As it is pasted into the job; and where somebody looks.
    for permission in ["checks: write", "pull-requests: write"] {
        let hint = format!("add to the job:%0A    permissions:%0A      {permission}\n");
        ran.warns(&hint);
    }
    let warnings = ran.stderr.matches("::warning title=plimsoll::");
    assert_eq!(warnings.count(), 2, "{ran}");
    assert!(job.summary().contains("Not posted: check run, comment."));
    assert!(job.ours().is_empty());
    job.comment_ends(5, "--on-post-error fail");
}

/// A minute, for which there is no time: nothing more is asked meanwhile.
#[test]
fn a_limit_that_does_not_say_how_long() {
    let job = Job::of(&red());
    let second = Matcher::new("", "/repos/").nth(2);
    job.fault(second, Fault::secondary_limit(429, None));
    job.comment("--max-wait 10s").warns("asks to wait for 60 s");
    assert_eq!(job.requests().len(), 2, "{:#?}", job.log());
    assert!(job.summary().contains("keep"));
}

#[test]
fn a_limit_of_no_seconds_is_no_reason_to_hurry() {
    let job = Job::of(&red());
    job.fault(get().times(50), Fault::secondary_limit(403, Some(0)));
    job.comment("--max-wait 2s").warns("longer than --max-wait");
    assert!(job.count("GET", COMMENTS) <= 3, "{:#?}", job.log());
}

#[test]
fn an_unknown_commit_has_no_check_run() {
    let unknown = "No commit found for SHA: f00";
    let failed = "refused (422): Validation Failed";
    for (said, warning, status) in [
        (unknown, "does not know the commit", 0),
        ("Validation Failed", failed, 5),
    ] {
        let job = Job::of(&red());
        let at = Matcher::new("", "/check-runs").always();
        job.fault(at, Fault::says(422, said));
        let ran = job.comment_ends(status, "--on-post-error fail");
        ran.warns(warning);
        job.says(&["keeps growing"]);
    }
}

/// Among many comments, with those of others that look like ours.
#[test]
fn only_our_comment_is_changed() {
    let forged = ours_of(99_999, 1, "0");
    for has_ours in [true, false] {
        let job = Job::of(&red());
        let ours = {
            let mut state = job.state();
            for index in 0..250 {
                state.add_comment(7, &format!("comment {index}"), user("bob"));
            }
            // Of an account that is deleted; of a person; of another bot.
            state.add_comment(7, "so long", json!(null));
            state.add_comment(7, &forged, user("mallory"));
            state.add_comment(7, &forged, user("other[bot]"));
            has_ours.then(|| state.add_ours(OLD))
        };
        let before = job.state().comments.clone();
        job.comment("");
        let after = job.state().comments.clone();
        let mut changed = after.iter().filter(|(id, now)| before.get(id) != Some(now));
        let (id, one) = changed.next().unwrap();
        assert!(text(one).contains("keeps growing") && ours.is_none_or(|ours| *id == ours));
        assert_eq!((changed.count(), after.len()), (0, 254));
        // Three pages, before and after.
        job.asked("GET", "/comments", 6);
    }
}

#[test]
fn two_of_ours_become_one() {
    let job = Job::of(&red());
    let sha = job.state().head(7);
    let newer = ours_of(900, 1, &sha);
    job.state().add_run(7, 900, 1);
    let [low, _] = [3, 4].map(|run| job.state().add_ours(&ours_of(run, 1, &sha)));
    job.comment("");
    assert_eq!(job.the_comment()["id"], low);
    // A newer run's that is not the lowest stays, in the lowest.
    job.state().add_ours(&newer);
    job.comment("").prints(NEWER);
    assert_eq!(job.the_comment()["id"], low);
    assert_eq!(job.the_comment()["body"], newer);
}

#[test]
fn what_a_person_has_put_before_the_marker_stays() {
    let typed = "Flaky, see #12: ";
    let mut job = Job::of(&red());
    job.comment("");
    let id = {
        let mut state = job.state();
        let (id, comment) = state.comments.iter_mut().next().unwrap();
        comment["body"] = json!(format!("{typed}{}", text(comment)));
        *id
    };
    job.state().add_run(7, 500, 1);
    job.set("GITHUB_RUN_ID", "600");
    job.comment("").prints("comment: brought up to date");
    let body = job.says(&["\"run\":600"]);
    assert!(body.starts_with(typed), "{body}");
    job.state().add_run(7, 600, 1);
    job.comment("").prints("comment: says so already");
    assert_eq!(job.the_comment()["id"], id);
}

/// Another workflow repeats what somebody has written.
#[test]
fn what_another_workflow_repeats_is_not_ours() {
    let job = Job::of(&red());
    let sha = job.state().head(7);
    let of_no_run = format!("You wrote:\n{}", ours_of(1, 1, &sha));
    job.state().add_ours(&of_no_run);
    job.comment("").prints("comment: made");
    // Of this very run; but by now there is one that begins with the marker.
    let of_this_run = format!("You wrote:\n{}", ours_of(500, 1, &sha));
    job.state().add_ours(&of_this_run);
    job.comment("").prints("comment: says so already");
    for body in [of_no_run, of_this_run] {
        assert!(job.ours().iter().any(|comment| comment["body"] == body));
    }
}

/// Another workflow has written, as the same bot, what somebody made up.
#[test]
fn a_run_that_is_not_this_pull_requests_silences_nobody() {
    let job = Job::of(&red());
    {
        let mut state = job.state();
        state.with_fork().add_pull(9, "octo", "other");
        for (pull, run) in [(8, 700), (9, 800), (7, 900)] {
            state.add_run(pull, run, 1);
        }
        let [own, fork, other] = [7, 8, 9].map(|pull| state.head(pull));
        // None such; this one, in an attempt that was not; that of a fork with a branch of that
        // name, and of another branch; of this pull request, and of another commit.
        for (run, attempt, sha) in [
            (99_999, 1, &own),
            (500, 3, &own),
            (700, 1, &fork),
            (800, 1, &other),
            (900, 1, &other),
        ] {
            state.add_ours(&ours_of(run, attempt, sha));
        }
    }
    job.comment("").prints("comment: made");
    assert_eq!(job.ours().len(), 6, "others are left alone");
}

/// A private repository's runs are hidden from this token, and its people are known.
#[test]
fn a_newer_run_that_cannot_be_looked_up_is_believed() {
    let job = Job::of(&red());
    job.state().add_ours(&ours_of(900, 1, "0"));
    let run = Matcher::new("GET", "/actions/runs/900");
    job.fault(run.always(), Fault::status(403));
    job.comment("").prints(NEWER);
}

/// Whichever of the two is first, what stands is the newer run's.
#[test]
fn two_runs_racing() {
    for (own, stands, done) in [
        ("400", "run 500", "left alone, it is of a newer run"),
        ("600", "\"run\":600", "made"),
    ] {
        let mut job = Job::of(&red());
        job.set("GITHUB_RUN_ID", own);
        let other = ours_of(500, 1, &job.state().head(7));
        job.on_request(post(), move |state| {
            state.add_ours(&other);
        });
        job.comment("").prints(&format!("comment: {done}"));
        job.says(&[stands]);
    }
}

/// An older run has looked before the newer one writes, and writes after it; twice.
#[test]
fn an_older_run_that_writes_late_does_not_stand() {
    let mut job = Job::of(&red());
    job.comment("");
    job.set("GITHUB_RUN_ID", "600");
    job.on_request(get().nth(2).times(2), |state| {
        let mut comments = state.comments.values_mut();
        comments.next().unwrap()["body"] = json!(ours_of(590, 1, "0"));
    });
    job.comment("");
    job.says(&["\"run\":600"]);
    job.asked("PATCH", "/comments/", 3);
}

/// GitHub shows the check run that was made last.
#[test]
fn a_check_run_that_is_made_late_covers_no_newer_one() {
    let job = Job::of(&green());
    job.on_request(Matcher::new("POST", "/check-runs"), |state| {
        state.add_check("plimsoll:default:7:900.1:x");
    });
    job.comment("");
    assert_eq!(job.checks(), 2);
    job.concludes("failure");
}

/// A matrix whose jobs have one key. Of two that are as bad, the later one stays.
pub(crate) fn of_two_jobs_of_one_run_the_worse_stays() {
    for (first, second) in [(true, false), (false, true), (true, true)] {
        let job = Job::new();
        let post = |run: &str, is_red: bool| {
            let report = match is_red {
                true => regressed(run, "http::echo", STACK, RATE),
                false => within(run, "http::echo"),
            };
            let text = joined(&[report]).to_string();
            job.project.write("one.json", &text);
            job.run("comment --report one.json --when always").ends(0)
        };
        post("r1", first);
        let ran = post("r2", second);
        let done = match first && !second {
            true => "left alone, it is of a job of this run that came out worse",
            false => "brought up to date",
        };
        ran.warns("--key linux");
        ran.prints(&format!("check run: {done}"));
        ran.prints(&format!("comment: {done}"));
        job.says(&["keeps growing"]);
        job.concludes("failure");
    }
}

/// Its check run is known by the commit, which another pull request may end with as well.
#[test]
fn a_red_check_is_covered_by_no_other_pull_request() {
    let job = Job::of(&green());
    job.state().add_check("plimsoll:default:6:400.1:x");
    let ran = job.comment("");
    ran.warns("pull request 6 has the same head commit");
    assert_eq!(job.checks(), 1);
    // What is red itself covers nothing.
    job.leave(&red());
    job.comment("");
    assert_eq!(job.checks(), 2);
}

/// What is late does not come back, and whoever posts by hand is newer than any run.
#[test]
fn the_newest_run_stands_in_one_comment() {
    let mut job = Job::new();
    job.state().add_run(7, 501, 1);
    let (made, same) = ("comment: made", "comment: says so already");
    let updated = "comment: brought up to date";
    for (run, attempt, reports, done, is_red, checks) in [
        ("500", "1", red(), made, true, 1),
        // Of the same run and attempt there is one check run, however often.
        ("500", "1", red(), same, true, 1),
        ("500", "2", red(), updated, true, 2),
        ("500", "1", green(), NEWER, true, 2),
        ("501", "1", green(), updated, false, 3),
        ("499", "1", red(), NEWER, false, 3),
        ("", "1", red(), updated, true, 4),
    ] {
        job.set("GITHUB_RUN_ID", run);
        job.set("GITHUB_RUN_ATTEMPT", attempt);
        job.leave(&reports).comment("").prints(done);
        let found = (job.says(&[]).contains("keeps growing"), job.checks());
        assert_eq!(found, (is_red, checks), "{run}.{attempt}");
        job.concludes(if is_red { "failure" } else { "success" });
    }
    job.asked("POST", COMMENTS, 1);
    job.asked("PATCH", "/issues/comments/", 3);
}

#[test]
fn a_comment_that_is_deleted_meanwhile() {
    let job = Job::of(&red());
    let id = job.state().add_ours(OLD);
    job.on_request(patch(), move |state: &mut State| {
        state.comments.remove(&id);
    });
    job.comment("");
    job.says(&CURRENT);
}

#[test]
fn green_makes_no_comment() {
    for (reports, when) in [(green(), "on-growth"), (red(), "never")] {
        let job = Job::of(&reports);
        job.comment(&format!("--when {when}"));
        assert_eq!((job.ours().len(), job.checks()), (0, 1), "{when}");
    }
}

/// One page of comments that has the one of that id, old, and leads elsewhere.
fn page_with(id: u64, next: Option<String>) -> Fault {
    let reply = json!([{"id": id, "body": OLD, "user": user(ACTIONS)}]);
    let reply = Reply::json(200, &reply);
    Fault::answer(match next {
        Some(next) => reply.with("Link", format!("<{next}>; rel=\"next\"")),
        None => reply,
    })
}

#[test]
fn one_comment_on_two_pages_is_no_double() {
    let job = Job::of(&red());
    let id = job.state().add_ours(OLD);
    let next = format!("{}&page=2", page_of(&job.url()));
    job.fault(get(), page_with(id, Some(next)));
    job.fault(get().nth(2), page_with(id, None));
    job.comment("");
    job.says(&CURRENT);
    job.asked("DELETE", "/comments/", 0);
}

fn page_of(server: &str) -> String {
    format!("{server}/repos/octo/demo{COMMENTS}?per_page=100")
}

#[test]
fn pages_that_lead_in_circles_or_elsewhere() {
    for (elsewhere, said) in [
        (None, "the comment could not be posted"),
        (Some("http://127.0.0.2:9"), "redirected to where the token"),
    ] {
        let job = Job::of(&red());
        let id = job.state().add_ours(OLD);
        let next = page_of(elsewhere.unwrap_or(&job.url()));
        job.fault(get().always(), page_with(id, Some(next)));
        job.comment("").warns(said);
        assert!(job.count("GET", COMMENTS) < 5);
        assert_eq!(job.the_comment()["body"], OLD);
    }
}

/// What was deleted is listed still, and what is made is not yet.
#[test]
fn a_list_that_lags_behind() {
    let job = Job::of(&red());
    job.fault(get().times(8), page_with(4_000, None));
    job.comment("");
    job.asked("POST", COMMENTS, 1);
    job.says(&CURRENT);
}
