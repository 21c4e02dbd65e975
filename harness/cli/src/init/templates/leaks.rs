//! Workloads that must not leak: `cargo test --test leaks`.

use plimsoll::Scenario;

/// An example: it keeps the last thousand items. Replace it by what your program does
/// all day, with one scenario for each workload.
fn window() -> Scenario {
    // The outer closure sets up what lives for the whole run. The inner closure is one
    // iteration; its argument is the number of the iteration.
    Scenario::new("window", || {
        let mut last = std::collections::VecDeque::with_capacity(1_000);
        move |i: u64| {
            if last.len() == 1_000 {
                last.pop_front();
            }
            last.push_back(i.to_string());
        }
    })
}

plimsoll::main!(window());
