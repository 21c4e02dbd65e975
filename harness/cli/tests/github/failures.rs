//! What goes wrong, row by row: after each, at most one comment of ours, the
//! right one.

use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::job::{Job, RATE, STACK, green, head, red};
use crate::project::{Project, regressed, within};
use crate::server::fault::{Fault, Matcher, To};
use crate::server::http::Reply;
use crate::server::state::{Comment, State, User};

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

fn drip() -> Fault {
    Fault::drip(Duration::from_millis(200))
}

/// A comment of ours that a run has made for a commit.
fn ours_of(run: u64, attempt: u64, sha: &str) -> String {
    format!(
        "<!-- plimsoll:v1 key=default -->\n<!-- plimsoll:meta \
         {{\"run\":{run},\"attempt\":{attempt},\"sha\":\"{sha}\"}} -->\nrun {run}"
    )
}

/// What one failure has to come to.
struct Row {
    name: &'static str,
    at: Matcher,
    fault: Fault,
    /// Whether a comment of ours is there before.
    existing: bool,
    /// What is said where there is no comment in the end.
    warns: &'static str,
    /// How many requests of a method are made for the comment.
    counts: Vec<(&'static str, usize)>,
    /// How many seconds are waited.
    waits: Option<u64>,
}

/// In the end, the comment stands.
fn row(name: &'static str, at: Matcher, fault: Fault) -> Row {
    Row {
        name,
        at,
        fault,
        existing: false,
        warns: "",
        counts: Vec::new(),
        waits: None,
    }
}

impl Row {
    /// There is no comment in the end.
    fn warns(self, warns: &'static str) -> Self {
        Row { warns, ..self }
    }

    fn counts(mut self, method: &'static str, count: usize) -> Self {
        self.counts.push((method, count));
        self
    }

    fn waits(self, seconds: u64) -> Self {
        let waits = Some(seconds);
        Row { waits, ..self }
    }

    fn run(&self) {
        let job = Job::of(&red());
        if self.existing {
            job.state().add_ours(&ours_of(1, 1, "0"));
        }
        job.fault(self.at.clone(), self.fault.clone());
        let ran = job.comment("");
        // What could be said without GitHub was said, and the check run depends on nothing.
        assert!(job.summary().contains("keep"));
        assert_eq!(job.checks(), 1);
        if self.warns.is_empty() {
            job.says(&CURRENT);
        } else {
            ran.warns(self.warns);
            assert!(!ran.stderr.contains("<html"), "{ran}");
            assert_eq!(job.ours(), [], "{ran}");
        }
        for (method, count) in &self.counts {
            job.asked(method, "/comments", *count);
        }
        if let Some(seconds) = self.waits {
            job.assert_waited(Duration::from_secs(seconds));
            ran.warns("rate limit: waiting");
        }
    }
}

/// Each waits for most of its time, so all wait together.
fn run_all(rows: &[Row]) {
    thread::scope(|scope| {
        let started = rows.iter().map(|row| (row.name, scope.spawn(|| row.run())));
        for (name, row) in started.collect::<Vec<_>>() {
            assert!(row.join().is_ok(), "the row `{name}` failed, see above");
        }
    });
}

pub(crate) fn reading_is_tried_again() {
    run_all(&[
        row("500", get(), Fault::status(500)),
        row("502, a page", get(), Fault::html(502)),
        row("dropped before", get(), Fault::dropped()),
        row("half the body", get(), Fault::half_body()),
        row("half the JSON", get(), Fault::half_json()),
        row("a page in place of JSON", get(), Fault::html(200)),
        row("a slow drip", get(), drip()),
        row("silence", get(), Fault::silence()),
        row("twice", get().times(2), Fault::status(502)),
        row("for ever", get().always(), Fault::html(502))
            .warns("the comment could not be posted: GitHub failed (502)")
            .counts("GET", 4),
    ]);
}

pub(crate) fn creating_is_never_repeated_blindly() {
    let faults = [
        ("500", Fault::status(500)),
        ("502, a page", Fault::html(502)),
        ("dropped", Fault::dropped()),
        ("a slow drip", drip()),
        ("silence", Fault::silence()),
        ("no JSON", Fault::html(201)),
    ];
    let mut rows = Vec::new();
    for (name, fault) in faults {
        rows.push(row(name, post(), fault.clone()).counts("POST", 2));
        rows.push(row(name, post(), fault.after_work()).counts("POST", 1));
    }
    let blocked = Fault::says(403, "User is blocked");
    rows.extend([
        row("twice, then not again", post().always(), Fault::status(502))
            .warns("the comment could not be posted")
            .counts("POST", 2),
        row("422", post().always(), Fault::status(422))
            .warns("refused (422)")
            .counts("POST", 1),
        row("not locked", post(), blocked).warns("(403): User is blocked"),
    ]);
    run_all(&rows);
}

pub(crate) fn changing_is_repeated() {
    let faults = [
        ("500", Fault::status(500)),
        ("502 after the work", Fault::html(502).after_work()),
        ("dropped", Fault::dropped()),
        ("dropped after the work", Fault::dropped().after_work()),
    ];
    let rows = faults.map(|(name, fault)| Row {
        existing: true,
        ..row(name, patch(), fault)
            .counts("PATCH", 2)
            .counts("POST", 0)
    });
    run_all(&rows);
}

pub(crate) fn limits_are_waited_for() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let reset = Fault::primary_limit(403, now.unwrap().as_secs() + 2);
    let limit = |status, seconds| Fault::secondary_limit(status, Some(seconds));
    run_all(&[
        row("403, on reading", get(), limit(403, 2)).waits(2),
        row("429, on creating", post(), limit(429, 1)).waits(1),
        row("twice", post().times(2), limit(403, 1)).waits(1),
        row("until a reset", get(), reset).waits(1),
        row("longer than there is patience", get(), limit(403, 3600))
            .warns("asks to wait for 3600 s, longer than --max-wait")
            .counts("GET", 1),
    ]);
}

