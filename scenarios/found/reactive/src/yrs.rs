//! A server of shared documents (`yrs`): users come with a cursor, read, edit and go.
//!
//! Kept: an entry for every client that was ever there. `Awareness::remove_state`, and an update
//! that says that a client left, clear its state, and leave the clock in the map (`states`). A
//! client gets a new id for each session.

use anyhow::ensure;
use plimsoll::Scenario;
use yrs::block::ClientID;
use yrs::sync::Awareness;
use yrs::updates::decoder::Decode;
use yrs::{Doc, GetString, ReadTxn, StateVector, Text, Transact, Update};

pub fn server() -> Awareness {
    Awareness::new(Doc::with_client_id(1))
}

/// A user is there for a moment.
pub fn user(server: &mut Awareness, i: u64) -> anyhow::Result<()> {
    let mut user = Awareness::new(Doc::with_client_id(i + 2));
    user.set_local_state_raw(r#"{"cursor":1}"#);
    server.apply_update(user.update()?)?;
    server.remove_state(ClientID::new(i + 2));
    Ok(())
}

/// The same document, and who is there now.
pub fn user_and_rebuild(server: &mut Awareness, i: u64) -> anyhow::Result<()> {
    user(server, i)?;
    if i.is_multiple_of(64) {
        let present = server.update()?;
        *server = Awareness::new(server.doc().clone());
        server.apply_update(present)?;
    }
    Ok(())
}

pub fn document() -> Doc {
    let doc = Doc::with_client_id(1);
    let page = doc.get_or_insert_text("page");
    page.insert(&mut doc.transact_mut(), 0, "hello");
    doc
}

/// A subscriber comes, sees an edit, and goes.
pub fn observer(doc: &mut Doc, i: u64) -> anyhow::Result<()> {
    let key = i as usize;
    doc.observe_update_v1(key, |_, update| assert!(!update.update.is_empty()))?;
    let page = doc.get_or_insert_text("page");
    let mut edit = doc.transact_mut();
    page.insert(&mut edit, 0, "a");
    page.remove_range(&mut edit, 0, 1);
    drop(edit);
    ensure!(doc.unobserve_update_v1(key)?);
    Ok(())
}

/// A reader asks for the whole document.
pub fn reader(doc: &mut Doc, i: u64) -> anyhow::Result<()> {
    let update = doc
        .transact()
        .encode_state_as_update_v1(&StateVector::default());
    let copy = Doc::with_client_id(i + 2);
    let page = copy.get_or_insert_text("page");
    let mut edit = copy.transact_mut();
    edit.apply_update(Update::decode_v1(&update)?)?;
    ensure!(page.get_string(&edit) == "hello");
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("yrs_awareness", server, user),
        Scenario::with_state("yrs_awareness_rebuilt", server, user_and_rebuild),
        Scenario::with_state("yrs_observers", document, observer),
        Scenario::with_state("yrs_readers", document, reader),
    ]
}
