//! An LRU cache (`lru`) of rendered pages, full, under a stream of new ones.
//!
//! What could leak: `lru` keeps its entries in a list of raw pointers beside a
//! map, so a path that replaces or evicts an entry without freeing it leaks one
//! node, or one key. `put` of a new key, `put` of a key that is there, `get` and
//! `pop` are such paths, and all four are taken.
//!
//! Healthy: 512 entries from iteration 512 on, pages of bounded size.

use std::num::NonZeroUsize;

use lru::LruCache;
use plimsoll::Scenario;

use crate::random::{every, random};

const ENTRIES: NonZeroUsize = NonZeroUsize::new(512).unwrap();

/// New pages evict old ones; some are asked for again, or replaced, or dropped.
pub fn lru_churn() -> Scenario {
    Scenario::new("lru_churn", || {
        let mut pages = LruCache::new(ENTRIES);
        move |i: u64| {
            pages.put(format!("/page/{i}"), page(i));
            let recent = i.saturating_sub(random(i) % 600);
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

/// 64 to 319 bytes.
fn page(i: u64) -> Vec<u8> {
    let [shade, ..] = i.to_le_bytes();
    vec![shade; 64 + usize::from(shade)]
}
