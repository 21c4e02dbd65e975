//! `plimsoll bisect` finds the right commit: in histories of a real small crate,
//! with commits that do not build or hang, a merge, a renamed scenario and a second
//! leak; in few builds; and leaves nothing behind.
//!
//! `PLIMSOLL_BISECT_SEEDS=0..20` searches more of them than `cargo test` does;
//! `cargo xtask bisect-proof` sets it.
#![expect(
    clippy::print_stdout,
    reason = "what came of each seed, with --nocapture"
)]

mod ground;
mod history;
mod store;

use self::ground::Ground;
use self::history::History;
use self::store::{Edit, Fault};

/// The variable with the seeds.
const SEEDS: &str = "PLIMSOLL_BISECT_SEEDS";

/// Without another choice: as [`the_one_that_is_always_searched`] has it.
const ONE: u64 = 46;

#[test]
fn histories_are_what_they_are_meant_to_be() {
    let (mut parts, mut several) = ([false; 3], false);
    for seed in 0..6 {
        let history = History::new(seed);
        let contents = history.contents(|one| one.files(""));
        assert!((32..=48).contains(&contents.len()), "{seed}");
        assert!(history.expected.contains(&history.culprit), "{seed}");
        assert!(history.has_the_leak(history.bad()) && !history.has_the_leak(0));
        assert!(contents.iter().any(|commit| commit.parents.len() == 2));
        for content in &contents {
            // A merge may well be as one of its parents is.
            if let [parent] = content.parents[..] {
                assert_ne!(contents[parent].files, content.files, "{seed}");
            }
        }
        several |= history.expected.len() > 1;
        parts[history.part as usize] = true;
    }
    assert_eq!((parts, several), ([true; 3], true));
    let seventh = || History::new(7).contents(|one| one.files(""));
    assert_eq!(seventh(), seventh());
}

/// A culprit that is thin, on a side branch and asked for by name, before its module
/// gets another name; git asks about commits that hang and that do not build.
#[test]
fn the_one_that_is_always_searched() {
    let history = History::new(ONE);
    let (culprit, bad) = (
        &history.commits[history.culprit],
        &history.commits[history.bad()],
    );
    let module = |edits| history.part.module(edits);
    assert_ne!(module(&culprit.edits), module(&bad.edits));
    assert!(history.named && culprit.branch == "side" && history.expected.len() == 1);
    let thin = |edit: &Edit| matches!(edit, Edit::Leak(part, 2..=8) if *part == history.part);
    assert!(bad.edits.iter().any(thin));
    for fault in [Fault::Hangs, Fault::DoesNotBuild] {
        let is_asked = |at: &usize| history.commits[*at].fault == Some(fault);
        assert!(history.asked.iter().any(is_asked), "{fault:?}");
    }
}

fn seeds() -> Vec<u64> {
    let Ok(asked) = std::env::var(SEEDS) else {
        return vec![ONE];
    };
    let range = asked.split_once("..").and_then(|(from, to)| {
        let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
        (from < to).then(|| (from..to).collect())
    });
    range.unwrap_or_else(|| panic!("{SEEDS}: expected two numbers, as `0..20`, found `{asked}`"))
}

#[test]
fn the_right_commit_every_time() {
    let ground = Ground::new();
    let mut wrong = Vec::new();
    for seed in seeds() {
        let (line, expected) = ground.prove(seed);
        println!("{line}");
        for expected in &expected {
            println!("    {}", expected.replace('\n', "\n    "));
        }
        wrong.extend((!expected.is_empty()).then_some(seed));
    }
    assert!(wrong.is_empty(), "wrong with these seeds: {wrong:?}");
}
