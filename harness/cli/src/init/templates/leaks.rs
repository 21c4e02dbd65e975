//! Workloads that must not leak: `cargo test --test leaks`.

use std::collections::VecDeque;

use plimsoll::Scenario;

/// An example: it keeps the last thousand items. Replace it by what your program does
/// all day, with one scenario for each workload.
fn window() -> Scenario {
    // The first closure sets up what lives for the whole run. The second closure is one
    // iteration; `i` is its number.
    Scenario::with_state("window", VecDeque::new, |last, i| {
        if last.len() == 1_000 {
            last.pop_front();
        }
        last.push_back(i.to_string());
    })
}

plimsoll::main!(window());
