//! Reactive graphs, interners, watchers, discovery and shared documents:
//! what current releases keep, one project in each file.

pub mod bevy;
pub mod mdns;
pub mod notify_debouncer;
pub mod reactive_graph;
pub mod salsa;
pub mod sycamore;
pub mod yrs;
