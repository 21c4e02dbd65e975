//! The pull request bot against a GitHub of our own.
//!
//! libtest starts tests in the order of their names. The tests that wait longest have the first
//! names, so that the others run meanwhile.

// It installs on Linux alone.
#[cfg(target_os = "linux")]
mod action;
mod any_request;
mod contexts;
mod failures;
mod forks;
mod hostile;
mod images;
mod job;
#[path = "../project/mod.rs"]
mod project;
#[path = "../../../core/tests/schema/mod.rs"]
mod schema;
mod server;

/// Functions, with their names.
macro_rules! named {
    ($($test:path,)*) => { [$((stringify!($test), $test as fn())),*] };
}

/// Tests that wait for many seconds, as the bot does between its requests to GitHub: one after
/// the other, they would be most of what this program takes. So they wait together.
#[test]
fn all_that_wait_for_the_bots_pauses() {
    let tests = named![
        images::a_picture_in_the_comment,
        images::a_new_picture_replaces_the_old,
        images::pictures_go_with_their_pull_request,
        images::a_branch_that_is_not_deleted,
        contexts::annotations_beyond_fifty_are_added_once,
        contexts::a_pull_request_that_cannot_be_looked_up_leaves_the_summary,
        forks::an_artifact_that_holds_no_report,
        forks::storage_that_fails_is_asked_again,
        failures::each_failure_comes_to_one_comment_or_a_warning,
        failures::of_two_jobs_of_one_run_the_worse_stays,
    ];
    std::thread::scope(|scope| {
        let started = tests.map(|(name, test)| (name, scope.spawn(test)));
        let failed = started.map(|(name, test)| test.join().is_err().then_some(name));
        let failed: Vec<_> = failed.into_iter().flatten().collect();
        assert!(failed.is_empty(), "failed, see above: {failed:?}");
    });
}
