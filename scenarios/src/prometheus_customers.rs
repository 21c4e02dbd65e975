//! A counter (`prometheus`) with a label that has no bound: the customer.
//!
//! **Known to grow.** A `CounterVec` makes one counter for each set of label values, and keeps
//! it until `remove_label_values` is called. A service that counts requests per customer does
//! not call this, because Prometheus wants each counter to stay for ever. Every new customer
//! costs the label's text, the counter, and an entry of the map behind it. That map doubles
//! now and then.
//!
//! One request in four is from a new customer, and the others are from known ones. So the
//! growth is a quarter of what a counter needs. It is accepted, with the reason, in
//! `baselines/prometheus_customers.toml`.

use plimsoll::Scenario;
use prometheus::{IntCounterVec, Opts, Registry};

use crate::random::random;

/// Counts a request of a known customer or of a new one.
pub fn prometheus_customers() -> Scenario {
    Scenario::new("prometheus_customers", || {
        let requests = IntCounterVec::new(
            Opts::new("requests_total", "requests that were answered"),
            &["customer", "status"],
        )
        .expect("the names of a metric and of its labels are valid");
        let registry = Registry::new();
        registry
            .register(Box::new(requests.clone()))
            .expect("a new registry has no such metric");
        move |i: u64| -> anyhow::Result<()> {
            let customers = i / 4 + 1;
            let customer = if i.is_multiple_of(4) {
                i / 4
            } else {
                random(i) % customers
            };
            let label = format!("customer-{customer:08}");
            requests
                .get_metric_with_label_values(&[label.as_str(), "200"])?
                .inc();
            Ok(())
        }
    })
}
