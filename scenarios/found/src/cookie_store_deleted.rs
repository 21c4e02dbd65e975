//! Cookies (`cookie_store`, the store behind `reqwest`'s) that servers set and delete again.
//!
//! Kept: every cookie. One that has expired, or that its server deleted, is not sent any more,
//! and stays in the store (`CookieStore::insert`).

use anyhow::ensure;
use cookie_store::{CookieStore, StoreAction};
use plimsoll::Scenario;
use url::Url;

fn setup() -> CookieStore {
    CookieStore::default()
}

/// Logs in at one host, and out again.
fn visit(store: &mut CookieStore, i: u64) -> anyhow::Result<()> {
    let host = Url::parse(&format!("https://shop-{i}.example/"))?;
    store.parse("session=0123456789abcdef; Path=/; Max-Age=3600", &host)?;
    let deleted = store.parse("session=; Path=/; Max-Age=0", &host)?;
    ensure!(deleted == StoreAction::ExpiredExisting, "{deleted:?}");
    ensure!(!store.contains(&format!("shop-{i}.example"), "/", "session"));
    Ok(())
}

fn visit_and_rebuild(store: &mut CookieStore, i: u64) -> anyhow::Result<()> {
    visit(store, i)?;
    if i.is_multiple_of(100) {
        let live = store.iter_unexpired().cloned().map(anyhow::Ok);
        *store = CookieStore::from_cookies(live, false)?;
    }
    Ok(())
}

/// One store for the whole run.
fn cookie_store_deleted() -> Scenario {
    Scenario::with_state("cookie_store_deleted", setup, visit)
}

/// The store is built again from the cookies that live.
fn cookie_store_deleted_rebuilt() -> Scenario {
    Scenario::with_state("cookie_store_deleted_rebuilt", setup, visit_and_rebuild)
}

pub fn scenarios() -> [Scenario; 2] {
    [cookie_store_deleted(), cookie_store_deleted_rebuilt()]
}
