use found_telemetry::*;

plimsoll::main!(
    dipstick::scenarios(),
    fastrace::scenarios(),
    fluent_bundle::scenarios(),
    hdrhistogram::scenarios(),
    mlua::scenarios(),
    rquickjs::scenarios(),
    tracing_timing::scenarios(),
);
