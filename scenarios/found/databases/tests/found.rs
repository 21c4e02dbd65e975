plimsoll::main!(found_databases::scenarios());
