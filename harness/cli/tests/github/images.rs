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
    let job = Job::of(&drawable());
    job.comment(&["--image", "branch"]);
    // The text is there whatever becomes of the picture.
    let body = job.says(&["<picture>", "alt=\"", "http::parse_headers"]);
    let state = job.server.state();
    let commit = &state.git.refs[BRANCH];
    for (theme, key) in [("light", "src"), ("dark", "srcset")] {
        let address = format!("https://github.com/octo/demo/raw/{commit}/1-{theme}.svg");
        assert!(body.contains(&format!("{key}=\"{address}\"")), "{body}");
        let svg = state.file(BRANCH, &format!("1-{theme}.svg")).unwrap();
        assert!(
            svg.contains("<svg") && svg.contains("parse_headers"),
            "{svg}"
        );
    }
    assert!(state.git.commits[commit].parents.is_empty());
}

#[test]
fn a_new_picture_replaces_the_old() {
    let mut job = Job::of(&drawable());
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
    let body = job.says(&[&second]);
    assert!(!body.contains(&first), "{body}");
}

#[test]
fn without_the_permission_there_is_the_text() {
    let job = Job::of(&drawable());
    job.server.state().without(&["contents=write"]);
    job.comment(&["--image", "branch"]).warns("contents: write");
    let body = job.says(&["http::parse_headers"]);
    assert!(!body.contains("<picture>"), "{body}");
}

/// Objects are sent again, and a branch may be there in spite of an error.
#[test]
fn a_picture_in_spite_of_failures() {
    let job = Job::of(&drawable());
    for what in ["blobs", "trees", "commits", "refs"] {
        let at = Matcher::new("POST", &format!("/git/{what}"));
        let fault = if what == "refs" {
            Fault::status(502)
        } else {
            Fault::dropped()
        };
        job.server.fault(at, fault.after_work());
    }
    job.comment(&["--image", "branch"]);
    job.says(&["<picture>"]);
}

#[test]
fn nothing_to_draw_is_no_branch() {
    let job = Job::of(&red());
    job.comment(&["--image", "branch"]);
    let state = job.server.state();
    assert_eq!(state.git.refs.len(), 1, "{:?}", state.git.refs);
}

#[test]
fn pictures_go_with_their_pull_request() {
    let job = Job::of(&drawable());
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
    job.run(&["prune-images"])
        .ends(0)
        .prints("0 deleted, 4 of open");
    job.server.state().pull(7).open = false;
    job.run(&["prune-images", "--dry-run"])
        .prints("2 would be deleted");
    assert!(job.server.state().git.refs.contains_key(BRANCH));
    job.run(&["prune-images"]).prints("2 deleted, 2 of open");
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

/// Another has deleted it meanwhile, or nobody may.
#[test]
fn a_branch_that_is_not_deleted() {
    let job = Job::of(&drawable());
    job.comment(&["--image", "branch"]);
    job.server.state().pull(7).open = false;
    for (status, said) in [(0, "Reference does not exist"), (5, "It is protected")] {
        let at = Matcher::new("DELETE", "/git/refs/");
        job.server.fault(at, Fault::says(422, said));
        job.run(&["prune-images"]).ends(status);
    }
}
