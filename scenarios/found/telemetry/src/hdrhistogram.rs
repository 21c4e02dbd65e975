//! A `Recorder` of a `SyncHistogram` (`hdrhistogram`) for each connection.
//!
//! Kept: the whole histogram of each recorder that was dropped, even if it has one sample. `Drop`
//! sends it through a channel without a limit, which only `SyncHistogram::refresh` empties.

use hdrhistogram::{Histogram, SyncHistogram};
use plimsoll::Scenario;

/// Up to a minute, in microseconds, with two digits: 19 KiB. Nobody asks for it yet.
pub fn setup() -> SyncHistogram<u64> {
    let latency = Histogram::new_with_max(60_000_000, 2).expect("two digits are allowed");
    latency.into()
}

/// A connection that records one latency, and ends.
pub fn connect(latency: &mut SyncHistogram<u64>, i: u64) {
    latency.recorder().saturating_record(i);
}

pub fn connect_refreshed(latency: &mut SyncHistogram<u64>, i: u64) {
    connect(latency, i);
    if i.is_multiple_of(100) {
        latency.refresh();
        assert_eq!(latency.len(), i + 1);
    }
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // Nobody reads the histogram.
        Scenario::with_state("hdrhistogram_recorders", setup, connect).max_iterations(4_096),
        // Somebody reads it now and then.
        Scenario::with_state("hdrhistogram_recorders_refreshed", setup, connect_refreshed),
    ]
}
