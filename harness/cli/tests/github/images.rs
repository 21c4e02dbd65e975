//! Flame graphs on a branch, and their end.

use crate::job::{Job, RATE, STACK, red};
use crate::project::{regressed, report};
use crate::server::fault::{Fault, Matcher};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Compared, Report, StackGrowth};
use plimsoll_core::{FoldedStack, Tally};

const BRANCH: &str = "refs/heads/plimsoll-images/pr-7/default";

/// One that has something to draw.
pub(crate) fn drawable() -> [Report; 2] {
    let mut red = regressed("r1", "http::echo", STACK, RATE);
    red.compared = Some(Compared {
        before: 512,
        after: 1024,
    });
    let tally = |objects| Tally {
        objects,
        bytes: objects * 48,
    };
    red.growth.push(StackGrowth {
        stack: FoldedStack(STACK.split(' ').map(str::to_owned).collect()),
        before: tally(512),
        after: tally(1024),
        rate: RATE,
        error: None,
    });
    [red, report("r1", "lru_churn", Verdict::Within)]
}

#[test]
fn a_picture_in_the_comment() {
    let job = Job::new();
    job.leave(&drawable());
    let ran = job.comment(&["--image", "branch"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let body = job.the_comment().body;
    let state = job.server.state();
    let commit = &state.git.refs[BRANCH];
    let address = |theme: &str| format!("https://github.com/octo/demo/raw/{commit}/1-{theme}.svg");
    assert!(body.contains("<picture>"), "{body}");
    assert!(
        body.contains(&format!("srcset=\"{}\"", address("dark"))),
        "{body}"
    );
    assert!(
        body.contains(&format!("src=\"{}\"", address("light"))),
        "{body}"
    );
    assert!(body.contains("alt=\""), "{body}");
    // The text is there whatever becomes of the picture.
    assert!(body.contains("http::parse_headers"), "{body}");
    for theme in ["light", "dark"] {
        let file = state.file(BRANCH, &format!("1-{theme}.svg")).unwrap();
        let svg = file;
        assert!(
            svg.contains("<svg") && svg.contains("parse_headers"),
            "{svg}"
        );
    }
    assert!(state.git.commits[commit].parents.is_empty());
}

#[test]
fn a_new_picture_replaces_the_old() {
    let mut job = Job::new();
    job.leave(&drawable());
    job.comment(&["--image", "branch"]);
    let first = job.server.state().git.refs[BRANCH].clone();
    let mut changed = drawable();
    changed[0].growth[0].after.objects += 1;
    changed[0].growth[0].rate.bytes = 96.0;
    job.leave(&changed);
    job.set("GITHUB_RUN_ID", "501");
    job.comment(&["--image", "branch"]);
    let second = job.server.state().git.refs[BRANCH].clone();
    assert_ne!(first, second);
    let body = job.the_comment().body;
    assert!(body.contains(&second) && !body.contains(&first), "{body}");
}

#[test]
fn keys_have_branches_of_their_own() {
    let job = Job::new();
    job.leave(&drawable());
    job.comment(&["--image", "branch", "--key", "linux"]);
    job.comment(&["--image", "branch", "--key", "arm64"]);
    let state = job.server.state();
    let branches: Vec<&String> = state.git.refs.keys().collect();
    assert_eq!(
        branches,
        [
            "refs/heads/main",
            "refs/heads/plimsoll-images/pr-7/arm64",
            "refs/heads/plimsoll-images/pr-7/linux"
        ]
    );
}

#[test]
fn without_the_permission_there_is_the_text() {
    let job = Job::new();
    job.leave(&drawable());
    job.server.state().without(&["contents=write"]);
    let ran = job.comment(&["--image", "branch"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stderr.contains("contents: write"), "{ran}");
    let body = job.the_comment().body;
    assert!(!body.contains("<picture>"), "{body}");
    assert!(body.contains("http::parse_headers"), "{body}");
}

#[test]
fn a_branch_that_was_made_in_spite_of_an_error() {
    let job = Job::new();
    job.leave(&drawable());
    let at = Matcher::new("POST", "/git/refs");
    job.server.fault(at, Fault::status(502).after_work());
    let ran = job.comment(&["--image", "branch"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(job.the_comment().body.contains("<picture>"), "{ran}");
}

#[test]
fn objects_are_sent_again() {
    let job = Job::new();
    job.leave(&drawable());
    for what in ["blobs", "trees", "commits"] {
        let at = Matcher::new("POST", &format!("/git/{what}"));
        job.server.fault(at, Fault::dropped().after_work());
    }
    let ran = job.comment(&["--image", "branch"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(job.the_comment().body.contains("<picture>"), "{ran}");
}

#[test]
fn nothing_to_draw_is_no_branch() {
    let job = Job::new();
    job.leave(&red());
    job.comment(&["--image", "branch"]);
    let state = job.server.state();
    assert_eq!(state.git.refs.len(), 1, "{:?}", state.git.refs);
}

#[test]
fn pictures_go_with_their_pull_request() {
    let job = Job::new();
    job.leave(&drawable());
    job.comment(&["--image", "branch", "--key", "linux"]);
    job.comment(&["--image", "branch"]);
    {
        let mut state = job.server.state();
        let main = state.git.refs["refs/heads/main"].clone();
        let repository = state.repository.clone();
        state.with_pull(9, repository, "other");
        for name in [
            "refs/heads/plimsoll-images/pr-9/default",
            "refs/heads/plimsoll-images/pr-notes",
            "refs/heads/plimsoll-images/pr-404/default",
        ] {
            state.git.refs.insert(name.to_owned(), main.clone());
        }
    }
    let ran = job.run(&["prune-images"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stdout.contains("0 deleted, 4 of open"), "{ran}");
    job.server.state().pull(7).open = false;
    let ran = job.run(&["prune-images", "--dry-run"]);
    assert!(ran.stdout.contains("2 would be deleted"), "{ran}");
    assert!(job.server.state().git.refs.contains_key(BRANCH));
    let ran = job.run(&["prune-images"]);
    assert!(ran.stdout.contains("2 deleted, 2 of open"), "{ran}");
    let state = job.server.state();
    let branches: Vec<&String> = state.git.refs.keys().collect();
    assert_eq!(
        branches,
        [
            "refs/heads/main",
            "refs/heads/plimsoll-images/pr-404/default",
            "refs/heads/plimsoll-images/pr-9/default",
            "refs/heads/plimsoll-images/pr-notes"
        ]
    );
}
