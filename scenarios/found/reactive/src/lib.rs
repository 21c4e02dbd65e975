//! Reactive graphs, interners, watchers, discovery and shared documents: what current releases keep, one project in each file.

mod bevy;
mod mdns;
mod notify_debouncer;
mod reactive_graph;
mod salsa;
mod sycamore;
mod yrs;

use plimsoll::Scenario;

/// All scenarios of this package.
pub fn scenarios() -> Vec<Scenario> {
    [
        bevy::scenarios(),
        mdns::scenarios(),
        notify_debouncer::scenarios(),
        reactive_graph::scenarios(),
        salsa::scenarios(),
        sycamore::scenarios(),
        yrs::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
