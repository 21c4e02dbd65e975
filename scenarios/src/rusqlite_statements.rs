//! Prepared statements on a database in memory (`rusqlite`, SQLite's C sources).
//!
//! What could leak: a statement that is not finalised; the cache of prepared statements, if it
//! accepted every text; text and blobs bound to a statement; the page cache. C code allocates
//! all of it. The profile sees these allocations, because the harness's allocator replaces
//! `malloc` as well.
//!
//! Healthy: the table has at most 256 rows and is written in place. The program has four texts
//! of statements, three of which the cache keeps prepared.

use anyhow::{Context, ensure};
use plimsoll::Scenario;
use rusqlite::{Connection, params};

use crate::random::{every, random};

/// The most rows: a key is one byte.
const ROWS: i64 = 256;

/// Writes a row and reads it, in a transaction that is sometimes rolled back.
pub fn rusqlite_statements() -> Scenario {
    Scenario::new("rusqlite_statements", || {
        let mut database = opened().expect("a database in memory opens");
        move |i: u64| -> anyhow::Result<()> {
            let [key, ..] = random(i).to_le_bytes().map(i64::from);
            let note = format!("note {i:06}");
            let write = database.transaction().context("no transaction")?;
            write
                .prepare_cached("INSERT OR REPLACE INTO notes (id, note) VALUES (?1, ?2)")?
                .execute(params![key, note])
                .context("a row is not written")?;
            let read: String = write
                .prepare_cached("SELECT note FROM notes WHERE id = ?1")?
                .query_row([key], |row| row.get(0))
                .context("a row is not read")?;
            ensure!(read == note, "another row was read");
            if every(8, i) {
                write.rollback().context("no rollback")?;
            } else {
                write.commit().context("no commit")?;
            }
            if every(16, i) {
                let mut delete = database.prepare_cached("DELETE FROM notes WHERE id % 8 = ?1")?;
                delete.execute([key % 8]).context("rows are not deleted")?;
            }
            if every(32, i) {
                // Not from the cache: this statement is prepared and finalised here.
                let mut count = database.prepare("SELECT count(*) FROM notes")?;
                let rows: i64 = count.query_row([], |row| row.get(0))?;
                ensure!(rows <= ROWS, "{rows} rows");
            }
            Ok(())
        }
    })
}

fn opened() -> rusqlite::Result<Connection> {
    let database = Connection::open_in_memory()?;
    database.execute_batch("CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT NOT NULL)")?;
    Ok(database)
}
