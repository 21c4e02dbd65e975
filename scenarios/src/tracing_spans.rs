//! Spans and events (`tracing`) through a subscriber with two layers.
//!
//! What could leak: a span lives in a slab of the registry until its last handle is dropped.
//! Layers attach data to it: formatted fields, and here a number as well. A child keeps its
//! parent. With one handle too many, slab slot, fields and data stay.
//!
//! Healthy: spans are closed in their iteration, and the slab reuses the slots.

use anyhow::ensure;
use plimsoll::Scenario;
use tracing::{Subscriber, info, info_span, span};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::random::every;

/// A layer that counts the events of each span, in the span's own extensions.
struct EventCount;

struct Events(u64);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for EventCount {
    fn on_new_span(&self, _: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Events(0));
        }
    }

    fn on_event(&self, _: &tracing::Event<'_>, context: Context<'_, S>) {
        if let Some(span) = context.lookup_current()
            && let Some(Events(count)) = span.extensions_mut().get_mut()
        {
            *count += 1;
        }
    }
}

/// Opens a request with a query inside. Every fourth time, a child of its span goes to a
/// thread that outlives the caller's own handle.
pub fn tracing_spans() -> Scenario {
    Scenario::new("tracing_spans", || {
        let format = fmt::layer().with_ansi(false).with_writer(std::io::sink);
        let subscriber = tracing_subscriber::registry().with(EventCount).with(format);
        tracing::subscriber::set_global_default(subscriber)
            .expect("this process has no other subscriber");
        |i: u64| -> anyhow::Result<()> {
            let request = info_span!("request", id = i, status = tracing::field::Empty);
            let entered = request.enter();
            info!(user = i % 100, "accepted");
            info_span!("query", table = "orders").in_scope(|| info!(rows = 3, "answered"));
            request.record("status", 200);
            drop(entered);
            if every(4, i) {
                let child = info_span!(parent: &request, "audit");
                drop(request);
                let logged = std::thread::spawn(move || child.in_scope(|| info!("logged")));
                ensure!(logged.join().is_ok(), "the audit thread panicked");
            }
            Ok(())
        }
    })
}
