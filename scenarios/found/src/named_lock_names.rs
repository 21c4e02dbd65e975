//! Locks between processes (`named-lock`), each with a name of its own.
//!
//! Kept: the name, and a weak pointer to the lock. Names are put into a map of the process
//! (`OPENED_RAW_LOCKS`), and nothing takes them out.

use std::fs;

use named_lock::NamedLock;
use plimsoll::Scenario;
use tempfile::TempDir;

fn setup() -> TempDir {
    tempfile::tempdir().expect("a folder for lock files")
}

fn lock(folder: &mut TempDir, name: u64) -> anyhow::Result<()> {
    let file = folder.path().join(format!("order-{name}.lock"));
    let lock = NamedLock::with_path(&file)?;
    drop(lock.lock()?);
    drop(lock);
    fs::remove_file(file)?;
    Ok(())
}

fn lock_each(folder: &mut TempDir, i: u64) -> anyhow::Result<()> {
    lock(folder, i)
}

fn lock_one_of_64(folder: &mut TempDir, i: u64) -> anyhow::Result<()> {
    lock(folder, i % 64)
}

/// A lock for each order.
fn named_lock_names() -> Scenario {
    Scenario::with_state("named_lock_names", setup, lock_each)
}

/// Orders share 64 locks.
fn named_lock_names_shared() -> Scenario {
    Scenario::with_state("named_lock_names_shared", setup, lock_one_of_64)
}

pub fn scenarios() -> [Scenario; 2] {
    [named_lock_names(), named_lock_names_shared()]
}
