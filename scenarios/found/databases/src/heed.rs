//! Environments of LMDB (`heed`, with LMDB in C): opened and closed, read by threads that end,
//! and written in transactions that fail.
//!
//! Kept: the environment of each `EnvOpenOptions::open` that fails because of its map size.
//! `mdb_env_create` has allocated it, and the error returns before `mdb_env_close`
//! (`EnvOpenOptions::raw_open_with_encryption`). Other errors of `open` close it.

use std::fs;
use std::path::Path;
use std::thread;

use anyhow::Result;
use heed::types::{Bytes, Str};
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions};
use plimsoll::Scenario;
use tempfile::TempDir;

const SIZE: usize = 1 << 20;

struct Store {
    env: Env,
    users: Database<'static, Str, Bytes>,
    folder: TempDir,
}

fn setup() -> Store {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let env = open(folder.path(), SIZE).expect("an environment");
    let users = create(&env).expect("a database");
    fs::create_dir(folder.path().join("tenant")).expect("a folder for another environment");
    Store { env, users, folder }
}

fn open(folder: &Path, size: usize) -> heed::Result<Env> {
    let mut options = EnvOpenOptions::new();
    options.map_size(size).max_dbs(8);
    // SAFETY: nothing else has the files, and none of them outlives the test.
    unsafe { options.flags(EnvFlags::NO_SYNC).open(folder) }
}

fn create(env: &Env) -> heed::Result<Database<'static, Str, Bytes>> {
    let transaction = env.write_txn()?;
    let created = env.create_databases_and_commit(transaction, |opener, transaction| {
        let users = opener.create_database(transaction, Some("users"))?;
        heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(users))
    });
    Ok(created?.unwrap_commit())
}

/// An environment of a tenant's own.
fn tenant(store: &Store, i: u64) -> Result<()> {
    let folder = tempfile::tempdir_in(store.folder.path())?;
    let env = open(folder.path(), SIZE)?;
    let users = create(&env)?;
    let mut transaction = env.write_txn()?;
    users.put(&mut transaction, "ada", &i.to_le_bytes())?;
    transaction.commit()?;
    env.prepare_for_closing().wait();
    Ok(())
}

/// A configuration with a size that is no multiple of a page.
fn wrong_size(store: &Store) {
    let opened = open(&store.folder.path().join("tenant"), 1_000_000);
    opened.expect_err("the size is refused");
}

/// The same configuration, with the size rounded up.
fn rounded_size(store: &Store) -> Result<()> {
    let size = 1_000_000_usize.next_multiple_of(4_096);
    let env = open(&store.folder.path().join("tenant"), size)?;
    env.prepare_for_closing().wait();
    Ok(())
}

fn missing(store: &Store) {
    let opened = open(&store.folder.path().join("missing"), SIZE);
    opened.expect_err("there is no such folder");
}

/// A thread that reads, and ends.
fn read(store: &Store) -> Result<()> {
    let (env, users) = (store.env.clone(), store.users);
    let thread = thread::spawn(move || {
        let transaction = env.read_txn()?;
        users.get(&transaction, "ada").map(|value| value.is_none())
    });
    assert!(thread.join().expect("it does not panic")?);
    Ok(())
}

/// A nested transaction, and a value that does not fit.
fn write(store: &Store, i: u64) -> Result<()> {
    let mut transaction = store.env.write_txn()?;
    let mut nested = store.env.nested_write_txn(&mut transaction)?;
    store.users.put(&mut nested, "grace", &i.to_le_bytes())?;
    if i.is_multiple_of(2) {
        nested.commit()?;
    } else {
        nested.abort();
    }
    let large = store.users.put(&mut transaction, "large", &[0; 2 * SIZE]);
    large.expect_err("it does not fit");
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("heed_tenants", setup, |store, i| tenant(store, i)),
        Scenario::with_state("heed_wrong_size", setup, |store, _| wrong_size(store)),
        Scenario::with_state("heed_rounded_size", setup, |store, _| rounded_size(store)),
        Scenario::with_state("heed_missing", setup, |store, _| missing(store)),
        Scenario::with_state("heed_read", setup, |store, _| read(store)),
        Scenario::with_state("heed_write", setup, |store, i| write(store, i)),
    ]
}
