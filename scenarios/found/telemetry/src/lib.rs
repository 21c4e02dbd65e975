//! Tracing, metrics, translations and scripting engines: what current releases keep, one project in each file.

mod dipstick;
mod fastrace;
mod fluent_bundle;
mod hdrhistogram;
mod mlua;
mod rquickjs;
mod tracing_timing;

use plimsoll::Scenario;

/// All scenarios of this package.
pub fn scenarios() -> Vec<Scenario> {
    [
        dipstick::scenarios(),
        fastrace::scenarios(),
        fluent_bundle::scenarios(),
        hdrhistogram::scenarios(),
        mlua::scenarios(),
        rquickjs::scenarios(),
        tracing_timing::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
