//! One failure at every request in turn, whichever it is.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::images::drawable;
use crate::job::{FORKS_RUN, Job, green};
use crate::project::Ran;
use crate::server::fault::{Fault, Matcher, To};
use crate::server::http::Reply;
use crate::server::state::zip_of;

/// What passes: after it everything is as if it had not been.
fn passing() -> Vec<(&'static str, Fault)> {
    vec![
        ("500 before", Fault::status(500)),
        ("a page after", Fault::html(502).after_work()),
        ("dropped before", Fault::dropped()),
        ("half the JSON", Fault::half_json()),
        ("a drip", Fault::drip(Duration::from_millis(100))),
    ]
}

/// What stays, as far as the one request is concerned.
fn staying() -> Vec<(&'static str, Fault)> {
    let bare = |status: u16| Fault::answer(Reply::new(status, b""));
    let empty = Reply::json(200, &serde_json::json!({}));
    vec![
        ("401", Fault::status(401)),
        ("403 of nothing", bare(403)),
        ("404", Fault::status(404)),
        ("422", Fault::status(422)),
        ("204", bare(204)),
        ("elsewhere", Fault::redirect(302, To::Elsewhere)),
        ("an empty object", Fault::answer(empty)),
    ]
}

/// Calls `run` for each fault at each of the requests, 64 calls at a time. Its last argument tells
/// whether the fault passes.
fn sweep(requests: usize, run: impl Fn(&str, (usize, &Fault), bool) + Sync) {
    let faults: Vec<_> = [(true, passing()), (false, staying())]
        .into_iter()
        .flat_map(|(passes, faults)| faults.into_iter().map(move |fault| (passes, fault)))
        .collect();
    let cases = (1..=requests).flat_map(|at| faults.iter().map(move |fault| (at, fault)));
    let cases = Mutex::new(cases);
    // They wait for most of their time.
    thread::scope(|scope| {
        let worker = || {
            loop {
                let next = cases.lock().unwrap().next();
                let Some((at, (passes, (name, fault)))) = next else {
                    return;
                };
                run(&format!("{name}, at request {at}"), (at, fault), *passes);
            }
        };
        let workers: Vec<_> = (0..64).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            assert!(worker.join().is_ok(), "one case failed, see above");
        }
    });
}

fn at(request: usize) -> Matcher {
    Matcher::path("/").nth(request)
}

/// In the job that measures, with pictures.
fn own(name: &str, fault: Option<(usize, &Fault)>) -> (Job, Ran) {
    let job = Job::of(&drawable());
    if let Some((request, fault)) = fault {
        job.fault(at(request), fault.clone());
    }
    let ran = job.comment("--image branch");
    assert!(job.ours().len() <= 1, "{name}: {:#?}", job.ours());
    assert!(job.summary().contains("keep"), "{name}");
    let checks = job.checks();
    assert!(checks <= 1, "{name}: {checks}\n{:#?}", job.log());
    (job, ran)
}

#[test]
fn in_the_job_that_measures() {
    let (job, _) = own("nothing", None);
    let requests = job.requests().len();
    let whole = |job: &Job| {
        let state = job.state();
        let body = job_body(&state);
        body.contains("<picture>") && state.checks.len() == 1 && state.git.refs.len() == 2
    };
    assert!(whole(&job), "{:#?}", job.log());
    sweep(requests, |name, fault, passes| {
        let (job, ran) = own(name, Some(fault));
        // No failure takes both with it.
        let is_there = match passes {
            true => whole(&job),
            false => job.ours().len() + job.checks() > 0,
        };
        assert!(is_there, "{name}: {ran}\n{:#?}", job.log());
    });
}

fn job_body(state: &crate::server::state::State) -> String {
    let bodies = state.comments.values().map(|comment| comment.body.clone());
    bodies.collect::<Vec<_>>().join("\n")
}

/// After a fork's run, both steps.
fn second(name: &str, fault: Option<(usize, &Fault)>) -> (Job, Ran) {
    let job = Job::after_fork();
    let text = job.passed_on(&green(), FORKS_RUN, 8);
    let zip = zip_of(&[("report.json", text.as_bytes())]);
    job.state()
        .add_artifact(FORKS_RUN, "plimsoll-report-1", zip);
    if let Some((request, fault)) = fault {
        job.fault(at(request), fault.clone());
    }
    let fetched = job.run("fetch --output report.json --timeout 2s");
    let log = job.log();
    assert!(
        matches!(fetched.status, Some(0 | 5)),
        "{name}: {fetched}\n{log:#?}"
    );
    let line = "comment --untrusted --when always --report report.json --timeout 2s";
    let mut ran = job.run(line).ends(0);
    ran.stderr = fetched.stderr + &ran.stderr;
    assert!(job.ours().len() <= 1, "{name}: {:#?}", job.ours());
    let state = job.state();
    assert!(state.checks.len() <= 1, "{name}: {:#?}", job.log());
    for check in state.checks.values() {
        assert_eq!(check.conclusion.as_deref(), Some("neutral"), "{name}");
    }
    drop(state);
    (job, ran)
}

#[test]
fn after_a_forks_run() {
    let (job, ran) = second("nothing", None);
    let requests = job.requests().len() + job.storage_requests().len();
    let whole = |job: &Job| {
        let state = job.state();
        job_body(&state).contains("2 scenarios") && state.checks.len() == 1
    };
    assert!(whole(&job), "{ran}{}", job.ours()[0].body);
    sweep(requests, |name, fault, passes| {
        let (job, ran) = second(name, Some(fault));
        // Half an archive is none, and nobody can tell that it was whole.
        let halved = ran.stderr.contains("no report was fetched: not-an-archive");
        let is_there = !passes || whole(&job) || halved;
        assert!(is_there, "{name}: {ran}\n{:#?}", job.log());
    });
}