#[test]
fn redirects_are_followed_on_the_same_host() {
    let to = Fault::redirect;
    let refused = "the comment could not be posted: redirected to where the token";
    run_all(&[
        row("reading, 301", get(), to(301, To::Id)),
        row("reading, 302", get(), to(302, To::Id)),
        row("writing, 307", post(), to(307, To::Id)),
        row("writing, 308", post(), to(308, To::Id)),
        row("writing, 302", post(), to(302, To::Id))
            .warns(refused)
            .counts("POST", 1),
        row("writing, twice", post().always(), to(307, To::Itself))
            .warns(refused)
            .counts("POST", 2),
        row("reading, elsewhere", get(), to(302, To::Elsewhere)).warns(refused),
        row("writing, elsewhere", post(), to(307, To::Elsewhere)).warns(refused),
        row("in circles", get().always(), to(302, To::Itself))
            .warns("too often")
            .counts("GET", 4),
    ]);
}

#[test]
fn what_is_refused_is_not_asked_again() {
    let row = |status, why| {
        let always = Matcher::path(COMMENTS).always();
        let row = row("refused", always, Fault::status(status));
        row.warns(why).counts("GET", 1)
    };
    run_all(&[
        row(401, "GitHub rejected the token (401)"),
        row(404, "the comment could not be posted: not found (404)"),
    ]);
}

#[test]
fn a_missing_permission_is_named() {
    let job = Job::of(&red());
    let missing = ["pull_requests=write", "checks=write"];
    job.state().without(&missing);
    let ran = job.comment("");
    // As it is pasted into the job; and where somebody looks.
    for permission in ["checks: write", "pull-requests: write"] {
        ran.warns(&format!(
            "add to the job:%0A    permissions:%0A      {permission}\n"
        ));
    }
    let warnings = ran.stderr.matches("::warning title=plimsoll::");
    assert_eq!(warnings.count(), 2, "{ran}");
    let summary = job.summary();
    let missing = "Not posted: check run, comment.";
    assert!(summary.contains(missing), "{summary}");
    assert_eq!(job.ours(), []);
    job.comment_ends(5, "--on-post-error fail");
}

#[test]
fn a_locked_conversation_has_a_check_run() {
    let job = Job::of(&red());
    job.state().pull(7).locked = true;
    let ran = job.comment("");
    ran.warns("the comment could not be posted: the conversation is locked");
    assert_eq!((job.ours().len(), job.checks()), (0, 1));
}

