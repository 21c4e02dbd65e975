//! A histogram (`metrics-exporter-prometheus`) in a service that nobody scrapes.
//!
//! Kept: every sample, although the histogram has three buckets. Samples are counted into
//! buckets when the page is rendered or with `PrometheusHandle::run_upkeep`; the crate says so.

use metrics::{Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use plimsoll::Scenario;

struct Service {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

fn setup() -> Service {
    let recorder = PrometheusBuilder::new()
        .set_buckets(&[0.01, 0.1, 1.0])
        .expect("there are buckets")
        .build_recorder();
    Service {
        handle: recorder.handle(),
        recorder,
    }
}

fn record(service: &mut Service, i: u64) {
    let key = Key::from_parts("request_seconds", vec![Label::new("route", "/")]);
    let metadata = Metadata::new(module_path!(), Level::INFO, None);
    let histogram = service.recorder.register_histogram(&key, &metadata);
    for n in 0..10 {
        histogram.record((i + n) as f64 % 0.1);
    }
}

fn record_with_upkeep(service: &mut Service, i: u64) {
    record(service, i);
    if i.is_multiple_of(100) {
        service.handle.run_upkeep();
    }
}

/// Ten samples an iteration.
fn prometheus_unscraped() -> Scenario {
    Scenario::with_state("prometheus_unscraped", setup, record)
}

/// The same, with upkeep.
fn prometheus_unscraped_with_upkeep() -> Scenario {
    Scenario::with_state(
        "prometheus_unscraped_with_upkeep",
        setup,
        record_with_upkeep,
    )
}

pub fn scenarios() -> [Scenario; 2] {
    [prometheus_unscraped(), prometheus_unscraped_with_upkeep()]
}
