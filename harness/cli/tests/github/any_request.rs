//! One failure at every request in turn, whichever it is.

use std::sync::Mutex;
use std::thread;

use serde_json::json;

use crate::images::drawable;
use crate::job::{Job, green};
use crate::project::Ran;
use crate::server::fault::{Fault, Matcher};
use crate::server::http::Reply;

/// One for each way in which callers go on; which failures come to which way is tested in
/// `failures`, and beside the code. After one that passes, everything is as if it had not been.
/// After any other, what that one request was to do is missing.
fn faults() -> [(&'static str, bool, Fault); 6] {
    let empty = Reply::json(200, &json!({}));
    [
        ("dropped before", true, Fault::dropped()),
        ("a page after", true, Fault::html(502).after_work()),
        ("403 of nothing", false, Fault::answer(Reply::new(403, b""))),
        ("404", false, Fault::status(404)),
        ("422", false, Fault::status(422)),
        ("an empty object", false, Fault::answer(empty)),
    ]
}

/// Calls `run` without a fault, and with each fault at each of the requests, 64 calls at a time.
/// Asserts that nothing is there twice, and that there is `whole` or at least `left`.
fn sweep(
    start: fn() -> Job,
    run: impl Fn(&Job) -> Ran + Sync,
    whole: impl Fn(&Job) -> bool + Sync,
    left: impl Fn(&Job) -> bool + Sync,
) {
    let job = start();
    let ran = run(&job);
    assert!(whole(&job), "nothing: {ran}\n{:#?}", job.log());
    let requests = 1..=job.requests().len();
    let cases = Mutex::new(requests.flat_map(|at| faults().map(|fault| (at, fault))));
    let try_one = |at: usize, (name, passes, fault): (&str, bool, Fault)| {
        let job = start();
        job.fault(Matcher::new("", "/").nth(at), fault);
        let ran = run(&job);
        let case = format!("{name}, at request {at}: {ran}\n{:#?}", job.log());
        assert!(job.ours().len() <= 1 && job.checks() <= 1, "twice: {case}");
        assert!(if passes { whole(&job) } else { left(&job) }, "{case}");
    };
    // They wait for most of their time.
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                loop {
                    let next = cases.lock().unwrap().next();
                    let Some((at, fault)) = next else { return };
                    try_one(at, fault);
                }
            });
        }
    });
}

#[test]
fn in_the_job_that_measures() {
    let run = |job: &Job| {
        let ran = job.comment("--image branch");
        assert!(job.summary().contains("keep"), "{ran}");
        ran
    };
    let whole = |job: &Job| {
        let refs = job.state().refs.len();
        job.says(&[]).contains("<picture>") && (job.checks(), refs) == (1, 2)
    };
    // No failure takes both with it.
    let left = |job: &Job| job.ours().len() + job.checks() > 0;
    sweep(|| Job::of(&drawable()), run, whole, left);
}

/// Both steps.
#[test]
fn after_a_forks_run() {
    let start = || {
        let job = Job::after_fork();
        job.upload("plimsoll-report-1", &job.passed_on(&green()));
        job
    };
    let run = |job: &Job| {
        let fetched = job.run("fetch --output report.json --timeout 2s");
        assert!(matches!(fetched.status, Some(0 | 5)), "{fetched}");
        let line = "comment --untrusted --when always --report report.json --timeout 2s";
        let mut ran = job.run(line).ends(0);
        ran.stderr = fetched.stderr + &ran.stderr;
        for check in job.state().checks.values() {
            assert_eq!(check["conclusion"], "neutral", "{ran}");
        }
        ran
    };
    let whole = |job: &Job| job.says(&[]).contains("2 scenarios") && job.checks() == 1;
    sweep(start, run, whole, |_| true);
}
