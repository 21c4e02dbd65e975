//! An observable gauge (`opentelemetry_sdk`) that each connection builds for itself.
//!
//! Kept: the callback. Dropping the instrument does not remove it, and the list of callbacks
//! is only appended to (`Pipeline::add_callback`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use plimsoll::Scenario;

/// Takes every export.
struct Exporter;

impl PushMetricExporter for Exporter {
    async fn export(&self, _: &ResourceMetrics) -> OTelSdkResult {
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Delta
    }
}

struct Server {
    provider: SdkMeterProvider,
    meter: Meter,
    queues: Arc<Mutex<BTreeMap<u64, u64>>>,
}

fn setup() -> Server {
    // It exports when this says so, and not by the clock.
    let reader = PeriodicReader::builder(Exporter)
        .with_interval(Duration::from_secs(24 * 60 * 60))
        .build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    Server {
        meter: provider.meter("server"),
        provider,
        queues: Arc::default(),
    }
}

fn setup_shared() -> Server {
    let server = setup();
    let queues = Arc::clone(&server.queues);
    server
        .meter
        .u64_observable_gauge("queue")
        .with_callback(move |observer| {
            for (connection, length) in &*queues.lock().expect("no panic") {
                let connection = KeyValue::new("connection", connection.to_string());
                observer.observe(*length, &[connection]);
            }
        })
        .build();
    server
}

fn export(server: &Server, i: u64) -> OTelSdkResult {
    match i % 1_000 {
        0 => server.provider.force_flush(),
        _ => Ok(()),
    }
}

/// A connection that builds its gauge, and ends.
fn connect(server: &mut Server, i: u64) -> OTelSdkResult {
    let _gauge = server
        .meter
        .u64_observable_gauge("queue")
        .with_callback(move |observer| observer.observe(i, &[]))
        .build();
    export(server, i)
}

/// A connection that the one gauge knows of until it ends.
fn connect_shared(server: &mut Server, i: u64) -> OTelSdkResult {
    server.queues.lock().expect("no panic").insert(i, i);
    let exported = export(server, i);
    server.queues.lock().expect("no panic").remove(&i);
    exported
}

/// A gauge for each connection.
fn opentelemetry_gauges() -> Scenario {
    Scenario::with_state("opentelemetry_gauges", setup, connect)
}

/// One gauge, whose callback asks which connections there are.
fn opentelemetry_gauges_shared() -> Scenario {
    Scenario::with_state("opentelemetry_gauges_shared", setup_shared, connect_shared)
}

pub fn scenarios() -> [Scenario; 2] {
    [opentelemetry_gauges(), opentelemetry_gauges_shared()]
}
