//! A database (`sled`) whose clients each watch a prefix of their own for a moment.
//!
//! Kept: every prefix that was watched, with an empty map of subscribers. A dropped `Subscriber`
//! leaves the map of its prefix, and the map stays in `Subscribers::watched`. Each write visits
//! all of them (`Subscribers::reserve`), so writes become slower, too.

use std::time::Duration;

use anyhow::Result;
use plimsoll::Scenario;
use sled::transaction::{TransactionResult, abort};
use sled::{Config, Db};

fn setup() -> Db {
    let config = Config::new().temporary(true).cache_capacity(1 << 20);
    config.open().expect("a temporary database")
}

/// A client that watches a prefix, and goes away without an event.
fn watch(db: &Db, prefix: &str) -> Result<()> {
    let mut subscriber = db.watch_prefix(prefix);
    db.insert("other", "value")?;
    let event = subscriber.next_timeout(Duration::ZERO);
    event.expect_err("nothing has changed below the prefix");
    Ok(())
}

/// A tree for a job, which is dropped when the job is done.
fn tree(db: &Db, job: u64) -> Result<()> {
    let name = format!("job {job}");
    db.open_tree(&name)?.insert("state", "done")?;
    assert!(db.drop_tree(&name)?);
    Ok(())
}

fn aborted(db: &Db) {
    let result: TransactionResult<(), &str> = db.transaction(|db| {
        db.insert("paid", "1")?;
        abort("not enough money")
    });
    result.expect_err("it was aborted");
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A prefix for each client.
        Scenario::with_state("sled_watch", setup, |db, i| {
            watch(db, &format!("session/{i}/"))
        }),
        // One prefix for all of them; a client would look at the keys itself.
        Scenario::with_state("sled_watch_shared", setup, |db, _| watch(db, "session/")),
        // The cache's 256 queues of pages fill slowly.
        Scenario::with_state("sled_trees", setup, |db, i| tree(db, i))
            .budget(Duration::from_secs(60))
            .max_iterations(131_072),
        Scenario::with_state("sled_aborted", setup, |db, _| aborted(db)),
    ]
}
