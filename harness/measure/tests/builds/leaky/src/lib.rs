//! Leaks that stand on stacks of many kinds.

pub mod cache;
pub mod keep;
pub mod tasks;

use std::hint::black_box;

/// Through a generic function.
pub fn hoard<T: Clone>(thing: &T) {
    std::mem::forget(black_box(Box::new(thing.clone())));
}

/// Calls what it is given, as many times.
pub fn each(times: u64, mut call: impl FnMut(u64)) {
    for time in 0..times {
        call(time);
    }
}
