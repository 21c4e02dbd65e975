plimsoll::main!(found_servers::scenarios());
