//! Sessions (`kameo`) below a server, one for each connection.
//!
//! Kept: what a supervisor needs to start a child again (`ErasedChildSpec`: a factory with the
//! child's arguments, and three senders of its mailbox), for every child that has ended and is
//! not started again. Only `ActorRef::link_child` inserts into `LinksInner::children`, and
//! nothing removes single entries (`ActorBehaviour::handle_link_died` does for siblings alone).

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::ensure;
use kameo::error::Infallible;
use kameo::prelude::*;
use kameo::supervision::RestartPolicy;
use plimsoll::Scenario;
use tokio::runtime::Runtime;

#[derive(Clone)]
struct Session {
    user: String,
}

impl Actor for Session {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(session: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(session)
    }
}

struct Ask;

impl Message<Ask> for Session {
    type Reply = String;

    async fn handle(&mut self, _: Ask, _: &mut Context<Self, String>) -> String {
        self.user.clone()
    }
}

struct Wait;

impl Message<Wait> for Session {
    type Reply = ();

    async fn handle(&mut self, _: Wait, _: &mut Context<Self, ()>) {
        std::future::pending().await
    }
}

struct Server;

impl Actor for Server {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(server: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(server)
    }

    async fn on_link_died(
        &mut self,
        _: WeakActorRef<Self>,
        _: ActorId,
        _: ActorStopReason,
    ) -> Result<ControlFlow<ActorStopReason>, Infallible> {
        Ok(ControlFlow::Continue(()))
    }
}

pub struct Connections {
    runtime: Runtime,
    server: ActorRef<Server>,
}

pub fn setup() -> Connections {
    let runtime = super::runtime();
    let server = runtime.block_on(async { Server::spawn(Server) });
    Connections { runtime, server }
}

fn session(id: u64) -> Session {
    Session {
        user: format!("user {id}"),
    }
}

async fn serve(session: &ActorRef<Session>) -> anyhow::Result<()> {
    ensure!(session.ask(Ask).await?.starts_with("user"));
    session.stop_gracefully().await?;
    session.wait_for_shutdown().await;
    Ok(())
}

pub fn supervise(connections: &mut Connections, id: u64) -> anyhow::Result<()> {
    connections.runtime.block_on(async {
        let session = Session::supervise(&connections.server, session(id))
            .restart_policy(RestartPolicy::Never)
            .spawn()
            .await;
        serve(&session).await
    })
}

/// The server learns of the session's end (`on_link_died`), as a supervisor does.
pub fn link(connections: &mut Connections, id: u64) -> anyhow::Result<()> {
    connections.runtime.block_on(async {
        let session = Session::spawn(session(id));
        session.link(&connections.server).await;
        serve(&session).await
    })
}

pub fn register(connections: &mut Connections, id: u64) -> anyhow::Result<()> {
    connections.runtime.block_on(async {
        let session = Session::spawn(session(id));
        session.register(format!("session {id}"))?;
        serve(&session).await
    })
}

/// The reply is late, and the session is killed.
pub fn time_out(connections: &mut Connections, id: u64) -> anyhow::Result<()> {
    connections.runtime.block_on(async {
        let session = Session::spawn(session(id));
        let reply = session.ask(Wait).reply_timeout(Duration::from_millis(1));
        ensure!(reply.await.is_err());
        session.kill();
        session.wait_for_shutdown().await;
        Ok(())
    })
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // A supervised session, and one that is linked.
        Scenario::with_state("kameo_supervised", setup, supervise),
        Scenario::with_state("kameo_linked", setup, link),
        Scenario::with_state("kameo_registered", setup, register),
        Scenario::with_state("kameo_timed_out", setup, time_out),
    ]
}
