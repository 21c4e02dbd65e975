//! A hash map (`hashbrown`) whose occupancy wanders within bounds.
//!
//! What could leak: removed entries leave tombstones. A map that grows instead of removing its
//! tombstones grows for ever under insertions and removals. Values that are overwritten or
//! drained have to be dropped.
//!
//! Healthy, but not flat: keys are 256 numbers, and chance decides which of them are in the
//! map. Each has a value of 16 to 79 bytes. The number of entries and their bytes never
//! settle, and neither ever exceeds its bound. Three quarters of the keys are in the map, so
//! that tombstones make it grow in the first hundred iterations. With half of the keys, it
//! might grow once at any time.

use hashbrown::HashMap;
use plimsoll::Scenario;

use crate::random::{every, random};

const KEYS: u64 = 256;

/// Makes eight random insertions or removals, and now and then a sweep.
pub fn hashbrown_occupancy() -> Scenario {
    Scenario::new("hashbrown_occupancy", || {
        let mut readings: HashMap<u64, Vec<u8>> = HashMap::new();
        move |i: u64| {
            for step in 8 * i..8 * (i + 1) {
                let choice = random(step);
                let [insert, length, ..] = choice.to_be_bytes();
                let key = choice % KEYS;
                if !insert.is_multiple_of(4) {
                    readings.insert(key, vec![length; 16 + usize::from(length % 64)]);
                } else {
                    readings.remove(&key);
                }
            }
            if every(64, i) {
                readings.retain(|key, _| !key.is_multiple_of(16));
            }
        }
    })
}
