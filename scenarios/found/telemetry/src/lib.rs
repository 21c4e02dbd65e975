//! Tracing, metrics, translations and scripting engines:
//! what current releases keep, one project in each file.

pub mod dipstick;
pub mod fastrace;
pub mod fluent_bundle;
pub mod hdrhistogram;
pub mod mlua;
pub mod rquickjs;
pub mod tracing_timing;
