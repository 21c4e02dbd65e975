//! A broker (`rumqttd`) in the same process, with clients that come and go.
//!
//! Kept, until the process ends if nothing else is said:
//!
//! - the id of every client that was connected, with the times of its last connections, although
//!   its session was clean (`Graveyard::save_metrics`);
//! - the commit log of every filter that was subscribed to, with its last messages, and an empty
//!   set of subscribers (`DataLog::next_native_offset`, `Router::subscription_map`);
//! - the name of every topic that a subscription matched (`DataLog::publish_filters`), and, as
//!   long as the publishing client is connected, of every topic that it published to
//!   (`IncomingMeter::publishes`);
//! - the id of a client, once more for each time that it subscribes to a shared filter that it
//!   is subscribed to (`SharedGroup::add_client`), until it unsubscribes or disconnects;
//! - the request of a client that unsubscribed from a shared filter, until the client disconnects:
//!   `DataLog::remove_waiters_for_id` looks for `$share/group/filter` among names that have no
//!   group;
//! - the connection of a link that was dropped, as `LinkTx` and `LinkRx` have no `Drop`, and the
//!   channel of a `MetersLink` that was dropped (`Router::handle_new_meter`);
//! - the router of a `Broker` that was dropped, with its thread: the router holds a sender of
//!   the channel that it waits for (`Router::router_tx`).

use plimsoll::Scenario;
use rumqttd::local::{LinkError, LinkRx, LinkTx};
use rumqttd::meters::MetersLink;
use rumqttd::protocol::{Disconnect, DisconnectReasonCode, Packet};
use rumqttd::{Broker, Config, Notification, RouterConfig};
use tokio::runtime::Runtime;

fn broker(max_connections: usize) -> Broker {
    Broker::new(Config {
        router: RouterConfig {
            max_connections,
            max_outgoing_packet_count: 200,
            max_segment_size: 1_024,
            max_segment_count: 2,
            ..RouterConfig::default()
        },
        ..Config::default()
    })
}

struct Client {
    tx: LinkTx,
    rx: LinkRx,
}

impl Client {
    fn connect(broker: &Broker, id: &str) -> Result<Client, LinkError> {
        let (tx, rx) = broker.link(id)?;
        Ok(Client { tx, rx })
    }

    fn wait(&mut self, wanted: fn(&Notification) -> bool) -> Result<(), LinkError> {
        loop {
            match self.rx.recv()? {
                Some(Notification::Unschedule) => self.rx.ready()?,
                Some(notification) if wanted(&notification) => return Ok(()),
                _ => {}
            }
        }
    }

    fn subscribe(&mut self, filter: &str) -> Result<(), LinkError> {
        self.tx.subscribe(filter)?;
        self.wait(|notification| matches!(notification, Notification::DeviceAck(_)))
    }

    fn unsubscribe(&mut self, filter: &str) -> Result<(), LinkError> {
        self.tx.unsubscribe(filter)?;
        self.wait(|notification| matches!(notification, Notification::DeviceAck(_)))
    }

    /// Publishes to a topic to which this client is subscribed.
    fn publish(&mut self, topic: String) -> Result<(), LinkError> {
        self.tx.publish(topic, "hello")?;
        self.wait(|notification| matches!(notification, Notification::Forward(_)))
    }

    fn disconnect(mut self, runtime: &Runtime) -> Result<(), LinkError> {
        let disconnect = Disconnect {
            reason_code: DisconnectReasonCode::NormalDisconnection,
        };
        runtime.block_on(self.tx.send(Packet::Disconnect(disconnect, None)))?;
        // Until the router has dropped its end of the channel.
        while self.rx.recv().is_ok() {}
        Ok(())
    }
}

struct Clients {
    broker: Broker,
    runtime: Runtime,
}

fn clients() -> Clients {
    Clients {
        broker: broker(100),
        runtime: super::runtime(),
    }
}

/// A client with a clean session connects, subscribes to what all subscribe to, and disconnects.
fn connect(clients: &mut Clients, id: u64) -> Result<(), LinkError> {
    let mut client = Client::connect(&clients.broker, &format!("sensor-{id}"))?;
    client.subscribe("news")?;
    client.disconnect(&clients.runtime)
}

fn connect_each(clients: &mut Clients, i: u64) -> Result<(), LinkError> {
    connect(clients, i)
}

fn connect_one_of_64(clients: &mut Clients, i: u64) -> Result<(), LinkError> {
    connect(clients, i % 64)
}

struct Connected {
    client: Client,
    broker: Broker,
}

