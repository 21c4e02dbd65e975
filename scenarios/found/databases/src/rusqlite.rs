//! A connection (`rusqlite`, with SQLite in C) that lives on, on which each request registers a
//! function or a collation, and removes it.
//!
//! Kept: the entry of every name that was registered. `Connection::remove_function` and
//! `remove_collation` ask SQLite to delete it. SQLite drops the closure and leaves the entry
//! (`FuncDef`, `CollSeq`) in the connection's hash table, without a function
//! (`sqlite3CreateFunc`, `createCollation`). It reuses the entry if the same name is registered
//! again. The table has 64 buckets at most, so each lookup becomes slower, too.

use plimsoll::Scenario;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, Error, Result};

fn setup() -> Connection {
    let connection = Connection::open_in_memory().expect("a database in memory");
    connection
        .execute_batch(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
             INSERT INTO users (name) VALUES ('ada'), ('grace'), ('barbara');",
        )
        .expect("a table");
    connection
}

fn open() -> Result<()> {
    let connection = setup();
    let names: i64 = connection.query_row("SELECT count(*) FROM users", [], |row| row.get(0))?;
    assert_eq!(names, 3);
    connection.close().map_err(|(_, error)| error)
}

/// The second insert violates a constraint, and the transaction is dropped.
fn fail(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction()?;
    let mut insert = transaction.prepare_cached("INSERT INTO users (name) VALUES (?1)")?;
    insert.execute(["alan"])?;
    insert.execute(["ada"]).expect_err("the name is not unique");
    drop(insert);
    drop(transaction);
    assert!(connection.is_autocommit());
    Ok(())
}

/// Registers a function, uses it in a query, and removes it.
fn function(connection: &Connection, name: &str) -> Result<()> {
    let wanted = String::from("grace");
    connection.create_scalar_function(name, 1, FunctionFlags::default(), move |context| {
        Ok(context.get::<String>(0)? == wanted)
    })?;
    let query = format!("SELECT count(*) FROM users WHERE {name}(name)");
    let found: i64 = connection.query_row(&query, [], |row| row.get(0))?;
    assert_eq!(found, 1);
    connection.remove_function(name, 1)
}

/// Registers a collation, sorts by it, and removes it.
fn collation(connection: &Connection, name: &str) -> Result<()> {
    connection.create_collation(name, |a, b| b.cmp(a))?;
    let query = format!("SELECT name FROM users ORDER BY name COLLATE {name}");
    let first: String = connection.query_row(&query, [], |row| row.get(0))?;
    assert_eq!(first, "grace");
    connection.remove_collation(name)
}

/// An aggregate function that joins names, and fails or panics at some of them.
struct Join;

impl Aggregate<String, String> for Join {
    fn init(&self, _: &mut Context<'_>) -> Result<String> {
        Ok(String::with_capacity(100))
    }

    fn step(&self, context: &mut Context<'_>, names: &mut String) -> Result<()> {
        match context.get::<String>(0)?.as_str() {
            "grace" => return Err(Error::InvalidQuery),
            "barbara" => panic!("not her"),
            name => names.push_str(name),
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, names: Option<String>) -> Result<String> {
        Ok(names.unwrap_or_default())
    }
}

/// A query whose function fails or panics, and one whose rows are dropped after the first.
fn aggregate(connection: &mut Connection, i: u64) -> Result<()> {
    connection.create_aggregate_function("join_names", 1, FunctionFlags::default(), Join)?;
    let failing = 2 + i % 2;
    let query = format!("SELECT join_names(name) FROM users WHERE id IN (1, {failing})");
    connection
        .query_row(&query, [], |row| row.get::<_, String>(0))
        .expect_err("the second name fails");

    let mut groups = connection.prepare("SELECT join_names(name) FROM users GROUP BY id")?;
    assert!(groups.query([])?.next()?.is_some());
    Ok(())
}

/// Hooks that are called and replaced.
fn hooks(connection: &mut Connection, i: u64) -> Result<()> {
    let payload = vec![0; 64];
    connection.update_hook(Some(move |_, _: &str, _: &str, _| {
        assert_eq!(payload.len(), 64);
    }))?;
    let payload = vec![0; 64];
    connection.commit_hook(Some(move || payload.is_empty()))?;
    connection.execute("UPDATE users SET name = ?1 WHERE id = 1", [i.to_string()])?;
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::new("rusqlite_open", || |_| open()),
        Scenario::with_state("rusqlite_fail", setup, |connection, _| fail(connection)),
        Scenario::with_state("rusqlite_aggregate", setup, aggregate),
        Scenario::with_state("rusqlite_hooks", setup, hooks),
        // A name for each request.
        Scenario::with_state("rusqlite_functions", setup, |connection, i| {
            function(connection, &format!("matches_{i}"))
        }),
        // The same name for all of them.
        Scenario::with_state("rusqlite_functions_one_name", setup, |connection, _| {
            function(connection, "matches")
        }),
        Scenario::with_state("rusqlite_collations", setup, |connection, i| {
            collation(connection, &format!("by_{i}"))
        }),
        Scenario::with_state("rusqlite_collations_one_name", setup, |connection, _| {
            collation(connection, "by_name")
        }),
    ]
}
