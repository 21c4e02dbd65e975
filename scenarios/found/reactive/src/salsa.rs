//! A language server (`salsa`): a file that is edited, and requests between the edits.
//!
//! Kept: every value that was interned outside of a tracked function, and what was computed for
//! it. Outside, a new value gets the highest durability (`IngredientImpl::intern_id_cold`), and
//! only values of low durability are collected. A tracked function with two arguments interns
//! them when it is called, so a request that calls one directly does the same.

use plimsoll::Scenario;
use salsa::{Database, DatabaseImpl, Setter};

#[salsa::input]
struct File {
    text: String,
}

/// What the client asks for now.
#[salsa::input]
struct Request {
    offset: usize,
}

#[salsa::interned]
struct Name<'db> {
    text: String,
}

#[salsa::tracked]
struct Item<'db> {
    name: Name<'db>,
    #[tracked]
    length: usize,
}

#[salsa::tracked]
fn items(db: &dyn Database, file: File) -> Vec<Item<'_>> {
    let words = file.text(db).split_whitespace();
    words
        .map(|word| Item::new(db, Name::new(db, word.to_owned()), word.len()))
        .collect()
}

#[salsa::tracked(returns(copy))]
fn total(db: &dyn Database, file: File) -> usize {
    items(db, file).iter().map(|item| *item.length(db)).sum()
}

/// The length of the text behind an offset.
#[salsa::tracked(returns(copy))]
fn rest(db: &dyn Database, file: File, offset: usize) -> Option<usize> {
    file.text(db).get(offset..).map(str::len)
}

/// The same, of what the client asks for.
#[salsa::tracked(returns(copy))]
fn requested(db: &dyn Database, file: File, request: Request) -> Option<usize> {
    rest(db, file, *request.offset(db))
}

pub struct Server {
    db: DatabaseImpl,
    file: File,
    request: Request,
}

pub fn server() -> Server {
    let db = DatabaseImpl::new();
    let file = File::new(&db, String::new());
    let request = Request::new(&db, 0);
    Server { db, file, request }
}

/// The file gets other words.
pub fn edit(server: &mut Server, i: u64) {
    let text = format!("fn main{i} let x{i}");
    server.file.set_text(&mut server.db).to(text);
    assert!(total(&server.db, server.file) > 0);
}

/// The client asks for an offset. Offsets seldom repeat.
pub fn ask(server: &mut Server, i: u64) {
    edit(server, i);
    rest(&server.db, server.file, i as usize);
}

/// The offset is an input, and a tracked function asks for what is there.
pub fn ask_in_function(server: &mut Server, i: u64) {
    edit(server, i);
    server.request.set_offset(&mut server.db).to(i as usize);
    requested(&server.db, server.file, server.request);
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("salsa_asked", server, ask),
        Scenario::with_state("salsa_asked_in_function", server, ask_in_function),
        Scenario::with_state("salsa_edited", server, edit),
    ]
}
