//! The same loop as in `eyeball_select`, with a watch channel (`postage`).
//!
//! Kept: a waker for each time that the receiver was polled. They leave when a value is sent
//! (`Notifier::subscribe`, `Notifier::notify`).

use std::future::ready;

use plimsoll::Scenario;
use postage::stream::Stream;
use postage::watch;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

struct Server {
    runtime: Runtime,
    _config: watch::Sender<u64>,
    changes: watch::Receiver<u64>,
    notified: mpsc::Receiver<u64>,
}

fn setup() -> Server {
    let runtime = super::runtime();
    let (config, mut changes) = watch::channel::<u64>();
    let (notify, notified) = mpsc::channel(1);
    let mut seen = changes.clone();
    runtime.spawn(async move {
        while let Some(value) = seen.recv().await {
            if value != 0 && notify.send(value).await.is_err() {
                break;
            }
        }
    });
    // The value that the channel begins with.
    runtime.block_on(changes.recv());
    Server {
        runtime,
        _config: config,
        changes,
        notified,
    }
}

/// One turn of the loop: there is a request, and no change.
fn turn(server: &mut Server, i: u64) {
    server.runtime.block_on(async {
        tokio::select! {
            biased;
            _ = server.changes.recv() => unreachable!("nobody sends"),
            request = ready(i) => assert_eq!(request, i),
        }
    });
}

fn turn_with_task(server: &mut Server, i: u64) {
    server.runtime.block_on(async {
        tokio::select! {
            biased;
            _ = server.notified.recv() => unreachable!("nobody sends"),
            request = ready(i) => assert_eq!(request, i),
        }
    });
}

/// The receiver is polled in each turn of the loop.
fn postage_select() -> Scenario {
    Scenario::with_state("postage_select", setup, turn)
}

/// A task of its own polls the receiver.
fn postage_select_in_task() -> Scenario {
    Scenario::with_state("postage_select_in_task", setup, turn_with_task)
}

pub fn scenarios() -> [Scenario; 2] {
    [postage_select(), postage_select_in_task()]
}