/// A minute, for which there is no time: nothing more is asked meanwhile.
#[test]
fn a_limit_that_does_not_say_how_long() {
    let job = Job::of(&red());
    let second = Matcher::path("/repos/").nth(2);
    job.fault(second, Fault::secondary_limit(429, None));
    job.comment("--max-wait 10s").warns("asks to wait for 60 s");
    assert_eq!(job.requests().len(), 2, "{:#?}", job.log());
    assert!(job.summary().contains("keep"));
}

#[test]
fn a_limit_of_no_seconds_is_no_reason_to_hurry() {
    let job = Job::of(&red());
    job.fault(get().times(50), Fault::secondary_limit(403, Some(0)));
    let ran = job.comment("--max-wait 2s");
    ran.warns("longer than --max-wait");
    assert!(job.count("GET", COMMENTS) <= 3, "{:#?}", job.log());
    assert_eq!(job.ours(), []);
}

#[test]
fn a_dry_run_waits_for_limits_too() {
    let job = Job::of(&red());
    job.fault(get(), Fault::secondary_limit(403, Some(1)));
    job.comment("--dry-run");
    job.assert_waited(Duration::from_secs(1));
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
        let at = Matcher::path("/check-runs").always();
        job.fault(at, Fault::says(422, said));
        let ran = job.comment_ends(status, "--on-post-error fail");
        ran.warns(warning);
        job.says(&["keeps growing"]);
    }
}

pub(crate) fn a_check_run_is_never_doubled() {
    for fault in [Fault::status(502), Fault::status(502).after_work()] {
        let job = Job::of(&red());
        job.fault(Matcher::new("POST", "/check-runs"), fault);
        job.comment("");
        assert_eq!(job.checks(), 1);
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
                state.add_comment(&format!("comment {index}"), Some(User::person("bob")));
            }
            // Of an account that is deleted; of a person; of another bot.
            state.add_comment("so long", None);
            state.add_comment(&forged, Some(User::person("mallory")));
            state.add_comment(&forged, Some(User::bot("other[bot]")));
            has_ours.then(|| state.add_ours(OLD))
        };
        let before = job.state().comments.clone();
        job.comment("");
        let after = job.state().comments.clone();
        let is_new = |now: &&Comment| before.get(&now.id) != Some(now);
        let changed: Vec<&Comment> = after.values().filter(is_new).collect();
        let [one] = changed[..] else {
            panic!("{changed:#?}");
        };
        assert!(one.body.contains("keeps growing"), "{}", one.body);
        assert!(ours.is_none_or(|id| one.id == id));
        assert_eq!(after.len(), 254);
        // Three pages, before and after.
        job.asked("GET", "/comments", 6);
    }
}

#[test]
fn two_of_ours_become_one() {
    let job = Job::of(&red());
    let sha = head(&job.state(), 7);
    let newer = ours_of(900, 1, &sha);
    job.state().add_run(7, 900, 1);
    let [low, _] = [3, 4].map(|run| job.state().add_ours(&ours_of(run, 1, &sha)));
    job.comment("");
    assert_eq!(job.the_comment().id, low);
    // A newer run's that is not the lowest stays, in the lowest.
    job.state().add_ours(&newer);
    job.comment("").prints("it is of a newer run");
    let comment = job.the_comment();
    assert_eq!((comment.id, comment.body), (low, newer));
}

#[test]
fn what_a_person_has_put_before_the_marker_stays() {
    for typed in ["Flaky, see #12.\r\n\r\n", "Flaky, see #12: "] {
        let mut job = Job::of(&red());
        job.comment("");
        let id = job.the_comment().id;
        {
            let mut state = job.state();
            state.add_run(7, 500, 1);
            let body = &mut state.comments.get_mut(&id).unwrap().body;
            *body = format!("{typed}{body}");
        }
        job.set("GITHUB_RUN_ID", "600");
        job.comment("").prints("comment: brought up to date");
        let body = job.says(&["\"run\":600"]);
        assert!(body.starts_with(typed), "{body}");
        job.state().add_run(7, 600, 1);
        job.comment("").prints("comment: says so already");
        assert_eq!(job.the_comment().id, id);
    }
}

