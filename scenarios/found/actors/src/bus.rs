//! A reader (`bus`) that looks at its bus now and then, while nobody broadcasts.
//!
//! Kept: the handle of the reader's thread, for each call of `recv_timeout` that found nothing.
//! `BusReader::recv_inner` sends it to the channel of those that wait. Only a broadcast
//! receives from that channel (`Bus::broadcast_inner`). A reader that is dropped sends a number,
//! which a broadcast receives only if the ring seems to be full.

use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Duration;

use bus::{Bus, BusReader};
use plimsoll::Scenario;

pub struct Worker {
    bus: Bus<u64>,
    stop: BusReader<u64>,
}

pub fn setup() -> Worker {
    let mut bus = Bus::new(8);
    let stop = bus.add_rx();
    Worker { bus, stop }
}

/// One turn of the worker's loop: nobody tells it to stop.
pub fn wait(worker: &mut Worker, _i: u64) {
    let stop = worker.stop.recv_timeout(Duration::from_micros(1));
    assert_eq!(stop, Err(RecvTimeoutError::Timeout));
}

pub fn look(worker: &mut Worker, _i: u64) {
    assert_eq!(worker.stop.try_recv(), Err(TryRecvError::Empty));
}

pub fn come_and_go(worker: &mut Worker, _i: u64) {
    drop(worker.bus.add_rx());
}

pub fn broadcast(worker: &mut Worker, i: u64) {
    worker.bus.broadcast(i);
    assert_eq!(worker.stop.recv_timeout(Duration::from_secs(1)), Ok(i));
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A loop that waits for a moment, and one that does not.
        Scenario::with_state("bus_recv_timeout", setup, wait),
        Scenario::with_state("bus_try_recv", setup, look),
        // Readers that come and go, while nobody broadcasts.
        Scenario::with_state("bus_readers", setup, come_and_go),
        Scenario::with_state("bus_broadcast", setup, broadcast),
    ]
}
