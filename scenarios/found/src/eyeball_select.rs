//! A loop that handles requests and looks out for a new configuration (`eyeball`).
//!
//! Kept: a waker for each time that the subscriber was polled. They leave when the value is
//! set (`ObservableState::add_waker`), but for the room of their list, and a configuration is
//! seldom set.

use std::future::ready;

use eyeball::{SharedObservable, Subscriber};
use plimsoll::Scenario;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

struct Server {
    runtime: Runtime,
    _config: SharedObservable<u64>,
    changes: Subscriber<u64>,
    notified: mpsc::Receiver<u64>,
}

fn setup() -> Server {
    let runtime = super::runtime();
    let config = SharedObservable::new(0);
    // A task of its own polls the subscriber only when there may be a new value.
    let (notify, notified) = mpsc::channel(1);
    let mut changes = config.subscribe();
    runtime.spawn(async move {
        while let Some(value) = changes.next().await {
            if notify.send(value).await.is_err() {
                break;
            }
        }
    });
    Server {
        runtime,
        changes: config.subscribe(),
        _config: config,
        notified,
    }
}

/// One turn of the loop: there is a request, and no change.
fn turn(server: &mut Server, i: u64) {
    server.runtime.block_on(async {
        tokio::select! {
            biased;
            _ = server.changes.next() => unreachable!("nobody sets it"),
            request = ready(i) => assert_eq!(request, i),
        }
    });
}

fn turn_with_task(server: &mut Server, i: u64) {
    server.runtime.block_on(async {
        tokio::select! {
            biased;
            _ = server.notified.recv() => unreachable!("nobody sets it"),
            request = ready(i) => assert_eq!(request, i),
        }
    });
}

/// The subscriber is polled in each turn of the loop.
fn eyeball_select() -> Scenario {
    Scenario::with_state("eyeball_select", setup, turn)
}

/// A task of its own polls the subscriber.
fn eyeball_select_in_task() -> Scenario {
    Scenario::with_state("eyeball_select_in_task", setup, turn_with_task)
}

pub fn scenarios() -> [Scenario; 2] {
    [eyeball_select(), eyeball_select_in_task()]
}
