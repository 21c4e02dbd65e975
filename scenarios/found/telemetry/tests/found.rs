plimsoll::main!(found_telemetry::scenarios());
