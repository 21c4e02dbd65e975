//! `plimsoll bisect` finds the right commit: in histories of a real small crate,
//! with commits that do not build or hang, merges, a renamed scenario and a second
//! leak; in few builds; and leaves nothing behind.
//!
//! `PLIMSOLL_BISECT_SEEDS=0..20` searches more of them than `cargo test` does;
//! `cargo xtask bisect-proof` sets it.
#![expect(
    clippy::print_stdout,
    reason = "what came of each seed, with --nocapture"
)]

mod edits;
mod ground;
mod helpers;
mod history;
mod random;
mod repository;
mod store;

use std::collections::BTreeSet;

use self::ground::Ground;
use self::history::{AMBIGUOUS_FROM, History};
use self::repository::Repository;
use self::store::Fault;

/// The variable with the seeds.
const SEEDS: &str = "PLIMSOLL_BISECT_SEEDS";

#[test]
fn the_same_history_from_the_same_seed() {
    let ids = |seed| {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository::new(dir.path(), true);
        repository.import(&History::new(seed).contents(""))
    };
    assert_eq!(ids(7), ids(7));
    assert_ne!(ids(7), ids(8));
}

#[test]
fn histories_are_what_they_are_meant_to_be() {
    let mut hangs_in_a_row = false;
    let mut kinds = BTreeSet::new();
    for seed in 0..AMBIGUOUS_FROM {
        let history = History::new(seed);
        let commits = &history.commits;
        assert!((64..=90).contains(&commits.len()), "{seed}");
        assert_eq!(history.expected, [history.culprit], "{seed}");
        assert!(history.has_the_leak(history.bad()) && !history.has_the_leak(0));
        assert!(commits.iter().any(|commit| commit.parents.len() == 2));
        let broken = |fault: &Fault| *fault != Fault::Hangs;
        let faults: Vec<Fault> = commits.iter().filter_map(|commit| commit.fault).collect();
        let not_built = faults.iter().copied().filter(broken).count();
        assert!((2..=5).contains(&not_built), "{seed}: {faults:?}");
        assert!((1..=2).contains(&(faults.len() - not_built)), "{seed}");
        hangs_in_a_row |= faults.len() - not_built == 2;
        kinds.insert((
            history.part,
            history.named,
            commits[history.culprit].branch == "main",
        ));
        let contents = history.contents("");
        for (index, content) in contents.iter().enumerate() {
            let store = &commits[index].store;
            // A merge may well be as one of its parents is.
            if let [parent] = content.parents[..] {
                let same = contents[parent].files == content.files;
                assert!(!same, "{seed}: {index} changes nothing");
            }
            let leaks = store.parts[&history.part].leak.is_some();
            assert_eq!(leaks, history.has_the_leak(index), "{seed}: {index}");
        }
    }
    assert!(hangs_in_a_row);
    for on_main in [false, true] {
        assert!(kinds.iter().any(|kind| kind.2 == on_main));
    }
    for named in [false, true] {
        assert!(kinds.iter().any(|kind| kind.1 == named));
    }
    let parts: BTreeSet<_> = kinds.iter().map(|kind| kind.0).collect();
    assert_eq!(parts.len(), 4, "{kinds:?}");
}

#[test]
fn some_have_more_than_one_answer() {
    let histories = (AMBIGUOUS_FROM..AMBIGUOUS_FROM + 10).map(History::new);
    let several = histories.filter(|history| history.expected.len() > 1);
    let several: Vec<History> = several.collect();
    assert!(!several.is_empty());
    for history in several {
        assert!(history.expected.contains(&history.culprit));
    }
}

/// Without another choice: a culprit that is thin, on a side branch and asked for by
/// name; and one before its module gets another name, among five commits that have to be
/// skipped.
const FEW: [u64; 2] = [5, 14];

fn seeds() -> Vec<u64> {
    let Ok(asked) = std::env::var(SEEDS) else {
        return FEW.to_vec();
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
        let proof = ground.prove(seed);
        println!("{proof}");
        if !proof.wrong.is_empty() {
            wrong.push(seed);
        }
    }
    assert!(wrong.is_empty(), "wrong with these seeds: {wrong:?}");
}
