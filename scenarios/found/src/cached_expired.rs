//! A cache whose entries expire (`cached`), with keys that nobody asks for again.
//!
//! Kept: the expired entries. An entry leaves when its own key is asked for, or with
//! `CacheEvict::evict`; the crate says so.

use std::time::Duration;

use cached::{Cached, TtlCache};
use plimsoll::Scenario;

fn setup() -> TtlCache<u64, Vec<u8>> {
    TtlCache::builder()
        .ttl(Duration::from_millis(1))
        .build()
        .expect("it has a ttl")
}

fn set(cache: &mut TtlCache<u64, Vec<u8>>, i: u64) {
    cache.cache_set(i, vec![0; 50]);
}

fn set_and_evict(cache: &mut TtlCache<u64, Vec<u8>>, i: u64) {
    set(cache, i);
    if i.is_multiple_of(100) {
        let _ = cache.evict();
    }
}

/// Entries that expire after 1 ms.
fn cached_expired() -> Scenario {
    Scenario::with_state("cached_expired", setup, set)
}

/// The same, with a call of `evict` now and then.
fn cached_expired_evicted() -> Scenario {
    // How many entries live depends on the time, so it needs longer than the others.
    Scenario::with_state("cached_expired_evicted", setup, set_and_evict).max_iterations(65_536)
}

pub fn scenarios() -> [Scenario; 2] {
    [cached_expired(), cached_expired_evicted()]
}
