//! Sessions (`ractor`) that subscribe to a server's port, or monitor the server, and stop.
//!
//! Kept: the task of every subscription of an `OutputPort` whose actor has stopped, with the
//! actor's reference, until the next message: only then the task learns that the actor is gone
//! (`OutputPortSubscription::new`). The documentation says that the subscription is dropped if
//! the actor stops.
//!
//! Also kept: every stopped actor that monitored another one, in that actor's
//! `SupervisionTree::monitors`, until it has something to tell: it starts, stops or fails
//! (`SupervisionTree::notify_supervisor`).

use plimsoll::Scenario;
use ractor::concurrency::JoinHandle;
use ractor::{Actor, ActorProcessingErr, ActorRef, OutputPort, pg, registry};
use tokio::runtime::Runtime;

struct Session;

impl Actor for Session {
    type Msg = u64;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<u64>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

pub struct Server {
    runtime: Runtime,
    server: ActorRef<u64>,
    news: OutputPort<u64>,
}

async fn start(name: Option<String>) -> anyhow::Result<(ActorRef<u64>, JoinHandle<()>)> {
    Ok(Actor::spawn(name, Session, ()).await?)
}

async fn stop(session: &ActorRef<u64>, task: JoinHandle<()>) -> anyhow::Result<()> {
    session.stop(None);
    Ok(task.await?)
}

pub fn setup() -> Server {
    let runtime = super::runtime();
    let (server, _) = runtime.block_on(start(None)).expect("it starts");
    Server {
        runtime,
        server,
        news: OutputPort::default(),
    }
}

pub fn subscribe(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    server.runtime.block_on(async {
        let (session, task) = start(None).await?;
        server.news.subscribe(session.clone(), Some);
        stop(&session, task).await
    })
}

/// There are news in every hundredth iteration.
pub fn subscribe_and_send(server: &mut Server, i: u64) -> anyhow::Result<()> {
    subscribe(server, i)?;
    if i % 100 == 99 {
        server.news.send(i);
    }
    Ok(())
}

pub fn monitor(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    server.runtime.block_on(async {
        let (session, task) = start(None).await?;
        session.monitor(server.server.get_cell());
        stop(&session, task).await
    })
}

pub fn monitor_and_unmonitor(server: &mut Server, _i: u64) -> anyhow::Result<()> {
    server.runtime.block_on(async {
        let (session, task) = start(None).await?;
        session.monitor(server.server.get_cell());
        session.unmonitor(server.server.get_cell());
        stop(&session, task).await
    })
}

/// A session with a name, in a group and in the server's care.
pub fn name(server: &mut Server, i: u64) -> anyhow::Result<()> {
    server.runtime.block_on(async {
        let name = format!("session {i}");
        let (session, task) = start(Some(name.clone())).await?;
        session.link(server.server.get_cell());
        pg::join(format!("room {i}"), vec![session.get_cell()]);
        pg::monitor(format!("hall {i}"), session.get_cell());
        stop(&session, task).await?;
        anyhow::ensure!(registry::where_is(name).is_none());
        Ok(())
    })
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("ractor_port", setup, subscribe),
        Scenario::with_state("ractor_port_and_news", setup, subscribe_and_send),
        Scenario::with_state("ractor_monitors", setup, monitor),
        Scenario::with_state("ractor_unmonitored", setup, monitor_and_unmonitor),
        Scenario::with_state("ractor_names", setup, name),
    ]
}
