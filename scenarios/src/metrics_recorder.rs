//! Counters, a gauge and a histogram (`metrics`) that its Prometheus exporter renders.
//!
//! What could leak: a histogram keeps every sample until the exporter is rendered, in blocks
//! that are freed through `crossbeam-epoch`. The registry keeps each set of labels that it has
//! ever seen. A service that records, but is never scraped and does not call `run_upkeep`,
//! grows by 8 bytes a sample.
//!
//! Healthy, but not flat: there are four sets of labels, and a scrape after every 32
//! iterations, so samples accumulate and disappear. `prometheus_customers` has labels without
//! a bound.

use anyhow::ensure;
use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::PrometheusBuilder;
use plimsoll::Scenario;

use crate::random::{every, random};

const ROUTES: [&str; 4] = ["/", "/login", "/orders", "/search"];

/// Records the metrics of one request, and now and then renders them.
pub fn metrics_recorder() -> Scenario {
    Scenario::new("metrics_recorder", || {
        let exporter = PrometheusBuilder::new()
            .set_buckets(&[0.05, 0.1, 0.2])
            .expect("there are buckets")
            .install_recorder()
            .expect("this process has no other recorder");
        move |i: u64| -> anyhow::Result<()> {
            let [route, millis, ..] = random(i).to_le_bytes();
            let route = ROUTES[usize::from(route) % ROUTES.len()];
            counter!("requests_total", "route" => route).increment(1);
            gauge!("requests_running").set(f64::from(millis % 7));
            histogram!("request_seconds", "route" => route).record(f64::from(millis) / 1e3);
            if every(32, i) {
                let page = exporter.render();
                ensure!(
                    page.contains("requests_total"),
                    "the page lacks a counter:\n{page}"
                );
            }
            Ok(())
        }
    })
}
