//! Sessions (`kameo`) that subscribe to news (`kameo_actors`) and end.
//!
//! Kept: the subscription of every session that has ended, if the `PubSub` delivers in tasks
//! (`DeliveryStrategy::Spawned` and `SpawnedWithTimeout`). `PubSub::publish` does not learn
//! there that the session is gone. With the other strategies it removes the subscription, if the
//! session's filter takes the message. There is no message to unsubscribe.

use kameo::prelude::*;
use kameo_actors::DeliveryStrategy;
use kameo_actors::pubsub::{PubSub, Publish, Subscribe};
use plimsoll::Scenario;
use tokio::runtime::Runtime;

#[derive(Clone)]
struct News;

struct Session;

impl Actor for Session {
    type Args = Self;
    type Error = kameo::error::Infallible;

    async fn on_start(session: Self, _: ActorRef<Self>) -> Result<Self, Self::Error> {
        Ok(session)
    }
}

impl Message<News> for Session {
    type Reply = ();

    async fn handle(&mut self, _: News, _: &mut Context<Self, ()>) {}
}

pub struct Server {
    runtime: Runtime,
    news: ActorRef<PubSub<News>>,
}

fn server(strategy: DeliveryStrategy) -> Server {
    let runtime = super::runtime();
    let news = runtime.block_on(async { PubSub::spawn(PubSub::new(strategy)) });
    Server { runtime, news }
}

pub fn setup_spawned() -> Server {
    server(DeliveryStrategy::Spawned)
}

pub fn setup_best_effort() -> Server {
    server(DeliveryStrategy::BestEffort)
}

/// There are news in every hundredth iteration.
pub fn listen(server: &mut Server, i: u64) -> anyhow::Result<()> {
    server.runtime.block_on(async {
        let session = Session::spawn(Session);
        server.news.ask(Subscribe(session.clone())).await?;
        session.stop_gracefully().await?;
        session.wait_for_shutdown().await;
        if i % 100 == 99 {
            server.news.ask(Publish(News)).await?;
        }
        Ok(())
    })
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("kameo_actors_spawned", setup_spawned, listen),
        Scenario::with_state("kameo_actors_best_effort", setup_best_effort, listen),
    ]
}