/// The same, where another workflow repeats what somebody has written.
#[test]
fn what_another_workflow_repeats_is_not_ours() {
    let job = Job::of(&red());
    let sha = head(&job.state(), 7);
    let this = ours_of(500, 1, &sha);
    let repeated = [
        format!("You wrote:\n{}", ours_of(1, 1, &sha)),
        format!("You wrote:\n> {}", this.replace('\n', "\n> ")),
        "You wrote: <!-- plimsoll:v1 key=default -->".to_owned(),
        // Of this very run; but by then there is one that begins with the marker.
        format!("You wrote:\n{this}"),
    ];
    for body in &repeated[..3] {
        job.state().add_ours(body);
    }
    job.comment("").prints("comment: made");
    job.state().add_ours(&repeated[3]);
    job.comment("").prints("comment: says so already");
    for body in &repeated {
        assert!(job.ours().iter().any(|comment| comment.body == *body));
    }
}

/// Another workflow has written, as the same bot, what somebody made up.
#[test]
fn a_run_that_is_not_this_pull_requests_silences_nobody() {
    let job = Job::of(&red());
    {
        let mut state = job.state();
        let repository = state.repository.clone();
        state.with_fork().with_pull(9, repository, "other");
        for (pull, run) in [(8, 700), (9, 800), (7, 900)] {
            state.add_run(pull, run, 1);
        }
        let [own, fork, other] = [7, 8, 9].map(|pull| head(&state, pull));
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
    let ours = job.ours();
    let red = ours.iter().filter(|one| one.body.contains("keeps growing"));
    assert_eq!((red.count(), ours.len()), (1, 6), "others are left alone");
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
        let other = ours_of(500, 1, &head(&job.state(), 7));
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
    let id = job.the_comment().id;
    job.set("GITHUB_RUN_ID", "600");
    job.on_request(get().nth(2).times(2), move |state| {
        state.comments.get_mut(&id).unwrap().body = ours_of(590, 1, "0");
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
    assert_eq!((job.checks(), job.the_check().1.as_str()), (2, "failure"));
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
            let text = Project::with(&[report]).ok("report --format json").stdout;
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
        assert_eq!(job.the_check().1, "failure");
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

#[test]
fn by_hand_is_newer_than_any_run() {
    let mut job = Job::of(&red());
    job.comment("");
    job.unset("GITHUB_RUN_ID");
    job.leave(&green());
    let ran = job.comment("--pr 7");
    ran.prints("comment: brought up to date")
        .prints("check run: made");
    assert_eq!(job.the_check().1, "success");
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
    assert!(job.the_comment().id > id);
}

#[test]
fn the_same_once_more() {
    let job = Job::of(&red());
    job.comment("");
    let first = job.the_comment();
    job.comment("").prints("comment: says so already");
    assert_eq!(job.the_comment(), first);
    job.asked("PATCH", "/issues/comments/", 0);
    // Of the same run and attempt there is one check run, however often.
    assert_eq!(job.checks(), 1);
}

#[test]
fn red_turns_green() {
    let mut job = Job::of(&red());
    job.comment("");
    let red = job.the_comment();
    job.set("GITHUB_RUN_ID", "501");
    job.state().add_run(7, 501, 1);
    job.leave(&green());
    job.comment("");
    let green = job.the_comment();
    assert_eq!(green.id, red.id);
    assert!(!green.body.contains("keeps growing"), "{}", green.body);
    // What is late does not come back.
    job.set("GITHUB_RUN_ID", "499");
    job.comment("").prints(NEWER);
    assert_eq!(job.the_comment().body, green.body);
}

#[test]
fn green_makes_no_comment() {
    let job = Job::of(&green());
    job.comment("");
    assert_eq!(job.ours(), []);
    assert_eq!(job.the_check().1, "success");
    job.comment("--when always");
    job.the_comment();
    let job = Job::of(&red());
    job.comment("--when never");
    assert_eq!(job.ours(), []);
}

/// One page of comments that has the one of that id, old, and leads elsewhere.
fn page_with(id: u64, next: Option<String>) -> Fault {
    let user = json!({"login": "github-actions[bot]", "type": "Bot"});
    let reply = Reply::json(200, &json!([{"id": id, "body": OLD, "user": user}]));
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
        assert_eq!(job.the_comment().body, OLD);
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

/// Whatever the repository is called.
#[test]
fn only_a_download_may_lead_elsewhere() {
    let mut job = Job::of(&red());
    job.set("GITHUB_REPOSITORY", "octo/artifacts");
    job.fault(get().always(), Fault::redirect(302, To::Elsewhere));
    let ran = job.comment("");
    ran.warns("the comment could not be posted: redirected to where the token");
}
