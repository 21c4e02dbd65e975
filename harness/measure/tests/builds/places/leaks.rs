//! Three leaks. A release build inlines their closures into the harness.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use plimsoll::Scenario;
use tokio::sync::mpsc;

struct Session {
    _user: u64,
    _name: String,
}

fn map() -> Scenario {
    Scenario::with_state("map", HashMap::<u64, Arc<Session>>::new, |sessions, i| {
        let session = Session {
            _user: i,
            _name: format!("session {i}"),
        };
        sessions.insert(i, Arc::new(session));
    })
}

fn task() -> Scenario {
    Scenario::new("task", || {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).build().unwrap();
        let senders: Arc<Mutex<Vec<mpsc::Sender<u64>>>> = Arc::default();
        move |i: u64| {
            let senders = Arc::clone(&senders);
            runtime.block_on(async move {
                let (sender, mut receiver) = mpsc::channel::<u64>(4);
                sender.send(i).await.unwrap();
                senders.lock().unwrap().push(sender);
                tokio::spawn(async move { while receiver.recv().await.is_some() {} });
            });
        }
    })
}

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn tls() -> Scenario {
    Scenario::new("tls", || {
        |i: u64| LINES.with_borrow_mut(|lines| lines.push(format!("line {i}")))
    })
}

plimsoll::main!(map(), task(), tls());
