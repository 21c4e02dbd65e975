use found_servers::*;

plimsoll::main!(
    async_lsp::scenarios(),
    async_nats::scenarios(),
    dav_server::scenarios(),
    mini_redis::scenarios(),
    rmcp::scenarios(),
    rumqttd::scenarios(),
    socketioxide::scenarios(),
    ttrpc::scenarios(),
    zeromq::scenarios(),
);
