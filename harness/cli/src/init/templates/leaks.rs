//! Workloads that must not leak: `cargo test --test leaks`.

use plimsoll::Scenario;

/// A window over the last thousand of what comes in. Put in its place what your
/// program does all day; a scenario for each workload.
fn window() -> Scenario {
    // The outer closure sets up what lives for the whole run; the inner one is one
    // iteration, and is given its number.
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
