use found_reactive::*;

plimsoll::main!(
    bevy::scenarios(),
    mdns::scenarios(),
    notify_debouncer::scenarios(),
    reactive_graph::scenarios(),
    salsa::scenarios(),
    sycamore::scenarios(),
    yrs::scenarios(),
);
