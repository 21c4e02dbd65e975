//! A full LRU cache (`lru`) of rendered pages, to which new pages are added.
//!
//! What could leak: `lru` keeps its entries in a list of raw pointers beside a map. A path
//! that replaces or evicts an entry without freeing it leaks a node or a key. Such paths are
//! `put` of a new key, `put` of an existing key, `get` and `pop`. The scenario takes all four.
//!
//! Healthy: 63 or 64 entries from about iteration 65 on, and pages of bounded size.

use std::num::NonZeroUsize;

use lru::LruCache;
use plimsoll::Scenario;

use crate::random::{every, random};

const ENTRIES: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// New pages evict old ones. Some pages are read again, replaced or removed.
pub fn lru_churn() -> Scenario {
    Scenario::new("lru_churn", || {
        let mut pages = LruCache::new(ENTRIES);
        move |i: u64| {
            pages.put(format!("/page/{i}"), page(i));
            let recent = i.saturating_sub(random(i) % 75);
            if let Some(found) = pages.get(&format!("/page/{recent}")) {
                debug_assert_eq!(*found, page(recent));
            }
            if every(8, i) {
                pages.put(format!("/page/{recent}"), page(recent));
            }
            if every(32, i) {
                pages.pop(&format!("/page/{recent}"));
            }
        }
    })
}

/// Returns a page of 64 to 319 bytes.
fn page(i: u64) -> Vec<u8> {
    let [shade, ..] = i.to_le_bytes();
    vec![shade; 64 + usize::from(shade)]
}
