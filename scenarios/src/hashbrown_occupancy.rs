//! A hash map (`hashbrown`) whose occupancy wanders within bounds.
//!
//! What could leak: removed entries leave tombstones, and a map that grows where
//! it should clean them up grows for ever under insert and remove. Values that
//! are overwritten or drained have to be dropped.
//!
//! Healthy, but not flat: keys come from 256 numbers and are there or not by
//! chance, each with a value of 16 to 79 bytes. The number of entries and their
//! bytes never settle, and neither ever passes the bound. Three quarters of the
//! keys are there, so that tombstones make the map grow in the first hundred
//! iterations; at one half it might do so at any time, once.

use hashbrown::HashMap;
use plimsoll::Scenario;

use crate::random::{every, random};

const KEYS: u64 = 256;

/// Eight random insertions or removals, now and then a sweep.
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
