//! Flame graphs on a branch, and their end.

use crate::job::{Job, RATE, STACK, red};
use crate::project::{growth, regressed, within};
use crate::server::fault::{Fault, Matcher};
use crate::server::state::hash;
use plimsoll_core::report::{Compared, Report};
use serde_json::json;

const BRANCH: &str = "refs/heads/plimsoll-images/pr-7/default";

/// One that has something to draw.
pub(crate) fn drawable() -> [Report; 2] {
    let mut red = regressed("r1", "http::echo", STACK, RATE);
    let (before, after) = (512, 1_024);
    red.compared = Some(Compared { before, after });
    red.growth.push(growth(STACK, RATE));
    [red, within("r1", "lru_churn")]
}

pub(crate) fn a_picture_in_the_comment() {
    let job = Job::of(&drawable());
    job.comment("--image branch");
    // The text is there whatever becomes of the picture.
    let body = job.says(&["<picture>", "alt=\"", "http::parse_headers"]);
    let state = job.state();
    let commit = &state.refs[BRANCH];
    for (theme, key) in [("light", "src"), ("dark", "srcset")] {
        let address = format!("https://github.com/octo/demo/raw/{commit}/1-{theme}.svg");
        assert!(body.contains(&format!("{key}=\"{address}\"")), "{body}");
        let svg = state.file(BRANCH, &format!("1-{theme}.svg")).unwrap();
        let parts = ["<svg", "parse_headers"];
        assert!(parts.iter().all(|part| svg.contains(part)), "{svg}");
    }
    assert_eq!(state.objects[commit]["parents"], json!([]));
}

pub(crate) fn a_new_picture_replaces_the_old() {
    let mut job = Job::of(&drawable());
    job.comment("--image branch");
    let first = job.state().refs[BRANCH].clone();
    let mut changed = drawable();
    changed[0].growth[0].after.objects += 1;
    changed[0].growth[0].rate.bytes = 96.0;
    job.leave(&changed);
    job.set("GITHUB_RUN_ID", "501");
    job.comment("--image branch");
    let second = job.state().refs[BRANCH].clone();
    assert_ne!(first, second);
    let body = job.says(&[&second]);
    assert!(!body.contains(&first), "{body}");
}

#[test]
fn without_the_permission_there_is_the_text() {
    let job = Job::of(&drawable());
    job.state().without(&["contents=write"]);
    job.comment("--image branch").warns("contents: write");
    let body = job.says(&["http::parse_headers"]);
    assert!(!body.contains("<picture>"), "{body}");
}

#[test]
fn nothing_to_draw_is_no_branch() {
    let job = Job::of(&red());
    job.comment("--image branch");
    assert_eq!(job.state().refs.len(), 1);
}

pub(crate) fn pictures_go_with_their_pull_request() {
    let others = ["pr-404/default", "pr-9/default", "pr-notes"];
    let others = others.map(|name| format!("refs/heads/plimsoll-images/{name}"));
    let job = Job::of(&drawable());
    job.comment("--image branch --key linux");
    job.comment("--image branch");
    {
        let mut state = job.state();
        state.add_pull(9, "octo", "other");
        let others = others.iter().map(|name| (name.clone(), hash("main")));
        state.refs.extend(others);
    }
    job.run("prune-images").prints("0 deleted, 4 of open");
    job.state().pull(7)["state"] = json!("closed");
    let ran = job.run("prune-images --dry-run");
    ran.prints("2 would be deleted");
    assert!(job.state().refs.contains_key(BRANCH));
    job.run("prune-images").prints("2 deleted, 2 of open");
    let branches: Vec<String> = job.state().refs.keys().cloned().collect();
    assert_eq!(branches[0], "refs/heads/main");
    assert_eq!(branches[1..], others);
}

/// Another has deleted it meanwhile, or nobody may.
pub(crate) fn a_branch_that_is_not_deleted() {
    let job = Job::of(&drawable());
    job.comment("--image branch");
    job.state().pull(7)["state"] = json!("closed");
    for (status, said) in [(0, "Reference does not exist"), (5, "It is protected")] {
        let at = Matcher::new("DELETE", "/git/refs/");
        job.fault(at, Fault::says(422, said));
        job.run("prune-images").ends(status);
    }
}
