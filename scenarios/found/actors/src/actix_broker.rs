//! Sessions (`actix`) that subscribe to news of a broker (`actix-broker`) and end.
//!
//! Kept: the subscription of every session, with its address. The broker removes a recipient
//! only when it delivers an asynchronous message that the recipient cannot take
//! (`Handler<IssueAsync>`). Messages that are issued synchronously (`Handler<IssueSync>`)
//! remove none. The broker's address keeps a session alive that nobody has an address of.
//!
//! Also kept: the registry of every `System` that had a service, in the static
//! `actix::registry::SREG`. Nothing removes from it.

use actix::prelude::*;
use actix_broker::{Broker, BrokerIssue, BrokerSubscribe, SystemBroker};
use plimsoll::Scenario;
use tokio::sync::oneshot::{Receiver, Sender, channel};

#[derive(Clone, Message)]
#[rtype(result = "()")]
struct News;

#[derive(Message)]
#[rtype(result = "u64")]
struct Ask;

#[derive(Message)]
#[rtype(result = "()")]
struct Close;

#[derive(Message)]
#[rtype(result = "()")]
struct Publish;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Interest {
    News,
    Nothing,
}

struct Session {
    id: u64,
    interest: Interest,
    /// Dropped with the session, which the receiver learns.
    _gone: Sender<()>,
}

impl Actor for Session {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if self.interest == Interest::News {
            self.subscribe_system_sync::<News>(context);
        }
    }
}

impl Handler<News> for Session {
    type Result = ();

    fn handle(&mut self, _: News, _: &mut Context<Self>) {}
}

/// It is answered after the session has subscribed.
impl Handler<Ask> for Session {
    type Result = u64;

    fn handle(&mut self, _: Ask, _: &mut Context<Self>) -> u64 {
        self.id
    }
}

impl Handler<Close> for Session {
    type Result = ();

    fn handle(&mut self, _: Close, context: &mut Context<Self>) {
        context.stop();
    }
}

struct Editor;

impl Actor for Editor {
    type Context = Context<Self>;
}

impl Handler<Publish> for Editor {
    type Result = ();

    fn handle(&mut self, _: Publish, context: &mut Context<Self>) {
        self.issue_system_sync(News, context);
    }
}

pub struct Server {
    system: SystemRunner,
    editor: Addr<Editor>,
}

pub fn setup() -> Server {
    let system = System::new();
    let editor = system.block_on(async { Editor.start() });
    Server { system, editor }
}

async fn open(id: u64, interest: Interest) -> (Addr<Session>, Receiver<()>) {
    let (_gone, gone) = channel();
    let session = Session {
        id,
        interest,
        _gone,
    };
    let session = session.start();
    assert_eq!(session.send(Ask).await.ok(), Some(id));
    (session, gone)
}

async fn serve(id: u64) {
    let (session, gone) = open(id, Interest::News).await;
    session.send(Close).await.expect("it is open");
    gone.await.expect_err("it is dropped");
}

/// There are news in every hundredth iteration.
fn is_news(i: u64) -> bool {
    i % 100 == 99
}

pub fn stop(server: &mut Server, i: u64) {
    server.system.block_on(serve(i));
}

pub fn stop_and_issue(server: &mut Server, i: u64) {
    stop(server, i);
    server.system.block_on(async {
        if is_news(i) {
            Broker::<SystemBroker>::issue_async(News);
        }
    });
}

pub fn stop_and_issue_sync(server: &mut Server, i: u64) {
    stop(server, i);
    if is_news(i) {
        let published = server.system.block_on(server.editor.send(Publish));
        published.expect("the editor lives");
    }
}

/// The session's only address is dropped.
pub fn forget(server: &mut Server, i: u64) {
    server.system.block_on(async {
        let (session, gone) = open(i, Interest::Nothing).await;
        drop(session);
        gone.await.expect_err("it is dropped");
    });
}

/// As in [`forget`], but nobody waits for the session's end, which does not come.
pub fn forget_listening(server: &mut Server, i: u64) {
    server.system.block_on(async {
        open(i, Interest::News).await;
        if is_news(i) {
            Broker::<SystemBroker>::issue_async(News);
        }
    });
}

fn system(i: u64, interest: Interest) {
    let system = System::new();
    system.block_on(async {
        let (session, gone) = open(i, interest).await;
        session.send(Close).await.expect("it is open");
        gone.await.expect_err("it is dropped");
        System::current().stop();
    });
    system.run().expect("it stops without an error");
}

pub fn system_with_service(_: &mut (), i: u64) {
    system(i, Interest::News);
}

pub fn system_without_service(_: &mut (), i: u64) {
    system(i, Interest::Nothing);
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // Sessions that stop, while there are no news.
        Scenario::with_state("actix_broker_quiet", setup, stop),
        // News that are issued synchronously, and asynchronously.
        Scenario::with_state("actix_broker_issue_sync", setup, stop_and_issue_sync),
        Scenario::with_state("actix_broker_issue_async", setup, stop_and_issue),
        // Sessions without an address that subscribed, and others.
        Scenario::with_state("actix_broker_forgotten", setup, forget_listening),
        Scenario::with_state("actix_broker_forgotten_without", setup, forget),
        // A system for each task, with a service (the broker) and without one.
        Scenario::with_state("actix_systems", || (), system_with_service).max_iterations(4_096),
        Scenario::with_state("actix_systems_without", || (), system_without_service),
    ]
}