fn one_client() -> Connected {
    let broker = broker(100);
    Connected {
        client: Client::connect(&broker, "service").expect("room for a client"),
        broker,
    }
}

/// A client subscribes to where it wants the reply, gets it, and unsubscribes.
fn reply(connected: &mut Connected, id: u64) -> Result<(), LinkError> {
    let topic = format!("reply/{id}");
    let client = &mut connected.client;
    client.subscribe(&topic)?;
    client.publish(topic.clone())?;
    client.unsubscribe(&topic)
}

fn reply_each(connected: &mut Connected, i: u64) -> Result<(), LinkError> {
    reply(connected, i)
}

fn reply_one_of_8(connected: &mut Connected, i: u64) -> Result<(), LinkError> {
    reply(connected, i % 8)
}

fn one_subscriber() -> Connected {
    let mut connected = one_client();
    let subscribed = connected.client.subscribe("order/#");
    subscribed.expect("the router acknowledges");
    connected
}

fn publish_each(connected: &mut Connected, i: u64) -> Result<(), LinkError> {
    connected.client.publish(format!("order/{i}"))
}

fn publish_one_of_64(connected: &mut Connected, i: u64) -> Result<(), LinkError> {
    connected.client.publish(format!("order/{}", i % 64))
}

const SHARED: &str = "$share/workers/order/#";
const PLAIN: &str = "order/#";

fn subscribe_shared(connected: &mut Connected, _i: u64) -> Result<(), LinkError> {
    connected.client.subscribe(SHARED)
}

fn subscribe_plain(connected: &mut Connected, _i: u64) -> Result<(), LinkError> {
    connected.client.subscribe(PLAIN)
}

fn leave_shared(connected: &mut Connected, _i: u64) -> Result<(), LinkError> {
    connected.client.subscribe(SHARED)?;
    connected.client.unsubscribe(SHARED)
}

fn leave_plain(connected: &mut Connected, _i: u64) -> Result<(), LinkError> {
    connected.client.subscribe(PLAIN)?;
    connected.client.unsubscribe(PLAIN)
}

fn drop_link(broker: &mut Broker, i: u64) -> Result<(), LinkError> {
    let mut client = Client::connect(broker, &format!("sensor-{i}"))?;
    client.subscribe("news")
}

/// A page of metrics asks the broker for its own link, and drops it.
fn scrape(connected: &mut Connected, _i: u64) -> anyhow::Result<()> {
    let link = connected.broker.meters()?;
    let _none_yet = link.recv();
    // A message goes through the router after the link: its queue stays short.
    connected.client.publish("order/0".to_owned())?;
    Ok(())
}

struct Monitor {
    link: MetersLink,
    _broker: Broker,
}

fn monitor() -> Monitor {
    let broker = broker(100);
    Monitor {
        link: broker.meters().expect("the router runs"),
        _broker: broker,
    }
}

fn scrape_with_one_link(monitor: &mut Monitor, _i: u64) {
    let _none_yet = monitor.link.recv();
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // An id for each client.
        Scenario::with_state("rumqttd_clients", clients, connect_each),
        // Clients connect again with one of 64 ids.
        Scenario::with_state("rumqttd_clients_again", clients, connect_one_of_64),
        // A filter for each reply.
        Scenario::with_state("rumqttd_filters", one_client, reply_each).max_iterations(4_096),
        // Replies share eight filters.
        Scenario::with_state("rumqttd_filters_shared", one_client, reply_one_of_8),
        // A topic for each order.
        Scenario::with_state("rumqttd_topics", one_subscriber, publish_each),
        // Orders share 64 topics.
        Scenario::with_state("rumqttd_topics_shared", one_subscriber, publish_one_of_64),
        // A client subscribes again, to be sure.
        Scenario::with_state("rumqttd_shared_again", one_client, subscribe_shared),
        Scenario::with_state("rumqttd_plain_again", one_client, subscribe_plain),
        // A client subscribes and unsubscribes.
        Scenario::with_state("rumqttd_shared_left", one_client, leave_shared),
        Scenario::with_state("rumqttd_plain_left", one_client, leave_plain),
        // Links that are dropped.
        Scenario::with_state("rumqttd_dropped_links", || broker(100_000), drop_link)
            .max_iterations(4_096),
        // A link for each page of metrics.
        Scenario::with_state("rumqttd_meters", one_subscriber, scrape),
        // One link for all pages of metrics.
        Scenario::with_state("rumqttd_meters_one_link", monitor, scrape_with_one_link),
        // Brokers that are dropped.
        Scenario::new("rumqttd_dropped_brokers", || |_i| drop(broker(10))).max_iterations(1_024),
    ]
}
